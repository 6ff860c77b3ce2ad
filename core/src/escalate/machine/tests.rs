use proptest::prelude::*;

use super::*;
use crate::denial::{Evidence, Source, Target};
use crate::policy::fake::*;
use crate::policy::resolve::{Request, resolve};
use crate::policy::{Access, Mode};
use crate::{AbsPath, Effect, Layer};

const OWN: &str = "/home/u/.config/confine";

fn tree() -> Fake {
    let mut fake = host();
    for path in ["/data", "/home/u/.ssh", OWN, "/home/u/.local/state/confine", "/data/d"] {
        fake.directory(path);
    }
    fake.file("/data/x", "").file("/data/y", "").file("/home/u/.ssh/id", "").repository("/home/u/ws");
    fake.link("/srv/link", "/data/x").file("/home/u/ws/.envrc", "").socket("/srv/s").directory("/run/user");
    fake
}

fn call_of(request: Request) -> Escalation {
    let policy = request.on(&tree()).unwrap();
    let argv = Argv::new(["touch", "x"], abs("/home/u/ws")).unwrap();
    let widen = move |layer: &Written| {
        let mut wider = request.clone();
        wider.layers.push(layer.clone());
        resolve(&wider, &tree())
    };
    Escalation::new(argv, policy, widen)
}

fn base(name: &str) -> Request {
    let own = vec![abs(OWN), abs("/home/u/.local/state/confine")];
    Request { own_directories: own, ..request(name) }
}

fn call() -> Escalation {
    call_of(base("workspace-write"))
}

fn denial(certainty: Certainty, grant: Option<Target>) -> Denial {
    let evidence = Evidence { source: Source::Stderr, line: None, errno: None };
    let (effect, layer) = (Effect::FsWrite, Some(Layer::Mount));
    Denial { effect, target: grant.clone(), layer, certainty, evidence, grant }
}

fn judged(verdict: Verdict, denials: Vec<Denial>) -> Judgement {
    Judgement { denials, ..Judgement::plain(verdict) }
}

fn denied(target: Target) -> Judgement {
    judged(Verdict::Denied, vec![denial(Certainty::Likely, Some(target))])
}

fn write(path: &str) -> Target {
    Target::Write(abs(path))
}

fn asked(step: Step) -> Proposal {
    match step {
        Step::Ask(proposal) => *proposal,
        other => panic!("{other:?}"),
    }
}

fn grant_of(proposal: &Proposal) -> &Grant {
    match &proposal.subject {
        Subject::Escalation { grant, .. } => grant,
        other => panic!("{other:?}"),
    }
}

fn ahead(grant: Grant) -> Ahead {
    Ahead::new(Some(grant), Some("it writes there".into())).unwrap().unwrap()
}

#[test]
fn a_denied_write_asks_for_exactly_that_file_and_a_yes_gives_it_for_one_call() {
    let mut one = call();
    let proposal = asked(one.on(&denied(write("/data/x"))));
    assert_eq!(grant_of(&proposal), &Grant::one(write("/data/x")));
    assert!(
        matches!(proposal.rerun, RerunRisk::RanBefore { attempts: 1, ref could_write } if could_write.contains(&abs("/home/u/ws")))
    );
    let Step::Rerun(policy) = one.answer(ApprovalOutcome::AllowedOnce) else { panic!() };
    assert_eq!((policy.at("/data/x"), policy.at("/data/y")), (Access::Write, Access::Read));
    assert_eq!(policy.at("/home/u/.ssh/id"), Access::Hide);
    assert_eq!(one.on(&judged(Verdict::Passed, vec![])), Step::Done(Done::NotDenied));
    // The next call has none of it.
    assert_eq!(call().policy().at("/data/x"), Access::Read);
    let new = Target::Precreate(abs("/data/new"));
    let mut two = call();
    assert_eq!(grant_of(&asked(two.on(&denied(new.clone())))), &Grant::one(new));
    let Step::Rerun(policy) = two.answer(ApprovalOutcome::AllowedOnce) else { panic!() };
    assert!(policy.fs.precreate.contains(&abs("/data/new")) && policy.at("/data") == Access::Read);
}

#[test]
fn a_directory_that_is_granted_is_told_from_a_file() {
    for (target, expected) in [(write("/data"), vec![abs("/data")]), (write("/data/x"), vec![])] {
        let mut one = call();
        let proposal = asked(one.on(&denied(target)));
        let Subject::Escalation { grant, directories, .. } = &proposal.subject else {
            panic!("{proposal:?}")
        };
        assert_eq!(directories, &expected);
        assert_eq!(grant.words(directories)[0].ends_with(" and all below"), !expected.is_empty());
    }
}

