//! System calls that no program in a sandbox needs, and each of which has been a way out. Each works outside, as its
//! control.

use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown};
use std::path::Path;

use confine_tests::program::compile;
use confine_tests::world::{content, is_there};
use confine_tests::{Backend, User, each, needs};

/// 128 and SIGSYS.
const KILLED_BY_THE_FILTER: i32 = 159;

#[test]
fn no_call_leaves_a_set_id_file() {
    needs!(root, bwrap, landlock = 3, cc);
    each(User::ALL, Backend::ALL, |scene| {
        let program = compile("setid", scene.base());
        let calls = ["open", "openat", "openat2", "creat", "mknod", "mknodat", "mkdir"];
        for call in calls.into_iter().chain(["chmod", "fchmod", "fchmodat", "fchmodat2"]) {
            let file = scene.workspace().join(call);
            let is_set = || file.symlink_metadata().is_ok_and(|state| state.mode() & 0o6000 != 0);
            scene.confine().run([&program, Path::new(call), &file]).fails();
            assert!(!is_set(), "inside by {call}");
            let _ = std::fs::remove_file(&file).or_else(|_| std::fs::remove_dir(&file));
            scene.control([&program, Path::new(call), &file]).exits(0);
            assert!(is_set(), "outside by {call}");
        }
    });
}

#[test]
fn ordinary_modes_are_still_set() {
    needs!(root, bwrap, landlock = 3);
    each(User::ALL, Backend::ALL, |scene| {
        scene.confine().shell("umask 0; mkdir -m 1777 d; echo > f; chmod 755 f").exits(0);
        let mode = |name| scene.workspace().join(name).metadata().expect("it was made").mode() & 0o7777;
        assert_eq!((mode("d"), mode("f")), (0o1777, 0o755));
    });
}

#[test]
fn a_set_id_program_gives_no_privileges() {
    needs!(root, bwrap, landlock = 3, cc);
    each(User::ALL, Backend::ALL, |scene| {
        let owner = if scene.user == User::Root { 12345 } else { 0 };
        let program = compile("effective", &scene.workspace());
        chown(&program, Some(owner), None).expect("root may give files away");
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o4755))
            .expect("root may set modes");
        let everyone = std::fs::Permissions::from_mode(0o777);
        std::fs::set_permissions(scene.workspace(), everyone).expect("root may set modes");
        let (inside, outside) = (scene.workspace().join("inside"), scene.workspace().join("outside"));
        scene.confine().run([&program, &inside]).exits(0);
        assert_eq!(content(&inside), Some(format!("{}\n", scene.user.id())));
        scene.control([&program, &outside]).exits(0);
        assert_eq!(content(&outside), Some(format!("{owner}\n")));
    });
}

#[test]
fn a_nested_user_namespace_cannot_be_made() {
    needs!(root, bwrap, landlock = 3, cc);
    each(User::ALL, Backend::ALL, |scene| {
        let program = compile("namespace", scene.base());
        for call in ["unshare", "clone", "clone3"] {
            scene.confine().run([&program, Path::new(call)]).fails();
            scene.control([&program, Path::new(call)]).exits(0);
        }
    });
}

#[test]
fn a_policy_may_allow_nested_user_namespaces() {
    needs!(root, bwrap, cc);
    each(User::ALL, &[Backend::Bwrap], |scene| {
        let program = compile("namespace", scene.base());
        let policy = scene.base().join("nested.toml");
        scene.write(&policy, "version = 1\nextends = \"workspace-write\"\n[enforcement]\nnested = true\n");
        scene.confine().option("--policy", &policy).run([&program, Path::new("unshare")]).exits(0);
    });
}

#[test]
fn io_uring_makes_no_file() {
    needs!(root, bwrap, landlock = 3, cc, io_uring);
    each(User::ALL, Backend::ALL, |scene| {
        let (program, made) = (compile("ring", scene.base()), scene.workspace().join("made"));
        scene.confine().run([&program, &made]).fails();
        assert!(!is_there(&made));
        scene.control([&program, &made]).exits(0);
        assert!(is_there(&made));
    });
}

#[test]
fn a_32_bit_call_ends_the_process() {
    needs!(root, bwrap, landlock = 3, cc, ia32);
    each(User::ALL, Backend::ALL, |scene| {
        let (program, made) = (compile("foreign", scene.base()), scene.workspace().join("made"));
        scene.confine().run([&program, &made]).exits(KILLED_BY_THE_FILTER);
        assert!(!is_there(&made));
        scene.control([&program, &made]).exits(0);
        assert!(is_there(&made));
    });
}

#[test]
fn an_x32_call_ends_the_process() {
    needs!(root, bwrap, landlock = 3, cc, ia32);
    each(User::ALL, Backend::ALL, |scene| {
        let program = compile("x32", scene.base());
        scene.confine().run([&program]).exits(KILLED_BY_THE_FILTER);
        // Kernels without x32 answer ENOSYS outside; none kills.
        assert!(matches!(scene.control([&program]).code(), Some(0 | 1)));
    });
}

#[test]
fn rare_kernel_interfaces_are_refused() {
    needs!(root, bwrap, landlock = 3, cc);
    each(&[User::Root], Backend::ALL, |scene| {
        let program = compile("kernel", scene.base());
        let refusals = [libc::EPERM, libc::ENOSYS].map(|errno| format!("{errno}\n"));
        for call in ["bpf", "perf_event_open", "keyctl", "add_key", "userfaultfd", "mount", "setns"] {
            let inside = scene.confine().run([&program, Path::new(call)]).exits(0);
            assert!(refusals.contains(&inside.stdout), "{call} inside: {inside}");
            let outside = scene.control([&program, Path::new(call)]).exits(0);
            assert!(!refusals.contains(&outside.stdout), "{call} outside: {outside}");
        }
    });
}
