//! A tool's request: decided about, sent, followed through redirects, answered; each step anew for each host.

mod redirect;
mod request;

use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use confine_core::egress::frame::PART;
use confine_core::egress::tool::{self, Code, Head, Source, ToolError};
use http_body::Body as _;
use hyper::body::Incoming;
use hyper::header::{HOST, HeaderMap, HeaderValue};
use hyper::{Method, Response};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::mpsc;

use crate::host::CallHost;
use crate::http::{self, Outgoing, Part};
use crate::line::Line;
use crate::reach::Want;
use redirect::Next;
use request::{Request, Scheme};

/// How far one request has come.
enum Step {
    Answered,
    Redirected(Box<Request>),
}

/// What one request over one connection needs.
struct Hop<'a> {
    host: &'a CallHost,
    request: &'a Request,
    line: &'a Line,
}

/// Makes a request for a tool.
///
/// # Errors
/// As [`EgressHost::fetch`](tool::EgressHost::fetch).
pub(crate) async fn fetch(
    host: &CallHost,
    written: &tool::Request,
    mut upload: Option<&mut (dyn Source + '_)>,
    response: &mut (dyn tool::Response + '_),
) -> Result<(), ToolError> {
    let mut request = Request::parse(written, upload.is_some()).map_err(bad_input)?;
    for _ in 0..=redirect::MOST {
        match hop(host, &request, upload.take(), response).await? {
            Step::Answered => return Ok(()),
            Step::Redirected(next) => request = *next,
        }
    }
    Err(failed(format!("it redirects more than {} times", redirect::MOST)))
}

async fn hop(
    host: &CallHost,
    request: &Request,
    upload: Option<&mut (dyn Source + '_)>,
    response: &mut (dyn tool::Response + '_),
) -> Result<Step, ToolError> {
    let target = &request.target;
    let mut line = Line::new(host, Want::Fetch(request.method), &target.endpoint);
    let result = async {
        let dialled = host.open(Want::Fetch(request.method), &target.endpoint, &mut line).await?;
        let is_local = dialled.address.ip().is_loopback();
        let is_private = target.scheme == Scheme::Https || is_local;
        let mut headers = request.headers.clone();
        put_in(host, request, &mut headers, is_private)?;
        let hop = Hop { host, request, line: &line };
        match target.scheme {
            Scheme::Http => hop.talk(dialled.stream, headers, upload, response).await,
            Scheme::Https => {
                let stream = host.tls().connect(&target.endpoint.host, dialled.stream).await;
                let stream =
                    stream.map_err(|error| failed(format!("TLS with `{}`: {error}", target.endpoint)))?;
                hop.talk(stream, headers, upload, response).await
            }
        }
    };
    let result = result.await;
    line.end(result.as_ref().err());
    result
}

/// Puts in what the manifest declares for this host, in the place of whatever the tool has put there.
fn put_in(
    host: &CallHost,
    request: &Request,
    headers: &mut HeaderMap,
    is_private: bool,
) -> Result<(), ToolError> {
    for credential in host.manifest().credentials_for(&request.target.endpoint) {
        let Some(secret) = host.secret(&credential.name) else { continue };
        if !is_private {
            let text = format!("`{}` is sent by https only", credential.name);
            return Err(ToolError::new(Code::Denied, text));
        }
        let mut value = credential.placement.prefix().as_bytes().to_vec();
        value.extend_from_slice(secret.expose());
        let mut value = HeaderValue::from_bytes(&value)
            .map_err(|_| failed(format!("`{}` holds what no header may", credential.name)))?;
        value.set_sensitive(true);
        let name = hyper::header::HeaderName::from_bytes(credential.placement.header().as_bytes());
        headers.insert(name.map_err(|error| failed(error.to_string()))?, value);
    }
    Ok(())
}

impl Hop<'_> {
    async fn talk<S>(
        &self,
        stream: S,
        headers: HeaderMap,
        upload: Option<&mut (dyn Source + '_)>,
        response: &mut (dyn tool::Response + '_),
    ) -> Result<Step, ToolError>
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let has_body = upload.is_some();
        let (parts, body) = match has_body {
            true => mpsc::channel(1),
            false => {
                let request = self.message(headers, Outgoing::none())?;
                return self.answer(stream, request, has_body, response).await;
            }
        };
        let request = self.message(headers, Outgoing::from(body))?;
        let answer = self.answer(stream, request, has_body, response);
        match upload {
            Some(source) => beside(answer, send(source, parts, &self.line.sent)).await,
            None => answer.await,
        }
    }

    fn message(&self, headers: HeaderMap, body: Outgoing) -> Result<hyper::Request<Outgoing>, ToolError> {
        let target = &self.request.target;
        let method = Method::from_bytes(self.request.method.name().as_bytes());
        let mut message = hyper::Request::new(body);
        *message.method_mut() = method.map_err(|error| failed(error.to_string()))?;
        *message.uri_mut() = target.path().map_err(bad_input)?;
        *message.headers_mut() = headers;
        message.headers_mut().insert(HOST, target.host().map_err(bad_input)?);
        Ok(message)
    }

    async fn answer<S>(
        &self,
        stream: S,
        message: hyper::Request<Outgoing>,
        has_body: bool,
        response: &mut (dyn tool::Response + '_),
    ) -> Result<Step, ToolError>
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let mut exchange = http::exchange(stream, message).await.map_err(|error| self.lost(&error))?;
        let answer = &mut exchange.response;
        self.line.status.store(u64::from(answer.status().as_u16()), Ordering::Relaxed);
        match redirect::next(self.request, has_body, answer.status(), answer.headers()) {
            Ok(Next::Follow(next)) => return Ok(Step::Redirected(next)),
            Ok(Next::Answer) => {}
            Err(error) => return Err(failed(error.to_string())),
        }
        response.head(&self.head(answer)).await.map_err(|_| stopped())?;
        self.body(answer.body_mut(), response).await?;
        Ok(Step::Answered)
    }

    fn head(&self, answer: &mut Response<Incoming>) -> Head {
        request::drop_hop_by_hop(answer.headers_mut());
        let redaction = self.host.redaction();
        let shown = |value: &HeaderValue| redaction.text(&String::from_utf8_lossy(value.as_bytes()));
        let fields = answer.headers().iter();
        let headers = fields.map(|(name, value)| (name.as_str().to_owned(), shown(value))).collect();
        Head { status: answer.status().as_u16(), headers }
    }

    /// Looked through whatever was sent with the request: a server may hand on, by a redirect, what another got.
    async fn body(
        &self,
        body: &mut Incoming,
        response: &mut (dyn tool::Response + '_),
    ) -> Result<(), ToolError> {
        let mut redactor = self.host.redaction().stream();
        let mut clean = Vec::new();
        loop {
            let frame = std::future::poll_fn(|context| Pin::new(&mut *body).poll_frame(context)).await;
            let Some(frame) = frame else { break };
            let Ok(data) = frame.map_err(|error| self.lost(&error))?.into_data() else { continue };
            self.line.received.fetch_add(length(&data), Ordering::Relaxed);
            redactor.push(&data, &mut clean);
            parts(&clean, response).await?;
            clean.clear();
        }
        redactor.finish(&mut clean);
        parts(&clean, response).await
    }

    /// With every cause: hyper's own text is short.
    fn lost(&self, error: &hyper::Error) -> ToolError {
        let mut text = format!("`{}`: {error}", self.request.target.endpoint);
        let mut cause = std::error::Error::source(error);
        while let Some(inner) = cause {
            text.push_str(&format!(": {inner}"));
            cause = inner.source();
        }
        failed(text)
    }
}

async fn parts(data: &[u8], response: &mut (dyn tool::Response + '_)) -> Result<(), ToolError> {
    for part in data.chunks(PART) {
        response.body(part).await.map_err(|_| stopped())?;
    }
    Ok(())
}

/// Sends the body of a request. Where the source ends before its end, so does the request.
async fn send(source: &mut (dyn Source + '_), parts: mpsc::Sender<Part>, sent: &AtomicU64) {
    let mut buffer = vec![0; PART];
    while let Ok(count) = source.read(&mut buffer).await {
        let part = match buffer.get(..count) {
            Some([]) | None => Part::End,
            Some(bytes) => Part::Bytes(Bytes::copy_from_slice(bytes)),
        };
        let is_end = matches!(part, Part::End);
        if parts.send(part).await.is_err() || is_end {
            return;
        }
        sent.fetch_add(u64::try_from(count).unwrap_or(0), Ordering::Relaxed);
    }
}

/// Runs `side` as long as `main` does.
async fn beside<T>(main: impl Future<Output = T>, side: impl Future<Output = ()>) -> T {
    let (mut main, mut side) = (pin!(main), pin!(side));
    tokio::select! {
        answer = &mut main => return answer,
        () = &mut side => {}
    }
    main.await
}

fn length(data: &Bytes) -> u64 {
    u64::try_from(data.len()).unwrap_or(u64::MAX)
}

fn bad_input(error: impl std::fmt::Display) -> ToolError {
    ToolError::new(Code::BadInput, error.to_string())
}

fn failed(text: impl Into<String>) -> ToolError {
    ToolError::new(Code::Failed, text)
}

fn stopped() -> ToolError {
    ToolError::new(Code::Cancelled, "the answer was not wanted any more")
}
