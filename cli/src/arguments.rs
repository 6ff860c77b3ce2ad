//! The arguments as written. One definition gives the parser, the help, the man page and the completions.

mod options;
mod questions;
mod sessions;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{ArgGroup, Args, FromArgMatches as _, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use confine_core::Effects;

pub(crate) use options::{Git, Network, PolicyOptions, RunOptions, Variable};
pub(crate) use questions::{Access, Classify, Description, Explain};
pub(crate) use sessions::{AuditCommand, PresetCommand};

/// The exit codes, for the help and the man page.
pub(crate) const EXIT_CODES: &str = "\
Exit codes of `confine run`:
  the program's own   it ran and exited; 128+N where signal N ended it
  77    refused before it started, or with --strict a violation in a run that exited 0
  124   the time limit was reached; every process is gone
  125   nothing ran: the call is wrong, or the policy cannot be enforced here
  126   the program was found and could not be executed
  127   the program was not found, with its own PATH inside the sandbox
  137, 152, 153   a memory, cpu or file-size limit ended it";

/// Confine a command with the kernel, and say truthfully what happened.
#[derive(Debug, Default, Parser)]
#[command(name = "confine", disable_version_flag = true, disable_help_subcommand = true)]
#[command(args_conflicts_with_subcommands = true, max_term_width = 100, after_long_help = EXIT_CODES)]
pub(crate) struct Arguments {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
    /// Say what works on this host, from attempts (also `confine probe`).
    #[arg(long)]
    pub(crate) probe: bool,
    /// Print the version; with --json, that of every format.
    #[arg(long, short = 'V', conflicts_with = "probe")]
    pub(crate) version: bool,
    /// Answer as JSON.
    #[arg(long)]
    pub(crate) json: bool,
    /// Exit 125 unless one usable backend enforces these effects.
    #[arg(long, value_name = "EFFECT,…", requires = "probe")]
    pub(crate) require: Option<Effects>,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Confine a command, run it, and exit as it did.
    Run(Box<Run>),
    /// Print the wrapped argv that any program can spawn, and what each layer enforces.
    Plan(Box<Plan>),
    /// Say whether something is allowed, by which rule and layer, and what would change it; exit 1 where it is not.
    Explain(Box<Explain>),
    /// Judge how a command ended that was spawned without confine, from a plan.
    Classify(Box<Classify>),
    /// Say what works on this host, from attempts.
    Probe(Probe),
    /// Runs, their output and approvals for programs in other languages, as lines of JSON.
    Serve(Serve),
    /// Wrap the command of a coding agent before it runs it: reads its event, answers with the wrapped command.
    Hook(Hook),
    /// Look at policies.
    Policy {
        /// What to do with them.
        #[command(subcommand)]
        command: PolicyCommand,
    },
    /// Pin third-party backends: programs that `--backend NAME` may run.
    Backend {
        /// What to do with them.
        #[command(subcommand)]
        command: BackendCommand,
    },
    /// Look at how refusals are worded, or measure them again.
    Dialect {
        /// What to do with them.
        #[command(subcommand)]
        command: DialectCommand,
    },
    /// List or put back what the checks for protected names moved away.
    Quarantine {
        /// What to do with it.
        #[command(subcommand)]
        command: QuarantineCommand,
    },
    /// Look at what was asked and answered in sessions.
    Audit {
        /// What to do with it.
        #[command(subcommand)]
        command: AuditCommand,
    },
    /// Look at presets, or choose one for a session.
    Preset {
        /// What to do with them.
        #[command(subcommand)]
        command: PresetCommand,
    },
    /// Print the completions of a shell.
    Completions {
        /// Which shell.
        shell: Shell,
    },
    /// Print the man page.
    Man,
}

impl Arguments {
    /// Reads the process's words. Those of the commonest command are read by themselves first: to describe every other
    /// command takes longer than to read them. What is wrong is said by the whole.
    ///
    /// # Errors
    /// What is wrong, or the help that was asked for.
    pub(crate) fn read(words: &[OsString]) -> Result<Self, clap::Error> {
        match Run::alone(words) {
            Some(run) => Ok(Self { command: Some(Command::Run(Box::new(run))), ..Self::default() }),
            None => Self::try_parse_from(words),
        }
    }
}

impl Run {
    fn alone(words: &[OsString]) -> Option<Self> {
        let (_, own) = words.split_first()?;
        own.first().filter(|word| *word == "run")?;
        let matches = Self::augment_args(clap::Command::new("run")).try_get_matches_from(own).ok()?;
        Self::from_arg_matches(&matches).ok()
    }
}

/// `confine run`.
#[derive(Debug, Args)]
#[command(after_long_help = EXIT_CODES)]
pub(crate) struct Run {
    /// Under which policy.
    #[command(flatten)]
    pub(crate) policy: PolicyOptions,
    /// How it runs.
    #[command(flatten)]
    pub(crate) run: RunOptions,
    /// Capture the output instead of passing it through, and print the report with the output in it.
    #[arg(long, help_heading = "Running", conflicts_with = "tty")]
    pub(crate) json: bool,
    /// The command and its arguments, after `--`.
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub(crate) words: Vec<OsString>,
}

/// `confine plan`.
#[derive(Debug, Args)]
pub(crate) struct Plan {
    /// Under which policy.
    #[command(flatten)]
    pub(crate) policy: PolicyOptions,
    /// How it runs. What needs the runner is refused by name.
    #[command(flatten)]
    pub(crate) run: RunOptions,
    /// Print the plan as JSON, for spawners in other languages.
    #[arg(long)]
    pub(crate) json: bool,
    /// The command and its arguments, after `--`.
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub(crate) words: Vec<OsString>,
}

/// `confine probe`.
#[derive(Debug, Args)]
pub(crate) struct Probe {
    /// Answer as JSON.
    #[arg(long)]
    pub(crate) json: bool,
    /// Exit 125 unless one usable backend enforces these effects.
    #[arg(long, value_name = "EFFECT,…")]
    pub(crate) require: Option<Effects>,
}

/// `confine serve`.
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("way").required(true).args(["stdio", "socket", "schema"]))]
pub(crate) struct Serve {
    /// Serve one client, over stdin and stdout, until it closes one of them.
    #[arg(long)]
    pub(crate) stdio: bool,
    /// Serve this user's clients at a socket that is made here, until a signal.
    #[arg(long, value_name = "PATH")]
    pub(crate) socket: Option<PathBuf>,
    /// Print the JSON schema of the lines.
    #[arg(long)]
    pub(crate) schema: bool,
}

