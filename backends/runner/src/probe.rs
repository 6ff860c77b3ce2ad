//! What a backend does on this host, by attempt: each effect is tried inside a real sandbox, as a grandchild of the real
//! wrapper with the real profile, and judged by looking at the world afterwards.
//!
//! [`ATTEMPTS`] is one table. Each attempt is its own positive control: the same program does the same without a
//! sandbox, and where that fails, nothing is claimed. What succeeds inside is not governed, whatever the backend says.
//! Attempts are made by a program (see [`attempt()`]) that needs nothing else on the host.

mod attempt;
pub(crate) mod cache;
mod doubt;
mod files;
mod finding;
mod ground;
mod inside;
mod limits;
mod network;
mod place;
mod policy;
mod processes;
mod program;
mod system;
mod told;
mod trial;

pub use attempt::{ATTEMPTS, Attempt, Launch, UNTRIED, attempt_at};
pub use cache::{VERSION, remember};
pub use finding::{Finding, is_contradicted, refined};
pub use place::Throwaway;
pub use program::{WORD, attempt, makes_namespaces};
pub use told::Told;
pub use trial::{Answer, Controls, Trial, TrialError};
