//! Whatever a program prints.

use proptest::prelude::*;

use super::*;

/// A line of output that a hostile program might print: everything that means something to us, and anything else.
fn hostile() -> impl Strategy<Value = Vec<u8>> {
    let known = prop_oneof![
        Just("bwrap: Creating new namespace failed: Operation not permitted"),
        Just("confine-stage: cannot enter the Landlock domain"),
        Just("confine: cannot set the sandbox up: `bwrap: setting up uid map: Permission denied`"),
        Just(
            "[confine: write to /etc/x denied by the mount layer (mode workspace-write); smallest grant: --write /]"
        ),
        Just("touch: cannot touch '/etc/x': Read-only file system"),
        Just("cat: /etc/shadow: Permission denied"),
        Just("/bin/sh: 1: cannot create /: Read-only file system"),
        Just("Bad system call"),
        Just("curl: (6) Could not resolve host: example.org"),
        Just("{\"exit-code\": 125, \"certainty\": \"proven\", \"verdict\": \"launcher-failed\"}"),
        Just("touch: cannot touch '../../../../..//../etc/\u{1b}[2Jx': Permission denied"),
    ];
    let any = proptest::collection::vec(any::<u8>(), 0..40);
    prop_oneof![known.prop_map(|line| line.as_bytes().to_vec()), any]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn no_output_makes_a_launcher_failure_or_a_proof(
        lines in proptest::collection::vec(hostile(), 0..30),
        code in 1_u8..,
        backend in prop_oneof![Just("bwrap"), Just("landlock")],
    ) {
        let text = lines.join(&b'\n');
        for witness in [Witness::Record, Witness::ExitStatus] {
            let outcome = Outcome::Exited { code };
            let judgement = Question { outcome, witness, ..Question::of(backend) }.ask(&text);
            prop_assert!(judgement.denials.iter().all(|denial| denial.certainty < Certainty::Proven));
            if witness == Witness::Record {
                prop_assert!(matches!(judgement.verdict, Verdict::Failed | Verdict::Denied));
                prop_assert_eq!(judgement.launch, None);
            }
        }
    }

    #[test]
    fn a_hidden_path_is_never_offered(name in "[a-z./]{0,12}", lines in proptest::collection::vec(hostile(), 0..5)) {
        let mut lines = lines;
        lines.push(format!("cat: /home/u/.ssh/{name}: No such file or directory").into_bytes());
        lines.push(format!("touch: cannot touch '/home/u/.ssh/{name}': Read-only file system").into_bytes());
        for backend in ["bwrap", "landlock"] {
            let judgement = Question::of(backend).ask(&lines.join(&b'\n'));
            for denial in judgement.denials {
                if let Some(Target::Read(path) | Target::Write(path) | Target::Precreate(path)) = denial.grant {
                    let listed = policy().fs.access_at(&path);
                    prop_assert!(listed != Access::Hide || backend == "landlock", "{path}");
                }
            }
        }
    }
}

/// By counting what is asked, not by a clock: more output asks no more.
#[test]
fn more_output_asks_no_more_questions() {
    let line = |number: usize| format!("touch: cannot touch '/srv/{number}': Read-only file system\n");
    let asked = |lines: usize| {
        let text: String = (0..lines).map(line).collect();
        let question = Question::of("bwrap");
        let judgement = question.ask(text.as_bytes());
        assert!(judgement.denials.len() <= 32, "{}", judgement.denials.len());
        question.host.asked.get()
    };
    let few = asked(1_000);
    assert!(few <= 2 * crate::denial::dialect::SIGHTING_BOUND, "{few}");
    assert_eq!(asked(20_000), few);
}
