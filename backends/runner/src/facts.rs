//! Fills a [`Probe`] without starting a process.
//!
//! Facts are what files under `/proc` and `/sys` and one system call say, about a millisecond's worth. What they
//! cannot tell (a security module that refuses later, a limit of an outer namespace) a launch tells;
//! [`launch_hint`] then knows what to say about it.

mod container;
mod devices;
mod namespaces;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use confine_core::probe::{Arch, KERNEL_TABLES, Unusable};
use confine_core::{AbsPath, Probe};
use nix::errno::Errno;
use nix::unistd::Uid;

use crate::find::Find;
use crate::sys;

pub use namespaces::launch_hint;

/// The marker variable that a confined program carries. A hint, not a proof.
const MARKER: &str = "CONFINE";

/// The facts of this host.
pub fn probe(find: &Find) -> Probe {
    let uname = nix::sys::utsname::uname();
    let kernel = uname.as_ref().map(|uname| uname.release().to_string_lossy().into_owned());
    let machine = uname.as_ref().map(|uname| uname.machine().to_string_lossy().into_owned());
    let kernel = kernel.unwrap_or_default();
    let container = container::here(&kernel);
    let linux = linux(container.as_deref());
    Probe {
        os: std::env::consts::OS.to_owned(),
        arch: machine.ok().and_then(|machine| arch(&machine)),
        uid: Uid::effective().as_raw(),
        container,
        landlock: linux.clone().and_then(|()| sys::landlock_abi().map_err(landlock_refusal)),
        seccomp: seccomp(),
        user_namespaces: linux.and_then(|()| namespaces::here()),
        bwrap: find.bwrap(),
        stage: find.stage(),
        device_nodes: devices::here(),
        kernel_tables: kernel_tables(),
        temporary: temporary(std::env::var_os("TMPDIR")),
        launches: BTreeMap::new(),
        kernel,
    }
}

/// Whether there is a kernel to ask.
fn linux(container: Option<&str>) -> Result<(), Unusable> {
    match container {
        Some(container::WSL1) => Err(Unusable::new(
            "WSL 1 has no Linux kernel",
            "`wsl --set-version DISTRIBUTION 2`, in Windows, gives it one",
        )),
        _ => Ok(()),
    }
}

fn kernel_tables() -> Vec<AbsPath> {
    let paths = KERNEL_TABLES.iter().filter_map(|path| AbsPath::new(path).ok());
    paths.filter(|path| path.as_path().symlink_metadata().is_ok()).collect()
}

/// `$TMPDIR` where it is a directory of the caller's own, as inside a sandbox; somebody else's could be taken away.
fn temporary(named: Option<OsString>) -> AbsPath {
    let own = |path: &AbsPath| {
        let metadata = path.as_path().metadata();
        metadata.is_ok_and(|metadata| metadata.is_dir() && metadata.uid() == Uid::effective().as_raw())
    };
    let named = named.and_then(|path| AbsPath::new(path).ok()).filter(own);
    named.or_else(|| AbsPath::new("/tmp").ok()).unwrap_or_else(AbsPath::root)
}

/// The kernel's name of a machine, where confine has its table of system calls. A 32-bit confine has none, whatever
/// the kernel is.
fn arch(machine: &str) -> Option<Arch> {
    match (machine, std::env::consts::ARCH) {
        ("x86_64", "x86_64") => Some(Arch::X86_64),
        ("aarch64", "aarch64") => Some(Arch::Aarch64),
        _ => None,
    }
}

fn landlock_refusal(errno: Errno) -> Unusable {
    match errno {
        Errno::ENOSYS => Unusable::new(
            "the kernel has no Landlock",
            "Linux 5.13 or later with CONFIG_SECURITY_LANDLOCK; in a container, a seccomp profile that allows it",
        ),
        Errno::EOPNOTSUPP => Unusable::new(
            "Landlock is in the kernel but not enabled at boot",
            "add `landlock` to the list after `lsm=` on the kernel command line",
        ),
        Errno::EPERM | Errno::EACCES => Unusable::new(
            "a filter around this process refuses Landlock",
            "allow landlock_create_ruleset, landlock_add_rule and landlock_restrict_self in the seccomp profile",
        ),
        other => Unusable::without_remedy(format!("Landlock answers {other}")),
    }
}

/// seccomp(2) filters, Linux 4.14 for all the actions that confine uses.
fn seccomp() -> Result<(), Unusable> {
    if Path::new("/proc/sys/kernel/seccomp/actions_avail").exists() {
        return Ok(());
    }
    if !Path::new("/proc/self").exists() {
        return Err(Unusable::new("`/proc` is not mounted, so nothing is known about seccomp", "mount it"));
    }
    Err(Unusable::new("the kernel has no seccomp filters", "Linux 4.14 or later with CONFIG_SECCOMP_FILTER"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_refusal_of_landlock_has_a_reason_of_its_own() {
        let reasons: std::collections::BTreeSet<String> =
            [Errno::ENOSYS, Errno::EOPNOTSUPP, Errno::EPERM, Errno::EINVAL]
                .map(|errno| landlock_refusal(errno).reason.to_string())
                .into();
        assert_eq!(reasons.len(), 4);
    }

    #[test]
    fn where_there_is_no_linux_nothing_is_asked_and_the_way_out_is_named() {
        let unusable = linux(Some("wsl1")).unwrap_err();
        assert!(unusable.remedy.unwrap().to_string().contains("wsl --set-version"));
        assert!(linux(Some("docker")).and(linux(None)).is_ok());
    }

    #[test]
    fn the_facts_of_this_host_are_plausible() {
        let probe = probe(&Find::here());
        assert_eq!(probe.os, "linux");
        assert!(probe.kernel.starts_with(|c: char| c.is_ascii_digit()), "{}", probe.kernel);
        assert_eq!(probe.uid, Uid::effective().as_raw());
        if let Ok(abi) = probe.landlock {
            assert!((1..100).contains(&abi), "{abi}");
        }
    }

    #[test]
    fn temporary_directories_go_where_the_caller_s_own_is_or_to_tmp() {
        let own = tempfile::tempdir().unwrap();
        let file = own.path().join("file");
        std::fs::write(&file, "").unwrap();
        assert_eq!(temporary(Some(own.path().into())).as_path(), own.path());
        for other in
            ["relative".into(), file.clone().into_os_string(), "/nowhere/x".into(), "/proc/1/..".into()]
        {
            assert_eq!(temporary(Some(other)).as_path(), "/tmp");
        }
        assert_eq!(temporary(None).as_path(), "/tmp");
        if Uid::effective().is_root() {
            std::os::unix::fs::chown(own.path(), Some(12345), None).unwrap();
            assert_eq!(temporary(Some(own.path().into())).as_path(), "/tmp");
        }
    }

    #[test]
    fn an_architecture_without_a_table_is_none() {
        assert_eq!(arch("riscv64"), None);
        assert_eq!(
            arch(std::env::consts::ARCH).is_some(),
            cfg!(any(target_arch = "x86_64", target_arch = "aarch64"))
        );
    }
}
