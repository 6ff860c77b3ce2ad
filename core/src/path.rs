//! Absolute, clean paths: what a backend may see.

use std::cmp::Ordering;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::hash::{Hash, Hasher};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Component, Path, PathBuf};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::Text;

/// An absolute path without `.`, `..`, doubled or trailing slashes, or NUL. It says nothing about links: whoever
/// needs a canonical path resolves it first.
#[derive(Clone, Debug)]
pub struct AbsPath(PathBuf);

/// Why a path is not an [`AbsPath`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PathError {
    /// It does not begin with `/`.
    #[error("`{0}` is not an absolute path")]
    Relative(Text),
    /// It holds a `..`, whose meaning depends on links.
    #[error("`{0}` holds `..`")]
    Parent(Text),
    /// It holds a NUL byte, which no system call takes.
    #[error("`{0}` holds a NUL byte")]
    Nul(Text),
}

impl AbsPath {
    /// `/`.
    pub fn root() -> Self {
        Self(PathBuf::from("/"))
    }

    /// Cleans `path` (drops `.`, doubled and trailing slashes).
    ///
    /// # Errors
    /// When the path is relative, holds `..` or a NUL byte.
    pub fn new(path: impl AsRef<Path>) -> Result<Self, PathError> {
        let path = path.as_ref();
        if is_clean(path.as_os_str().as_bytes()) {
            return Ok(Self(path.to_owned()));
        }
        let text = || Text::from(path.as_os_str());
        if path.as_os_str().as_bytes().contains(&0) {
            return Err(PathError::Nul(text()));
        }
        if !path.is_absolute() {
            return Err(PathError::Relative(text()));
        }
        if path.components().any(|c| c == Component::ParentDir) {
            return Err(PathError::Parent(text()));
        }
        Ok(Self(path.components().collect()))
    }

    /// `self/name`, cleaned; an absolute `name` replaces the whole, as in [`Path::join`].
    ///
    /// # Errors
    /// As [`AbsPath::new`].
    pub fn join(&self, name: impl AsRef<Path>) -> Result<Self, PathError> {
        let (own, name) = (self.bytes(), name.as_ref());
        if name.is_absolute() {
            return Self::new(name);
        }
        let mut joined = OsString::with_capacity(own.len() + 1 + name.as_os_str().len());
        joined.push(self.0.as_os_str());
        if own != b"/" {
            joined.push("/");
        }
        joined.push(name.as_os_str());
        if is_clean(joined.as_bytes()) { Ok(Self(joined.into())) } else { Self::new(Path::new(&joined)) }
    }

    /// The standard library's view.
    pub fn as_path(&self) -> &Path {
        &self.0
    }

    /// Whether `self` is `ancestor` or lies below it, by whole components.
    pub fn is_within(&self, ancestor: &AbsPath) -> bool {
        let rest = self.bytes().strip_prefix(ancestor.bytes());
        rest.is_some_and(|rest| matches!(rest.first(), None | Some(b'/')) || ancestor.bytes() == b"/")
    }

    /// The directory that holds it; `None` for `/`.
    pub fn parent(&self) -> Option<AbsPath> {
        let bytes = self.bytes();
        let above = bytes.iter().rposition(|byte| *byte == b'/').filter(|_| bytes.len() > 1)?;
        let above = bytes.get(..above.max(1)).unwrap_or_default();
        Some(Self(OsStr::from_bytes(above).into()))
    }

    /// Itself, its parent, and so on up to `/`.
    pub fn ancestors(&self) -> impl Iterator<Item = AbsPath> + '_ {
        self.0.ancestors().map(|p| Self(p.to_owned()))
    }

    /// Number of components below `/`; 0 for `/`.
    pub fn depth(&self) -> usize {
        self.0.components().count().saturating_sub(1)
    }

    fn bytes(&self) -> &[u8] {
        self.0.as_os_str().as_bytes()
    }

    /// As an owned operating-system string, for an argv.
    pub fn to_os_string(&self) -> OsString {
        self.0.as_os_str().to_owned()
    }
}

/// Whether there is nothing to clean and nothing to refuse, as is the rule: one look at the bytes.
fn is_clean(path: &[u8]) -> bool {
    let Some(names) = path.strip_prefix(b"/") else { return false };
    names.is_empty()
        || names
            .split(|byte| *byte == b'/')
            .all(|name| !matches!(name, b"" | b"." | b"..") && !name.contains(&0))
}

