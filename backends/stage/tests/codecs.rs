//! The codecs: what is written is read back, and nothing makes a reader panic.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;

use confine_stage::status::{Left, MAX_COMMAND, MAX_RECORD, MAX_TEXT};
use confine_stage::{
    Bound, Command, Plan, PlanError, Record, Resource, Role, Rule, Ruleset, Step, TerminalSize,
};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

fn word() -> impl Strategy<Value = OsString> {
    prop_oneof![
        vec(1_u8..=255, 0..40).prop_map(OsString::from_vec),
        Just(OsString::from("--")),
        Just(OsString::from("--rule")),
        Just(OsString::from("/usr/lib")),
    ]
}

fn rule() -> impl Strategy<Value = Rule> {
    (any::<u64>(), word()).prop_map(|(access, path)| Rule { access, path })
}

fn ruleset() -> impl Strategy<Value = Ruleset> {
    (any::<u64>(), any::<u64>(), any::<u64>(), vec(rule(), 0..9)).prop_map(
        |(handled_fs, handled_net, scoped, rules)| Ruleset { handled_fs, handled_net, scoped, rules },
    )
}

fn resource() -> impl Strategy<Value = Resource> {
    prop_oneof![
        Just(Resource::Cpu),
        Just(Resource::FileSize),
        Just(Resource::OpenFiles),
        Just(Resource::Processes)
    ]
}

fn plan() -> impl Strategy<Value = Plan> {
    let who = (prop_oneof![Just(Role::Init), Just(Role::Supervisor)], word());
    let bound = (any::<u64>(), any::<u64>(), word());
    let bound = bound.prop_map(|(device, inode, path)| Bound { device, inode, path });
    let checks = (vec(word(), 0..4), vec(bound, 0..4), vec(word(), 0..4));
    let descriptors = (option::of(3..=i32::MAX), option::of(3..=i32::MAX), option::of(any::<u64>()));
    let layers = (
        option::of(ruleset()),
        vec(any::<u8>(), 0..99),
        vec((resource(), any::<u64>()), 0..5),
        option::of(rule()),
    );
    let size = (option::of((any::<u16>(), any::<u16>())), any::<bool>());
    (who, descriptors, layers, size, checks).prop_map(|(who, descriptors, layers, size, checks)| Plan {
        role: who.0,
        cwd: who.1,
        masked: checks.0,
        bound: checks.1,
        writable: checks.2,
        control: descriptors.0,
        stderr: descriptors.1,
        stdio_access: descriptors.2,
        landlock: layers.0,
        seccomp: layers.1,
        rlimits: layers.2,
        scratch: layers.3,
        await_word: size.1,
        tty: size.0.map(|(rows, columns)| TerminalSize { rows, columns }),
    })
}

fn record() -> impl Strategy<Value = Record> {
    let text = || vec(any::<u8>(), 0..=MAX_TEXT);
    prop_oneof![
        (proptest::sample::select(&Step::ALL[..]), any::<i32>(), text())
            .prop_map(|(step, errno, detail)| Record::Failed { step, errno, detail }),
        Just(Record::Terminal),
        any::<i32>().prop_map(|pid| Record::Staged { pid }),
        (any::<bool>(), any::<i32>(), text()).prop_map(|(found, errno, program)| Record::ExecFailed {
            found,
            errno,
            program
        }),
        Just(Record::Started),
        (any::<i32>(), any::<u64>(), any::<u64>(), any::<u64>()).prop_map(
            |(status, user_us, sys_us, max_rss_bytes)| Record::Ended {
                status,
                user_us,
                sys_us,
                max_rss_bytes
            }
        ),
        (any::<i32>(), vec(any::<u8>(), 0..=MAX_COMMAND))
            .prop_map(|(pid, command)| Record::Leftover { pid, command }),
        any::<Option<u32>>()
            .prop_map(|count| Record::Done { left: count.map_or(Left::Nobody, Left::Counted) }),
    ]
}

