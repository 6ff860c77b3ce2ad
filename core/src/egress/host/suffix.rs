//! Names below which everybody may have names: the public suffix list (publicsuffix.org), as its crate was made.

use psl::Type;

use super::HostName;

/// Names of one label below which nobody can register: RFC 6761, 6762, 7686, 8375, 9476 and ICANN's `internal`, and those
/// that are used like these.
const NOBODYS: &[&str] = &[
    "alt",
    "corp",
    "example",
    "home",
    "internal",
    "intranet",
    "invalid",
    "lan",
    "local",
    "localhost",
    "onion",
    "private",
    "test",
];

/// Whether a registry gives away names below it: `com`, `co.uk`. Nothing else has it for its own.
pub(super) fn is_registry(name: &HostName) -> bool {
    whole(name).is_some_and(|kind| kind == Some(Type::Icann))
}

/// Whether anybody can have a name below it: what a registry or a hoster gives away, and every name of one label that is
/// not known to be nobody's, since a list is always older than the newest of them.
pub(super) fn is_anybodys(name: &HostName) -> bool {
    whole(name).is_some_and(|kind| kind.is_some() || !NOBODYS.contains(&name.as_str()))
}

/// What kind of a suffix the whole name is; `None` where it is none.
fn whole(name: &HostName) -> Option<Option<Type>> {
    let suffix = psl::suffix(name.as_str().as_bytes())?;
    (suffix.as_bytes() == name.as_str().as_bytes()).then(|| suffix.typ())
}
