use super::*;
use confine_core::policy::resolve::{Request, Written, resolve};
use confine_core::policy::{PolicyFile, Source};
use std::os::unix::fs::{PermissionsExt as _, symlink};

struct Scene {
    top: tempfile::TempDir,
    cwd: AbsPath,
    policy: Policy,
}

/// Below `/var/tmp`: `/tmp` is the sandbox's own.
fn scene() -> Scene {
    let top = tempfile::tempdir_in("/var/tmp").unwrap();
    let cwd = AbsPath::new(top.path()).unwrap();
    let file = PolicyFile::builtin("workspace-write").unwrap();
    let request = Request {
        layers: vec![Written { file, base: cwd.clone(), source: Source::BuiltIn }],
        workspaces: vec![cwd.clone()],
        workspaces_named: true,
        cwd: cwd.clone(),
        own_directories: Vec::new(),
        own_files: Vec::new(),
    };
    let policy = resolve(&request, &crate::view::HostView::here()).unwrap();
    Scene { top, cwd, policy }
}

impl Scene {
    fn executable(&self, name: &str, text: &str) -> PathBuf {
        let path = self.top.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        path
    }

    fn files(&self, names: &[&str]) -> Vec<Measured> {
        operands(&words(names), None, &self.cwd, &self.policy).0
    }

    fn found(&self, word: &str, path: &str) -> Option<Measured> {
        program(OsStr::new(word), Some(OsStr::new(path)), &self.cwd, &self.policy)
    }
}

fn words(words: &[&str]) -> Vec<OsString> {
    words.iter().map(OsString::from).collect()
}

#[test]
fn the_program_is_the_first_executable_one_on_its_own_path() {
    let scene = scene();
    let second = scene.executable("two/tool", "2");
    std::fs::create_dir(scene.top.path().join("one")).unwrap();
    std::fs::write(scene.top.path().join("one/tool"), "not executable").unwrap();
    let found = scene.found("tool", "one:two").unwrap();
    assert_eq!(found.path.as_path(), std::fs::canonicalize(second).unwrap());
    assert_eq!(found.content, Some(Digest::of(b"2")));
    assert_eq!(scene.found("two/tool", "").unwrap(), found);
    assert_eq!(scene.found("tool", "/nowhere"), None);
    assert_eq!(scene.found("", "two"), None);
}

#[test]
fn a_program_that_the_sandbox_does_not_show_is_not_found_there() {
    let scene = scene();
    let private = tempfile::tempdir_in("/tmp").unwrap();
    let path = private.path().join("tool");
    std::fs::write(&path, "hidden").unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    let shown = scene.executable("tool", "shown");
    let both = format!("{}:{}", private.path().display(), scene.top.path().display());
    let found = scene.found("tool", &both).unwrap();
    assert_eq!(found.path.as_path(), std::fs::canonicalize(shown).unwrap());
}

#[test]
fn operands_are_the_regular_files_among_the_words_also_through_links() {
    let scene = scene();
    let path = |name: &str| scene.top.path().join(name);
    std::fs::write(path("s.sh"), "echo").unwrap();
    symlink("s.sh", path("link")).unwrap();
    std::fs::write(path("other"), "x").unwrap();
    let found = scene.files(&["sh", "link", "s.sh", "--with=other", "a=other", ".", "none"]);
    let names: Vec<_> = found.iter().map(|one| one.path.as_path().file_name().unwrap()).collect();
    assert_eq!(names, ["s.sh", "other"]);
    std::fs::write(path("s.sh"), "rm").unwrap();
    let changed = scene.files(&["link"]);
    assert_ne!(changed[0].content, found[0].content);
}

#[test]
fn nothing_that_blocks_or_acts_is_opened() {
    let scene = scene();
    let fifo = scene.top.path().join("fifo");
    nix::unistd::mkfifo(&fifo, Mode::S_IRWXU).unwrap();
    symlink(&fifo, scene.top.path().join("link")).unwrap();
    let found = scene.files(&["fifo", "link", "/dev/zero", "/dev/tty", "/proc/self/fd"]);
    assert_eq!(found, []);
    // A regular file that waits for its reader's next message.
    if nix::unistd::Uid::effective().is_root() && Path::new("/proc/kmsg").exists() {
        let kernel = scene.files(&["/proc/kmsg"]);
        assert!(kernel.iter().all(|one| one.content.is_some()));
    }
}

