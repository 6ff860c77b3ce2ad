//! Ends, signals and leftovers, in both roles where they do not differ.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::time::{Duration, Instant};

use confine_stage::status::Left;
use confine_stage::{Record, Rule};

use crate::rig::{
    Directory, Launch, ORDINARY, count, eventually, everywhere, init, status, supervisor, unique_seconds,
    wait_for,
};

#[test]
fn a_raw_status_tells_a_signal_from_a_code() {
    let cases = [
        ("exit 0", 0x0, 0),
        ("exit 1", 0x100, 1),
        ("exit 125", 0x7d00, 125),
        ("exit 137", 0x8900, 137),
        ("kill -9 $$", 0x9, 137),
        ("kill -TERM $$", 0xf, 143),
        ("kill -PIPE $$", 0xd, 141),
    ];
    for (script, raw, code) in cases {
        for launch in everywhere() {
            let (records, output) = launch.records(&["sh", "-c", script]);
            assert!(
                matches!(records[..2], [Record::Staged { .. }, Record::Started]),
                "{script}: {records:?}"
            );
            assert_eq!(status(&records), Some(raw), "{script}");
            assert_eq!(records.last(), Some(&Record::Done { left: Left::Nobody }), "{script}");
            assert_eq!(output.status.code(), Some(code), "{script}");
            assert!(output.stderr.is_empty(), "{script}: {output:?}");
        }
    }
}

#[test]
fn a_program_waits_for_the_word() {
    use confine_stage::Command::{Go, Signal};
    use nix::sys::socket::{Shutdown, shutdown};
    use std::os::fd::AsRawFd as _;
    let place = Directory::new("word");
    fs::set_permissions(&place.0, fs::Permissions::from_mode(0o777)).unwrap();
    let witness = place.join("witness");
    let script = format!("echo ran > {witness}");
    for mut launch in everywhere() {
        launch.plan.await_word = true;
        for said in [None, Some(Signal(libc::SIGUSR1)), Some(Go)] {
            let mut running = launch.clone().spawn(&["sh", "-c", &script]);
            if said != Some(Go) {
                assert!(!wait_for(&running.control, Duration::from_millis(50)), "it waits");
            }
            said.into_iter().for_each(|command| running.tell(command));
            if said.is_none() {
                shutdown(running.control.as_raw_fd(), Shutdown::Both).unwrap();
            }
            let records = running.rest();
            running.child.wait().unwrap();
            assert_eq!(fs::exists(&witness).unwrap(), said == Some(Go), "{said:?}: {records:?}");
            assert_eq!(!records.is_empty(), said == Some(Go), "{said:?}: {records:?}");
            let _ = fs::remove_file(&witness);
        }
    }
}

#[test]
fn usage_is_measured() {
    let (records, _) =
        supervisor().records(&["sh", "-c", "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done"]);
    let usage = records.iter().find_map(|record| match record {
        Record::Ended { user_us, sys_us, max_rss_bytes, .. } => Some((*user_us + *sys_us, *max_rss_bytes)),
        _ => None,
    });
    let (time, memory) = usage.unwrap();
    assert!((1_000..60_000_000).contains(&time), "{time} microseconds");
    assert!((100_000..1_000_000_000).contains(&memory), "{memory} bytes");
}

#[test]
fn a_foreign_spawner_gets_the_code_and_no_word() {
    for launch in everywhere() {
        let output = launch.output(&["sh", "-c", "echo out; echo err >&2; exit 7"]);
        assert_eq!(output.status.code(), Some(7));
        assert_eq!((&output.stdout[..], &output.stderr[..]), (&b"out\n"[..], &b"err\n"[..]));
    }
}

#[test]
fn leftovers_are_told_and_ended() {
    for (number, launch) in everywhere().into_iter().enumerate() {
        let seconds = unique_seconds(10 + u32::try_from(number).unwrap());
        let script = format!("sleep {seconds} & setsid sleep {seconds} & sleep 0.2; exit 3");
        let begin = Instant::now();
        let (records, output) = launch.records(&["sh", "-c", &script]);
        assert!(begin.elapsed() < Duration::from_secs(5));
        let told = records.iter().filter(
            |record| matches!(record, Record::Leftover { command, .. } if command == format!("sleep {seconds}").as_bytes()),
        );
        assert_eq!(told.count(), 2, "{records:?}");
        assert_eq!(records.last(), Some(&Record::Done { left: Left::Counted(2) }));
        assert_eq!(output.status.code(), Some(3));
        assert!(eventually(|| count(&seconds) == 0));
    }
}

