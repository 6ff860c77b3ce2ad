//! Field cases H: approvals and escalation, through the library. Those at the command line are in `ask.rs`.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use confine_core::approval::{
    Answer, ApprovalOutcome, ApprovalPolicy, ApprovalRequest, Approver, Choice, NOBODY, SessionId,
    async_trait,
};
use confine_core::denial::Target;
use confine_core::escalate::{Done, Escalation, Grant, Step};
use confine_core::{Argv, Policy, Report, Verdict};
use confine_runner::approvals::{Approvals, Asked, Decided};
use confine_runner::places::Places;
use confine_tests::library::{absolute, builder, widened, workspace_write};
use confine_tests::world::{content, is_there, names};
use confine_tests::{Temporary, needs};
use tokio::runtime::Runtime;

mod changed;

/// A home with a state directory, and a workspace: the user's who runs the tests.
struct Place(Temporary);

impl Place {
    fn new() -> Self {
        let place = Self(Temporary::new("/var/tmp/confine-approvals-"));
        for directory in [place.home(), place.workspace()] {
            std::fs::create_dir(directory).expect("a fresh directory");
        }
        place
    }

    fn home(&self) -> PathBuf {
        self.0.path().join("home")
    }

    fn workspace(&self) -> PathBuf {
        self.0.path().join("ws")
    }

    fn rules(&self) -> PathBuf {
        self.home().join(".local/state/confine/approvals.toml")
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.workspace().join(name);
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("its directory");
        std::fs::write(&path, text).expect("a file");
        path
    }

    fn policy(&self) -> Policy {
        workspace_write(&self.workspace(), "")
    }

    /// The session of that name, as another process would open it.
    fn session(&self, name: &str) -> Approvals {
        let home = self.home();
        let places =
            Places::with(move |variable| (variable == "HOME").then(|| home.clone().into_os_string()));
        let session = SessionId::new(name).expect("a name");
        Approvals::open(&places, &session, ApprovalPolicy::Ask).expect("it opens")
    }

    fn command(&self, words: &[&str]) -> Asked {
        Asked::command(words, absolute(&self.workspace()), self.policy())
    }
}

/// Says the same each time, after something else has happened; counts, and keeps what it was shown.
struct Says {
    answer: Answer,
    before: Box<dyn Fn() + Send + Sync>,
    asked: AtomicUsize,
    choices: Mutex<Vec<Choice>>,
}

impl Says {
    fn new(answer: Answer) -> Arc<Self> {
        Self::after(answer, || {})
    }

    fn after(answer: Answer, before: impl Fn() + Send + Sync + 'static) -> Arc<Self> {
        let (asked, choices) = (AtomicUsize::new(0), Mutex::default());
        Arc::new(Self { answer, before: Box::new(before), asked, choices })
    }

    fn times(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }

    fn offers_always(&self) -> bool {
        let choices = self.choices.lock().expect("nobody panics here");
        choices.iter().any(|choice| matches!(choice, Choice::AllowAlways { .. }))
    }
}

#[async_trait]
impl Approver for Says {
    async fn answer(&self, request: &ApprovalRequest) -> Option<Answer> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        self.choices.lock().expect("nobody panics here").clone_from(&request.choices);
        (self.before)();
        Some(self.answer.clone())
    }
}

fn runtime() -> Runtime {
    Runtime::new().expect("a runtime")
}

/// Asks in a turn of its own, and hands out what came of it inside of that turn.
fn asking<T>(approvals: &Approvals, asked: &Asked, then: impl AsyncFnOnce(Decided) -> T) -> T {
    runtime().block_on(async {
        let turn = approvals.turn().await.expect("a turn");
        let decided = approvals.request(&turn, asked).await.expect("it is asked");
        let answer = then(decided).await;
        turn.close().await.expect("it is closed");
        answer
    })
}

fn outcome(approvals: &Approvals, asked: &Asked) -> ApprovalOutcome {
    asking(approvals, asked, async |decided| decided.outcome)
}

/// Asks, and runs the command without a sandbox where the approval is good for it: whether it ran, or why not.
fn run_if_allowed(approvals: &Approvals, place: &Place, words: &[&str], asked: &Asked) -> Result<(), String> {
    run_fed_if_allowed(approvals, place, words, asked, Stdio::null())
}

