//! One connection: what its client says, and the runs that it has.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use confine_core::LaunchFault;
use confine_core::approval::{Answer, ApprovalRequestId, Ignored};
use confine_core::escalate::{Ahead, Grant};
use confine_core::protocol::{
    Complaint, Fault, FromClient, Input, LONGEST_LINE, Launch, Malformed, Name, Names, Question, Signalled,
    Stdin, ToClient, TurnChanged, TurnNamed, VERSION, Welcome,
};
use confine_runner::approvals::Turn;
use tokio::sync::mpsc::{self, UnboundedSender};
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::answers::{self, Topic};
use super::asking::Desk;
use super::channel::{Channel, Gone};
use super::house::House;
use super::outbox::Outbox;
use super::run::{Course, Order, blocking};
use super::stdin::{self, Inlet};
use crate::version;

/// So many runs and questions are under way at once on a connection.
const MOST_RUNS: usize = 64;
/// So many turns are open at once on a connection.
const MOST_TURNS: usize = 64;
/// How long the runs of a client that is gone may take to end by themselves once they were told to.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long a client may take to say hello.
const GREETING: Duration = Duration::from_secs(10);
/// How long it may take to write down that nobody answers any more.
const FAREWELL: Duration = Duration::from_secs(1);

/// A connection.
pub(super) struct Session {
    house: Arc<House>,
    channel: Channel,
    outbox: Outbox,
    /// `None` before the greeting.
    desk: Option<Arc<Desk>>,
    runs: BTreeMap<Name, Entry>,
    turns: BTreeMap<Name, Arc<Turn>>,
    /// How long the client may take to say hello.
    greeting: Duration,
    /// Runs, by their names, and questions, which have none.
    tasks: JoinSet<Option<Name>>,
}

/// A run under way.
struct Entry {
    orders: UnboundedSender<Order>,
    inlet: Option<Inlet>,
    turn: Option<Name>,
}

/// Why a message leads to nothing.
struct Wrong {
    fault: Fault,
    text: String,
}

/// What a client says about an approval.
enum Said {
    Answer(Answer),
    /// That it will not answer.
    Nothing,
}

/// Whether the connection goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    Go,
    End,
}

impl Session {
    /// With a client that has said nothing yet.
    pub(super) fn new(house: Arc<House>, channel: Channel) -> Self {
        Self {
            house,
            outbox: Outbox::new(channel.voice.clone()),
            channel,
            desk: None,
            runs: BTreeMap::new(),
            turns: BTreeMap::new(),
            greeting: GREETING,
            tasks: JoinSet::new(),
        }
    }

    /// Until the client is gone or said what ends the connection, and every run of it has ended.
    pub(super) async fn run(mut self) {
        if self.greet().await == Ok(Next::Go) {
            while self.step().await == Ok(Next::Go) {}
        }
        if let Some(desk) = &self.desk {
            let _ = timeout(FAREWELL, desk.distrust("the front end is gone")).await;
        }
        // Without anybody who could give them orders, runs end.
        self.runs.clear();
        let ended = async {
            self.outbox.flush().await;
            while self.tasks.join_next().await.is_some() {}
        };
        let _ = timeout(PATIENCE, ended).await;
    }

    async fn greet(&mut self) -> Result<Next, Gone> {
        // Whoever says nothing is not to take another's place.
        let heard = timeout(self.greeting, self.channel.heard.recv()).await;
        let (about, greeting) = match heard {
            Ok(None) => return Ok(Next::End),
            Ok(Some(Ok((about, FromClient::Hello(greeting))))) => (about, greeting),
            Ok(Some(Ok((about, _)))) => return self.end(complaint(about, no_hello())),
            Ok(Some(Err(malformed))) => return self.end(malformed.into()),
            Err(_) => return self.end(complaint(Names::default(), no_hello())),
        };
        if greeting.version != VERSION {
            let text = format!("version {} is not spoken here: {VERSION} is", greeting.version);
            return self.end(complaint(about, Wrong::new(Fault::Version, text)));
        }
        let voice = self.channel.voice.clone();
        let desk = match blocking(move || Desk::open(&greeting, voice)).await {
            Ok(desk) => self.desk.insert(Arc::new(desk)),
            Err(fault) => {
                let launch_fault = Some(fault.clone());
                return self.end(Complaint { launch_fault, ..complaint(about, fault.into()) });
            }
        };
        let welcome = Self::welcome(desk);
        self.say(&ToClient::Hello(welcome))
    }

    fn welcome(desk: &Desk) -> Welcome {
        Welcome {
            version: VERSION,
            confine: version::VERSION.to_owned(),
            session: desk.session(),
            approvals: desk.wish(),
            longest_line: LONGEST_LINE,
            most_runs: MOST_RUNS,
            most_stdin: stdin::MOST,
        }
    }

