//! The profile for macOS as text: golden files, and an interpreter of its own against `FsPlan::access_at`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use confine_backends::lower::{Backdrop, lower};
use confine_backends::seatbelt::profile::Profile;
use confine_backends::{Registry, Seatbelt};
use confine_core::policy::fs::{ProtectedLink, Symlinks, Tmp};
use confine_core::policy::{Access, FsPlan, Kind, NetPlan, Policy};
use confine_core::{AbsPath, Backend, ConfineError, Effect, Layer, NeedsRunner, Probe};
use proptest::prelude::*;

use crate::agreement::{place, plan};
use crate::fixture::{self, argv, path};
use crate::golden;

fn macos() -> Probe {
    Probe { os: "macos".into(), ..fixture::probe() }
}

fn profile(policy: &Policy) -> Profile {
    Profile::new(policy, &lower(&policy.fs, Backdrop::Profile))
}

/// Seatbelt: the last line that names the operation (or its family) and matches the path decides.
fn allowed(profile: &Profile, operation: &str, at: &AbsPath) -> bool {
    let parameters: BTreeMap<String, &AbsPath> = profile.parameters().collect();
    let matches = |line: &&str| {
        let words = line.split(['(', ')', ' ', '"']).filter(|word| !word.is_empty());
        let covers = |word: &str| match word.strip_suffix('*') {
            Some(family) => operation.starts_with(family),
            None => word == operation || word == "default",
        };
        let last = words.clone().next_back().unwrap();
        let place = parameters.get(last).map_or(Path::new(last), |path| path.as_path());
        words.clone().any(covers)
            && match line.split(" (").nth(1).map(|filter| &filter[..7]) {
                Some("subpath") => at.as_path().starts_with(place),
                Some("literal") => at.as_path() == place,
                other => other.is_none(),
            }
    };
    profile.text().lines().rfind(matches).is_some_and(|line| line.starts_with("(allow"))
}

fn of(plan: FsPlan) -> Policy {
    fixture::policy(plan)
}

/// What the policy says, with the names that are not there yet.
fn may_write(plan: &FsPlan, at: &AbsPath) -> bool {
    let mut unborn = plan.placeholders.keys().chain(&plan.missing);
    plan.access_at(at) == Access::Write && !unborn.any(|name| at.is_within(name))
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 512, ..ProptestConfig::default() })]

    #[test]
    fn a_profile_allows_what_the_policy_says_and_nothing_else(
        mut plan in plan(),
        missing in proptest::collection::vec(place(), 0..3),
        at in place(),
    ) {
        let listed = |name: &AbsPath, plan: &FsPlan| plan.entries.keys().any(|entry| entry.is_within(name));
        plan.missing = missing.iter().map(|name| path(name)).filter(|name| !listed(name, &plan)).collect();
        let profile = profile(&of(plan.clone()));
        for at in plan.entries.keys().chain([&path(&at)]).filter(|at| **at != AbsPath::root()) {
            let shown = plan.access_at(at).shows_host();
            for operation in ["file-read-data", "file-map-executable", "process-exec-interpreter"] {
                prop_assert_eq!(allowed(&profile, operation, at), shown, "{} {} {}", operation, at, profile.text());
            }
            for operation in ["file-write-data", "file-write-create", "file-write-mode", "file-link"] {
                let wanted = may_write(&plan, at);
                prop_assert_eq!(allowed(&profile, operation, at), wanted, "{} {} {}", operation, at, profile.text());
            }
            let on_the_way = plan.entries.iter().any(|(below, entry)| entry.access.shows_host() && below.is_within(at));
            let metadata = allowed(&profile, "file-read-metadata", at);
            prop_assert_eq!(metadata, shown || on_the_way, "{} {}", at, profile.text());
        }
    }

    #[test]
    fn what_is_taken_out_of_a_grant_keeps_its_path(plan in plan()) {
        let profile = profile(&of(plan.clone()));
        let unborn = plan.placeholders.keys().filter(|name| plan.access_at(name) == Access::Write);
        let carved = plan.entries.keys().filter(|at| plan.access_at(at) != Access::Write);
        for above in carved.chain(unborn).flat_map(|at| at.ancestors().collect::<Vec<_>>()) {
            if above != AbsPath::root() {
                prop_assert!(!allowed(&profile, "file-write-unlink", &above), "{} {}", above, profile.text());
            }
        }
    }

    #[test]
    fn every_rule_is_whole_and_every_parameter_is_defined_and_used(
        mut plan in plan(),
        links in proptest::collection::btree_map(place(), "[./a-b]{0,8}", 0..4),
        precreate in proptest::collection::vec(place(), 0..3),
    ) {
        plan.links = links.iter().map(|(at, target)| (path(at), target.into())).collect();
        let listed = |at: &AbsPath| plan.entries.contains_key(at) || plan.placeholders.contains_key(at);
        plan.precreate = precreate.iter().map(|at| path(at)).filter(|at| !listed(at)).collect();
        let profile = profile(&of(plan.clone()));
        for line in profile.text().lines() {
            let count = |letter: char| line.matches(letter).count();
            prop_assert!(line.starts_with('(') && line.ends_with(')'), "{}", line);
            prop_assert_eq!(count('('), count(')'), "{}", line);
            prop_assert_eq!(count('"') % 2, 0, "{}", line);
        }
        let used: BTreeSet<&str> = profile.text().split("(param \"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
        let defined: Vec<String> = profile.parameters().map(|(name, _)| name).collect();
        prop_assert_eq!(used, defined.iter().map(String::as_str).collect());
        for at in &plan.precreate {
            prop_assert!(allowed(&profile, "file-write-create", at), "{} {}", at, profile.text());
        }
    }

    #[test]
    fn no_path_is_part_of_the_text(name in "[a-z\"() ;#\\\\\n]{1,24}") {
        let at = path("/w").join(name.trim_start_matches('/')).unwrap();
        let listed = at.to_string();
        let plain = fixture::plan(&[("/", Access::Read, Kind::Directory), ("/w/x", Access::Write, Kind::Directory)]);
        let mut named = plain.clone();
        let entry = named.entries.remove(&path("/w/x")).unwrap();
        named.entries.insert(at, entry);
        let (named, plain) = (profile(&of(named)), profile(&of(plain)));
        prop_assert_eq!(named.text(), plain.text(), "{}", listed);
    }
}

