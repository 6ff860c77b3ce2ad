use super::*;
use std::os::unix::fs::symlink;

use confine_core::policy::Mode as Shape;

struct Bench {
    _keep: tempfile::TempDir,
    top: AbsPath,
    places: Places,
}

impl Bench {
    fn new() -> Self {
        let keep = tempfile::tempdir().unwrap();
        let top = AbsPath::new(keep.path().canonicalize().unwrap()).unwrap();
        let home = top.to_os_string();
        let places = Places::with(move |name| (name == "HOME").then(|| home.clone()));
        Self { _keep: keep, top, places }
    }

    fn write(&self, name: &str, text: &str) -> AbsPath {
        let path = self.top.join(name).unwrap();
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        path
    }

    fn load(&self, policy: Option<&str>) -> Result<Loaded, PoliciesError> {
        let policy = policy.map(OsStr::new);
        load(&Choice { policy, cwd: &self.top, workspaces: &[], places: &self.places })
    }

    fn project(&self) -> Result<Loaded, PoliciesError> {
        let workspaces = [self.top.join("ws").unwrap()];
        load(&Choice { policy: None, cwd: &self.top, workspaces: &workspaces, places: &self.places })
    }
}

fn sources(loaded: &Loaded) -> Vec<Source> {
    loaded.layers.iter().map(|layer| layer.source.clone()).collect()
}

#[test]
fn without_a_word_it_is_workspace_write_extended_by_the_users_own() {
    let bench = Bench::new();
    assert_eq!(sources(&bench.load(None).unwrap()), [Source::BuiltIn]);
    let own = bench.write(".config/confine/policy.toml", "version = 1\n");
    let loaded = bench.load(None).unwrap();
    assert_eq!(sources(&loaded), [Source::BuiltIn, Source::File(own.clone())]);
    assert_eq!(loaded.layers[0].file.mode, Some(Shape::WorkspaceWrite));
    assert_eq!(loaded.files, [own]);
    bench.write(".config/confine/policy.toml", "version = 1\nextends = \"read-only\"\n");
    assert_eq!(bench.load(None).unwrap().layers[0].file.mode, Some(Shape::ReadOnly), "its own word wins");
}

#[test]
fn a_name_is_built_in_and_the_users_own_policy_stays_out() {
    let bench = Bench::new();
    bench.write(".config/confine/policy.toml", "broken");
    assert_eq!(sources(&bench.load(Some("read-only")).unwrap()), [Source::BuiltIn]);
    let refused = bench.load(Some("full")).unwrap_err();
    assert_eq!(refused.to_string(), "`full` is no built-in policy");
    assert!(refused.help().is_some());
}

