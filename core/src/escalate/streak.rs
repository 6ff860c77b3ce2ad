//! Failures of the launcher in a row: something is wrong with the host, and no grant mends it.

use crate::Verdict;

/// How many in a row give a report.
const REPORTED: u32 = 5;

/// A count over the runs of a session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Streak {
    in_a_row: u32,
}

/// The launcher has failed that often in a row. Said once, until it succeeds again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the sandbox could not be set up {0} times in a row; `confine --probe` says what works on this host")]
pub struct Repeated(pub u32);

impl Streak {
    /// After one run.
    pub fn on(&mut self, verdict: Verdict) -> Option<Repeated> {
        match verdict {
            Verdict::LauncherFailed => {
                self.in_a_row = self.in_a_row.saturating_add(1);
                (self.in_a_row == REPORTED).then_some(Repeated(REPORTED))
            }
            // Nothing was launched, so nothing is known.
            Verdict::Refused => None,
            _ => {
                self.in_a_row = 0;
                None
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn five_failures_in_a_row_give_one_report() {
        let mut streak = Streak::default();
        let failed: Vec<_> = (0..12).filter_map(|_| streak.on(Verdict::LauncherFailed)).collect();
        assert_eq!(failed, [Repeated(5)]);
        assert_eq!(streak.on(Verdict::Passed), None);
        let again: Vec<_> = (0..4).map(|_| streak.on(Verdict::LauncherFailed)).collect();
        assert_eq!(again, [None; 4]);
        assert_eq!(streak.on(Verdict::Refused), None);
        assert_eq!(streak.on(Verdict::LauncherFailed), Some(Repeated(5)));
    }
}
