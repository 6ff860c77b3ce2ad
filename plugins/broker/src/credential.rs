//! Secrets for tools: where they come from. They go into requests to their own hosts, and nowhere else.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read as _};
use std::os::unix::ffi::OsStringExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use confine_core::secret::{LONGEST, Redaction, RedactionError, Secret, SecretError};
use tokio::process::Command;
use tokio::time::timeout;

/// How long a command may take to say a secret.
const PATIENCE: Duration = Duration::from_secs(10);
const FOR_OTHERS: u32 = 0o077;

/// Where a secret comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// A variable of the environment, which is taken out of it.
    Environment(String),
    /// A file that nobody else may read; one newline at its end is not part of the secret.
    File(PathBuf),
    /// What a command writes to its standard output, likewise. It has 10 s.
    Command(Vec<OsString>),
}

/// Why there is no secret. None of it holds the value.
#[derive(Debug, thiserror::Error)]
pub enum CredentialError {
    /// The variable is not set.
    #[error("`{name}`: the variable `{variable}` is not set")]
    Unset {
        /// Of the credential.
        name: String,
        /// Of the variable.
        variable: String,
    },
    /// It cannot be read.
    #[error("`{name}`: {source}")]
    Unreadable {
        /// Of the credential.
        name: String,
        /// The system's error.
        #[source]
        source: io::Error,
    },
    /// Others may read the file.
    #[error("`{name}`: `{}` can be read by others (mode {mode:04o})", path.display())]
    Loose {
        /// Of the credential.
        name: String,
        /// Which file.
        path: PathBuf,
        /// Its permission bits.
        mode: u32,
    },
    /// The command says no.
    #[error("`{name}`: its command ended with {status}")]
    Command {
        /// Of the credential.
        name: String,
        /// How.
        status: std::process::ExitStatus,
    },
    /// It is none.
    #[error("`{name}`: {source}")]
    NoSecret {
        /// Of the credential.
        name: String,
        /// Why.
        #[source]
        source: SecretError,
    },
    /// They cannot be looked for.
    #[error("{0}")]
    Redaction(#[from] RedactionError),
}

/// Every secret there is, by the name that manifests have for it.
#[derive(Default)]
pub struct Vault {
    secrets: BTreeMap<String, Secret>,
}

impl Vault {
    /// Reads them. What comes from a variable is taken out of `environment`, so that commands that are given what is left do
    /// not have it.
    ///
    /// # Errors
    /// The first that is not there, or is no secret.
    pub async fn read(
        sources: impl IntoIterator<Item = (String, Source)>,
        environment: &mut Vec<(OsString, OsString)>,
    ) -> Result<Self, CredentialError> {
        let mut secrets = BTreeMap::new();
        for (name, source) in sources {
            let value = match source {
                Source::Environment(variable) => taken(&name, variable, environment)?,
                Source::File(path) => of_file(&name, path)?,
                Source::Command(words) => said(&name, &words).await?,
            };
            let secret = Secret::new(value)
                .map_err(|source| CredentialError::NoSecret { name: name.clone(), source })?;
            secrets.insert(name, secret);
        }
        Ok(Self { secrets })
    }

    /// One more, which the caller has.
    #[must_use]
    pub fn with(mut self, name: impl Into<String>, secret: Secret) -> Self {
        self.secrets.insert(name.into(), secret);
        self
    }

    pub(crate) fn secret(&self, name: &str) -> Option<&Secret> {
        self.secrets.get(name)
    }

    /// What replaces them.
    ///
    /// # Errors
    /// Where they are too long to be looked for.
    pub fn redaction(&self) -> Result<Redaction, CredentialError> {
        Ok(Redaction::new(self.secrets.iter().map(|(name, secret)| (name.as_str(), secret)))?)
    }
}

impl std::fmt::Debug for Vault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.secrets.keys()).finish()
    }
}

fn taken(
    name: &str,
    variable: String,
    environment: &mut Vec<(OsString, OsString)>,
) -> Result<Vec<u8>, CredentialError> {
    let is_it = |entry: &(OsString, OsString)| entry.0 == *variable;
    let value = environment.iter().find(|entry| is_it(entry)).map(|(_, value)| value.clone());
    environment.retain(|entry| !is_it(entry));
    let value = value.ok_or_else(|| CredentialError::Unset { name: name.to_owned(), variable })?;
    Ok(value.into_vec())
}

fn of_file(name: &str, path: PathBuf) -> Result<Vec<u8>, CredentialError> {
    let unreadable = |source| CredentialError::Unreadable { name: name.to_owned(), source };
    let file = File::open(&path).map_err(unreadable)?;
    let mode = file.metadata().map_err(unreadable)?.permissions().mode() & 0o7777;
    if mode & FOR_OTHERS != 0 {
        return Err(CredentialError::Loose { name: name.to_owned(), path, mode });
    }
    let mut value = Vec::new();
    let bound = u64::try_from(LONGEST).unwrap_or(u64::MAX);
    file.take(bound.saturating_add(2)).read_to_end(&mut value).map_err(unreadable)?;
    Ok(line(value))
}

async fn said(name: &str, words: &[OsString]) -> Result<Vec<u8>, CredentialError> {
    let unreadable = |source| CredentialError::Unreadable { name: name.to_owned(), source };
    let [program, arguments @ ..] = words else {
        return Err(unreadable(io::Error::new(io::ErrorKind::InvalidInput, "its command has no words")));
    };
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null()).stderr(Stdio::null()).kill_on_drop(true);
    let output = timeout(PATIENCE, command.output()).await;
    let output = output.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into())).map_err(unreadable)?;
    if !output.status.success() {
        return Err(CredentialError::Command { name: name.to_owned(), status: output.status });
    }
    Ok(line(output.stdout))
}

fn line(mut value: Vec<u8>) -> Vec<u8> {
    if value.last() == Some(&b'\n') {
        value.pop();
    }
    value
}
