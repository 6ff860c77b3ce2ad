//! The body of a request, from the lane to whoever sends it.

use bytes::{Buf as _, Bytes};
use confine_core::egress::frame::Upload;
use confine_core::egress::tool::{Source, Stopped, async_trait};
use tokio::sync::mpsc;

/// Takes the parts from the lane.
pub(super) struct Parts {
    /// `None` once the body is over.
    open: Option<mpsc::Sender<Option<Bytes>>>,
}

/// Gives them away.
pub(super) struct Uploading {
    parts: mpsc::Receiver<Option<Bytes>>,
    held: Bytes,
    is_over: bool,
}

/// One part at a time: what is not taken waits in the lane.
pub(super) fn channel(upload: Upload) -> (Parts, Uploading) {
    let (sender, parts) = mpsc::channel(1);
    let open = (upload == Upload::Follows).then_some(sender);
    (Parts { open }, Uploading { parts, held: Bytes::new(), is_over: false })
}

impl Parts {
    /// Whether more is to come.
    pub(super) fn is_open(&self) -> bool {
        self.open.is_some()
    }

    /// Where nobody wants it any more it is dropped.
    pub(super) async fn send(&mut self, part: Bytes) {
        if let Some(open) = &self.open {
            let _ = open.send(Some(part)).await;
        }
    }

    /// The rest will not come: what is sent is broken off.
    pub(super) fn abandon(&mut self) {
        self.open = None;
    }

    pub(super) async fn end(&mut self) {
        if let Some(open) = self.open.take() {
            let _ = open.send(None).await;
        }
    }
}

#[async_trait]
impl Source for Uploading {
    async fn read(&mut self, buffer: &mut [u8]) -> Result<usize, Stopped> {
        while self.held.is_empty() {
            if self.is_over {
                return Ok(0);
            }
            match self.parts.recv().await {
                Some(Some(part)) => self.held = part,
                Some(None) => self.is_over = true,
                None => return Err(Stopped),
            }
        }
        let count = self.held.len().min(buffer.len());
        let (part, _) = buffer.split_at_mut_checked(count).ok_or(Stopped)?;
        self.held.copy_to_slice(part);
        Ok(count)
    }
}
