//! The harness of the real-sandbox tests: users, backends, scenes, and the `confine` that is under test.
//!
//! A test runs the command line as a user would, for each user and each backend, and then looks at the world: a file
//! is there or not, a process is gone. [`needs!`] is the only way to skip.

pub mod backend;
pub mod confine;
pub mod conformance;
pub mod finished;
pub mod installation;
pub mod library;
pub mod metadata;
pub mod need;
pub mod plugin;
pub mod program;
pub mod pty;
pub mod repository;
pub mod running;
pub mod scene;
pub mod served;
pub mod spawner;
pub mod stub;
pub mod tmux;
pub mod user;
pub mod world;

pub use backend::Backend;
pub use confine::Confine;
pub use finished::Finished;
pub use pty::Pty;
pub use running::Running;
pub use scene::{Scene, Temporary, each};
pub use stub::Stub;
pub use user::User;
