//! The text of a profile, in SBPL: one rule a line, and the last line that matches decides.
//!
//! Paths are parameters (`-DP0=/path`, `(param "P0")`), so no path is ever read as a rule. Evidence for the words: the
//! profiles in `/System/Library/Sandbox/Profiles`, those of Chromium and Firefox, and sandbox(7).

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fmt::Write as _;

use confine_core::AbsPath;
use confine_core::policy::fs::Symlinks;
use confine_core::policy::{Kind, NetPlan, Policy};

use super::place::LINKS;
use crate::access::Verdict;
use crate::lower::{Clause, Lowered, fixed};

const READING: &str = "file-read* file-map-executable process-exec*";
const WRITING: &str = "file-write* file-link";

/// What comes first. The second `deny` names what `default` leaves out. Without reading `/` no program starts. The
/// settings of the kernel that programs ask for are named, so that neither processes nor their arguments are among them.
const BASE: &str = r#"(version 1)
(deny default)
(deny file-link file-clone file-map-executable process-info* nvram* iokit-get-properties)
(allow process-fork)
(allow process-info* (target same-sandbox))
(allow signal (target same-sandbox))
(allow ipc-posix-sem)
(allow mach-lookup (global-name "com.apple.system.opendirectoryd.libinfo"))
(allow sysctl-read (sysctl-name-prefix "hw."))
(allow sysctl-read (sysctl-name-prefix "machdep.cpu."))
(allow sysctl-read (sysctl-name "kern.argmax"))
(allow sysctl-read (sysctl-name "kern.hostname"))
(allow sysctl-read (sysctl-name "kern.maxfilesperproc"))
(allow sysctl-read (sysctl-name "kern.osproductversion"))
(allow sysctl-read (sysctl-name "kern.osrelease"))
(allow sysctl-read (sysctl-name "kern.ostype"))
(allow sysctl-read (sysctl-name "kern.osvariant_status"))
(allow sysctl-read (sysctl-name "kern.osversion"))
(allow sysctl-read (sysctl-name "kern.usrstack64"))
(allow sysctl-read (sysctl-name "kern.version"))
(allow sysctl-read (sysctl-name "sysctl.proc_cputype"))
(allow sysctl-read (sysctl-name "vm.loadavg"))
(allow file-read-data file-read-metadata (literal "/"))
"#;

/// What every program has of `/dev`. No terminal: its ioctl(2) could push input.
const NODES: &str = r#"(allow file-read* file-write-data (literal "/dev/null"))
(allow file-read* file-write-data (literal "/dev/zero"))
(allow file-read* (literal "/dev/random"))
(allow file-read* (literal "/dev/urandom"))
(allow file-read* file-write-data (subpath "/dev/fd"))
(allow file-read* (literal "/dev/stdin"))
(allow file-read* (literal "/dev/stdout"))
(allow file-read* (literal "/dev/stderr"))
"#;

/// What comes last, whatever was granted: no set-id file, no mount.
const ALWAYS: &str = "(deny file-write-setugid)\n(deny file-write-mount)\n";

/// Internet sockets, and the services that look names and certificates up. No local socket but the resolver's.
const OPEN: &str = r#"(allow network-outbound (remote ip))
(allow network-inbound (local ip))
(allow network-bind (local ip))
(allow network-outbound (remote unix-socket (path-literal "/private/var/run/mDNSResponder")))
(allow system-socket (require-all (socket-domain AF_SYSTEM) (socket-protocol 2)))
(allow mach-lookup (global-name "com.apple.SystemConfiguration.DNSConfiguration"))
(allow mach-lookup (global-name "com.apple.SystemConfiguration.configd"))
(allow mach-lookup (global-name "com.apple.dnssd.service"))
(allow mach-lookup (global-name "com.apple.networkd"))
(allow mach-lookup (global-name "com.apple.trustd.agent"))
"#;

/// A profile with its parameters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Profile {
    text: String,
    parameters: Vec<AbsPath>,
    names: BTreeMap<AbsPath, String>,
    pins: Vec<AbsPath>,
}

impl Profile {
    /// For a policy, from what its file part was lowered to.
    pub fn new(policy: &Policy, lowered: &Lowered) -> Self {
        let mut profile = Self { text: BASE.to_owned(), ..Self::default() };
        lowered.clauses.iter().for_each(|clause| profile.clause(clause));
        profile.text.push_str(NODES);
        for above in looked_through(policy, &lowered.clauses) {
            profile.rule("allow file-read-metadata", "literal", &above);
        }
        for pin in pins(&lowered.clauses) {
            profile.rule("deny file-write-unlink", "literal", &pin);
            profile.pins.push(pin);
        }
        if policy.fs.symlinks == Symlinks::Deny {
            profile.text.push_str("(deny file-write-create (vnode-type SYMLINK))\n");
        }
        profile.text.push_str(ALWAYS);
        if policy.net == NetPlan::Open {
            profile.text.push_str(OPEN);
        }
        profile
    }

