//! A probe that is told to stop: it ends by the signal, once what it prepared on the host is removed.

use nix::sys::signal::{SigSet, SigmaskHow, Signal};

const ENDING: [Signal; 4] = [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP, Signal::SIGQUIT];

/// Holds back what would end the process until `work` is done. Threads that it starts inherit that, programs do not.
pub(super) fn back<T>(work: impl FnOnce() -> T) -> T {
    let ending: SigSet = ENDING.into_iter().collect();
    let before = ending.thread_swap_mask(SigmaskHow::SIG_BLOCK);
    let answer = work();
    // What came meanwhile comes now. A mask that could not be set needs no way back.
    let _ = before.and_then(|before| before.thread_set_mask());
    answer
}
