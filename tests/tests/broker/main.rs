//! Plugins by the broker: real files, real sandboxes, servers on loopback.

mod approvals;
mod load;
mod many;
mod misbehaviour;
mod scene;
mod streams;
