//! Found, not found, and found without being executable.

use confine_stage::{MESSAGE_PREFIX, Record, Rule, Ruleset};

use crate::rig::{Directory, Launch, everywhere, supervisor};

/// What the launch says of a program that cannot be executed.
fn failure(launch: Launch, command: &[&str]) -> (bool, i32, String, Option<i32>) {
    let (records, output) = launch.records(command);
    match &records[..] {
        [Record::Staged { .. }, Record::ExecFailed { found, errno, program }] => {
            (*found, *errno, String::from_utf8_lossy(program).into_owned(), output.status.code())
        }
        _ => panic!("{records:?}"),
    }
}

fn with_path(mut launch: Launch, path: &str) -> Launch {
    let path: &'static str = Box::leak(format!("PATH={path}").into_boxed_str());
    let place = launch.wrapper.iter().position(|word| *word == "setpriv").map_or(0, |_| 6);
    if launch.wrapper.contains(&"bwrap") {
        launch.wrapper.extend(["--setenv", "PATH", path.strip_prefix("PATH=").unwrap()]);
    } else {
        launch.wrapper.splice(place..place, ["env", path]);
    }
    launch
}

#[test]
fn what_is_not_there_is_not_found() {
    for launch in everywhere() {
        let launch = with_path(launch, "/usr/bin:/bin");
        assert_eq!(
            failure(launch, &["no-such-program"]),
            (false, libc::ENOENT, "no-such-program".into(), Some(127))
        );
    }
    for path in ["/no/such/program", "/usr/no-such-program"] {
        assert_eq!(failure(supervisor(), &[path]), (false, libc::ENOENT, path.into(), Some(127)));
    }
    assert_eq!(failure(supervisor(), &[""]), (false, libc::ENOENT, String::new(), Some(127)));
}

#[test]
fn what_is_there_and_cannot_be_executed_is_found() {
    let directory = Directory::new("lookup");
    let cases = [
        (directory.file("plain", "#!/bin/sh\n", 0o644), libc::EACCES),
        (directory.file("headless", "echo no header\n", 0o755), libc::ENOEXEC),
        (directory.file("empty", "", 0o755), libc::ENOEXEC),
        (directory.file("uninterpreted", "#!/no/such/interpreter\n", 0o755), libc::ENOENT),
        (directory.0.to_str().unwrap().to_owned(), libc::EACCES),
    ];
    for (path, errno) in &cases {
        for launch in everywhere() {
            assert_eq!(failure(launch, &[path]), (true, *errno, path.clone(), Some(126)));
        }
    }
    let path = directory.0.to_str().unwrap();
    for (name, errno) in [("plain", libc::EACCES), ("headless", libc::ENOEXEC)] {
        let launch = with_path(supervisor(), &format!("/usr/bin:{path}:/bin"));
        assert_eq!(failure(launch, &[name]), (true, errno, directory.join(name), Some(126)));
    }
}

#[test]
fn a_search_goes_on_past_what_cannot_be_executed() {
    let directory = Directory::new("past");
    directory.file("true", "not executable", 0o644);
    std::fs::create_dir(directory.join("false")).unwrap();
    let path = format!("{}:/usr/bin:/bin", directory.0.display());
    assert_eq!(with_path(supervisor(), &path).output(&["true"]).status.code(), Some(0));
    assert_eq!(with_path(supervisor(), &path).output(&["false"]).status.code(), Some(1));
}

#[test]
fn an_unreadable_directory_on_path_does_not_hide_that_nothing_was_found() {
    use std::os::unix::fs::PermissionsExt;
    let directory = Directory::new("unreadable");
    let closed = directory.join("closed");
    std::fs::create_dir(&closed).unwrap();
    std::fs::set_permissions(&closed, std::fs::Permissions::from_mode(0o000)).unwrap();
    for launch in everywhere() {
        let launch = with_path(launch, &format!("{closed}:/usr/bin:/bin"));
        assert_eq!(
            failure(launch, &["no-such-program"]),
            (false, libc::ENOENT, "no-such-program".into(), Some(127))
        );
    }
}

#[test]
fn a_dangling_link_is_not_found_and_its_target_is_named() {
    let directory = Directory::new("dangling");
    let (middle, link) = (directory.join("middle"), directory.join("dangling-link"));
    std::os::unix::fs::symlink("/no/such/target", &middle).unwrap();
    std::os::unix::fs::symlink("middle", &link).unwrap();
    let missed = (false, libc::ENOENT, "/no/such/target".to_owned(), Some(127));
    assert_eq!(failure(supervisor(), &[&link]), missed);
    let launch = with_path(supervisor(), &format!("{}:/usr/bin:/bin", directory.0.display()));
    assert_eq!(failure(launch, &["dangling-link"]), missed);
    std::os::unix::fs::symlink("itself", directory.join("itself")).unwrap();
    let (found, errno, _, code) = failure(supervisor(), &[&directory.join("itself")]);
    assert_eq!((found, errno, code), (false, libc::ELOOP, Some(127)));
}

#[test]
fn a_program_outside_the_read_grants_is_not_found_with_the_reason() {
    let directory = Directory::new("outside");
    let program = directory.join("program");
    std::fs::copy("/bin/true", &program).unwrap();
    let rules = |paths: &[&str], access| Ruleset {
        handled_fs: 0x1fff,
        rules: paths.iter().map(|path| Rule { access, path: path.into() }).collect(),
        ..Ruleset::default()
    };
    for (granted, outcome) in [(false, 127), (true, 0)] {
        for name in [program.as_str(), "program"] {
            let mut launch = with_path(supervisor(), &format!("{}:/usr/bin", directory.0.display()));
            let mut paths = vec!["/usr", "/etc"];
            paths.extend(granted.then_some(program.as_str()));
            launch.plan.landlock = Some(rules(&paths, 0x5));
            if granted {
                assert_eq!(launch.output(&[name]).status.code(), Some(outcome));
            } else {
                let missed = (false, libc::EACCES, program.clone(), Some(outcome));
                assert_eq!(failure(launch, &[name]), missed);
            }
        }
    }
    // Readable and not executable under the domain: found.
    let mut launch = supervisor();
    launch.plan.landlock = Some(rules(&["/"], 0x4));
    assert_eq!(failure(launch, &[&program]), (true, libc::EACCES, program.clone(), Some(126)));
}

#[test]
fn a_program_that_may_be_executed_and_not_read_runs() {
    use std::os::unix::fs::PermissionsExt;
    let directory = Directory::new("unreadable-program");
    let program = directory.join("program");
    std::fs::copy("/bin/true", &program).unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o111)).unwrap();
    for launch in everywhere() {
        assert_eq!(launch.output(&[&program]).status.code(), Some(0));
    }
}

#[test]
fn a_foreign_spawner_gets_the_code_and_one_line() {
    for (command, code) in [("/no/such/program", 127), ("/etc/passwd", 126)] {
        let output = supervisor().output(&[command]);
        let text = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code));
        assert!(
            text.starts_with(MESSAGE_PREFIX) && text.contains(command) && text.lines().count() == 1,
            "{text}"
        );
    }
}
