//! Git operations that go on later: `git rebase --continue` runs every `exec` line of the todo list (git-rebase(1)), and
//! `git-merge-NAME` for the merge strategy NAME that the operation was begun with, from the working tree where NAME has a
//! slash in it (measured with git 2.47).
//!
//! What else an operation keeps names no program: the word for signing is an argument of the one in the settings.

use std::ffi::OsString;
use std::io::Read as _;
use std::os::fd::{AsFd as _, OwnedFd};
use std::path::Path;

use confine_core::AbsPath;
use nix::fcntl::{OFlag, openat};
use nix::sys::stat::Mode;

use super::arrival::arrival;
use crate::beneath::{Spot, directory};
use crate::digest;
use crate::view::reopen_regular;

/// Whether git runs something of the writer's choice for a text, or writes where it chooses.
type Judge = fn(&[u8]) -> bool;

/// What git goes on with, below a git directory or that of a linked worktree.
const STATE: &[(&str, Judge)] = &[
    ("rebase-merge/git-rebase-todo", has_commands),
    ("sequencer/todo", has_commands),
    ("rebase-merge/strategy", is_foreign),
    ("rebase-merge/strategy_opts", redirects),
    ("sequencer/opts", has_foreign),
];
const WORKTREES: &str = "worktrees";
/// The words, long and short, that run a command.
const COMMANDS: &[&[u8]] = &[b"exec", b"x"];
/// Git's own merge strategies (merge-strategies(7)).
const STRATEGIES: &[&[u8]] = &[b"ort", b"recursive", b"resolve", b"octopus", b"ours", b"subtree"];
/// Its key in the options of a sequence, which are written as git's settings are.
const STRATEGY: &[u8] = b"strategy";
/// Goes on in the key of the options for a strategy.
const OPTION: &[u8] = b"-option";
/// The option, or an abbreviation, that the strategy `resolve` passes to git-read-tree(1): a file to replace.
const REDIRECTION: &[u8] = b"index-output";
/// A longer text is taken for one that runs commands.
const LONGEST: u64 = 1024 * 1024;

/// The files that are there, with their digests.
pub(super) fn snapshot(repository: &AbsPath) -> Vec<(AbsPath, String)> {
    let there =
        files(repository).into_iter().filter_map(|(path, spot, judge)| Some((path, content(&spot, judge)?)));
    there.map(|(path, content)| (path, content.digest)).collect()
}

/// The files that were begun or changed since `before` and make git run something, or whose place leads elsewhere.
pub(super) fn planted(repository: &AbsPath, before: &[(AbsPath, String)]) -> Vec<(AbsPath, Spot)> {
    let unchanged = |path: &AbsPath, content: &Content| {
        before.iter().any(|(one, digest)| one == path && *digest == content.digest)
    };
    let planted = files(repository).into_iter().filter(|(path, spot, judge)| {
        content(spot, *judge).is_none_or(|content| content.runs_something && !unchanged(path, &content))
    });
    planted.map(|(path, spot, _)| (path, spot)).collect()
}

/// Every such file of a repository and of its worktrees that exists.
fn files(repository: &AbsPath) -> Vec<(AbsPath, Spot, Judge)> {
    let worktrees = repository
        .join(WORKTREES)
        .map(|all| names(&all).into_iter().filter_map(move |name| all.join(name).ok()));
    let directories = std::iter::once(repository.clone()).chain(worktrees.into_iter().flatten());
    directories
        .flat_map(|directory| {
            STATE.iter().filter_map(move |(name, judge)| {
                let path = directory.join(name).ok()?;
                let spot = arrival(base(&directory)?.as_fd(), Path::new(name), &path)?;
                Some((path, spot, *judge))
            })
        })
        .collect()
}

fn base(path: &AbsPath) -> Option<OwnedFd> {
    directory(path).ok()
}

fn names(path: &AbsPath) -> Vec<OsString> {
    std::fs::read_dir(path).into_iter().flatten().flatten().map(|entry| entry.file_name()).collect()
}

struct Content {
    digest: String,
    runs_something: bool,
}

/// `None` for what is no regular file.
fn content(spot: &Spot, judge: Judge) -> Option<Content> {
    let flags = OFlag::O_PATH | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
    let place = openat(&spot.parent, spot.name.as_os_str(), flags, Mode::empty()).ok()?;
    let mut text = Vec::new();
    reopen_regular(&place).ok()?.take(LONGEST + 1).read_to_end(&mut text).ok()?;
    let long = u64::try_from(text.len()).is_ok_and(|length| length > LONGEST);
    Some(Content { digest: digest::of_file(text.as_slice()).ok()?, runs_something: long || judge(&text) })
}

/// As git reads it: blanks before the word, and a blank or the end after it.
fn has_commands(list: &[u8]) -> bool {
    list.split(|byte| *byte == b'\n').any(|line| {
        let line = line.trim_ascii_start();
        COMMANDS.iter().any(|command| {
            let rest = line.strip_prefix(*command);
            rest.is_some_and(|rest| rest.first().is_none_or(u8::is_ascii_whitespace))
        })
    })
}

/// A strategy that git does not bring along.
fn is_foreign(strategy: &[u8]) -> bool {
    !STRATEGIES.contains(&strategy.trim_ascii_end())
}

