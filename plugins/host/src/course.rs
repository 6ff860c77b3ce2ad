//! What an exchange reads from and writes to.

use std::ops::ControlFlow;

/// Whether to go on.
pub(crate) type Course = ControlFlow<()>;

/// Fills a part of a buffer, and says how much of it; 0 at the end, `None` where the rest cannot be had.
pub(crate) type Read<'a> = dyn FnMut(&mut [u8]) -> Option<usize> + 'a;

/// The plugin's side of a request.
pub(crate) struct Exchange<'a> {
    /// The request's body, where it has one.
    pub(crate) upload: Option<&'a mut Read<'a>>,
    /// Takes the head.
    pub(crate) head: &'a mut dyn FnMut(&[u8]) -> Course,
    /// Takes the next part of the body.
    pub(crate) body: &'a mut dyn FnMut(&[u8]) -> Course,
}
