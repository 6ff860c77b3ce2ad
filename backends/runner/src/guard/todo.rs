//! Git operations that go on later: `git rebase --continue` runs every `exec` line of the todo list (git-rebase(1)).

use std::ffi::OsString;
use std::io::Read as _;
use std::os::fd::OwnedFd;
use std::path::Path;

use confine_core::AbsPath;
use nix::fcntl::{OFlag, openat};
use nix::sys::stat::Mode;

use super::arrival::arrival;
use crate::beneath::{Spot, directory};
use crate::digest;
use crate::view::reopen_regular;

/// The lists, below a git directory or that of a linked worktree.
const LISTS: &[&str] = &["rebase-merge/git-rebase-todo", "sequencer/todo"];
const WORKTREES: &str = "worktrees";
/// The words, long and short, that run a command.
const COMMANDS: &[&[u8]] = &[b"exec", b"x"];
/// A longer list is taken for one that runs commands.
const LONGEST: u64 = 1024 * 1024;

/// The lists that are there, with their digests.
pub(super) fn snapshot(repository: &AbsPath) -> Vec<(AbsPath, String)> {
    let there = lists(repository).into_iter().filter_map(|(path, spot)| Some((path, content(&spot)?)));
    there.map(|(path, content)| (path, content.digest)).collect()
}

/// The lists that were begun or changed since `before` and run commands, or whose place leads elsewhere.
pub(super) fn planted(repository: &AbsPath, before: &[(AbsPath, String)]) -> Vec<(AbsPath, Spot)> {
    let unchanged = |path: &AbsPath, content: &Content| {
        before.iter().any(|(one, digest)| one == path && *digest == content.digest)
    };
    let mut planted = lists(repository);
    planted.retain(|(path, spot)| {
        content(spot).is_none_or(|content| content.runs_commands && !unchanged(path, &content))
    });
    planted
}

/// Every list of a repository and of its worktrees that exists.
fn lists(repository: &AbsPath) -> Vec<(AbsPath, Spot)> {
    let worktrees = repository
        .join(WORKTREES)
        .map(|all| names(&all).into_iter().filter_map(move |name| all.join(name).ok()));
    let directories = std::iter::once(repository.clone()).chain(worktrees.into_iter().flatten());
    directories
        .flat_map(|directory| {
            LISTS.iter().filter_map(move |list| {
                let path = directory.join(list).ok()?;
                let spot = arrival(base(&directory)?, Path::new(list), &path)?;
                Some((path, spot))
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
    runs_commands: bool,
}

/// `None` for what is no regular file.
fn content(spot: &Spot) -> Option<Content> {
    let flags = OFlag::O_PATH | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
    let place = openat(&spot.parent, spot.name.as_os_str(), flags, Mode::empty()).ok()?;
    let mut text = Vec::new();
    reopen_regular(&place).ok()?.take(LONGEST + 1).read_to_end(&mut text).ok()?;
    let long = u64::try_from(text.len()).is_ok_and(|length| length > LONGEST);
    Some(Content {
        digest: digest::of_file(text.as_slice()).ok()?,
        runs_commands: long || runs_commands(&text),
    })
}

/// As git reads it: blanks before the word, and a blank or the end after it.
fn runs_commands(list: &[u8]) -> bool {
    list.split(|byte| *byte == b'\n').any(|line| {
        let line = line.trim_ascii_start();
        COMMANDS.iter().any(|command| {
            let rest = line.strip_prefix(*command);
            rest.is_some_and(|rest| rest.first().is_none_or(u8::is_ascii_whitespace))
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn only_lines_whose_first_word_is_exec_run_commands() {
        for text in ["exec make\n", "pick 1 a\n \tx true\n", "x\tfalse", "exec"] {
            assert!(runs_commands(text.as_bytes()), "{text:?}");
        }
        for text in ["", "pick 1 exec\n", "# exec make\n", "execute\n", "fixup 1 x\n"] {
            assert!(!runs_commands(text.as_bytes()), "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn no_list_panics(list: Vec<u8>) {
            runs_commands(&list);
        }
    }
}
