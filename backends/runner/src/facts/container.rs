//! Which container the caller runs in, by its own word.

use std::path::Path;

use super::MARKER;

/// The Windows subsystem that only looks like Linux.
pub(super) const WSL1: &str = "wsl1";
/// Files that a runtime leaves at a known place, and the runtime's name.
const FILES: &[(&str, &str)] = &[("/.dockerenv", "docker"), ("/run/.containerenv", "podman")];

pub(super) fn here(kernel: &str) -> Option<String> {
    if std::env::var_os(MARKER).is_some() {
        return Some("confine".to_owned());
    }
    // systemd's convention (CONTAINER_INTERFACE.md): the variable `container` of process 1. Usually unreadable.
    let environ = std::fs::read("/proc/1/environ").unwrap_or_default();
    by_file().or_else(|| by_environ(&environ)).or_else(|| by_kernel(kernel))
}

fn by_file() -> Option<String> {
    FILES.iter().find(|(file, _)| Path::new(file).exists()).map(|(_, name)| (*name).to_owned())
}

fn by_environ(environ: &[u8]) -> Option<String> {
    let name = environ.split(|byte| *byte == 0).find_map(|variable| variable.strip_prefix(b"container="))?;
    let name = String::from_utf8_lossy(name);
    (!name.is_empty()).then(|| name.into_owned())
}

/// WSL 1 has no Linux kernel, and says so in its release; WSL 2 (`-microsoft-standard-WSL2`) has one.
fn by_kernel(kernel: &str) -> Option<String> {
    kernel.ends_with("-Microsoft").then(|| WSL1.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_variable_of_process_1_names_the_container() {
        assert_eq!(by_environ(b"A=1\0container=lxc\0B=2\0").as_deref(), Some("lxc"));
        assert_eq!(by_environ(b"xcontainer=lxc\0container=\0"), None);
    }

    #[test]
    fn only_the_first_wsl_is_no_linux() {
        assert_eq!(by_kernel("4.4.0-19041-Microsoft").as_deref(), Some("wsl1"));
        assert_eq!(by_kernel("5.15.90.1-microsoft-standard-WSL2"), None);
    }

    proptest! {
        #[test]
        fn an_environment_never_panics(environ: Vec<u8>) {
            by_environ(&environ);
        }
    }
}
