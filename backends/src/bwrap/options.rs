//! The words for bwrap.

use std::ffi::OsString;

use confine_core::policy::{NetPlan, Policy};

use crate::lower::{Lowered, Mount};

/// Namespaces that every sandbox has. `--unshare-user` is spelled out, because `--disable-userns` asks for it.
const NAMESPACES: [&str; 5] =
    ["--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try"];

/// All options, without `--`.
pub(super) fn options(policy: &Policy, lowered: &Lowered) -> Vec<OsString> {
    let mut options: Vec<OsString> = NAMESPACES.map(OsString::from).to_vec();
    if policy.net == NetPlan::Off {
        options.push("--unshare-net".into());
    }
    if !policy.nested {
        options.push("--disable-userns".into());
    }
    options.extend(["--cap-drop", "ALL", "--as-pid-1"].map(OsString::from));
    options.extend(lowered.mounts.iter().flat_map(Mount::words));
    // bwrap would go to $HOME where its own directory is gone; the stage goes where the program starts.
    options.extend(["--chdir", "/"].map(OsString::from));
    options
}
