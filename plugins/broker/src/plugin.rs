//! A plugin's file against what the user approved, before any code of it runs.

pub mod elf;
mod image;

use std::os::fd::OwnedFd;

use confine_core::AbsPath;
use confine_core::approval::Digest;
use confine_core::egress::Manifest;
use confine_core::egress::host::HostPattern;
use confine_core::egress::manifest::{Kind, ManifestError, ToolName};
use serde_json::Value;

use elf::{ElfError, Object};
use image::Image;

pub use image::{ImageError, LONGEST};

/// What the user approved of a plugin: its entry in `confine.lock`.
#[derive(Clone, Debug, PartialEq)]
pub struct Approved {
    /// By which name it is called.
    pub name: ToolName,
    /// The file.
    pub path: AbsPath,
    /// Of the file's content.
    pub sha256: Digest,
    /// Of the manifest in it.
    pub manifest: Digest,
    /// Hosts that are reached without asking, as far as the manifest declares them.
    pub hosts: Vec<HostPattern>,
    /// What it is opened with.
    pub config: Value,
}

/// A plugin that is what was approved.
#[derive(Debug)]
pub struct Plugin {
    /// What it says of itself.
    pub manifest: Manifest,
    /// Of its content.
    pub sha256: Digest,
    memory: OwnedFd,
}

/// Why a plugin is not loaded.
#[derive(Debug, thiserror::Error)]
pub enum PluginError {
    /// Its file.
    #[error("{0}")]
    Image(#[from] ImageError),
    /// What is in it.
    #[error("`{path}` is no plugin: {source}")]
    Elf {
        /// Which file.
        path: AbsPath,
        /// Why.
        #[source]
        source: ElfError,
    },
    /// Its manifest.
    #[error("the manifest of `{path}`: {source}")]
    Manifest {
        /// Which file.
        path: AbsPath,
        /// Why.
        #[source]
        source: Box<ManifestError>,
    },
    /// It declares only requests, and imports what makes connections or programs.
    #[error("`{path}` declares no connection of its own, and imports {}", .imports.join(", "))]
    Imports {
        /// Which file.
        path: AbsPath,
        /// What it imports.
        imports: Vec<&'static str>,
    },
    /// It was changed.
    #[error("`{path}` is not what was approved: its sha256 is {found}, and {approved} was approved")]
    Changed {
        /// Which file.
        path: AbsPath,
        /// In the lock.
        approved: Digest,
        /// In the file.
        found: Digest,
    },
    /// The lock is about another manifest.
    #[error("the manifest of `{path}` is not what was approved: {found}, and {approved} was approved")]
    OtherManifest {
        /// Which file.
        path: AbsPath,
        /// In the lock.
        approved: Digest,
        /// In the file.
        found: Digest,
    },
    /// It calls itself otherwise.
    #[error("`{path}` calls itself `{says}`, and was approved as `{approved}`")]
    OtherName {
        /// Which file.
        path: AbsPath,
        /// In the lock.
        approved: ToolName,
        /// In the manifest.
        says: ToolName,
    },
}

impl Plugin {
    /// Opens and reads a plugin's file, once. Runs nothing of it, and compares it with nothing.
    ///
    /// # Errors
    /// A file that is no plugin, or that would not be loaded for what it is.
    pub fn read(path: &AbsPath) -> Result<Self, PluginError> {
        let image = Image::of(path)?;
        let sha256 = Digest::of(&image.bytes);
        Self::of(path, image, sha256)
    }

    /// Opens and reads a plugin's file, once, and compares it with what was approved.
    ///
    /// # Errors
    /// As [`Plugin::read`], and whatever is not as it was approved; that first.
    pub fn verified(approved: &Approved) -> Result<Self, PluginError> {
        let path = || approved.path.clone();
        let image = Image::of(&approved.path)?;
        let found = Digest::of(&image.bytes);
        if found != approved.sha256 {
            return Err(PluginError::Changed { path: path(), approved: approved.sha256.clone(), found });
        }
        let plugin = Self::of(&approved.path, image, found)?;
        let found = plugin.manifest.digest();
        if found != approved.manifest {
            let approved = approved.manifest.clone();
            return Err(PluginError::OtherManifest { path: path(), approved, found });
        }
        if plugin.manifest.name != approved.name {
            let (says, approved) = (plugin.manifest.name, approved.name.clone());
            return Err(PluginError::OtherName { path: path(), approved, says });
        }
        Ok(plugin)
    }

    fn of(path: &AbsPath, image: Image, sha256: Digest) -> Result<Self, PluginError> {
        let object =
            Object::read(&image.bytes).map_err(|source| PluginError::Elf { path: path.clone(), source })?;
        let manifest = Manifest::parse(object.manifest)
            .map_err(|source| PluginError::Manifest { path: path.clone(), source: Box::new(source) })?;
        let only_asks = !manifest.egress.iter().any(|channel| channel.kind == Kind::Tcp);
        if only_asks && !object.reaching.is_empty() {
            return Err(PluginError::Imports { path: path.clone(), imports: object.reaching });
        }
        Ok(Self { manifest, sha256, memory: image.memory })
    }

    pub(crate) fn into_parts(self) -> (Manifest, OwnedFd) {
        (self.manifest, self.memory)
    }
}
