//! A tool that reaches the network, and what it reaches the network by.
//!
//! One interface for the plugins that the broker runs in confined helpers and for tools that a harness writes in Rust and
//! links: the same manifest, the same checks, the same lines in the log. A tool has no connection of its own; what it
//! wants it asks its [`EgressHost`] for, which refuses what the manifest does not declare and the user did not allow. A
//! linked tool is code of the harness's own: nothing stops it from dialling by itself but the test that looks for that.

mod code;
mod message;

use std::os::fd::OwnedFd;

pub use async_trait::async_trait;
pub use code::{Code, ToolError};
pub use message::{Head, MessageError, Request, Target};

use super::Manifest;

/// A tool. Calls may come at once.
#[async_trait]
pub trait EgressTool: Send + Sync {
    /// What it says of itself. It does not change.
    fn manifest(&self) -> &Manifest;

    /// Does what it does. Whoever calls has checked `input` against the manifest, ends the call at the manifest's timeout by
    /// dropping it, and takes no more of the reply than the manifest says.
    ///
    /// # Errors
    /// With the code of the ABI that fits.
    async fn call(
        &self,
        input: &serde_json::Value,
        host: &dyn EgressHost,
        reply: &mut dyn Sink,
    ) -> Result<(), ToolError>;
}

/// What a tool reaches the network by: for one call.
#[async_trait]
pub trait EgressHost: Send + Sync {
    /// Makes a request. The upload is read while the answer is written, in parts of at most 64 KiB, so that a body of any
    /// length passes.
    ///
    /// # Errors
    /// [`Code::Denied`] for what is not declared or not allowed, [`Code::BadInput`] for what is no request,
    /// [`Code::Cancelled`], and [`Code::Failed`] for everything that the network does. An answer of the server's is none,
    /// whatever its status.
    async fn fetch(
        &self,
        request: &Request,
        upload: Option<&mut (dyn Source + '_)>,
        response: &mut (dyn Response + '_),
    ) -> Result<(), ToolError>;

    /// Connects, and gives the connected socket away.
    ///
    /// # Errors
    /// As [`EgressHost::fetch`].
    async fn connect(&self, target: &Target) -> Result<OwnedFd, ToolError>;

    /// A line for the log: how much it matters (0 is the most), and what.
    fn log(&self, level: u8, text: &str);

    /// Whether the call is to end.
    fn is_cancelled(&self) -> bool;
}

/// Whoever takes bytes wants no more of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no more is taken")]
pub struct Stopped;

/// Takes bytes.
#[async_trait]
pub trait Sink: Send {
    /// Takes the next part, of at most 64 KiB.
    ///
    /// # Errors
    /// Where no more is taken.
    async fn write(&mut self, part: &[u8]) -> Result<(), Stopped>;
}

/// Gives bytes.
#[async_trait]
pub trait Source: Send {
    /// Fills a part of `buffer` and says how much of it; 0 at the end.
    ///
    /// # Errors
    /// Where there is no end, and no more either.
    async fn read(&mut self, buffer: &mut [u8]) -> Result<usize, Stopped>;
}

/// Takes an answer.
#[async_trait]
pub trait Response: Send {
    /// Once, before the body.
    ///
    /// # Errors
    /// Where no more is taken.
    async fn head(&mut self, head: &Head) -> Result<(), Stopped>;

    /// The next part of the body, of at most 64 KiB.
    ///
    /// # Errors
    /// Where no more is taken.
    async fn body(&mut self, part: &[u8]) -> Result<(), Stopped>;
}
