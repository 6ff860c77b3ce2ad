//! Who makes a socket at a path: one at a time.
//!
//! The lock is a file of the user's own and not the directory, which anybody who may look into it could lock for ever.

use std::io;
use std::os::fd::OwnedFd;
use std::thread::sleep;
use std::time::{Duration, Instant};

use confine_core::{AbsPath, LaunchFault, LaunchStage};
use confine_runner::places::Places;
use rustix::fs::{FlockOperation, flock};
use sha2::{Digest as _, Sha256};

use super::doing;
use crate::fault;

/// Where the locks are, in the state directory.
const DIRECTORY: &str = "sockets";
/// How long another server may take to make its socket.
const PATIENCE: Duration = Duration::from_secs(3);
/// Between two attempts.
const RETRY: Duration = Duration::from_millis(20);

/// Locks `path` for this user, until what is given back is dropped.
///
/// # Errors
/// A state directory that cannot be used; somebody who holds it for seconds.
pub(super) fn lock(path: &AbsPath, places: &Places) -> Result<OwnedFd, LaunchFault> {
    let system = |error: io::Error| fault::system(LaunchStage::Usage, &doing(path.as_path()), &error);
    let digest = Sha256::digest(path.as_path().as_os_str().as_encoded_bytes());
    let name: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    let lock = places.state_file(DIRECTORY, &name).map_err(|error| {
        let help = error.help();
        fault::usage(format!("{}: {error}", doing(path.as_path())), help)
    })?;
    let since = Instant::now();
    loop {
        match flock(&lock, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return Ok(lock),
            Err(rustix::io::Errno::WOULDBLOCK) if since.elapsed() < PATIENCE => sleep(RETRY),
            Err(rustix::io::Errno::WOULDBLOCK) => {
                let text = format!("{}: another server of yours is about to", doing(path.as_path()));
                return Err(fault::usage(text, "wait for it, or name another path"));
            }
            Err(errno) => return Err(system(errno.into())),
        }
    }
}
