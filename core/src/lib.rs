//! What is allowed, what happened, what to ask. Pure: no files, processes, clocks, environment or threads.
//!
//! Trust domain: runs inside the harness with the caller's rights; everything it knows comes in as arguments.

#![forbid(unsafe_code)]

pub mod approval;
pub mod argv;
pub mod audit;
pub mod backend;
pub mod classify;
pub mod denial;
pub mod effect;
pub mod egress;
pub mod escalate;
pub mod json;
pub mod outcome;
pub mod path;
pub mod policy;
pub mod probe;
pub mod protocol;
pub mod report;
pub mod secret;
pub mod text;
pub mod visible;

pub use argv::{Argv, EmptyArgv};
pub use backend::{
    Backend, BackendId, ConfineError, ConfinedArgv, Gap, Launch, Loss, NeedsRunner, PortableArgv,
};
pub use effect::{Effect, Effects, Governed, Layer, Reason};
pub use outcome::{LaunchFault, LaunchStage, LimitKind, Outcome, Verdict};
pub use path::{AbsPath, PathError};
pub use policy::{Access, Policy, PolicyFile, PolicyId};
pub use probe::Probe;
pub use report::Report;
pub use text::Text;
