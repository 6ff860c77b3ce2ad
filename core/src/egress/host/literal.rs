//! Addresses in every spelling that something reads as one.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::HostError;
use crate::egress::address::unmapped;

/// What a text is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Literal {
    Address(IpAddr),
    /// Perhaps; it is no address.
    Name,
}

/// Signs that show that a text is more than a host.
const SIGNS: &[(&str, HostError)] = &[
    ("://", HostError::Scheme),
    ("@", HostError::Userinfo),
    ("/", HostError::Path),
    ("\\", HostError::Path),
    ("?", HostError::Path),
    ("#", HostError::Path),
];

/// Says what `text` is, without a port.
pub(super) fn read(text: &str) -> Result<Literal, HostError> {
    if text.is_empty() {
        return Err(HostError::Empty);
    }
    if let Some((_, error)) = SIGNS.iter().find(|(sign, _)| text.contains(sign)) {
        return Err(error.clone());
    }
    if text.contains([':', '[', ']']) {
        return bracketed(text).map(Literal::Address);
    }
    if text.contains('%') {
        return Err(HostError::Percent);
    }
    let labels = text.strip_suffix('.').unwrap_or(text);
    if !ends_in_number(labels) {
        return Ok(Literal::Name);
    }
    ipv4(labels).map(|address| Literal::Address(address.into())).ok_or(HostError::Number)
}

/// Host and port of an authority; the colons of an IPv6 address are in brackets.
pub(super) fn split_port(text: &str) -> Result<(&str, Option<&str>), HostError> {
    if text.contains("://") {
        return Err(HostError::Scheme);
    }
    if text.starts_with('[') {
        let (host, rest) = text.rsplit_once(']').ok_or(HostError::Bracketed)?;
        let port = match rest {
            "" => None,
            rest => Some(rest.strip_prefix(':').ok_or(HostError::Bracketed)?),
        };
        // The bracket is one byte, and belongs to the host.
        let host = text.get(..host.len().saturating_add(1)).unwrap_or(text);
        return Ok((host, port));
    }
    match text.split_once(':') {
        Some((_, port)) if port.contains(':') => Err(HostError::Bracketed),
        Some((host, port)) => Ok((host, Some(port))),
        None => Ok((text, None)),
    }
}

pub(super) fn port(text: &str) -> Result<u16, HostError> {
    let digits = !text.is_empty() && text.len() <= 5 && text.bytes().all(|byte| byte.is_ascii_digit());
    let port = text.parse().ok().filter(|port| digits && *port != 0);
    port.ok_or_else(|| HostError::Port(text.to_owned()))
}

/// With brackets around it or without.
fn bracketed(text: &str) -> Result<IpAddr, HostError> {
    let inner = match text.strip_prefix('[') {
        Some(rest) => rest.strip_suffix(']').ok_or(HostError::Bracketed)?,
        None => text,
    };
    let (address, zone) = match inner.split_once('%') {
        Some((address, zone)) => (address, Some(zone)),
        None => (inner, None),
    };
    if zone.is_some_and(|zone| !is_zone(zone)) {
        return Err(HostError::Bracketed);
    }
    let address: Ipv6Addr = address.parse().map_err(|_| HostError::Bracketed)?;
    Ok(unmapped(address.into()))
}

/// The name of an interface, or its number (RFC 4007, 11.2).
fn is_zone(zone: &str) -> bool {
    let known = |byte: u8| byte.is_ascii_alphanumeric() || b"._~-%".contains(&byte);
    !zone.is_empty() && zone.bytes().all(known)
}

/// Whether the WHATWG URL standard takes it for an IPv4 address ("ends in a number").
fn ends_in_number(labels: &str) -> bool {
    let last = labels.rsplit('.').next().unwrap_or(labels);
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    !last.is_empty() && (digits(last) || number(last).is_some())
}

/// One to four numbers, the last of which fills what is left.
fn ipv4(labels: &str) -> Option<Ipv4Addr> {
    let numbers: Vec<u64> = labels.splitn(5, '.').map(number).collect::<Option<_>>()?;
    let (last, first) = numbers.split_last()?;
    let bytes = u32::try_from(first.len()).ok().filter(|count| *count < 4)?;
    let fits = *last < 1_u64 << (8 * (4 - bytes));
    if !fits || first.iter().any(|number| *number > 255) {
        return None;
    }
    let high = first.iter().zip(0_u32..).fold(0, |sum, (number, place)| sum | number << (8 * (3 - place)));
    u32::try_from(high | last).ok().map(Ipv4Addr::from)
}

/// Decimal, octal after `0`, hexadecimal after `0x`.
fn number(text: &str) -> Option<u64> {
    let hexadecimal = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X"));
    let (digits, radix) = match (hexadecimal, text.strip_prefix('0')) {
        // The WHATWG standard reads no digits as 0.
        (Some(""), _) => return Some(0),
        (Some(digits), _) => (digits, 16),
        (None, Some(digits)) if !digits.is_empty() => (digits, 8),
        (None, _) => (text, 10),
    };
    if digits.starts_with(['+', '-']) {
        return None;
    }
    let significant = digits.trim_start_matches('0');
    if significant.is_empty() {
        return (!digits.is_empty()).then_some(0);
    }
    u64::from_str_radix(significant, radix).ok()
}
