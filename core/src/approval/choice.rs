//! Which answers a question takes: what covers more than one run is offered only where it is small and exact.

mod known;

use std::ffi::OsStr;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::{Answer, Binding, Part, Subject};
use crate::Text;
use crate::visible::visible;
use known::is_known;

/// An answer that is taken, and what it covers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "answer", rename_all = "kebab-case")]
pub enum Choice {
    /// This, once.
    AllowOnce,
    /// While the session lasts.
    AllowForSession {
        /// What.
        covers: Cover,
    },
    /// From now on, by a rule in the user's own file.
    AllowAlways {
        /// What.
        covers: Cover,
    },
    /// No.
    Reject,
    /// Stop.
    Cancel,
}

/// What an answer covers: in every case the same directory, executable and variables, and for a session the same policy. A rule
/// is for every policy: what is worth running is one question, and what it can do then is the sandbox's.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Cover {
    /// The very same.
    Exact,
    /// Every command that begins with these words.
    Prefix {
        /// The words, as the person was shown them.
        argv: Vec<Text>,
    },
}

impl Choice {
    /// Whether `answer` is this choice.
    pub const fn takes(&self, answer: &Answer) -> bool {
        matches!(
            (self, answer),
            (Self::AllowOnce, Answer::AllowOnce)
                | (Self::AllowForSession { .. }, Answer::AllowForSession)
                | (Self::AllowAlways { .. }, Answer::AllowAlways)
                | (Self::Reject, Answer::Reject { .. })
                | (Self::Cancel, Answer::Cancel)
        )
    }
}

/// The longest command that more than one run is offered for, in bytes with a space between words.
const LONGEST: usize = 512;

/// Commands whose further words are of the same kind: a session's yes to one covers all that begin so.
const STEMS: &[&[&str]] = &[
    &["cargo", "build"],
    &["cargo", "check"],
    &["cargo", "clippy"],
    &["cargo", "test"],
    &["go", "build"],
    &["go", "test"],
    &["npm", "test"],
];

/// Programs that run what they read; without a script among their words they read their standard input, which no
/// answer is bound to. A version at the end of the name plays no part. Incomplete by nature.
const INTERPRETERS: &[&str] = &[
    "ash",
    "bash",
    "bun",
    "csh",
    "dash",
    "deno",
    "ed",
    "ex",
    "fish",
    "gdb",
    "ghci",
    "irb",
    "ksh",
    "lua",
    "luajit",
    "mksh",
    "mysql",
    "node",
    "nodejs",
    "osascript",
    "perl",
    "php",
    "psql",
    "pwsh",
    "pypy",
    "python",
    "Rscript",
    "ruby",
    "sh",
    "sqlite",
    "tclsh",
    "tcsh",
    "zsh",
];

/// Programs that make commands of their standard input.
const FEEDERS: &[&str] = &["at", "batch", "parallel", "xargs"];

/// Programs that run another, here or elsewhere, in their own way. Incomplete by nature.
const WRAPPERS: &[&str] = &[
    "busybox",
    "chroot",
    "chrt",
    "command",
    "doas",
    "eval",
    "exec",
    "flock",
    "ionice",
    "nice",
    "nohup",
    "nsenter",
    "pkexec",
    "runuser",
    "script",
    "setarch",
    "setpriv",
    "setsid",
    "ssh",
    "stdbuf",
    "strace",
    "su",
    "sudo",
    "systemd-run",
    "taskset",
    "time",
    "timeout",
    "unshare",
    "watch",
];

/// Options that make a program run what follows, by the program.
const RUNNERS: &[(&str, &[&str])] = &[
    ("find", &["-exec", "-execdir", "-ok", "-okdir"]),
    ("git", &["-c", "--config-env", "--exec-path"]),
    ("tar", &["--checkpoint-action", "--to-command", "-I", "--use-compress-program", "-F", "--rsh-command"]),
    ("make", &["-f", "--file", "--makefile", "--eval"]),
    ("awk", &["-f", "--file"]),
    ("gawk", &["-f", "--file"]),
    ("mawk", &["-f"]),
    ("sed", &["-f", "--file"]),
    ("bash", &["--rcfile", "--init-file"]),
    ("env", &["-S", "--split-string"]),
];

/// Words of a shell that run what is in a file, or what was read.
const READERS: &[&str] = &[".", "eval", "exec", "read", "source"];

/// Interpreters whose inline code is looked into, word by word.
const SHELLS: &[&str] = &["ash", "bash", "dash", "ksh", "mksh", "sh", "zsh"];

/// The answers that a question about `subject` takes.
pub(super) fn choices(subject: &Subject, binding: &Binding) -> Vec<Choice> {
    let mut choices = vec![Choice::AllowOnce];
    match subject {
        Subject::Command { argv, .. } if is_small(argv) && !reads_code(argv) => {
            choices.push(Choice::AllowForSession { covers: cover(argv) });
            if is_known(argv) && !reads_a_file(binding) {
                choices.push(Choice::AllowAlways { covers: Cover::Exact });
            }
        }
        Subject::Connect { .. } | Subject::Tool { .. } => {
            choices.push(Choice::AllowForSession { covers: Cover::Exact });
        }
        // More than the policy allows is for one call.
        Subject::Command { .. } | Subject::Escalation { .. } => {}
    }
    choices.extend([Choice::Reject, Choice::Cancel]);
    choices
}

