//! The plugin's library and its table of C functions: the crate's only unsafe code.

#![allow(unsafe_code, reason = "the plugin is C, and so is what it calls")]

mod library;
mod process;
mod state;
mod table;

pub(crate) use library::Plugin;
pub(crate) use process::{exit, stop_alarm};
pub(crate) use state::State;
