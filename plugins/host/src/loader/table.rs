//! The functions that a plugin may call, over the lane of its state.

use std::ffi::c_void;
use std::slice;

use confine_plugin_abi::Code;
use confine_plugin_abi::code::OK;
use confine_plugin_abi::table::{ABI, Bytes, Host, PART_MAX, Sink, Source};

use crate::course::{Course, Exchange, Read};
use crate::lane::Lane;

/// The table for a state on `lane`.
pub(super) fn host(lane: &Lane) -> Host {
    Host {
        size: size_of::<Host>(),
        abi: ABI,
        ctx: std::ptr::from_ref(lane).cast_mut().cast(),
        log: Some(log),
        fetch: Some(fetch),
        connect: Some(connect),
        cancelled: Some(cancelled),
    }
}

/// The sink for the reply of a call on `lane`.
pub(super) fn reply(lane: &Lane) -> Sink {
    Sink { ctx: std::ptr::from_ref(lane).cast_mut().cast(), write: Some(write) }
}

unsafe extern "C" fn log(ctx: *mut c_void, level: u32, text: Bytes) {
    // SAFETY: the plugin passes the context of its table, and bytes that are valid for this call.
    let lane = unsafe { lane(ctx) };
    // SAFETY: likewise.
    lane.log(level, unsafe { borrowed(text) });
}

unsafe extern "C" fn write(ctx: *mut c_void, part: Bytes) -> i32 {
    // SAFETY: as in `log`, with the context of the sink.
    let lane = unsafe { lane(ctx) };
    // SAFETY: likewise.
    i32::from(lane.reply(unsafe { borrowed(part) }).is_break())
}

unsafe extern "C" fn cancelled(ctx: *mut c_void) -> i32 {
    // SAFETY: as in `log`.
    i32::from(unsafe { lane(ctx) }.is_cancelled())
}

unsafe extern "C" fn fetch(
    ctx: *mut c_void,
    request: Bytes,
    upload: *const Source,
    head: *const Sink,
    body: *const Sink,
) -> i32 {
    // SAFETY: as in `log`.
    let lane = unsafe { lane(ctx) };
    // SAFETY: as in `log`.
    let request = unsafe { borrowed(request) };
    // SAFETY: null, or valid for this call.
    let upload = unsafe { upload.as_ref() };
    // SAFETY: likewise.
    let (head, body) = unsafe { sinks(head, body) };
    let mut read = upload.map(|source| move |buffer: &mut [u8]| from(source, buffer));
    let mut exchange = Exchange {
        upload: read.as_mut().map(|read| -> &mut Read<'_> { read }),
        head: &mut |text| to(head, text),
        body: &mut |part| to(body, part),
    };
    number(lane.fetch(request, &mut exchange))
}

unsafe extern "C" fn connect(ctx: *mut c_void, target: Bytes, fd: *mut i32) -> i32 {
    use std::os::fd::IntoRawFd as _;
    // SAFETY: as in `log`.
    let lane = unsafe { lane(ctx) };
    // SAFETY: likewise.
    let connected = lane.connect(unsafe { borrowed(target) });
    if fd.is_null() {
        return Code::BadInput.number();
    }
    let stored = connected.map(|socket| {
        // SAFETY: the plugin's own, to be written to once.
        unsafe { fd.write(socket.into_raw_fd()) }
    });
    number(stored)
}

/// # Safety
/// Each is null, or valid for as long as the result is used.
unsafe fn sinks<'a>(head: *const Sink, body: *const Sink) -> (Option<&'a Sink>, Option<&'a Sink>) {
    // SAFETY: the caller's promise.
    let head = unsafe { head.as_ref() };
    // SAFETY: likewise.
    (head, unsafe { body.as_ref() })
}

fn number(result: Result<(), Code>) -> i32 {
    result.map_or_else(Code::number, |()| OK)
}

fn to(sink: Option<&Sink>, part: &[u8]) -> Course {
    let Some((sink, write)) = sink.and_then(|sink| Some((sink, sink.write?))) else {
        return Course::Continue(());
    };
    // SAFETY: the plugin's own sink, in the fetch that it was passed to.
    let answer = unsafe { write(sink.ctx, Bytes::of(part)) };
    if answer == 0 { Course::Continue(()) } else { Course::Break(()) }
}

/// `None` where the rest cannot be had.
fn from(source: &Source, buffer: &mut [u8]) -> Option<usize> {
    let room = buffer.len().min(PART_MAX);
    let read = source.read?;
    // SAFETY: the plugin's own source, in the fetch that it was passed to; `room` bytes of the buffer are ours to give.
    let count = unsafe { read(source.ctx, buffer.as_mut_ptr(), room) };
    usize::try_from(count).ok().filter(|count| *count <= room)
}

/// # Safety
/// `ctx` is of [`host`] or [`reply`], and the lane lives: a state's lane outlives the state.
unsafe fn lane<'a>(ctx: *mut c_void) -> &'a Lane {
    // SAFETY: the caller's promise. Another thread gets no further than to be told so: `Lane` looks first.
    unsafe { &*ctx.cast::<Lane>() }
}

/// # Safety
/// What it names is valid for as long as the result is used.
unsafe fn borrowed<'a>(bytes: Bytes) -> &'a [u8] {
    if bytes.ptr.is_null() || bytes.len == 0 {
        return &[];
    }
    // SAFETY: the caller's promise.
    unsafe { slice::from_raw_parts(bytes.ptr, bytes.len) }
}