/// What a session's yes to `argv` covers.
pub(super) fn cover(argv: &[Text]) -> Cover {
    let begins = |stem: &&&[&str]| {
        argv.len() >= stem.len()
            && argv.iter().zip(**stem).all(|(word, known)| word.as_os_str() == OsStr::new(known))
    };
    match STEMS.iter().find(begins) {
        Some(stem) => Cover::Prefix { argv: stem.iter().map(|word| Text::from(*word)).collect() },
        None => Cover::Exact,
    }
}

/// Short, and without anything that a person cannot see or that is a document of its own.
fn is_small(argv: &[Text]) -> bool {
    let length: usize = argv.iter().map(|word| word.as_os_str().len() + 1).sum();
    let is_seen = |word: &Text| {
        let word = word.as_os_str();
        word.to_str().is_some_and(|text| visible(word) == text.replace('\\', "\\\\") && !text.contains("<<"))
    };
    length <= LONGEST && argv.iter().all(is_seen)
}

/// Whether the words, or a text of a shell among them, may run what is not in them and no answer is bound to.
fn reads_code(argv: &[Text]) -> bool {
    let reads = |(at, word): (usize, &Text)| {
        let name = name(word.as_os_str());
        let rest = argv.get(at + 1..).unwrap_or_default();
        FEEDERS.contains(&name.as_str())
            || WRAPPERS.contains(&name.as_str())
            || (is_interpreter(&name) && !SHELLS.contains(&name.as_str()) && rest.iter().any(is_inline))
            || rest.iter().any(|option| runs(&name, option))
            || (is_interpreter(&name) && reads_stdin(argv.get(at + 1..).unwrap_or_default()))
    };
    argv.iter().enumerate().any(reads) || argv.iter().any(calls_others) || argv.iter().any(sets)
}

/// Whether an option gives an interpreter its code, also among other letters.
fn is_inline(word: &Text) -> bool {
    let word = word.as_os_str().to_string_lossy();
    word.starts_with("--eval")
        || word.starts_with("--print")
        || (word.starts_with('-') && !word.starts_with("--") && word.contains(['c', 'e', 'E', 'r', 'p']))
}

/// Whether the program of that name runs what the option says.
fn runs(name: &str, option: &Text) -> bool {
    let option = option.as_os_str().to_string_lossy();
    let known = RUNNERS.iter().filter(|(program, _)| *program == name).flat_map(|(_, options)| *options);
    known.into_iter().any(|known| option.starts_with(known))
}

/// Whether a word gives something a value that may name what runs.
fn sets(word: &Text) -> bool {
    let word = word.as_os_str().to_string_lossy();
    let is_telling = |part: &str| part.split_once('=').is_some_and(|(_, value)| value.contains(['/', '!']));
    word.split_whitespace().any(is_telling)
}

/// Whether what follows an interpreter leaves it to its standard input.
fn reads_stdin(rest: &[Text]) -> bool {
    let is_one_of =
        |word: &Text, all: &[&str]| word.as_os_str().to_str().is_some_and(|word| all.contains(&word));
    let is_option = |word: &Text| word.as_os_str().as_encoded_bytes().starts_with(b"-");
    let is_inline = |word: &Text| is_one_of(word, &["-c", "-e", "-m", "-E", "-r"]);
    rest.iter().any(|word| is_one_of(word, &["-", "-s", "-i", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"]))
        || (rest.iter().all(is_option) && !rest.iter().any(is_inline))
}

/// Whether a word is a text for a shell that names a file, an interpreter, or what makes commands of its input.
fn calls_others(word: &Text) -> bool {
    let text = word.as_os_str().to_string_lossy();
    let is_text = text.contains([' ', '\t', ';', '|', '&', '<', '>', '(', '`', '$']);
    let mut words = text.split(|c: char| !(c.is_alphanumeric() || "-_./+~".contains(c)));
    let is_other = |word: &str| {
        let name = name(OsStr::new(word));
        word.contains('/')
            || WRAPPERS.contains(&name.as_str())
            || READERS.contains(&word)
            || FEEDERS.contains(&word)
            || is_interpreter(&name)
    };
    is_text && words.any(is_other)
}

/// The last part of a path.
fn name(word: &OsStr) -> String {
    let name = Path::new(word).file_name().unwrap_or(word);
    name.to_string_lossy().into_owned()
}

fn is_interpreter(name: &str) -> bool {
    INTERPRETERS.contains(&name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.'))
}

/// Whether it is bound to a file that is there to be changed: a rule would hold until then, and be dead weight afterwards.
fn reads_a_file(binding: &Binding) -> bool {
    binding.parts().iter().any(|bound| matches!(bound.part, Part::File(_) | Part::Stdin))
}

#[cfg(test)]
mod tests;
