//! From a confined argv to what is spawned: its words and its descriptors.
//!
//! bwrap's options and the stage's plan travel by descriptor, so neither has the bounds of an argv; the stage itself
//! does where it can. The numbers are fixed, so that a plan is the same text every time.

use std::ffi::{CString, OsStr, OsString};
use std::io;
use std::os::fd::{OwnedFd, RawFd};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::sync::{Arc, OnceLock};

use confine_backends::Bwrap;
use confine_core::Backend as _;
use confine_core::backend::{Handover, Launch};
use confine_core::policy::env::Environment;
use confine_core::{AbsPath, ConfinedArgv, LaunchFault, LaunchStage};
use confine_stage::plan::{Bound, Plan, TerminalSize};
use nix::errno::Errno;
use nix::unistd::Uid;

use crate::beneath::Walk;
use crate::fault;
use crate::guard::Guard;
use crate::sealed;
use crate::spawn::{Group, Parent, Request};
use crate::stream::Program;

/// bwrap takes 9,000 words in all; a longer command goes to the stage with its plan.
const COMMAND: usize = 4_000;
const WORDS: RawFd = 2;
const STDERR: RawFd = 3;
const CONTROL: RawFd = 4;
const OPTIONS: RawFd = 5;
const PLAN: RawFd = 6;
const STAGE: RawFd = 7;

/// How the stage gets into the sandbox.
pub(crate) enum Image {
    /// A sealed copy, made at the first launch: no mount point, no path that could be replaced.
    Sealed(OnceLock<Option<Arc<OwnedFd>>>),
    /// Its checked file.
    File,
}

impl Image {
    /// A copy of `stage`; `None` where it goes by its file, also because `vm.memfd_noexec` is 2.
    fn copy(&self, stage: &AbsPath) -> Option<Arc<OwnedFd>> {
        match self {
            Self::File => None,
            Self::Sealed(once) => {
                once.get_or_init(|| sealed::program(stage.as_path()).ok().map(Arc::new)).clone()
            }
        }
    }
}

/// Everything that one launch hands over.
pub(crate) struct Parcel {
    /// The program's descriptors.
    pub(crate) program: Program,
    /// The stage's end of the control socket.
    pub(crate) control: OwnedFd,
    /// The launcher's own standard error.
    pub(crate) words: OwnedFd,
    /// The program's environment, and so the wrapper's: nothing else may be readable at `/proc/1/environ`.
    pub(crate) environment: Environment,
    /// What is owed afterwards. Without it the stage waits for the word that it is known.
    pub(crate) guard: Option<Guard>,
}

/// What the spawning thread needs.
///
/// # Errors
/// A word with a NUL, or what the system says about the files in memory.
pub(crate) fn request(
    confined: &ConfinedArgv,
    image: &Image,
    parcel: Parcel,
) -> Result<Request, LaunchFault> {
    let launch = &confined.launch;
    let copy = image.copy(&launch.stage);
    let words = plan_words(launch, &parcel, bound(&confined.bound)?);
    let plan = sealed::words(&words).map_err(|error| unmade(&error))?;
    let Parcel { program, control, words, environment, guard } = parcel;
    let mut descriptors =
        vec![(0, program.stdin), (1, program.stdout), (WORDS, words), (CONTROL, control), (PLAN, plan)];
    descriptors.extend(program.stderr.map(|stderr| (STDERR, stderr)));
    if let Some(wrapper) = &launch.wrapper
        && wrapper.handover == Handover::Descriptor
    {
        descriptors.push((OPTIONS, sealed::words(&wrapper.options).map_err(|error| unmade(&error))?));
    }
    let in_memory = descriptors.iter().filter(|(target, _)| matches!(*target, OPTIONS | PLAN));
    let kept = in_memory.map(|(_, file)| file.try_clone()).collect::<Result<_, _>>();
    if let Some(copy) = &copy {
        descriptors.push((STAGE, copy.try_clone().map_err(|error| unmade(&error))?));
    }
    let argv = argv(launch, copy.is_some());
    let (program, group) = match &launch.wrapper {
        Some(wrapper) => (wrapper.program.to_os_string(), Group::Own),
        None => (stage_word(launch, copy.is_some()), Group::Callers),
    };
    Ok(Request {
        program: c_string(program)?,
        argv: argv.into_iter().map(c_string).collect::<Result<_, _>>()?,
        environment: variables(environment)?,
        descriptors,
        kept: kept.map_err(|error| unmade(&error))?,
        group,
        parent: parent(confined),
        guard,
    })
}

