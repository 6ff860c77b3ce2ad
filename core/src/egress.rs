//! Tools that reach the network: what they claim, what is allowed, and the words in which they ask.
//!
//! Whatever accepts a URL or a host, or opens a connection, is an egress channel. Here is everything about it that is
//! pure: which hosts a rule means ([`host`]), which addresses nobody reaches unless they were granted ([`address`]), what
//! a plugin says of itself ([`manifest`]), the list of them all ([`inventory`]), the frames between helper and broker
//! ([`frame`]), and the interface of a tool ([`tool`]). Who connects is the broker.

pub mod address;
pub mod frame;
pub mod host;
pub mod inventory;
pub mod manifest;
pub mod tool;

pub use address::{Forbidden, Granted};
pub use host::{Endpoint, Host, HostName, HostPattern, HostRules, Ruling};
pub use manifest::{Manifest, ToolName};
pub use tool::{EgressHost, EgressTool};
