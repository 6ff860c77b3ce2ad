//! Real policies over throwaway directories.

mod recovery;
mod repositories;
mod sharing;

use super::*;
use std::ffi::OsString;
use std::os::unix::fs::{PermissionsExt as _, symlink};

use confine_core::policy::file::Syntax;
use confine_core::policy::resolve::{Request, Written, resolve};
use confine_core::policy::{PolicyFile, Source};

use crate::quarantine::{self, QuarantineError};
use crate::view::HostView;

/// A home, a state directory in it, and a workspace.
struct Bench {
    _keep: tempfile::TempDir,
    top: AbsPath,
    places: Places,
}

impl Bench {
    fn new() -> Self {
        let keep = tempfile::tempdir().unwrap();
        let top = AbsPath::new(keep.path().canonicalize().unwrap()).unwrap();
        std::fs::create_dir(top.join("home").unwrap()).unwrap();
        std::fs::create_dir(top.join("ws").unwrap()).unwrap();
        let home = top.join("home").unwrap().to_os_string();
        let places = Places::with(move |name| (name == "HOME").then(|| home.clone()));
        Self { _keep: keep, top, places }
    }

    /// With a repository that has neither hooks nor `info`.
    fn git() -> Self {
        let bench = Self::new();
        git_init(&bench.ws(""));
        for name in ["hooks", "info"] {
            let _ = std::fs::remove_dir_all(bench.ws(".git").join(name).unwrap());
        }
        bench
    }

    fn ws(&self, below: &str) -> AbsPath {
        self.top.join("ws").unwrap().join(below).unwrap()
    }

    fn policy(&self, more: &str) -> Policy {
        let text = format!("version = 1\nmode = \"workspace-write\"\n{more}");
        let ws = self.ws("");
        let request = Request {
            layers: vec![Written {
                file: PolicyFile::parse(&text, Syntax::Toml).unwrap(),
                base: ws.clone(),
                source: Source::File(self.top.join("policy.toml").unwrap()),
            }],
            workspaces: vec![ws.clone()],
            workspaces_named: false,
            cwd: ws,
            own_directories: self.places.own_directories(),
            own_files: Vec::new(),
        };
        let home = self.top.join("home").unwrap().to_os_string();
        let variables: [(OsString, OsString); 1] = [("HOME".into(), home)];
        resolve(&request, &HostView::with(variables)).unwrap()
    }

    fn begin(&self, policy: &Policy, run: &str) -> Guard {
        Guard::begin(policy, Mounts::Present, run, &self.places).unwrap()
    }

    fn runs(&self) -> AbsPath {
        self.places.state.as_ref().unwrap().join("runs").unwrap()
    }

    fn journal(&self) -> Vec<OsString> {
        let names = std::fs::read_dir(self.runs()).into_iter().flatten().flatten();
        // The file of a paid entry waits for the next.
        names.map(|entry| entry.file_name()).filter(|name| name != "spare").collect()
    }

    fn records(&self) -> Vec<quarantine::Record> {
        quarantine::list(&self.places).unwrap()
    }
}

fn git_init(directory: &AbsPath) {
    let mut git = std::process::Command::new("git");
    git.args(["init", "-q"]).current_dir(directory).env("GIT_CONFIG_GLOBAL", "/dev/null");
    assert!(git.status().unwrap().success());
}

fn exists(path: &AbsPath) -> bool {
    path.as_path().symlink_metadata().is_ok()
}

fn write(path: &AbsPath, text: &str) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

fn appeared(path: &AbsPath) -> Violation {
    Violation::ProtectedAppeared { path: path.clone() }
}

#[test]
fn a_policy_that_owes_nothing_touches_no_file() {
    let bench = Bench::new();
    let mut policy = bench.policy("");
    policy.fs.missing.clear();
    policy.fs.workspaces.clear();
    let guard = bench.begin(&policy, "r1");
    assert!(!exists(&bench.top.join("home/.local").unwrap()));
    assert!(guard.finish().violations.is_empty());
    assert!(recover(&bench.places).is_empty());
    assert!(!exists(&bench.top.join("home/.local").unwrap()));
}

#[test]
fn a_clean_run_leaves_no_entry_and_no_new_name() {
    let bench = Bench::new();
    let guard = bench.begin(&bench.policy(""), "r1");
    assert_eq!(bench.journal(), ["r1.jsonl"]);
    let after = guard.finish();
    assert!(after.violations.is_empty() && after.quarantined.is_empty());
    assert!(bench.journal().is_empty());
    assert_eq!(std::fs::read_dir(bench.ws("")).unwrap().count(), 0);
}

