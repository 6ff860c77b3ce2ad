use proptest::prelude::*;

use crate::policy::fake::*;
use crate::policy::{Access, Policy};

const PATHS: &[&str] =
    &["/home/u/ws", "/home/u/ws/a", "/home/u/ws/a/b", "/home/u", "/data", "/tmp", "/tmp/d", "/etc"];

fn tree() -> Fake {
    let mut fake = host();
    PATHS.iter().for_each(|path| {
        fake.directory(path);
    });
    fake.repository("/home/u/ws").socket("/srv/s");
    fake
}

fn with(text: &str) -> Policy {
    workspace_write().file(text).on(&tree()).unwrap()
}

#[test]
fn a_policy_covers_itself_and_what_only_narrows_it() {
    let base = with("limits.time = 10\nnetwork.access = 'open'");
    assert!(base.covers(&base));
    let narrowings = [
        "filesystem.hide = ['/data']",
        "filesystem.protect = ['a']",
        "mode = 'read-only'",
        "network.access = 'off'",
        "limits = { time = 5, memory = 7, background = 'deny' }",
        "enforcement.require = ['fs-exec']",
        "filesystem = { symlinks = 'deny', missing-protected = 'refuse', git = 'protect' }",
    ];
    for text in narrowings {
        let narrow = workspace_write().file("limits.time = 10\nnetwork.access = 'open'").file(text);
        let narrow = narrow.on(&tree()).unwrap();
        assert!(base.covers(&narrow), "{text}");
        assert!(!narrow.covers(&base), "{text}");
    }
}

#[test]
fn whatever_widens_a_policy_is_not_covered() {
    let base = with("limits.time = 10");
    let widenings = [
        "filesystem.write = ['/data']",
        "filesystem.sockets = ['/srv/s']",
        "filesystem.devices = ['/dev/kvm']",
        "filesystem.precreate = ['/data/x']",
        "filesystem.read = ['/tmp/d']",
        "filesystem.tmp = 'host'",
        "filesystem.tmp = 'none'",
        "filesystem.proc = 'host'",
        "filesystem.git = 'open'",
        "network.access = 'open'",
        "environment.pass = ['*']",
        "environment.set = { A = '1' }",
        "limits.time = 11",
        "enforcement.nested = true",
        "enforcement.accept-missing = ['fs-write']",
    ];
    for text in widenings {
        let wide = workspace_write().file("limits.time = 10").file(text).on(&tree()).unwrap();
        assert!(!base.covers(&wide), "{text}");
    }
    assert!(!base.covers(&with("")), "no limit at all");
}

fn policy() -> impl Strategy<Value = Policy> {
    let paths = || prop::collection::vec(prop::sample::select(PATHS), 0..3);
    (paths(), paths(), paths(), any::<bool>()).prop_map(|(write, hide, protect, precreate)| {
        let new = if precreate { "'/data/new'" } else { "" };
        with(&format!(
            "filesystem = {{ write = {write:?}, hide = {hide:?}, protect = {protect:?}, precreate = [{new}] }}"
        ))
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn what_is_covered_is_nowhere_more_permissive(a in policy(), b in policy()) {
        prop_assert!(a.covers(&a));
        if !a.covers(&b) {
            return Ok(());
        }
        for path in PATHS {
            for path in [(*path).to_owned(), format!("{path}/new"), format!("{path}/.git/config")] {
                let (more, less) = (a.at(&path), b.at(&path));
                prop_assert!(more.shows_host() || !less.shows_host(), "{path}: {more:?} {less:?}");
                prop_assert!(more == Access::Write || less != Access::Write, "{path}: {more:?} {less:?}");
                prop_assert!(more != Access::Hide || less == Access::Hide, "{path}: {more:?} {less:?}");
            }
        }
    }
}

#[test]
fn asking_is_wider_than_never_and_identifies_no_policy() {
    let (never, ask) = (with(""), with("approval.default = 'ask'"));
    assert!(ask.covers(&never) && !never.covers(&ask));
    assert_eq!(never.id, ask.id, "the same is enforced");
    let narrowed = workspace_write().file("approval.default = 'ask'").file("approval.default = 'never'");
    assert!(ask.covers(&narrowed.on(&tree()).unwrap()));
}
