//! `confine-stage [--args FD | OPTION…] -- COMMAND…`: see the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    confine_stage::run()
}
