//! What a test needs from the host. A missing need skips the test by name, or fails it when `CONFINE_REQUIRE` lists it.

use std::env;
use std::path::Path;
use std::process::{Command, Stdio};

use nix::unistd::Uid;

use crate::program;

/// Returns from the test, saying why, when the host lacks something: `needs!(root, bwrap, landlock = 4)`. A need that
/// `CONFINE_REQUIRE` lists (names joined by commas) fails the test instead.
#[macro_export]
macro_rules! needs {
    ($($name:ident $(= $least:literal)?),+ $(,)?) => {
        if !$crate::need::met(&[$((stringify!($name), None$(.or(Some($least)))?)),+]) {
            return;
        }
    };
}

/// How a need is looked for: the version found (0 where there is none to speak of), or what is lacking.
type Look = fn() -> Result<u32, String>;

/// Every need there is.
const NEEDS: &[(&str, Look)] = &[
    ("root", root),
    ("bwrap", || on_path("bwrap")),
    ("landlock", landlock),
    ("git", || on_path("git")),
    ("firejail", || on_path("firejail")),
    ("python3", || on_path("python3")),
    ("node", || on_path("node")),
    ("tsc", tsc),
    ("cc", || on_path("cc")),
    ("tmux", || on_path("tmux")),
    ("strace", || on_path("strace")),
    ("setfattr", || on_path("setfattr")),
    ("unshare", || on_path("unshare")),
    ("ia32", || program::runs("int80")),
    ("io_uring", || program::runs("io_uring")),
];

/// Whether everything is there. Says `SKIP <test>: <reason>` where not.
///
/// # Panics
/// When something is missing that `CONFINE_REQUIRE` lists, and for a need that is not in the table.
pub fn met(needs: &[(&str, Option<u32>)]) -> bool {
    needs.iter().all(|(name, least)| match lacking(name, least.unwrap_or(0)) {
        None => true,
        Some(reason) => {
            let test = std::thread::current().name().unwrap_or("a test").to_owned();
            assert!(!required(name), "{test} needs {name}, which CONFINE_REQUIRE lists: {reason}");
            println!("SKIP {test}: {reason}");
            false
        }
    })
}

fn lacking(name: &str, least: u32) -> Option<String> {
    let (_, look) =
        NEEDS.iter().find(|(known, _)| *known == name).unwrap_or_else(|| panic!("`{name}` is no need"));
    match look() {
        Ok(found) if found >= least => None,
        Ok(found) => Some(format!("{name} {least} is needed, and this is {found}")),
        Err(reason) => Some(reason),
    }
}

fn required(name: &str) -> bool {
    env::var("CONFINE_REQUIRE").is_ok_and(|list| list.split(',').any(|one| one == name))
}

fn root() -> Result<u32, String> {
    if Uid::effective().is_root() { Ok(0) } else { Err("only root can run as other users".into()) }
}

fn on_path(program: &str) -> Result<u32, String> {
    let found = crate::user::PATH.split(':').any(|place| Path::new(place).join(program).is_file());
    if found { Ok(0) } else { Err(format!("`{program}` is not installed")) }
}

/// Installed beside the clients, at the version that is pinned there.
fn tsc() -> Result<u32, String> {
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("clients/node_modules/.bin/tsc");
    if program.is_file() {
        Ok(0)
    } else {
        Err("the TypeScript compiler is not installed: `make setup`".into())
    }
}

fn landlock() -> Result<u32, String> {
    // Asking for the version makes no ruleset: landlock_create_ruleset(2).
    const VERSION: libc::c_uint = 1;
    let none = std::ptr::null::<libc::c_void>();
    // SAFETY: with the version flag the kernel takes a null attribute of size 0 and touches no memory.
    let abi = unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, none, 0_usize, VERSION) };
    u32::try_from(abi).map_err(|_| "the kernel has no Landlock".into())
}

/// Whether `program` with `words` exits 0 here.
pub(crate) fn works(program: &Path, words: &[&str]) -> bool {
    let mut command = Command::new(program);
    command.args(words).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_need_of_ci_is_in_the_table() {
        for name in env::var("CONFINE_REQUIRE").unwrap_or_default().split(',').filter(|name| !name.is_empty())
        {
            assert!(
                NEEDS.iter().any(|(known, _)| *known == name),
                "CONFINE_REQUIRE lists `{name}`, which is no need"
            );
        }
    }

    #[test]
    fn a_version_that_is_too_old_is_lacking() {
        assert!(lacking("landlock", u32::MAX).is_some());
    }
}