    /// The next thing that happens. A run that is over is forgotten before the client can speak of it again.
    async fn step(&mut self) -> Result<Next, Gone> {
        let heard = tokio::select! {
            biased;
            Some(ended) = self.tasks.join_next(), if !self.tasks.is_empty() => {
                if let Ok(Some(run)) = ended {
                    self.runs.remove(&run);
                }
                return Ok(Next::Go);
            }
            () = self.channel.voice.gone() => return Ok(Next::End),
            said = self.outbox.next() => return said.map(|()| Next::Go),
            heard = self.channel.heard.recv() => heard,
        };
        match heard {
            None => Ok(Next::End),
            Some(Ok((about, message))) => self.take(about, message).await,
            Some(Err(malformed)) if malformed.fault == Fault::TooLong => self.end(malformed.into()),
            Some(Err(malformed)) => {
                self.distrust(&malformed).await;
                self.say(&ToClient::Error(Box::new(malformed.into())))
            }
        }
    }

    async fn take(&mut self, about: Names, message: FromClient) -> Result<Next, Gone> {
        let taken = match message {
            FromClient::Hello(_) => Err(Wrong::new(Fault::SecondHello, "there was a `hello` before")),
            FromClient::RunStart(launch) => self.start(*launch),
            FromClient::RunStdin(input) => self.input(input),
            FromClient::RunSignal(Signalled { run, signal }) => self.signal(&run, signal),
            FromClient::RunCancel(cancelled) => self.order(&cancelled.run, Order::Cancel),
            FromClient::TurnOpen(named) => return self.open(about, named).await,
            FromClient::TurnClose(named) => return self.close(about, named),
            FromClient::ApprovalAnswer(ruling) => {
                let id = ruling.approval.clone();
                self.rule(&id, Said::Answer(ruling.answer())).await
            }
            FromClient::ApprovalCancel(withdrawn) => self.rule(&withdrawn.approval, Said::Nothing).await,
            FromClient::Probe(asked) => {
                let found = answers::probe(&self.house, asked);
                return self.say(&found);
            }
            FromClient::Plan(question) => self.ask(Topic::Plan, question, &about),
            FromClient::PolicyCheck(question) => self.ask(Topic::Check, question, &about),
            FromClient::PolicyShow(question) => self.ask(Topic::Show, question, &about),
            FromClient::PolicyDescribe(question) => self.ask(Topic::Describe, question, &about),
        };
        match taken {
            Ok(()) => Ok(Next::Go),
            Err(wrong) => self.complain(about, wrong),
        }
    }

    fn start(&mut self, launch: Launch) -> Result<(), Wrong> {
        if self.runs.contains_key(&launch.run) {
            return Err(Wrong::new(Fault::RunExists, "a run of that name is under way"));
        }
        let desk = self.desk.clone().ok_or_else(|| Wrong::new(Fault::NoHello, "there was no `hello`"))?;
        let ahead = ahead(&launch)?;
        let turn = match &launch.turn {
            Some(turn) => Some(self.turns.get(turn).cloned().ok_or_else(no_turn)?),
            None => None,
        };
        self.room()?;
        let (orders, given) = mpsc::unbounded_channel();
        let (inlet, outlet) = match launch.stdin {
            Stdin::Pipe => Some(stdin::open()).unzip(),
            Stdin::Null | Stdin::Data(_) => (None, None),
        };
        self.runs.insert(launch.run.clone(), Entry { orders, inlet, turn: launch.turn.clone() });
        let course = Course {
            house: self.house.clone(),
            voice: self.channel.voice.clone(),
            desk,
            ahead,
            turn,
            launch: Arc::new(launch),
            orders: given,
            outlet,
            cancelled: false,
        };
        self.tasks.spawn(async { Some(course.run().await) });
        Ok(())
    }

    /// Hands an answer on, one after the other: the first counts.
    async fn rule(&self, id: &str, said: Said) -> Result<(), Wrong> {
        let unknown = || Wrong::new(Fault::UnknownApproval, "no approval of that name was asked here");
        let (Some(desk), Ok(id)) = (&self.desk, ApprovalRequestId::new(id)) else { return Err(unknown()) };
        let approvals = desk.approvals();
        let ignored = match said {
            Said::Answer(answer) => approvals.answer(&id, answer).await,
            Said::Nothing => approvals.fail(&id, "the front end does not answer").await,
        };
        match ignored {
            Ok(None) => Ok(()),
            Ok(Some(Ignored::Unknown)) if !desk.knew(&id) => Err(unknown()),
            Ok(Some(_)) => {
                Err(Wrong::new(Fault::Decided, "it was decided before; the answer changes nothing"))
            }
            Err(error) => Err(Wrong::new(Fault::Refused, error.to_string())),
        }
    }

    /// A line that is no message, while questions are open, is an answer to none of them, or to the one that it names.
    async fn distrust(&self, malformed: &Malformed) {
        let Some(desk) = &self.desk else { return };
        let reason = format!("the front end answered garbage: {malformed}");
        match &malformed.about.approval {
            None if malformed.about.of.is_none() => desk.distrust(&reason).await,
            None => {}
            Some(id) => {
                if let Ok(id) = ApprovalRequestId::new(id.as_str()) {
                    // What is decided stays decided.
                    let _ = desk.approvals().fail(&id, reason).await;
                }
            }
        }
    }

