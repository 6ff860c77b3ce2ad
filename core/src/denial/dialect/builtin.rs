//! The dialects of our own backends.

use std::sync::OnceLock;

use super::{Dialect, DialectId};

/// By name.
const TEXTS: &[(&str, &str)] = &[
    ("bwrap", include_str!("../../../dialects/bwrap.toml")),
    ("landlock", include_str!("../../../dialects/landlock.toml")),
    ("seatbelt", include_str!("../../../dialects/seatbelt.toml")),
    ("windows", include_str!("../../../dialects/windows.toml")),
];

/// Rows that several dialects include.
const SHARED: &[(&str, &str)] = &[("tools", include_str!("../../../dialects/tools.toml"))];

/// Every name, in the order of the list.
pub(super) fn names() -> impl Iterator<Item = DialectId> {
    TEXTS.iter().map(|(name, _)| DialectId::new(*name))
}

/// The text of the shared file of that name.
pub(super) fn shared(name: &str) -> Option<&'static str> {
    SHARED.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
}

/// The text of that name, and every shared one.
pub(super) fn written(id: &DialectId) -> Vec<&'static str> {
    let own = TEXTS.iter().find(|(name, _)| *name == id.as_str());
    let shared = SHARED.iter().filter(|_| own.is_some());
    own.into_iter().chain(shared).map(|(_, text)| *text).collect()
}

/// The dialect of that name, read once.
pub(super) fn dialect(id: &DialectId) -> Option<&'static Dialect> {
    static READ: [OnceLock<Option<Dialect>>; 4] = [const { OnceLock::new() }; 4];
    let position = TEXTS.iter().position(|(name, _)| *name == id.as_str())?;
    let (_, text) = TEXTS.get(position)?;
    READ.get(position)?.get_or_init(|| Dialect::parse(text).ok()).as_ref()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_builtin_parses() {
        for (name, text) in TEXTS.iter().chain(SHARED) {
            assert_eq!(
                Dialect::parse(text).map(|dialect| dialect.id().as_str().to_owned()),
                Ok((*name).to_owned())
            );
        }
        for id in names() {
            assert!(dialect(&id).is_some(), "{id}");
        }
    }
}
