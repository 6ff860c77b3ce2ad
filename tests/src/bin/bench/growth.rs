//! How a launch grows with what a policy lists.

use std::fmt::Write as _;
use std::path::Path;
use std::time::Instant;

use crate::fault::{Fault, system};
use crate::place::Place;
use crate::rounds::progress;
use crate::statistics::{median, milliseconds};

/// What there is more of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum What {
    /// Hidden files, each in a directory of its own, on the bwrap backend.
    Masks,
    /// Write grants, each a directory of its own, on the landlock backend.
    Rules,
}

/// One point of a curve.
pub(crate) struct Point {
    pub(crate) what: What,
    pub(crate) count: usize,
    /// In milliseconds, or why such a policy is refused.
    pub(crate) median: Result<f64, String>,
}

const POINTS: [(What, usize); 6] = [
    (What::Masks, 10),
    (What::Masks, 100),
    (What::Masks, 300),
    (What::Rules, 10),
    (What::Rules, 1_000),
    (What::Rules, 5_000),
];

impl What {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Masks => "masks",
            Self::Rules => "landlock-rules",
        }
    }

    const fn backend(self) -> &'static str {
        match self {
            Self::Masks => "bwrap",
            Self::Rules => "landlock",
        }
    }

    /// The policy that lists `paths`.
    fn policy(self, paths: &[String]) -> String {
        let key = match self {
            Self::Masks => "hide",
            Self::Rules => "write",
        };
        format!("[filesystem]\n{key} = [{}]\n", paths.join(", "))
    }

    /// Makes one thing to list in `directory`, and answers what to list.
    fn make(self, directory: &Path) -> std::io::Result<String> {
        std::fs::create_dir_all(directory)?;
        let listed = match self {
            Self::Masks => directory.join("secret"),
            Self::Rules => directory.to_owned(),
        };
        if self == Self::Masks {
            std::fs::write(&listed, "secret")?;
            std::fs::write(directory.join("plain"), "plain")?;
        }
        Ok(format!("\"{}\"", listed.display()))
    }
}

/// All points, `rounds` launches each.
pub(crate) fn measure(place: &Place, rounds: usize) -> Result<Vec<Point>, Fault> {
    let mut points = Vec::new();
    for (done, (what, count)) in POINTS.into_iter().enumerate() {
        progress("growth", done, POINTS.len());
        points.push(point(place, what, count, rounds)?);
    }
    progress("growth", POINTS.len(), POINTS.len());
    Ok(points)
}

fn point(place: &Place, what: What, count: usize, rounds: usize) -> Result<Point, Fault> {
    let base = place.base().join(format!("{}-{count}", what.name()));
    let mut paths = Vec::with_capacity(count);
    for index in 0..count {
        let mut name = String::new();
        // Writing to a String cannot fail.
        let _ = write!(name, "{index:05}");
        paths.push(what.make(&base.join(name)).map_err(system("fill", base.to_string_lossy()))?);
    }
    let library = match place.library(what.backend(), &what.policy(&paths)) {
        Ok(library) => library,
        Err(Fault::Refused(reason)) => return Ok(Point { what, count, median: Err(reason) }),
        Err(fault) => return Err(fault),
    };
    library.launch()?;
    let mut walls = Vec::with_capacity(rounds);
    for _ in 0..rounds {
        let start = Instant::now();
        library.launch()?;
        walls.push(milliseconds(start.elapsed()));
    }
    Ok(Point { what, count, median: Ok(median(walls)) })
}
