//! Files outside the grants. Each attempt works outside, as its control, and inside with one more grant, as its twin.

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use confine_tests::program::compile;
use confine_tests::world::content;
use confine_tests::{Backend, Scene, User, each, needs};

/// Every name in the directory outside, with what can be changed about it.
fn state(scene: &Scene) -> BTreeMap<PathBuf, String> {
    let entries = std::fs::read_dir(scene.outside()).expect("root may list it");
    let describe = |path: PathBuf| {
        let state = path.symlink_metadata().expect("it was just listed");
        let text = if state.is_file() { content(&path) } else { None };
        (path, format!("{:o} {} {} {text:?}", state.mode(), state.nlink(), state.mtime()))
    };
    entries.map(|entry| describe(entry.expect("a name").path())).collect()
}

/// The directory outside as it is before each attempt.
fn prepare(scene: &Scene) -> BTreeMap<PathBuf, String> {
    std::fs::remove_dir_all(scene.outside()).expect("root may remove it");
    scene.write(&scene.outside().join("file"), "content\n");
    scene.directory(&scene.outside().join("empty"));
    let _ = std::fs::remove_file(scene.workspace().join("link"));
    state(scene)
}

/// Makes the attempt inside, inside with a grant, and outside.
fn attempt(scene: &Scene, words: &[&str]) {
    let before = prepare(scene);
    scene.confine().run(words).fails();
    assert_eq!(state(scene), before, "inside: {words:?}");
    prepare(scene);
    scene.confine().option("--write", scene.outside()).run(words).exits(0);
    assert_ne!(state(scene), before, "with the grant: {words:?}");
    prepare(scene);
    scene.control(words).exits(0);
    assert_ne!(state(scene), before, "outside: {words:?}");
}

#[test]
fn nothing_outside_the_write_grants_is_changed() {
    needs!(root, bwrap, landlock = 3);
    each(User::ALL, Backend::ALL, |scene| {
        for script in [
            "echo x > ../out/new",
            "echo x >> ../out/file",
            ": > ../out/file",
            "rm ../out/file",
            "rmdir ../out/empty",
            "mkdir ../out/new",
            "mkfifo ../out/new",
            "ln -s file ../out/new",
            "ln ../out/file ../out/new",
            "mv ../out/file ../out/new",
            "echo mine > link && mv link ../out/file",
            "ln -s ../out/file link && echo x >> link",
            "echo x >> /proc/self/root$(realpath ../out)/file",
            "echo x >> /proc/self/cwd/../out/file",
            "cd ../out && echo x > new",
        ] {
            attempt(scene, &["sh", "-c", script]);
        }
    });
}

#[test]
fn a_file_outside_cannot_be_linked_into_the_workspace_and_changed_there() {
    needs!(root, bwrap, landlock = 3);
    each(User::ALL, Backend::ALL, |scene| {
        let attack = "ln ../out/file link && echo x >> link";
        let before = prepare(scene);
        scene.confine().shell(attack).fails();
        assert_eq!(state(scene), before);
        scene.control(["sh", "-c", attack]).exits(0);
        assert_ne!(state(scene), before);
    });
}

#[test]
fn a_read_only_file_cannot_be_emptied_by_its_name() {
    needs!(root, bwrap, landlock = 3, cc);
    each(User::ALL, Backend::ALL, |scene| {
        let program = compile("metadata", scene.base());
        let file = scene.outside().join("file");
        attempt(scene, &[text(&program), "truncate", text(&file)]);
    });
}

#[test]
fn metadata_of_a_read_only_file_cannot_be_changed() {
    needs!(root, bwrap, cc);
    each(User::ALL, &[Backend::Bwrap], |scene| {
        let program = compile("metadata", scene.base());
        let file = scene.outside().join("file");
        for how in ["chmod", "utime"] {
            attempt(scene, &[text(&program), how, text(&file)]);
        }
    });
}

