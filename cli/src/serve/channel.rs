//! Lines from a client and to it, by a thread each: whatever the descriptors are, none is made non-blocking for others.

use std::io::{Read, Write};
use std::thread;

use confine_core::protocol::{FromClient, LONGEST_LINE, Lines, Malformed, Names, ToClient};
use tokio::sync::{mpsc, oneshot};

/// Lines that are read and not taken yet.
const READ_AHEAD: usize = 8;
/// Lines that are said and not written yet. With chunks of at most 32 KiB of output, a few MiB.
const BEHIND: usize = 16;
/// How much is read at once, in bytes.
const CHUNK: usize = 64 * 1024;

/// What a client says, with what it names: a message, or what is wrong with a line.
pub(super) type Heard = Result<(Names, FromClient), Malformed>;

/// Both directions.
pub(super) struct Channel {
    /// Ends where the client's side does, and after a line that is too long.
    pub(super) heard: mpsc::Receiver<Heard>,
    /// To the client.
    pub(super) voice: Voice,
}

/// The way to the client. Cheap to clone.
#[derive(Clone)]
pub(super) struct Voice(mpsc::Sender<Vec<u8>>);

/// Room for one line.
pub(super) struct Room<'a>(mpsc::Permit<'a, Vec<u8>>);

/// The client reads no more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Gone;

/// Done once everything that was said is written, or cannot be.
pub(super) type Farewell = oneshot::Receiver<()>;

impl Channel {
    /// Starts both threads. The reader ends with its input, the writer when the last [`Voice`] is gone.
    pub(super) fn open(
        reader: impl Read + Send + 'static,
        writer: impl Write + Send + 'static,
    ) -> (Self, Farewell) {
        let (hear, heard) = mpsc::channel(READ_AHEAD);
        let (say, said) = mpsc::channel(BEHIND);
        let (done, farewell) = oneshot::channel();
        thread::spawn(move || read(reader, &hear));
        thread::spawn(move || {
            write(writer, said);
            // Nobody may be waiting.
            let _ = done.send(());
        });
        (Self { heard, voice: Voice(say) }, farewell)
    }
}

impl Voice {
    /// Says something, and waits for room.
    pub(super) async fn say(&self, message: &ToClient) -> Result<(), Gone> {
        let line = message.encode().map_err(|_| Gone)?;
        self.0.send(line).await.map_err(|_| Gone)
    }

    /// Waits for room, so that what is said then is said at once.
    pub(super) async fn room(&self) -> Result<Room<'_>, Gone> {
        self.0.reserve().await.map(Room).map_err(|_| Gone)
    }

    /// Room, where there is some at this moment.
    pub(super) fn room_now(&self) -> Option<Room<'_>> {
        self.0.try_reserve().ok().map(Room)
    }

    /// Waits until nobody reads any more.
    pub(super) async fn gone(&self) {
        self.0.closed().await;
    }
}

impl Room<'_> {
    /// Says it.
    pub(super) fn say(self, message: &ToClient) -> Result<(), Gone> {
        self.write(message.encode().map_err(|_| Gone)?);
        Ok(())
    }

    /// Says a line that is encoded.
    pub(super) fn write(self, line: Vec<u8>) {
        self.0.send(line);
    }
}

fn read(mut reader: impl Read, hear: &mpsc::Sender<Heard>) {
    let mut lines = Lines::new(LONGEST_LINE);
    let mut chunk = vec![0; CHUNK];
    while let Some(bytes) = next(&mut reader, &mut chunk) {
        let mut taken = true;
        let pushed = lines.push(bytes, |line| {
            taken = taken && hear.blocking_send(FromClient::decode(line)).is_ok();
        });
        if pushed.is_err() {
            let _ = hear.blocking_send(Err(Malformed::too_long()));
            return;
        }
        if !taken {
            return;
        }
    }
}

/// What is there; `None` at the end, whatever it is.
fn next<'a>(reader: &mut impl Read, chunk: &'a mut [u8]) -> Option<&'a [u8]> {
    loop {
        match reader.read(chunk) {
            Ok(0) => return None,
            Ok(count) => return chunk.get(..count),
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(_) => return None,
        }
    }
}

/// Until there is no more to say, or nobody who reads it.
fn write(mut writer: impl Write, mut said: mpsc::Receiver<Vec<u8>>) {
    while let Some(line) = said.blocking_recv() {
        if writer.write_all(&line).and_then(|()| writer.flush()).is_err() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use confine_core::protocol::{Fault, Name, TurnChanged};

    fn message() -> ToClient {
        ToClient::TurnOpen(TurnChanged { turn: Name::try_from("a".to_owned()).unwrap() })
    }

    #[tokio::test(flavor = "current_thread")]
    async fn a_line_that_is_wrong_is_told_and_the_next_is_read() {
        let (mut channel, _) = Channel::open(&b"{\n{\"kind\":\"probe\",\"id\":\"a\"}\n"[..], std::io::sink());
        assert_eq!(channel.heard.recv().await.unwrap().unwrap_err().fault, Fault::Malformed);
        assert!(matches!(channel.heard.recv().await, Some(Ok((_, FromClient::Probe(_))))));
        assert!(channel.heard.recv().await.is_none());
    }

    #[tokio::test(flavor = "current_thread")]
    async fn after_a_line_that_is_too_long_nothing_is_read() {
        let endless = std::io::repeat(b'a');
        let (mut channel, _) = Channel::open(endless, std::io::sink());
        assert_eq!(channel.heard.recv().await.unwrap().unwrap_err().fault, Fault::TooLong);
        assert!(channel.heard.recv().await.is_none());
    }

    #[tokio::test(flavor = "current_thread")]
    async fn a_client_that_does_not_read_makes_its_speaker_wait_and_one_that_is_gone_ends_it() {
        let (reader, writer) = std::io::pipe().unwrap();
        let (channel, farewell) = Channel::open(std::io::empty(), writer);
        let flood = async { while channel.voice.say(&message()).await.is_ok() {} };
        let patience = std::time::Duration::from_millis(200);
        assert!(tokio::time::timeout(patience, flood).await.is_err(), "the pipe has an end");
        drop(reader);
        channel.voice.gone().await;
        farewell.await.unwrap();
        assert!(channel.voice.say(&message()).await.is_err());
    }
}
