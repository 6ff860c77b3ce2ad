//! What a plugin may ask for.

use std::ffi::c_void;
use std::io::{ErrorKind, Read};
use std::ops::ControlFlow;
use std::os::fd::{FromRawFd as _, OwnedFd};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::{ptr, slice};

use crate::table::{self, Bytes, Sink, Source};
use crate::{Code, Fault};

/// The host of one state. Usable on the thread that opened the state; on another its functions fail.
#[derive(Debug)]
pub struct Host(*const table::Host);

/// Who takes the answer to a request, while it comes. A break stops it.
pub trait Answer {
    /// The head, JSON `{status, headers}`, before the body.
    fn head(&mut self, head: &str) -> ControlFlow<()> {
        let _ = head;
        ControlFlow::Continue(())
    }

    /// The next part of the body, at most 64 KiB.
    fn part(&mut self, part: &[u8]) -> ControlFlow<()>;
}

/// The whole body, in memory.
impl Answer for Vec<u8> {
    fn part(&mut self, part: &[u8]) -> ControlFlow<()> {
        self.extend_from_slice(part);
        ControlFlow::Continue(())
    }
}

/// How much a line of the log matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Why a call fails.
    Error,
    /// What is odd.
    Warn,
    /// What was done.
    Info,
    /// For the plugin's author.
    Debug,
}

impl Level {
    /// The number of the header.
    pub fn number(self) -> u32 {
        match self {
            Self::Error => 1,
            Self::Warn => 2,
            Self::Info => 3,
            Self::Debug => 4,
        }
    }
}

impl Host {
    /// # Safety
    /// `host` is what `open` got, and `close` has not returned as long as this is used.
    pub(super) unsafe fn new(host: *const table::Host) -> Self {
        Self(host)
    }

    /// Notes a line for the user.
    pub fn log(&self, level: Level, text: &str) {
        let table = self.table();
        if let Some(log) = table.log {
            // SAFETY: the host's own function with the host's own context (`Host::new`).
            unsafe { log(table.ctx, level.number(), Bytes::of(text.as_bytes())) }
        }
    }

    /// Makes one HTTP request without a body: `request` is JSON `{method, url, headers}`. Returns the head of the answer,
    /// JSON `{status, headers}`; the rest goes to `answer`.
    ///
    /// # Errors
    /// The host's code; [`Code::Cancelled`] also where `answer` stopped.
    pub fn fetch(&self, request: &str, answer: &mut impl Answer) -> Result<String, Fault> {
        self.exchange(request, ptr::null(), answer)
    }

    /// The same with a body, which is read from `upload` to its end.
    ///
    /// # Errors
    /// As [`Host::fetch`]; an error of `upload` ends the request.
    pub fn send(
        &self,
        request: &str,
        upload: &mut impl Read,
        answer: &mut impl Answer,
    ) -> Result<String, Fault> {
        let source = source_of(upload);
        self.exchange(request, &raw const source, answer)
    }

    /// Opens a TCP connection: `target` is JSON `{host, port}`.
    ///
    /// # Errors
    /// The host's code.
    pub fn connect(&self, target: &str) -> Result<OwnedFd, Fault> {
        let table = self.table();
        let connect = table.connect.ok_or(Code::Failed)?;
        let mut fd = -1;
        // SAFETY: the host's own function with its own context; the target and `fd` outlive the call.
        let code = unsafe { connect(table.ctx, Bytes::of(target.as_bytes()), &raw mut fd) };
        Code::check(code)?;
        // SAFETY: with CONFINE_OK it is an open descriptor that the plugin is to close.
        Ok(unsafe { OwnedFd::from_raw_fd(fd) })
    }

    /// Whether the call is to end.
    pub fn cancelled(&self) -> bool {
        let table = self.table();
        // SAFETY: the host's own function with its own context.
        table.cancelled.is_some_and(|cancelled| unsafe { cancelled(table.ctx) } != 0)
    }

