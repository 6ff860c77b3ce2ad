use std::process::Command;

use super::*;
use proptest::prelude::*;

/// As git writes it, with object names of `length` bytes and without the checksum.
pub(in crate::policy::git) fn write(version: u32, length: usize, entries: &[(u32, Vec<u8>)]) -> Vec<u8> {
    let mut index =
        [SIGNATURE, &version.to_be_bytes(), &u32::try_from(entries.len()).unwrap().to_be_bytes()].concat();
    let mut before: &[u8] = b"";
    for (mode, path) in entries {
        let start = index.len();
        index.extend([0; MODE]);
        index.extend(mode.to_be_bytes());
        index.extend(vec![7; OBJECT + length - MODE - 4]);
        index.extend(u16::try_from(path.len()).unwrap_or(LENGTH).min(LENGTH).to_be_bytes());
        if version == 4 {
            let common = before.iter().zip(path).take_while(|(one, other)| one == other).count();
            let strip = before.len() - common;
            if strip > 127 {
                index.push(0x80 | u8::try_from((strip >> 7) - 1).unwrap());
            }
            index.push(u8::try_from(strip & 127).unwrap());
            index.extend(&path[common..]);
            index.push(0);
        } else {
            index.extend(path);
            let padded = (index.len() - start + 8) & !7;
            index.resize(start + padded, 0);
        }
        before = path;
    }
    index
}

proptest! {
    #[test]
    fn no_bytes_panic(noise: Vec<u8>, version in 0_u32..6, count: u32) {
        gitlinks(&noise);
        let index = [SIGNATURE, &version.to_be_bytes(), &count.to_be_bytes(), &noise].concat();
        gitlinks(&index);
        paths(&index);
    }

    #[test]
    fn a_damaged_index_does_not_panic(at in 0_usize..400, byte: u8, cut in 0_usize..400, version in 2_u32..5) {
        let mut index = write(version, 20, &[(GITLINK, b"a/b".to_vec()), (0o100_644, vec![b'c'; 200])]);
        if let Some(one) = index.get_mut(at) {
            *one = byte;
        }
        index.truncate(cut.max(1));
        gitlinks(&index);
    }

    #[test]
    fn what_is_written_is_read(
        entries in prop::collection::btree_map("[a-c/]{1,300}", prop::bool::ANY, 0..8),
        version in 2_u32..5,
        length in prop::sample::select(OBJECTS),
    ) {
        let written: Vec<(u32, Vec<u8>)> = entries
            .iter()
            .map(|(path, link)| (if *link { GITLINK } else { 0o100_644 }, path.clone().into_bytes()))
            .collect();
        let expected = written.iter().filter(|(mode, _)| *mode == GITLINK).map(|(_, path)| path.clone()).collect();
        let mut links = Gitlinks::default();
        read(&write(version, length, &written), length, Entries::Gitlinks, &mut links);
        prop_assert_eq!(&links.paths, &expected);
        prop_assert!(gitlinks(&write(version, length, &written)).paths.is_superset(&expected));
    }
}

#[test]
fn a_long_path_is_read_to_its_end() {
    for version in 2..5 {
        let path = vec![b'x'; 5000];
        assert!(gitlinks(&write(version, 20, &[(GITLINK, path.clone())])).paths.contains(&path));
    }
}

#[test]
fn a_gitlink_without_a_path_may_take_the_place_of_any_entry_of_the_base() {
    let mut index = write(2, 20, &[(GITLINK, vec![])]);
    index.extend([b"link".as_slice(), &24_u32.to_be_bytes(), &[0xab; 20], &[0; 4], &[9; 20]].concat());
    let links = gitlinks(&index);
    assert!(links.replaces && links.paths.is_empty());
    assert!(links.bases.contains(&"ab".repeat(20)));
    assert_eq!(paths(&write(2, 20, &[(0o100_644, b"a".to_vec())])), [b"a".to_vec()].into());
}

