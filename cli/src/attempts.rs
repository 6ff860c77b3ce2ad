//! The runs of one call, as its report tells them.

use confine_core::Report;
use confine_core::denial::Target;
use confine_core::escalate::Grant;
use confine_core::report::Attempt;

/// One run, with everything that was granted until then.
pub(crate) fn attempt(report: &Report, granted: &[Grant]) -> Attempt {
    Attempt {
        grant: together(granted),
        outcome: report.outcome.clone(),
        verdict: report.verdict,
        denials: report.denials.clone(),
        output: report.output.clone(),
    }
}

/// What an earlier run did to the host is told with the last one's.
pub(crate) fn gather(report: &mut Report, earlier: Report) {
    report.new_repositories.splice(..0, earlier.new_repositories);
    report.violations.splice(..0, earlier.violations);
    report.quarantined.splice(..0, earlier.quarantined);
    report.leftovers.splice(..0, earlier.leftovers);
}

/// What a run had beyond the policy of the first.
fn together(granted: &[Grant]) -> Option<Grant> {
    match granted {
        [] => None,
        [one] => Some(one.clone()),
        several => Some(Grant::Grants(several.iter().flat_map(single).collect())),
    }
}

/// A denial names single grants only.
fn single(grant: &Grant) -> Vec<Target> {
    match grant {
        Grant::Grants(targets) => targets.clone(),
        Grant::Mode(_) => Vec::new(),
    }
}
