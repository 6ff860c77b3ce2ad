//! Tests of the built `confine` binary, as root or as whoever runs them.

mod call;
mod exits;
mod generated;
mod policy;
mod report;
mod usage;
