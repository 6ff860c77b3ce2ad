//! A socket to a helper: bytes, and descriptors with them.

use std::io::{self, IoSlice};
use std::os::fd::{AsRawFd as _, BorrowedFd, OwnedFd};

use nix::sys::socket::{AddressFamily, ControlMessage, MsgFlags, SockFlag, SockType, sendmsg, socketpair};
use tokio::io::Interest;
use tokio::net::UnixStream;

/// A connected pair: ours, which does not block, and the helper's, which does. Both close on exec.
///
/// # Errors
/// socketpair(2)'s.
pub(crate) fn pair() -> io::Result<(UnixStream, OwnedFd)> {
    let (ours, theirs) = socketpair(AddressFamily::Unix, SockType::Stream, None, SockFlag::SOCK_CLOEXEC)?;
    let ours = std::os::unix::net::UnixStream::from(ours);
    ours.set_nonblocking(true)?;
    Ok((UnixStream::from_std(ours)?, theirs))
}

/// Sends `bytes` whole, with `descriptors` beside the first of them (unix(7)). At most 253 descriptors.
///
/// # Errors
/// sendmsg(2)'s.
pub(crate) async fn send_with(
    socket: &UnixStream,
    bytes: &[u8],
    descriptors: &[BorrowedFd<'_>],
) -> io::Result<()> {
    let raw: Vec<_> = descriptors.iter().map(|descriptor| descriptor.as_raw_fd()).collect();
    let mut beside: &[_] = &raw;
    let mut left = bytes;
    while !left.is_empty() {
        let sent = socket
            .async_io(Interest::WRITABLE, || {
                let rights = [ControlMessage::ScmRights(beside)];
                let control = if beside.is_empty() { &[][..] } else { &rights[..] };
                let flags = MsgFlags::MSG_NOSIGNAL;
                Ok(sendmsg::<()>(socket.as_raw_fd(), &[IoSlice::new(left)], control, flags, None)?)
            })
            .await?;
        beside = &[];
        left = left.get(sent..).unwrap_or_default();
    }
    Ok(())
}
