//! What root may try with the powers that a careless sandbox leaves it. Each attempt works outside, as its control.

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use confine_tests::program::compile;
use confine_tests::world::{content, is_there};
use confine_tests::{Backend, Finished, Scene, User, each, needs};

const ROOT: &[User] = &[User::Root];
const BWRAP: &[Backend] = &[Backend::Bwrap];
const SECRET: &str = "a secret\n";

/// A directory outside with a secret in it.
fn hidden(scene: &Scene) -> PathBuf {
    let directory = scene.outside().join("hidden");
    scene.write(&directory.join("secret"), SECRET);
    directory
}

/// `words` in a mount namespace of its own, after `mounts`; `$0` and so on are the words.
fn in_mounts(scene: &Scene, mounts: &str, words: &[&Path]) -> Finished {
    let script = format!("{mounts} && exec \"$0\" \"$@\"");
    let mut all: Vec<PathBuf> = ["unshare", "-m", "sh", "-c", &script].map(PathBuf::from).to_vec();
    all.extend(words.iter().map(|word| word.to_path_buf()));
    scene.control(all)
}

#[test]
fn no_capability_is_left_in_any_set() {
    needs!(root, bwrap, landlock = 3);
    each(ROOT, Backend::ALL, |scene| {
        let sets = "grep ^Cap /proc/self/status";
        let inside = scene.confine().shell(sets).exits(0);
        assert_eq!(inside.stdout.lines().count(), 5, "{inside}");
        assert!(inside.stdout.lines().all(|set| set.ends_with("\t0000000000000000")), "{inside}");
        let outside = scene.control(["sh", "-c", sets]).exits(0);
        assert!(!outside.stdout.contains("CapEff:\t0000000000000000"), "{outside}");
    });
}

#[test]
fn a_file_cannot_be_given_away_without_capabilities() {
    needs!(root, bwrap, landlock = 3);
    each(ROOT, Backend::ALL, |scene| {
        let file = scene.write(&scene.workspace().join("mine"), "");
        let owner = || file.metadata().expect("the file is there").uid();
        scene.confine().run(["chown", "12345", "mine"]).fails();
        assert_eq!(owner(), 0);
        scene.control(["chown", "12345", "mine"]).exits(0);
        assert_eq!(owner(), 12345);
    });
}

#[test]
fn a_mask_cannot_be_unmounted() {
    needs!(root, bwrap, cc, unshare);
    each(ROOT, BWRAP, |scene| {
        let (hidden, copy) = (hidden(scene), scene.workspace().join("copy"));
        let attack = [compile("umount", scene.base()), hidden.clone(), hidden.join("secret"), copy.clone()];
        scene.confine().option("--hide", &hidden).run(&attack).fails();
        assert_eq!(content(&copy), None);
        scene.confine().run([Path::new("cp"), &attack[2], &copy]).exits(0);
        assert_eq!(content(&copy).as_deref(), Some(SECRET));
        scene.control([Path::new("rm"), &copy]).exits(0);
        let mask = format!("mount -t tmpfs none {}", hidden.display());
        in_mounts(scene, &mask, &attack.each_ref().map(PathBuf::as_path)).exits(0);
        assert_eq!(content(&copy).as_deref(), Some(SECRET));
    });
}

#[test]
fn a_mask_cannot_be_avoided_by_a_clone_of_the_mount_below_it() {
    needs!(root, bwrap, cc, unshare);
    each(ROOT, BWRAP, |scene| {
        let (hidden, copy) = (hidden(scene), scene.workspace().join("copy"));
        let attack = [compile("tree", scene.base()), scene.outside(), "hidden/secret".into(), copy.clone()];
        scene.confine().option("--hide", &hidden).run(&attack).fails();
        assert_eq!(content(&copy), None);
        let mask = format!("mount -t tmpfs none {}", hidden.display());
        in_mounts(scene, &mask, &attack.each_ref().map(PathBuf::as_path)).exits(0);
        assert_eq!(content(&copy).as_deref(), Some(SECRET));
    });
}

#[test]
fn a_mask_cannot_be_avoided_by_a_file_handle() {
    needs!(root, bwrap, cc);
    each(ROOT, BWRAP, |scene| {
        let (hidden, copy) = (hidden(scene), scene.workspace().join("copy"));
        let program = compile("handle", scene.base());
        let found = scene.control([&program, Path::new("find"), &hidden.join("secret")]).exits(0);
        let attack = [program, "open".into(), ".".into(), found.stdout.into(), copy.clone()];
        scene.confine().option("--hide", &hidden).run(&attack).fails();
        assert_eq!(content(&copy), None);
        scene.control(&attack).exits(0);
        assert_eq!(content(&copy).as_deref(), Some(SECRET));
    });
}

#[test]
fn a_read_only_mount_cannot_be_made_writable() {
    needs!(root, bwrap, landlock = 3, cc, unshare);
    each(ROOT, Backend::ALL, |scene| {
        let (outside, made) = (scene.outside(), scene.outside().join("made"));
        let program = compile("remount", scene.base());
        for mount in [Path::new("/"), &outside] {
            scene.confine().run([&program, mount, &made]).fails();
            assert!(!is_there(&made), "by way of {}", mount.display());
        }
        scene.confine().option("--write", &outside).run([Path::new("touch"), &made]).exits(0);
        assert!(is_there(&made));
        scene.control([Path::new("rm"), &made]).exits(0);
        let mounts = format!("mount --bind {0} {0} && mount -o remount,bind,ro {0}", outside.display());
        in_mounts(scene, &mounts, &[&program, &outside, &made]).exits(0);
        assert!(is_there(&made));
    });
}