    fn exchange(
        &self,
        request: &str,
        upload: *const Source,
        answer: &mut impl Answer,
    ) -> Result<String, Fault> {
        let table = self.table();
        let fetch = table.fetch.ok_or(Code::Failed)?;
        let mut taken = Taken { head: String::new(), answer };
        let (head, body) = taken.sinks();
        let request = Bytes::of(request.as_bytes());
        // SAFETY: the host's own function with its own context; the request, the source and the sinks outlive the call.
        let code = unsafe { fetch(table.ctx, request, upload, &raw const head, &raw const body) };
        Code::check(code)?;
        Ok(taken.head)
    }

    /// What both sides know of the table: a host with a smaller one lacks the rest.
    fn table(&self) -> table::Host {
        let none = table::Host {
            size: 0,
            abi: 0,
            ctx: ptr::null_mut(),
            log: None,
            fetch: None,
            connect: None,
            cancelled: None,
        };
        let mut known = none;
        // SAFETY: the table lives as long as the state (`Host::new`), and begins with its size.
        let theirs = unsafe { self.0.cast::<usize>().read() };
        let shared = theirs.min(size_of::<table::Host>());
        // SAFETY: both are at least `shared` bytes long, and every prefix of the table's fields is valid beside `none`'s rest,
        // since a size ends between two fields.
        unsafe { ptr::copy_nonoverlapping(self.0.cast::<u8>(), (&raw mut known).cast::<u8>(), shared) };
        known
    }
}

/// What has come of an answer, and who takes it.
struct Taken<'a, A> {
    head: String,
    answer: &'a mut A,
}

impl<A: Answer> Taken<'_, A> {
    /// For the head and for the body. The host writes to one at a time.
    fn sinks(&mut self) -> (Sink, Sink) {
        let ctx: *mut c_void = ptr::from_mut(self).cast();
        (Sink { ctx, write: Some(head::<A>) }, Sink { ctx, write: Some(part::<A>) })
    }

    /// # Safety
    /// `ctx` is of [`Taken::sinks`] with the same type, in a fetch that has not returned, and `bytes` is the host's for this
    /// call.
    unsafe fn with(ctx: *mut c_void, bytes: Bytes, act: fn(&mut Self, &[u8]) -> ControlFlow<()>) -> i32 {
        // SAFETY: the caller's promise; nobody else uses it while the fetch runs.
        let taken = unsafe { &mut *ctx.cast::<Self>() };
        // SAFETY: the caller's promise.
        let bytes = unsafe { super::entry::borrowed(bytes) };
        let flow = catch_unwind(AssertUnwindSafe(|| act(taken, bytes)));
        i32::from(!matches!(flow, Ok(ControlFlow::Continue(()))))
    }
}

unsafe extern "C" fn head<A: Answer>(ctx: *mut c_void, text: Bytes) -> i32 {
    let act = |taken: &mut Taken<'_, A>, text: &[u8]| {
        let Ok(text) = str::from_utf8(text) else { return ControlFlow::Break(()) };
        text.clone_into(&mut taken.head);
        taken.answer.head(text)
    };
    // SAFETY: `exchange` passes this with the context of `sinks`.
    unsafe { Taken::with(ctx, text, act) }
}

unsafe extern "C" fn part<A: Answer>(ctx: *mut c_void, part: Bytes) -> i32 {
    // SAFETY: `exchange` passes this with the context of `sinks`.
    unsafe { Taken::<A>::with(ctx, part, |taken, part| taken.answer.part(part)) }
}

fn source_of<R: Read>(reader: &mut R) -> Source {
    Source { ctx: ptr::from_mut(reader).cast(), read: Some(read_from::<R>) }
}

unsafe extern "C" fn read_from<R: Read>(ctx: *mut c_void, buf: *mut u8, len: usize) -> i64 {
    // SAFETY: `source_of` made the context of a reader that outlives the fetch, and nobody else uses it meanwhile.
    let reader = unsafe { &mut *ctx.cast::<R>() };
    // SAFETY: the host passes a buffer of `len` initialized bytes, its own for this call.
    let buffer = unsafe { slice::from_raw_parts_mut(buf, len) };
    let read = catch_unwind(AssertUnwindSafe(|| {
        loop {
            match reader.read(buffer) {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                read => return read,
            }
        }
    }));
    let count = match read {
        Ok(Ok(count)) => i64::try_from(count).ok(),
        Ok(Err(_)) | Err(_) => None,
    };
    count.unwrap_or_else(|| i64::from(Code::Failed.number()))
}
