//! A plugin as a tool: its calls go over a lane to a helper, and what it asks for goes to the host of the call.

mod upload;

use std::sync::Arc;
use std::time::Duration;

use confine_core::egress::Manifest;
use confine_core::egress::frame::{Frame, Upload};
use confine_core::egress::tool::{
    Code, EgressHost, EgressTool, Head, Request, Response, Sink, Source, Stopped, Target, ToolError,
    async_trait,
};
use tokio::sync::oneshot;
use tokio::time::timeout;

use crate::lane::{Asked, Lane, LaneError, Said, Writer};
use crate::pool::{Pool, Seat};

/// How long a plugin has to end a call that is not wanted any more.
const GRACE: Duration = Duration::from_millis(500);
/// Lines that are this important say why a call failed.
const ERROR_LEVEL: u8 = 1;

/// A plugin.
#[derive(Debug)]
pub(crate) struct PluginTool {
    pub(crate) pool: Arc<Pool>,
}

/// A call that is under way. Dropping it ends it.
struct Active {
    seat: Option<Seat>,
    lanes: u32,
}

/// What a call is about.
struct Context<'c> {
    host: &'c dyn EgressHost,
    /// The last line that says why something failed.
    reason: String,
    heard: Heard,
}

/// Whether the helper has said anything in this call.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Heard {
    Nothing,
    Something,
}

/// Why a call has no code.
enum Fault {
    Lane(LaneError),
    /// Whoever takes the reply wants no more.
    Stopped,
}

impl From<LaneError> for Fault {
    fn from(error: LaneError) -> Self {
        Self::Lane(error)
    }
}

impl Drop for Active {
    fn drop(&mut self) {
        let (Some(seat), lanes) = (self.seat.take(), self.lanes) else { return };
        match tokio::runtime::Handle::try_current() {
            Ok(runtime) => drop(runtime.spawn(cancel(seat, lanes))),
            Err(_) => seat.helper.kill(),
        }
    }
}

/// Asks the plugin to end the call, and ends the helper where it does not. Its lane is not used again.
async fn cancel(mut seat: Seat, lanes: u32) {
    let asked = async {
        seat.lane.writer.send(Frame::Cancel).await?;
        if seat.lane.asked == Asked::Something {
            let code = Code::Cancelled.number();
            seat.lane.writer.send(Frame::Failed { code, text: "the call is over" }).await?;
        }
        loop {
            if let Said::Done(_) = seat.lane.reader.next().await? {
                return Ok::<_, LaneError>(());
            }
        }
    };
    let ended = timeout(GRACE, asked).await;
    if lanes == 1 || !matches!(ended, Ok(Ok(()))) {
        seat.helper.kill();
    }
}

#[async_trait]
impl EgressTool for PluginTool {
    fn manifest(&self) -> &Manifest {
        &self.pool.spec().manifest
    }

    async fn call(
        &self,
        input: &serde_json::Value,
        host: &dyn EgressHost,
        reply: &mut dyn Sink,
    ) -> Result<(), ToolError> {
        let input =
            serde_json::to_vec(input).map_err(|error| ToolError::new(Code::BadInput, error.to_string()))?;
        loop {
            let seat = self.pool.take().await;
            let seat = seat.map_err(|error| ToolError::new(Code::Failed, error.to_string()))?;
            let was_used = seat.was_used;
            let lanes = self.manifest().concurrency;
            let mut active = Active { seat: Some(seat), lanes };
            let mut context = Context { host, reason: String::new(), heard: Heard::Nothing };
            let done = context.converse(&mut active, &input, reply).await;
            let again = was_used && context.heard == Heard::Nothing;
            match done {
                Ok(code) => return self.done(active, code, context.reason),
                // A helper that died while it waited has seen nothing of the call.
                Err(Fault::Lane(LaneError::Ended)) if again => self.discard(active),
                Err(Fault::Lane(error)) => return Err(self.lost(active, &error).await),
                Err(Fault::Stopped) => {
                    return Err(ToolError::new(Code::Cancelled, "the reply was not wanted any more"));
                }
            }
        }
    }
}

impl PluginTool {
    fn done(&self, mut active: Active, code: i32, reason: String) -> Result<(), ToolError> {
        if let Some(seat) = active.seat.take() {
            self.pool.give(seat);
        }
        match Code::of(code) {
            None => Ok(()),
            Some(code) if reason.is_empty() => {
                let text = format!("the plugin `{}` says: {code}", self.manifest().name);
                Err(ToolError::new(code, text))
            }
            Some(code) => Err(ToolError::new(code, reason)),
        }
    }

    fn discard(&self, mut active: Active) {
        if let Some(seat) = active.seat.take() {
            seat.helper.kill();
        }
    }

    async fn lost(&self, mut active: Active, error: &LaneError) -> ToolError {
        let name = &self.manifest().name;
        let Some(seat) = active.seat.take() else { return ToolError::new(Code::Failed, error.to_string()) };
        let text = match error {
            LaneError::Ended => format!("the plugin `{name}` is gone: {}", seat.helper.end().await),
            error => format!("the plugin `{name}` was ended: {error}"),
        };
        seat.helper.kill();
        ToolError::new(Code::Failed, text)
    }
}