#[test]
fn a_large_or_unreadable_file_is_known_by_its_stamp() {
    let scene = scene();
    let path = scene.top.path().join("large");
    let file = File::create(&path).unwrap();
    file.set_len(LARGEST + 1).unwrap();
    let content = |name: &str| scene.files(&[name])[0].content.clone();
    let before = content("large");
    assert_eq!(content("large"), before);
    std::os::unix::fs::FileExt::write_all_at(&file, b"x", 7).unwrap();
    assert_ne!(content("large"), before);
    let other = scene.top.path().join("small");
    std::fs::write(other, "x").unwrap();
    assert_eq!(content("small"), Some(Digest::of(b"x")));
}

#[test]
fn no_more_is_read_than_there_is_left() {
    let scene = scene();
    let path = |name: &str| AbsPath::new(scene.top.path().join(name)).unwrap();
    std::fs::write(path("one"), "12345").unwrap();
    let mut left = 8;
    assert_eq!(measure(&path("one"), &mut left).unwrap().content, Some(Digest::of(b"12345")));
    assert_eq!(left, 3);
    let beyond = measure(&path("one"), &mut left).unwrap().content;
    assert_ne!(beyond, Some(Digest::of(b"12345")));
    assert_eq!((measure(&path("one"), &mut left).unwrap().content, left), (beyond, 3));
    std::fs::write(path("one"), "67890").unwrap();
    assert_ne!(measure(&path("one"), &mut { 8 }).unwrap().content, Some(Digest::of(b"12345")));
}

#[test]
fn a_file_is_found_wherever_a_word_names_it() {
    let scene = scene();
    scene.executable("bin/tool", "tool");
    for name in ["x.awk", "mk", "src", "p.sh", "a b"] {
        std::fs::write(scene.top.path().join(name), name).unwrap();
    }
    let path = std::env::join_paths([scene.top.path().join("bin")]).unwrap();
    let cases: &[(&[&str], &str)] = &[
        (&["tool"], "tool"),
        (&["9", "tool"], "tool"),
        (&["-c", "tool"], "tool"),
        (&["-c", "true&&tool;x"], "tool"),
        (&["-c", "x=$(tool)"], "tool"),
        (&["-c", "./bin/tool"], "tool"),
        (&["-c", "\"./bin/tool\" x"], "tool"),
        (&["-fx.awk"], "x.awk"),
        (&["-xzfmk"], "mk"),
        (&["-f=mk"], "mk"),
        (&["-fmk"], "mk"),
        (&["if=src"], "src"),
        (&["--file=src"], "src"),
        (&["-d@src"], "src"),
        (&["@src"], "src"),
        (&["-c", "core.pager=./p.sh", "log"], "p.sh"),
        (&["-c", "alias.x=!./p.sh"], "p.sh"),
        (&["LD_PRELOAD=./src"], "src"),
        (&["--from=a b"], "a b"),
        (&["a b"], "a b"),
    ];
    for (case, name) in cases {
        let (files, commands) = operands(&words(case), Some(&path), &scene.cwd, &scene.policy);
        let all: Vec<_> = files.iter().chain(&commands).collect();
        assert_eq!(all.len(), 1, "{case:?}: {all:?}");
        assert_eq!(all[0].path.as_path().file_name().unwrap(), *name, "{case:?}");
    }
    let (files, commands) =
        operands(&words(&["tools", "-c", "echo"]), Some(&path), &scene.cwd, &scene.policy);
    assert_eq!((files, commands), (vec![], vec![]));
}

#[test]
fn what_is_left_of_a_standard_input_is_measured_without_reading_it() {
    let scene = scene();
    let path = scene.top.path().join("s.sh");
    std::fs::write(&path, "read;rest").unwrap();
    let mut file = File::open(&path).unwrap();
    let mut first = [0; 5];
    file.read_exact(&mut first).unwrap();
    assert_eq!(input(&file, 5), Some(Digest::of(b"rest")));
    assert_eq!(input(&file, 99), Some(Digest::of(b"")));
    let mut rest = String::new();
    file.read_to_string(&mut rest).unwrap();
    assert_eq!(rest, "rest");
    std::fs::write(&path, "read;evil").unwrap();
    assert_eq!(input(&file, 5), Some(Digest::of(b"evil")));
    let large = File::options().write(true).open(&path).unwrap();
    large.set_len(LARGEST + 9).unwrap();
    let before = input(&file, 5);
    assert!(before.is_some() && input(&file, 5) == before);
    std::os::unix::fs::FileExt::write_all_at(&large, b"x", 7).unwrap();
    assert_ne!(input(&file, 5), before);
    let (reader, _writer) = std::io::pipe().unwrap();
    assert_eq!(input(&File::from(OwnedFd::from(reader)), 0), None);
}
