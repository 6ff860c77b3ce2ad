//! Replaces secrets in a stream, in linear time, whatever the chunks are.

use std::collections::VecDeque;
use std::sync::Arc;

use aho_corasick::automaton::{Automaton as _, StateID};
use aho_corasick::nfa::contiguous::NFA;
use aho_corasick::{Anchored, BuildError};

use super::{Secret, forms};

/// What is looked for, compiled once and shared by every stream. It holds copies of the secrets' forms.
#[derive(Clone)]
pub struct Redaction {
    shared: Option<Arc<Compiled>>,
}

/// Why nothing can be looked for: so nothing may be written either.
#[derive(Debug, thiserror::Error)]
pub enum RedactionError {
    /// The secrets are too long together.
    #[error("the secrets are too many or too long: {0}")]
    TooLarge(#[source] Box<BuildError>),
}

struct Compiled {
    automaton: NFA,
    start: StateID,
    /// By state.
    nodes: Vec<Node>,
    /// By secret: what stands in its place.
    names: Vec<Vec<u8>>,
}

#[derive(Clone, Copy, Default)]
struct Node {
    /// How many of the last bytes may be the beginning of a form.
    depth: usize,
    /// How many of them are a whole form; the longest.
    longest: usize,
    /// Whose.
    secret: usize,
}

/// One stream. What it holds back is the beginning of something that may become a secret.
pub struct Redactor {
    redaction: Redaction,
    state: Option<StateID>,
    held: VecDeque<Held>,
    /// Counts the replacements that were begun.
    begun: u64,
    /// The last that was written.
    written: u64,
}

#[derive(Clone, Copy)]
struct Held {
    byte: u8,
    /// The replacement that it is part of, and whose; 0 for none.
    part_of: u64,
    secret: usize,
}

impl Redaction {
    /// Of secrets and their names; each stands in the text as `[redacted NAME]`.
    ///
    /// # Errors
    /// Where they are too long to be looked for.
    pub fn new<'s>(secrets: impl IntoIterator<Item = (&'s str, &'s Secret)>) -> Result<Self, RedactionError> {
        let mut names = Vec::new();
        let mut patterns = Vec::new();
        for (secret, (name, value)) in secrets.into_iter().enumerate() {
            names.push(format!("[redacted {name}]").into_bytes());
            patterns.extend(forms::of(value.expose()).into_iter().map(|form| (secret, form)));
        }
        if patterns.is_empty() {
            return Ok(Self { shared: None });
        }
        let compiled =
            Compiled::new(&patterns, names).map_err(|error| RedactionError::TooLarge(Box::new(error)))?;
        Ok(Self { shared: Some(Arc::new(compiled)) })
    }

    /// A stream.
    pub fn stream(&self) -> Redactor {
        let state = self.shared.as_ref().map(|shared| shared.start);
        Redactor { redaction: self.clone(), state, held: VecDeque::new(), begun: 0, written: 0 }
    }

    /// A whole text.
    pub fn whole(&self, bytes: &[u8]) -> Vec<u8> {
        let mut stream = self.stream();
        let mut out = Vec::with_capacity(bytes.len());
        stream.push(bytes, &mut out);
        stream.finish(&mut out);
        out
    }

    /// A whole text that stays one.
    pub fn text(&self, text: &str) -> String {
        String::from_utf8_lossy(&self.whole(text.as_bytes())).into_owned()
    }
}

impl Compiled {
    fn new(patterns: &[(usize, Vec<u8>)], names: Vec<Vec<u8>>) -> Result<Self, BuildError> {
        let automaton = NFA::new(patterns.iter().map(|(_, form)| form))?;
        #[expect(clippy::expect_used, reason = "it was built to be searched from anywhere")]
        let start = automaton.start_state(Anchored::No).expect("invariant: there is a start");
        let mut compiled = Self { automaton, start, nodes: Vec::new(), names };
        for (secret, form) in patterns {
            compiled.walk(*secret, form);
        }
        compiled.complete(patterns);
        Ok(compiled)
    }

