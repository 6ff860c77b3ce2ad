//! A pseudo-terminal that is somebody's controlling terminal, and what is typed and shown there.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use nix::pty::{Winsize, openpty};
use nix::sys::termios::{Termios, tcgetattr};

use crate::world::within;

const PATIENCE: Duration = Duration::from_secs(15);
/// 80 by 24.
const SIZE: Winsize = Winsize { ws_row: 24, ws_col: 80, ws_xpixel: 0, ws_ypixel: 0 };

/// What makes its standard input the controlling terminal of the program after it.
pub const CONTROLLED: [&str; 3] = ["setsid", "--ctty", "--wait"];
/// What leaves the program after it without a controlling terminal.
pub const ALONE: [&str; 2] = ["setsid", "--wait"];

/// A terminal, with everything that was ever written to it.
pub struct Pty {
    master: File,
    slave: OwnedFd,
    shown: Arc<Mutex<Vec<u8>>>,
}

impl Default for Pty {
    fn default() -> Self {
        Self::new()
    }
}

impl Pty {
    /// Opens one.
    ///
    /// # Panics
    /// When there is none to be had.
    pub fn new() -> Self {
        let pair = openpty(&SIZE, None).expect("a pseudo-terminal");
        let shown = Arc::new(Mutex::new(Vec::new()));
        let master = File::from(pair.master);
        let (mut reader, sink) = (master.try_clone().expect("a descriptor"), shown.clone());
        thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(count @ 1..) = reader.read(&mut buffer) {
                sink.lock().expect("nobody panics here").extend_from_slice(&buffer[..count]);
            }
        });
        Self { master, slave: pair.slave, shown }
    }

    /// Gives `command` this terminal as its standard input; [`CONTROLLED`] makes it the controlling one.
    ///
    /// # Panics
    /// When no descriptor is left.
    pub fn is_input_of(&self, command: &mut Command) {
        command.stdin(Stdio::from(self.slave.try_clone().expect("a descriptor")));
    }

    /// Everything that was written, with invalid bytes replaced.
    pub fn screen(&self) -> String {
        String::from_utf8_lossy(&self.shown.lock().expect("nobody panics here")).into_owned()
    }

    /// Waits until `text` was written `times` times.
    ///
    /// # Panics
    /// With what was written instead.
    #[track_caller]
    pub fn shows(&self, text: &str, times: usize) {
        let shown = within(PATIENCE, || self.screen().matches(text).count() >= times);
        assert!(shown, "`{text}` is not shown {times} times:\n{}", self.screen());
    }

    /// Types `keys`.
    ///
    /// # Panics
    /// When the terminal is gone.
    pub fn types(&self, keys: &str) {
        (&self.master).write_all(keys.as_bytes()).expect("a terminal takes keys");
    }

    /// Its modes.
    ///
    /// # Panics
    /// When the terminal is gone.
    pub fn modes(&self) -> Termios {
        tcgetattr(&self.slave).expect("a terminal has modes")
    }
}
