//! Third-party backends by their answers: what comes of one, and what is refused whatever it says.

use crate::fixture::{argv, path, policy, probe, workspace};
use std::collections::BTreeMap;

use confine_backends::Registry;
use confine_backends::foreign::Party;
use confine_backends::foreign::protocol::{Confined, Governance, Request, Wrapping};
use confine_core::backend::{Handover, Payload};
use confine_core::denial::{Dialect, DialectId};
use confine_core::policy::{Access, Entry, Kind, Source};
use confine_core::{
    AbsPath, Argv, Backend, BackendId, ConfineError, ConfinedArgv, Effect, Governed, Layer, Policy, Probe,
    Reason,
};
use proptest::prelude::*;

/// Governs all that there is, by its namespaces.
fn everything() -> Governance {
    let by = Governed::Enforced { layers: vec![Layer::Namespace] };
    Governance { effects: Effect::ALL.iter().map(|effect| (*effect, by.clone())).collect() }
}

fn launch(more: &str) -> Wrapping {
    let answer = format!(
        r#"{{"launch": {{"program": "/usr/bin/jail", "options": ["--quiet", "--"], "layers": ["namespace"]{more}}}}}"#
    );
    let Confined::Launch(wrapping) = Confined::decode(answer.as_bytes()).unwrap() else { panic!("{answer}") };
    *wrapping
}

fn confine(
    payload: Payload,
    governance: &Governance,
    more: &str,
    policy: &Policy,
) -> Result<ConfinedArgv, ConfineError> {
    let id = BackendId::new("jail");
    Party { id: &id, payload, governance, dialect: dialect() }.confine(
        launch(more),
        &argv(),
        policy,
        &probe(),
    )
}

fn dialect() -> &'static Dialect {
    Dialect::builtin(&DialectId::new("bwrap")).unwrap()
}

fn words(words: &[std::ffi::OsString]) -> String {
    words.iter().map(|word| word.to_str().unwrap()).collect::<Vec<_>>().join(" ")
}