/// The lines of the argv, the profile with its own.
fn render(policy: &Policy) -> String {
    let confined = Seatbelt.confine(&argv(), policy, &macos()).unwrap();
    let portable = confined.portable([]).unwrap();
    let words: Vec<String> =
        portable.argv.iter().map(|word| word.as_os_str().to_str().unwrap().to_owned()).collect();
    let losses: Vec<String> =
        confined.missing.iter().map(|loss| format!("{}: {}", loss.effect, loss.reason)).collect();
    let pins: Vec<String> = confined.pins.iter().map(ToString::to_string).collect();
    format!("{}\n# missing\n{}\n# pins\n{}\n", words.join("\n"), losses.join("\n"), pins.join("\n"))
}

/// What nothing on macOS enforces, for a policy without limits.
const LOSSES: &str = "fs-setid,fs-carve-out-new,fd-inherit,fd-stdio,proc-trace,proc-kernel,tty-inject,orphan";

fn accepting(mut policy: Policy) -> Policy {
    policy.accept_missing = LOSSES.parse().unwrap();
    policy
}

#[test]
fn a_profile_with_a_workspace() {
    golden::matches("seatbelt-workspace.txt", &render(&accepting(fixture::workspace())));
}

#[test]
fn a_profile_with_a_minimal_root() {
    golden::matches("seatbelt-minimal.txt", &render(&accepting(fixture::minimal())));
}

#[test]
fn a_profile_with_every_setting_opened() {
    let mut policy = fixture::workspace();
    policy.net = NetPlan::Open;
    policy.nested = true;
    policy.fs.tmp = Tmp::Host;
    policy.fs.entries.extend(fixture::plan(&[("/tmp", Access::Write, Kind::Directory)]).entries);
    policy.fs.symlinks = Symlinks::Deny;
    golden::matches("seatbelt-open.txt", &render(&accepting(policy)));
}

#[test]
fn what_nothing_on_macos_enforces_is_refused_by_name() {
    let mut policy = fixture::workspace();
    policy.accept_missing = Default::default();
    policy.limits.memory = Some(1 << 30);
    policy.limits.open_files = Some(64);
    let refusal = Seatbelt.confine(&argv(), &policy, &macos()).unwrap_err();
    assert_eq!(refusal.acceptable().to_string(), format!("{LOSSES},limit-memory,limit-open-files"));
    let root = Probe { uid: 0, ..macos() };
    let refusal = Seatbelt.confine(&argv(), &policy, &root).unwrap_err();
    assert!(refusal.acceptable().contains(Effect::ProcPrivilege));
}

