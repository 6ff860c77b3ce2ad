//! Whom a test runs as.

use std::ffi::OsStr;
use std::path::Path;
use std::process::Command;

/// A user. Ownership bugs hide from root, and from the overflow user, which owns everything that is not mapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum User {
    /// 0.
    Root,
    /// 65534, the overflow user.
    Nobody,
    /// 12345, with the supplementary group 12346.
    Ordinary,
}

impl User {
    /// All three.
    pub const ALL: &'static [User] = &[User::Root, User::Nobody, User::Ordinary];

    /// Its user id, which is its group id too.
    pub const fn id(self) -> u32 {
        match self {
            Self::Root => 0,
            Self::Nobody => 65534,
            Self::Ordinary => 12345,
        }
    }

    /// Its supplementary group.
    pub const fn supplementary(self) -> Option<u32> {
        match self {
            Self::Root | Self::Nobody => None,
            Self::Ordinary => Some(12346),
        }
    }

    /// `program` as this user, in a clean environment with `home`. The process that is spawned becomes the program.
    pub fn command(self, program: impl AsRef<OsStr>, home: &Path) -> Command {
        let mut command = match self {
            Self::Root => Command::new(program),
            Self::Nobody | Self::Ordinary => {
                let groups = match self.supplementary() {
                    Some(group) => format!("--groups={group}"),
                    None => String::from("--clear-groups"),
                };
                let mut command = Command::new("/usr/bin/setpriv");
                command.args([format!("--reuid={}", self.id()), format!("--regid={}", self.id()), groups]);
                command.arg("--").arg(program);
                command
            }
        };
        command.env_clear().env("PATH", PATH).env("LC_ALL", "C").env("HOME", home);
        command
    }
}

/// The PATH of every test.
pub const PATH: &str = "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin";
