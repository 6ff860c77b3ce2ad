//! What concerns the whole process.

/// Ends it, at once.
pub(crate) fn exit(code: i32) -> ! {
    // SAFETY: _exit(2) runs no code of this process.
    unsafe { libc::_exit(code) }
}

/// Stops a running alarm(2). Whether there was one.
pub(crate) fn stop_alarm() -> bool {
    // SAFETY: alarm(2) takes a number and touches no memory.
    let seconds = unsafe { libc::alarm(0) };
    seconds != 0
}
