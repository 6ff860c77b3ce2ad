//! The few lines of an output that are worth a closer look, in one pass, whatever its size.

use std::collections::VecDeque;
use std::ops::Range;

use aho_corasick::{AhoCorasick, Input};

/// So many lines of the beginning are looked at, and as many of the end: why a program failed stands near its end.
const EACH: usize = 512;
/// So much of a line before the words that make it worth a look.
const BEFORE: usize = 1024;
/// And so much behind.
const BEHIND: usize = 512;

/// So much of the output around a line may tell what the line leaves out.
const AROUND: usize = 1024;

/// The lines of `output` that hold one of `words`, in order. A carriage return ends a line too: progress is drawn with it.
pub(super) fn telling(words: &AhoCorasick, output: &[u8]) -> Vec<Range<usize>> {
    let mut head = Vec::new();
    let mut tail = VecDeque::new();
    let mut at = 0;
    while let Some(found) = words.find(Input::new(output).range(at..)) {
        let line = around(output, at, found.range());
        at = line.end.max(found.end());
        if head.len() < EACH {
            head.push(line);
            continue;
        }
        if tail.len() == EACH {
            tail.pop_front();
        }
        tail.push_back(line);
    }
    head.into_iter().chain(tail).collect()
}

/// The line around `found`, not before `from`, within the bounds.
fn around(output: &[u8], from: usize, found: Range<usize>) -> Range<usize> {
    let ends = |byte: &u8| matches!(byte, b'\n' | b'\r');
    let first = found.start.saturating_sub(BEFORE).max(from);
    let last = found.end.saturating_add(BEHIND).min(output.len());
    let before = output.get(first..found.start).unwrap_or_default();
    let behind = output.get(found.end..last).unwrap_or_default();
    let start = before.iter().rposition(ends).map_or(first, |position| first + position + 1);
    let end = behind.iter().position(ends).map_or(last, |position| found.end + position);
    start..end
}

/// The lines around `line`.
pub(super) fn near(output: &[u8], line: &Range<usize>) -> Vec<u8> {
    let first = line.start.saturating_sub(AROUND);
    let last = line.end.saturating_add(AROUND).min(output.len());
    plain(output.get(first..last).unwrap_or_default())
}

/// Without the colours of a terminal (CSI … m and the like).
pub(super) fn plain(line: &[u8]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(line.len());
    let mut rest = line;
    while let Some((byte, after)) = rest.split_first() {
        rest = after;
        match after.strip_prefix(b"[").filter(|_| *byte == 0x1b) {
            Some(sequence) => rest = behind_sequence(sequence),
            None => plain.push(*byte),
        }
    }
    plain
}

fn behind_sequence(sequence: &[u8]) -> &[u8] {
    let end = sequence.iter().position(|byte| (0x40..=0x7e).contains(byte));
    end.and_then(|end| sequence.get(end + 1..)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn words() -> AhoCorasick {
        AhoCorasick::new(["denied", "EROFS"]).unwrap()
    }

    fn found(output: &[u8]) -> Vec<&[u8]> {
        telling(&words(), output).into_iter().map(|line| &output[line]).collect()
    }

    #[test]
    fn a_line_is_found_whole_and_once() {
        let output = b"one\ndenied and denied\r\nthree\rEROFS";
        assert_eq!(found(output), [&b"denied and denied"[..], b"EROFS"]);
    }

    #[test]
    fn the_beginning_and_the_end_of_many_lines_are_kept() {
        let output: String = (0..5000).map(|number| format!("{number} denied\n")).collect();
        let lines = found(output.as_bytes());
        assert_eq!(lines.len(), 2 * EACH);
        assert_eq!(lines.first().unwrap(), b"0 denied");
        assert_eq!(lines.last().unwrap(), b"4999 denied");
    }

    #[test]
    fn colours_go() {
        assert_eq!(plain(b"\x1b[1;31merror\x1b[0m: x\x1b["), b"error: x");
    }

    proptest! {
        #[test]
        fn lines_are_bounded_and_no_bytes_panic(parts in proptest::collection::vec("denied|\n|\r|[a-z]{0,900}", 0..12)) {
            let output = parts.concat();
            for line in found(output.as_bytes()) {
                prop_assert!(line.len() <= BEFORE + BEHIND + 6);
                let _ = plain(line);
            }
        }
    }
}
