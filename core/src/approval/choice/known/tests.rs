use proptest::prelude::*;

use super::*;
use crate::AbsPath;
use crate::approval::{Digest, Memory, Rule, RuleId};

/// What runs something else, in ways that a table of what is known does not have to name.
const RUNNERS: &[&str] = &[
    "env -i",
    "env --",
    "env tool",
    "timeout 5",
    "nice",
    "xargs",
    "python3 -m",
    "python3 -c",
    "node -r",
    "npx",
    "uvx",
    "uv run",
    "pipx run",
    "docker run image",
    "poetry run",
    "bundle exec",
    "mise x --",
    "direnv exec .",
    "gdb --args",
    "valgrind",
    "git -c a=b",
    "npm exec",
    "cargo run --",
    "go run",
    "sudo",
    "busybox",
    "ld.so",
    "sh -c",
    "sh",
    ".",
    "eval",
    "time",
    "!",
    "{",
    "if",
];

fn texts(words: &[&str]) -> Vec<Text> {
    words.iter().map(|word| Text::from(*word)).collect()
}

fn is_known_in_all_forms(words: &[&str]) -> [bool; 3] {
    let text = words.join(" ");
    let env: Vec<&str> = ["env", "A="].into_iter().chain(words.iter().copied()).collect();
    [is_known(&texts(words)), is_known(&texts(&env)), is_known(&texts(&["sh", "-c", &text]))]
}

/// Every command of the tables, with words that may follow it.
fn known() -> impl Strategy<Value = Vec<&'static str>> {
    let rows = KNOWN.to_vec();
    let row = prop::sample::select(rows).prop_flat_map(|(begin, options)| {
        let more = prop::sample::select([options, &["name", "a/b", "./x"]].concat());
        prop::collection::vec(more, 0..4).prop_map(move |more| [begin.to_vec(), more].concat())
    });
    let shown = prop::sample::select(SHOWN.to_vec()).prop_map(|program| vec![program, "-x", "y"]);
    prop_oneof![4 => row, 1 => shown]
}

proptest! {
    #[test]
    fn what_is_known_is_so_in_each_of_its_forms(words in known()) {
        prop_assert_eq!(is_known_in_all_forms(&words), [true; 3]);
    }

    #[test]
    fn nothing_that_runs_it_is_known_for_what_it_runs(runner in prop::sample::select(RUNNERS.to_vec()), words in known()) {
        let words: Vec<&str> = runner.split(' ').chain(words).collect();
        // `uv run` has one row, and one word after `-c` is the plain text of a shell.
        prop_assume!(words.get(..3) != Some(&["uv", "run", "pytest"]));
        prop_assume!(!(words.len() == 3 && SHELLS.contains(&words[0])));
        prop_assert_eq!(is_known_in_all_forms(&words), [false; 3], "{:?}", words);
    }

    #[test]
    fn no_program_outside_the_tables_is_known(program in "[a-z./+-]{1,8}", words in known()) {
        let begins = |(begin, _): &(&[&str], &[&str])| begin.first() == Some(&program.as_str());
        prop_assume!(!SHOWN.contains(&program.as_str()) && !KNOWN.iter().any(begins));
        for rest in [&words[..], &words[1..], &[]] {
            let words: Vec<&str> = [program.as_str()].into_iter().chain(rest.iter().copied()).collect();
            prop_assert_eq!(is_known_in_all_forms(&words), [false; 3], "{:?}", words);
        }
    }

    #[test]
    fn an_option_that_no_row_names_is_not_known(
        words in known(), option in "--?[a-zA-Z]{1,10}(=[a-z/]{0,4})?|[a-z]{1,4}=[a-z/]{0,4}|@[a-z]{1,3}", at in 0_usize..4,
    ) {
        prop_assume!(!SHOWN.contains(&words[0]));
        prop_assume!(!KNOWN.iter().any(|(_, options)| options.contains(&option.as_str())));
        let mut more = words.clone();
        // After the words that name the command, which are three at most; `pytest` alone is one.
        more.insert((at + 3).min(words.len()), &option);
        prop_assert_eq!(is_known_in_all_forms(&more), [false; 3], "{:?}", more);
    }

    #[test]
    fn a_text_with_more_than_words_is_not_known(words in known(), odd in "[;&|<>()$`*?\\[{}~!#\\\\\n\t]", at in any::<prop::sample::Index>()) {
        let mut text = words.join(" ");
        text.insert_str(at.index(text.len() + 1), &odd);
        prop_assert!(!is_known(&texts(&["sh", "-c", &text])), "{}", text);
    }

    #[test]
    fn a_quote_that_hides_an_assignment_is_seen(name in "[A-Z]{1,4}", words in known(), quote in "[\"']") {
        let hidden = format!("{quote}{name}={quote} {}", words.join(" "));
        prop_assert!(!is_known(&texts(&["sh", "-c", &hidden])), "{}", hidden);
    }

    #[test]
    fn no_words_panic(words in prop::collection::vec(".{0,8}|sh|-c|env|A=|pytest|\"", 0..5)) {
        is_known(&words.iter().map(|word| Text::from(word.as_str())).collect::<Vec<_>>());
    }

    #[test]
    fn the_rule_of_a_known_command_is_small_and_comes_back(words in known()) {
        let (id, cwd) = (RuleId::new("r").unwrap(), AbsPath::new("/ws").unwrap());
        let rule = Rule { id, argv: texts(&words), cwd, rest: Digest::of(b"") };
        let text = Memory::with("", &rule).unwrap();
        prop_assert!(text.len() < 1_024, "{}", text);
        let memory = Memory::parse(&text).unwrap();
        prop_assert_eq!(memory.rules(), [rule]);
    }
}