/// Hops from session to session, as fast as a shell can and a thousand times at most, and leaves a sleeper each time.
const STORM: &str = "sleep $2 & [ $1 -gt 0 ] && setsid sh -c \"$0\" \"$0\" $(($1 - 1)) $2 &";

#[test]
fn a_storm_of_sessions_is_ended() {
    for (number, launch) in [Some(supervisor()), init()].into_iter().flatten().enumerate() {
        let seconds = unique_seconds(20 + u32::try_from(number).unwrap());
        let script = "sh -c \"$0\" \"$0\" 1000 $1; sleep 0.3; exit 0";
        let begin = Instant::now();
        let (records, output) = launch.records(&["sh", "-c", script, STORM, &seconds]);
        assert!(begin.elapsed() < Duration::from_secs(10));
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        assert!(
            matches!(records.last(), Some(Record::Done { left: Left::Counted(count) }) if *count > 2),
            "{records:?}"
        );
        assert!(records.iter().filter(|record| matches!(record, Record::Leftover { .. })).count() <= 64);
        assert!(eventually(|| count(&seconds) == 0), "{} left", count(&seconds));
    }
}

#[test]
fn the_lifeline_ends_all() {
    for (number, launch) in everywhere().into_iter().enumerate() {
        let seconds = unique_seconds(30 + u32::try_from(number).unwrap());
        let script =
            format!("trap '' TERM HUP INT; setsid sleep {seconds} & sleep {seconds} & sleep {seconds}");
        let mut running = launch.spawn(&["sh", "-c", &script]);
        running.until_started();
        assert!(eventually(|| count(&seconds) == 3));
        drop(running.control);
        assert!(eventually(|| count(&seconds) == 0));
        running.child.wait().unwrap();
    }
}

#[test]
fn a_supervisor_that_is_killed_takes_the_program_along() {
    let seconds = unique_seconds(40);
    let mut running = supervisor().spawn(&["sleep", &seconds]);
    running.until_started();
    running.child.kill().unwrap();
    assert!(eventually(|| count(&seconds) == 0));
    running.child.wait().unwrap();
}

#[test]
fn a_signal_reaches_the_group_of_the_program() {
    for launch in everywhere() {
        let script = "trap 'wait $p; exit 9' USR1; sleep 60 & p=$!; sleep 0.2; echo ready; wait";
        let mut running = launch.spawn(&["sh", "-c", script]);
        running.until_started();
        let mut line = [0; 6];
        std::io::Read::read_exact(running.child.stdout.as_mut().unwrap(), &mut line).unwrap();
        running.signal(libc::SIGUSR1);
        let records = running.rest();
        assert_eq!(status(&records), Some(0x900), "{records:?}");
        assert_eq!(records.last(), Some(&Record::Done { left: Left::Nobody }), "the sleep got it too");
        running.child.wait().unwrap();
    }
}

#[test]
fn a_signal_that_comes_early_ends_a_staged_program() {
    for _ in 0..20 {
        let mut running = supervisor().spawn(&["sleep", "60"]);
        running.signal(libc::SIGTERM);
        let records = running.rest();
        assert!(matches!(records.first(), Some(Record::Staged { .. })), "{records:?}");
        assert_eq!(status(&records), Some(libc::SIGTERM));
        running.child.wait().unwrap();
    }
}

#[test]
fn a_foreign_spawner_may_signal_the_supervisor() {
    let script = "trap 'kill $!; exit 9' TERM; sleep 60 & echo ready; wait";
    let mut child = supervisor().foreign(&["sh", "-c", script]).spawn().unwrap();
    let mut line = [0; 6];
    std::io::Read::read_exact(child.stdout.as_mut().unwrap(), &mut line).unwrap();
    let pid = nix::unistd::Pid::from_raw(i32::try_from(child.id()).unwrap());
    nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGTERM).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(9));
}

#[test]
fn a_spawner_that_ignores_the_end_of_children_hears_of_the_program() {
    let mut launch = supervisor();
    launch.wrapper = vec!["env", "--ignore-signal=CHLD"];
    let (records, _) = launch.records(&["sh", "-c", "exit 3"]);
    assert_eq!(status(&records), Some(0x300));
}

#[test]
fn a_group_leader_becomes_a_supervisor_too() {
    use std::os::unix::process::CommandExt;
    let seconds = unique_seconds(50);
    let script = format!("setsid sleep {seconds} & exit 5");
    let output = supervisor().foreign(&["sh", "-c", &script]).process_group(0).output().unwrap();
    assert_eq!(output.status.code(), Some(5), "{output:?}");
    assert_eq!(count(&seconds), 0);

    let mut child = supervisor().foreign(&["sleep", &seconds]).process_group(0).spawn().unwrap();
    assert!(eventually(|| count(&seconds) >= 2));
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(eventually(|| count(&seconds) == 0), "the known process is the supervisor's lifeline");
}

