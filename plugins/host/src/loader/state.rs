//! One state of a plugin, on its thread.

use std::ffi::c_void;
use std::ptr;
use std::rc::Rc;

use confine_plugin_abi::Code;
use confine_plugin_abi::code::OK;
use confine_plugin_abi::table::{Bytes, Host};

use super::{Plugin, table};
use crate::lane::Lane;

/// What a plugin has opened. Not `Send`: open, call and close are of one thread.
pub(crate) struct State {
    plugin: &'static Plugin,
    lane: Rc<Lane>,
    pointer: *mut c_void,
    /// The plugin may use it until it has closed the state.
    _host: Box<Host>,
}

impl State {
    /// Opens one.
    ///
    /// # Errors
    /// The plugin's code.
    pub(crate) fn open(plugin: &'static Plugin, lane: &Rc<Lane>, config: &[u8]) -> Result<Self, Code> {
        let host = Box::new(table::host(lane));
        let mut pointer = ptr::null_mut();
        if let Some(open) = plugin.table.open {
            // SAFETY: the plugin's own function; the table lives until `close` has returned, since this keeps it, and so does
            // the lane.
            let code = unsafe { open(&raw const *host, Bytes::of(config), &raw mut pointer) };
            checked(lane, code)?;
        }
        Ok(Self { plugin, lane: lane.clone(), pointer, _host: host })
    }

    /// Calls it.
    ///
    /// # Errors
    /// The plugin's code.
    pub(crate) fn call(&mut self, input: &[u8]) -> Result<(), Code> {
        let call = self.plugin.table.call.ok_or(Code::Failed)?;
        let reply = table::reply(&self.lane);
        // SAFETY: the plugin's own function with its own state, on the state's thread; input and sink outlive the call.
        let code = unsafe { call(self.pointer, Bytes::of(input), &raw const reply) };
        checked(&self.lane, code)
    }
}

impl Drop for State {
    fn drop(&mut self) {
        if let Some(close) = self.plugin.table.close {
            // SAFETY: the plugin's own function with its own state, once, and nothing uses that afterwards.
            unsafe { close(self.pointer) }
        }
    }
}

/// A number that is no code is told, and counts as a failure.
fn checked(lane: &Lane, number: i32) -> Result<(), Code> {
    if number != OK && Code::known(number).is_none() {
        lane.log(1, format!("the plugin returned {number}, which is no code").as_bytes());
    }
    Code::check(number)
}
