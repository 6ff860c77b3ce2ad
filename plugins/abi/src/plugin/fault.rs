//! Why a call has no reply.

use std::error::Error;
use std::fmt;

use crate::Code;

/// A code for the host, and a reason for the user. Every error becomes one by `?`, as [`Code::Failed`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    code: Code,
    reason: String,
}

impl Fault {
    /// With the reason left to what was logged before.
    pub fn new(code: Code, reason: impl fmt::Display) -> Self {
        Self { code, reason: reason.to_string() }
    }

    /// The input is not what it has to be.
    pub fn bad_input(reason: impl fmt::Display) -> Self {
        Self::new(Code::BadInput, reason)
    }

    /// It did not work.
    pub fn failed(reason: impl fmt::Display) -> Self {
        Self::new(Code::Failed, reason)
    }

    /// What the host gets.
    pub fn code(&self) -> Code {
        self.code
    }

    /// What the user reads; empty where the host has logged why.
    pub fn reason(&self) -> &str {
        &self.reason
    }
}

impl From<Code> for Fault {
    fn from(code: Code) -> Self {
        Self { code, reason: String::new() }
    }
}

impl<E: Error> From<E> for Fault {
    fn from(error: E) -> Self {
        Self::failed(error)
    }
}
