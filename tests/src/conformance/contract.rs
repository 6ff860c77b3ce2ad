//! What every run keeps, whatever confines it.

use std::ffi::OsString;
use std::fs;
use std::time::{Duration, Instant};

use confine_core::report::OutcomeNote;
use confine_core::{BackendId, Effect, Policy, Report, Verdict};
use confine_runner::{Confine, Stdio};

use super::Mark;
use crate::library::{absolute, workspace_write};
use crate::scene::Temporary;
use crate::world::{living, marker, within};

/// One promise.
pub struct Contract {
    /// Its name.
    pub name: &'static str,
    /// Whether it is kept.
    pub holds: fn(&Confine, &BackendId) -> Mark,
}

/// All of them.
pub const ALL: &[Contract] = &[
    Contract { name: "exit status", holds: exit_status },
    Contract { name: "output", holds: output },
    Contract { name: "input", holds: input },
    Contract { name: "signal", holds: signal },
    Contract { name: "time", holds: time },
    Contract { name: "orphans", holds: orphans },
    Contract { name: "not found", holds: not_found },
];

struct Place {
    directory: Temporary,
    policy: Policy,
}

fn place() -> Place {
    let directory = Temporary::new("/var/tmp/confine-conform-");
    let all: Vec<&str> = Effect::ALL.iter().map(|effect| effect.name()).collect();
    let policy = workspace_write(directory.path(), &all.join(","));
    Place { directory, policy }
}

fn run(confine: &Confine, id: &BackendId, place: &Place, words: &[&str], stdin: Stdio) -> Report {
    let command = confine.command(words.iter().map(OsString::from)).cwd(absolute(place.directory.path()));
    let report = command.policy(&place.policy).backend(id.clone()).stdin(stdin).run_blocking();
    report.expect("it starts")
}

fn shell(confine: &Confine, id: &BackendId, script: &str) -> Report {
    run(confine, id, &place(), &["/bin/sh", "-c", script], Stdio::Null)
}

fn expect(report: &Report, kept: bool) -> Mark {
    if kept { Mark::Holds } else { Mark::Fails(format!("{:?}, {:?}", report.outcome, report.output)) }
}

fn exit_status(confine: &Confine, id: &BackendId) -> Mark {
    for code in [0, 1, 77, 124, 125, 126, 127, 137] {
        let report = shell(confine, id, &format!("echo 'bwrap: no'; exit {code}"));
        if report.outcome != (OutcomeNote::Exited { code }) || report.launch_fault.is_some() {
            return expect(&report, false);
        }
    }
    Mark::Holds
}

fn output(confine: &Confine, id: &BackendId) -> Mark {
    let report = shell(confine, id, "printf out; printf err >&2");
    let text = |stream: &confine_core::report::Stream| stream.text.to_string();
    let kept = report
        .output
        .as_ref()
        .is_some_and(|output| text(&output.stdout) == "out" && text(&output.stderr) == "err");
    expect(&report, kept)
}

fn input(confine: &Confine, id: &BackendId) -> Mark {
    let place = place();
    let file = place.directory.path().join("input");
    fs::write(&file, "given").expect("a file");
    let stdin = Stdio::Fd(fs::File::open(file).expect("a file").into());
    let report = run(confine, id, &place, &["/bin/cat"], stdin);
    let given = report.output.as_ref().is_some_and(|output| output.stdout.text.to_string() == "given");
    let none = shell(confine, id, "cat");
    expect(&report, given && none.outcome == OutcomeNote::Exited { code: 0 })
}

fn signal(confine: &Confine, id: &BackendId) -> Mark {
    let report = shell(confine, id, "kill -USR1 $$");
    expect(&report, matches!(report.outcome, OutcomeNote::Signaled { signal: libc::SIGUSR1, .. }))
}

fn time(confine: &Confine, id: &BackendId) -> Mark {
    let mut place = place();
    place.policy.limits.time = Some(Duration::from_millis(200));
    let begun = Instant::now();
    let report = run(confine, id, &place, &["/bin/sh", "-c", "sleep 20"], Stdio::Null);
    expect(&report, report.verdict == Verdict::TimedOut && begun.elapsed() < Duration::from_secs(10))
}

fn orphans(confine: &Confine, id: &BackendId) -> Mark {
    let marker = marker();
    let report = shell(confine, id, &format!("setsid sleep {marker} & exit 0"));
    expect(&report, within(Duration::from_secs(1), || living(&marker).is_empty()))
}

fn not_found(confine: &Confine, id: &BackendId) -> Mark {
    let report = run(confine, id, &place(), &["no-such-program"], Stdio::Null);
    expect(&report, matches!(report.outcome, OutcomeNote::ExecFailed { errno: libc::ENOENT }))
}