#[test]
fn the_registry_takes_it_on_macos_and_never_on_linux() {
    let policy = accepting(fixture::workspace());
    let registry = Registry::default();
    let chosen = registry.choose(&argv(), &policy, &macos()).unwrap();
    assert_eq!(chosen.backend.as_str(), "seatbelt");
    assert_eq!(chosen.layers, [Layer::Environment, Layer::Seatbelt]);
    let nothing = Probe { bwrap: Err(no()), landlock: Err(no()), ..fixture::probe() };
    let refusals = registry.choose(&argv(), &policy, &nothing).unwrap_err();
    assert_eq!(refusals.0.len(), 2, "{refusals:?}");
    let refusal = Seatbelt.confine(&argv(), &policy, &fixture::probe()).unwrap_err();
    assert!(matches!(refusal, ConfineError::Unusable { .. }));
}

fn no() -> confine_core::probe::Unusable {
    confine_core::probe::Unusable::without_remedy("not here")
}

#[test]
fn a_launch_that_failed_makes_it_unusable() {
    let mut probe = macos();
    probe.launches.insert("seatbelt".into(), Err(no()));
    assert!(Seatbelt.governs(&probe).values().all(|answer| !answer.is_enforced()));
    assert!(Seatbelt.confine(&argv(), &accepting(fixture::workspace()), &probe).is_err());
}

#[test]
fn a_portable_argv_begins_with_the_system_s_program_and_ends_with_the_command() {
    let confined = Seatbelt.confine(&argv(), &accepting(fixture::workspace()), &macos()).unwrap();
    let portable = confined.portable([]).unwrap();
    let words: Vec<String> = portable.argv.iter().map(ToString::to_string).collect();
    assert_eq!(words[..2], ["/usr/bin/sandbox-exec", "-p"]);
    assert!(words[3..words.len() - 3].iter().all(|word| word.starts_with("-DP")));
    assert_eq!(words[words.len() - 3..], ["--", "make", "test"]);
    assert_eq!(portable.cwd, path("/home/u/ws"));
    assert_eq!(portable.dialect.as_str(), "seatbelt");
    let mut long = accepting(fixture::workspace());
    let names: Vec<String> = (0..2000).map(|n| format!("/home/u/ws/{n}")).collect();
    let many: Vec<_> = names.iter().map(|name| (name.as_str(), Access::Protect, Kind::File)).collect();
    long.fs.entries.extend(fixture::plan(&many).entries);
    let obstacles = Seatbelt.confine(&argv(), &long, &macos()).unwrap().portable([]).unwrap_err();
    assert!(matches!(obstacles.as_slice(), [NeedsRunner::TooLarge { .. }]), "{obstacles:?}");
}

#[test]
fn a_protected_name_that_is_a_link_cannot_be_replaced() {
    let mut plan =
        fixture::plan(&[("/", Access::Read, Kind::Directory), ("/w", Access::Write, Kind::Directory)]);
    plan.protected_links.push(ProtectedLink { path: path("/w/a/.envrc"), target: "../real".into() });
    let profile = profile(&of(plan));
    for (at, operation, wanted) in [
        ("/w/a/.envrc", "file-write-unlink", false),
        ("/w/a/.envrc", "file-write-create", false),
        ("/w/a/.envrc", "file-read-metadata", true),
        ("/w/a", "file-write-unlink", false),
        ("/w/a/other", "file-write-unlink", true),
    ] {
        assert_eq!(allowed(&profile, operation, &path(at)), wanted, "{operation} {at}");
    }
}

#[test]
fn places_below_a_link_of_the_root_are_named_by_where_they_are() {
    let plan = fixture::plan(&[
        ("/", Access::Read, Kind::Directory),
        ("/tmp", Access::Write, Kind::Directory),
        ("/private/tmp", Access::Hide, Kind::Directory),
        ("/etc/master.passwd", Access::Hide, Kind::File),
    ]);
    let confined = Seatbelt.confine(&argv(), &accepting(of(plan)), &macos()).unwrap();
    let words: Vec<String> =
        confined.launch.plan.iter().map(|word| word.to_str().unwrap().to_owned()).collect();
    assert!(words.iter().any(|word| word.ends_with("=/private/etc/master.passwd")));
    assert!(!words.iter().any(|word| word.ends_with("=/etc/master.passwd")));
    // Of two words about one place the careful one stays.
    let tmp = words.iter().find_map(|word| word.strip_suffix("=/private/tmp")).unwrap();
    let rule = format!("(allow file-write* file-link (subpath (param \"{}\")))", &tmp[2..]);
    assert!(!words[1].contains(&rule));
}
