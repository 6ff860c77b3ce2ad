//! The socket of `confine serve --socket`: the user's own, from its first moment.

use std::fs::Metadata;
use std::io;
use std::net::Shutdown;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::os::unix::net::{UnixListener as Listener, UnixStream};
use std::path::Path;

use confine_core::policy::{Access, Policy};
use confine_core::{AbsPath, LaunchFault, LaunchStage, Text};
use confine_runner::places::Places;
use rustix::fs::Mode;
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with};
use rustix::process::{geteuid, umask};
use tokio::net::UnixListener;

use crate::arguments::PolicyOptions;
use crate::{fault, request};

mod lock;

/// What helps wherever the place is wrong.
const HELP: &str =
    "name a path in a directory of your own, outside the workspace and every other write grant";

/// A socket that is listened to. Dropping it removes it, where it is still there.
pub(super) struct Socket {
    listener: UnixListener,
    path: AbsPath,
    identity: (u64, u64),
}

/// Ends a connection for both sides when it is dropped.
pub(super) struct Hangup(pub(super) UnixStream);

/// Why nobody can be let in.
#[derive(Debug, thiserror::Error)]
pub(super) enum Refused {
    /// accept(2)'s.
    #[error("{}", fault::cause(.0))]
    Accept(#[source] io::Error),
    /// Of another user.
    #[error("it comes from user {0}")]
    Foreign(u32),
}

impl Socket {
    /// Makes it, 0600 from the start (the mode of a socket is the process's umask, bind(2)). One that nobody listens to
    /// any more is replaced. Inside a runtime.
    ///
    /// # Errors
    /// A place that others could change; one that a program may write to under the policy that is in force without
    /// another word; one where something is.
    pub(super) fn bind(path: &Path, places: &Places) -> Result<Self, LaunchFault> {
        let path = place(path)?;
        let system = |error: io::Error| fault::system(LaunchStage::Usage, &doing(path.as_path()), &error);
        if let Ok(resolved) = request::resolve(&PolicyOptions::default()) {
            outside(&path, &resolved.policy)?;
        }
        // Until it is bound: nobody is to take a socket for stale that is being made.
        let _lock = lock::lock(&path, places)?;
        clear(path.as_path())?;
        let before = umask(Mode::from_bits_retain(0o177));
        let bound = Listener::bind(path.as_path());
        umask(before);
        let listener = bound.map_err(|error| system(error).help(HELP))?;
        let identity = path.as_path().symlink_metadata().map(|found| identity(&found)).map_err(system)?;
        listener.set_nonblocking(true).map_err(system)?;
        Ok(Self { listener: UnixListener::from_std(listener).map_err(system)?, path, identity })
    }

    /// Where it is.
    pub(super) fn path(&self) -> &AbsPath {
        &self.path
    }