#[test]
fn extended_attributes_of_a_read_only_file_cannot_be_changed() {
    needs!(root, bwrap, cc, setfattr);
    each(User::ALL, &[Backend::Bwrap], |scene| {
        let attack = [compile("metadata", scene.base()), "xattr".into(), scene.outside().join("file")];
        let planted = || scene.control(["getfattr", "-n", "user.planted", "../out/file"]).code() == Some(0);
        prepare(scene);
        scene.confine().run(&attack).fails();
        assert!(!planted());
        scene.confine().option("--write", scene.outside()).run(&attack).exits(0);
        assert!(planted());
        prepare(scene);
        scene.control(&attack).exits(0);
        assert!(planted());
    });
}

const SECRET: &str = "a secret\n";

#[test]
fn a_hidden_file_is_read_by_none_of_its_names() {
    needs!(root, bwrap);
    each(User::ALL, &[Backend::Bwrap], |scene| {
        let secret = scene.write(&scene.outside().join("hidden/secret"), SECRET);
        let copy = scene.workspace().join("copy");
        for way in [
            "cat ../out/hidden/secret > copy",
            "cat /proc/self/root$(realpath ..)/out/hidden/secret > copy",
            "cat /proc/self/cwd/../out/hidden/secret > copy",
            "ln -sf ../out/hidden link; cat link/secret > copy",
            "ln -f ../out/hidden/secret hard; cat hard > copy",
            "cd ../out; cat hidden/secret > ../ws/copy",
        ] {
            let hidden = secret.parent().expect("it lies in a directory");
            for place in [hidden, &secret] {
                scene.confine().option("--hide", place).shell(way).fails();
                assert_ne!(
                    content(&copy).as_deref(),
                    Some(SECRET),
                    "{way} while {} is hidden",
                    place.display()
                );
            }
            scene.control(["sh", "-c", way]).exits(0);
            assert_eq!(content(&copy).as_deref(), Some(SECRET), "outside: {way}");
            scene.control(["rm", "-f", "copy", "hard", "link"]).exits(0);
        }
        scene.confine().shell("cat ../out/hidden/secret > copy").exits(0);
        assert_eq!(content(&copy).as_deref(), Some(SECRET), "the twin that hides nothing");
    });
}

#[test]
fn a_hidden_directory_is_empty_through_another_mount_of_it() {
    needs!(root, bwrap, unshare);
    each(&[User::Root], &[Backend::Bwrap], |scene| {
        let hidden = scene.directory(&scene.outside().join("hidden"));
        scene.write(&hidden.join("secret"), SECRET);
        let alias = scene.directory(&scene.base().join("alias"));
        let mount = format!("mount --bind {} {} && exec \"$@\"", hidden.display(), alias.display());
        let aliased = ["unshare", "-m", "sh", "-c", &mount, "sh"];
        let (read, copy) = ("cat ../alias/secret > copy", scene.workspace().join("copy"));
        scene.confine().under(aliased).option("--hide", &hidden).shell(read).fails();
        assert_ne!(content(&copy).as_deref(), Some(SECRET));
        scene.confine().under(aliased).shell(read).exits(0);
        assert_eq!(content(&copy).as_deref(), Some(SECRET), "the twin that hides nothing");
    });
}

#[test]
fn a_device_node_that_is_not_granted_cannot_be_opened() {
    needs!(root, bwrap);
    each(User::ALL, &[Backend::Bwrap], |scene| {
        // Another /dev/zero.
        let node = scene.outside().join("zero");
        let made = std::process::Command::new("mknod").arg("-m666").arg(&node).args(["c", "1", "5"]).status();
        assert!(made.expect("mknod starts").success());
        let read = ["head", "-c", "1", text(&node)];
        assert_eq!(scene.confine().run(read).fails().stdout, "");
        assert_eq!(
            scene.confine().option("--device", &node).run(read).exits(0).stdout,
            "\0",
            "with the grant"
        );
        assert_eq!(scene.control(read).exits(0).stdout, "\0", "outside");
    });
}

fn text(path: &Path) -> &str {
    path.to_str().expect("scenes have plain names")
}
