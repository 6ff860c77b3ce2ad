//! Output in chunks that cut no character, so that a program's UTF-8 text reaches the client as text.

/// What was cut off the end of the last chunk: the beginning of a character, at most 3 bytes.
#[derive(Debug, Default)]
pub(super) struct Joint(Vec<u8>);

impl Joint {
    /// The chunk with what was kept before it, without a character that has only begun.
    pub(super) fn join(&mut self, chunk: Vec<u8>) -> Vec<u8> {
        let mut whole = std::mem::take(&mut self.0);
        if whole.is_empty() {
            whole = chunk
        } else {
            whole.extend(chunk)
        }
        let end = complete(&whole);
        self.0 = whole.split_off(end);
        whole
    }

    /// What is left, once nothing follows.
    pub(super) fn rest(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.0)
    }
}

/// The length without a character that has only begun.
fn complete(bytes: &[u8]) -> usize {
    let near_end = bytes.len().saturating_sub(3);
    let Some(offset) = bytes.iter().skip(near_end).rposition(|byte| byte & 0xc0 == 0xc0) else {
        return bytes.len();
    };
    let start = near_end + offset;
    match bytes.get(start..).map(std::str::from_utf8) {
        // `None`: more bytes could make it whole.
        Some(Err(error)) if error.error_len().is_none() => start,
        _ => bytes.len(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn joined(bytes: &[u8], size: usize) -> Vec<Vec<u8>> {
        let mut joint = Joint::default();
        let mut chunks: Vec<_> = bytes.chunks(size).map(|chunk| joint.join(chunk.to_vec())).collect();
        chunks.push(joint.rest());
        chunks
    }

    proptest! {
        #[test]
        fn nothing_is_lost(bytes: Vec<u8>, size in 1_usize..9) {
            prop_assert_eq!(joined(&bytes, size).concat(), bytes);
        }

        #[test]
        fn text_stays_text(text: String, size in 1_usize..9) {
            for chunk in joined(text.as_bytes(), size) {
                prop_assert!(std::str::from_utf8(&chunk).is_ok());
            }
        }
    }
}
