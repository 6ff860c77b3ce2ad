//! Which request follows a redirect: the rules of the fetch standard ("HTTP-redirect fetch"), and nothing that is a secret
//! goes to another server.

use hyper::header::{
    AUTHORIZATION, CONTENT_ENCODING, CONTENT_LANGUAGE, CONTENT_LENGTH, CONTENT_LOCATION, CONTENT_TYPE,
    COOKIE, HeaderName, LOCATION,
};
use hyper::{HeaderMap, StatusCode};

use confine_core::egress::manifest::Method;

use super::request::{Request, RequestError};

/// The most redirects that are followed.
pub(crate) const MOST: usize = 10;
/// About a body that is not sent again.
const OF_THE_BODY: [HeaderName; 5] =
    [CONTENT_ENCODING, CONTENT_LANGUAGE, CONTENT_LENGTH, CONTENT_LOCATION, CONTENT_TYPE];
/// About who asks.
const OF_THE_USER: [HeaderName; 2] = [AUTHORIZATION, COOKIE];

/// What follows.
#[derive(Debug)]
pub(crate) enum Next {
    /// The response is the answer.
    Answer,
    /// Another request, without a body.
    Follow(Box<Request>),
}

/// Why a redirect is not followed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RedirectError {
    /// It leads to what is no target.
    #[error("it redirects to what is no target: {0}")]
    Target(#[from] RequestError),
    /// It wants the body again, which is gone.
    #[error("it redirects with {0}, which wants the body again")]
    Body(StatusCode),
}

/// What follows a response with `status` and `headers` to `request`, which had a body or not.
///
/// # Errors
/// A redirect that cannot be followed.
pub(crate) fn next(
    request: &Request,
    has_body: bool,
    status: StatusCode,
    headers: &HeaderMap,
) -> Result<Next, RedirectError> {
    let is_redirect = matches!(status.as_u16(), 301 | 302 | 303 | 307 | 308);
    let Some(location) = headers.get(LOCATION).filter(|_| is_redirect) else { return Ok(Next::Answer) };
    let location = std::str::from_utf8(location.as_bytes()).map_err(|_| RequestError::Endpoint)?;
    let target = request.target.join(location)?;
    let mut next = Request { target, ..request.clone() };
    if becomes_get(status, request.method) {
        next.method = Method::Get;
        remove(&mut next.headers, &OF_THE_BODY);
    } else if has_body {
        return Err(RedirectError::Body(status));
    }
    if !next.target.is_same_origin(&request.target) {
        remove(&mut next.headers, &OF_THE_USER);
    }
    Ok(Next::Follow(Box::new(next)))
}

fn becomes_get(status: StatusCode, method: Method) -> bool {
    match status.as_u16() {
        301 | 302 => method == Method::Post,
        303 => method != Method::Get && method != Method::Head,
        _ => false,
    }
}

fn remove(headers: &mut HeaderMap, names: &[HeaderName]) {
    for name in names {
        headers.remove(name);
    }
}
