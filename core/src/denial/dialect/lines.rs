//! The few lines of an output that are worth a closer look, in one pass, whatever its size.

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

/// The end of an output is looked at from behind, so much at once: where every line tells something, most are not read.
const BLOCK: usize = 64 * 1024;

/// The first and last lines of `output` that hold one of `words`, in order. A carriage return ends a line too: progress is
/// drawn with it.
pub(super) fn telling(words: &AhoCorasick, output: &[u8]) -> Vec<Range<usize>> {
    ends(words, output, EACH, BLOCK)
}

fn ends(words: &AhoCorasick, output: &[u8], each: usize, block: usize) -> Vec<Range<usize>> {
    let mut head: Vec<_> = forward(words, output, 0..output.len()).take(each).collect();
    let read = head.last().map_or(0, |line| line.end);
    let mut tail = Vec::new();
    let mut end = if head.len() < each { read } else { output.len() };
    while end > read && tail.len() < each {
        let start = beginning(output, end.saturating_sub(block).max(read), end);
        let mut lines: Vec<_> = forward(words, output, start..end).collect();
        lines.append(&mut tail);
        tail = lines;
        end = start;
    }
    head.extend(tail.drain(tail.len().saturating_sub(each)..));
    head
}

/// The lines of a part, each from where the one before ended.
fn forward(words: &AhoCorasick, output: &[u8], part: Range<usize>) -> impl Iterator<Item = Range<usize>> {
    let mut at = part.start;
    std::iter::from_fn(move || {
        let found = words.find(Input::new(output).range(at..part.end))?;
        let line = around(output, at, found.range());
        at = line.end.max(found.end()).min(part.end);
        Some(line)
    })
}

/// The first beginning of a line in a part that ends with `end`; the part's own where there is none.
fn beginning(output: &[u8], start: usize, end: usize) -> usize {
    let inner = output.get(start..end.saturating_sub(1)).unwrap_or_default();
    inner.iter().position(|byte| ends_line(*byte)).map_or(start, |position| start + position + 1)
}

fn ends_line(byte: u8) -> bool {
    matches!(byte, b'\n' | b'\r')
}

/// The line around `found`, not before `from`, within the bounds.
fn around(output: &[u8], from: usize, found: Range<usize>) -> Range<usize> {
    let ends = |byte: &u8| ends_line(*byte);
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
        fn both_ends_are_those_of_all_lines(parts in proptest::collection::vec("(a?denied|EROFS|[a-z]{0,9})[\n\r]", 0..60)) {
            let output = parts.concat();
            let all: Vec<_> = forward(&words(), output.as_bytes(), 0..output.len()).collect();
            let (head, rest) = all.split_at(all.len().min(3));
            let expected = [head, &rest[rest.len().saturating_sub(3)..]].concat();
            prop_assert_eq!(ends(&words(), output.as_bytes(), 3, 16), expected);
        }

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
