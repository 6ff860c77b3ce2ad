//! `confine serve`: runs and approvals for programs in other languages, as `docs/serve.md` has it.
//!
//! One thread runs everything; each connection has one more that reads and one that writes, so that a client that does
//! neither holds up only its own runs.

mod answers;
mod asking;
mod channel;
mod front;
mod house;
mod outbox;
mod relay;
mod rounds;
mod run;
mod session;
mod socket;
mod stdin;
mod stop;
mod text;

use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use confine_core::protocol::schema;
use confine_core::{LaunchFault, LaunchStage};
use confine_runner::places::Places;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use crate::answer;
use crate::arguments::Serve;
use crate::fault::{self, Answer};

use channel::Channel;
use house::House;
use session::Session;
use socket::Socket;
use stop::Stop;

/// So many connections are served at once; others wait.
const MOST_CONNECTIONS: usize = 64;
/// How long what is left to say may take, once a connection is over.
const FAREWELL: Duration = Duration::from_secs(1);
/// Between two attempts to accept, where the system has no descriptors left.
const RETRY: Duration = Duration::from_millis(100);

/// Serves until the client is gone, or until a signal ends it.
pub(crate) fn serve(arguments: &Serve) -> Answer {
    if arguments.schema {
        answer::json(&schema())?;
        return Ok(0);
    }
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| fault::system(LaunchStage::Usage, "start the runtime", &error))?;
    let served = runtime.block_on(async {
        match &arguments.socket {
            Some(path) => listen(path).await,
            None => talk().await,
        }
    });
    // A blocked reader is no reason to stay.
    runtime.shutdown_background();
    served.map(|()| 0)
}

/// One connection: the process's own stdin and stdout.
async fn talk() -> Result<(), LaunchFault> {
    let mut stop = Stop::install()?;
    let house = Arc::new(House::new(None)?);
    let (channel, farewell) = Channel::open(std::io::stdin(), std::io::stdout());
    tokio::select! {
        () = Session::new(house, channel).run() => {}
        () = stop.told() => {}
    }
    let _ = timeout(FAREWELL, farewell).await;
    Ok(())
}

/// Connections, each on its own, until a signal.
async fn listen(path: &Path) -> Result<(), LaunchFault> {
    // Until there is something to tidy up, signals end the process by themselves.
    let socket = Socket::bind(path, &Places::here())?;
    let mut stop = Stop::install()?;
    let house = Arc::new(House::new(Some(socket.path().clone()))?);
    let room = Arc::new(Semaphore::new(MOST_CONNECTIONS));
    let mut connections = JoinSet::new();
    loop {
        let accepted = async {
            let room = room.clone().acquire_owned().await;
            (socket.accept().await, room)
        };
        tokio::select! {
            () = stop.told() => break,
            Some(_) = connections.join_next(), if !connections.is_empty() => {}
            (accepted, room) = accepted => match accepted {
                Ok(stream) => drop(connections.spawn(connected(house.clone(), stream, room.ok()))),
                Err(refused) => {
                    fault::line(&format!("a connection was refused: {refused}"));
                    sleep(RETRY).await;
                }
            },
        }
    }
    connections.shutdown().await;
    Ok(())
}

async fn connected<T>(house: Arc<House>, stream: UnixStream, room: T) {
    let Ok((reader, writer)) = stream.try_clone().and_then(|reader| Ok((reader, stream.try_clone()?))) else {
        return fault::line("a connection was refused: there are no descriptors left");
    };
    let hangup = socket::Hangup(stream);
    let (channel, farewell) = Channel::open(reader, writer);
    Session::new(house, channel).run().await;
    let _ = timeout(FAREWELL, farewell).await;
    drop((hangup, room));
}
