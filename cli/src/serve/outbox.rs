//! Answers of the connection itself, on their way to a client that may not read them: none of them keeps the connection
//! from hearing what the client says next, or that it is gone.

use std::collections::VecDeque;
use std::future::pending;

use confine_core::protocol::ToClient;

use super::channel::{Gone, Voice};

/// So many answers wait at most: whoever asks for more without reading one is taken for gone.
const MOST: usize = 1024;

/// What waits, in order.
pub(super) struct Outbox {
    voice: Voice,
    lines: VecDeque<Vec<u8>>,
}

impl Outbox {
    /// With nothing in it.
    pub(super) fn new(voice: Voice) -> Self {
        Self { voice, lines: VecDeque::new() }
    }

    /// Says something once there is room, and does not wait for that.
    ///
    /// # Errors
    /// When too much waits already.
    pub(super) fn push(&mut self, message: &ToClient) -> Result<(), Gone> {
        let line = message.encode().map_err(|_| Gone)?;
        match self.voice.room_now().filter(|_| self.lines.is_empty()) {
            Some(room) => room.write(line),
            None if self.lines.len() >= MOST => return Err(Gone),
            None => self.lines.push_back(line),
        }
        Ok(())
    }

    /// Says the first of what waits, once there is room; never, where nothing waits. Cancel-safe.
    ///
    /// # Errors
    /// When nobody reads any more.
    pub(super) async fn next(&mut self) -> Result<(), Gone> {
        if self.lines.is_empty() {
            return pending().await;
        }
        let room = self.voice.room().await?;
        if let Some(line) = self.lines.pop_front() {
            room.write(line);
        }
        Ok(())
    }

    /// Says everything that waits, or as much as anybody reads.
    pub(super) async fn flush(&mut self) {
        while !self.lines.is_empty() && self.next().await.is_ok() {}
    }
}

#[cfg(test)]
mod tests {
    use super::super::channel::Channel;
    use super::*;
    use confine_core::protocol::{Name, TurnChanged};
    use std::io::Read as _;

    fn message(number: usize) -> ToClient {
        ToClient::TurnOpen(TurnChanged { turn: Name::try_from(number.to_string()).unwrap() })
    }

    #[tokio::test(flavor = "current_thread")]
    async fn a_bounded_number_waits_and_arrives_in_order() {
        let (mut reader, writer) = std::io::pipe().unwrap();
        let (channel, farewell) = Channel::open(std::io::empty(), writer);
        let mut outbox = Outbox::new(channel.voice.clone());
        let said = (0..100_000).take_while(|number| outbox.push(&message(*number)).is_ok()).count();
        assert!((MOST..100_000).contains(&said), "{said}");
        let read = std::thread::spawn(move || {
            let mut text = String::new();
            reader.read_to_string(&mut text).map(|_| text)
        });
        outbox.flush().await;
        drop((outbox, channel));
        farewell.await.unwrap();
        let expected: Vec<u8> = (0..said).flat_map(|number| message(number).encode().unwrap()).collect();
        assert_eq!(read.join().unwrap().unwrap().as_bytes(), expected);
    }
}
