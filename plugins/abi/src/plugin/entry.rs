//! The functions of the table, for any [`Tool`].

use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::slice;

use super::{Fault, Host, Level, Reply, Tool};
use crate::code::{Code, OK};
use crate::table::{self, Bytes, Sink};

/// What `state` points to.
struct Opened<T> {
    host: Host,
    tool: T,
}

/// The manifest as the array that its section holds.
///
/// # Panics
/// While compiling, where `N` is not the length of `text`.
#[expect(clippy::expect_used, reason = "the macro passes the text's own length")]
pub const fn section<const N: usize>(text: &[u8]) -> [u8; N] {
    *text.first_chunk::<N>().expect("invariant: the macro passes the text's own length")
}

/// `open` of the table.
///
/// # Safety
/// As the header says: `host` lives until [`close`] has returned, `config` and `state` for this call.
pub unsafe extern "C" fn open<T: Tool>(
    host: *const table::Host,
    config: Bytes,
    state: *mut *mut c_void,
) -> i32 {
    // SAFETY: the state keeps it, and nothing uses a state after `close`.
    let host = unsafe { Host::new(host) };
    // SAFETY: valid for this call.
    let config = unsafe { borrowed(config) };
    let opened = caught(&host, || T::open(&host, text(config)?));
    match opened {
        Ok(tool) => {
            let opened = Box::into_raw(Box::new(Opened { host, tool }));
            // SAFETY: the host's own, to be written to once.
            unsafe { state.write(opened.cast()) };
            OK
        }
        Err(code) => code.number(),
    }
}

/// `call` of the table.
///
/// # Safety
/// `state` is of [`open`] with the same type and not closed, no other thread uses it, and `input` and `reply` are valid
/// for this call.
pub unsafe extern "C" fn call<T: Tool>(state: *mut c_void, input: Bytes, reply: *const Sink) -> i32 {
    // SAFETY: a state of `open`, on its one thread.
    let Opened { host, tool } = unsafe { &mut *state.cast::<Opened<T>>() };
    // SAFETY: valid for this call.
    let input = unsafe { borrowed(input) };
    // SAFETY: a sink is valid for the call it is passed to, and never grows.
    let sink = unsafe { *reply };
    // SAFETY: this does not outlive the call.
    let mut reply = unsafe { Reply::new(sink) };
    match caught(host, || tool.call(host, text(input)?, &mut reply)) {
        Ok(()) => OK,
        Err(code) => code.number(),
    }
}

/// `close` of the table.
///
/// # Safety
/// `state` is of [`open`] with the same type, and nothing uses it afterwards.
pub unsafe extern "C" fn close<T: Tool>(state: *mut c_void) {
    // SAFETY: `open` made it of a box, and this is its end.
    let opened = unsafe { Box::from_raw(state.cast::<Opened<T>>()) };
    // The host reads no answer.
    let _ = catch_unwind(AssertUnwindSafe(|| drop(opened)));
}

/// # Safety
/// What it names is valid for as long as the result is used.
pub(super) unsafe fn borrowed<'a>(bytes: Bytes) -> &'a [u8] {
    if bytes.len == 0 || bytes.ptr.is_null() {
        return &[];
    }
    // SAFETY: the caller's promise.
    unsafe { slice::from_raw_parts(bytes.ptr, bytes.len) }
}

fn text(bytes: &[u8]) -> Result<&str, Fault> {
    str::from_utf8(bytes).map_err(Fault::bad_input)
}

/// What it returns; a fault and a panic are logged.
fn caught<T>(host: &Host, act: impl FnOnce() -> Result<T, Fault>) -> Result<T, Code> {
    let fault = match catch_unwind(AssertUnwindSafe(act)) {
        Ok(Ok(value)) => return Ok(value),
        Ok(Err(fault)) => fault,
        Err(panic) => Fault::new(Code::Panicked, said(panic.as_ref())),
    };
    if !fault.reason().is_empty() {
        host.log(Level::Error, fault.reason());
    }
    Err(fault.code())
}

fn said(panic: &(dyn std::any::Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("the plugin panicked")
}
