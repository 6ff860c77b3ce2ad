//! Old kernels and missing parts, by value: what is answered, and what is refused by name.

use crate::fixture;
use std::collections::BTreeSet;
use std::time::Duration;

use crate::fixture::{argv, path, probe, workspace};
use confine_backends::{Bwrap, Landlock, Refusals, Registry, Seatbelt};
use confine_core::denial::{Dialect, DialectId};
use confine_core::policy::fs::MissingProtected;
use confine_core::policy::{Access, Entry, Kind, NetPlan, Source};
use confine_core::probe::Unusable;
use confine_core::{Backend, ConfineError, ConfinedArgv, Effect, Effects, Layer, NeedsRunner, Policy, Probe};

fn backends() -> [&'static dyn Backend; 2] {
    [&Bwrap, &Landlock]
}

fn on(abi: u32) -> Probe {
    Probe { landlock: Ok(abi), ..probe() }
}

fn no(what: &'static str) -> Unusable {
    Unusable::without_remedy(what)
}

fn enforced(backend: &dyn Backend, probe: &Probe) -> BTreeSet<Effect> {
    let governed = backend.governs(probe);
    governed.into_iter().filter(|(_, answer)| answer.is_enforced()).map(|(effect, _)| effect).collect()
}

/// Runs after accepting exactly what the refusal lists.
fn accepting(backend: &dyn Backend, policy: &Policy, probe: &Probe) -> (Effects, ConfinedArgv) {
    let refusal = backend.confine(&argv(), policy, probe).unwrap_err();
    let acceptable = refusal.acceptable();
    let mut accepting = policy.clone();
    accepting.accept_missing.extend(acceptable.clone());
    (acceptable, backend.confine(&argv(), &accepting, probe).unwrap())
}

#[test]
fn every_backend_answers_for_every_effect_once() {
    for backend in backends() {
        for abi in 0..=9 {
            let governed = backend.governs(&on(abi));
            assert!(Effect::ALL.iter().all(|effect| governed.contains_key(effect)), "{}", backend.id());
        }
    }
}

#[test]
fn what_is_not_enforced_says_why() {
    let bare = Probe { seccomp: Err(no("off")), uid: 0, ..on(3) };
    for probe in [on(9), on(3), on(0), bare] {
        for backend in backends() {
            for (effect, answer) in backend.governs(&probe) {
                let reason = answer.reason().map(ToString::to_string);
                assert_ne!(reason.as_deref(), Some(""), "{effect} by {}", backend.id());
            }
        }
    }
}

#[test]
fn a_newer_kernel_never_enforces_less() {
    for backend in backends() {
        for abi in 3..9 {
            let (older, newer) = (enforced(backend, &on(abi)), enforced(backend, &on(abi + 1)));
            assert!(older.is_subset(&newer), "{} from ABI {abi}", backend.id());
        }
    }
}

#[test]
fn landlock_gains_effects_at_the_abi_that_has_them() {
    let first = |effect| (0..=9).find(|abi| enforced(&Landlock, &on(*abi)).contains(&effect));
    for (effect, abi) in [
        (Effect::FsWrite, 3),
        (Effect::FsTruncate, 3),
        (Effect::FsDevice, 5),
        (Effect::ProcSignal, 6),
        (Effect::NetUnixAbstract, 6),
        (Effect::Orphan, 6),
        (Effect::NetUnixPathNew, 9),
    ] {
        assert_eq!(first(effect), Some(abi), "{effect}");
    }
}

#[test]
fn landlock_below_abi_3_is_unusable_with_a_reason_and_a_remedy() {
    for abi in 0..3 {
        let refusal = Landlock.confine(&argv(), &workspace(), &on(abi)).unwrap_err();
        let ConfineError::Unusable { unusable, .. } = refusal else { panic!("{refusal}") };
        assert!(unusable.reason.to_string().contains(&format!("ABI {abi}")));
        assert!(unusable.remedy.is_some());
    }
}

#[test]
fn bwrap_runs_without_landlock_and_loses_only_what_landlock_alone_gives() {
    let lost: Vec<Effect> = enforced(&Bwrap, &on(9)).difference(&enforced(&Bwrap, &on(2))).copied().collect();
    assert_eq!(lost, [Effect::FsSymlink, Effect::NetUnixPathNew]);
    let confined = Bwrap.confine(&argv(), &workspace(), &on(2)).unwrap();
    assert!(!confined.layers.contains(&Layer::Landlock));
    assert!(!confined.launch.plan.iter().any(|word| word == "--landlock" || word == "--rule"));
}

