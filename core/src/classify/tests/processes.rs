//! What is about processes: records, signals, limits, privileges, the launcher.

use super::*;

#[test]
fn giving_a_file_away_is_about_privileges_and_users_not_about_its_mode() {
    let denied = b"chown: changing ownership of 'x': Operation not permitted";
    let judgement = Question::of("landlock").ask(denied);
    assert!(judgement.denials.iter().all(|denial| denial.effect == Effect::ProcPrivilege), "{judgement:?}");
    let mut question = Question::of("landlock");
    question.host.refused = vec!["/ws/x"];
    let judgement = question.ask(denied);
    assert_eq!(judgement.denials, vec![]);
    assert_eq!(judgement.not_the_sandbox, Some(Because::PlainPermissions));
    let unmapped = Question::of("bwrap").ask(b"chown: changing ownership of 'x': Invalid argument");
    assert_eq!(unmapped.denials, vec![]);
    assert_eq!(unmapped.not_the_sandbox, Some(Because::ForeignOwner));
    // An ordinary user may give a file to a group of theirs outside.
    let mut ordinary = Question::of("bwrap");
    ordinary.host.refused = vec!["/ws/x"];
    let group = ordinary.ask(b"chgrp: changing group of 'x': Invalid argument");
    assert_eq!((group.denials, group.not_the_sandbox), (vec![], Some(Because::ForeignOwner)));
}

#[test]
fn records_of_limits_prove_and_the_rest_does_not() {
    let signal = |signal| Outcome::Signaled { signal, core: false };
    let judged = |outcome: &Outcome, witness| {
        let question = Question { outcome: outcome.clone(), witness, ..Question::of("bwrap") };
        question.ask(b"touch: cannot touch '/etc/x': Read-only file system\n")
    };
    let killed = judged(&signal(31), Witness::Record);
    assert_eq!(killed.verdict, Verdict::Denied);
    let denial = &killed.denials[0];
    assert_eq!(
        (denial.effect, denial.layer, denial.certainty, denial.evidence.source),
        (Effect::ProcKernel, Some(Layer::Seccomp), Certainty::Likely, Seen::Record),
        "`kill -SYS $$` gives the same record"
    );
    let told = judged(&signal(31), Witness::ExitStatus);
    assert_eq!((told.verdict, told.denials[0].certainty), (Verdict::Denied, Certainty::Likely));
    let limits = [
        (Outcome::TimedOut { after: Duration::from_secs(1) }, Effect::LimitTime, Verdict::TimedOut),
        (Outcome::Limit { which: LimitKind::Memory }, Effect::LimitMemory, Verdict::LimitExceeded),
        (Outcome::Limit { which: LimitKind::Cpu }, Effect::LimitCpu, Verdict::LimitExceeded),
    ];
    for (outcome, effect, verdict) in limits {
        let judgement = judged(&outcome, Witness::Record);
        assert_eq!((judgement.verdict, judgement.denials.len()), (verdict, 1));
        assert_eq!(
            (judgement.denials[0].effect, judgement.denials[0].certainty),
            (effect, Certainty::Proven)
        );
    }
    let size = judged(&Outcome::Limit { which: LimitKind::FileSize }, Witness::Record);
    let denial = &size.denials[0];
    assert_eq!(
        (size.verdict, denial.effect, denial.certainty),
        (Verdict::LimitExceeded, Effect::LimitFileSize, Certainty::Likely),
        "`kill -XFSZ $$` gives the same record"
    );
}

#[test]
fn a_signal_of_somebody_else_is_no_denial() {
    for (signal, because) in
        [(9, Because::KilledFromOutside), (15, Because::KilledFromOutside), (11, Because::OwnWords)]
    {
        let outcome = Outcome::Signaled { signal, core: false };
        let judgement = Question { outcome, ..Question::of("bwrap") }.ask(b"");
        assert_eq!(
            (judgement.verdict, judgement.not_the_sandbox),
            (Verdict::Failed, Some(because)),
            "{signal}"
        );
        assert_eq!(judgement.denials, vec![]);
    }
}

#[test]
fn a_limit_counts_where_it_is_set() {
    let line = b"bash: line 1: /dev/null: Too many open files";
    let without = Question::of("bwrap").ask(line);
    assert_eq!((without.verdict, without.denials.len()), (Verdict::Failed, 0), "{without:?}");
    let mut limited = Question::of("bwrap");
    limited.policy.limits.open_files = Some(10);
    let judgement = limited.ask(line);
    assert_eq!(judgement.verdict, Verdict::Denied, "{judgement:?}");
    assert_eq!(judgement.denials[0].effect, Effect::LimitOpenFiles);
}

#[test]
fn exit_0_never_failed_and_nothing_is_looked_at() {
    let question = Question { outcome: Outcome::Exited { code: 0 }, ..Question::of("bwrap") };
    let judgement = question.ask(b"touch: cannot touch '/etc/x': Read-only file system\n");
    assert_eq!(judgement, Judgement::plain(Verdict::Passed));
    assert_eq!(question.host.asked.get(), 0);
}

#[test]
fn without_a_record_the_launcher_s_words_count_and_outrank_a_denial() {
    let text = b"touch: cannot touch '/etc/x': Read-only file system\nbwrap: Creating new namespace failed: Operation not permitted\n";
    let foreign = Question { witness: Witness::ExitStatus, ..Question::of("bwrap") }.ask(text);
    assert_eq!((foreign.verdict, foreign.denials.len()), (Verdict::LauncherFailed, 0));
    assert!(foreign.launch.unwrap().text.contains("Creating new namespace failed"));
    let own = Question::of("bwrap").ask(text);
    assert_eq!((own.verdict, own.launch), (Verdict::Denied, None));
    let outcome = Outcome::Exited { code: 2 };
    let other = Question { witness: Witness::ExitStatus, outcome, ..Question::of("bwrap") }.ask(text);
    assert_eq!(other.verdict, Verdict::Denied, "bwrap never exits 2");
}
