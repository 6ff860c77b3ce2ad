//! What the mounts show and what the rules allow, by interpreters of their own, against `FsPlan::access_at`.

use crate::{fixture, host};
use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::fixture::path;
use confine_backends::landlock::rights;
use confine_backends::lower::{Backdrop, Lowered, Operation, lower};
use confine_backends::{Showing, row};
use confine_core::policy::fs::{Placeholder, Tmp};
use confine_core::policy::{Access, FsPlan, Kind};
use confine_core::{AbsPath, Effect};
use proptest::prelude::*;

/// bwrap: operations are done in order, a later one covers what an earlier one showed; a bind shows the host's.
fn shown(lowered: &Lowered, at: &AbsPath) -> Showing {
    let mut showing = Showing::Nothing;
    for mount in lowered.mounts.iter().filter(|mount| at.is_within(mount.at())) {
        showing = match mount.operation() {
            Operation::ReadOnlyBind | Operation::ReadOnlyBindIfPresent => Showing::ReadOnly,
            Operation::Bind | Operation::BindIfPresent | Operation::DeviceBind => Showing::Writable,
            Operation::Mask | Operation::Blank => Showing::Nothing,
            Operation::Scratch(_) => Showing::Empty,
            Operation::RemountReadOnly
            | Operation::Symlink(_)
            | Operation::Devices
            | Operation::Processes
            | Operation::ReadOnlyBindFrom(_) => showing,
        };
    }
    showing
}

/// Landlock: the union of all rules on the path and above it.
fn allowed(lowered: &Lowered, at: &AbsPath) -> u64 {
    let grants = lowered.grants.iter().filter(|grant| at.is_within(grant.at()));
    grants.fold(0, |all, grant| all | grant.rights())
}

/// A file may be renamed away when it, or a directory above it, is no mount point and lies in a writable place.
fn can_be_moved(lowered: &Lowered, at: &AbsPath) -> bool {
    let mounted = |path: &AbsPath| lowered.mounts.iter().any(|mount| mount.at() == path);
    at.ancestors().any(|above| {
        let inside = above.parent().map(|parent| shown(lowered, &parent));
        inside == Some(Showing::Writable) && !mounted(&above)
    })
}

fn lowered(plan: &FsPlan) -> Lowered {
    lower(plan, Backdrop::Namespaces { stage: &path("/usr/bin/confine-stage"), tables: &[] })
}

/// Paths over a tiny alphabet, so that they nest.
pub(crate) fn place() -> impl Strategy<Value = String> {
    proptest::collection::vec(proptest::sample::select(vec!["a", "b", "a-b"]), 1..5)
        .prop_map(|names| format!("/w/{}", names.join("/")))
}

fn access() -> impl Strategy<Value = Access> {
    proptest::sample::select(vec![
        Access::Hide,
        Access::Protect,
        Access::Read,
        Access::Scratch,
        Access::Write,
    ])
}

pub(crate) fn plan() -> impl Strategy<Value = FsPlan> {
    let root = proptest::sample::select(vec![Access::Hide, Access::Read, Access::Write]);
    let entries = proptest::collection::btree_map(place(), access(), 0..12);
    let placeholders = proptest::collection::vec(place(), 0..3);
    (root, entries, placeholders).prop_map(|(root, entries, placeholders)| {
        let mut listed = vec![("/", root, Kind::Directory)];
        listed.extend(entries.iter().map(|(at, access)| (at.as_str(), *access, Kind::Directory)));
        let mut plan = fixture::plan(&listed);
        plan.tmp = Tmp::None;
        for at in placeholders.iter().map(|at| path(at)) {
            let covered = |entry: &AbsPath| entry.is_within(&at) || at == *entry;
            if !plan.entries.keys().any(covered) {
                plan.placeholders.insert(at, Placeholder::Directory);
            }
        }
        plan
    })
}