    fn input(&mut self, input: Input) -> Result<(), Wrong> {
        let entry = self.runs.get_mut(&input.run).ok_or_else(no_run)?;
        let pushed = match entry.inlet.as_mut() {
            Some(inlet) => inlet.push(input.data, input.end),
            None => Err(Fault::StdinClosed),
        };
        pushed.map_err(|fault| match fault {
            Fault::StdinFull => Wrong::new(fault, "more than may wait was sent; wait for `run/stdin`"),
            _ => Wrong::new(fault, "the run reads nothing from here, or no more"),
        })
    }

    fn signal(&self, run: &Name, signal: i32) -> Result<(), Wrong> {
        if !(1..=64).contains(&signal) {
            return Err(Wrong::new(Fault::Malformed, "`signal`: a number from 1 to 64"));
        }
        self.order(run, Order::Signal(signal))
    }

    fn order(&self, run: &Name, order: Order) -> Result<(), Wrong> {
        let entry = self.runs.get(run).ok_or_else(no_run)?;
        // It may be over at this moment.
        let _ = entry.orders.send(order);
        Ok(())
    }

    fn ask(&mut self, topic: Topic, question: Box<Question>, about: &Names) -> Result<(), Wrong> {
        self.room()?;
        let (house, voice, about) = (self.house.clone(), self.channel.voice.clone(), about.clone());
        self.tasks.spawn(async move {
            let answer = answers::answer(house, topic, question, about).await;
            // Nobody may be there any more.
            let _ = voice.say(&answer).await;
            None
        });
        Ok(())
    }

    fn room(&self) -> Result<(), Wrong> {
        if self.tasks.len() < MOST_RUNS {
            return Ok(());
        }
        let text = format!("a connection has at most {MOST_RUNS} runs and questions at once");
        Err(Wrong::new(Fault::TooManyRuns, text))
    }

    async fn open(&mut self, about: Names, TurnNamed { turn }: TurnNamed) -> Result<Next, Gone> {
        if self.turns.contains_key(&turn) {
            return self.complain(about, Wrong::new(Fault::TurnExists, "a turn of that name is open"));
        }
        if self.turns.len() >= MOST_TURNS {
            let text = format!("a connection has at most {MOST_TURNS} turns at once");
            return self.complain(about, Wrong::new(Fault::TooManyRuns, text));
        }
        let Some(desk) = &self.desk else { return Ok(Next::End) };
        match desk.turn().await {
            Ok(opened) => drop(self.turns.insert(turn.clone(), Arc::new(opened))),
            Err(fault) => return self.complain(about, fault.into()),
        }
        self.say(&ToClient::TurnOpen(TurnChanged { turn }))
    }

    fn close(&mut self, about: Names, TurnNamed { turn }: TurnNamed) -> Result<Next, Gone> {
        let Some(closed) = self.turns.remove(&turn) else { return self.complain(about, no_turn()) };
        for entry in self.runs.values().filter(|entry| entry.turn.as_ref() == Some(&turn)) {
            // It may be over at this moment.
            let _ = entry.orders.send(Order::Leave);
        }
        // Where runs are in it, it is closed when the last of them has left.
        drop(closed);
        self.say(&ToClient::TurnClose(TurnChanged { turn }))
    }

    /// Never waits for the client to read: a client that does not is heard all the same.
    fn say(&mut self, message: &ToClient) -> Result<Next, Gone> {
        self.outbox.push(message).map(|()| Next::Go)
    }

    fn complain(&mut self, about: Names, wrong: Wrong) -> Result<Next, Gone> {
        self.say(&ToClient::Error(Box::new(complaint(about, wrong))))
    }

    fn end(&mut self, complaint: Complaint) -> Result<Next, Gone> {
        self.say(&ToClient::Error(Box::new(complaint))).map(|_| Next::End)
    }
}

impl Wrong {
    fn new(fault: Fault, text: impl Into<String>) -> Self {
        Self { fault, text: text.into() }
    }
}

impl From<LaunchFault> for Wrong {
    fn from(fault: LaunchFault) -> Self {
        Self { fault: Fault::Refused, text: fault.text }
    }
}

/// What a run wants beyond its policy.
fn ahead(launch: &Launch) -> Result<Option<Ahead>, Wrong> {
    let wrong = |text: String| Wrong::new(Fault::Malformed, text);
    let grant =
        launch.sandbox_permissions.as_ref().map(|value| serde_json::from_value::<Grant>(value.clone()));
    let grant = grant.transpose().map_err(|error| wrong(format!("`sandbox_permissions`: {error}")))?;
    Ahead::new(grant, launch.justification.clone()).map_err(|error| wrong(error.to_string()))
}

fn no_hello() -> Wrong {
    Wrong::new(Fault::NoHello, "the first line is a `hello`")
}

fn no_turn() -> Wrong {
    Wrong::new(Fault::UnknownTurn, "no turn of that name is open on this connection")
}

fn no_run() -> Wrong {
    Wrong::new(Fault::UnknownRun, "no run of that name is under way on this connection")
}

fn complaint(about: Names, Wrong { fault, text }: Wrong) -> Complaint {
    Complaint { fault, text, about, launch_fault: None }
}

#[cfg(test)]
mod tests;
