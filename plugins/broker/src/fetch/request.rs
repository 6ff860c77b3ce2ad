//! What a tool asks for, parsed and made unambiguous: what is decided about, dialled, sent and written down is one host.

use confine_core::egress::host::{Endpoint, Host, HostError};
use confine_core::egress::manifest::Method;
use confine_core::egress::tool;
use hyper::Uri;
use hyper::header::{
    CONNECTION, CONTENT_LENGTH, HOST, HeaderMap, HeaderName, HeaderValue, InvalidHeaderName,
    InvalidHeaderValue, TE, TRAILER, TRANSFER_ENCODING, UPGRADE,
};
use url::Url;

/// The longest URL, in bytes.
const LONGEST_URL: usize = 64 * 1024;
/// The most header fields, as of a response.
const MOST_FIELDS: usize = 128;
/// Header fields that are about one connection (RFC 9110, 7.6.1), beside those that `Connection` names.
const HOP_BY_HOP: [HeaderName; 5] = [CONNECTION, TE, TRAILER, TRANSFER_ENCODING, UPGRADE];
/// Likewise, by names that the registry of names does not have.
const HOP_BY_HOP_TOO: &[&str] =
    &["keep-alive", "proxy-connection", "proxy-authorization", "proxy-authenticate"];

/// A request that can be decided about and sent.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub(crate) method: Method,
    pub(crate) target: Target,
    /// Without `Host` and without what is about one connection.
    pub(crate) headers: HeaderMap,
}

/// Where to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Target {
    pub(crate) url: Url,
    pub(crate) endpoint: Endpoint,
    pub(crate) scheme: Scheme,
}

/// Whether a connection is protected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scheme {
    /// It is not.
    Http,
    /// By TLS.
    Https,
}

