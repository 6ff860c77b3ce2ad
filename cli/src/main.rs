//! The `confine` command.

#![forbid(unsafe_code)]

use std::process::ExitCode;

/// musl's own gives memory back to the kernel at once, which interrupts every other processor that runs a thread of ours.
#[cfg(target_env = "musl")]
#[global_allocator]
static MEMORY: dlmalloc::GlobalDlmalloc = dlmalloc::GlobalDlmalloc;

fn main() -> ExitCode {
    confine_cli::main()
}