/// `confine hook`.
#[derive(Debug, Args)]
pub(crate) struct Hook {
    /// Whose event stands on stdin. Whatever is wrong with it, the command is blocked: exit code 2.
    #[arg(value_enum)]
    pub(crate) agent: Agent,
    /// Have the agent ask its user about the wrapped command, instead of allowing it.
    #[arg(long)]
    pub(crate) ask: bool,
    /// What runs a shell command inside: `bash` for claude-code, `sh` for json.
    #[arg(long, value_name = "NAME")]
    pub(crate) shell: Option<String>,
    /// Options of `confine run`, after `--`; with absolute paths.
    #[arg(last = true, value_name = "OPTION")]
    pub(crate) options: Vec<OsString>,
}

/// `confine hook`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Agent {
    /// Claude Code's `PreToolUse`.
    ClaudeCode,
    /// One JSON object: docs/harnesses.md.
    Json,
}

/// `confine policy`.
#[derive(Debug, Subcommand)]
pub(crate) enum PolicyCommand {
    /// Say whether a policy is well-formed and resolves here; exit 1 where not.
    Check(Box<PolicyQuestion>),
    /// Print the resolved policy: each path with its access and its source.
    Show(Box<PolicyQuestion>),
    /// Print what somebody who works under the policy should know about it.
    Describe(Box<Description>),
    /// Print the JSON schema of policy files.
    Schema,
}

/// A policy to look at.
#[derive(Debug, Args)]
pub(crate) struct PolicyQuestion {
    /// A policy file, like `--policy FILE`.
    #[arg(conflicts_with = "policy")]
    pub(crate) file: Option<PathBuf>,
    /// With these options.
    #[command(flatten)]
    pub(crate) policy: PolicyOptions,
    /// Answer as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// `confine backend`.
#[derive(Debug, Subcommand)]
pub(crate) enum BackendCommand {
    /// Pin a program by its content, in the user's confine.lock. It decides what "confined" means: pin what you trust.
    Lock {
        /// A file `confine-backend-NAME` with its path, or the NAME of one on PATH.
        #[arg(value_name = "FILE|NAME")]
        program: OsString,
        /// Answer as JSON.
        #[arg(long)]
        json: bool,
    },
    /// What is pinned, and whether it is still what was pinned.
    List {
        /// Answer as JSON.
        #[arg(long)]
        json: bool,
    },
    /// Forget one.
    Unlock {
        /// As `list` shows it.
        name: String,
        /// Answer as JSON.
        #[arg(long)]
        json: bool,
    },
    /// Print the JSON schema of what backends are asked and answer.
    Schema,
}

/// `confine dialect`.
#[derive(Debug, Subcommand)]
pub(crate) enum DialectCommand {
    /// The dialects that there are, and where their rows come from.
    List {
        /// Answer as JSON.
        #[arg(long)]
        json: bool,
    },
    /// Print one: which error at which layer means what, and how tools word it.
    Show {
        /// As `list` shows it.
        id: String,
        /// Answer as JSON.
        #[arg(long)]
        json: bool,
    },
    /// Measure the rows again with the tools and the backends of this host, and print those that differ; exit 1 where
    /// one does.
    Verify {
        /// Answer as JSON.
        #[arg(long)]
        json: bool,
    },
}

/// `confine quarantine`.
#[derive(Debug, Subcommand)]
pub(crate) enum QuarantineCommand {
    /// What was moved away, and from where.
    List {
        /// Answer as JSON.
        #[arg(long)]
        json: bool,
    },
    /// Put one back where it was. Look at it first: a program planted it.
    Restore {
        /// As `list` shows it.
        id: String,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<OsString> {
        line.split(' ').map(OsString::from).collect()
    }

    #[test]
    fn a_run_read_by_itself_is_what_the_whole_reads() {
        for line in [
            "confine run -- true",
            "confine run --backend landlock --write /a --accept-missing fs-hide,proc-see --timeout 3s -- a --json b",
            "confine run --json --report r --env A=B -- run run",
        ] {
            let words = words(line);
            let alone = Run::alone(&words).unwrap();
            let whole = Arguments::try_parse_from(&words).unwrap();
            assert_eq!(
                format!("{:?}", Some(Command::Run(Box::new(alone)))),
                format!("{:?}", whole.command),
                "{line}"
            );
        }
    }

    #[test]
    fn what_is_wrong_and_what_is_no_run_is_left_to_the_whole() {
        for line in
            ["confine", "confine run", "confine run --nope -- a", "confine run --help", "confine plan -- a"]
        {
            assert!(Run::alone(&words(line)).is_none(), "{line}");
            let whole = |error: clap::Error| error.to_string();
            let read = Arguments::read(&words(line)).map(|_| ()).map_err(whole);
            assert_eq!(read, Arguments::try_parse_from(words(line)).map(|_| ()).map_err(whole), "{line}");
        }
    }
}
