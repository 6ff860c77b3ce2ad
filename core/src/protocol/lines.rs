//! Lines out of chunks, none longer than a bound.

/// A line is longer than the bound. What follows it cannot be told apart any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a line is too long")]
pub struct TooLong;

/// Puts lines together. Holds at most the bound, and the chunk at hand.
#[derive(Debug)]
pub struct Lines {
    bound: usize,
    begun: Vec<u8>,
}

impl Lines {
    /// Of at most `bound` bytes each, without the newline.
    pub fn new(bound: usize) -> Self {
        Self { bound, begun: Vec::new() }
    }

    /// Takes a chunk in, and gives each line that it ends to `each`, without its newline. Empty lines are no lines.
    ///
    /// # Errors
    /// A line that is too long, after those before it.
    pub fn push(&mut self, chunk: &[u8], mut each: impl FnMut(&[u8])) -> Result<(), TooLong> {
        let mut parts = chunk.split(|byte| *byte == b'\n').peekable();
        while let Some(part) = parts.next() {
            if self.begun.len().saturating_add(part.len()) > self.bound {
                return Err(TooLong);
            }
            let is_last = parts.peek().is_none();
            if is_last {
                self.begun.extend_from_slice(part);
            } else if self.begun.is_empty() {
                give(part, &mut each);
            } else {
                self.begun.extend_from_slice(part);
                give(&self.begun, &mut each);
                self.begun.clear();
            }
        }
        Ok(())
    }

    /// How many bytes of a line that has not ended are held.
    pub fn begun(&self) -> usize {
        self.begun.len()
    }
}

fn give(line: &[u8], each: &mut impl FnMut(&[u8])) {
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    if !line.is_empty() {
        each(line);
    }
}
