//! One launch, from the words to the exit code.

use std::ffi::OsString;
use std::os::fd::OwnedFd;

use nix::sys::prctl::set_dumpable;
use nix::unistd::getpid;

use crate::failure::Failure;
use crate::invocation::Invocation;
use crate::plan::{Plan, Role};
use crate::program::Program;
use crate::reaper::Reaper;
use crate::report::Report;
use crate::session::{self, Side};
use crate::status::Step;
use crate::{descent, descriptors, exit, mounts, processes, sys, terminal, view};

/// The whole binary: from the process's own words, the first of which is its name, to its exit code.
pub fn run(words: impl Iterator<Item = OsString>) -> u8 {
    sys::ignore_broken_pipes();
    let (invocation, report) = match Invocation::read(words.skip(1)).and_then(open) {
        Ok(opened) => opened,
        Err(failure) => {
            Report::Message.fail(&failure);
            return exit::FAILED;
        }
    };
    let code = launch(&invocation, &report).unwrap_or_else(|failure| {
        report.fail(&failure);
        exit::FAILED
    });
    // The process ends next, and the runner waits for it.
    std::mem::forget((invocation, report));
    code
}

fn open(invocation: Invocation) -> Result<(Invocation, Report), Failure> {
    let report = match invocation.plan.control {
        Some(fd) => Report::Control(sys::adopt(fd).map_err(Failure::of(Step::Plan, "use `--control`"))?),
        None => Report::Message,
    };
    Ok((invocation, report))
}

fn launch(invocation: &Invocation, report: &Report) -> Result<u8, Failure> {
    let plan = &invocation.plan;
    // Children of a process that ignores it, as a spawner may have left it, are never waited for.
    sys::default_signal(libc::SIGCHLD);
    set_dumpable(false).map_err(Failure::of(Step::Process, "become non-dumpable"))?;
    let stderr = open_descriptors(plan, report)?;
    let lifeline = match take_role(plan.role)? {
        Side::Known(code) => return Ok(code),
        Side::Supervisor(lifeline) => lifeline,
    };
    if plan.await_word && !report.awaits_go() {
        return Ok(exit::of_status(libc::SIGKILL));
    }
    view::enter(&plan.cwd)?;
    view::check_masks(&plan.masked)?;
    view::check_bound(&plan.bound)?;
    if plan.role == Role::Init {
        mounts::check(&plan.bound, &plan.writable)?;
    }
    let terminal = plan.tty.map(|size| terminal::open_for(size, report)).transpose()?;
    let mut scratch = None;
    let code = Reaper::start(Program { invocation, terminal, stderr }, report, lifeline).map(|mut reaper| {
        scratch = reaper.scratch.take();
        reaper.run()
    });
    if plan.role == Role::Supervisor {
        descent::end();
    }
    if let Some(scratch) = scratch {
        scratch.remove();
    }
    code
}

/// Adopts the program's standard error, closes what nobody listed, and checks 0 to 2.
fn open_descriptors(plan: &Plan, report: &Report) -> Result<Option<OwnedFd>, Failure> {
    let adopted = plan.stderr.map(sys::adopt).transpose();
    let mut stderr = adopted.map_err(Failure::of(Step::Stdio, "the program's standard error"))?;
    let control = match report {
        Report::Control(socket) => Some(socket),
        Report::Message => None,
    };
    descriptors::close_all_but(&[control, stderr.as_ref()])?;
    descriptors::check(stderr.as_mut())?;
    Ok(stderr)
}

/// Only process 1 takes its namespace with it, so nobody else may act as it; a supervisor that cannot see its descent
/// could not end it.
fn take_role(role: Role) -> Result<Side, Failure> {
    match role {
        Role::Supervisor if !processes::are_visible() => Err(Failure::words(
            Step::Process,
            "no `/proc` of this namespace, where a supervisor sees its descent",
        )),
        Role::Supervisor => session::begin(),
        Role::Init if getpid().as_raw() == 1 => Ok(Side::Supervisor(None)),
        Role::Init => Err(Failure::words(Step::Process, "not process 1 of a namespace")),
    }
}
