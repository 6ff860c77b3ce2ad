//! The table of attempts: one for each effect that some backend enforces.

use confine_core::Effect;

use super::ground::Ground;
use super::told::{Orders, Told};
use super::{files, limits, network, processes};

/// In which launch an attempt is made: limits that end a whole run want a run of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Launch {
    /// The built-in `workspace-write`, with a hidden and a protected place, `symlinks = "deny"`, and limits that bind
    /// single processes.
    Whole,
    /// Reading is granted for little, and so is the number of processes.
    Narrow,
    /// Time is short.
    Brief,
    /// Memory is.
    Heavy,
}

impl Launch {
    /// Every one.
    pub const ALL: [Self; 4] = [Self::Whole, Self::Narrow, Self::Brief, Self::Heavy];
}

/// An attempt: what is done inside and, as its control, outside; and what the world shows afterwards.
pub struct Attempt {
    /// At which effect.
    pub effect: Effect,
    /// What is done.
    pub inside: &'static str,
    /// Where its success shows.
    pub judged: &'static str,
    /// In which launch.
    pub launch: Launch,
    /// Whether the runner finds and undoes it when the run is over.
    pub(super) is_undone: bool,
    pub(super) act: fn(&Orders, &mut Told),
    /// The acts that happened.
    pub(super) judge: fn(&Ground, &Told) -> Vec<String>,
}

/// Effects without an attempt, and why.
pub const UNTRIED: &[(Effect, &str)] = &[(Effect::NetHost, "no backend enforces it before there is a proxy")];

type Act = fn(&Orders, &mut Told);
type Judge = fn(&Ground, &Told) -> Vec<String>;

const fn attempt(
    effect: Effect,
    inside: &'static str,
    judged: &'static str,
    act: Act,
    judge: Judge,
) -> Attempt {
    Attempt { effect, inside, judged, launch: Launch::Whole, is_undone: false, act, judge }
}

const fn undone(attempt: Attempt) -> Attempt {
    Attempt { is_undone: true, ..attempt }
}

const fn by(launch: Launch, attempt: Attempt) -> Attempt {
    Attempt { launch, ..attempt }
}

/// What an attempt found, compared with a secret that only the place it was kept in knows.
const SECRET: &str = "the secret that was put there comes back";
/// No trace is left in the world: the kernel's answer counts, told by a program of ours.
const ANSWER: &str = "the kernel's answer";