#[test]
fn what_is_hidden_confines_own_or_everything_is_never_offered() {
    let never = [
        Target::Read(abs("/home/u/.ssh/id")),
        write("/home/u/.ssh"),
        Target::Precreate(abs("/home/u/.ssh/new")),
        write(OWN),
        write("/home/u/.config/confine/policy.toml"),
        Target::Precreate(abs("/home/u/.config/confine/rules.toml")),
        Target::Precreate(abs("/home/u/.local/state/confine/log")),
        Target::Read(abs("/home/u/.local/state/confine")),
        write("/"),
        write("/proc"),
        Target::Read(abs("/run/user")),
        // A link that somebody else made.
        write("/srv/link"),
        Target::Connect("example.com:443".into()),
        Target::Process(1),
        Target::Syscall("ptrace".into()),
        Target::Git("anything".into()),
    ];
    for target in never {
        let step = call().on(&denied(target.clone()));
        assert!(matches!(step, Step::Done(Done::NothingToOffer(_))), "{target:?}: {step:?}");
        let step = call().ahead(ahead(Grant::one(target.clone())));
        assert!(matches!(step, Step::Done(Done::NothingToOffer(_))), "{target:?}: {step:?}");
        // Nor together with what may be.
        let both = Grant::Grants(vec![write("/data/x"), target.clone()]);
        let step = call().ahead(ahead(both));
        assert!(matches!(step, Step::Done(Done::NothingToOffer(_))), "{target:?}: {step:?}");
    }
    for target in [
        write("/home/u/ws/.envrc"),
        Target::Git("open".into()),
        Target::Socket(abs("/srv/s")),
        Target::Device(abs("/dev/kvm")),
    ] {
        asked(call().on(&denied(target)));
    }
}

#[test]
fn a_grant_that_hides_or_takes_something_else_is_not_offered() {
    // Below the home directory confine's own places would have to be hidden anew.
    let step = call().ahead(ahead(Grant::one(write("/home/u"))));
    assert!(matches!(step, Step::Done(Done::NothingToOffer(_))), "{step:?}");
    let mut open = call_of(base("workspace-write").file("filesystem.git = 'open'"));
    let both = Grant::Grants(vec![write("/data/x"), Target::Git("protect".into())]);
    let step = open.ahead(ahead(both));
    assert!(matches!(step, Step::Done(Done::NothingToOffer(_))), "{step:?}");
}

#[test]
fn what_is_not_wider_is_answered_without_a_question() {
    for grant in
        [Grant::Mode(Mode::WorkspaceWrite), Grant::Mode(Mode::ReadOnly), Grant::one(write("/home/u/ws"))]
    {
        let mut one = call();
        let policy = one.policy().clone();
        assert_eq!(one.ahead(ahead(grant)), Step::Rerun(Box::new(policy)));
    }
    let mut wider = call_of(base("read-only"));
    let proposal = asked(wider.ahead(ahead(Grant::Mode(Mode::WorkspaceWrite))));
    assert_eq!(
        (proposal.justification.as_deref(), proposal.rerun),
        (Some("it writes there"), RerunRisk::NotStarted)
    );
    let Step::Rerun(policy) = wider.answer(ApprovalOutcome::AllowedOnce) else { panic!() };
    assert_eq!(policy.at("/home/u/ws"), Access::Write);
}