#[test]
fn a_chain_is_read_from_its_far_end_relative_to_each_file() {
    let bench = Bench::new();
    let near = bench.write("a/near.toml", "version = 1\nextends = \"../b/far.json\"\n");
    let far = bench.write("b/far.json", r#"{"version": 1, "extends": "workspace-write"}"#);
    let loaded = bench.load(Some("a/near.toml")).unwrap();
    assert_eq!(sources(&loaded), [Source::BuiltIn, Source::File(far.clone()), Source::File(near.clone())]);
    assert_eq!(loaded.layers[1].base, bench.top.join("b").unwrap());
    assert_eq!(loaded.files, [near, far]);
}

#[test]
fn a_chain_that_comes_back_or_does_not_end_is_an_error() {
    let bench = Bench::new();
    bench.write("a.toml", "version = 1\nextends = \"b.toml\"\n");
    bench.write("b.toml", "version = 1\nextends = \"./a.toml\"\n");
    assert!(matches!(bench.load(Some("a.toml")), Err(PoliciesError::Cycle(_))));
    for number in 0..9 {
        let text = format!("version = 1\nextends = \"{}.toml\"\n", number + 1);
        bench.write(&format!("{number}.toml"), &text);
    }
    bench.write("9.toml", "version = 1\n");
    assert!(matches!(bench.load(Some("0.toml")), Err(PoliciesError::TooDeep { .. })));
    assert_eq!(bench.load(Some("2.toml")).unwrap().layers.len(), 8);
}

#[test]
fn a_broken_file_is_named_with_its_line_and_nothing_is_loaded() {
    let bench = Bench::new();
    let path = bench.write("p.toml", "version = 1\n[filesystem]\nhide = [\"a\",,]\n");
    let message = bench.load(Some("p.toml")).unwrap_err().to_string();
    assert!(message.starts_with(&format!("policy file `{path}` line 3: ")), "{message}");
    let path = bench.write(".config/confine/policy.toml", "version = 1\n\nmode = \"wide\"\n");
    let message = bench.load(None).unwrap_err().to_string();
    assert!(message.starts_with(&format!("policy file `{path}` line 3: ")), "{message}");
}

#[test]
fn what_is_not_a_regular_file_of_reasonable_length_is_refused_at_once() {
    let bench = Bench::new();
    let target = bench.write("target.toml", "version = 1\n");
    symlink(&target, bench.top.join("link.toml").unwrap()).unwrap();
    nix::unistd::mkfifo(bench.top.join("fifo.toml").unwrap().as_path(), Mode::S_IRWXU).unwrap();
    std::fs::create_dir(bench.top.join("directory.toml").unwrap()).unwrap();
    for name in ["link.toml", "fifo.toml", "directory.toml"] {
        assert!(matches!(bench.load(Some(name)), Err(PoliciesError::Special(_))), "{name}");
    }
    bench.write("large.toml", &"#".repeat(1024 * 1024 + 1));
    assert!(matches!(bench.load(Some("large.toml")), Err(PoliciesError::TooLarge { .. })));
    std::fs::write(bench.top.join("bytes.toml").unwrap(), b"version = 1\n# \xff\n").unwrap();
    assert!(matches!(bench.load(Some("bytes.toml")), Err(PoliciesError::NotText { line: 2, .. })));
    assert!(matches!(bench.load(Some("missing.toml")), Err(PoliciesError::Unreadable { .. })));
}

#[test]
fn a_workspaces_policy_is_kept_apart_and_extends_nothing() {
    let bench = Bench::new();
    assert!(bench.project().unwrap().projects.is_empty());
    let path = bench.write("ws/.confine/policy.toml", "version = 1\n");
    assert_eq!(bench.project().unwrap().projects[0].source, Source::File(path.clone()));
    std::fs::write(&path, "version = 1\nextends = \"workspace-write\"\n").unwrap();
    assert!(matches!(bench.project(), Err(PoliciesError::ProjectExtends(_))));
}

#[test]
fn a_workspaces_policy_behind_a_planted_link_is_refused() {
    let bench = Bench::new();
    bench.write("elsewhere/policy.toml", "version = 1\n");
    std::fs::create_dir(bench.top.join("ws").unwrap()).unwrap();
    symlink("../elsewhere", bench.top.join("ws/.confine").unwrap()).unwrap();
    assert!(matches!(bench.project(), Err(PoliciesError::Special(_))));
}

fn narrowed(bench: &Bench) -> Result<Policy, PoliciesError> {
    resolved(bench, Vec::new())
}

fn resolved(bench: &Bench, layers: Vec<Written>) -> Result<Policy, PoliciesError> {
    let ws = bench.top.join("ws").unwrap();
    let request = Request {
        layers,
        workspaces: vec![ws.clone()],
        workspaces_named: false,
        cwd: ws,
        own_directories: bench.places.own_directories(),
        own_files: Vec::new(),
    };
    let home = bench.top.join("home").unwrap().to_os_string();
    std::fs::create_dir_all(&home).unwrap();
    bench.project()?.resolve(&request, &crate::view::HostView::with([("HOME".into(), home)]))
}

#[test]
fn a_workspaces_policy_narrows_and_never_widens() {
    let bench = Bench::new();
    let secret = bench.write("ws/secret", "");
    let policy =
        bench.write("ws/.confine/policy.toml", "version = 1\n[filesystem]\nhide = [\"../secret\"]\n");
    assert_eq!(narrowed(&bench).unwrap().fs.access_at(&secret), confine_core::Access::Hide);
    for wider in [
        "[network]\naccess = \"open\"\n",
        "[filesystem]\nwrite = [\"/var/tmp\"]\n",
        "[approval]\ndefault = \"ask\"\n",
    ] {
        std::fs::write(&policy, format!("version = 1\n{wider}")).unwrap();
        let refused = narrowed(&bench).unwrap_err();
        assert!(matches!(refused, PoliciesError::ProjectWidens(_)), "{refused}");
    }
}

#[test]
fn a_workspaces_policy_comes_after_the_callers_own_layers() {
    let bench = Bench::new();
    bench.write("ws/.confine/policy.toml", "version = 1\n[network]\naccess = \"off\"\n");
    let open = "version = 1\n[network]\naccess = \"open\"\n";
    let file = PolicyFile::parse(open, Syntax::Toml).unwrap();
    let base = bench.top.clone();
    let own = Written { file, base, source: Source::CommandLine };
    assert_eq!(resolved(&bench, vec![own]).unwrap().net, confine_core::policy::NetPlan::Off);
}
