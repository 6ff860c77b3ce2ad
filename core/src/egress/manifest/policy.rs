//! The policy of the process that runs a plugin: from its manifest alone.

use super::{Kind, Manifest};
use crate::policy::file::{EnvironmentTable, Filesystem, LimitsTable, Network, NetworkAccess};
use crate::policy::fs::{Symlinks, Tmp};
use crate::policy::quantity::Size;
use crate::policy::{Mode, PolicyFile};
use crate::{Effect, Text};

/// What a program needs to be loaded: libraries, no programs. What a host does not have is passed over.
const LIBRARIES: &[&str] = &[
    "/lib",
    "/lib32",
    "/lib64",
    "/usr/lib",
    "/usr/lib32",
    "/usr/lib64",
    "/usr/local/lib",
    "/etc/ld.so.cache",
];

/// Certificates, for whoever speaks TLS itself.
const CERTIFICATES: &[&str] = &[
    "/etc/pki/ca-trust/extracted",
    "/etc/pki/tls/certs",
    "/etc/ssl/certs",
    "/usr/share/ca-certificates",
    "/usr/local/share/ca-certificates",
];

const MIB: u64 = 1024 * 1024;
/// Bytes of the whole helper, and more for each call at once.
const MEMORY: (u64, u64) = (256 * MIB, 32 * MIB);
/// Bytes of one file in its private `/tmp`.
const FILE_SIZE: u64 = 64 * MIB;
/// Open files, and more for each call at once.
const OPEN_FILES: (u64, u64) = (64, 8);
/// Where no cgroup counts, the kernel counts every process of the user, so it must be more than these.
const PROCESSES: u64 = 4096;

/// No network of its own, libraries to read, a private `/tmp`, no environment, and limits. Whoever starts the helper adds
/// the helper's own file.
impl From<&Manifest> for PolicyFile {
    fn from(manifest: &Manifest) -> Self {
        let calls = u64::from(manifest.concurrency);
        let certificates = if speaks(manifest, Kind::Tcp) { CERTIFICATES } else { &[] };
        let read = LIBRARIES.iter().chain(certificates).map(|path| Text::from(*path)).collect();
        let accept_missing = vec![Effect::NetUnixPathNew, Effect::LimitProcesses];
        Self {
            mode: Some(Mode::ReadOnly),
            filesystem: Filesystem {
                read: Some(read),
                tmp: Some(Tmp::Private),
                symlinks: Some(Symlinks::Allow),
                ..Filesystem::default()
            },
            network: Network { access: Some(NetworkAccess::Off), ..Network::default() },
            environment: EnvironmentTable { pass: Some(Vec::new()), ..EnvironmentTable::default() },
            limits: LimitsTable {
                memory: Some(Size(MEMORY.0 + MEMORY.1 * calls)),
                file_size: Some(Size(FILE_SIZE)),
                open_files: Some(OPEN_FILES.0 + OPEN_FILES.1 * calls),
                processes: Some(PROCESSES),
                ..LimitsTable::default()
            },
            enforcement: crate::policy::file::Enforcement {
                accept_missing,
                ..crate::policy::file::Enforcement::default()
            },
            ..Self::default()
        }
    }
}

fn speaks(manifest: &Manifest, kind: Kind) -> bool {
    manifest.egress.iter().any(|channel| channel.kind == kind)
}
