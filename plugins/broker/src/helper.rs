//! One helper: a confined process with one plugin in it.

mod end;
mod process;

use std::io;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::time::Duration;

use confine_core::egress::frame::{Decoder, Frame, FrameError, Link};
use confine_core::egress::manifest::ABI;
use tokio::io::AsyncReadExt as _;
use tokio::net::UnixStream;
use tokio::sync::watch;
use tokio::time::timeout;

use crate::lane::Lane;
use crate::pool::Place;
use crate::spec::Spec;
use crate::wire;

pub(crate) use end::End;
use process::Process;

/// How long a plugin may take to be loaded.
const LOADING: Duration = Duration::from_secs(10);
/// How long the news of a helper's end may take after its sockets have closed.
const NEWS: Duration = Duration::from_secs(10);

/// A helper that has said hello. Dropping it ends its whole tree.
#[derive(Debug)]
pub(crate) struct Helper {
    process: Process,
    ended: watch::Receiver<Option<End>>,
    /// Its end is how the helper learns that we are gone.
    control: UnixStream,
    #[expect(dead_code, reason = "given back when it is dropped")]
    place: Place,
}

/// Why there is no helper.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StartError {
    /// The system has no more sockets, or the like.
    #[error("a helper cannot be made: {0}")]
    System(#[from] io::Error),
    /// It cannot be confined, or not be started.
    #[error("the helper cannot be started: {0}")]
    Spawn(String),
    /// It ended instead of saying hello.
    #[error("the helper ended before it had loaded the plugin: {0}")]
    Ended(End),
    /// It did not load the plugin.
    #[error("the helper does not load the plugin: {0}")]
    Refused(String),
    /// It took too long.
    #[error("the plugin was not loaded within {} s", LOADING.as_secs())]
    Slow,
    /// It said what it may not.
    #[error("the helper broke the protocol: {0}")]
    Frame(#[from] FrameError),
    /// It has another ABI.
    #[error("the helper loaded a plugin of ABI {found}, and ABI {ABI} was approved")]
    Abi {
        /// Which.
        found: u32,
    },
    /// The manifest that it has at run time is not the one that its file holds.
    #[error("the plugin says of itself at run time what its file does not say")]
    Manifest,
    /// The manifest asks for no lane.
    #[error("the manifest allows no call at all")]
    NoLane,
}

impl Helper {
    /// Starts one, and loads the plugin in it. Answers a lane for each call that it may run at once.
    ///
    /// # Errors
    /// See [`StartError`].
    pub(crate) async fn start(spec: &Spec, place: Place) -> Result<(Arc<Self>, Vec<Lane>), StartError> {
        let (control, theirs) = wire::pair()?;
        let lanes = usize::try_from(spec.manifest.concurrency).unwrap_or(1);
        let pairs: Vec<(UnixStream, OwnedFd)> =
            (0..lanes).map(|_| wire::pair()).collect::<io::Result<_>>()?;
        let (process, ended) = Process::spawn(spec, theirs).await?;
        let mut helper = Self { process, ended, control, place };
        let (ours, theirs): (Vec<_>, Vec<_>) = pairs.into_iter().unzip();
        match timeout(LOADING, helper.load(spec, &theirs)).await {
            Ok(loaded) => loaded?,
            Err(_) => return Err(StartError::Slow),
        }
        Ok((Arc::new(helper), ours.into_iter().map(Lane::new).collect()))
    }

    /// Whether its process has not ended yet, as far as is known.
    pub(crate) fn is_alive(&self) -> bool {
        self.ended.borrow().is_none()
    }

    /// Ends its whole tree now.
    pub(crate) fn kill(&self) {
        self.process.kill();
    }

    /// How it ended, for whoever has seen a socket of it close.
    pub(crate) async fn end(&self) -> End {
        let mut ended = self.ended.clone();
        let news = timeout(NEWS, ended.wait_for(Option::is_some)).await;
        match news {
            Ok(Ok(end)) => end.clone().unwrap_or(End::Unknown),
            // Its sockets are closed and it goes on: nothing that it does matters any more.
            _ => {
                self.kill();
                End::Closed
            }
        }
    }

    async fn load(&mut self, spec: &Spec, lanes: &[OwnedFd]) -> Result<(), StartError> {
        let mut open = Vec::new();
        let count = u32::try_from(lanes.len()).unwrap_or(u32::MAX);
        Frame::Open { abi: ABI, lanes: count, config: &spec.config }.encode(&mut open)?;
        let descriptors: Vec<BorrowedFd<'_>> =
            std::iter::once(&spec.memory).chain(lanes).map(|one| one.as_fd()).collect();
        if wire::send_with(&self.control, &open, &descriptors).await.is_err() {
            return Err(StartError::Ended(self.end().await));
        }
        self.hello(spec).await
    }

    async fn hello(&mut self, spec: &Spec) -> Result<(), StartError> {
        let mut decoder = Decoder::new(Link::ControlToBroker);
        let mut buffer = [0; 4096];
        loop {
            match decoder.frame()? {
                Some(Frame::Hello { abi, .. }) if abi != ABI => return Err(StartError::Abi { found: abi }),
                Some(Frame::Hello { manifest, .. }) if manifest == spec.manifest.bytes() => return Ok(()),
                Some(Frame::Hello { .. }) => return Err(StartError::Manifest),
                Some(Frame::Refused { reason }) => return Err(StartError::Refused(reason.to_owned())),
                Some(_) | None => {}
            }
            let count = self.control.read(&mut buffer).await.unwrap_or(0);
            if count == 0 {
                return Err(StartError::Ended(self.end().await));
            }
            decoder.push(buffer.get(..count).unwrap_or_default());
        }
    }
}

impl Drop for Helper {
    fn drop(&mut self) {
        self.process.kill();
    }
}