#[test]
fn without_a_filter_what_only_a_filter_gives_is_refused_by_name() {
    let probe = Probe { seccomp: Err(no("the kernel has no seccomp")), ..probe() };
    let refusal = Bwrap.confine(&argv(), &workspace(), &probe).unwrap_err();
    assert_eq!(refusal.acceptable().to_string(), "fs-setid,net-other,proc-kernel");
    let unknown = Probe { arch: None, ..fixture::probe() };
    assert_eq!(Bwrap.confine(&argv(), &workspace(), &unknown).unwrap_err(), refusal);
}

#[test]
fn landlock_alone_is_refused_with_the_list_that_would_run() {
    let (acceptable, confined) = accepting(&Landlock, &workspace(), &probe());
    assert_eq!(acceptable.to_string(), "fs-hide,fs-metadata,fs-carve-out,net-unix-path,proc-see,ipc-sysv");
    let missing: Effects = confined.missing.iter().map(|loss| loss.effect).collect();
    assert!(acceptable.iter().all(|effect| missing.contains(effect)));
    assert!(confined.launch.wrapper.is_none());
}

#[test]
fn landlock_alone_as_root_also_names_devices_and_kernel_tables() {
    let root = Probe { uid: 0, ..probe() };
    let (acceptable, _) = accepting(&Landlock, &workspace(), &root);
    assert!(acceptable.contains(Effect::FsDevice) && acceptable.contains(Effect::ProcSysctl));
    let (minimal, _) = accepting(&Landlock, &fixture::minimal(), &root);
    assert!(!minimal.contains(Effect::FsDevice));
}

#[test]
fn gaps_name_each_place_that_cannot_be_said() {
    let refusal = Landlock.confine(&argv(), &workspace(), &probe()).unwrap_err();
    let ConfineError::Missing { gaps, .. } = refusal else { panic!("{refusal}") };
    for at in ["/home/u/.ssh", "/etc/shadow", "/home/u/ws/.git/config"] {
        assert!(gaps.iter().any(|gap| gap.path == path(at)), "{at}");
    }
}

#[test]
fn a_hide_outside_every_grant_is_no_gap() {
    let mut policy = fixture::minimal();
    policy.fs.entries.extend(fixture::plan(&[("/home", Access::Hide, Kind::Directory)]).entries);
    let (acceptable, _) = accepting(&Landlock, &policy, &probe());
    assert!(!acceptable.contains(Effect::FsHide));
}

#[test]
fn a_setting_that_gives_an_effect_up_is_listed_as_missing() {
    let mut policy = workspace();
    policy.nested = true;
    let confined = Bwrap.confine(&argv(), &policy, &probe()).unwrap();
    assert!(confined.missing.iter().any(|loss| loss.effect == Effect::ProcNamespace));
    assert!(!confined.launch.words().iter().any(|word| word == "--disable-userns"));
}

#[test]
fn what_is_accepted_but_enforced_is_not_missing() {
    let mut policy = workspace();
    policy.accept_missing.extend([Effect::FsWrite, Effect::FsHide]);
    let confined = Bwrap.confine(&argv(), &policy, &probe()).unwrap();
    let missing: Vec<Effect> = confined.missing.iter().map(|loss| loss.effect).collect();
    assert_eq!(missing, [Effect::FsCarveOutNew, Effect::NetUnixPathNew]);
}

#[test]
fn an_effect_that_nobody_enforces_is_refused_when_required() {
    let mut policy = workspace();
    policy.require.insert(Effect::FsExec);
    let refusal = Bwrap.confine(&argv(), &policy, &probe()).unwrap_err();
    assert_eq!(refusal.acceptable().to_string(), "fs-exec");
}

#[test]
fn a_missing_protected_name_is_refused_where_the_policy_says_so() {
    let mut policy = workspace();
    policy.fs.missing_protected = MissingProtected::Refuse;
    for backend in backends() {
        let refusal = backend.confine(&argv(), &policy, &probe()).unwrap_err();
        assert_eq!(refusal, ConfineError::MissingProtected(path("/home/u/ws/.mcp.json")));
    }
}

