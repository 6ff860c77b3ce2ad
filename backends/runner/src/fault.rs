//! Why a sandbox did not stand: the stage's own record, or, where the wrapper died before the stage ran, its words.
//!
//! Which it was is never read from text: no record means that the program did not run. Text only finds the remedy.

use std::io;

use confine_core::{AbsPath, LaunchFault, LaunchStage, Text};
use confine_stage::status::Step;
use nix::errno::Errno;
use nix::sys::wait::WaitStatus;

use crate::facts;

const NAMESPACES: &str = "allow user namespaces (sysctl `user.max_user_namespaces`, and \
    `kernel.unprivileged_userns_clone` where it exists); in a container, by its seccomp profile too (docker and podman: \
    `--security-opt seccomp=unconfined`); or use `--backend landlock`";
const UID_MAP: &str = "user namespaces are restricted here: AppArmor (sysctl \
    `kernel.apparmor_restrict_unprivileged_userns`), or a sandbox around this one; give bwrap an AppArmor profile that \
    allows `userns`, or use `--backend landlock`";
const MASKED_PROC: &str = "a container masks parts of `/proc`: start it with them unmasked (`--security-opt \
    systempaths=unconfined`), say `proc = \"host\"` in the policy (which loses `proc-see`), or use `--backend landlock`";
const INSIDE_LANDLOCK: &str =
    "this is inside a Landlock domain, which allows no mounts: use `--backend landlock`";
const TOO_OLD: &str = "install a newer bubblewrap, or use `--backend landlock`";
pub(crate) const RACE: &str = "the host changed between the policy and the launch: run it again";
const OUT_OF_REACH: &str = "where it is there, run as the user whose directories lead to it: a sandbox's root has no right to \
    enter another user's; else the host changed between the policy and the launch: run it again";
const NOT_VISIBLE: &str = "the policy must leave the stage, or a `/proc`, visible; a stage that is not static needs its \
    libraries too";

/// bwrap's words, by a part that does not depend on the errno text; the first row that fits counts.
const WORDS: &[(&str, LaunchStage, Option<&str>)] = &[
    ("setting up uid map", LaunchStage::Namespace, Some(UID_MAP)),
    ("setting up gid map", LaunchStage::Namespace, Some(UID_MAP)),
    ("loopback: Failed", LaunchStage::Namespace, Some(UID_MAP)),
    ("loopback: ", LaunchStage::Namespace, Some(UID_MAP)),
    ("Creating new namespace failed", LaunchStage::Namespace, Some(NAMESPACES)),
    ("No permissions to creat", LaunchStage::Namespace, Some(NAMESPACES)),
    ("unshare", LaunchStage::Namespace, Some(NAMESPACES)),
    ("Failed to make / slave", LaunchStage::Mount, Some(INSIDE_LANDLOCK)),
    ("Can't mount proc", LaunchStage::Mount, Some(MASKED_PROC)),
    ("overflowuid", LaunchStage::Mount, Some(MASKED_PROC)),
    ("Unknown option", LaunchStage::Spawn, Some(TOO_OLD)),
    ("Can't find source path", LaunchStage::Mount, Some(OUT_OF_REACH)),
    ("execvp", LaunchStage::Spawn, Some(NOT_VISIBLE)),
    ("Can't chdir", LaunchStage::Verify, None),
    ("Can't ", LaunchStage::Mount, None),
    ("Unable to ", LaunchStage::Mount, None),
];

/// What the stage was about, and where that belongs in a report.
const fn step(step: Step) -> (LaunchStage, &'static str) {
    match step {
        Step::Plan => (LaunchStage::Status, "read the stage's plan"),
        Step::Stdio => (LaunchStage::Verify, "pass descriptors 0 to 2 on"),
        Step::Verify => (LaunchStage::Verify, "verify the sandbox's view"),
        Step::Terminal => (LaunchStage::Spawn, "make a pseudo-terminal"),
        Step::Scratch => (LaunchStage::Spawn, "make a private temporary directory"),
        Step::Process => (LaunchStage::Spawn, "make the program's process"),
        Step::Rlimit => (LaunchStage::Spawn, "set a resource limit"),
        Step::Capabilities => (LaunchStage::Namespace, "drop capabilities"),
        Step::Landlock => (LaunchStage::Landlock, "enter the Landlock domain"),
        Step::Seccomp => (LaunchStage::Seccomp, "install the system-call filter"),
    }
}