/// Every attempt, in the order in which they are made.
pub static ATTEMPTS: &[Attempt] = &[
    by(
        Launch::Narrow,
        attempt(Effect::FsRead, "read a file outside the read grants", SECRET, files::read, files::found),
    ),
    attempt(
        Effect::FsHide,
        "read and stat a hidden file, list its directory",
        SECRET,
        files::hide,
        files::found,
    ),
    attempt(
        Effect::FsWrite,
        "create, change and delete a file outside",
        "the files",
        files::write,
        files::written,
    ),
    attempt(
        Effect::FsTruncate,
        "truncate(2) and O_TRUNC outside",
        "the files' lengths",
        files::empty,
        files::emptied,
    ),
    attempt(
        Effect::FsRename,
        "rename into a grant, link into it, rename outside",
        "the names",
        files::rename,
        files::renamed,
    ),
    attempt(
        Effect::FsMetadata,
        "chmod, utimensat and setxattr outside",
        "the file's mode, times and attributes",
        files::change_metadata,
        files::metadata_changed,
    ),
    attempt(
        Effect::FsSetid,
        "chmod and create with set-id bits in a grant",
        "the files' modes",
        files::set_id,
        files::id_set,
    ),
    attempt(
        Effect::FsCarveOut,
        "change a protected file, rename the directory above it",
        "the file",
        files::carve,
        files::carved,
    ),
    undone(attempt(
        Effect::FsCarveOutNew,
        "create a protected name",
        "the name, once the run is over",
        files::carve_new,
        files::carved_new,
    )),
    attempt(
        Effect::FsDevice,
        "open devices, mknod",
        "the nodes; for opening, the kernel's answer",
        files::open_device,
        files::device_opened,
    ),
    attempt(Effect::FsSymlink, "symlink(2) in a grant", "the link", files::link, files::linked),
    attempt(
        Effect::FsExec,
        "execute a script outside the write grants",
        "the script ran",
        files::execute,
        files::done,
    ),
    attempt(Effect::FsLock, "flock(2) a file that may only be read", ANSWER, files::lock, files::done),
    attempt(
        Effect::FdInherit,
        "read every descriptor above 2; one was left open",
        SECRET,
        files::inherit,
        files::found,
    ),
    attempt(
        Effect::FdStdio,
        "fchmod and futimens on descriptor 2, a file of the host's",
        "the file's mode and times",
        files::misuse,
        files::misused,
    ),
    attempt(
        Effect::NetTcp,
        "connect to a listener of the host's on loopback",
        "the listener",
        network::tcp,
        network::tcp_reached,
    ),
    attempt(
        Effect::NetUdp,
        "send to a socket of the host's on loopback",
        "the socket",
        network::udp,
        network::udp_reached,
    ),
    attempt(
        Effect::NetUnixPath,
        "connect to sockets that listened at launch, one of them hidden",
        "the listeners",
        network::path,
        network::path_reached,
    ),
    attempt(
        Effect::NetUnixPathNew,
        "connect to a socket that appeared later, write a FIFO",
        "the listener, the FIFO",
        network::new_path,
        network::new_path_reached,
    ),
    attempt(
        Effect::NetUnixAbstract,
        "connect to an abstract socket of the host's",
        "the listener",
        network::abstract_name,
        network::abstract_reached,
    ),
    attempt(
        Effect::NetOther,
        "make netlink, vsock, packet and raw sockets, and a ring",
        ANSWER,
        network::other,
        files::done,
    ),
    attempt(Effect::ProcSee, "read the command lines in /proc", SECRET, processes::see, files::found),
    attempt(
        Effect::ProcTrace,
        "read the memory of a process outside, seize it",
        "its secret comes back; for seizing, the kernel's answer",
        processes::trace,
        processes::traced,
    ),
    attempt(
        Effect::ProcPrivilege,
        "use capabilities, give a file away, run a set-user-id program",
        "the file's owner; for the rest, the kernel's answer",
        processes::privilege,
        processes::privileged,
    ),
    attempt(
        Effect::ProcSysctl,
        "open settings in /proc/sys for writing (and write nothing), read kernel tables",
        ANSWER,
        processes::sysctl,
        files::done,
    ),
    attempt(
        Effect::ProcNamespace,
        "unshare(2) user and mount namespaces",
        ANSWER,
        processes::namespace,
        files::done,
    ),
    attempt(Effect::ProcKernel, "keyctl(2), userfaultfd(2)", ANSWER, processes::kernel, files::done),
    attempt(
        Effect::IpcSysv,
        "change a message queue and shared memory of both kinds of the host's",
        "their values",
        processes::share,
        processes::shared,
    ),
    attempt(
        Effect::EnvLeak,
        "read every environment in /proc, and its own",
        "the caller's secret comes back",
        processes::leak,
        files::found,
    ),
    attempt(
        Effect::IdsMapped,
        "give a file to another user",
        "the file's owner",
        files::give_away,
        files::given_away,
    ),
    attempt(
        Effect::LimitFileSize,
        "write a file twice as large as the limit",
        "the file's length",
        limits::file_size,
        limits::too_large,
    ),
    attempt(
        Effect::LimitOpenFiles,
        "hold twice as many files open as the limit",
        "a mark made then",
        limits::open_files,
        limits::marked,
    ),
    attempt(
        Effect::LimitCpu,
        "compute for longer than the limit",
        "a mark made then",
        limits::cpu,
        limits::marked,
    ),
    // What takes the target or the terminal away comes last.
    attempt(
        Effect::ProcSignal,
        "signal a process outside",
        "the process's end",
        processes::signal,
        processes::signalled,
    ),
    attempt(
        Effect::TtyInject,
        "take the caller's terminal, push a byte into it",
        "the terminal's other end",
        processes::inject,
        processes::injected,
    ),
    by(
        Launch::Narrow,
        attempt(
            Effect::LimitProcesses,
            "start twice as many processes as the limit",
            "a mark made then",
            limits::processes,
            limits::marked,
        ),
    ),
    by(
        Launch::Brief,
        attempt(
            Effect::LimitTime,
            "run for longer than the limit",
            "a mark made then",
            limits::time,
            limits::marked,
        ),
    ),
    by(
        Launch::Heavy,
        attempt(
            Effect::Orphan,
            "leave a process of a session of its own behind, whose parent is gone",
            "a lock that it holds while it lives",
            limits::orphan,
            limits::outlived,
        ),
    ),
    by(
        Launch::Heavy,
        attempt(
            Effect::LimitMemory,
            "use more memory than the limit",
            "a mark made then",
            limits::memory,
            limits::marked,
        ),
    ),
];

/// The attempt at `effect`; `None` for those in [`UNTRIED`].
pub fn attempt_at(effect: Effect) -> Option<&'static Attempt> {
    ATTEMPTS.iter().find(|attempt| attempt.effect == effect)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_effect_has_one_attempt_or_a_reason_for_none() {
        for effect in Effect::ALL {
            let attempts = ATTEMPTS.iter().filter(|attempt| attempt.effect == *effect).count();
            let untried = UNTRIED.iter().filter(|(one, _)| one == effect).count();
            assert_eq!(attempts + untried, 1, "{effect}");
        }
    }
}
