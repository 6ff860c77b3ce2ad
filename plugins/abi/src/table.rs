//! `include/confine_egress.h` in `repr(C)`; fields and meanings are documented there. A test compiles that header and
//! compares every size and offset.

use std::ffi::c_void;
use std::mem::offset_of;

/// The major version of the interface and of a manifest.
pub const ABI: u32 = 1;
/// The symbol that a plugin exports, an [`Egress`].
pub const SYMBOL: &str = "CONFINE_EGRESS_V1";
/// The section that holds the manifest.
pub const SECTION: &str = ".confine.manifest";
/// The most bytes of a manifest.
pub const MANIFEST_MAX: usize = 64 * 1024;
/// The most bytes of an input, a configuration, a request, a target and a head.
pub const TEXT_MAX: usize = 1024 * 1024 - 1;
/// The most bytes of a part of a body, and of a line of the log.
pub const PART_MAX: usize = 64 * 1024;
/// A plugin whose table is smaller lacks `call`, and is refused.
pub const EGRESS_SIZE_MIN: usize = offset_of!(Egress, close);

/// `struct confine_bytes`: borrowed for the call it is passed to. Frozen.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Bytes {
    /// May be null where `len` is 0.
    pub ptr: *const u8,
    /// In bytes.
    pub len: usize,
}

/// `struct confine_sink`. Frozen.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Sink {
    /// To be passed to `write`.
    pub ctx: *mut c_void,
    /// Returns 0, or something else to stop.
    pub write: Option<unsafe extern "C" fn(ctx: *mut c_void, part: Bytes) -> i32>,
}

/// `struct confine_source`. Frozen.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Source {
    /// To be passed to `read`.
    pub ctx: *mut c_void,
    /// Returns how many bytes it wrote, 0 at the end, or a negative code.
    pub read: Option<unsafe extern "C" fn(ctx: *mut c_void, buf: *mut u8, len: usize) -> i64>,
}

/// `struct confine_host`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Host {
    /// Of this struct, in bytes, as the host knows it.
    pub size: usize,
    /// [`ABI`] of the host.
    pub abi: u32,
    /// To be passed to every function.
    pub ctx: *mut c_void,
    /// A line for the user.
    pub log: Option<unsafe extern "C" fn(ctx: *mut c_void, level: u32, text: Bytes)>,
    /// One HTTP request.
    pub fetch: Option<
        unsafe extern "C" fn(
            ctx: *mut c_void,
            request: Bytes,
            upload: *const Source,
            head: *const Sink,
            body: *const Sink,
        ) -> i32,
    >,
    /// One TCP connection.
    pub connect: Option<unsafe extern "C" fn(ctx: *mut c_void, target: Bytes, fd: *mut i32) -> i32>,
    /// Whether the call is to end.
    pub cancelled: Option<unsafe extern "C" fn(ctx: *mut c_void) -> i32>,
}

/// `struct confine_egress`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Egress {
    /// Of this struct, in bytes, as the plugin knows it.
    pub size: usize,
    /// [`ABI`] of the plugin.
    pub abi: u32,
    /// The bytes of the section.
    pub manifest: Bytes,
    /// Makes a state. Null where there is nothing to make.
    pub open: Option<unsafe extern "C" fn(host: *const Host, config: Bytes, state: *mut *mut c_void) -> i32>,
    /// Does what the tool is for. Never null.
    pub call: Option<unsafe extern "C" fn(state: *mut c_void, input: Bytes, reply: *const Sink) -> i32>,
    /// Ends a state. May be null, and may be beyond `size`.
    pub close: Option<unsafe extern "C" fn(state: *mut c_void)>,
}

// SAFETY: what it points to is constant, and its functions are for any thread.
#[allow(unsafe_code, reason = "a table in a static, as the interface wants it")]
unsafe impl Sync for Egress {}

impl Bytes {
    /// Nothing.
    pub const EMPTY: Self = Self { ptr: std::ptr::null(), len: 0 };

    /// These, for as long as they live.
    pub const fn of(bytes: &[u8]) -> Self {
        Self { ptr: bytes.as_ptr(), len: bytes.len() }
    }
}

#[cfg(target_pointer_width = "64")]
const _: () = {
    assert!(size_of::<Bytes>() == 16 && size_of::<Sink>() == 16 && size_of::<Source>() == 16);
    assert!(size_of::<Host>() == 56 && size_of::<Egress>() == 56 && EGRESS_SIZE_MIN == 48);
    assert!(offset_of!(Host, ctx) == 16 && offset_of!(Host, log) == 24 && offset_of!(Host, cancelled) == 48);
    assert!(
        offset_of!(Egress, manifest) == 16
            && offset_of!(Egress, open) == 32
            && offset_of!(Egress, call) == 40
    );
};
