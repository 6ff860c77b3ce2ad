//! Which words answer.

use confine_core::approval::{Answer, Choice};

/// A word that answers; also its first letter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Key(&'static str);

impl Key {
    /// As it is shown.
    pub(super) const fn name(self) -> &'static str {
        self.0
    }

    fn is(self, typed: &str) -> bool {
        let typed = typed.trim().to_ascii_lowercase();
        typed == self.0 || (typed.len() == 1 && self.0.starts_with(&typed))
    }
}

/// What shows a command that is not shown whole.
pub(super) const WHOLE: &str = "whole";

/// Whether a typed line is [`WHOLE`].
pub(super) fn asks_for_the_whole(typed: &str) -> bool {
    Key(WHOLE).is(typed)
}

/// The words for `choices`, each with its choice.
pub(super) fn of(choices: &[Choice]) -> Vec<(Key, &Choice)> {
    choices.iter().map(|choice| (key(choice), choice)).collect()
}

const fn key(choice: &Choice) -> Key {
    Key(match choice {
        Choice::AllowOnce => "yes",
        Choice::AllowForSession { .. } => "session",
        Choice::AllowAlways { .. } => "always",
        Choice::Reject => "no",
        Choice::Cancel => "cancel",
    })
}

/// The answer that a typed line gives: nothing typed is no. `None` where it is none of the choices.
pub(super) fn answer(choices: &[Choice], typed: &str) -> Option<Answer> {
    if typed.trim().is_empty() {
        return Some(no());
    }
    let (_, choice) = of(choices).into_iter().find(|(key, _)| key.is(typed))?;
    Some(match choice {
        Choice::AllowOnce => Answer::AllowOnce,
        Choice::AllowForSession { .. } => Answer::AllowForSession,
        Choice::AllowAlways { .. } => Answer::AllowAlways,
        Choice::Reject => no(),
        Choice::Cancel => Answer::Cancel,
    })
}

fn no() -> Answer {
    Answer::Reject { reason: "the person at the terminal said no".to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use confine_core::approval::Cover;
    use proptest::prelude::*;

    fn all() -> Vec<Choice> {
        let covers = || Cover::Exact;
        vec![
            Choice::AllowOnce,
            Choice::AllowForSession { covers: covers() },
            Choice::AllowAlways { covers: covers() },
            Choice::Reject,
            Choice::Cancel,
        ]
    }

    #[test]
    fn a_word_or_its_letter_answers_and_nothing_is_no() {
        let given = |typed: &str| answer(&all(), typed);
        assert_eq!(given("y"), Some(Answer::AllowOnce));
        assert_eq!(given(" YES "), Some(Answer::AllowOnce));
        assert_eq!(given("s"), Some(Answer::AllowForSession));
        assert_eq!(given("always"), Some(Answer::AllowAlways));
        assert_eq!(given("c"), Some(Answer::Cancel));
        for no in ["", "  ", "n", "no"] {
            assert!(matches!(given(no), Some(Answer::Reject { .. })), "{no:?}");
        }
    }

    #[test]
    fn what_is_not_offered_cannot_be_chosen() {
        let few = [Choice::AllowOnce, Choice::Reject];
        assert_eq!(answer(&few, "a"), None);
        assert_eq!(answer(&few, "s"), None);
        assert_eq!(answer(&few, "y"), Some(Answer::AllowOnce));
    }

    proptest! {
        #[test]
        fn nothing_else_allows(typed: String) {
            let allowed = matches!(answer(&[Choice::AllowOnce, Choice::Reject], &typed), Some(Answer::AllowOnce));
            let word = typed.trim().to_ascii_lowercase();
            prop_assert_eq!(allowed, word == "y" || word == "yes");
        }
    }
}