#[test]
fn a_protected_name_that_appears_is_moved_away_reported_and_given_back() {
    let bench = Bench::new();
    let guard = bench.begin(&bench.policy(""), "r1");
    let (file, directory) = (bench.ws(".envrc"), bench.ws(".vscode/tasks.json"));
    write(&file, "evil");
    write(&directory, "{}");
    write(&bench.ws("ordinary"), "kept");
    let after = guard.finish();
    assert_eq!(after.violations, [appeared(&file), appeared(&bench.ws(".vscode"))]);
    assert!(!exists(&file) && !exists(&bench.ws(".vscode")) && exists(&bench.ws("ordinary")));
    assert_eq!(std::fs::read_to_string(&after.quarantined[0].to).unwrap(), "evil");
    let records = bench.records();
    assert_eq!(records.iter().map(|record| &record.path).collect::<Vec<_>>(), [&file, &bench.ws(".vscode")]);
    for record in records {
        assert_eq!(quarantine::restore(&bench.places, &record.id).unwrap(), record.path);
    }
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "evil");
    assert!(exists(&directory) && bench.records().is_empty());
}

#[test]
fn what_is_given_back_overwrites_nothing() {
    let bench = Bench::new();
    let guard = bench.begin(&bench.policy(""), "r1");
    write(&bench.ws(".envrc"), "evil");
    guard.finish();
    write(&bench.ws(".envrc"), "mine");
    let id = bench.records()[0].id.clone();
    assert!(matches!(quarantine::restore(&bench.places, &id), Err(QuarantineError::Occupied(_))));
    assert_eq!(std::fs::read_to_string(bench.ws(".envrc")).unwrap(), "mine");
    assert_eq!(bench.records().len(), 1);
    for id in ["r9-1", "../runs", "", "."] {
        assert!(matches!(quarantine::restore(&bench.places, id), Err(QuarantineError::Unknown(_))), "{id}");
    }
}

#[test]
fn a_link_by_a_protected_name_is_moved_and_never_followed() {
    let bench = Bench::new();
    let outside = bench.top.join("outside").unwrap();
    write(&outside.join("file").unwrap(), "mine");
    let guard = bench.begin(&bench.policy(""), "r1");
    symlink(&outside, bench.ws(".vscode")).unwrap();
    symlink("/nonexistent/x", bench.ws(".envrc")).unwrap();
    let after = guard.finish();
    assert_eq!(after.violations.len(), 2);
    assert!(exists(&outside.join("file").unwrap()));
    assert!(after.quarantined.iter().all(|moved| moved.to.as_path().is_symlink()));
}

#[test]
fn a_name_in_a_directory_that_was_moved_or_swapped_for_a_link_is_found() {
    let bench = Bench::new();
    std::fs::create_dir(bench.ws("sub")).unwrap();
    let policy = bench.policy("[filesystem]\nprotect = [\"sub/key\"]\n");
    assert!(policy.fs.missing.contains(&bench.ws("sub/key")));
    let guard = bench.begin(&policy, "r1");
    std::fs::rename(bench.ws("sub"), bench.ws("moved")).unwrap();
    write(&bench.ws("moved/key"), "one");
    write(&bench.ws("other/key"), "two");
    symlink("other", bench.ws("sub")).unwrap();
    let after = guard.finish();
    assert_eq!(after.violations, [appeared(&bench.ws("sub/key"))]);
    assert!(!exists(&bench.ws("moved/key")), "by the directory that was held open");
    assert!(!exists(&bench.ws("sub")), "the link that leads to one");
    assert!(exists(&bench.ws("other/key")), "which is not followed");
    assert_eq!(after.quarantined.len(), 2);
}

#[test]
fn closing_the_directory_does_not_hide_a_name() {
    let bench = Bench::new();
    let guard = bench.begin(&bench.policy(""), "r1");
    write(&bench.ws(".envrc"), "evil");
    std::fs::set_permissions(bench.ws(""), std::fs::Permissions::from_mode(0o000)).unwrap();
    let after = guard.finish();
    assert_eq!(after.violations, [appeared(&bench.ws(".envrc"))]);
    std::fs::set_permissions(bench.ws(""), std::fs::Permissions::from_mode(0o700)).unwrap();
    assert!(!exists(&bench.ws(".envrc")));
}

#[test]
fn a_replaced_link_is_reported_and_what_replaced_it_moved() {
    let bench = Bench::new();
    write(&bench.ws("real"), "x");
    symlink("real", bench.ws(".envrc")).unwrap();
    symlink("real", bench.ws(".zshrc")).unwrap();
    let policy = bench.policy("");
    assert_eq!(policy.fs.protected_links.len(), 2);
    let untouched = bench.begin(&policy, "r1").finish();
    assert!(untouched.violations.is_empty());
    let guard = bench.begin(&policy, "r2");
    std::fs::remove_file(bench.ws(".envrc")).unwrap();
    symlink("evil", bench.ws(".envrc")).unwrap();
    std::fs::remove_file(bench.ws(".zshrc")).unwrap();
    let after = guard.finish();
    let replaced = |name| Violation::LinkReplaced { path: bench.ws(name) };
    assert_eq!(after.violations, [replaced(".envrc"), replaced(".zshrc")]);
    assert_eq!(after.quarantined.len(), 1, "there is nothing to move where the link is gone");
}

