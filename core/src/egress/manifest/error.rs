//! Why bytes are no manifest.

use super::schema::SchemaError;
use super::{NameError, PlacementError};
use crate::egress::host::PatternError;

/// Which rule a manifest breaks, where, and what helps.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}{fault}", at(.field))]
pub struct ManifestError {
    /// The field, as a path: `egress[0].hosts[1]`. Empty for the whole.
    pub field: String,
    /// What is wrong.
    pub fault: Box<ManifestFault>,
    /// The next step.
    pub help: String,
}

/// What is wrong with a manifest.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ManifestFault {
    /// More than [`LONGEST`](super::LONGEST) bytes.
    #[error("it is longer than 65536 bytes")]
    TooLong,
    /// No JSON, a wrong type, an unknown field, a missing one, a key given twice.
    #[error("{0}")]
    Malformed(String),
    /// Another major version.
    #[error("abi {0} is not known here, only 1 is")]
    Abi(u64),
    /// Its name is none.
    #[error("{0}")]
    Name(#[from] NameError),
    /// A text that is too long, too short, or holds what it may not.
    #[error("`{0}` is not {1}")]
    Text(String, &'static str),
    /// A number outside its range.
    #[error("{value} is not from {from} to {to}")]
    Range {
        /// As it was written.
        value: u64,
        /// The smallest.
        from: u64,
        /// The largest.
        to: u64,
    },
    /// A list that needs entries, has too many, or has one twice.
    #[error("{0}")]
    List(&'static str),
    /// A rule about hosts that is none.
    #[error("{0}")]
    Pattern(#[from] PatternError),
    /// A method outside the list.
    #[error("`{0}` is no method that a tool may use")]
    Method(String),
    /// Methods for a kind that has none.
    #[error("a `tcp` channel has no methods")]
    MethodsOfTcp,
    /// A credential that goes nowhere.
    #[error("{0}")]
    Placement(#[from] PlacementError),
    /// A credential for a host that no `http` channel declares.
    #[error("`{0}` is not among the hosts of `egress` by `http`")]
    Uncovered(String),
    /// An input that is a URL, a host or an address, of a tool that reaches nothing.
    #[error("the input `{0}` names a host, and `egress` is empty")]
    Reaches(String),
    /// A schema outside the part of JSON Schema that is known here.
    #[error("{0}")]
    Schema(#[from] SchemaError),
}

impl ManifestError {
    pub(super) fn new(field: impl Into<String>, fault: impl Into<ManifestFault>) -> Self {
        let fault = fault.into();
        Self { field: field.into(), help: help(&fault), fault: Box::new(fault) }
    }
}

fn at(field: &str) -> String {
    if field.is_empty() { String::new() } else { format!("`{field}`: ") }
}

fn help(fault: &ManifestFault) -> String {
    let text = match fault {
        ManifestFault::Pattern(error) => return error.help.clone(),
        ManifestFault::Schema(error) => return error.help.clone(),
        ManifestFault::TooLong => "leave out descriptions",
        ManifestFault::Malformed(_) => "docs/egress.md lists every field; one of your own begins with `x-`",
        ManifestFault::Abi(_) => "build the plugin against the header of ABI 1",
        ManifestFault::Name(_) => "write a name such as `fetch`",
        ManifestFault::Text(..) | ManifestFault::List(_) => "docs/egress.md says what each field holds",
        ManifestFault::Range { .. } => "choose a number within these",
        ManifestFault::Method(_) => "use DELETE, GET, HEAD, OPTIONS, PATCH, POST or PUT",
        ManifestFault::MethodsOfTcp => "remove `methods`",
        ManifestFault::Placement(_) => "write `bearer`, or `header:` and a header's name in lower case",
        ManifestFault::Uncovered(_) => "declare the host in `egress` first",
        ManifestFault::Reaches(_) => "declare the hosts that it may name in `egress`, or rename the input",
    };
    text.to_owned()
}
