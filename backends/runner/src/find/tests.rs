use super::*;
use std::os::unix::fs::{chown, symlink};

struct Bench {
    _keep: tempfile::TempDir,
    top: PathBuf,
}

impl Bench {
    fn new() -> Self {
        let keep = tempfile::tempdir().unwrap();
        let top = keep.path().canonicalize().unwrap();
        Self { _keep: keep, top }
    }

    fn program(&self, place: &str, name: &str) -> PathBuf {
        let directory = self.top.join(place);
        std::fs::create_dir_all(&directory).unwrap();
        let file = directory.join(name);
        std::fs::write(&file, "#!/bin/sh\n").unwrap();
        mode(&directory, 0o755);
        mode(&file, 0o755);
        file
    }

    fn find(&self, path: &[&str]) -> Find {
        let path = std::env::join_paths(path.iter().map(|entry| self.top.join(entry))).unwrap();
        Find { path, ..Find::default() }
    }
}

fn mode(path: &Path, bits: u32) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(bits)).unwrap();
}

fn reason(found: Result<Tool, Unusable>) -> String {
    found.unwrap_err().reason.to_string()
}

#[test]
fn the_first_trustworthy_bwrap_on_the_path_is_taken() {
    let bench = Bench::new();
    mode(&bench.program("a", "bwrap"), 0o775);
    let good = bench.program("b", "bwrap");
    bench.program("c", "bwrap");
    let found = bench.find(&["missing", "a", "b", "c"]).bwrap().unwrap();
    assert_eq!(found.path.as_path(), good);
}

#[test]
fn without_bwrap_the_remedy_is_to_install_it() {
    let refused = Bench::new().find(&["nowhere"]).bwrap().unwrap_err();
    assert_eq!(refused, Unusable::new("there is no `bwrap` on PATH", "apt-get install bubblewrap"));
}

#[test]
fn relative_path_entries_are_skipped() {
    let find = Find { path: ".:bin::".into(), ..Find::default() };
    assert_eq!(reason(find.bwrap()), "there is no `bwrap` on PATH");
}

#[test]
fn what_others_can_write_is_refused_by_name() {
    let bench = Bench::new();
    let file = bench.program("a/b", "bwrap");
    let find = bench.find(&["a/b"]);
    assert!(find.bwrap().is_ok(), "the control");
    for (path, bits) in [(file.clone(), 0o757), (bench.top.join("a/b"), 0o775), (bench.top.join("a"), 0o777)]
    {
        let before = path.metadata().unwrap().permissions().mode();
        mode(&path, bits);
        assert_eq!(reason(find.bwrap()), format!("`{}` can be written by others", path.display()));
        mode(&path, before);
    }
    assert!(find.bwrap().is_ok());
}

#[test]
fn a_sticky_directory_of_root_holds_trustworthy_entries() {
    let bench = Bench::new();
    bench.program("tmp/mine", "bwrap");
    mode(&bench.top.join("tmp"), 0o1777);
    let found = bench.find(&["tmp/mine"]).bwrap();
    assert_eq!(found.is_ok(), Uid::effective().is_root(), "only root's sticky directories are trusted");
}

#[test]
fn a_program_or_directory_of_a_stranger_is_refused() {
    if !Uid::effective().is_root() {
        return eprintln!(
            "SKIP a_program_or_directory_of_a_stranger_is_refused: needs root to give files away"
        );
    }
    let bench = Bench::new();
    let file = bench.program("a", "bwrap");
    for path in [file, bench.top.join("a")] {
        chown(&path, Some(12345), None).unwrap();
        let expected = format!("`{}` belongs to uid 12345, neither root nor this user", path.display());
        assert_eq!(reason(bench.find(&["a"]).bwrap()), expected);
        chown(&path, Some(0), None).unwrap();
    }
    assert!(bench.find(&["a"]).bwrap().is_ok());
}

#[test]
fn links_are_resolved_before_the_check() {
    let bench = Bench::new();
    let real = bench.program("real", "program");
    std::fs::create_dir(bench.top.join("bin")).unwrap();
    symlink(&real, bench.top.join("bin/bwrap")).unwrap();
    assert_eq!(bench.find(&["bin"]).bwrap().unwrap().path.as_path(), real);
    mode(&bench.top.join("real"), 0o777);
    assert!(reason(bench.find(&["bin"]).bwrap()).contains("/real` can be written by others"));
}

#[test]
fn a_directory_or_a_file_without_the_execute_bit_is_no_program() {
    let bench = Bench::new();
    std::fs::create_dir_all(bench.top.join("a/bwrap")).unwrap();
    assert!(reason(bench.find(&["a"]).bwrap()).ends_with("is not a regular file"));
    mode(&bench.program("b", "bwrap"), 0o644);
    assert!(reason(bench.find(&["b"]).bwrap()).ends_with("is not executable for this user"));
}

#[test]
fn the_stage_is_named_or_beside_or_in_libexec() {
    let bench = Bench::new();
    let executable = Some(bench.program("bin", "confine"));
    let find = Find { executable, ..Find::default() };
    assert!(reason(find.stage()).contains("neither beside"));
    let libexec = bench.program("libexec/confine", "confine-stage");
    assert_eq!(find.stage().unwrap().path.as_path(), libexec);
    let beside = bench.program("bin", "confine-stage");
    assert_eq!(find.stage().unwrap().path.as_path(), beside);
    let named = Find { stage: Some(libexec.clone()), ..find.clone() };
    assert_eq!(named.stage().unwrap().path.as_path(), libexec);
    let missing = Find { stage: Some(bench.top.join("nope")), ..find };
    assert!(reason(missing.stage()).starts_with("there is no stage at"), "a named one has no substitute");
}

#[test]
fn what_loads_plugins_is_found_as_the_stage_is() {
    let bench = Bench::new();
    let executable = Some(bench.program("bin", "confine"));
    let find = Find { executable, ..Find::default() };
    assert!(reason(find.plugin_host()).starts_with("`confine-plugin-host` is neither beside"));
    let libexec = bench.program("libexec/confine", "confine-plugin-host");
    assert_eq!(find.plugin_host().unwrap().path.as_path(), libexec);
    mode(&libexec, 0o757);
    assert!(reason(find.plugin_host()).ends_with("can be written by others"));
    let beside = bench.program("bin", "confine-plugin-host");
    assert_eq!(find.plugin_host().unwrap().path.as_path(), beside);
}

#[test]
fn the_digest_is_sha_256() {
    let bench = Bench::new();
    let path = AbsPath::new(bench.program("a", "bwrap")).unwrap();
    std::fs::write(&path, "abc").unwrap();
    let expected = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    assert_eq!(sha256(&Tool { path }).unwrap(), expected);
}

#[test]
fn a_workspace_holds_none_of_our_programs_and_the_root_says_nothing() {
    let at = |path: &str| AbsPath::new(path).unwrap();
    let inside = apart_from(&at("/ws/node_modules/.bin/bwrap"), &at("/ws")).unwrap_err();
    assert!(inside.reason.to_string().contains("lies in the workspace `/ws`"), "{}", inside.reason);
    for (program, workspace) in [("/wsx/bwrap", "/ws"), ("/usr/bin/bwrap", "/ws"), ("/usr/bin/bwrap", "/")] {
        assert_eq!(apart_from(&at(program), &at(workspace)), Ok(()), "{program} {workspace}");
    }
}
