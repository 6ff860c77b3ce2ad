//! What a tool reaches, and what not: against servers on loopback, by names that no resolver knows.

#![allow(
    clippy::as_conversions,
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a test reports by panicking"
)]

mod credentials;
mod hosts;
mod names;
mod redirects;
mod requests;
mod scene;
mod server;
mod tls;