/// What the policy says, with the placeholders.
fn expected(plan: &FsPlan, at: &AbsPath) -> Showing {
    let placeholder = plan.placeholders.keys().any(|placeholder| at.is_within(placeholder));
    match row(plan.access_at(at)).showing {
        Showing::Writable if placeholder => Showing::ReadOnly,
        showing => showing,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 512, ..ProptestConfig::default() })]

    #[test]
    fn mounts_show_what_the_policy_says(plan in plan(), at in place()) {
        let (lowered, at) = (lowered(&plan), path(&at));
        prop_assert_eq!(shown(&lowered, &at), expected(&plan, &at), "{:#?}", lowered.mounts);
    }

    #[test]
    fn every_listed_place_shows_what_the_policy_says(plan in plan()) {
        let lowered = lowered(&plan);
        for at in plan.entries.keys() {
            prop_assert_eq!(shown(&lowered, at), expected(&plan, at), "{} {:#?}", at, lowered.mounts);
        }
    }

    #[test]
    fn rules_allow_what_the_policy_says_and_more_only_where_it_is_named(plan in plan(), at in place()) {
        let (lowered, at) = (lowered(&plan), path(&at));
        let (allowed, wanted) = (allowed(&lowered, &at), row(plan.access_at(&at)).directory);
        prop_assert_eq!(wanted & !allowed, 0, "{:#?}", lowered.grants);
        let named = lowered.mount_only.iter().any(|gap| at.is_within(&gap.path));
        prop_assert!(allowed & !wanted == 0 || named, "{:#?}", lowered);
    }

    #[test]
    fn what_is_taken_out_of_a_write_grant_cannot_be_moved(plan in plan()) {
        let lowered = lowered(&plan);
        let placeholders = plan.placeholders.keys().filter(|at| plan.access_at(at) == Access::Write);
        let carved = plan.entries.iter().filter(|(at, entry)| {
            let above = at.parent().map(|parent| plan.access_at(&parent));
            above == Some(Access::Write) && !matches!(entry.access, Access::Write | Access::Scratch)
        });
        for at in carved.map(|(at, _)| at).chain(placeholders) {
            prop_assert!(!can_be_moved(&lowered, at), "{} {:#?}", at, lowered.mounts);
        }
    }

    #[test]
    fn no_place_is_mounted_twice_and_none_before_what_is_above_it(plan in plan()) {
        let lowered = lowered(&plan);
        let mut seen: Vec<&AbsPath> = Vec::new();
        let made = lowered.mounts.iter().filter(|mount| *mount.operation() != Operation::RemountReadOnly);
        for mount in made {
            prop_assert!(!seen.iter().any(|earlier| earlier.is_within(mount.at())), "{:#?}", lowered.mounts);
            seen.push(mount.at());
        }
    }

    #[test]
    fn what_is_masked_is_hidden_with_all_below(plan in plan(), at in place()) {
        let (lowered, at) = (lowered(&plan), path(&at));
        if lowered.masked.iter().any(|masked| at.is_within(masked)) {
            prop_assert_eq!(shown(&lowered, &at), Showing::Nothing);
        }
    }

    #[test]
    fn any_links_and_precreated_files_are_lowered_without_a_panic(
        plan in plan(),
        links in proptest::collection::btree_map(place(), "[./a-b]{0,8}", 0..6),
        precreate in proptest::collection::vec(place(), 0..3),
    ) {
        let links: BTreeMap<AbsPath, PathBuf> =
            links.into_iter().map(|(at, target)| (path(&at), PathBuf::from(target))).collect();
        let plan = FsPlan { links, precreate: precreate.iter().map(|at| path(at)).collect(), ..plan };
        let lowered = lowered(&plan);
        for at in &plan.precreate {
            if !plan.entries.contains_key(at) && !plan.placeholders.contains_key(at) {
                prop_assert_eq!(shown(&lowered, at), Showing::Writable);
            }
        }
    }
}

fn words(plan: &FsPlan) -> Vec<String> {
    let words = lowered(plan).mounts;
    let line = |words: Vec<std::ffi::OsString>| {
        words.iter().map(|word| word.to_str().unwrap()).collect::<Vec<_>>().join(" ")
    };
    words.iter().map(|mount| line(mount.words())).collect()
}

#[test]
fn an_entry_that_changes_nothing_mounts_nothing() {
    use Access::{Hide, Protect, Read, Write};
    let base = [("/", Read, Kind::Directory), ("/h", Hide, Kind::Directory), ("/w", Write, Kind::Directory)];
    let more = [
        ("/h/key", Hide, Kind::File),
        ("/r", Read, Kind::Directory),
        ("/r/p", Protect, Kind::File),
        ("/w/sub", Write, Kind::Directory),
    ];
    let all: Vec<_> = base.into_iter().chain(more).collect();
    assert_eq!(words(&fixture::plan(&all)), words(&fixture::plan(&base)));
}

#[test]
fn a_device_in_a_write_grant_is_still_bound_as_a_device() {
    let plan = fixture::plan(&[
        ("/", Access::Read, Kind::Directory),
        ("/w", Access::Write, Kind::Directory),
        ("/w/kvm", Access::Write, Kind::Device),
    ]);
    assert!(words(&plan).contains(&"--dev-bind /w/kvm /w/kvm".to_owned()));
}