#[test]
fn core_pattern_cannot_be_written() {
    needs!(root, bwrap, landlock = 3);
    each(ROOT, Backend::ALL, |scene| {
        // The same value again, so that the control changes nothing.
        let pattern = Path::new("/proc/sys/kernel/core_pattern");
        let before = content(pattern).expect("every kernel has a core pattern");
        scene.write(&scene.workspace().join("pattern"), &before);
        let attack = "cat pattern > /proc/sys/kernel/core_pattern";
        scene.confine().shell(attack).fails();
        scene.control(["sh", "-c", attack]).exits(0);
        assert_eq!(content(pattern), Some(before));
    });
}

#[test]
fn kernel_settings_cannot_be_opened_for_writing() {
    needs!(root, bwrap, landlock = 3);
    each(ROOT, Backend::ALL, |scene| {
        for setting in [
            "/proc/sysrq-trigger",
            "/proc/sys/kernel/modprobe",
            "/proc/sys/kernel/core_uses_pid",
            "/proc/sys/vm/drop_caches",
            "/proc/sys/fs/suid_dumpable",
            "/sys/kernel/mm/transparent_hugepage/enabled",
        ] {
            if !is_there(Path::new(setting)) {
                continue;
            }
            // Opens it, and writes nothing.
            let attack = format!(": >> {setting}");
            scene.confine().shell(&attack).fails();
            scene.control(["sh", "-c", &attack]).exits(0);
        }
    });
}

#[test]
fn kernel_tables_cannot_be_read() {
    needs!(root, bwrap);
    each(ROOT, BWRAP, |scene| {
        let tables = ["kpageflags", "slabinfo", "vmallocinfo", "timer_list", "keys", "kcore", "kmsg"];
        let tables = tables.map(|name| format!("/proc/{name}"));
        let readable = tables.iter().filter(|table| {
            is_there(Path::new(table))
                && scene.control(["dd", "bs=64", "count=1", "status=none", &format!("if={table}")]).code()
                    == Some(0)
        });
        let mut count = 0;
        for table in readable {
            count += 1;
            let inside =
                scene.confine().run(["dd", "bs=64", "count=1", "status=none", &format!("if={table}")]);
            assert_eq!(inside.stdout, "", "{table}: {inside}");
        }
        assert!(count > 0, "the control reads none of them");
    });
}

#[test]
fn the_root_of_another_process_is_no_way_out() {
    needs!(root, bwrap, landlock = 3);
    each(ROOT, Backend::ALL, |scene| {
        let made = scene.outside().join("made");
        let attack = format!(
            "for root in /proc/[0-9]*/root; do echo x > $root{} && exit 0; done; exit 1",
            made.display()
        );
        scene.confine().shell(&attack).fails();
        assert!(!is_there(&made));
        scene.control(["sh", "-c", &attack]).exits(0);
        assert!(is_there(&made));
    });
}

#[test]
fn the_root_of_another_process_shows_nothing_hidden() {
    needs!(root, bwrap);
    each(ROOT, BWRAP, |scene| {
        let (hidden, copy) = (hidden(scene), scene.workspace().join("copy"));
        let read = format!("cat $root{}/secret > copy && exit 0", hidden.display());
        let attack = format!("for root in /proc/[0-9]*/root; do {read}; done; exit 1");
        scene.confine().option("--hide", &hidden).shell(&attack).fails();
        assert_ne!(content(&copy).as_deref(), Some(SECRET));
        scene.control(["sh", "-c", &attack]).exits(0);
        assert_eq!(content(&copy).as_deref(), Some(SECRET));
    });
}

#[test]
fn a_device_node_cannot_be_made() {
    needs!(root, bwrap, landlock = 3);
    each(ROOT, Backend::ALL, |scene| {
        let node = scene.workspace().join("null");
        scene.confine().run(["mknod", "null", "c", "1", "3"]).fails();
        assert!(!is_there(&node));
        scene.control(["mknod", "null", "c", "1", "3"]).exits(0);
        assert!(is_there(&node));
    });
}

/// Root's own nodes, and their own mode.
const CHMOD: &str = "chmod 666 /dev/null";

#[test]
fn device_nodes_that_cannot_be_made_read_only_are_not_claimed() {
    needs!(root, bwrap);
    each(ROOT, BWRAP, |scene| {
        let bounded = ["setpriv", "--bounding-set=-sys_admin"];
        scene.confine().shell(CHMOD).fails();
        let refused = scene.confine().under(bounded).shell(CHMOD).exits(125);
        refused.says("--accept-missing fs-metadata,fd-stdio");
        let accepting = scene.confine().under(bounded).option("--accept-missing", "fs-metadata,fd-stdio");
        accepting.shell(CHMOD).exits(0);
        scene.control(["sh", "-c", CHMOD]).exits(0);
    });
}

#[test]
fn device_nodes_that_no_runner_makes_read_only_are_not_claimed() {
    needs!(root, bwrap);
    each(&[User::Root, User::Ordinary], BWRAP, |scene| {
        let losses = "orphan,fs-carve-out-new,fd-stdio";
        let plan = scene.confine().verb(["plan"]).option("--accept-missing", losses).run(["true"]);
        match scene.user {
            User::Root => plan.exits(125).says("fs-metadata").says("device nodes read-only"),
            _ => plan.exits(0),
        };
    });
}
