//! A reply on its way to whoever called: no longer than the manifest says, and without secrets.

use confine_core::egress::frame::PART;
use confine_core::egress::tool::{Sink, Stopped, async_trait};
use confine_core::secret::Redactor;

/// The reply of one call.
pub(crate) struct Reply<'s> {
    sink: &'s mut dyn Sink,
    redactor: Redactor,
    limit: u64,
    /// How many bytes the tool has given.
    pub(crate) bytes: u64,
    clean: Vec<u8>,
}

impl<'s> Reply<'s> {
    pub(crate) fn new(sink: &'s mut dyn Sink, redactor: Redactor, limit: u64) -> Self {
        Self { sink, redactor, limit, bytes: 0, clean: Vec::new() }
    }

    /// Whether the tool has said more than it may.
    pub(crate) fn is_too_long(&self) -> bool {
        self.bytes > self.limit
    }

    /// Gives away what was held back.
    ///
    /// # Errors
    /// Where no more is taken.
    pub(crate) async fn finish(&mut self) -> Result<(), Stopped> {
        self.redactor.finish(&mut self.clean);
        self.flush().await
    }

    async fn flush(&mut self) -> Result<(), Stopped> {
        for part in self.clean.chunks(PART) {
            self.sink.write(part).await?;
        }
        self.clean.clear();
        Ok(())
    }
}

#[async_trait]
impl Sink for Reply<'_> {
    async fn write(&mut self, part: &[u8]) -> Result<(), Stopped> {
        self.bytes = self.bytes.saturating_add(u64::try_from(part.len()).unwrap_or(u64::MAX));
        if self.is_too_long() {
            return Err(Stopped);
        }
        self.redactor.push(part, &mut self.clean);
        self.flush().await
    }
}