#[test]
fn a_hidden_directory_becomes_read_only_after_what_is_shown_again_in_it() {
    let plan = fixture::plan(&[
        ("/", Access::Read, Kind::Directory),
        ("/h", Access::Hide, Kind::Directory),
        ("/h/w", Access::Write, Kind::Directory),
    ]);
    let words = words(&plan);
    let index = |line: &str| words.iter().position(|word| word == line).unwrap();
    assert!(index("--tmpfs /h") < index("--bind /h/w /h/w"));
    assert!(index("--bind /h/w /h/w") < index("--remount-ro /h"));
}

#[test]
fn a_link_is_made_only_where_its_place_is_out_of_view_and_where_it_really_is() {
    let mut plan = fixture::plan(&[
        ("/", Access::Read, Kind::Directory),
        ("/h", Access::Hide, Kind::Directory),
        ("/h/real", Access::Write, Kind::Directory),
    ]);
    for (at, target) in
        [("/seen", "/h/real"), ("/h/short", "real"), ("/seen2", "h"), ("/seen2/far", "../h/real")]
    {
        plan.links.insert(path(at), PathBuf::from(target));
    }
    let links: Vec<String> = words(&plan).into_iter().filter(|line| line.starts_with("--symlink")).collect();
    assert_eq!(links, ["--symlink ../h/real /h/far", "--symlink real /h/short"]);
}

#[test]
fn links_in_a_circle_are_left_out() {
    let mut plan = fixture::plan(&[("/", Access::Hide, Kind::Directory)]);
    plan.links.insert(path("/a"), PathBuf::from("/b"));
    plan.links.insert(path("/b"), PathBuf::from("/a"));
    plan.links.insert(path("/a/x"), PathBuf::from("y"));
    assert!(!words(&plan).iter().any(|line| line.contains("/x")));
}

#[test]
fn the_stage_is_bound_where_its_own_place_is_out_of_view() {
    let hidden = fixture::plan(&[("/", Access::Hide, Kind::Directory)]);
    assert_eq!(lowered(&hidden).stage, Some(path("/dev/confine-stage")));
    let seen = fixture::plan(&[("/", Access::Read, Kind::Directory)]);
    assert_eq!(lowered(&seen).stage, None);
    let seen = fixture::workspace().fs;
    let in_tmp = lower(&seen, Backdrop::Namespaces { stage: &path("/tmp/x/confine-stage"), tables: &[] });
    assert_eq!(in_tmp.stage, Some(path("/dev/confine-stage")));
}

#[test]
fn no_rule_ever_makes_device_nodes_or_reaches_sockets_that_are_not_listed() {
    let plan = fixture::workspace().fs;
    for backdrop in [Backdrop::Host, Backdrop::Namespaces { stage: &path("/s"), tables: &[] }] {
        for grant in lower(&plan, backdrop).grants {
            assert_eq!(grant.rights() & (rights::MAKE_CHAR | rights::MAKE_BLOCK), 0);
            let socket = *grant.at() == path("/run/app/socket");
            assert_eq!(grant.rights() & rights::RESOLVE_UNIX != 0, socket, "{}", grant.at());
        }
    }
}

#[test]
fn a_hidden_socket_is_a_loss_of_its_own() {
    let gaps = lower(&fixture::workspace().fs, Backdrop::Host).mount_only;
    let of = |at: &str| gaps.iter().find(|gap| gap.path == path(at)).map(|gap| gap.effect);
    assert_eq!(of("/srv/other"), Some(Effect::NetUnixPath));
    assert_eq!(of("/home/u/.ssh"), Some(Effect::FsHide));
    assert_eq!(of("/home/u/ws/.envrc"), Some(Effect::FsCarveOut));
    assert_eq!(of("/home/u/ws/sub"), None);
}

#[test]
fn the_built_in_policy_shows_what_it_says() {
    let plan = host::built_in().fs;
    let lowered = lowered(&plan);
    for at in plan.entries.keys() {
        assert_eq!(shown(&lowered, at), expected(&plan, at), "{at}");
    }
    for at in
        ["/home/u/.ssh/id", "/home/u/ws/x", "/home/u/ws/.git/config", "/home/u/ws/.git/x", "/tmp/x", "/etc/x"]
    {
        assert_eq!(shown(&lowered, &path(at)), expected(&plan, &path(at)), "{at}");
    }
    assert_eq!(lowered.pins, [path("/home/u/ws/.git")]);
}
