//! What a call answers with.

use std::io;
use std::marker::PhantomData;

use crate::table::{Bytes, Sink};

/// Where the reply is written to, in parts of any length.
#[derive(Debug)]
pub struct Reply<'call> {
    sink: Sink,
    call: PhantomData<&'call ()>,
}

impl Reply<'_> {
    /// # Safety
    /// `sink` is one of the host's, and is not used once the call it was passed to has returned.
    pub(super) unsafe fn new(sink: Sink) -> Self {
        Self { sink, call: PhantomData }
    }
}

/// An error of the kind `WriteZero` says that the host takes no more.
impl io::Write for Reply<'_> {
    fn write(&mut self, part: &[u8]) -> io::Result<usize> {
        let stopped = || io::Error::new(io::ErrorKind::WriteZero, "the host takes no more of the reply");
        let write = self.sink.write.ok_or_else(stopped)?;
        // SAFETY: the sink is the host's and in use (`Reply::new`); it copies what it needs of the part.
        let answer = unsafe { write(self.sink.ctx, Bytes::of(part)) };
        if answer == 0 { Ok(part.len()) } else { Err(stopped()) }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