fn run_fed_if_allowed(
    approvals: &Approvals,
    place: &Place,
    words: &[&str],
    asked: &Asked,
    stdin: Stdio,
) -> Result<(), String> {
    asking(approvals, asked, async |decided| {
        let pass = decided.pass.ok_or_else(|| decided.outcome.reason().to_owned())?;
        pass.consume(asked).await.map_err(|refused| refused.to_string())?;
        let mut command = std::process::Command::new(words[0]);
        let status = command.args(&words[1..]).current_dir(place.workspace()).stdin(stdin).status();
        assert!(status.expect("it starts").success());
        Ok(())
    })
}

#[test]
fn case_h01_a_prompt_without_an_approver_is_refused_at_once() {
    let place = Place::new();
    let file = place.write("d", "");
    let (words, asked) = (["rm", "d"], place.command(&["rm", "d"]));
    let started = Instant::now();
    let alone = place.session("batch");
    let refused = run_if_allowed(&alone, &place, &words, &asked).unwrap_err();
    assert_eq!(refused, NOBODY);
    assert_eq!(NOBODY, "approval needed, non-interactive");
    assert!(started.elapsed() < Duration::from_secs(1) && is_there(&file));
    assert!(matches!(outcome(&alone, &asked), ApprovalOutcome::Unavailable { .. }));

    let attended = place.session("attended");
    attended.approver(Says::new(Answer::AllowOnce));
    run_if_allowed(&attended, &place, &words, &asked).expect("somebody said yes");
    assert!(!is_there(&file));
}

#[test]
fn case_h04_an_approval_is_used_once_by_one_of_two_and_never_after_a_revocation() {
    let place = Place::new();
    let asked = place.command(&["true"]);
    let session = place.session("once");
    session.approver(Says::new(Answer::AllowOnce));
    let id = asking(&session, &asked, async |decided| {
        let race = (0..2).map(|_| {
            let (session, id, asked) = (session.clone(), decided.id.clone(), asked.clone());
            tokio::spawn(async move { session.consume(&id, &asked).await.map(drop) })
        });
        let mut used = Vec::new();
        for one in race.collect::<Vec<_>>() {
            used.push(one.await.expect("it does not panic"));
        }
        assert_eq!(used.iter().filter(|one| one.is_ok()).count(), 1, "{used:?}");
        decided.id
    });
    // Another process, and this one again.
    for again in [place.session("once"), session] {
        let replayed = runtime().block_on(again.consume(&id, &asked)).expect_err("it was used");
        assert!(replayed.to_string().contains("cannot use the approval"), "{replayed}");
    }

    let revoked = place.session("revoked");
    revoked.approver(Says::new(Answer::AllowOnce));
    let refused = asking(&revoked, &asked, async |decided| {
        revoked.revoke().await.expect("it is written down");
        decided.pass.expect("it was allowed").consume(&asked).await.expect_err("it was taken back")
    });
    assert!(refused.to_string().contains("revoked"), "{refused}");
    assert!(!outcome(&revoked, &asked).is_allowed(), "nothing is allowed any more");
}

#[test]
fn case_h06_a_long_heredoc_is_not_offered_for_always_and_leaves_the_rules_as_they_are() {
    let place = Place::new();
    let heredoc = format!("python3 - <<'EOF'\n{}\nEOF", "print('x' * 99)\n".repeat(640));
    let says = Says::new(Answer::AllowAlways);
    let session = place.session("heredoc");
    session.approver(says.clone());
    let answered = outcome(&session, &place.command(&["sh", "-c", &heredoc]));
    assert!(!says.offers_always() && says.times() == 1);
    assert!(!answered.is_allowed(), "what is not offered is not taken: {answered:?}");
    // Nor is what says less than it runs, however short.
    for words in [&["env", "tool"][..], &["python3", "-m", "tool"], &["timeout", "5", "pytest"], &["tool"]] {
        outcome(&session, &place.command(words));
        assert!(!says.offers_always(), "{words:?}");
    }
    assert!(!is_there(&place.rules()));
    // The same answer to a small command writes a small rule, and the file still loads.
    assert!(outcome(&session, &place.command(&["uv", "run", "pytest"])).is_allowed());
    assert!(content(&place.rules()).expect("a file").len() < 1_000);
    assert!(outcome(&place.session("later"), &place.command(&["uv", "run", "pytest"])).is_allowed());
}

