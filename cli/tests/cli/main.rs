//! Tests of the built `confine` binary, as root or as whoever runs them.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "functions of tests, outside the test functions"
)]

mod accept;
mod backend;
mod call;
mod exits;
mod generated;
mod plan;
mod policy;
mod probe;
mod questions;
mod report;
mod sessions;
mod state;
mod terminal;
mod usage;
mod violation;
