//! The ways of launching `/bin/true` that are compared.

use std::process::Stdio;
use std::time::{Duration, Instant};

use nix::sys::resource::{Usage, UsageWho, getrusage};
use nix::sys::time::TimeValLike as _;

use crate::fault::Fault;
use crate::place::Place;

/// A way of launching.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Row {
    /// posix_spawn of the program itself.
    Floor,
    /// bwrap with the options of the default plan, and its own reaper instead of the stage.
    RawBwrap,
    /// The library, bwrap backend, from a process that lives on.
    LibraryBwrap,
    /// The library, landlock backend.
    LibraryLandlock,
    /// A `confine run` process, bwrap backend.
    CliBwrap,
    /// A `confine run` process, landlock backend.
    CliLandlock,
}

/// What one launch took, from before the spawn until everything was reaped.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cost {
    /// Wall-clock time.
    pub(crate) wall: Duration,
    /// User and system time of this process and of all that it waited for.
    pub(crate) processor: Duration,
}

/// A row's base and the largest ratio to it that we want.
pub(crate) struct Target {
    pub(crate) base: Row,
    pub(crate) ratio: f64,
}

impl Row {
    pub(crate) const ALL: [Self; 6] = [
        Self::Floor,
        Self::RawBwrap,
        Self::LibraryBwrap,
        Self::LibraryLandlock,
        Self::CliBwrap,
        Self::CliLandlock,
    ];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Floor => "floor",
            Self::RawBwrap => "raw-bwrap",
            Self::LibraryBwrap => "library-bwrap",
            Self::LibraryLandlock => "library-landlock",
            Self::CliBwrap => "cli-bwrap",
            Self::CliLandlock => "cli-landlock",
        }
    }

    pub(crate) const fn target(self) -> Option<Target> {
        match self {
            Self::Floor | Self::RawBwrap => None,
            Self::LibraryBwrap => Some(Target { base: Self::RawBwrap, ratio: 1.2 }),
            Self::CliBwrap => Some(Target { base: Self::RawBwrap, ratio: 1.45 }),
            Self::LibraryLandlock => Some(Target { base: Self::Floor, ratio: 2.5 }),
            Self::CliLandlock => Some(Target { base: Self::Floor, ratio: 5.0 }),
        }
    }

    /// Launches once. Anything but success is a fault, so that no row is fast by failing.
    pub(crate) fn launch(self, place: &Place) -> Result<Cost, Fault> {
        let before = processor()?;
        let start = Instant::now();
        match self {
            Self::LibraryBwrap => place.bwrap.launch()?,
            Self::LibraryLandlock => place.landlock.launch()?,
            Self::Floor | Self::RawBwrap | Self::CliBwrap | Self::CliLandlock => self.spawn(place)?,
        }
        let wall = start.elapsed();
        Ok(Cost { wall, processor: processor()?.saturating_sub(before) })
    }

    fn spawn(self, place: &Place) -> Result<(), Fault> {
        let mut command = place.command(self, &["/bin/true"]);
        let output = command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .and_then(std::process::Child::wait_with_output)
            .map_err(|error| Fault::System("start", self.name().into(), error))?;
        if output.status.success() {
            return Ok(());
        }
        Err(Fault::Failed(self.name(), output.status, String::from_utf8_lossy(&output.stderr).into_owned()))
    }
}

fn processor() -> Result<Duration, Fault> {
    let of = |who| {
        getrusage(who)
            .map(|usage: Usage| usage.user_time() + usage.system_time())
            .map_err(|error| Fault::System("read", "the processor time".into(), error.into()))
    };
    let total = of(UsageWho::RUSAGE_SELF)? + of(UsageWho::RUSAGE_CHILDREN)?;
    Ok(Duration::from_micros(u64::try_from(total.num_microseconds()).unwrap_or(0)))
}
