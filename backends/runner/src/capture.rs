//! What is kept of a stream: its head and its tail, half the bound each.

use std::collections::VecDeque;

use confine_core::Text;
use confine_core::report::Stream;

/// Collects a stream. Takes memory only for what was written.
#[derive(Debug)]
pub(crate) struct Capture {
    bytes: u64,
    head_bound: usize,
    tail_bound: usize,
    head: Vec<u8>,
    tail: VecDeque<u8>,
}

impl Capture {
    /// Keeps at most `bound` bytes.
    pub(crate) fn new(bound: u64) -> Self {
        let bound = usize::try_from(bound).unwrap_or(usize::MAX);
        let head_bound = bound / 2;
        Self { bytes: 0, head_bound, tail_bound: bound - head_bound, head: Vec::new(), tail: VecDeque::new() }
    }

    /// Takes what was read.
    pub(crate) fn push(&mut self, chunk: &[u8]) {
        self.bytes += u64::try_from(chunk.len()).unwrap_or(u64::MAX);
        let room = self.head_bound.saturating_sub(self.head.len());
        let (head, rest) = chunk.split_at(room.min(chunk.len()));
        self.head.extend_from_slice(head);
        let (_, rest) = rest.split_at(rest.len().saturating_sub(self.tail_bound));
        let surplus = (self.tail.len() + rest.len()).saturating_sub(self.tail_bound);
        self.tail.drain(..surplus);
        self.tail.extend(rest);
    }

    /// The text: all of it, or head and tail with one line between them that says how many bytes are omitted. The cut
    /// never goes through a UTF-8 character.
    pub(crate) fn finish(self) -> Stream {
        let kept = self.head.len() + self.tail.len();
        let (mut text, tail) = (self.head, Vec::from(self.tail));
        if u64::try_from(kept).is_ok_and(|kept| kept == self.bytes) {
            text.extend(tail);
            return Stream { bytes: self.bytes, omitted: 0, text: Text::from(text) };
        }
        text.truncate(whole_characters(&text));
        let (_, tail) = tail.split_at(broken_start(&tail));
        let kept = u64::try_from(text.len() + tail.len()).unwrap_or(u64::MAX);
        let omitted = self.bytes.saturating_sub(kept);
        if text.last().is_some_and(|last| *last != b'\n') {
            text.push(b'\n');
        }
        text.extend(format!("[confine: {omitted} bytes omitted]\n").bytes());
        text.extend(tail);
        Stream { bytes: self.bytes, omitted, text: Text::from(text) }
    }
}

/// The length without a character that is cut off at the end.
fn whole_characters(bytes: &[u8]) -> usize {
    let near_end = bytes.len().saturating_sub(3);
    let Some(offset) = bytes.iter().skip(near_end).rposition(|byte| byte & 0xc0 == 0xc0) else {
        return bytes.len();
    };
    let start = near_end + offset;
    let (_, last) = bytes.split_at(start);
    match std::str::from_utf8(last) {
        // `None`: more bytes could have made it whole.
        Err(error) if error.error_len().is_none() => start,
        _ => bytes.len(),
    }
}

/// How many bytes at the start belong to a character that was cut.
fn broken_start(bytes: &[u8]) -> usize {
    bytes.iter().take(3).take_while(|byte| **byte & 0xc0 == 0x80).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::os::unix::ffi::OsStrExt;

    fn capture(bound: u64, chunks: &[&[u8]]) -> Stream {
        let mut capture = Capture::new(bound);
        chunks.iter().for_each(|chunk| capture.push(chunk));
        capture.finish()
    }

    fn bytes(stream: &Stream) -> Vec<u8> {
        stream.text.as_os_str().as_bytes().to_vec()
    }

    #[test]
    fn what_fits_is_kept_whole() {
        let stream = capture(8, &[b"abc", b"defgh"]);
        assert_eq!((stream.bytes, stream.omitted, bytes(&stream)), (8, 0, b"abcdefgh".to_vec()));
    }

    #[test]
    fn head_and_tail_stand_around_one_line() {
        let stream = capture(8, &[b"abcdefgh", b"ijklmnop"]);
        assert_eq!(bytes(&stream), b"abcd\n[confine: 8 bytes omitted]\nmnop");
        assert_eq!((stream.bytes, stream.omitted), (16, 8));
    }

    #[test]
    fn a_bound_of_nothing_keeps_nothing() {
        assert_eq!(bytes(&capture(0, &[b"abc"])), b"[confine: 3 bytes omitted]\n");
        assert_eq!(bytes(&capture(0, &[])), b"");
    }

    #[test]
    fn a_cut_character_is_omitted_whole() {
        let stream = capture(8, &["aaa€bbbb€cc".as_bytes()]);
        assert_eq!(bytes(&stream), "aaa\n[confine: 10 bytes omitted]\ncc".as_bytes());
        assert_eq!(stream.omitted + 5, stream.bytes);
    }

    proptest! {
        #[test]
        fn kept_and_omitted_add_up_in_any_chunks(
            data: Vec<u8>, bound in 0_u64..64, size in 1_usize..40,
        ) {
            let chunks: Vec<&[u8]> = data.chunks(size).collect();
            let stream = capture(bound, &chunks);
            let length = u64::try_from(data.len()).unwrap();
            prop_assert_eq!(stream.bytes, length);
            prop_assert_eq!(&stream, &capture(bound, &[&data]));
            if length <= bound {
                prop_assert_eq!(bytes(&stream), data);
            } else {
                prop_assert!(stream.bytes - stream.omitted <= bound);
                prop_assert!(stream.omitted <= stream.bytes - bound + 6);
                let line = format!("[confine: {} bytes omitted]\n", stream.omitted);
                let text = bytes(&stream);
                prop_assert!(text.windows(line.len()).any(|window| window == line.as_bytes()));
            }
        }

        #[test]
        fn text_stays_text(data: String, bound in 0_u64..64) {
            let stream = capture(bound, &[data.as_bytes()]);
            prop_assert!(stream.text.as_os_str().to_str().is_some());
        }
    }
}