#[test]
fn a_wrapper_runs_the_stage_with_our_filter_and_its_options_are_words() {
    let confined =
        confine(Payload::Stage, &everything(), r#", "bound": ["/home/u/ws"]"#, &workspace()).unwrap();
    let wrapper = confined.launch.wrapper.as_ref().unwrap();
    assert_eq!((wrapper.program.clone(), wrapper.handover), (path("/usr/bin/jail"), Handover::Words));
    let all = words(&confined.launch.words());
    assert!(
        all.starts_with("/usr/bin/jail --quiet -- /usr/libexec/confine/confine-stage --role supervisor"),
        "{all}"
    );
    assert!(all.contains(" --seccomp ") && all.ends_with(" -- make test"), "{all}");
    assert!(confined.layers.contains(&Layer::Namespace) && confined.layers.contains(&Layer::Seccomp));
    assert_eq!(confined.bound, [path("/home/u/ws")]);
    assert_eq!(confined.runner_failure, Some(dialect().runner_failure()));
    assert_eq!(confined.payload, Payload::Stage);
    let init =
        confine(Payload::Stage, &everything(), r#", "stage": "init", "masked": ["/run"]"#, &workspace())
            .unwrap();
    assert!(words(&init.launch.plan).starts_with("--cwd /home/u/ws"), "no role is that of process 1");
    assert!(words(&init.launch.plan).ends_with("--masked /run"));
}

#[test]
fn a_wrapper_that_runs_the_program_itself_is_watched_from_outside_without_a_filter() {
    let confined =
        confine(Payload::Command, &everything(), r#", "bound": ["/home/u/ws"]"#, &workspace()).unwrap();
    assert_eq!((confined.launch.wrapper.clone(), confined.payload), (None, Payload::Command));
    assert_eq!(words(&confined.launch.command), "/usr/bin/jail --quiet -- make test");
    assert_eq!(words(&confined.launch.plan), "--role supervisor --cwd /home/u/ws");
    assert!(!confined.layers.contains(&Layer::Seccomp) && confined.bound.is_empty());
}

#[test]
fn the_stage_speaks_for_itself_and_silence_is_no_answer() {
    let nothing = Governance { effects: Default::default() };
    let id = BackendId::new("jail");
    let party =
        |payload| Party { id: &id, payload, governance: &nothing, dialect: dialect() }.governs(&probe());
    let (inside, outside) = (party(Payload::Stage), party(Payload::Command));
    assert!(Effect::ALL.iter().all(|effect| inside.contains_key(effect)));
    assert!(inside[&Effect::ProcKernel].is_enforced() && !outside[&Effect::ProcKernel].is_enforced());
    assert!(inside[&Effect::FdInherit].is_enforced() && outside[&Effect::FdInherit].is_enforced());
    let reason = inside[&Effect::FsWrite].reason().map(Reason::to_string);
    assert_eq!(reason.as_deref(), Some("the backend does not say that it does"));
}

#[test]
fn what_a_launch_leaves_out_is_refused_unless_the_policy_accepts_it() {
    let gap = r#", "gaps": [{"effect": "fs-hide", "path": "/run", "reason": "no words"}]"#;
    let loss = r#", "missing": [{"effect": "net-udp", "reason": "no namespace here"}]"#;
    for (more, effect) in [(gap, Effect::FsHide), (loss, Effect::NetUdp)] {
        let refused = confine(Payload::Stage, &everything(), more, &workspace()).unwrap_err();
        assert_eq!(refused.acceptable().iter().collect::<Vec<_>>(), [effect]);
        let mut accepting = workspace();
        accepting.accept_missing.insert(effect);
        let confined = confine(Payload::Stage, &everything(), more, &accepting).unwrap();
        assert!(confined.missing.iter().any(|missing| missing.effect == effect));
    }
}

#[test]
fn no_accepted_loss_opens_a_place_of_confine_s_own() {
    let mut policy = workspace();
    let own = path("/home/u/ws/.state/confine");
    let entry = Entry { access: Access::Hide, kind: Kind::Directory, source: Source::Own };
    policy.fs.entries.insert(own.clone(), entry);
    policy.accept_missing.insert(Effect::FsHide);
    assert!(confine(Payload::Stage, &everything(), "", &policy).is_ok());
    let elsewhere = r#", "gaps": [{"effect": "fs-hide", "path": "/run", "reason": "no words"}]"#;
    assert!(confine(Payload::Stage, &everything(), elsewhere, &policy).is_ok());
    let mut blind = everything();
    blind.effects.remove(&Effect::FsHide);
    let above = elsewhere.replace("/run", "/home/u/ws");
    let lost = r#", "missing": [{"effect": "fs-hide", "reason": "none"}]"#;
    for (governance, more) in [(&blind, ""), (&everything(), above.as_str()), (&everything(), lost)] {
        let refused = confine(Payload::Stage, governance, more, &policy).unwrap_err();
        assert_eq!(
            refused,
            ConfineError::OwnPlace { backend: BackendId::new("jail"), path: own.clone() },
            "{more}"
        );
    }
}

#[test]
fn a_hidden_stage_and_a_host_without_one_are_refused() {
    let mut hidden = workspace();
    let entry = Entry { access: Access::Hide, kind: Kind::Directory, source: Source::CommandLine };
    hidden.fs.entries.insert(path("/usr/libexec"), entry);
    let refused = confine(Payload::Stage, &everything(), "", &hidden).unwrap_err();
    assert!(refused.to_string().contains("which the policy hides"), "{refused}");
    assert!(confine(Payload::Command, &everything(), "", &hidden).is_ok(), "it stays outside");
}

#[test]
fn a_request_is_one_object_with_what_its_verb_takes() {
    let (argv, policy, probe) = (argv(), workspace(), probe());
    let keys = |request: Request<'_>| {
        let value: serde_json::Value = serde_json::from_slice(&request.encode().unwrap()).unwrap();
        (request.verb(), value.as_object().unwrap().keys().cloned().collect::<Vec<_>>().join(" "))
    };
    assert_eq!(keys(Request::Describe), ("describe", String::new()));
    assert_eq!(keys(Request::Governs(&probe)), ("governs", "probe".into()));
    assert_eq!(keys(Request::Confine(&argv, &policy, &probe)), ("confine", "argv policy probe".into()));
}

#[test]
fn a_path_that_json_has_no_key_for_is_an_error_and_an_argument_is_not() {
    use std::os::unix::ffi::OsStringExt;
    let odd = || std::ffi::OsString::from_vec(b"/home/u/ws/a\xff".to_vec());
    let argv = Argv::new([odd()], AbsPath::root()).unwrap();
    assert!(Request::Confine(&argv, &workspace(), &probe()).encode().is_ok());
    let mut policy = policy(workspace().fs);
    let entry = Entry { access: Access::Protect, kind: Kind::File, source: Source::BuiltIn };
    policy.fs.entries.insert(AbsPath::new(odd()).unwrap(), entry);
    assert!(Request::Confine(&argv, &policy, &probe()).encode().is_err());
}

/// A backend that takes everything, and keeps no promise.
struct Eager;

impl Backend for Eager {
    fn id(&self) -> BackendId {
        BackendId::new("jail")
    }

    fn governs(&self, probe: &Probe) -> BTreeMap<Effect, Governed> {
        Party { id: &self.id(), payload: Payload::Stage, governance: &everything(), dialect: dialect() }
            .governs(probe)
    }

    fn confine(&self, _: &Argv, policy: &Policy, _: &Probe) -> Result<ConfinedArgv, ConfineError> {
        confine(Payload::Stage, &everything(), "", policy)
    }
}

#[test]
fn a_named_backend_is_found_by_its_name_and_never_chosen() {
    let named = || -> Vec<Box<dyn Backend>> { vec![Box::new(Eager)] };
    let only = Registry::new(Vec::new()).with_named(named());
    assert!(only.choose(&argv(), &workspace(), &probe()).is_err());
    let all = Registry::default().with_named(named());
    assert_eq!(all.choose(&argv(), &workspace(), &probe()).unwrap().backend.as_str(), "bwrap");
    assert_eq!(all.iter().last().map(Backend::id), Some(BackendId::new("jail")));
    let jail = all.by_id(&BackendId::new("jail")).unwrap();
    assert!(jail.confine(&argv(), &workspace(), &probe()).is_ok());
}

proptest! {
    /// Whatever a backend claims: a run that it gets goes without nothing that the policy needs and does not accept.
    #[test]
    fn nothing_is_lost_silently(
        claimed in prop::collection::vec(any::<bool>(), Effect::ALL.len()),
        lost in prop::collection::vec(any::<prop::sample::Index>(), 0..4),
        accepted in prop::collection::vec(any::<bool>(), Effect::ALL.len()),
        outside: bool,
    ) {
        let payload = if outside { Payload::Command } else { Payload::Stage };
        let mut governance = everything();
        let all = Effect::ALL.iter().copied();
        all.clone().zip(&claimed).filter(|(_, claimed)| !**claimed).for_each(|(effect, _)| {
            governance.effects.remove(&effect);
        });
        let lost: Vec<Effect> = lost.iter().map(|index| *index.get(Effect::ALL)).collect();
        let losses: Vec<_> = lost.iter().map(|effect| serde_json::json!({"effect": effect, "reason": "x"})).collect();
        let more = format!(r#", "missing": {}"#, serde_json::Value::from(losses));
        let mut policy = workspace();
        policy.accept_missing = all.zip(accepted).filter(|(_, accepted)| *accepted).map(|(effect, _)| effect).collect();
        let id = BackendId::new("jail");
        let governed = Party { id: &id, payload, governance: &governance, dialect: dialect() }.governs(&probe());
        if let Ok(confined) = confine(payload, &governance, &more, &policy) {
            for effect in policy.needs().iter() {
                let enforced = governed[&effect].is_enforced() && !lost.contains(&effect);
                let listed = confined.missing.iter().any(|missing| missing.effect == effect);
                prop_assert_eq!(enforced, !listed, "{}", effect);
                prop_assert!(enforced || policy.accept_missing.contains(effect), "{}", effect);
            }
        }
    }
}