#[test]
fn precreated_files_stay_only_if_something_was_written() {
    let bench = Bench::new();
    let policy = bench.policy("[filesystem]\nprecreate = [\"a\", \"b\", \"c\"]\n");
    let guard = bench.begin(&policy, "r1");
    assert_eq!(bench.ws("a").as_path().metadata().unwrap().permissions().mode() & 0o7777, 0o600);
    write(&bench.ws("b"), "result");
    write(&bench.ws("new"), "");
    std::fs::rename(bench.ws("new"), bench.ws("c")).unwrap();
    guard.finish();
    assert!(!exists(&bench.ws("a")), "still empty");
    assert!(exists(&bench.ws("b")) && exists(&bench.ws("c")), "written, replaced");
}

#[test]
fn what_cannot_be_made_is_a_fault_by_name_and_nothing_stays() {
    let bench = Bench::new();
    let policy = bench.policy("[filesystem]\nprecreate = [\"a\", \"b\"]\n");
    write(&bench.ws("b"), "");
    let fault = Guard::begin(&policy, Mounts::Present, "r1", &bench.places).unwrap_err();
    assert_eq!(fault.path, Some(bench.ws("b")));
    assert!(!exists(&bench.ws("a")) && exists(&bench.ws("b")), "somebody else's file stays");
    assert!(bench.journal().is_empty());
}

#[test]
fn a_name_that_appeared_since_the_policy_was_resolved_is_a_fault() {
    let bench = Bench::new();
    let policy = bench.policy("");
    write(&bench.ws(".envrc"), "mine");
    let fault = Guard::begin(&policy, Mounts::Present, "r1", &bench.places).unwrap_err();
    assert_eq!((fault.path, fault.effect), (Some(bench.ws(".envrc")), Some(Effect::FsCarveOutNew)));
    assert!(exists(&bench.ws(".envrc")));
}

#[test]
fn a_state_directory_that_cannot_be_used_is_a_fault_only_where_something_is_owed() {
    let bench = Bench::new();
    let policy = bench.policy("");
    let fault = Guard::begin(&policy, Mounts::Present, "r1", &Places::default()).unwrap_err();
    assert!(fault.help.unwrap().contains("HOME"));
    let blocked = bench.top.join("blocked").unwrap();
    write(&blocked, "");
    let places = Places { state: Some(blocked.join("confine").unwrap()), ..Places::default() };
    let fault = Guard::begin(&policy, Mounts::Present, "r1", &places).unwrap_err();
    assert_eq!(fault.path, Some(blocked.join("confine").unwrap()));
    let mut idle = policy;
    idle.fs.missing.clear();
    idle.fs.workspaces.clear();
    assert!(Guard::begin(&idle, Mounts::Present, "r1", &places).is_ok());
}

#[test]
fn on_another_file_system_it_is_renamed_in_place() {
    let Ok(keep) = tempfile::tempdir_in("/dev/shm") else {
        return eprintln!("SKIP on_another_file_system_it_is_renamed_in_place: needs /dev/shm");
    };
    let mut bench = Bench::new();
    bench.places.state = Some(AbsPath::new(keep.path().join("confine")).unwrap());
    let guard = bench.begin(&bench.policy(""), "r1");
    write(&bench.ws(".envrc"), "evil");
    let after = guard.finish();
    assert_eq!(after.quarantined[0].to, bench.ws(".confine-quarantine-r1-1-1-.envrc"));
    assert!(!exists(&bench.ws(".envrc")));
    assert_eq!(quarantine::restore(&bench.places, "r1-1").unwrap(), bench.ws(".envrc"));
    assert_eq!(std::fs::read_to_string(bench.ws(".envrc")).unwrap(), "evil");
}

