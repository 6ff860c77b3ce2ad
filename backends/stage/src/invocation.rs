//! What the stage was called with.

use std::ffi::{CString, OsString};
use std::fs::File;
use std::io::Read;
use std::os::unix::ffi::OsStringExt;

use nix::errno::Errno;

use crate::failure::Failure;
use crate::plan::{self, Plan, PlanError, Role};
use crate::status::Step;
use crate::sys;

/// A plan and the program's argv, which is never empty.
pub(crate) struct Invocation {
    pub(crate) plan: Plan,
    pub(crate) program: CString,
    pub(crate) argv: Vec<CString>,
}

impl Invocation {
    /// From the process's words, without the first.
    pub(crate) fn read(words: impl Iterator<Item = OsString>) -> Result<Self, Failure> {
        let mut words = words.peekable();
        let (plan, command) = if words.next_if(|word| word == "--args").is_some() {
            let (plan, command) = read_args(words.next())?;
            match (words.next(), command.is_empty()) {
                (Some(separator), true) if separator == "--" => (plan, words.collect()),
                (None, false) => (plan, command),
                _ => return Err(unreadable(&PlanError::Lacking("--"))),
            }
        } else {
            Plan::decode(words).map_err(|error| unreadable(&error))?
        };
        check(&plan)?;
        let argv = command.into_iter().map(word).collect::<Result<Vec<_>, _>>()?;
        let program =
            argv.first().ok_or_else(|| Failure::words(Step::Plan, "no command after `--`"))?.clone();
        Ok(Self { plan, program, argv })
    }
}

/// What no option by itself shows.
fn check(plan: &Plan) -> Result<(), Failure> {
    let complaint = if plan.cwd.is_empty() {
        "no `--cwd`"
    } else if plan.control.is_some() && plan.control == plan.stderr {
        "`--control` and `--stderr` are one descriptor"
    } else if plan.await_word && plan.control.is_none() {
        "`--await-word` without `--control`"
    } else if plan.scratch.is_some() && plan.role == Role::Init {
        "`--scratch` without `--role supervisor`"
    } else {
        return Ok(());
    };
    Err(Failure::words(Step::Plan, complaint))
}

fn read_args(fd: Option<OsString>) -> Result<(Plan, Vec<OsString>), Failure> {
    let fd = fd.ok_or_else(|| unreadable(&PlanError::Lacking("--args")))?;
    let number = fd.to_str().and_then(plan::descriptor).ok_or_else(|| {
        let value = fd.to_string_lossy().into_owned();
        unreadable(&PlanError::Malformed { option: "--args", value })
    })?;
    let fd = sys::adopt(number).map_err(Failure::of(Step::Plan, "read `--args`"))?;
    // Most plans in one piece: a pipe does not say how much there is.
    let mut bytes = Vec::with_capacity(8 * 1024);
    File::from(fd).read_to_end(&mut bytes).map_err(|error| Failure {
        step: Step::Plan,
        errno: error.raw_os_error().unwrap_or(0),
        detail: b"read `--args`".to_vec(),
    })?;
    Plan::decode_args(&bytes).map_err(|error| unreadable(&error))
}

fn word(word: OsString) -> Result<CString, Failure> {
    CString::new(word.into_vec()).map_err(|_| Failure::of(Step::Plan, "command")(Errno::EINVAL))
}

fn unreadable(error: &PlanError) -> Failure {
    Failure::words(Step::Plan, &error.to_string())
}