/// Nothing is known of what a foreign wrapper expects of the thread that starts it; root's needs its devices.
fn parent(confined: &ConfinedArgv) -> Parent {
    let is_ours = confined.launch.wrapper.is_none() || confined.backend == Bwrap.id();
    let needs_devices = confined.launch.wrapper.is_some() && Uid::effective().is_root();
    if is_ours && !needs_devices { Parent::Caller } else { Parent::Keeper }
}

/// Which files these paths are, without following a link. What is not there is not shown, or fails the launch.
fn bound(paths: &[AbsPath]) -> Result<Vec<Bound>, LaunchFault> {
    let mut walk = Walk::default();
    let identified = paths.iter().map(|path| match walk.stat(path) {
        Ok(stat) => {
            Ok(stat.map(|stat| Bound { device: stat.st_dev, inode: stat.st_ino, path: path.to_os_string() }))
        }
        Err(Errno::ENOENT | Errno::EACCES) => Ok(None),
        Err(errno) => Err(changed(path, errno)),
    });
    identified.filter_map(Result::transpose).collect()
}

fn changed(path: &AbsPath, errno: Errno) -> LaunchFault {
    let text = format!("show `{path}`, which changed since the policy was resolved: {}", errno.desc());
    let fault = LaunchFault::new(LaunchStage::Verify, text);
    LaunchFault { path: Some(path.clone()), ..fault }.help(fault::RACE)
}

/// The options of the plan that only a runner can give, and then the plan.
fn plan_words(launch: &Launch, parcel: &Parcel, bound: Vec<Bound>) -> Vec<OsString> {
    let program = &parcel.program;
    let ours = Plan {
        control: Some(CONTROL),
        await_word: parcel.guard.is_none(),
        stderr: program.stderr.as_ref().map(|_| STDERR),
        tty: program.terminal.map(|(rows, columns)| TerminalSize { rows, columns }),
        bound,
        ..Plan::default()
    };
    let mut words = ours.encode();
    words.extend(launch.plan.iter().cloned());
    if is_long(launch) {
        words.push("--".into());
        words.extend(launch.command.iter().cloned());
    }
    words
}

fn is_long(launch: &Launch) -> bool {
    launch.command.len() > COMMAND
}

fn argv(launch: &Launch, copied: bool) -> Vec<OsString> {
    let mut words: Vec<OsString> = Vec::new();
    if let Some(wrapper) = &launch.wrapper {
        words.push(wrapper.program.to_os_string());
        match wrapper.handover {
            Handover::Descriptor => words.extend(["--args".into(), OPTIONS.to_string().into(), "--".into()]),
            Handover::Words => words.extend(wrapper.options.iter().cloned()),
        }
    }
    words.push(stage_word(launch, copied));
    words.extend(["--args".into(), PLAN.to_string().into()]);
    if !is_long(launch) {
        words.push("--".into());
        words.extend(launch.command.iter().cloned());
    }
    words
}

fn stage_word(launch: &Launch, copied: bool) -> OsString {
    match (copied, &launch.wrapper) {
        (true, _) => format!("/proc/self/fd/{STAGE}").into(),
        (false, Some(_)) => launch.stage_inside.to_os_string(),
        (false, None) => launch.stage.to_os_string(),
    }
}

fn variables(environment: Environment) -> Result<Vec<CString>, LaunchFault> {
    let pair = |(name, value): (OsString, OsString)| {
        let mut word = name;
        word.push("=");
        word.push(value);
        c_string(word)
    };
    environment.variables.into_iter().map(pair).collect()
}

fn c_string(word: OsString) -> Result<CString, LaunchFault> {
    CString::new(word.into_vec()).map_err(|error| {
        let shown = confine_core::Text::from(OsStr::from_bytes(error.into_vec().as_slice()));
        LaunchFault::new(LaunchStage::Usage, format!("pass `{shown}` on: it holds a NUL byte"))
    })
}

fn unmade(error: &io::Error) -> LaunchFault {
    fault::of_call(LaunchStage::Spawn, "make a sealed file in memory", error)
}