fn git(directory: &std::path::Path, words: &[&str]) -> bool {
    let mut git = Command::new("git");
    git.arg("-C").arg(directory).args(words);
    for variable in ["GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM"] {
        git.env(variable, "/dev/null");
    }
    git.output().is_ok_and(|output| output.status.success())
}

#[test]
fn gits_own_indexes_are_read_in_every_version_format_and_split() {
    if Command::new("git").arg("--version").output().is_err() {
        eprintln!("SKIP gits_own_indexes_are_read_in_every_version_format_and_split: no git");
        return;
    }
    for format in ["sha1", "sha256"] {
        let top = tempfile::tempdir().unwrap();
        let top = top.path();
        assert!(git(top, &["init", "-q", &format!("--object-format={format}")]));
        let object = "1".repeat(if format == "sha1" { 40 } else { 64 });
        let mut expected = BTreeSet::new();
        for number in 0..40 {
            let path =
                format!("third/part/{}/sub{number}", "a/".repeat(number % 5) + &"n".repeat(number + 1));
            std::fs::write(top.join(format!("file{number}")), "").unwrap();
            assert!(git(top, &["update-index", "--add", "--cacheinfo", &format!("160000,{object},{path}")]));
            expected.insert(path.into_bytes());
        }
        assert!(git(top, &["add", "--intent-to-add", "file1"]) && git(top, &["add", "file2", "file3"]));
        for version in ["2", "3", "4"] {
            assert!(git(top, &["update-index", "--index-version", version]));
            let index = std::fs::read(top.join(".git/index")).unwrap();
            assert!(gitlinks(&index).paths.is_superset(&expected), "{format} {version}");
            let length = if format == "sha1" { 20 } else { 32 };
            let mut exact = Gitlinks::default();
            read(&index, length, Entries::Gitlinks, &mut exact);
            assert_eq!(exact.paths, expected, "{format} {version}");
            assert!(paths(&index).is_superset(&expected) && paths(&index).contains(b"file2".as_slice()));
        }
        assert!(git(top, &["update-index", "--split-index"]));
        let index = std::fs::read(top.join(".git/index")).unwrap();
        let shared = |name: &String| std::fs::read(top.join(format!(".git/sharedindex.{name}"))).ok();
        let base = gitlinks(&index).bases.iter().find_map(shared).unwrap();
        assert!(gitlinks(&base).paths.is_superset(&expected));
        let now = format!("160000,{object},file2");
        assert!(git(top, &["update-index", "--cacheinfo", &now]));
        let index = gitlinks(&std::fs::read(top.join(".git/index")).unwrap());
        let all = of(|name| std::fs::read(top.join(".git").join(name))).unwrap();
        assert!(all.contains(Path::new("file2")), "{all:?}");
        assert!(index.replaces && paths(&base).contains(b"file2".as_slice()), "{index:?}");
    }
}

#[test]
fn only_decent_paths_and_those_of_the_base_are_answered() {
    let paths =
        ["a/b", "../x", "/etc", "a/.git/x", "./a/../b"].map(|path| (GITLINK, path.as_bytes().to_vec()));
    let mut index = write(2, 20, &paths);
    index.extend([b"link".as_slice(), &20_u32.to_be_bytes(), &[0x11; 20]].concat());
    let base = write(4, 20, &[(GITLINK, b"deep/sub".to_vec())]);
    let found = of(|name| match name {
        "index" => Ok(index.clone()),
        _ if name == format!("sharedindex.{}", "11".repeat(20)) => Ok(base.clone()),
        _ => Err(io::ErrorKind::PermissionDenied.into()),
    });
    let found = found.unwrap();
    assert!(found.contains(Path::new("a/b")) && found.contains(Path::new("deep/sub")), "{found:?}");
    assert!(
        !found
            .iter()
            .any(|path| path.is_absolute() || path.iter().any(|name| name == ".." || name == ".git"))
    );
    assert!(of(|_| Err(io::ErrorKind::NotFound.into())).unwrap().is_empty());
    assert!(of(|_| Err(io::ErrorKind::FileTooLarge.into())).is_err());
}