/// Words that look like options, so that the reader gets beyond the first one.
fn wild_word() -> impl Strategy<Value = OsString> {
    const OPTIONS: &[&str] = &[
        "--role",
        "--cwd",
        "--control",
        "--stderr",
        "--landlock",
        "--rule",
        "--stdio-access",
        "--seccomp",
        "--rlimit",
        "--scratch",
        "--tty",
        "--masked",
        "--bound",
        "--writable",
        "--",
        "0x1",
        "0x",
        "3",
        "03",
        "-1",
        "cpu",
        "supervisor",
        "init",
        "AA==",
        "",
    ];
    prop_oneof![word(), proptest::sample::select(OPTIONS).prop_map(OsString::from)]
}

proptest! {
    #[test]
    fn a_plan_decodes_to_itself(plan in plan(), command in vec(word(), 0..4)) {
        let mut words = plan.encode();
        prop_assert_eq!(Plan::decode(words.clone()).unwrap(), (plan.clone(), Vec::new()));
        words.push("--".into());
        words.extend(command.clone());
        prop_assert_eq!(Plan::decode(words).unwrap(), (plan, command));
    }

    #[test]
    fn a_plan_through_a_descriptor_decodes_to_itself(plan in plan()) {
        prop_assert_eq!(Plan::decode_args(&plan.encode_args().unwrap()).unwrap(), (plan.clone(), Vec::new()));
        let with_command = [plan.encode_args().unwrap(), b"--\0a\0\0--\0".to_vec()].concat();
        let command: Vec<OsString> = ["a", "", "--"].map(OsString::from).to_vec();
        prop_assert_eq!(Plan::decode_args(&with_command).unwrap(), (plan, command));
    }

    #[test]
    fn arbitrary_words_never_panic_and_what_is_read_is_written_back(words in vec(wild_word(), 0..20)) {
        if let Ok((plan, _)) = Plan::decode(words) {
            prop_assert_eq!(Plan::decode(plan.encode()).unwrap().0, plan);
        }
    }

    #[test]
    fn arbitrary_bytes_of_a_descriptor_never_panic(bytes in vec(any::<u8>(), 0..200)) {
        let _ = Plan::decode_args(&bytes);
    }

    #[test]
    fn a_record_decodes_to_itself(record in record()) {
        let message = record.encode();
        prop_assert!(message.len() <= MAX_RECORD);
        prop_assert_eq!(Record::decode(&message), Ok(record));
    }

    #[test]
    fn a_record_cut_short_or_grown_is_refused(record in record(), cut in any::<prop::sample::Index>()) {
        let mut message = record.encode();
        prop_assert!(Record::decode(&message[..cut.index(message.len())]).is_err());
        message.push(0);
        prop_assert!(Record::decode(&message).is_err());
    }

    #[test]
    fn an_arbitrary_message_is_refused_or_is_what_would_be_written(
        message in (0_u8..70, vec(any::<u8>(), 0..40)).prop_map(|(tag, rest)| [vec![tag], rest].concat())
    ) {
        if let Ok(record) = Record::decode(&message) {
            prop_assert_eq!(record.encode(), message.clone());
        }
        if let Ok(command) = Command::decode(&message) {
            prop_assert_eq!(command.encode(), message);
        }
    }

    #[test]
    fn a_command_decodes_to_itself(signal in any::<i32>()) {
        for command in [Command::Signal(signal), Command::Go] {
            prop_assert_eq!(Command::decode(&command.encode()), Ok(command));
        }
    }
}

