//! The runner's end of the control socket: records in, signals out, and the lifeline.
//!
//! Only the runner holds this end, so its end of file tells the stage that the runner is gone, whatever ended it; the
//! stage then ends the tree. The program never holds the other end, so no record is forged.

use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::sync::Arc;

use confine_stage::status::{Command, MAX_RECORD, Record};
use nix::sys::socket::{AddressFamily, MsgFlags, Shutdown, SockFlag, SockType, send, shutdown, socketpair};
use tokio::io::unix::AsyncFd;

use crate::spawn;

/// A record, and the descriptor that came with it.
pub(crate) struct Received {
    /// What the stage says.
    pub(crate) record: Record,
    /// The terminal's master, with [`Record::Terminal`].
    pub(crate) descriptor: Option<OwnedFd>,
}

/// The runner's end.
pub(crate) struct Control {
    socket: AsyncFd<Arc<OwnedFd>>,
    message: Vec<u8>,
}

/// Ends the tree from anywhere, without the runtime.
#[derive(Clone)]
pub(crate) struct Lifeline(Arc<OwnedFd>);

impl Lifeline {
    /// The stage sees the end of file.
    pub(crate) fn cut(&self) {
        // Fails only where the other end is gone already.
        let _ = shutdown(self.0.as_raw_fd(), Shutdown::Both);
    }
}

/// Both ends, close-on-exec; the second is for the stage.
///
/// # Errors
/// socketpair(2)'s, or that there is no tokio runtime with I/O.
pub(crate) fn pair() -> io::Result<(Control, OwnedFd)> {
    let (ours, theirs) = socketpair(AddressFamily::Unix, SockType::SeqPacket, None, SockFlag::SOCK_CLOEXEC)?;
    // Both ends stay blocking: every call on ours says MSG_DONTWAIT.
    let socket = spawn::watched(Arc::new(ours))?;
    Ok((Control { socket, message: vec![0; MAX_RECORD] }, theirs))
}

impl Control {
    /// The next record; `None` at the end of file. Cancel-safe.
    ///
    /// # Errors
    /// A message that is no record, which only a stage of another version sends.
    pub(crate) async fn receive(&mut self) -> io::Result<Option<Received>> {
        loop {
            let mut ready = self.socket.readable().await?;
            let message = &mut self.message;
            match ready.try_io(|socket| spawn::receive(socket.as_fd(), message)) {
                Ok(received) => return decode(message, received),
                Err(_would_block) => {}
            }
        }
    }

    /// The next record, where one is there already.
    pub(crate) fn try_receive(&mut self) -> Option<Received> {
        let received = spawn::receive(self.socket.get_ref().as_fd(), &mut self.message);
        decode(&self.message, received).ok().flatten()
    }

    /// Says to a stage that waits for it that it may go on.
    pub(crate) fn go(&self) {
        self.send(Command::Go);
    }

    /// Sends a signal to the program's process group.
    pub(crate) fn signal(&self, signal: i32) {
        self.send(Command::Signal(signal));
    }

    /// Lost where the stage is gone or does not listen.
    fn send(&self, command: Command) {
        let message = command.encode();
        let flags = MsgFlags::MSG_DONTWAIT | MsgFlags::MSG_NOSIGNAL;
        let _ = send(self.socket.as_raw_fd(), &message, flags);
    }

    /// The lifeline.
    pub(crate) fn lifeline(&self) -> Lifeline {
        Lifeline(self.socket.get_ref().clone())
    }
}

impl Drop for Control {
    /// Lifelines share the socket, so closing this one would not end it.
    fn drop(&mut self) {
        self.lifeline().cut();
    }
}

fn decode(message: &[u8], received: io::Result<(usize, Vec<OwnedFd>)>) -> io::Result<Option<Received>> {
    let (length, descriptors) = match received {
        // The stage died with commands unread.
        Err(error) if error.kind() == io::ErrorKind::ConnectionReset => return Ok(None),
        other => other?,
    };
    if length == 0 {
        return Ok(None);
    }
    let message = message.get(..length).unwrap_or_default();
    let record = Record::decode(message).map_err(io::Error::other)?;
    Ok(Some(Received { record, descriptor: descriptors.into_iter().next() }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use nix::sys::socket::{ControlMessage, sendmsg};
    use std::io::IoSlice;

    fn tell(stage: &OwnedFd, message: &[u8]) {
        send(stage.as_raw_fd(), message, MsgFlags::empty()).unwrap();
    }

    #[tokio::test(flavor = "current_thread")]
    async fn records_arrive_in_order_and_the_end_of_file_after_them() {
        let (mut control, stage) = pair().unwrap();
        tell(&stage, &Record::Staged { pid: 2 }.encode());
        tell(&stage, &Record::Started.encode());
        drop(stage);
        assert_eq!(control.receive().await.unwrap().unwrap().record, Record::Staged { pid: 2 });
        assert_eq!(control.try_receive().unwrap().record, Record::Started);
        assert!(control.receive().await.unwrap().is_none());
    }

    #[tokio::test(flavor = "current_thread")]
    async fn a_descriptor_travels_with_its_record_and_is_close_on_exec() {
        let (mut control, stage) = pair().unwrap();
        let null = std::fs::File::open("/dev/null").unwrap();
        let message = Record::Terminal.encode();
        let rights = [null.as_raw_fd()];
        let parts = [IoSlice::new(&message)];
        let control_messages = [ControlMessage::ScmRights(&rights)];
        sendmsg::<()>(stage.as_raw_fd(), &parts, &control_messages, MsgFlags::empty(), None).unwrap();
        let received = control.receive().await.unwrap().unwrap();
        let flags = nix::fcntl::fcntl(received.descriptor.unwrap(), nix::fcntl::FcntlArg::F_GETFD).unwrap();
        assert_eq!(flags, libc::FD_CLOEXEC);
    }

    #[tokio::test(flavor = "current_thread")]
    async fn garbage_is_an_error_and_a_cut_lifeline_is_seen_at_once() {
        let (mut control, stage) = pair().unwrap();
        tell(&stage, &[0xff; 3]);
        assert!(control.receive().await.is_err());
        control.signal(15);
        control.lifeline().cut();
        let mut message = [0; 64];
        let (length, _) = spawn::receive(stage.as_fd(), &mut message).unwrap();
        assert_eq!(Command::decode(&message[..length]), Ok(Command::Signal(15)));
        assert_eq!(spawn::receive(stage.as_fd(), &mut message).unwrap().0, 0);
    }
}
