use proptest::prelude::*;

use super::*;

fn rule(id: &str, argv: Vec<Vec<u8>>) -> Rule {
    let argv = argv.into_iter().map(Text::from).collect();
    let (id, cwd) = (RuleId::new(id).unwrap(), AbsPath::new("/home/u/a \"b\"").unwrap());
    Rule { id, argv, cwd, rest: Digest::of(b"rest") }
}

fn words() -> impl Strategy<Value = Vec<Vec<u8>>> {
    let odd = "[a'\"\\\\\n\t#=\\]\\[ \u{0}é\u{202e}]{0,8}".prop_map(String::into_bytes);
    prop::collection::vec(prop_oneof![odd, prop::collection::vec(any::<u8>(), 0..8)], 1..5)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn every_rule_comes_back_and_a_file_keeps_every_byte(all in prop::collection::vec(words(), 1..5)) {
        let rules: Vec<Rule> = all.into_iter().enumerate().map(|(at, argv)| rule(&format!("r{at}"), argv)).collect();
        let mut text = "# mine\nversion  =  1 # \"kept\"".to_owned();
        for rule in &rules {
            let more = Memory::with(&text, rule).unwrap();
            prop_assert!(more.starts_with(&text));
            text = more;
        }
        let known = Memory::parse(&text).unwrap();
        for rule in &rules {
            prop_assert!(known.rules().iter().any(|one| one.is_same(rule)));
            prop_assert_eq!(&Memory::with(&text, rule).unwrap(), &text, "a rule that is there is not added");
        }
    }

    #[test]
    fn no_text_panics(text in "\\PC*|version = 1\n(\\[\\[rule\\]\\]\n|id = \"[a-z]?\"\n|argv = \\[\"a\"\\]\n|cwd = \"/\"\n|x = 1\n|\\[\\[|')*") {
        if let Ok(memory) = Memory::parse(&text) {
            prop_assert!(Memory::with(&text, &rule("other", vec![b"a".to_vec()])).is_ok() || memory.rules().len() > 1);
        }
    }
}

#[test]
fn what_is_wrong_is_named_with_its_line_and_never_written_over() {
    let one = Memory::with("", &rule("r", vec![b"ls".to_vec()])).unwrap();
    assert_eq!(
        Memory::with(&one, &rule("r", vec![b"rm".to_vec()])),
        Err(MemoryError::Twice(RuleId::new("r").unwrap()))
    );
    let cases = [
        ("version = 2\n", 1),
        ("version = 1\nwhat = 1\n", 2),
        (&*format!("{one}decision = 'allow'\n"), 8),
        (&*one.replace("sha256:", "md5:"), 7),
        (&*one.replace("\"r\"", "\"../r\""), 4),
        ("version = 1\n[[rule]]\nid = 'r'\n", 2),
    ];
    for (text, line) in cases {
        let error = Memory::parse(text).unwrap_err();
        assert!(matches!(error, MemoryError::Malformed { line: at, .. } if at == line), "{text}: {error}");
        assert!(Memory::with(text, &rule("s", vec![b"ls".to_vec()])).is_err());
    }
    assert_eq!(Memory::parse(&" ".repeat(LONGEST + 1)), Err(MemoryError::TooLong));
    assert!(Memory::parse("").is_err(), "an empty file may be half of one");
}
