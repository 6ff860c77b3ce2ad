//! The helper that runs an egress plugin, for real: what it loads and refuses, what passes over its lanes, and what a
//! plugin that misbehaves costs.

mod exchange;
mod load;
mod misbehaviour;

use std::path::PathBuf;

use confine_tests::Temporary;
use confine_tests::plugin::compile;

const MISBEHAVE: &str = "tests/programs/plugins/misbehave.c";
const SHAPE: &str = "tests/programs/plugins/shape.c";
const LATE_LIAR: &str = "examples/egress-late-liar/late_liar.c";

/// A place for what a test compiles.
fn place() -> Temporary {
    Temporary::new("/tmp/confine-plugin-")
}

fn misbehave(place: &Temporary) -> PathBuf {
    compile(MISBEHAVE, place.path(), &[])
}
