//! `confine-stage [--args FD | OPTION…] -- COMMAND…`: see the library.

use std::process::ExitCode;

use confine_stage::Arena;

#[global_allocator]
static MEMORY: Arena = Arena::unused();

fn main() -> ExitCode {
    confine_stage::run()
}
