//! Commands that a rule is offered for: those of which it is known that their words name what runs.
//!
//! A rule is asked about once and then never again, so it takes more than the absence of anything odd. The first word is the
//! program, found by its name alone and bound by content; the words after it say nothing that it would run in its place. Whatever
//! is not here is asked about each time, or once in a session: an unknown program, a wrapper, an interpreter, a module. What a
//! project's own files make of a build is not pinned by that, and is what the sandbox is for.

use crate::Text;

/// Programs that only show something, whatever follows.
const SHOWN: &[&str] = &["echo", "false", "id", "ls", "printf", "pwd", "true", "uname", "whoami"];

const CARGO: &[&str] = &[
    "--all",
    "--all-features",
    "--all-targets",
    "--check",
    "--frozen",
    "--lib",
    "--locked",
    "--no-default-features",
    "--no-fail-fast",
    "--offline",
    "--package",
    "--quiet",
    "--release",
    "--tests",
    "--verbose",
    "--workspace",
    "-p",
    "-q",
    "-r",
    "-v",
];
const GO: &[&str] = &["-count", "-cover", "-count=1", "-race", "-run", "-short", "-v"];
const NPM: &[&str] = &["--silent", "-s"];
const PYTEST: &[&str] = &["--exitfirst", "--quiet", "--verbose", "-k", "-m", "-q", "-s", "-v", "-x"];
const UV: &[&str] = &["--frozen", "--locked", "--offline", "--quiet"];

/// Commands, and the options that may follow beside words that are no options.
const KNOWN: &[(&[&str], &[&str])] = &[
    (&["cargo", "build"], CARGO),
    (&["cargo", "check"], CARGO),
    (&["cargo", "clippy"], CARGO),
    (&["cargo", "fmt"], CARGO),
    (&["cargo", "test"], CARGO),
    (&["go", "build"], GO),
    (&["go", "test"], GO),
    (&["go", "vet"], GO),
    (&["npm", "ci"], NPM),
    (&["npm", "test"], NPM),
    (&["pytest"], PYTEST),
    (&["uv", "run", "pytest"], PYTEST),
    (&["uv", "sync"], UV),
];

/// Shells whose text is read, where it is plain words.
const SHELLS: &[&str] = &["bash", "dash", "sh"];

/// Variables that say how something looks, and may be set to a word.
const LOOKS: &[&str] =
    &["CI", "COLUMNS", "FORCE_COLOR", "LANG", "LC_ALL", "NO_COLOR", "RUST_BACKTRACE", "TERM"];

/// Whether the words are those of a command that is known, as they stand, after assignments of `env`, or as the plain text of a
/// shell.
pub(super) fn is_known(argv: &[Text]) -> bool {
    let words: Option<Vec<&str>> = argv.iter().map(|word| word.as_os_str().to_str()).collect();
    match words.as_deref() {
        None => false,
        Some(["env", rest @ ..]) => is_row(after_assignments(rest)),
        Some([shell, "-c", text]) if SHELLS.contains(shell) => plain(text).is_some_and(|words| {
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            is_row(after_assignments(&words))
        }),
        Some(words) => is_row(words),
    }
}

fn is_row(words: &[&str]) -> bool {
    let is_of = |(begin, options): &(&[&str], &[&str])| {
        let rest = words.strip_prefix(*begin);
        rest.is_some_and(|rest| rest.iter().all(|word| options.contains(word) || is_operand(word)))
    };
    words.first().is_some_and(|program| SHOWN.contains(program)) || KNOWN.iter().any(is_of)
}

/// Whether no program of a row takes it for an option, for a value, or for the name of a file of options.
fn is_operand(word: &str) -> bool {
    word.starts_with(|c: char| c.is_alphanumeric() || "._/".contains(c)) && !word.contains('=')
}

/// What follows assignments that change nothing of what runs.
fn after_assignments<'a, 'b>(words: &'a [&'b str]) -> &'a [&'b str] {
    match words.split_first() {
        Some((first, rest)) if is_quiet(first) => after_assignments(rest),
        _ => words,
    }
}

/// Whether it empties a variable that says no place, or says how something looks.
fn is_quiet(word: &str) -> bool {
    let Some((name, value)) = word.split_once('=') else { return false };
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let says_a_place = name.ends_with("PATH") || name.ends_with("HOME") || name.ends_with("DIR");
    let is_emptied = value.is_empty() && !says_a_place;
    let looks =
        LOOKS.contains(&name) && value.chars().all(|c| c.is_ascii_alphanumeric() || "_-.".contains(c));
    !name.is_empty()
        && name.chars().all(is_name)
        && !name.starts_with(|c: char| c.is_ascii_digit())
        && (is_emptied || looks)
}

/// The words of a shell's text that is nothing but words: no expansion, no operator, no comment, no escape. What a quote
/// keeps from being an assignment is none either.
fn plain(text: &str) -> Option<Vec<String>> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-./:,+@%".contains(c);
    let (mut words, mut word, mut quote, mut was_quoted) = (Vec::new(), None::<String>, None, false);
    for c in text.chars() {
        match (c, quote) {
            (_, Some(open)) if c == open => quote = None,
            ('"' | '\'', None) => {
                (quote, was_quoted) = (Some(c), true);
                word.get_or_insert_default();
            }
            (' ', None) => {
                was_quoted = false;
                words.extend(word.take());
            }
            ('=', None) if !was_quoted => word.get_or_insert_default().push(c),
            (' ', Some(_)) => word.get_or_insert_default().push(c),
            _ if is_plain(c) => word.get_or_insert_default().push(c),
            _ => return None,
        }
    }
    words.extend(word);
    quote.is_none().then_some(words)
}

#[cfg(test)]
mod tests;
