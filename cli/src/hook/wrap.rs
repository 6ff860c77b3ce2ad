//! A shell command, wrapped.

use std::ffi::OsString;

use confine_core::{AbsPath, LaunchFault};

use super::unreadable;
use crate::arguments::{Arguments, Command, Hook, Run};
use crate::request::{self, Terms};
use crate::{fault, shell};

/// The kernel's MAX_ARG_STRLEN, in bytes: a word and the NUL after it fit in.
const LONGEST_WORD: usize = 128 * 1024;

/// How to wrap.
pub(super) struct Wrap<'a> {
    /// Options of `confine run`, as the user gave them.
    options: &'a [OsString],
    /// What runs the command inside.
    shell: &'a str,
    /// Whether a person is to confirm what is wrapped.
    pub(super) asks: bool,
}

/// Where a command may write, where the user's options do not say so.
pub(super) enum Workspace {
    /// Whoever wrote the event named it.
    Named(AbsPath),
    /// It happens to be there: then it may not be `/`, the home directory, or above it, as for `confine run`.
    Found(AbsPath),
}

/// What runs in the place of a command.
pub(super) struct Wrapped {
    /// Word by word.
    pub(super) argv: Vec<String>,
    /// As one line for a POSIX shell.
    pub(super) command: String,
}

impl<'a> Wrap<'a> {
    /// As the options say.
    pub(super) fn new(hook: &'a Hook, shell: &'a str) -> Self {
        Self { options: &hook.options, shell: hook.shell.as_deref().unwrap_or(shell), asks: hook.ask }
    }

    /// A command for a shell, in `cwd`, with `workspace` as the workspace where the options name none.
    pub(super) fn shell(
        &self,
        command: &str,
        cwd: &AbsPath,
        workspace: &Workspace,
    ) -> Result<Wrapped, LaunchFault> {
        if is_call_of_confine(command) {
            return Err(fault::usage(
                "wrap a command that calls `confine` itself, so it is blocked",
                "leave that to the hook: give the command alone",
            ));
        }
        let wrapped =
            self.argv(&[self.shell.to_owned(), "-c".to_owned(), command.to_owned()], cwd, workspace)?;
        // The whole line is one word of the shell that is going to read it.
        short(&wrapped.command)?;
        Ok(wrapped)
    }

    /// A command word by word.
    pub(super) fn argv(
        &self,
        words: &[String],
        cwd: &AbsPath,
        workspace: &Workspace,
    ) -> Result<Wrapped, LaunchFault> {
        if words.iter().any(|word| word.contains('\0')) {
            return Err(unreadable("the command holds a NUL"));
        }
        words.iter().try_for_each(|word| short(word))?;
        let mut argv = self.options(cwd, workspace)?;
        argv.push("--".to_owned());
        argv.extend_from_slice(words);
        check(&argv, words)?;
        argv.insert(0, text(std::env::current_exe().map_err(|error| unreadable(&fault::cause(&error)))?)?);
        let command = argv.iter().map(|word| shell::quote_as_is(word)).collect::<Vec<_>>().join(" ");
        Ok(Wrapped { argv, command })
    }

    /// `run` and its options: what the user gave, the directory, and a line for the model about what was denied.
    fn options(&self, cwd: &AbsPath, workspace: &Workspace) -> Result<Vec<String>, LaunchFault> {
        let given: Vec<String> = self.options.iter().cloned().map(text).collect::<Result<_, _>>()?;
        let gives =
            |option: &str| given.iter().any(|word| word == option || word.starts_with(&format!("{option}=")));
        let mut words = vec!["run".to_owned()];
        if !gives("--annotate") {
            words.push("--annotate".to_owned());
        }
        if !gives("--workspace") {
            words.extend(["--workspace".to_owned(), text(workspace.path()?.to_os_string())?]);
        }
        if !gives("--cwd") {
            words.extend(["--cwd".to_owned(), text(cwd.to_os_string())?]);
        }
        words.extend(given);
        Ok(words)
    }
}

impl Workspace {
    /// # Errors
    /// Where nobody named it, and it is too wide to be taken for granted.
    fn path(&self) -> Result<&AbsPath, LaunchFault> {
        match self {
            Self::Named(path) => Ok(path),
            Self::Found(path) => {
                let terms =
                    Terms { cwd: path, workspaces: &[], policy: None, settings: None, own_files: &[] };
                terms.resolve().map(|_| path)
            }
        }
    }
}

/// Whether the whole is what was meant, and would run: `words` and nothing else, under a policy that resolves.
fn check(argv: &[String], words: &[String]) -> Result<(), LaunchFault> {
    let all: Vec<OsString> =
        std::iter::once("confine").chain(argv.iter().map(String::as_str)).map(Into::into).collect();
    let wrong = |why: &str| {
        fault::usage(
            format!("wrap the command, so it is blocked: {why}"),
            "after `--` stand options of `confine run`, and nothing else",
        )
    };
    let arguments = Arguments::read(&all).map_err(|error| wrong(&crate::usage::fault(&error).text))?;
    let Some(Command::Run(run)) = arguments.command else { return Err(wrong("that is no `run`")) };
    if !run.words.iter().eq(words.iter().map(OsString::from).collect::<Vec<_>>().iter()) {
        return Err(wrong("the options hold a command"));
    }
    would_run(&run)
}

/// Whether a backend takes it on here.
fn would_run(run: &Run) -> Result<(), LaunchFault> {
    let resolved = request::resolve(&run.policy)?;
    let confine = request::detect(&run.run.backend, &resolved.policy)?;
    let mut command = confine.command(&run.words).cwd(resolved.cwd).policy(&resolved.policy);
    if let Some(backend) = request::backend(&run.run.backend, &confine)? {
        command = command.backend(backend);
    }
    command.confined().map(drop).map_err(|refused| refused.fault())
}

/// # Errors
/// Where execve(2) would not take it.
fn short(word: &str) -> Result<(), LaunchFault> {
    if word.len() < LONGEST_WORD {
        return Ok(());
    }
    let text = format!("wrap the command, so it is blocked: a word of it has {LONGEST_WORD} bytes or more");
    Err(fault::usage(text, "write it to a file, and run that"))
}

/// JSON has no other strings.
fn text(word: impl Into<OsString>) -> Result<String, LaunchFault> {
    word.into().into_string().map_err(|word| {
        let word = confine_core::Text::from(word);
        unreadable(&format!("`{word}` is not UTF-8"))
    })
}

/// Whether its first word, after assignments, is `confine`, however it is quoted. Only to say so early: whatever is not
/// recognised runs inside like everything else, and lifts nothing.
fn is_call_of_confine(command: &str) -> bool {
    let plain: String = command.chars().filter(|c| !matches!(c, '\'' | '"' | '\\')).collect();
    let is_assignment = |word: &&str| {
        word.split_once('=').is_some_and(|(name, _)| {
            !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        })
    };
    let mut words = plain.split_whitespace().skip_while(is_assignment).skip_while(|word| *word == "exec");
    words.next().and_then(|word| word.rsplit('/').next()) == Some("confine")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_of_confine_is_seen_through_quotes_and_assignments() {
        for command in [
            "confine run -- sh -c 'x'",
            "'/usr/bin/confine' run --policy open -- x",
            "A=1 B='2' c\\onfine run",
            " exec /opt/confine",
        ] {
            assert!(is_call_of_confine(command), "{command}");
        }
        for command in ["echo confine", "confined", "./confine.sh", "cat confine", "", "A=confine true"] {
            assert!(!is_call_of_confine(command), "{command}");
        }
    }
}
