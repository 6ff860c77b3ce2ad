//! What a killed run left on the host is finished by the next command that starts.

use confine_runner::guard::{self, Aftermath, Recovered};
use confine_runner::places::Places;

use crate::fault;
use crate::run::account;

/// Pays the debts of dead runs; says so only where their checks found something.
pub(crate) fn recover() {
    for Recovered { run, aftermath } in guard::recover(&Places::here()) {
        let Aftermath { violations, quarantined, new_repositories } = aftermath;
        if violations.is_empty() && quarantined.is_empty() && new_repositories.is_empty() {
            continue;
        }
        fault::line(&format!("run {run} was killed; its checks are made now"));
        account::found(&violations, &quarantined);
        account::made(&new_repositories);
    }
}