/// Why a request is not sent.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RequestError {
    /// A method that no tool may use.
    #[error("the method is none of DELETE, GET, HEAD, OPTIONS, PATCH, POST and PUT")]
    Method,
    /// A URL that is none.
    #[error("the url is none: {0}")]
    Url(#[from] url::ParseError),
    /// A URL that is too long.
    #[error("the url is longer than {LONGEST_URL} bytes")]
    Long,
    /// Another scheme.
    #[error("the url begins with neither `http:` nor `https:`")]
    Scheme,
    /// Something before the host, which looks like one.
    #[error("the url names a user")]
    Userinfo,
    /// A host that is none.
    #[error("the url's host is none: {0}")]
    Host(#[from] HostError),
    /// The URL has no host, or a port that is none.
    #[error("the url has no host, or a port that is none")]
    Endpoint,
    /// A name of a header field.
    #[error("a header field's name is none: {0}")]
    Name(#[from] InvalidHeaderName),
    /// A value of a header field.
    #[error("a header field's value is none: {0}")]
    Value(#[from] InvalidHeaderValue),
    /// Too many header fields.
    #[error("it has more than {MOST_FIELDS} header fields")]
    Fields,
    /// Two hosts in one request.
    #[error("the `Host` field does not say what the url says")]
    OtherHost,
    /// A field that must be there once only.
    #[error("the field `{0}` is there twice")]
    Twice(HeaderName),
    /// Two ways to tell where the body ends.
    #[error("it has both `Content-Length` and `Transfer-Encoding`")]
    TwoLengths,
    /// A length that is none.
    #[error("`Content-Length` is no number, or there is no body")]
    Length,
}

impl Request {
    /// # Errors
    /// Whatever could be read in two ways, and whatever is no request.
    pub(crate) fn parse(written: &tool::Request, has_body: bool) -> Result<Self, RequestError> {
        let method = Method::of(&written.method).ok_or(RequestError::Method)?;
        if written.url.len() > LONGEST_URL {
            return Err(RequestError::Long);
        }
        let target = Target::new(Url::parse(&written.url)?)?;
        let headers = fields(&written.headers)?;
        let headers = cleaned(headers, &target, has_body)?;
        Ok(Self { method, target, headers })
    }
}

fn fields(written: &[(String, String)]) -> Result<HeaderMap, RequestError> {
    if written.len() > MOST_FIELDS {
        return Err(RequestError::Fields);
    }
    let mut headers = HeaderMap::new();
    for (name, value) in written {
        headers.append(HeaderName::from_bytes(name.as_bytes())?, HeaderValue::from_str(value)?);
    }
    Ok(headers)
}

fn cleaned(mut headers: HeaderMap, target: &Target, has_body: bool) -> Result<HeaderMap, RequestError> {
    for name in [HOST, CONTENT_LENGTH] {
        if headers.get_all(&name).iter().count() > 1 {
            return Err(RequestError::Twice(name));
        }
    }
    if let Some(host) = headers.remove(HOST) {
        let said = Endpoint::from_wire(host.as_bytes(), Some(target.scheme.port()));
        if said.as_ref().ok() != Some(&target.endpoint) {
            return Err(RequestError::OtherHost);
        }
    }
    if headers.contains_key(CONTENT_LENGTH) && headers.contains_key(TRANSFER_ENCODING) {
        return Err(RequestError::TwoLengths);
    }
    if let Some(length) = headers.get(CONTENT_LENGTH) {
        let number = length.to_str().ok().filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()));
        let number: Option<u64> = number.and_then(|text| text.parse().ok());
        match number {
            Some(0) if !has_body => drop(headers.remove(CONTENT_LENGTH)),
            Some(_) if has_body => {}
            _ => return Err(RequestError::Length),
        }
    }
    drop_hop_by_hop(&mut headers);
    Ok(headers)
}

/// Removes what is about one connection.
pub(crate) fn drop_hop_by_hop(headers: &mut HeaderMap) {
    let named: Vec<HeaderName> = headers
        .get_all(CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .filter_map(|name| HeaderName::from_bytes(name.trim().as_bytes()).ok())
        // What tells where a body ends is not a connection's to name.
        .filter(|name| *name != CONTENT_LENGTH)
        .collect();
    for name in named.iter().chain(&HOP_BY_HOP) {
        headers.remove(name);
    }
    for name in HOP_BY_HOP_TOO {
        headers.remove(*name);
    }
}

impl Scheme {
    /// The port where a URL names none.
    pub(crate) const fn port(self) -> u16 {
        match self {
            Self::Http => 80,
            Self::Https => 443,
        }
    }
}

impl Target {
    /// # Errors
    /// A URL that leads nowhere, or that reads as if it led elsewhere.
    pub(crate) fn new(mut url: Url) -> Result<Self, RequestError> {
        let scheme = match url.scheme() {
            "http" => Scheme::Http,
            "https" => Scheme::Https,
            _ => return Err(RequestError::Scheme),
        };
        if !url.username().is_empty() || url.password().is_some() {
            return Err(RequestError::Userinfo);
        }
        let host = Host::parse(url.host_str().ok_or(RequestError::Endpoint)?)?;
        let port = url.port_or_known_default().filter(|port| *port != 0).ok_or(RequestError::Endpoint)?;
        // It never leaves the client.
        url.set_fragment(None);
        Ok(Self { url, endpoint: Endpoint { host, port }, scheme })
    }

    /// Where a redirect leads.
    ///
    /// # Errors
    /// As [`Target::new`].
    pub(crate) fn join(&self, location: &str) -> Result<Self, RequestError> {
        Self::new(self.url.join(location)?)
    }

    /// Whether both lead to one server, in one way.
    pub(crate) fn is_same_origin(&self, other: &Self) -> bool {
        self.endpoint == other.endpoint && self.scheme == other.scheme
    }

    /// What the server is asked for.
    ///
    /// # Errors
    /// A path that HTTP cannot carry.
    pub(crate) fn path(&self) -> Result<Uri, RequestError> {
        let path = self.url.path();
        let path = match self.url.query() {
            Some(query) => format!("{path}?{query}"),
            None => path.to_owned(),
        };
        path.parse().map_err(|_| RequestError::Endpoint)
    }

    /// The one `Host` field.
    ///
    /// # Errors
    /// None in practice: a host is ASCII.
    pub(crate) fn host(&self) -> Result<HeaderValue, RequestError> {
        let port = self.endpoint.port;
        let text = match &self.endpoint.host {
            _ if port != self.scheme.port() => self.endpoint.to_string(),
            Host::Address(std::net::IpAddr::V6(address)) => format!("[{address}]"),
            host => host.to_string(),
        };
        Ok(HeaderValue::from_str(&text)?)
    }
}