    /// The value of `-p`.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The paths, by the names that the text has for them.
    pub fn parameters(&self) -> impl Iterator<Item = (String, &AbsPath)> {
        self.parameters.iter().enumerate().map(|(index, path)| (name(index), path))
    }

    /// The paths as options: `-DP0=/path`.
    pub fn definitions(&self) -> impl Iterator<Item = OsString> + '_ {
        self.parameters().map(|(name, path)| {
            let mut word = OsString::from(format!("-D{name}="));
            word.push(path.to_os_string());
            word
        })
    }

    /// Directories that cannot be renamed.
    pub fn into_pins(self) -> Vec<AbsPath> {
        self.pins
    }

    fn clause(&mut self, clause: &Clause) {
        let (reading, writing) = (clause.reading(), clause.writing());
        self.rule(&format!("{} {READING}", verb(reading)), extent(clause, reading), clause.at());
        let changes = match (writing, clause.kind()) {
            (Verdict::Allow, Kind::Device) => "file-write-data file-ioctl",
            (Verdict::Allow, Kind::Socket) => "file-write-data",
            (Verdict::Allow, Kind::File | Kind::Directory) | (Verdict::Deny, _) => WRITING,
        };
        self.rule(&format!("{} {changes}", verb(writing)), extent(clause, writing), clause.at());
        if writing == Verdict::Allow && clause.kind() == Kind::Socket {
            let parameter = self.parameter(clause.at());
            self.line(format_args!(
                "(allow network-outbound (remote unix-socket (path-literal (param \"{parameter}\"))))"
            ));
        }
    }

    fn rule(&mut self, start: &str, filter: &str, at: &AbsPath) {
        let parameter = self.parameter(at);
        self.line(format_args!("({start} ({filter} (param \"{parameter}\")))"));
    }

    fn line(&mut self, line: std::fmt::Arguments<'_>) {
        // Writing to a String cannot fail.
        let _ = writeln!(self.text, "{line}");
    }

    fn parameter(&mut self, path: &AbsPath) -> String {
        if let Some(known) = self.names.get(path) {
            return known.clone();
        }
        let name = name(self.parameters.len());
        self.parameters.push(path.clone());
        self.names.insert(path.clone(), name.clone());
        name
    }
}

fn name(index: usize) -> String {
    format!("P{index}")
}

const fn verb(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Allow => "allow",
        Verdict::Deny => "deny",
    }
}

/// What is denied is denied with all that could ever lie below; what is allowed at a file is the file.
fn extent(clause: &Clause, verdict: Verdict) -> &'static str {
    match (verdict, clause.kind()) {
        (Verdict::Deny, _) | (Verdict::Allow, Kind::Directory) => "subpath",
        (Verdict::Allow, Kind::File | Kind::Socket | Kind::Device) => "literal",
    }
}

/// Links, and the directories on the way to what is in sight, may be looked at: realpath(3) and getcwd(3) do.
fn looked_through(policy: &Policy, clauses: &[Clause]) -> BTreeSet<AbsPath> {
    let shown = clauses.iter().filter(|clause| clause.reading() == Verdict::Allow);
    let above = shown.flat_map(|clause| clause.at().ancestors().skip(1).collect::<Vec<_>>());
    let links = policy.fs.links.keys().cloned();
    above.chain(links).chain(LINKS.map(fixed)).filter(|path| *path != AbsPath::root()).collect()
}

/// Each directory above something that is taken out of a grant, the grant itself included: moved, what lies in it would
/// have another path, and a rule goes by paths.
fn pins(clauses: &[Clause]) -> BTreeSet<AbsPath> {
    let writing: BTreeMap<&AbsPath, Verdict> =
        clauses.iter().map(|clause| (clause.at(), clause.writing())).collect();
    let writable = |path: &AbsPath| {
        let nearest = path.ancestors().find_map(|above| writing.get(&above).copied());
        nearest == Some(Verdict::Allow)
    };
    let carved = clauses.iter().filter(|clause| clause.writing() == Verdict::Deny);
    let above = carved.flat_map(|clause| clause.at().ancestors().skip(1).collect::<Vec<_>>());
    above.filter(writable).filter(|path| *path != AbsPath::root()).collect()
}
