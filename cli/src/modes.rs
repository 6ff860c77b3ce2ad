//! The modes of a terminal, changed for a while: as before once that is over, whatever ends it.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Mutex, Once};
use std::{io, panic};

use rustix::termios::{OptionalActions, Termios, tcgetattr, tcsetattr};

/// What to restore; process-wide because a panic must find it too.
static SAVED: Mutex<Option<(OwnedFd, Termios)>> = Mutex::new(None);

/// Changed modes. Dropped, they are as before, and input that was not read is gone.
pub(crate) struct Changed(());

/// Changes the modes of `terminal` by `how`, one terminal at a time. What `when` says happens to unread input.
///
/// # Errors
/// Those of dup(2), tcgetattr(3) and tcsetattr(3), as EIO where the terminal belongs to nobody any more.
pub(crate) fn change(
    terminal: impl AsFd,
    when: OptionalActions,
    how: impl FnOnce(&mut Termios),
) -> io::Result<Changed> {
    let before = tcgetattr(&terminal)?;
    let mut after = before.clone();
    how(&mut after);
    let kept = terminal.as_fd().try_clone_to_owned()?;
    if let Ok(mut saved) = SAVED.lock() {
        *saved = Some((kept, before));
    }
    restore_on_panic();
    // From here on the drop restores, also where the next call fails half-way.
    let changed = Changed(());
    tcsetattr(&terminal, when, &after)?;
    Ok(changed)
}

impl Drop for Changed {
    fn drop(&mut self) {
        restore();
    }
}

/// A release build aborts on a panic, so no destructor would run.
fn restore_on_panic() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let report = panic::take_hook();
        panic::set_hook(Box::new(move |panic| {
            restore();
            report(panic);
        }));
    });
}

/// Whoever changed them: they are as before.
pub(crate) fn restore() {
    let Ok(mut saved) = SAVED.try_lock() else { return };
    if let Some((terminal, before)) = saved.take() {
        let _ = tcsetattr(terminal, OptionalActions::Flush, &before);
    }
}