#[test]
fn placeholders_alone_need_no_acceptance_under_bwrap() {
    let mut policy = workspace();
    policy.fs.missing.clear();
    policy.accept_missing = "net-unix-path-new".parse().unwrap();
    let confined = Bwrap.confine(&argv(), &policy, &probe()).unwrap();
    let only_by_a_runner: Vec<Effect> = confined.runner_only.iter().map(|loss| loss.effect).collect();
    assert_eq!(only_by_a_runner, [Effect::FsCarveOutNew, Effect::FdStdio, Effect::Orphan]);
}

#[test]
fn an_open_network_leaves_abstract_sockets_to_landlock() {
    let mut policy = workspace();
    policy.net = NetPlan::Open;
    let refusal = Bwrap.confine(&argv(), &policy, &on(5)).unwrap_err();
    assert_eq!(refusal.acceptable().to_string(), "net-unix-abstract");
    let confined = Bwrap.confine(&argv(), &policy, &on(6)).unwrap();
    assert!(!confined.launch.words().iter().any(|word| word == "--unshare-net"));
}

#[test]
fn limits_are_enforced_by_what_is_there() {
    let mut policy = workspace();
    policy.limits.processes = Some(10);
    policy.limits.memory = Some(1 << 30);
    policy.limits.cpu = Some(Duration::from_millis(1));
    let root = Probe { uid: 0, ..probe() };
    let refusal = Bwrap.confine(&argv(), &policy, &root).unwrap_err();
    assert_eq!(refusal.acceptable().to_string(), "limit-processes");
    let user = Bwrap.confine(&argv(), &policy, &probe()).unwrap();
    let words = user.launch.words();
    let limit = |name: &str, value: &str| {
        words.windows(3).any(|w| w[0] == "--rlimit" && w[1] == name && w[2] == value)
    };
    assert!(limit("processes", "10") && limit("cpu", "1"));
    assert!(user.layers.contains(&Layer::Runner) && user.layers.contains(&Layer::Rlimit));
}

#[test]
fn a_place_of_confines_own_in_a_grant_is_refused_where_nothing_subtracts_and_nothing_lifts_that() {
    let mut policy = workspace();
    let own = path("/home/u/ws/.local/state/confine");
    let entry = Entry { access: Access::Hide, kind: Kind::Directory, source: Source::Own };
    policy.fs.entries.insert(own.clone(), entry);
    policy.accept_missing = Effect::ALL.iter().copied().collect();
    let refusal = Landlock.confine(&argv(), &policy, &probe()).unwrap_err();
    assert_eq!(refusal, ConfineError::OwnPlace { backend: Landlock.id(), path: own });
    assert!(refusal.acceptable().is_empty());
    Bwrap.confine(&argv(), &policy, &probe()).unwrap();
}

#[test]
fn too_many_mounts_name_the_directory_with_most_of_them() {
    let hiding = |count: usize| {
        let names: Vec<String> = (0..count).map(|n| format!("/home/u/many/secret-{n}")).collect();
        let entries: Vec<_> = names.iter().map(|name| (name.as_str(), Access::Hide, Kind::File)).collect();
        let mut policy = workspace();
        policy.fs.entries.extend(fixture::plan(&entries).entries);
        policy
    };
    Bwrap.confine(&argv(), &hiding(300), &probe()).unwrap();
    // More in `/proc` than anywhere else, and none of it asked for.
    let kernel_tables = (0..500).map(|n| path(&format!("/proc/table-{n}"))).collect();
    let root = Probe { uid: 0, kernel_tables, ..probe() };
    let refusal = Bwrap.confine(&argv(), &hiding(400), &root).unwrap_err();
    let ConfineError::TooManyMounts { mounts, bound, entry, .. } = refusal else { panic!("{refusal}") };
    assert!(mounts > 900 && bound == 400);
    assert_eq!(entry, path("/home/u/many"));
}

#[test]
fn the_registry_prefers_bwrap_and_tells_every_refusal() {
    let registry = Registry::default();
    let chosen = registry.choose(&argv(), &workspace(), &probe()).unwrap();
    assert_eq!(chosen.backend.as_str(), "bwrap");
    let without = Probe { bwrap: Err(no("no bwrap on the PATH")), ..probe() };
    let Refusals(refusals) = registry.choose(&argv(), &workspace(), &without).unwrap_err();
    assert!(matches!(refusals[0], ConfineError::Unusable { .. }));
    let (backend, effects) = Refusals(refusals).acceptable().unwrap();
    let mut accepting = workspace();
    accepting.accept_missing.extend(effects);
    let second = registry.choose(&argv(), &accepting, &without).unwrap();
    assert_eq!((second.backend.as_str(), backend.as_str()), ("landlock", "landlock"));
}