    /// The next connection of the same user. Cancel-safe.
    ///
    /// # Errors
    /// That of anybody else, which is closed.
    pub(super) async fn accept(&self) -> Result<UnixStream, Refused> {
        let (stream, _) = self.listener.accept().await.map_err(Refused::Accept)?;
        let user = stream.peer_cred().map_err(Refused::Accept)?.uid();
        if user != geteuid().as_raw() {
            return Err(Refused::Foreign(user));
        }
        let stream = stream.into_std().map_err(Refused::Accept)?;
        stream.set_nonblocking(false).map_err(Refused::Accept)?;
        Ok(stream)
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        let found = self.path.as_path().symlink_metadata();
        if found.is_ok_and(|found| identity(&found) == self.identity) {
            // The next server finds it stale otherwise.
            let _ = std::fs::remove_file(self.path.as_path());
        }
    }
}

impl Drop for Hangup {
    fn drop(&mut self) {
        // The other side may have done so before.
        let _ = self.0.shutdown(Shutdown::Both);
    }
}

/// Whether no program under `policy` could write there, or plant a socket of its own.
///
/// # Errors
/// When one could.
pub(super) fn outside(path: &AbsPath, policy: &Policy) -> Result<(), LaunchFault> {
    let writable = |at: &AbsPath| policy.fs.access_at(at) == Access::Write;
    if !writable(path) && !path.parent().is_some_and(|parent| writable(&parent)) {
        return Ok(());
    }
    let text = format!("serve at `{path}`: the confined program may write there");
    Err(LaunchFault { path: Some(path.clone()), ..fault::usage(text, HELP) })
}

/// The path, its directory resolved once so that no link on the way can be turned later.
fn place(path: &Path) -> Result<AbsPath, LaunchFault> {
    let wrong = |error: io::Error| fault::system(LaunchStage::Usage, &doing(path), &error).help(HELP);
    let name = path.file_name().ok_or_else(|| wrong(io::ErrorKind::IsADirectory.into()))?;
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let directory = parent.canonicalize().map_err(wrong)?;
    let found = directory.metadata().map_err(wrong)?;
    let (others, sticky) = (found.mode() & 0o022 != 0, found.mode() & 0o1000 != 0);
    let trusted = found.uid() == geteuid().as_raw() || found.uid() == 0;
    if !trusted || (others && !sticky) {
        let text = format!("{}: others may replace what is there", doing(path));
        return Err(fault::usage(text, HELP));
    }
    AbsPath::new(directory.join(name))
        .map_err(|error| fault::usage(format!("{}: {error}", doing(path)), HELP))
}

/// Removes a socket of ours that nobody listens to.
fn clear(path: &Path) -> Result<(), LaunchFault> {
    let wrong = |error: &io::Error| fault::system(LaunchStage::Usage, &doing(path), error).help(HELP);
    let found = match path.symlink_metadata() {
        Ok(found) => found,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(wrong(&error)),
    };
    if !found.file_type().is_socket() || found.uid() != geteuid().as_raw() {
        let text = format!("{}: something is there that is no socket of yours", doing(path));
        return Err(fault::usage(text, HELP));
    }
    match knock(path) {
        Err(Errno::CONNREFUSED) => std::fs::remove_file(path).map_err(|error| wrong(&error)),
        _ => Err(fault::usage(
            format!("{}: somebody serves there", doing(path)),
            "connect to it, or name another path",
        )),
    }
}

/// Whether somebody listens, without waiting for one who accepts nobody.
fn knock(path: &Path) -> Result<(), Errno> {
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    connect(&socket, &SocketAddrUnix::new(path)?)
}

fn doing(path: &Path) -> String {
    format!("serve at `{}`", Text::from(path.as_os_str()))
}

fn identity(found: &Metadata) -> (u64, u64) {
    (found.dev(), found.ino())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    /// With a state directory of its own.
    fn bind(path: &Path) -> Result<Socket, LaunchFault> {
        let home = tempfile::tempdir().unwrap();
        let places = Places::with(|name| (name == "HOME").then(|| home.path().into()));
        Socket::bind(path, &places)
    }

    #[tokio::test(flavor = "current_thread")]
    async fn a_socket_is_the_users_own_and_gone_afterwards() {
        let top = tempfile::tempdir().unwrap();
        let path = top.path().canonicalize().unwrap().join("socket");
        let socket = bind(&path).unwrap();
        assert_eq!(path.symlink_metadata().unwrap().permissions().mode() & 0o777, 0o600);
        let client = UnixStream::connect(&path).unwrap();
        let accepted = socket.accept().await.unwrap();
        assert!(client.peer_addr().is_ok() && accepted.local_addr().is_ok());
        drop(socket);
        assert!(!path.exists());
    }

    #[tokio::test(flavor = "current_thread")]
    async fn a_stale_socket_is_replaced_and_one_in_use_is_not() {
        let top = tempfile::tempdir().unwrap();
        let path = top.path().join("socket");
        drop(Listener::bind(&path).unwrap());
        let socket = bind(&path).unwrap();
        let second = bind(&path).err().unwrap();
        assert!(second.text.contains("somebody serves there"), "{}", second.text);
        // The path is another's now: it stays.
        std::fs::remove_file(&path).unwrap();
        let other = Listener::bind(&path).unwrap();
        drop(socket);
        assert!(path.exists());
        drop(other);
    }

    #[tokio::test(flavor = "current_thread")]
    async fn nobody_who_may_look_into_the_directory_can_keep_a_server_out() {
        let top = tempfile::tempdir().unwrap();
        let lock = std::fs::File::open(top.path()).unwrap();
        lock.lock().unwrap();
        assert!(bind(&top.path().join("socket")).is_ok());
    }

    #[tokio::test(flavor = "current_thread")]
    async fn one_who_accepts_nobody_keeps_its_place_and_nobody_waiting() {
        let top = tempfile::tempdir().unwrap();
        let path = top.path().join("socket");
        let listener = Listener::bind(&path).unwrap();
        // Until there is no room for another.
        while knock(&path) == Ok(()) {}
        assert!(bind(&path).err().unwrap().text.contains("somebody serves there"));
        drop(listener);
    }

    #[tokio::test(flavor = "current_thread")]
    async fn what_is_no_socket_of_ours_stays() {
        let top = tempfile::tempdir().unwrap();
        let path = top.path().join("file");
        std::fs::write(&path, "content").unwrap();
        std::os::unix::fs::symlink(&path, top.path().join("link")).unwrap();
        for name in ["file", "link"] {
            let fault = bind(&top.path().join(name)).err().unwrap();
            assert!(fault.text.contains("no socket of yours"), "{}", fault.text);
        }
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "content");
    }

    #[tokio::test(flavor = "current_thread")]
    async fn a_directory_that_others_may_write_to_is_refused_unless_it_is_sticky() {
        let top = tempfile::tempdir().unwrap();
        let mode =
            |mode| std::fs::set_permissions(top.path(), std::fs::Permissions::from_mode(mode)).unwrap();
        mode(0o777);
        assert!(bind(&top.path().join("socket")).is_err());
        mode(0o1777);
        assert!(bind(&top.path().join("socket")).is_ok());
        mode(0o700);
    }
}
