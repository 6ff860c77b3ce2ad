//! Runs egress tools: verifies plugins, keeps their confined helpers warm, and makes every connection for them.
//!
//! Trust domain: the caller's own process and rights. tokio; no unsafe. No code of a plugin runs here.

#![forbid(unsafe_code)]

pub mod approve;
pub mod audit;
pub mod broker;
pub mod credential;
pub mod dial;
mod fetch;
mod helper;
mod host;
mod http;
mod lane;
mod line;
mod patience;
pub mod plugin;
mod pool;
mod reach;
mod reply;
mod spec;
mod tls;
mod tool;
mod wire;

pub use broker::{Broker, BuildError, Builder, LoadError, Unconfined};
pub use pool::Bounds;
