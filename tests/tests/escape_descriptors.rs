//! Descriptors and the terminal: what a program holds from its first moment. Each attempt works outside, as its control.

use std::ffi::OsStr;
use std::fs::{File, OpenOptions};
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use confine_tests::program::compile;
use confine_tests::world::{content, is_there};
use confine_tests::{Backend, Scene, User, each, needs};

#[test]
fn descriptors_that_the_caller_left_open_are_closed() {
    needs!(root, bwrap, landlock = 3, cc);
    each(User::ALL, Backend::ALL, |scene| {
        let (file, directory) = (scene.write(&scene.outside().join("file"), ""), scene.outside());
        let program = compile("descriptors", scene.base());
        let open = format!("exec 9>> {} 8< {}; exec \"$@\"", file.display(), directory.display());
        let with_open = ["sh", "-c", &open, "sh"];
        scene.confine().under(with_open).run([&program, Path::new("8"), Path::new("9")]).fails();
        assert_eq!(content(&file).as_deref(), Some(""));
        assert!(!is_there(&directory.join("planted")));
        let inside = scene.confine().under(with_open).run([&program]).exits(0);
        assert_eq!(inside.stdout, "", "none at all is open: {inside}");
        let program = program.as_os_str();
        scene
            .control(with_open.map(OsStr::new).into_iter().chain([program, "8".as_ref(), "9".as_ref()]))
            .exits(0);
        assert_eq!(content(&file).as_deref(), Some("planted\n"));
        assert!(is_there(&directory.join("planted")));
    });
}

/// What reads a secret through the directory that is its stdin.
const THROUGH_STDIN: &str = "touch ran; cat /proc/self/fd/0/secret > copy";

#[test]
fn a_directory_as_stdin_is_refused() {
    needs!(root, bwrap, landlock = 3);
    each(User::ALL, Backend::ALL, |scene| {
        scene.write(&scene.outside().join("secret"), "a secret\n");
        let (copy, ran) = (scene.workspace().join("copy"), scene.workspace().join("ran"));
        let directory = || File::open(scene.outside()).expect("a directory opens");
        let inside = with_stdin(scene.confine().command(["sh", "-c", THROUGH_STDIN]), directory());
        assert_eq!(inside, Some(125));
        assert!(!is_there(&ran) && !is_there(&copy));
        scene.confine().run(["touch", "ran"]).exits(0);
        assert!(is_there(&ran), "the twin without a directory");
        let mut control = scene.command("sh");
        control.args(["-c", THROUGH_STDIN]);
        assert_eq!(with_stdin(control, directory()), Some(0));
        assert_eq!(content(&copy).as_deref(), Some("a secret\n"));
    });
}

fn with_stdin(mut command: Command, stdin: File) -> Option<i32> {
    let quiet = command.stdin(stdin).stdout(Stdio::null()).stderr(Stdio::null());
    quiet.status().expect("it starts").code()
}

#[test]
fn the_mode_of_a_redirected_file_cannot_be_changed() {
    needs!(root, bwrap, landlock = 3, cc);
    each(User::ALL, Backend::ALL, |scene| {
        let program = compile("metadata", scene.base());
        let file = scene.write(&scene.outside().join("output"), "");
        let mode = || file.metadata().expect("the file is there").mode() & 0o777;
        let before = mode();
        assert_ne!(before, 0o666);
        let into_file = |mut command: Command| {
            let output = OpenOptions::new().append(true).open(&file).expect("root may open it");
            command.stdin(Stdio::null()).stdout(output).stderr(Stdio::null()).status().expect("it starts")
        };
        let attack = [&program, Path::new("chmod"), Path::new("/proc/self/fd/1")];
        into_file(scene.confine().command(attack));
        assert_eq!(mode(), before);
        into_file(scene.confine().command(["echo", "written"]));
        assert_eq!(content(&file).as_deref(), Some("written\n"), "the twin that only writes");
        let mut control = scene.command(&program);
        control.args(["chmod", "/proc/self/fd/1"]);
        assert!(into_file(control).success());
        assert_eq!(mode(), 0o666);
    });
}

#[test]
fn a_file_that_is_open_for_reading_only_keeps_its_metadata() {
    needs!(root, bwrap, landlock = 3, cc);
    each(User::ALL, Backend::ALL, |scene| {
        let program = compile("held", scene.base());
        let file = scene.write(&scene.outside().join("input"), "read\n");
        let as_input = |mut command: Command| {
            let input = File::open(&file).expect("it opens");
            command.stdin(input).output().expect("it starts")
        };
        let twin = as_input(scene.confine().command(["cat"]));
        assert_eq!(twin.stdout, b"read\n", "the twin that only reads");
        for how in ["chmod", "utime", "xattr"] {
            let before = changed(&file);
            as_input(scene.confine().command([program.as_os_str(), how.as_ref(), "0".as_ref()]));
            assert_eq!(changed(&file), before, "{how}");
            let mut control = scene.command(&program);
            control.args([how, "0"]);
            let control = as_input(control);
            assert!(control.status.success(), "{how}: {control:?}");
            assert_ne!(changed(&file), before, "{how}");
        }
    });
}