#[test]
fn renaming_in_place_overwrites_nothing_that_was_put_there() {
    let Ok(keep) = tempfile::tempdir_in("/dev/shm") else {
        return eprintln!("SKIP renaming_in_place_overwrites_nothing_that_was_put_there: needs /dev/shm");
    };
    let mut bench = Bench::new();
    bench.places.state = Some(AbsPath::new(keep.path().join("confine")).unwrap());
    let guard = bench.begin(&bench.policy(""), "r1");
    write(&bench.ws(".envrc"), "evil");
    write(&bench.ws(".confine-quarantine-r1-1-1-.envrc"), "in the way");
    let after = guard.finish();
    assert_eq!(after.violations, [appeared(&bench.ws(".envrc"))]);
    let kept = std::fs::read_to_string(bench.ws(".confine-quarantine-r1-1-1-.envrc")).unwrap();
    assert_eq!(kept, "in the way");
    assert!(!exists(&bench.ws(".envrc")), "it goes by another name");
    assert_eq!(after.quarantined[0].to, bench.ws(".confine-quarantine-r1-1-2-.envrc"));
}

#[test]
fn a_run_id_that_is_no_file_name_writes_nothing() {
    let bench = Bench::new();
    for run in ["", "../x", "a/b", "a b"] {
        assert!(Guard::begin(&bench.policy(""), Mounts::Present, run, &bench.places).is_err(), "{run}");
    }
    assert!(bench.journal().is_empty());
}

#[test]
fn missing_names_are_refused_where_the_policy_says_so() {
    let bench = Bench::new();
    let policy = bench.policy("[filesystem]\nmissing-protected = \"refuse\"\n");
    assert!(Guard::begin(&policy, Mounts::Present, "r1", &bench.places).is_err());
}

#[test]
fn the_entry_of_a_plain_workspace_is_cheap() {
    let bench = Bench::new();
    let policy = bench.policy("");
    let mut best = std::time::Duration::MAX;
    for number in 0..50 {
        let started = std::time::Instant::now();
        let guard = bench.begin(&policy, &format!("r{number}"));
        best = best.min(started.elapsed());
        guard.finish();
    }
    eprintln!("begin: {best:?}");
    assert!(best < std::time::Duration::from_millis(2), "{best:?}");
}

/// The bench's own places, with a state directory that nobody can make: sysfs takes none.
fn without_state(bench: &Bench) -> Places {
    Places { state: Some(AbsPath::new("/sys/confine").unwrap()), ..bench.places.clone() }
}

#[test]
fn without_a_state_directory_names_are_watched_and_the_loss_is_told() {
    let bench = Bench::new();
    let policy = bench.policy("[enforcement]\naccept-missing = [\"fs-carve-out-new\"]\n");
    assert_eq!(bench.begin(&policy, "r0").loss(), None);
    let guard = Guard::begin(&policy, Mounts::Present, "r1", &without_state(&bench)).unwrap();
    assert_eq!(guard.loss().unwrap().effect, Effect::FsCarveOutNew);
    write(&bench.ws(".envrc"), "evil");
    let aftermath = guard.finish();
    assert_eq!(aftermath.violations, [appeared(&bench.ws(".envrc"))]);
    assert!(!exists(&bench.ws(".envrc")));
    let aside = std::fs::read_to_string(&aftermath.quarantined[0].to).unwrap();
    assert_eq!(aside, "evil");
}

#[test]
fn without_a_state_directory_what_must_be_undone_or_is_not_given_up_is_refused() {
    let bench = Bench::git();
    let accepted = bench.policy("[enforcement]\naccept-missing = [\"fs-carve-out-new\"]\n");
    let placeholders = Guard::begin(&accepted, Mounts::Present, "r1", &without_state(&bench)).unwrap_err();
    assert!(placeholders.help.unwrap().contains("--git protect"));
    let protect = "[filesystem]\ngit = \"protect\"\n[enforcement]\naccept-missing = [\"fs-carve-out-new\"]\n";
    assert!(
        Guard::begin(&bench.policy(protect), Mounts::Present, "r2", &without_state(&bench))
            .unwrap()
            .loss()
            .is_some()
    );
    let bare = Bench::new();
    assert!(Guard::begin(&bare.policy(""), Mounts::Present, "r3", &without_state(&bare)).is_err());
    assert_eq!(std::fs::read_dir(bare.ws("")).unwrap().count(), 0);
}

#[test]
fn a_state_directory_inside_a_workspace_is_there_before_the_policy_is_used() {
    let bench = Bench::new();
    let state = bench.ws("state/confine");
    let places = Places { state: Some(state.clone()), ..bench.places.clone() };
    let policy = |places: &Places| {
        let bench =
            Bench { _keep: tempfile::tempdir().unwrap(), top: bench.top.clone(), places: places.clone() };
        bench.policy("")
    };
    let first = policy(&places);
    assert!(places.prepare(&first));
    assert!(!bench.places.prepare(&first), "it lies outside");
    let second = policy(&places);
    assert!(!places.prepare(&second));
    let guard = Guard::begin(&second, Mounts::Present, "r1", &places).unwrap();
    assert!(guard.finish().violations.is_empty());
    assert_eq!(second.fs.access_at(&state), confine_core::policy::Access::Hide);
}