#[test]
fn the_words_are_in_the_manner_of_bwrap() {
    let plan = Plan {
        role: Role::Supervisor,
        cwd: "/work".into(),
        control: Some(7),
        await_word: true,
        stderr: Some(8),
        landlock: Some(Ruleset {
            handled_fs: 0xffff,
            handled_net: 0,
            scoped: 3,
            rules: vec![Rule { access: 0xd, path: "/usr".into() }],
        }),
        seccomp: vec![6, 0, 0, 0, 0, 0, 0xff, 0x7f],
        rlimits: vec![(Resource::OpenFiles, 1024)],
        scratch: Some(Rule { access: 0x2, path: "/tmp/confine-".into() }),
        stdio_access: Some(0x6),
        tty: Some(TerminalSize { rows: 24, columns: 80 }),
        masked: vec!["/root/.ssh".into()],
        bound: vec![Bound { device: 2049, inode: 12, path: "/work".into() }],
        writable: vec!["/work".into()],
    };
    let words: Vec<_> = plan.encode().into_iter().map(|word| word.into_string().unwrap()).collect();
    let expected = "--role supervisor --cwd /work --control 7 --await-word --stderr 8 --landlock 0xffff 0x0 0x3 --rule 0xd /usr \
                    --stdio-access 0x6 --seccomp BgAAAAAA/38= --rlimit open-files 1024 --scratch 0x2 /tmp/confine- \
                    --tty 24 80 --masked /root/.ssh --bound 2049 12 /work --writable /work";
    assert_eq!(words.join(" "), expected);
    assert!(Plan::default().encode().is_empty());
}

#[test]
fn what_would_be_written_otherwise_is_refused() {
    let cases: &[(&[&str], PlanError)] = &[
        (&["--nonsense"], PlanError::Unknown("--nonsense".into())),
        (&["cwd"], PlanError::Unknown("cwd".into())),
        (&["--cwd"], PlanError::Lacking("--cwd")),
        (&["--tty", "24"], PlanError::Lacking("--tty")),
        (&["--rule", "0x1", "/"], PlanError::Misplaced("--rule")),
        (&["--cwd", "/", "--cwd", "/"], PlanError::Misplaced("--cwd")),
        (&["--control", "3", "--control", "4"], PlanError::Misplaced("--control")),
        (&["--await-word", "--await-word"], PlanError::Misplaced("--await-word")),
        (&["--control", "2"], PlanError::Malformed { option: "--control", value: "2".into() }),
        (&["--control", "03"], PlanError::Malformed { option: "--control", value: "03".into() }),
        (&["--control", "+3"], PlanError::Malformed { option: "--control", value: "+3".into() }),
        (&["--role", "init"], PlanError::Malformed { option: "--role", value: "init".into() }),
        (&["--stdio-access", "0xA"], PlanError::Malformed { option: "--stdio-access", value: "0xA".into() }),
        (
            &["--stdio-access", "0x+1"],
            PlanError::Malformed { option: "--stdio-access", value: "0x+1".into() },
        ),
        (&["--stdio-access", "0x"], PlanError::Malformed { option: "--stdio-access", value: "0x".into() }),
        (&["--seccomp", "AA"], PlanError::Malformed { option: "--seccomp", value: "AA".into() }),
        (&["--tty", "65536", "1"], PlanError::Malformed { option: "--tty", value: "65536".into() }),
        (&["--rlimit", "memory", "1"], PlanError::Malformed { option: "--rlimit", value: "memory".into() }),
    ];
    for (words, error) in cases {
        let words = words.iter().map(OsString::from);
        assert_eq!(Plan::decode(words).as_ref(), Err(error));
    }
}

#[test]
fn a_nul_in_a_word_does_not_become_two_words() {
    let plan = Plan { cwd: "/a\0--role\0supervisor".into(), ..Plan::default() };
    assert!(matches!(plan.encode_args(), Err(PlanError::Malformed { option: "--args", .. })));
    assert!(Plan::decode_args(b"--cwd\0/a").is_err());
}

#[test]
fn a_long_text_is_cut_and_a_long_length_is_refused() {
    let long = Record::Failed { step: Step::Verify, errno: 2, detail: vec![b'a'; MAX_TEXT + 1] };
    let Ok(Record::Failed { detail, .. }) = Record::decode(&long.encode()) else { panic!("not read back") };
    assert_eq!(detail.len(), MAX_TEXT);
    let mut message = Record::Leftover { pid: 1, command: vec![b'a'; MAX_COMMAND] }.encode();
    message[5..7].copy_from_slice(&257_u16.to_le_bytes());
    message.push(b'a');
    assert!(Record::decode(&message).is_err());
}
