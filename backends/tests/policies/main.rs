//! From policies to launches: what they say, what they show, and what is refused.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "functions of tests, outside the test functions"
)]

mod agreement;
mod fixture;
mod golden;
mod host;
mod refusals;
