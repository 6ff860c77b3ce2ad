//! The main table: every row once a round, in an order that turns, so that no row always follows the same one.

use std::io::{IsTerminal as _, Write as _};

use crate::fault::Fault;
use crate::place::Place;
use crate::row::{Cost, Row};
use crate::statistics::{median, milliseconds, p99};

/// All costs of one row, by round.
pub(crate) struct Series {
    pub(crate) row: Row,
    costs: Vec<Cost>,
}

impl Series {
    /// The middle wall-clock time, in milliseconds.
    pub(crate) fn median(&self) -> f64 {
        median(self.walls())
    }

    /// 99 of 100 launches took less, in milliseconds.
    pub(crate) fn p99(&self) -> f64 {
        p99(self.walls())
    }

    /// The middle processor time of all processes that took part, in milliseconds.
    pub(crate) fn processor(&self) -> f64 {
        median(self.costs.iter().map(|cost| milliseconds(cost.processor)))
    }

    /// The median of the ratios to `base`, pair by pair within a round.
    pub(crate) fn ratio(&self, base: &Series) -> f64 {
        median(self.walls().zip(base.walls()).map(|(own, base)| own / base))
    }

    fn walls(&self) -> impl Iterator<Item = f64> {
        self.costs.iter().map(|cost| milliseconds(cost.wall))
    }
}

/// One unmeasured round first, to fill caches.
pub(crate) fn measure(place: &Place, rows: &[Row], rounds: usize) -> Result<Vec<Series>, Fault> {
    let mut series: Vec<Series> =
        rows.iter().map(|row| Series { row: *row, costs: Vec::with_capacity(rounds) }).collect();
    for one in &series {
        one.row.launch(place)?;
    }
    for round in 0..rounds {
        progress("rounds", round, rounds);
        let length = series.len();
        for turn in 0..length {
            if let Some(one) = series.get_mut((round + turn) % length) {
                one.costs.push(one.row.launch(place)?);
            }
        }
    }
    progress("rounds", rounds, rounds);
    Ok(series)
}

/// One line on a terminal, nothing elsewhere.
pub(crate) fn progress(what: &str, done: usize, of: usize) {
    let mut stderr = std::io::stderr();
    if !stderr.is_terminal() {
        return;
    }
    let end = if done == of { "\n" } else { "" };
    // Progress that cannot be shown is no reason to stop.
    let _ = write!(stderr, "\r{what}: {done} of {of}{end}").and_then(|()| stderr.flush());
}
