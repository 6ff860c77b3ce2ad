//! What a killed run left on the host is finished by the next command that starts.

use confine_runner::guard::{self, Recovered};
use confine_runner::places::Places;

use crate::fault;
use crate::run::account;

/// Pays the debts of dead runs; says so only where their checks found something.
pub(crate) fn recover() {
    for Recovered { run, aftermath } in guard::recover(&Places::here()) {
        if aftermath.violations.is_empty() && aftermath.quarantined.is_empty() {
            continue;
        }
        fault::line(&format!("run {run} was killed; its checks are made now"));
        account::found(&aftermath.violations, &aftermath.quarantined);
    }
}
