//! How the helper ends when it does so by itself.

use crate::loader;

/// The exit code says it to the broker. After every one of them the next call needs a new helper. What a plugin ends by
/// itself (`exit`, a signal) has whatever status it likes: a call is over when its `Done` has come, and by nothing else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// The broker has closed the control socket.
    Ended,
    /// The plugin cannot be loaded; `Refused` said why.
    Refused,
    /// The broker said what it may not, or standard input is no socket.
    Protocol,
    /// A call took a socket away: the helper cannot answer any more.
    Lost,
    /// A call has left something behind, so it was the last; it is answered, and no other was begun.
    Worn,
}

impl Exit {
    /// The exit code.
    pub const fn code(self) -> i32 {
        match self {
            Self::Ended => 0,
            Self::Refused => 70,
            Self::Protocol => 71,
            Self::Lost => 72,
            Self::Worn => 73,
        }
    }

    /// Ends the process, without the handlers and destructors that a plugin may have registered.
    pub(crate) fn now(self) -> ! {
        loader::exit(self.code())
    }
}