/// Options of a strategy with which git replaces a file of their choice.
fn redirects(options: &[u8]) -> bool {
    let words = options.split(|byte| !byte.is_ascii_alphanumeric() && *byte != b'-');
    let names = words.map(|word| word.strip_prefix(b"--").unwrap_or(word));
    names.filter(|name| !name.is_empty()).any(|name| REDIRECTION.starts_with(name))
}

/// Only a strategy that is written as git itself writes it is taken for git's own.
fn has_foreign(options: &[u8]) -> bool {
    redirects(options) || options.split(|byte| *byte == b'\n').any(is_foreign_line)
}

fn is_foreign_line(line: &[u8]) -> bool {
    let lower = line.to_ascii_lowercase();
    let mut rests = (0..lower.len()).filter_map(|start| lower.get(start..)?.strip_prefix(STRATEGY));
    let names_one = rests.any(|rest| !rest.starts_with(OPTION));
    let own = line.trim_ascii().strip_prefix(STRATEGY).and_then(|rest| rest.strip_prefix(b" = "));
    names_one && own.is_none_or(is_foreign)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn only_lines_whose_first_word_is_exec_run_commands() {
        for text in ["exec make\n", "pick 1 a\n \tx true\n", "x\tfalse", "exec"] {
            assert!(has_commands(text.as_bytes()), "{text:?}");
        }
        for text in ["", "pick 1 exec\n", "# exec make\n", "execute\n", "fixup 1 x\n"] {
            assert!(!has_commands(text.as_bytes()), "{text:?}");
        }
    }

    #[test]
    fn only_strategies_of_gits_own_are_harmless() {
        for text in ["ort\n", "recursive", "resolve\n", "octopus\n", "ours\n", "subtree\n"] {
            assert!(!is_foreign(text.as_bytes()), "{text:?}");
        }
        for text in ["x/y", "", "\n", "ort/../x", "ort\nx/y", " ort", "ORT", "./ort"] {
            assert!(is_foreign(text.as_bytes()), "{text:?}");
        }
    }

    #[test]
    fn options_name_a_strategy_in_every_spelling() {
        for text in [
            "",
            "[options]\n\tstrategy = ort\n\tgpg-sign = \n\tstrategy-option = theirs\n",
            "[options]\n\tsignoff = true\n\tstrategy-option = ours\n\tstrategy-option = patience\n",
        ] {
            assert!(!has_foreign(text.as_bytes()), "{text:?}");
        }
        for text in [
            "[options]\n\tstrategy = x/y\n",
            "[options] strategy = x/y",
            "[options]strategy=x/y",
            "[OPTIONS]\nStrategy = x/y",
            "[options]\n\tstrategy = \"ort\"/../y\n",
            "[options]\n\tstrategy = ort\\\n/y\n",
            "[options]\n\tstrategy-option = a\n\tstrategy = \\\nx/y\n",
            "[options]\n\tstrategy = resolve\n\tstrategy-option = \"index-output=/x\"\n",
        ] {
            assert!(has_foreign(text.as_bytes()), "{text:?}");
        }
    }

    #[test]
    fn options_that_choose_a_file_are_found_by_every_abbreviation() {
        for text in ["\"ours\"\n", "\"theirs\" \"subtree=lib\"", "", "\"ignore-space-change\"", "--ours"] {
            assert!(!redirects(text.as_bytes()), "{text:?}");
        }
        for text in ["\"index-output=.git/x\"", "ind=/x", "\"ours\" '--index-o=/x'", "\"index-output\" \"x\""]
        {
            assert!(redirects(text.as_bytes()), "{text:?}");
        }
    }

    #[test]
    fn what_a_run_plants_is_found_and_what_was_there_or_is_gits_own_is_not() {
        let top = tempfile::tempdir().unwrap();
        let repository = AbsPath::new(top.path().canonicalize().unwrap()).unwrap();
        let write = |name: &str, text: &str| {
            let path = repository.join(name).unwrap();
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, text).unwrap();
            path
        };
        let cases = [
            ("rebase-merge/git-rebase-todo", "pick 1 a\n", "x touch ran\n"),
            ("rebase-merge/strategy", "ort\n", "x/y\n"),
            ("rebase-merge/strategy_opts", "\"ours\"\n", "\"index-output=x\"\n"),
            ("worktrees/w/rebase-merge/strategy", "subtree\n", "x/y\n"),
            ("sequencer/opts", "[options]\n\tstrategy = ort\n", "[options]\n\tstrategy = x/y\n"),
        ];
        for (name, own, _) in cases {
            write(name, own);
        }
        assert!(planted(&repository, &[]).is_empty());
        let paths: Vec<AbsPath> = cases.iter().map(|(name, _, evil)| write(name, evil)).collect();
        let mut found: Vec<AbsPath> = planted(&repository, &[]).into_iter().map(|(path, _)| path).collect();
        found.sort();
        let mut paths = paths;
        paths.sort();
        assert_eq!(found, paths);
        assert!(planted(&repository, &snapshot(&repository)).is_empty(), "the user's own stays");
    }

    proptest! {
        #[test]
        fn no_text_panics(text: Vec<u8>, near in "[a-z \\[\\]=\\n-]{0,8}(strategy|index)[a-z \\[\\]=\\n-]{0,8}") {
            for (_, judge) in STATE {
                judge(&text);
                judge(near.as_bytes());
            }
        }
    }
}
