//! One request and its response over one connection, streamed both ways. No connection is used twice, so what a server
//! says beyond its response reaches nobody.

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::mpsc;
use tokio::task::AbortHandle;

/// The longest head of a response, in bytes.
const HEAD: usize = 64 * 1024;
/// The most header fields in it.
const FIELDS: usize = 128;

/// The body of a request, part by part. Where the sender goes away without [`Part::End`], the request is broken off, so
/// that no server takes half a body for all of it.
#[derive(Debug)]
pub(crate) struct Outgoing {
    parts: Option<mpsc::Receiver<Part>>,
}

/// A part of a body.
#[derive(Debug)]
pub(crate) enum Part {
    /// Bytes.
    Bytes(Bytes),
    /// There is no more.
    End,
}

/// The rest of a body will not come.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("the rest of the request's body did not come")]
pub(crate) struct Broken;

impl Outgoing {
    /// No body.
    pub(crate) fn none() -> Self {
        Self { parts: None }
    }

    /// What is sent.
    pub(crate) fn from(parts: mpsc::Receiver<Part>) -> Self {
        Self { parts: Some(parts) }
    }
}

impl Body for Outgoing {
    type Data = Bytes;
    type Error = Broken;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Broken>>> {
        let Some(parts) = &mut self.parts else { return Poll::Ready(None) };
        let next = match std::task::ready!(parts.poll_recv(context)) {
            Some(Part::Bytes(bytes)) => return Poll::Ready(Some(Ok(Frame::data(bytes)))),
            Some(Part::End) => None,
            None => Some(Err(Broken)),
        };
        self.parts = None;
        Poll::Ready(next)
    }

    fn is_end_stream(&self) -> bool {
        self.parts.is_none()
    }

    fn size_hint(&self) -> SizeHint {
        if self.parts.is_none() { SizeHint::with_exact(0) } else { SizeHint::default() }
    }
}

/// A response whose body is still to come. Dropping it closes the connection.
#[derive(Debug)]
pub(crate) struct Exchange {
    pub(crate) response: Response<Incoming>,
    #[expect(dead_code, reason = "held, so that it closes with the exchange")]
    connection: Connection,
}

/// The task that moves the bytes.
#[derive(Debug)]
struct Connection(AbortHandle);

impl Drop for Connection {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Sends a request whose target is a path, and waits for the head of the response.
///
/// # Errors
/// Whatever the peer does wrong, and where it goes away.
pub(crate) async fn exchange<S>(stream: S, request: Request<Outgoing>) -> hyper::Result<Exchange>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let mut builder = http1::Builder::new();
    builder.max_buf_size(HEAD).max_headers(FIELDS);
    let (mut sender, connection) = builder.handshake(TokioIo::new(stream)).await?;
    let connection = Connection(tokio::spawn(connection).abort_handle());
    let response = sender.send_request(request).await?;
    Ok(Exchange { response, connection })
}
