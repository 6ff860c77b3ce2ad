//! A plugin as a trait: what stands between [`Tool`] and the table.

#![allow(unsafe_code, reason = "the other side of the table is C")]

mod entry;
mod fault;
mod host;
mod reply;

pub use entry::{call, close, open, section};
pub use fault::Fault;
pub use host::{Answer, Host, Level};
pub use reply::Reply;

/// A tool that reaches the network through its host. A state of it is opened, called and dropped on one thread.
pub trait Tool: Sized {
    /// Makes a state. `config` is JSON from the user's lock file, `{}` where that says nothing.
    ///
    /// # Errors
    /// What keeps it from working; it answers the call that needed the state.
    fn open(host: &Host, config: &str) -> Result<Self, Fault>;

    /// Does what the tool is for: `input` is JSON that nobody has checked, the reply is JSON.
    ///
    /// # Errors
    /// Why there is no reply. What was written is dropped.
    fn call(&mut self, host: &Host, input: &str, reply: &mut Reply<'_>) -> Result<(), Fault>;
}

/// Exports a [`Tool`] as `CONFINE_EGRESS_V1`, with its manifest in the section `.confine.manifest`:
/// `egress_plugin!(Versions, include_bytes!("../manifest.json"));`. Once in a `cdylib`.
///
/// A panic of the tool becomes `CONFINE_PANICKED`, where the library is built to unwind; with `panic = "abort"` it ends
/// the helper, and the call with it.
#[macro_export]
macro_rules! egress_plugin {
    ($tool:ty, $manifest:expr $(,)?) => {
        const _: () = {
            const TEXT: &[u8] = $manifest;

            #[used]
            #[unsafe(link_section = ".confine.manifest")]
            static MANIFEST: [u8; TEXT.len()] = $crate::plugin::section(TEXT);

            /// What confine looks for.
            #[unsafe(no_mangle)]
            pub static CONFINE_EGRESS_V1: $crate::table::Egress = $crate::table::Egress {
                size: ::core::mem::size_of::<$crate::table::Egress>(),
                abi: $crate::table::ABI,
                manifest: $crate::table::Bytes::of(&MANIFEST),
                open: Some($crate::plugin::open::<$tool>),
                call: Some($crate::plugin::call::<$tool>),
                close: Some($crate::plugin::close::<$tool>),
            };
        };
    };
}