#[test]
fn a_failed_launch_makes_the_backend_unusable_for_every_effect() {
    let mut probe = probe();
    probe.launches.insert("bwrap".into(), Err(no("setting up uid map: Permission denied")));
    assert!(enforced(&Bwrap, &probe).is_empty());
    assert!(matches!(Bwrap.confine(&argv(), &workspace(), &probe), Err(ConfineError::Unusable { .. })));
    assert!(!enforced(&Landlock, &probe).is_empty());
}

#[test]
fn a_portable_argv_needs_what_only_the_runner_does_to_be_accepted() {
    let mut policy = workspace();
    policy.fs.precreate.clear();
    let confined = Bwrap.confine(&argv(), &policy, &probe()).unwrap();
    let obstacles = confined.portable([]).unwrap_err();
    let effects: Vec<Effect> = obstacles
        .iter()
        .filter_map(|obstacle| match obstacle {
            NeedsRunner::Effect(loss) => Some(loss.effect),
            NeedsRunner::Precreate(_) | NeedsRunner::TooLarge { .. } => None,
        })
        .collect();
    assert_eq!(effects, [Effect::FdStdio, Effect::Orphan]);
    policy.accept_missing.extend(effects);
    let portable = Bwrap.confine(&argv(), &policy, &probe()).unwrap().portable([]).unwrap();
    assert_eq!(portable.argv[1].to_string(), "--die-with-parent");
}

#[test]
fn a_portable_argv_of_a_launch_that_needs_a_file_made_is_refused_by_its_name() {
    let mut policy = workspace();
    policy.accept_missing.extend(Effect::ALL.iter().copied());
    for backend in backends() {
        policy.fs.precreate.clear();
        assert!(backend.confine(&argv(), &policy, &probe()).unwrap().portable([]).is_ok());
        policy.fs.precreate.insert(path("/home/u/ws/result"));
        let obstacles = backend.confine(&argv(), &policy, &probe()).unwrap().portable([]).unwrap_err();
        assert_eq!(obstacles, [NeedsRunner::Precreate(path("/home/u/ws/result"))]);
    }
}

#[test]
fn how_a_launch_fails_is_what_the_dialect_says() {
    let macos = Probe { os: "macos".into(), ..probe() };
    let mut policy = workspace();
    policy.fs.precreate.clear();
    policy.accept_missing.extend(Effect::ALL.iter().copied());
    let launches: [(&dyn Backend, Probe); 3] = [(&Bwrap, probe()), (&Landlock, probe()), (&Seatbelt, macos)];
    for (backend, probe) in launches {
        let confined = backend.confine(&argv(), &policy, &probe).unwrap();
        let dialect = Dialect::builtin(&DialectId::new(confined.backend.as_str())).unwrap();
        let portable = confined.portable([]).unwrap();
        assert_eq!(portable.runner_failure, dialect.runner_failure(), "{}", confined.backend);
        assert!(!portable.runner_failure.prefixes.is_empty(), "{}", confined.backend);
    }
}

#[test]
fn markers_tell_the_backend_the_policy_and_the_network() {
    let confined = Bwrap.confine(&argv(), &workspace(), &probe()).unwrap();
    let marker = |name: &str| confined.env.set.get(name).map(ToString::to_string);
    assert_eq!(marker("CONFINE").as_deref(), Some("1"));
    assert_eq!(marker("CONFINE_BACKEND").as_deref(), Some("bwrap"));
    assert_eq!(marker("CONFINE_POLICY").as_deref(), Some("sha256:00"));
    assert_eq!(marker("CONFINE_NETWORK").as_deref(), Some("off"));
}

#[test]
fn the_digest_follows_the_plan_and_not_the_command() {
    let digest = |policy: &Policy, argv| Bwrap.confine(&argv, policy, &probe()).unwrap().plan;
    let other = confine_core::Argv::new(["true"], path("/home/u/ws")).unwrap();
    assert_eq!(digest(&workspace(), argv()), digest(&workspace(), other));
    let mut wider = workspace();
    wider.fs.entries.remove(&path("/home/u/.ssh"));
    assert_ne!(digest(&workspace(), argv()), digest(&wider, argv()));
}
