//! Order statistics of measured launches.

use std::time::Duration;

/// The middle of the sorted values (the upper one of two); 0 where there are none.
pub(crate) fn median(values: impl IntoIterator<Item = f64>) -> f64 {
    quantile(values, 50)
}

/// The value below which 99 of 100 lie.
pub(crate) fn p99(values: impl IntoIterator<Item = f64>) -> f64 {
    quantile(values, 99)
}

/// In milliseconds.
pub(crate) fn milliseconds(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}

fn quantile(values: impl IntoIterator<Item = f64>, percent: usize) -> f64 {
    let mut sorted: Vec<f64> = values.into_iter().collect();
    sorted.sort_by(f64::total_cmp);
    let last = sorted.len().saturating_sub(1);
    sorted.get((sorted.len() * percent / 100).min(last)).copied().unwrap_or(0.0)
}
