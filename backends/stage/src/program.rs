//! The program's process, from fork to execve(2).

use std::collections::BTreeMap;
use std::ffi::{CStr, CString, OsStr, OsString};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;

use nix::sys::prctl::{set_no_new_privs, set_pdeathsig};
use nix::sys::signal::{SigSet, SigmaskHow, Signal, sigprocmask};
use nix::sys::socket::{AddressFamily, SockFlag, SockType, socketpair};
use nix::unistd::{ForkResult, Pid, dup2_stderr, execve, getpid, getppid, setsid, write};

use crate::domain::Domain;
use crate::failure::{Failure, number};
use crate::invocation::Invocation;
use crate::lookup::{self, Miss};
use crate::plan::{Bound, Rule};
use crate::scratch::Scratch;
use crate::status::{Record, Step};
use crate::{capabilities, descriptors, exit, filter, rlimits, sys, terminal};

/// What the program's process needs beside the plan.
pub(crate) struct Program<'a> {
    pub(crate) invocation: &'a Invocation,
    /// The slave.
    pub(crate) terminal: Option<OwnedFd>,
    pub(crate) stderr: Option<OwnedFd>,
}

/// A process on its way to the program.
pub(crate) struct Started {
    pub(crate) pid: Pid,
    /// One [`Record`] a message; end of file when the program runs or the process is gone.
    pub(crate) words: OwnedFd,
    /// The private temporary directory.
    pub(crate) scratch: Option<Scratch>,
}

/// What the program's process found out on its way.
struct Ready {
    file: Result<CString, Miss>,
    scratch: Option<Rule>,
}

impl Program<'_> {
    /// Forks, makes the private directory meanwhile, and drops what is the child's alone.
    pub(crate) fn start(self) -> Result<Started, Failure> {
        let failed = |words| Failure::of(Step::Process, words);
        let (near, far) = socketpair(AddressFamily::Unix, SockType::SeqPacket, None, SockFlag::SOCK_CLOEXEC)
            .map_err(failed("pair"))?;
        let stage = getpid();
        match sys::fork().map_err(failed("fork"))? {
            ForkResult::Parent { child } => {
                let plan = self.invocation.plan.scratch.as_ref();
                let scratch = plan.map(|rule| Scratch::create(rule, &near)).transpose()?;
                Ok(Started { pid: child, words: near, scratch })
            }
            ForkResult::Child => sys::exit_now(self.run(stage, &far)),
        }
    }

    /// Comes back only where something failed.
    fn run(&self, stage: Pid, words: &OwnedFd) -> u8 {
        // write(2) and not send(2): the filter may know sockets and refuse them.
        let say = |record: &Record| {
            let _ = write(words, &record.encode());
        };
        match self.prepare(stage, words) {
            Err(failure) => {
                say(&failure.record());
                exit::FAILED
            }
            Ok(Ready { file, scratch }) => {
                say(&Record::Staged { pid: getpid().as_raw() });
                say(&file.map_or_else(|miss| miss.record(), |file| self.execute(&file, scratch)));
                exit::NOT_EXECUTABLE
            }
        }
    }

    /// Every layer, in the one order that works: each needs rights that the next one takes.
    fn prepare(&self, stage: Pid, words: &OwnedFd) -> Result<Ready, Failure> {
        let plan = &self.invocation.plan;
        self.attach(stage, words)?;
        capabilities::bound()?;
        let mut domain = self.domain()?;
        let mut filter = filter::read(&plan.seccomp)?;
        // As late as the rights for it are there.
        let scratch = plan.scratch.as_ref().map(|rule| Scratch::rule(rule, words)).transpose()?;
        if let Some(rule) = &scratch {
            domain = domain.map(|domain| domain.allow(rule, None)).transpose()?;
        }
        rlimits::apply(&plan.rlimits)?;
        capabilities::drop_all()?;
        set_no_new_privs().map_err(Failure::of(Step::Landlock, "no_new_privs"))?;
        domain.map_or(Ok(()), Domain::enter)?;
        let path = std::env::var_os("PATH");
        let file = lookup::find(OsStr::from_bytes(self.invocation.program.as_bytes()), path.as_deref());
        sys::default_signals();
        if !filter.is_empty() {
            filter::install(&mut filter)?;
        }
        Ok(Ready { file, scratch })
    }

    /// The process's own session and descriptors.
    fn attach(&self, stage: Pid, words: &OwnedFd) -> Result<(), Failure> {
        set_pdeathsig(Signal::SIGKILL).map_err(Failure::of(Step::Process, "parent-death signal"))?;
        if getppid() != stage {
            return Err(Failure::words(Step::Process, "the stage is gone"));
        }
        setsid().map_err(Failure::of(Step::Process, "setsid"))?;
        if let Some(slave) = &self.terminal {
            terminal::take(slave)?;
        }
        if let Some(stderr) = &self.stderr {
            dup2_stderr(stderr).map_err(Failure::of(Step::Stdio, "the program's standard error"))?;
        }
        descriptors::close_all_but(&[Some(words)])
    }

    fn domain(&self) -> Result<Option<Domain>, Failure> {
        let plan = &self.invocation.plan;
        let Some(ruleset) = &plan.landlock else { return Ok(None) };
        let seen: BTreeMap<&OsString, &Bound> = plan.bound.iter().map(|one| (&one.path, one)).collect();
        let domain = ruleset.rules.iter().try_fold(Domain::create(ruleset)?, |domain, rule| {
            domain.allow(rule, seen.get(&rule.path).copied())
        })?;
        match plan.stdio_access {
            Some(access) => domain.allow_stdio(access).map(Some),
            None => Ok(Some(domain)),
        }
    }

    /// Signals are let in last, so that one which came early ends a staged program and not a launch.
    fn execute(&self, file: &CStr, scratch: Option<Rule>) -> Record {
        let environment = self.environment(scratch);
        let Err(errno) = sigprocmask(SigmaskHow::SIG_SETMASK, Some(&SigSet::empty()), None)
            .and_then(|()| execve(file, &self.invocation.argv, &environment));
        Record::ExecFailed { found: true, errno: number(errno), program: file.to_bytes().to_vec() }
    }

    /// The stage's own, with the private directory as TMPDIR where there is one, and with PWD as the program's directory:
    /// bwrap leaves that of its own `--chdir` there.
    fn environment(&self, scratch: Option<Rule>) -> Vec<CString> {
        let directory = ("PWD".into(), self.invocation.plan.cwd.clone());
        let scratch = scratch.map(|rule| ("TMPDIR".into(), rule.path));
        let own: Vec<(OsString, OsString)> = scratch.into_iter().chain([directory]).collect();
        std::env::vars_os()
            .filter(|(name, _)| own.iter().all(|(one, _)| one != name))
            .chain(own.iter().cloned())
            .filter_map(|(name, value)| CString::new([name.as_bytes(), b"=", value.as_bytes()].concat()).ok())
            .collect()
    }
}
