//! From policies to launches: what they say, what they show, and what is refused.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    reason = "functions of tests, outside the test functions"
)]

mod agreement;
mod effects;
mod fixture;
mod foreign;
mod golden;
mod host;
mod refusals;
mod seatbelt;
