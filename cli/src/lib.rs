//! The `confine` command: arguments -> calls -> text.
//!
//! Trust domain: the caller's own process and rights. Text for people goes to stderr, answers to stdout. Only this
//! crate turns errors into text and exit codes.

#![forbid(unsafe_code)]

mod annotate;
mod answer;
mod arguments;
mod attempts;
mod audit;
mod backend;
mod classify;
mod describe;
mod dialect;
mod entry;
mod explain;
mod fault;
mod generated;
mod hook;
mod modes;
mod plan;
mod plugin_host;
mod policy;
mod preset;
mod probe;
mod prompt;
mod quarantine;
mod recovery;
mod request;
mod run;
mod serve;
mod shell;
mod usage;
mod version;

pub use entry::main;