// A clean path is its bytes, so neither comparison takes it apart as `Path` must. They agree with those of `Path`.

impl PartialEq for AbsPath {
    fn eq(&self, other: &Self) -> bool {
        self.bytes() == other.bytes()
    }
}

impl Eq for AbsPath {}

impl PartialOrd for AbsPath {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for AbsPath {
    fn cmp(&self, other: &Self) -> Ordering {
        // Component by component: what ends a name comes before what goes on with it.
        let rank = |byte: &u8| if *byte == b'/' { 0 } else { *byte };
        let (one, two) = (self.bytes(), other.bytes());
        let differs = one.iter().zip(two).find(|(one, two)| one != two);
        differs.map_or(one.len().cmp(&two.len()), |(one, two)| rank(one).cmp(&rank(two)))
    }
}

impl Hash for AbsPath {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.hash(state);
    }
}

impl AsRef<Path> for AbsPath {
    fn as_ref(&self) -> &Path {
        &self.0
    }
}

/// So that a map by [`AbsPath`] is searched without making one: both compare by component.
impl std::borrow::Borrow<Path> for AbsPath {
    fn borrow(&self) -> &Path {
        &self.0
    }
}

impl fmt::Display for AbsPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Text::from(self.0.as_os_str()).fmt(f)
    }
}

impl Serialize for AbsPath {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Text::from(self.0.as_os_str()).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for AbsPath {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Text::deserialize(deserializer)?;
        Self::new(OsString::from_vec(text.into_os_string().into_vec())).map_err(serde::de::Error::custom)
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for AbsPath {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "AbsPath".into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let mut schema = Text::json_schema(generator);
        let meaning = "An absolute path without `.`, `..` or NUL: a string where it is UTF-8, else an object with its base64.";
        schema.insert("description".to_owned(), meaning.into());
        schema
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn dots_and_slashes_are_cleaned() {
        assert_eq!(AbsPath::new("//a/./b//").unwrap().as_path(), Path::new("/a/b"));
        assert_eq!(AbsPath::new("/").unwrap(), AbsPath::root());
    }

    #[test]
    fn relative_parent_and_nul_are_refused_by_name() {
        assert!(matches!(AbsPath::new("a"), Err(PathError::Relative(_))));
        assert!(matches!(AbsPath::new("/a/../b"), Err(PathError::Parent(_))));
        assert!(matches!(AbsPath::new("/a\0b"), Err(PathError::Nul(_))));
    }

    #[test]
    fn containment_is_by_component() {
        let ws = AbsPath::new("/ws").unwrap();
        assert!(AbsPath::new("/ws/a").unwrap().is_within(&ws));
        assert!(!AbsPath::new("/ws2").unwrap().is_within(&ws));
    }

    proptest! {
        #[test]
        fn parsing_never_panics_and_is_idempotent(bytes: Vec<u8>) {
            if let Ok(path) = AbsPath::new(Path::new(&OsString::from_vec(bytes))) {
                prop_assert_eq!(AbsPath::new(&path).unwrap(), path);
            }
        }

        #[test]
        fn order_equality_and_containment_are_those_of_the_standard_library(
            one in "/[a!./\u{7f}-]{0,6}", two in "/[a!./\u{7f}-]{0,6}",
        ) {
            if let (Ok(one), Ok(two)) = (AbsPath::new(&one), AbsPath::new(&two)) {
                prop_assert_eq!(one.cmp(&two), one.as_path().cmp(two.as_path()));
                prop_assert_eq!(one == two, one.as_path() == two.as_path());
                prop_assert_eq!(one.is_within(&two), one.as_path().starts_with(&two));
            }
        }

        #[test]
        fn what_is_above_and_below_is_that_of_the_standard_library(one in "/[a./]{0,6}", name in "[a.\0/]{0,5}") {
            if let Ok(one) = AbsPath::new(&one) {
                prop_assert_eq!(one.parent().map(|above| above.0), one.as_path().parent().map(Path::to_owned));
                prop_assert_eq!(one.join(&name), AbsPath::new(one.as_path().join(&name)));
            }
        }
    }
}