#[test]
fn the_program_leads_a_session_without_a_terminal() {
    for launch in everywhere() {
        let script = "set -- $(cat /proc/self/stat); [ $6 = $$ ] && [ $5 = $$ ] && [ $7 = 0 ]";
        let output = launch.output(&["sh", "-c", script]);
        assert_eq!(output.status.code(), Some(0), "{output:?}");
    }
}

#[test]
fn a_scratch_directory_is_private_and_removed_with_hostile_contents() {
    let parent = Directory::new("scratch");
    let outside = parent.file("outside", "kept", 0o644);
    let mut launch = supervisor();
    launch.plan.scratch = Some(Rule { access: 0x1fff, path: parent.join("scratch-").into() });
    let script = format!(
        "set -e; stat -c %a $TMPDIR; cd $TMPDIR; ln -s {outside} link; ln -s {parent} up; touch a b; mkdir -p .1/x .2; \
         touch .3; i=0; while [ $i -lt 3000 ]; do mkdir d; cd d; i=$((i+1)); done; ln -s ../.. up; cd $TMPDIR; \
         mkdir -p closed/inner; touch closed/inner/f; chmod 000 closed/inner; chmod 000 closed; mkfifo fifo",
        parent = parent.0.display()
    );
    let output = launch.output(&["sh", "-c", &script]);
    assert_eq!(String::from_utf8_lossy(&output.stdout), "700\n", "{output:?}");
    let left: Vec<_> = fs::read_dir(&parent.0).unwrap().flatten().map(|entry| entry.file_name()).collect();
    assert_eq!(left, ["outside"]);
    assert_eq!(fs::read_to_string(outside).unwrap(), "kept");
}

#[test]
fn pwd_names_the_directory_of_the_program_whatever_a_launcher_set() {
    for mut launch in everywhere() {
        launch.plan.cwd = "/usr/bin".into();
        let mut command = launch.foreign(&["env"]);
        let output = command.env("PWD", "/etc").output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let named: Vec<_> = text.lines().filter(|line| line.starts_with("PWD=")).collect();
        assert_eq!(named, ["PWD=/usr/bin"], "{text}");
    }
}

#[test]
fn a_scratch_directory_goes_although_the_program_closed_it_to_its_owner() {
    for wrapper in [&[][..], ORDINARY] {
        let parent = Directory::new("closed-scratch");
        fs::set_permissions(&parent.0, fs::Permissions::from_mode(0o777)).unwrap();
        fs::create_dir(parent.join("outside")).unwrap();
        let kept = parent.file("outside/kept", "kept", 0o604);
        fs::set_permissions(parent.join("outside"), fs::Permissions::from_mode(0o705)).unwrap();
        let mut launch = Launch { wrapper: wrapper.to_vec(), ..supervisor() };
        launch.plan.scratch = Some(Rule { access: 0x1fff, path: parent.join("scratch-").into() });
        let script = format!(
            "set -e; cd $TMPDIR; mkdir -p a/b/c d; touch a/b/c/f; for at in . a a/b a/b/c d; do \
             ln -s {outside} $at/link; ln -s {outside}/kept $at/file; ln -s / $at/root; ln -s .. $at/up; done; \
             chmod 0 a/b/c; chmod 0 a/b; chmod 0 a d; chmod 0 $TMPDIR; stat -c %a $TMPDIR",
            outside = parent.join("outside"),
        );
        let output = launch.output(&["sh", "-c", &script]);
        assert_eq!(String::from_utf8_lossy(&output.stdout), "0\n", "{output:?}");
        let left: Vec<_> =
            fs::read_dir(&parent.0).unwrap().flatten().map(|entry| entry.file_name()).collect();
        assert_eq!(left, ["outside"], "{wrapper:?}");
        assert_eq!(fs::read_to_string(&kept).unwrap(), "kept");
        let mode = |path: &str| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&parent.join("outside")), mode(&kept)), (0o705, 0o604));
    }
}

#[test]
fn the_ends_of_the_pipes_are_not_held_by_the_stage() {
    let script = "exec </dev/null >/dev/null; sleep 3";
    let mut running = supervisor().spawn(&["sh", "-c", script]);
    let begin = Instant::now();
    let mut all = Vec::new();
    std::io::Read::read_to_end(running.child.stdout.as_mut().unwrap(), &mut all).unwrap();
    assert!(begin.elapsed() < Duration::from_secs(2), "standard output ended with the program's use of it");
    drop(running.control);
    running.child.wait().unwrap();
}
