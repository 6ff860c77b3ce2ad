//! The real binary, as a supervisor on the host and as process 1 of a real bwrap.

mod failures;
mod init;
mod layers;
mod lookup;
mod rig;
mod supervisor;
mod terminal;