#[test]
fn case_h07_a_saved_rule_matches_the_same_command_in_a_new_process_and_nothing_else() {
    let place = Place::new();
    for (number, words) in [
        &["env", "A=", "uv", "run", "pytest"][..],
        &["sh", "-c", "A=\"\" uv run pytest"],
        &["printf", "it's \"so\" \\ 'é'"],
    ]
    .into_iter()
    .enumerate()
    {
        let says = Says::new(Answer::AllowAlways);
        let first = place.session(&format!("first-{number}"));
        first.approver(says.clone());
        assert!(
            matches!(outcome(&first, &place.command(words)), ApprovalOutcome::AllowedByRule { .. }),
            "{words:?}"
        );
        let saved = std::fs::read(place.rules()).expect("a rule");
        let later = place.session(&format!("later-{number}"));
        let unasked = Says::new(Answer::Reject { reason: String::new() });
        later.approver(unasked.clone());
        assert!(
            matches!(outcome(&later, &place.command(words)), ApprovalOutcome::AllowedByRule { .. }),
            "{words:?}"
        );
        assert_eq!((says.times(), unasked.times()), (1, 0), "{words:?}");
        assert_eq!(std::fs::read(place.rules()).expect("a rule"), saved, "byte for byte");
        let more: Vec<&str> = words.iter().copied().chain(["-x"]).collect();
        assert!(!outcome(&later, &place.command(&more)).is_allowed());
        assert_eq!(unasked.times(), 1, "another command is asked about");
    }
}

#[test]
fn case_h09_a_grant_is_one_path_for_one_command() {
    needs!(root, bwrap, landlock = 6);
    let place = Place::new();
    let target = place.0.path().join("y");
    let words = ["sh".to_owned(), "-c".into(), format!("echo in > {}", target.display())];
    let policy = place.policy();
    let confine = builder().detect().expect("the host");
    let session = place.session("h09");
    let says = Says::new(Answer::AllowOnce);
    session.approver(says.clone());
    let run = |policy: &Policy| -> Report {
        let command = confine.command(&words).cwd(absolute(&place.workspace())).policy(policy);
        command.run_blocking().expect("it starts")
    };
    for round in 1..=2 {
        let workspace = place.workspace();
        let argv = Argv::new(words.clone(), absolute(&workspace)).expect("words");
        let mut escalation = Escalation::new(argv, policy.clone(), move |layer| widened(&workspace, layer));
        let first = run(&policy);
        assert_eq!(first.verdict, Verdict::Denied, "round {round}: no grant of the round before is left");
        let Step::Ask(proposal) = escalation.on(&first.judgement()) else { panic!("{first:?}") };
        let asked = Asked::proposal(&proposal, policy.clone());
        let allowed = asking(&session, &asked, async |decided| {
            decided.pass.expect("allowed").consume(&asked).await.expect("nothing changed");
            decided.outcome
        });
        let Step::Rerun(wider) = escalation.answer(allowed) else { panic!("it was allowed") };
        assert_eq!(escalation.granted(), [Grant::one(Target::Precreate(absolute(&target)))]);
        let granted: BTreeSet<_> = wider.fs.precreate.iter().collect();
        assert_eq!(granted, BTreeSet::from([&absolute(&target)]), "and nothing beside it");
        let second = run(&wider);
        assert_eq!(second.verdict, Verdict::Passed);
        assert_eq!(escalation.on(&second.judgement()), Step::Done(Done::NotDenied));
        assert_eq!(content(&target).as_deref(), Some("in\n"));
        std::fs::remove_file(&target).expect("it was allowed");
    }
    assert_eq!(says.times(), 2, "each round was asked about");
}

#[test]
fn case_h10_always_is_written_to_the_users_own_file_and_never_into_the_workspace() {
    needs!(root, bwrap, landlock = 6);
    let place = Place::new();
    let committed = place.write(".confine/policy.toml", "version = 1\n");
    let session = place.session("h10");
    session.approver(Says::new(Answer::AllowAlways));
    assert!(outcome(&session, &place.command(&["uv", "sync"])).is_allowed());
    assert!(is_there(&place.rules()));
    assert_eq!(names(&place.workspace()), [".confine"]);
    assert_eq!(content(&committed).as_deref(), Some("version = 1\n"));
    // A confined command of that workspace cannot write a rule; the same user without a sandbox can.
    let (saved, rules) = (content(&place.rules()), place.rules());
    let add = format!("echo >> {}", rules.display());
    let confined = builder().detect().expect("the host").command(["sh", "-c", &add]);
    let report =
        confined.cwd(absolute(&place.workspace())).policy(&place.policy()).run_blocking().expect("it starts");
    assert_ne!(report.verdict, Verdict::Passed);
    assert_eq!(content(&rules), saved);
    let status = std::process::Command::new("sh").args(["-c", &add]).status().expect("sh");
    assert!(status.success() && content(&rules) != saved);
}
