//! Loads one egress plugin inside the sandbox that is made for it, and speaks with the broker outside.
//!
//! Trust domain: the helper's sandbox. The plugin runs in this very process and may do to it whatever it can, so nothing
//! here is a control: the sandbox is. What this crate looks after is that a plugin which fails, hangs or makes a mess
//! costs its own call, and that the broker can tell. Unsafe only in `loader`.
//!
//! Standard input is the *control* socket. There the broker says [`Open`](confine_core::egress::frame::Frame::Open) and
//! hands over the plugin, in a sealed file in memory, and the *lanes*: a socket, a thread and a state for each call that
//! may run at once.

#![deny(unsafe_code)]

mod answer;
mod control;
mod course;
mod exit;
mod fitness;
mod lane;
mod loader;
mod socket;
mod worker;

pub use control::main;
pub use exit::Exit;
