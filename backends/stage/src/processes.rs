//! Who is alive, from `/proc`; nobody is known where it is not mounted.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Read;
use std::path::Path;

use crate::status::MAX_COMMAND;

/// Whether `/proc` is mounted and of this process's own pid namespace: another's would name strangers.
pub(crate) fn are_visible() -> bool {
    fs::read_link("/proc/self").is_ok_and(|name| name.as_os_str() == own_pid().to_string().as_str())
}

/// Every live process but this one, in order; for process 1.
pub(crate) fn others() -> Option<Vec<i32>> {
    let own = own_pid();
    let all = are_visible().then(|| numbers(Path::new("/proc")))??;
    Some(all.into_iter().filter(|pid| *pid != own && is_alive(*pid)).collect())
}

/// Every live descendant of this process, in order.
pub(crate) fn descendants() -> Option<Vec<i32>> {
    Some(descent(drop)?.into_iter().filter(|pid| is_alive(*pid)).collect())
}

/// Every descendant of this process, the dead but not yet reaped among them; each is visited before its children are
/// looked up.
pub(crate) fn descent(mut visit: impl FnMut(i32)) -> Option<BTreeSet<i32>> {
    let own = own_pid();
    let parents = if Path::new("/proc/self/task").join(own.to_string()).join("children").exists() {
        None
    } else {
        // A kernel without CONFIG_PROC_CHILDREN.
        Some(parents()?)
    };
    let mut found = BTreeSet::new();
    let mut next = vec![own];
    while let Some(pid) = next.pop() {
        if pid != own {
            visit(pid);
        }
        let children = parents.as_ref().map_or_else(|| children(pid), |parents| children_by(parents, pid));
        next.extend(children.into_iter().filter(|child| found.insert(*child)));
    }
    Some(found)
}

/// The command line, arguments separated by spaces; the name in brackets where there is none.
pub(crate) fn command(pid: i32) -> Vec<u8> {
    let read = |name: &str| {
        let mut bytes = Vec::new();
        let most = u64::try_from(MAX_COMMAND).unwrap_or(0);
        let _ =
            fs::File::open(format!("/proc/{pid}/{name}")).map(|file| file.take(most).read_to_end(&mut bytes));
        bytes
    };
    let line = read("cmdline");
    let words: Vec<_> = line.split(|byte| *byte == 0).filter(|word| !word.is_empty()).collect();
    if words.is_empty() { [b"[", read("comm").trim_ascii_end(), b"]"].concat() } else { words.join(&b' ') }
}

fn own_pid() -> i32 {
    nix::unistd::getpid().as_raw()
}

fn numbers(directory: &Path) -> Option<Vec<i32>> {
    let entries = fs::read_dir(directory).ok()?;
    let mut numbers: Vec<i32> =
        entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
    numbers.sort_unstable();
    Some(numbers)
}

fn children(pid: i32) -> Vec<i32> {
    let tasks = format!("/proc/{pid}/task");
    let files = numbers(Path::new(&tasks)).unwrap_or_default();
    let files = files.iter().filter_map(|task| fs::read_to_string(format!("{tasks}/{task}/children")).ok());
    files
        .flat_map(|file| file.split_ascii_whitespace().filter_map(|pid| pid.parse().ok()).collect::<Vec<_>>())
        .collect()
}

fn children_by(parents: &BTreeMap<i32, i32>, pid: i32) -> Vec<i32> {
    parents.iter().filter(|(_, parent)| **parent == pid).map(|(child, _)| *child).collect()
}

fn parents() -> Option<BTreeMap<i32, i32>> {
    let all = numbers(Path::new("/proc"))?;
    Some(all.into_iter().filter_map(|pid| Some((pid, stat(pid)?.1))).collect())
}

fn is_alive(pid: i32) -> bool {
    stat(pid).is_some_and(|(state, _)| !matches!(state, b'Z' | b'X'))
}

/// State and parent.
fn stat(pid: i32) -> Option<(u8, i32)> {
    parse_stat(&fs::read(format!("/proc/{pid}/stat")).ok()?)
}

/// The name before the last `)` is the process's own choice.
fn parse_stat(line: &[u8]) -> Option<(u8, i32)> {
    let close = line.iter().rposition(|byte| *byte == b')')?;
    let mut fields = line.get(close + 1..)?.split(u8::is_ascii_whitespace).filter(|field| !field.is_empty());
    let state = *fields.next()?.first()?;
    let parent = std::str::from_utf8(fields.next()?).ok()?.parse().ok()?;
    Some((state, parent))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_name_with_brackets_does_not_mislead() {
        assert_eq!(parse_stat(b"7 (a) Z 1 (b) S 42 7 7 0"), Some((b'S', 42)));
        assert_eq!(parse_stat(b"7 (a"), None);
        assert_eq!(parse_stat(b"7 (a) S"), None);
    }

    #[test]
    fn both_ways_to_the_descent_agree() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let pid = i32::try_from(child.id()).unwrap();
        assert!(descent(drop).unwrap().contains(&pid));
        assert!(children_by(&parents().unwrap(), own_pid()).contains(&pid));
        assert_eq!(command(pid), b"sleep 60");
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(!descent(drop).unwrap().contains(&pid));
    }

    proptest! {
        #[test]
        fn an_arbitrary_line_never_panics(line in proptest::collection::vec(any::<u8>(), 0..60)) {
            let _ = parse_stat(&line);
        }
    }
}
