//! What is typed at a question: one short line, which only the Enter key gives.

use std::time::Duration;

/// How long after an escape sequence input does not count: a program may have made the terminal answer something.
const QUIET: Duration = Duration::from_millis(150);
/// No answer is longer.
const LONGEST: usize = 32;

const END_OF_TEXT: u8 = 3;
/// Ctrl-D, and what a terminal that hands over lines makes of it.
pub(super) const END_OF_FILE: u8 = 4;
const BACKSPACE: u8 = 8;
const ERASE_LINE: u8 = 21;
const ESCAPE: u8 = 27;
const QUIT: u8 = 28;
const DELETE: u8 = 127;

/// What came of some keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Entered {
    /// Nothing yet.
    Nothing,
    /// A line, perhaps an empty one.
    Line(String),
    /// Ctrl-C, Ctrl-\ or Ctrl-D.
    Cancel,
}

/// A line that is being typed.
#[derive(Clone, Debug, Default)]
pub(super) struct Line {
    typed: String,
    quiet_until: Option<Duration>,
}

impl Line {
    /// What stands there: printable ASCII.
    pub(super) fn typed(&self) -> &str {
        &self.typed
    }

    /// Takes keys that were read together at `now`, up to the first that decides something.
    pub(super) fn take(&mut self, keys: &[u8], now: Duration) -> Entered {
        if keys.contains(&ESCAPE) || self.quiet_until.is_some_and(|until| now < until) {
            // What a terminal sends by itself comes in one piece, and begins with an escape.
            self.typed.clear();
            self.quiet_until = Some(now + QUIET);
            return if keys.contains(&END_OF_TEXT) { Entered::Cancel } else { Entered::Nothing };
        }
        for key in keys {
            match *key {
                END_OF_TEXT | END_OF_FILE | QUIT => return Entered::Cancel,
                b'\r' | b'\n' => return Entered::Line(std::mem::take(&mut self.typed)),
                BACKSPACE | DELETE => drop(self.typed.pop()),
                ERASE_LINE => self.typed.clear(),
                key if (key.is_ascii_graphic() || key == b' ') && self.typed.len() < LONGEST => {
                    self.typed.push(char::from(key));
                }
                _ => {}
            }
        }
        Entered::Nothing
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const START: Duration = Duration::ZERO;

    fn line(text: &str) -> Entered {
        Entered::Line(text.to_owned())
    }

    #[test]
    fn only_enter_gives_a_line_and_it_can_be_corrected() {
        let mut typed = Line::default();
        assert_eq!(typed.take(b"y", START), Entered::Nothing);
        assert_eq!(typed.typed(), "y");
        assert_eq!(typed.take(b"\x7fnx\x08\r", START), line("n"));
        assert_eq!(typed.take(b"\n", START), line(""));
        assert_eq!(typed.take(b"abc\x15y\n", START), line("y"));
    }

    #[test]
    fn control_c_d_and_backslash_cancel() {
        for key in [b"y\x03".as_slice(), b"\x04", b"\x1c"] {
            assert_eq!(Line::default().take(key, START), Entered::Cancel);
        }
    }

    #[test]
    fn what_a_terminal_answers_by_itself_is_no_answer() {
        let mut typed = Line::default();
        typed.take(b"ye", START);
        assert_eq!(typed.take(b"\x1b]ly\r\x1b\\", START), Entered::Nothing);
        assert_eq!(typed.take(b"y\r", START + Duration::from_millis(100)), Entered::Nothing);
        assert_eq!(typed.typed(), "");
        let later = START + Duration::from_secs(1);
        assert_eq!(typed.take(b"y\r", later), line("y"), "a person's key counts again");
        typed.take(b"\x1b[A", later);
        assert_eq!(typed.take(b"\x03", later), Entered::Cancel, "Ctrl-C always does");
    }

    proptest! {
        #[test]
        fn what_is_typed_is_short_and_printable(keys: Vec<u8>, ms in 0..400_u64) {
            let mut typed = Line::default();
            for chunk in keys.chunks(3) {
                if let Entered::Line(line) = typed.take(chunk, Duration::from_millis(ms)) {
                    prop_assert!(line.len() <= LONGEST);
                }
                prop_assert!(typed.typed().bytes().all(|byte| byte.is_ascii_graphic() || byte == b' '));
            }
        }
    }
}
