//! Presets: those that there always are, and the user's own in `presets.toml`, beside `policy.toml`.

use confine_core::AbsPath;
use confine_core::approval::{Preset, PresetName};
use serde::Deserialize;

use super::kept::{self, KeptError};
use crate::places::{PlaceError, Places};

/// The file's name.
const FILE: &str = "presets.toml";
/// Its version.
const VERSION: u32 = 1;

/// All presets, those that there always are first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Presets(Vec<Preset>);

/// Why there are no presets.
#[derive(Debug, thiserror::Error)]
pub enum PresetError {
    /// The directory.
    #[error("cannot read the presets: {0}")]
    Place(#[from] PlaceError),
    /// The file.
    #[error("cannot read the presets: {0}")]
    File(#[from] KeptError),
    /// It is none of presets.
    #[error("cannot read the presets: `{path}`: {reason}")]
    Malformed {
        /// Which.
        path: AbsPath,
        /// Why.
        reason: String,
    },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    version: u32,
    #[serde(default, rename = "preset")]
    presets: Vec<Preset>,
}

impl PresetError {
    /// The next step for the user.
    pub fn help(&self) -> String {
        match self {
            Self::Place(place) => place.help(),
            Self::File(file) => file.help(),
            Self::Malformed { path, .. } => format!(
                "mend `{path}`: `version = 1`, then `[[preset]]` with `name`, `mode` (`read-only`, `workspace-write`, `danger-full-access`) and `approval` (`ask`, `never`)"
            ),
        }
    }
}

impl Presets {
    /// As the user has them.
    ///
    /// # Errors
    /// A file that is not the user's alone, or no file of presets.
    pub fn read(places: &Places) -> Result<Self, PresetError> {
        let Some(place) = places.open_configuration()? else { return Ok(Self::built_in()) };
        let Some(text) = kept::read(&place, FILE)? else { return Ok(Self::built_in()) };
        let malformed = |reason| PresetError::Malformed { path: kept::path(&place, FILE), reason };
        Self::parse(&text).map_err(malformed)
    }

    fn built_in() -> Self {
        Self(Preset::built_in())
    }

    fn parse(text: &str) -> Result<Self, String> {
        let written: Written = toml::from_str(text).map_err(|error| error.message().to_owned())?;
        if written.version != VERSION {
            return Err(format!(
                "version {} is unknown: this confine reads version {VERSION}",
                written.version
            ));
        }
        let mut presets = Self::built_in();
        for preset in written.presets {
            if presets.by_name(&preset.name).is_some() {
                return Err(format!("the preset `{}` is there already", preset.name));
            }
            presets.0.push(preset);
        }
        Ok(presets)
    }

    /// All of them.
    pub fn all(&self) -> &[Preset] {
        &self.0
    }

    /// One of them.
    pub fn by_name(&self, name: &PresetName) -> Option<&Preset> {
        self.0.iter().find(|preset| preset.name == *name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_users_presets_follow_the_built_in_ones() {
        let text =
            "version = 1\n[[preset]]\nname = \"careful\"\nmode = \"read-only\"\napproval = \"never\"\n";
        let presets = Presets::parse(text).unwrap();
        let names: Vec<_> = presets.all().iter().map(|preset| preset.name.as_str()).collect();
        assert_eq!(names, ["plan", "workspace-write", "danger-full-access", "careful"]);
    }

    #[test]
    fn another_version_a_name_twice_and_unknown_keys_are_refused() {
        let preset =
            |name: &str| format!("[[preset]]\nname = \"{name}\"\nmode = \"read-only\"\napproval = \"ask\"\n");
        for text in [
            "version = 2\n".to_owned(),
            format!("version = 1\n{}", preset("plan")),
            format!("version = 1\n{}{}", preset("a"), preset("a")),
            format!("version = 1\n{}more = 1\n", preset("a")),
            format!("version = 1\n{}", preset("a b")),
            String::new(),
        ] {
            assert!(Presets::parse(&text).is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn no_text_panics(text: String) {
            let _ = Presets::parse(&text);
        }
    }
}