    /// Every prefix of a form has a state of its own, and is all that may be pending there.
    fn walk(&mut self, secret: usize, form: &[u8]) {
        let mut state = self.start;
        for (depth, byte) in (1..).zip(form) {
            state = self.automaton.next_state(Anchored::No, state, *byte);
            let Node { longest, secret: known, .. } = self.node(state);
            self.set(state, Node { depth, longest, secret: known });
        }
        let node = self.node(state);
        self.set(state, Node { longest: form.len(), secret, ..node });
    }

    /// The end of one form inside another.
    fn complete(&mut self, patterns: &[(usize, Vec<u8>)]) {
        for (_, form) in patterns {
            let mut state = self.start;
            for byte in form {
                state = self.automaton.next_state(Anchored::No, state, *byte);
                if !self.automaton.is_match(state) {
                    continue;
                }
                let matches =
                    (0..self.automaton.match_len(state)).map(|at| self.automaton.match_pattern(state, at));
                let known = matches.filter_map(|pattern| patterns.get(pattern.as_usize()));
                if let Some((secret, longest)) = known.max_by_key(|(_, form)| form.len()) {
                    let node = self.node(state);
                    self.set(state, Node { longest: longest.len(), secret: *secret, ..node });
                }
            }
        }
    }

    fn node(&self, state: StateID) -> Node {
        self.nodes.get(state.as_usize()).copied().unwrap_or_default()
    }

    fn set(&mut self, state: StateID, node: Node) {
        let index = state.as_usize();
        if self.nodes.len() <= index {
            self.nodes.resize(index + 1, Node::default());
        }
        if let Some(slot) = self.nodes.get_mut(index) {
            *slot = node;
        }
    }
}

impl Redactor {
    /// Takes the next chunk, and appends to `out` all that is decided.
    pub fn push(&mut self, chunk: &[u8], out: &mut Vec<u8>) {
        let (Some(compiled), Some(mut state)) = (self.redaction.shared.clone(), self.state) else {
            out.extend_from_slice(chunk);
            return;
        };
        for &byte in chunk {
            state = compiled.automaton.next_state(Anchored::No, state, byte);
            let node = compiled.node(state);
            if node.depth == 0 && self.held.is_empty() {
                out.push(byte);
                continue;
            }
            self.held.push_back(Held { byte, part_of: 0, secret: 0 });
            self.mark(node);
            self.release(node.depth, &compiled, out);
        }
        self.state = Some(state);
    }

    /// At the end of the stream: appends what was held back. The redactor is as new afterwards.
    pub fn finish(&mut self, out: &mut Vec<u8>) {
        if let Some(compiled) = self.redaction.shared.clone() {
            self.release(0, &compiled, out);
            self.state = Some(compiled.start);
        }
    }

    /// How many bytes are held back.
    pub fn held(&self) -> usize {
        self.held.len()
    }

    /// The last bytes are a whole form: they become one replacement, or part of one that they overlap.
    fn mark(&mut self, node: Node) {
        if node.longest == 0 {
            return;
        }
        let first = self.held.len().saturating_sub(node.longest);
        let overlapped = self.held.iter().skip(first).find(|held| held.part_of > 0).copied();
        let (part_of, secret) =
            overlapped.map_or((self.begun + 1, node.secret), |held| (held.part_of, held.secret));
        self.begun = self.begun.max(part_of);
        for held in self.held.iter_mut().skip(first) {
            (held.part_of, held.secret) = (part_of, secret);
        }
    }

    /// Writes all but the last `keep` bytes.
    fn release(&mut self, keep: usize, compiled: &Compiled, out: &mut Vec<u8>) {
        while self.held.len() > keep {
            let Some(Held { byte, part_of, secret }) = self.held.pop_front() else { return };
            if part_of == 0 {
                out.push(byte);
            } else if part_of > self.written {
                self.written = part_of;
                out.extend_from_slice(compiled.names.get(secret).map_or(&[], Vec::as_slice));
            }
        }
    }
}
