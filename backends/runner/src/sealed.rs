//! What nobody can change once it is made: anonymous files by memfd_create(2) with every seal, and a few bytes in a pipe
//! that nobody can write to.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Seek as _, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, SealFlag, fcntl};
use nix::sys::memfd::{MFdFlags, memfd_create};

/// Whether a file may be executed: said where the kernel knows the words (Linux 6.3), so that `vm.memfd_noexec = 1`
/// neither warns nor decides.
const EXECUTABLE: MFdFlags = MFdFlags::from_bits_retain(libc::MFD_EXEC);
const NEVER_EXECUTABLE: MFdFlags = MFdFlags::from_bits_retain(libc::MFD_NOEXEC_SEAL);

/// As much as every pipe takes at once: the kernel gives one page to a user who has many (pipe(7)). A file in memory takes
/// longer to make, and 0.1 ms to free.
const IN_A_PIPE: usize = 4096;

/// Words, each ended by a NUL, to be read once.
///
/// # Errors
/// A word with a NUL, which would read as two; memfd_create(2)'s, pipe2(2)'s and write(2)'s.
pub(crate) fn words<'a>(words: impl IntoIterator<Item = &'a OsString>) -> io::Result<OwnedFd> {
    let mut bytes = Vec::new();
    for word in words {
        if word.as_bytes().contains(&0) {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "a word holds a NUL byte"));
        }
        bytes.extend_from_slice(word.as_bytes());
        bytes.push(0);
    }
    if bytes.len() > IN_A_PIPE {
        return data(&bytes);
    }
    let (reader, mut writer) = io::pipe()?;
    writer.write_all(&bytes)?;
    Ok(reader.into())
}

/// Bytes, read from the start.
///
/// # Errors
/// memfd_create(2)'s and write(2)'s.
pub fn data(bytes: &[u8]) -> io::Result<OwnedFd> {
    let mut file = create(NEVER_EXECUTABLE)?;
    file.write_all(bytes)?;
    seal(file)
}

/// A copy of a program, executable by `/proc/self/fd/N`.
///
/// # Errors
/// `EACCES` where `vm.memfd_noexec` is 2; what open(2) and write(2) say.
pub(crate) fn program(path: &Path) -> io::Result<OwnedFd> {
    copy(File::open(path)?)
}

/// A copy of what is left in `source`, likewise.
///
/// # Errors
/// As [`program`].
pub(crate) fn copy(mut source: impl io::Read) -> io::Result<OwnedFd> {
    let mut file = create(EXECUTABLE)?;
    io::copy(&mut source, &mut file)?;
    seal(file)
}

fn create(kind: MFdFlags) -> io::Result<File> {
    let flags = MFdFlags::MFD_CLOEXEC | MFdFlags::MFD_ALLOW_SEALING;
    let made = match memfd_create(c"confine", flags | kind) {
        Err(Errno::EINVAL) => memfd_create(c"confine", flags),
        made => made,
    };
    Ok(File::from(made?))
}

fn seal(mut file: File) -> io::Result<OwnedFd> {
    file.rewind()?;
    let seals =
        SealFlag::F_SEAL_WRITE | SealFlag::F_SEAL_GROW | SealFlag::F_SEAL_SHRINK | SealFlag::F_SEAL_SEAL;
    fcntl(&file, FcntlArg::F_ADD_SEALS(seals))?;
    Ok(file.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read as _;
    use std::os::fd::AsRawFd as _;
    use std::process::Command;

    #[test]
    fn words_end_in_nul_and_cannot_be_changed() {
        for length in [0, IN_A_PIPE, 100 * IN_A_PIPE] {
            let list = [OsString::from("--args"), OsString::from("x".repeat(length))];
            let mut file = File::from(words(&list).unwrap());
            let mut text = String::new();
            file.read_to_string(&mut text).unwrap();
            assert_eq!(text, format!("--args\0{}\0", "x".repeat(length)));
            assert!(file.write_all(b"x").is_err());
            assert!(file.set_len(0).is_err());
        }
    }

    #[test]
    fn a_word_cannot_smuggle_in_another() {
        assert!(words(&[OsString::from("--cwd\0--tty")]).is_err());
    }

    #[test]
    fn a_copied_program_runs_and_cannot_be_changed() {
        let image = program(Path::new("/bin/true")).unwrap();
        let path = format!("/proc/{}/fd/{}", std::process::id(), image.as_raw_fd());
        assert!(Command::new(path).status().unwrap().success());
        assert!(File::from(image).write_all(b"x").is_err());
    }
}