/// From the stage's record.
pub(crate) fn of_step(which: Step, errno: i32, detail: Vec<u8>) -> LaunchFault {
    let (stage, what) = step(which);
    let detail = Text::from(detail);
    let mut text = String::from(what);
    if !detail.as_os_str().is_empty() {
        text.push_str(&format!(": `{detail}`"));
    }
    if errno != 0 {
        text.push_str(&format!(": {}", cause(errno)));
    }
    LaunchFault {
        path: AbsPath::new(detail.as_os_str()).ok(),
        errno: (errno != 0).then_some(errno),
        help: remedy(which, errno).map(str::to_owned),
        ..LaunchFault::new(stage, text)
    }
}

fn remedy(which: Step, errno: i32) -> Option<&'static str> {
    match (which, errno) {
        (Step::Landlock, libc::E2BIG) => {
            Some("this is inside 16 Landlock domains already, and the kernel takes no more: nest less deeply")
        }
        (Step::Landlock | Step::Verify, libc::ENOENT | libc::ESTALE) => Some(RACE),
        (Step::Stdio, 0) => Some("redirect it from or to a file, a pipe, a terminal or `/dev/null`"),
        _ => None,
    }
}

/// From the words and the end of a wrapper that died before the stage ran.
pub(crate) fn of_wrapper(words: &str, end: Option<WaitStatus>) -> LaunchFault {
    let said = words.lines().map(str::trim).rfind(|line| !line.is_empty());
    let Some(said) = said else {
        return LaunchFault::new(LaunchStage::Status, format!("set the sandbox up: {}", wordless(end)));
    };
    let row = WORDS.iter().find(|(part, ..)| said.contains(part));
    let (stage, help) = row.map_or((LaunchStage::Status, None), |(_, stage, help)| (*stage, *help));
    let text = format!("set the sandbox up: `{}`", Text::from(said));
    let help = hint(stage).or(help.map(str::to_owned));
    LaunchFault { help, ..LaunchFault::new(stage, text) }
}

/// What this host's own settings say about namespaces that could not be made.
fn hint(stage: LaunchStage) -> Option<String> {
    if stage != LaunchStage::Namespace {
        return None;
    }
    facts::launch_hint().map(|hint| hint.to_string())
}

fn wordless(end: Option<WaitStatus>) -> String {
    match end {
        Some(WaitStatus::Exited(_, code)) => {
            format!("the launcher exited with {code} before the program started")
        }
        Some(WaitStatus::Signaled(_, signal, _)) => {
            format!("{signal} ended the launcher before the program started")
        }
        _ => "the launcher ended before the program started".to_owned(),
    }
}

/// From a system call of the runner's own.
pub(crate) fn of_call(stage: LaunchStage, what: &str, error: &io::Error) -> LaunchFault {
    let errno = error.raw_os_error();
    let cause = errno.map_or_else(|| error.to_string(), cause);
    LaunchFault { errno, ..LaunchFault::new(stage, format!("{what}: {cause}")) }
}

fn cause(errno: i32) -> String {
    Errno::from_raw(errno).desc().to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn every_row_is_reached_by_its_own_words() {
        for (part, stage, _) in WORDS {
            let fault = of_wrapper(&format!("bwrap: {part} x: Permission denied\n"), None);
            assert_eq!(fault.stage, *stage, "{part}");
            assert!(fault.text.contains(part), "{}", fault.text);
        }
    }

    #[test]
    fn errno_words_do_not_decide() {
        for cause in ["No child processes", "Operation not permitted"] {
            let fault = of_wrapper(&format!("bwrap: loopback: Failed RTM_NEWADDR: {cause}"), None);
            assert_eq!(fault.stage, LaunchStage::Namespace);
            assert!(fault.help.is_some());
        }
    }

    #[test]
    fn a_silent_wrapper_is_named_by_its_end() {
        let end = WaitStatus::Exited(nix::unistd::Pid::from_raw(1), 3);
        assert!(of_wrapper("", Some(end)).text.contains("exited with 3"));
    }

    #[test]
    fn a_step_names_path_errno_and_cause() {
        let fault = of_step(Step::Verify, libc::ENOENT, b"/gone".to_vec());
        assert_eq!(fault.text, "verify the sandbox's view: `/gone`: no such file or directory");
        assert_eq!(fault.path, Some(AbsPath::new("/gone").unwrap()));
        assert_eq!(fault.errno, Some(libc::ENOENT));
    }

    proptest! {
        #[test]
        fn no_words_panic_or_move_the_cursor(words: String, detail: Vec<u8>, errno: i32) {
            prop_assert!(!of_wrapper(&words, None).text.chars().any(char::is_control));
            prop_assert!(!of_step(Step::Stdio, errno, detail).text.chars().any(char::is_control));
        }
    }
}
