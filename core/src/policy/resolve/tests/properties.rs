use std::time::Instant;

use proptest::prelude::*;

use crate::policy::fake::*;
use crate::policy::{Access, FsPlan};

/// Paths that exist in [`tree`], and a few that do not.
const PATHS: &[&str] = &[
    "/home/u/ws",
    "/home/u/ws/a",
    "/home/u/ws/a/b",
    "/home/u/ws/a/b/c",
    "/home/u",
    "/home/u/.ssh",
    "/home/u/.ssh/x",
    "/etc",
    "/tmp",
    "/tmp/d",
    "/run/x",
    "/nope",
    "/home/u/ws/l",
];

fn tree() -> Fake {
    let mut fake = host();
    for path in PATHS.iter().filter(|path| !path.ends_with("nope") && !path.ends_with('l')) {
        fake.directory(path);
    }
    fake.link("/home/u/ws/l", "a").repository("/home/u/ws");
    fake
}

fn paths() -> impl Strategy<Value = Vec<&'static str>> {
    prop::collection::vec(prop::sample::select(PATHS), 0..4)
}

fn text(read: &[&str], write: &[&str], hide: &[&str], protect: &[&str]) -> String {
    format!("filesystem = {{ read = {read:?}, write = {write:?}, hide = {hide:?}, protect = {protect:?} }}")
}

/// The meaning of a plan in its slowest form: of all entries above a path the longest decides.
fn longest_prefix(fs: &FsPlan, path: &str) -> Access {
    let above = fs.entries.iter().filter(|(entry, _)| abs(path).is_within(entry));
    above.max_by_key(|(entry, _)| entry.depth()).map_or(Access::Hide, |(_, entry)| entry.access)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn the_nearest_listed_ancestor_decides(r in paths(), w in paths(), h in paths(), p in paths()) {
        let policy = workspace_write().file(&text(&r, &w, &h, &p)).on(&tree()).unwrap();
        for path in PATHS {
            for path in [(*path).to_owned(), format!("{path}/below")] {
                prop_assert_eq!(policy.at(&path), longest_prefix(&policy.fs, &path));
            }
        }
    }

    #[test]
    fn the_last_layer_decides_at_its_own_paths(h in paths(), w in paths(), path in prop::sample::select(PATHS)) {
        prop_assume!(path != "/nope" && !path.ends_with("/l"));
        let base = workspace_write().file(&text(&[], &w, &h, &[]));
        let last = |list: &str| {
            base.clone().command_line(&format!("filesystem.{list} = ['{path}']")).on(&tree()).unwrap().at(path)
        };
        prop_assert_eq!(last("hide"), Access::Hide);
        prop_assert_eq!(last("write"), Access::Write);
        // Below a write grant a readable place is a protected one.
        prop_assert!(matches!(last("read"), Access::Read | Access::Protect));
    }

    #[test]
    fn no_grant_opens_what_is_hidden(h in paths(), path in prop::sample::select(PATHS), write: bool) {
        let key = if write { "write" } else { "read" };
        let before = workspace_write().file(&text(&[], &[], &h, &[]));
        let after = before.clone().grant(&format!("filesystem.{key} = ['{path}']"));
        let (before, after) = (before.on(&tree()).unwrap(), after.on(&tree()));
        let Ok(after) = after else { return Ok(()) };
        for path in PATHS {
            if before.at(path) == Access::Hide {
                prop_assert_eq!(after.at(path), Access::Hide, "{}", path);
            }
        }
    }

    #[test]
    fn every_protected_entry_lies_in_a_write_grant(r in paths(), w in paths(), h in paths(), p in paths()) {
        let policy = workspace_write().file(&text(&r, &w, &h, &p)).on(&tree()).unwrap();
        for (path, entry) in &policy.fs.entries {
            if entry.access == Access::Protect {
                prop_assert_eq!(policy.fs.access_at(&path.parent().unwrap()), Access::Write);
            }
        }
    }

    #[test]
    fn any_entry_resolves_or_is_refused(entry: String, key in prop::sample::select(&["read", "write", "hide", "protect", "sockets", "devices", "precreate"])) {
        let mut request = workspace_write().file("");
        let table = serde_json::json!({ "version": 1, "filesystem": { key: [entry] } }).to_string();
        request.layers[1].file =
            crate::PolicyFile::parse(&table, crate::policy::file::Syntax::Json).unwrap();
        let _ = request.on(&tree());
        request.layers[1].source = crate::policy::Source::CommandLine;
        let _ = request.on(&tree());
    }

    #[test]
    fn any_pattern_like_entry_resolves_or_is_refused(entry in "[a-z*?\\[\\]\\\\/.~$!-]{0,20}") {
        let mut request = workspace_write().file("");
        request.layers[1].file.filesystem.hide = vec![entry.as_str().into()];
        let _ = request.on(&tree());
    }
}

#[test]
fn a_default_policy_asks_the_host_little() {
    let fake = tree();
    let started = Instant::now();
    workspace_write().on(&fake).unwrap();
    let calls = fake.calls.get();
    assert!(calls < 130, "{calls} system calls, {:?}", started.elapsed());
}
