//! Which backend a test asks for.

/// A backend of ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backend {
    /// bubblewrap and the stage.
    Bwrap,
    /// The stage alone.
    Landlock,
}

/// What the built-in policies need, beyond what they accept to lose, and Landlock alone does not enforce: the list that
/// its refusal prints in a workspace that is a repository. A test compares the two.
pub const LANDLOCK_LOSSES: &str =
    "fs-hide,fs-metadata,fs-carve-out,fs-device,fd-stdio,net-unix-path,proc-see,proc-sysctl,ipc-sysv";

/// Those of [`LANDLOCK_LOSSES`] that only root loses: everybody else the host's own permissions refuse, and
/// no device node is theirs.
pub const ROOTS_LOSSES: &[&str] = &["fs-device", "fd-stdio", "proc-sysctl"];

impl Backend {
    /// Both.
    pub const ALL: &'static [Backend] = &[Backend::Bwrap, Backend::Landlock];

    /// Its name on the command line.
    pub const fn id(self) -> &'static str {
        match self {
            Self::Bwrap => "bwrap",
            Self::Landlock => "landlock",
        }
    }

    /// The options that choose it, and accept what it loses.
    pub fn options(self) -> Vec<&'static str> {
        match self {
            Self::Bwrap => vec!["--backend", "bwrap"],
            Self::Landlock => vec!["--backend", "landlock", "--accept-missing", LANDLOCK_LOSSES],
        }
    }
}