/// The plain devices of any `/dev`, which are root's.
const DEVICES: [&str; 5] = ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"];

/// Every attempt leaves the mode as it is: the time of the change tells.
#[test]
fn the_metadata_of_devices_cannot_be_changed_by_root() {
    needs!(root, bwrap, cc);
    each(&[User::Root], &[Backend::Bwrap], |scene| {
        let (held, metadata) = (compile("held", scene.base()), compile("metadata", scene.base()));
        for device in DEVICES.map(Path::new) {
            assert_eq!(mode(device), 0o666, "what the attempts set it to");
            let before = changed(device);
            for (program, what) in [(&metadata, device), (&held, Path::new("0"))] {
                let attack = [program.as_os_str(), "chmod".as_ref(), what.as_os_str()];
                let inside = on(device, scene.confine().command(attack));
                assert!(!inside.status.success(), "{inside:?}");
                let text = String::from_utf8_lossy(&inside.stderr);
                assert!(text.contains("Read-only file system"), "{text}");
            }
            assert_eq!(changed(device), before, "{}", device.display());
            let mut control = scene.command(&held);
            control.args(["chmod", "0"]);
            assert!(on(device, control).status.success(), "the control");
            assert_ne!(changed(device), before, "{}", device.display());
        }
        let uses =
            "echo x > /dev/null && head -c 2 /dev/zero /dev/urandom > /dev/null && ! echo x > /dev/full";
        scene.confine().shell(uses).exits(0);
    });
}

fn on(device: &Path, mut command: Command) -> Output {
    command.stdin(File::open(device).expect("it opens")).output().expect("it starts")
}

fn mode(path: &Path) -> u32 {
    path.metadata().expect("it is there").mode() & 0o777
}

/// When its metadata was last changed.
fn changed(path: &Path) -> (i64, i64) {
    let metadata = path.metadata().expect("it is there");
    (metadata.ctime(), metadata.ctime_nsec())
}

/// A descriptor lies on a mount, and the sandbox lists only its own.
#[test]
fn devices_of_the_caller_are_opened_again_inside() {
    needs!(root, bwrap);
    let script = "id=$(awk '/mnt_id/ { print $2 }' /proc/self/fdinfo/0) \
                  && grep -q \"^$id .* /dev/null \" /proc/self/mountinfo";
    each(User::ALL, &[Backend::Bwrap], |scene| {
        let inside = on(Path::new("/dev/null"), scene.confine().command(["sh", "-c", script]));
        assert!(inside.status.success(), "{inside:?}");
        let bare = ["bwrap", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "sh", "-c", script];
        let mut control = scene.command(bare[0]);
        control.args(&bare[1..]);
        assert!(
            !on(Path::new("/dev/null"), control).status.success(),
            "bubblewrap alone passes the host's on"
        );
    });
}

#[test]
fn nothing_is_pushed_into_the_terminal() {
    needs!(root, bwrap, landlock = 3, cc);
    each(User::ALL, Backend::ALL, |scene| {
        let program = compile("inject", scene.base());
        for how in ["plain", "high"] {
            let attack = [program.as_os_str(), how.as_ref(), "pushed\n".as_ref()];
            let inside = scene.confine().under(READER).command(attack);
            assert_eq!(pushed(scene, inside), "", "inside, {how}");
            let mut control = scene.command(READER[0]);
            control.args(&READER[1..]).args(attack);
            assert_eq!(pushed(scene, control), "pushed\n", "outside, {how}");
        }
    });
}

/// Runs its words on the terminal that is its stdin, in a session of its own, then reads what waits in the terminal.
const READER: [&str; 7] = [
    "setsid",
    "--ctty",
    "--wait",
    "sh",
    "-c",
    "\"$@\"; timeout --foreground 0.3 head -n 1 > ../out/got; :",
    "sh",
];

fn pushed(scene: &Scene, mut command: Command) -> String {
    let terminal = nix::pty::openpty(None, None).expect("a pseudo-terminal");
    let slave: OwnedFd = terminal.slave;
    let status =
        command.stdin(slave).stdout(Stdio::null()).stderr(Stdio::null()).status().expect("it starts");
    drop(terminal.master);
    assert!(status.success(), "{status}");
    content(&scene.outside().join("got")).expect("the reader writes it")
}
