//! What only process 1 of a namespace does.

use confine_stage::Record;
use confine_stage::status::Left;

use crate::rig::{init, status};

#[test]
fn the_program_cannot_end_its_tree_by_signalling_process_1() {
    let Some(launch) = init() else { return };
    let script = "for s in TERM INT HUP QUIT KILL STOP USR1; do kill -$s 1; done; sleep 0.1; exit 4";
    let (records, _) = launch.records(&["sh", "-c", script]);
    assert_eq!(status(&records), Some(0x400), "{records:?}");
}

#[test]
fn the_program_is_not_process_1_and_cannot_look_into_it() {
    let Some(launch) = init() else { return };
    let script = "[ $$ != 1 ] && ! cat /proc/1/environ && ! readlink /proc/1/fd/2 && ! readlink /proc/1/exe";
    let (records, output) = launch.records(&["sh", "-c", script]);
    assert_eq!(status(&records), Some(0), "{output:?}");
    let twin = [
        "sh",
        "-c",
        "sleep 5 & cat /proc/$!/environ && readlink /proc/$!/fd/2 && readlink /proc/$!/exe; r=$?; kill $!; exit $r",
    ];
    assert_eq!(init().map(|launch| launch.output(&twin).status.code()), Some(Some(0)));
}

#[test]
fn orphans_are_reaped_while_the_program_runs() {
    let Some(launch) = init() else { return };
    let script = "(sleep 0.1 &); (sleep 0.1 &); sleep 0.5; grep -l '^State:.*Z' /proc/[0-9]*/status; exit 0";
    let (records, output) = launch.records(&["sh", "-c", script]);
    assert_eq!(records.last(), Some(&Record::Done { left: Left::Nobody }));
    assert!(output.stdout.is_empty(), "{output:?}");
}

#[test]
fn a_proc_of_another_namespace_names_no_strangers() {
    let Some(mut launch) = init() else { return };
    launch.wrapper.extend(["--ro-bind", "/proc", "/proc"]);
    let (records, output) = launch.records(&["sh", "-c", "sleep 60 & exit 2"]);
    assert_eq!(records.last(), Some(&Record::Done { left: Left::Counted(0) }), "{output:?}");
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn a_supervisor_that_cannot_see_its_descent_refuses() {
    let Some(mut launch) = init() else { return };
    launch.plan.role = confine_stage::Role::Supervisor;
    launch.wrapper.extend(["--tmpfs", "/proc"]);
    let output = launch.output(&["true"]);
    assert_eq!(output.status.code(), Some(125), "{output:?}");
    assert!(String::from_utf8_lossy(&output.stderr).contains("`/proc`"));
}