impl Context<'_> {
    async fn converse(
        &mut self,
        active: &mut Active,
        input: &[u8],
        reply: &mut dyn Sink,
    ) -> Result<i32, Fault> {
        let Some(Seat { lane, .. }) = &mut active.seat else { return Err(LaneError::Ended.into()) };
        lane.writer.send(Frame::Call { input }).await?;
        loop {
            let said = lane.reader.next().await?;
            self.heard = Heard::Something;
            match said {
                Said::Fetch { upload, request } => {
                    lane.asked = Asked::Something;
                    self.fetch(lane, upload, &request, reply).await?;
                    lane.asked = Asked::Nothing;
                }
                Said::Connect(target) => {
                    lane.asked = Asked::Something;
                    connect(self.host, &mut lane.writer, &target).await?;
                    lane.asked = Asked::Nothing;
                }
                Said::Log(level, text) => self.log(level, text),
                Said::Reply(part) => reply.write(&part).await.map_err(|_| Fault::Stopped)?,
                Said::Done(code) => return Ok(code),
                // About an answer that was over when it was said.
                Said::Stop => {}
                Said::Upload(_) | Said::UploadEnd => return Err(turn()),
            }
        }
    }

    fn log(&mut self, level: u8, text: String) {
        self.host.log(level, &text);
        if level <= ERROR_LEVEL {
            self.reason = text;
        }
    }

    /// Answers a request while it hears what the helper says meanwhile: the body of the request, lines, parts of the reply.
    async fn fetch(
        &mut self,
        lane: &mut Lane,
        upload: Upload,
        request: &[u8],
        reply: &mut dyn Sink,
    ) -> Result<(), Fault> {
        let Lane { reader, writer, .. } = lane;
        let (over, mut is_over) = oneshot::channel::<()>();
        let (stop, stopped) = oneshot::channel();
        let (mut parts, mut source) = upload::channel(upload);
        let host = self.host;
        let answer = async move {
            let upload: Option<&mut (dyn Source + '_)> = match upload {
                Upload::Follows => Some(&mut source),
                Upload::None => None,
            };
            let answered = answer(host, writer, request, upload, stopped).await;
            // What is still to come of the body is taken and dropped.
            drop(source);
            drop(over);
            answered.map_err(Fault::Lane)
        };
        let hear = async {
            let (mut stop, mut waits) = (Some(stop), true);
            while waits || parts.is_open() {
                let said = tokio::select! {
                    // What is said after the answer's end is no part of it, and both may be there at once.
                    biased;
                    _ = &mut is_over, if waits => {
                        waits = false;
                        continue;
                    }
                    said = reader.next() => said?,
                };
                match said {
                    Said::Upload(part) if parts.is_open() => parts.send(part).await,
                    Said::UploadEnd if parts.is_open() => parts.end().await,
                    Said::Stop => {
                        parts.abandon();
                        drop(stop.take());
                    }
                    Said::Log(level, text) => self.log(level, text),
                    Said::Reply(part) => reply.write(&part).await.map_err(|_| Fault::Stopped)?,
                    _ => return Err(turn()),
                }
            }
            // Not before the answer is over.
            drop(stop);
            Ok(())
        };
        tokio::try_join!(answer, hear).map(|_| ())
    }
}

fn turn() -> Fault {
    LaneError::Turn("it says something that fits nowhere in a call").into()
}

async fn answer(
    host: &dyn EgressHost,
    writer: &mut Writer,
    request: &[u8],
    upload: Option<&mut (dyn Source + '_)>,
    stopped: oneshot::Receiver<()>,
) -> Result<(), LaneError> {
    let request = Request::decode(request).map_err(|error| ToolError::new(Code::BadInput, error.to_string()));
    let mut answering = Answering { writer: &mut *writer, fault: None };
    let answered = match request {
        Ok(request) => tokio::select! {
            answered = host.fetch(&request, upload, &mut answering) => answered,
            _ = stopped => Err(ToolError::new(Code::Cancelled, "the answer was not wanted any more")),
        },
        Err(error) => Err(error),
    };
    if let Some(fault) = answering.fault {
        return Err(fault);
    }
    match answered {
        Ok(()) => writer.send(Frame::End).await,
        Err(error) => failed(writer, &error).await,
    }
}

async fn connect(host: &dyn EgressHost, writer: &mut Writer, target: &[u8]) -> Result<(), LaneError> {
    let target = Target::decode(target).map_err(|error| ToolError::new(Code::BadInput, error.to_string()));
    let connected = match target {
        Ok(target) => host.connect(&target).await,
        Err(error) => Err(error),
    };
    match connected {
        Ok(socket) => {
            use std::os::fd::AsFd as _;
            writer.send_with(Frame::Connected, socket.as_fd()).await
        }
        Err(error) => failed(writer, &error).await,
    }
}

async fn failed(writer: &mut Writer, error: &ToolError) -> Result<(), LaneError> {
    writer.send(Frame::Failed { code: error.code.number(), text: &error.text }).await
}

/// Writes an answer to a lane.
struct Answering<'w> {
    writer: &'w mut Writer,
    fault: Option<LaneError>,
}

impl Answering<'_> {
    async fn send(&mut self, frame: Frame<'_>) -> Result<(), Stopped> {
        self.writer.send(frame).await.map_err(|error| {
            self.fault = Some(error);
            Stopped
        })
    }
}

#[async_trait]
impl Response for Answering<'_> {
    async fn head(&mut self, head: &Head) -> Result<(), Stopped> {
        let head = serde_json::to_vec(head).map_err(|_| Stopped)?;
        self.send(Frame::Head { head: &head }).await
    }

    async fn body(&mut self, part: &[u8]) -> Result<(), Stopped> {
        self.send(Frame::Body { part }).await
    }
}