#[test]
fn a_request_ahead_is_whole_and_short() {
    let grant = || Some(Grant::Mode(Mode::WorkspaceWrite));
    let text = |length: usize| Some("é".repeat(length));
    assert_eq!(Ahead::new(None, None), Ok(None));
    assert_eq!(Ahead::new(grant(), None).unwrap_err(), super::super::AheadError::Half);
    assert_eq!(Ahead::new(None, text(1)).unwrap_err(), super::super::AheadError::Half);
    assert_eq!(Ahead::new(grant(), Some(" \n".into())).unwrap_err(), super::super::AheadError::Empty);
    assert_eq!(Ahead::new(grant(), text(1_001)).unwrap_err(), super::super::AheadError::TooLong);
    assert!(Ahead::new(grant(), text(1_000)).unwrap().is_some());
    let read: Grant = serde_json::from_str(r#"{"grants":[{"write":"/data/x"},{"git":"open"}]}"#).unwrap();
    assert_eq!(read, Grant::Grants(vec![write("/data/x"), Target::Git("open".into())]));
    for text in [
        r#"{"mode":"danger-full-access"}"#,
        r#"{"mode":"workspace-write","grants":[]}"#,
        r#"{"grants":[{"write":"/a","read":"/b"}]}"#,
        r#"{"grants":[{"write":"a"}]}"#,
        r#"{"network":"open"}"#,
        "{}",
    ] {
        assert!(serde_json::from_str::<Grant>(text).is_err(), "{text}");
    }
    let everything = Grant::layer(&[Grant::one(write("/"))]).unwrap_err();
    assert_eq!(everything, super::super::BadGrant::Ungrantable("everything"));
    for grants in [vec![], vec![write("/data/x"); 17]] {
        assert!(matches!(call().ahead(ahead(Grant::Grants(grants))), Step::Done(Done::NothingToOffer(_))));
    }
}

#[test]
fn only_a_denial_that_is_known_asks() {
    let possible = || vec![denial(Certainty::Possible, Some(write("/data/x")))];
    for verdict in [
        Verdict::Passed,
        Verdict::Failed,
        Verdict::TimedOut,
        Verdict::LimitExceeded,
        Verdict::Cancelled,
        Verdict::Refused,
    ] {
        assert_eq!(call().on(&judged(verdict, possible())), Step::Done(Done::NotDenied), "{verdict:?}");
    }
    assert_eq!(call().on(&judged(Verdict::LauncherFailed, possible())), Step::Done(Done::LauncherFailed));
    assert!(matches!(call().on(&judged(Verdict::Denied, possible())), Step::Done(Done::NothingToOffer(_))));
    asked(call().ask_on_possible().on(&judged(Verdict::Failed, possible())));
    let step = call().ask_on_possible().on(&judged(Verdict::LauncherFailed, possible()));
    assert_eq!(step, Step::Done(Done::LauncherFailed));
}

#[test]
fn a_no_ends_the_call_and_no_yes_comes_without_a_question() {
    let mut one = call();
    assert_eq!(one.answer(ApprovalOutcome::AllowedOnce), Step::Done(Done::OutOfTurn));
    assert_eq!(one.on(&denied(write("/data/x"))), Step::Done(Done::OutOfTurn));
    let mut late = call();
    asked(late.on(&denied(write("/data/x"))));
    assert!(matches!(late.answer(ApprovalOutcome::AllowedOnce), Step::Rerun(_)));
    let step = late.ahead(ahead(Grant::one(write("/data/y"))));
    assert_eq!(step, Step::Done(Done::OutOfTurn), "ahead is before the first run");
    let mut two = call();
    asked(two.on(&denied(write("/data/x"))));
    assert_eq!(two.answer(ApprovalOutcome::TimedOut), Step::Done(Done::Refused(ApprovalOutcome::TimedOut)));
    assert_eq!(two.answer(ApprovalOutcome::AllowedOnce), Step::Done(Done::OutOfTurn));
    assert_eq!(two.policy(), call().policy());
}

#[test]
fn a_grant_that_does_not_help_is_not_asked_for_again_and_a_call_ends() {
    let mut one = call();
    asked(one.on(&denied(write("/data/x"))));
    one.answer(ApprovalOutcome::AllowedOnce);
    assert!(matches!(one.on(&denied(write("/data/x"))), Step::Done(Done::NothingToOffer(_))));
    let mut two = call();
    for round in 0..ROUNDS {
        asked(two.on(&denied(Target::Precreate(abs(&format!("/data/{round}new"))))));
        assert!(matches!(two.answer(ApprovalOutcome::AllowedOnce), Step::Rerun(_)));
    }
    assert_eq!(two.on(&denied(write("/data/x"))), Step::Done(Done::TooOften));
    assert_eq!(two.granted().len(), ROUNDS);
}

fn target() -> impl Strategy<Value = Target> {
    const PATHS: &[&str] = &[
        "/",
        "/data",
        "/data/x",
        "/data/new",
        "/home/u",
        "/home/u/ws",
        "/home/u/.ssh/id",
        OWN,
        "/srv/s",
        "/dev/kvm",
        "/tmp",
        "/etc/shadow",
    ];
    let path = || prop::sample::select(PATHS).prop_map(abs).boxed();
    let path = std::iter::repeat_with(path).take(5).collect::<Vec<_>>();
    let [read, write, precreate, socket, device]: [BoxedStrategy<AbsPath>; 5] = path.try_into().unwrap();
    prop_oneof![
        read.prop_map(Target::Read),
        write.prop_map(Target::Write),
        precreate.prop_map(Target::Precreate),
        socket.prop_map(Target::Socket),
        device.prop_map(Target::Device),
        prop::sample::select(&["work", "protect", "open", ""][..]).prop_map(|word| Target::Git(word.into())),
        Just(Target::Connect("h".into())),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn whatever_is_offered_is_strictly_wider_and_opens_nothing_hidden(targets in prop::collection::vec(target(), 1..4)) {
        let mut one = call();
        let before = one.policy().clone();
        if let Step::Ask(_) = one.ahead(ahead(Grant::Grants(targets))) {
            let Step::Rerun(policy) = one.answer(ApprovalOutcome::AllowedOnce) else { panic!() };
            prop_assert!(policy.covers(&before) && !before.covers(&policy));
            prop_assert_ne!(policy.id, before.id);
            for path in ["/home/u/.ssh", "/home/u/.ssh/id", "/etc/shadow", "/home/u/.local/state/confine"] {
                prop_assert_eq!(policy.fs.access_at(&abs(path)), Access::Hide);
            }
            prop_assert!(policy.fs.access_at(&abs(OWN)) != Access::Write);
        }
    }
}
