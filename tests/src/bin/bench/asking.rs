//! What asking costs: from a denial to the prompt, and a thousand questions at once.

use std::process::Command;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use confine_core::approval::{
    Answer, ApprovalPolicy, ApprovalRequest, Approver, SessionId, Subject, async_trait,
};
use confine_core::classify::{Judgement, Witness};
use confine_core::escalate::{Escalation, Step};
use confine_core::policy::resolve::{Request, Written, resolve};
use confine_core::{AbsPath, Argv};
use confine_runner::approvals::{Approvals, Asked};
use confine_runner::places::Places;
use confine_runner::view::HostView;
use confine_runner::{End, Ended};
use tokio::runtime::{Builder, Runtime};

use crate::fault::{Fault, system};
use crate::library;
use crate::peak;
use crate::place::{Place, Variables};
use crate::statistics::{median, milliseconds};

/// Questions at once.
pub(crate) const MANY: u32 = 1_000;
/// The word by which this program asks them in a process of its own, so that its memory can be told.
pub(crate) const WORD: &str = "ask-many";

/// The figures.
pub(crate) struct Costs {
    /// From the judgement of a failed run until an approver has the question, in milliseconds: the wider policy resolved, the
    /// program measured, the question on the disk.
    pub(crate) prompt: f64,
    /// From the first of many questions until all are decided, in milliseconds.
    pub(crate) many: f64,
    /// The largest resident size of the process that asked them, in KiB.
    pub(crate) peak: u64,
}

/// Says yes, and remembers when and about what it was asked.
#[derive(Default)]
struct Clocked(Mutex<Vec<(Instant, Option<u32>)>>);

#[async_trait]
impl Approver for Clocked {
    async fn answer(&self, request: &ApprovalRequest) -> Option<Answer> {
        let number = match &request.subject {
            Subject::Command { argv, .. } => {
                argv.last().and_then(|word| word.as_os_str().to_str()?.parse().ok())
            }
            _ => None,
        };
        self.0.lock().ok()?.push((Instant::now(), number));
        Some(Answer::AllowOnce)
    }
}

/// Both, the first `rounds` times.
pub(crate) fn measure(place: &Place, rounds: usize) -> Result<Costs, Fault> {
    let request = library::request(place.workspace(), "")?;
    let runtime = runtime()?;
    let prompts: Result<Vec<Duration>, Fault> =
        (0..rounds).map(|round| runtime.block_on(prompt(place, &request, round))).collect();
    let (many, peak) = in_a_process(place)?;
    Ok(Costs { prompt: median(prompts?.into_iter().map(milliseconds)), many, peak })
}

async fn prompt(place: &Place, request: &Request, round: usize) -> Result<Duration, Fault> {
    let (approvals, clocked) = session(place.base(), &format!("prompt-{round}"))?;
    let turn = approvals.turn().await.map_err(library)?;
    let judgement = denial(place)?;
    let policy = resolve(request, &HostView::here()).map_err(library)?;
    let argv = Argv::new(["/bin/sh", "-c", "true"], place.workspace().clone()).map_err(library)?;
    let request = request.clone();
    let widen = move |more: &Written| resolve(&request.with(more), &HostView::here());
    let mut escalation = Escalation::new(argv, policy, widen);
    let start = Instant::now();
    let Step::Ask(proposal) = escalation.on(&judgement) else {
        return Err(Fault::Library(format!("nothing is proposed for {judgement:?}")));
    };
    let asked = Asked::proposal(&proposal, escalation.policy().clone());
    let decided = approvals.request(&turn, &asked).await.map_err(library)?;
    let seen = clocked.0.lock().ok().and_then(|seen| seen.first().map(|(at, _)| *at));
    let shown = seen.ok_or_else(|| Fault::Library(format!("nobody was asked: {:?}", decided.outcome)))?;
    Ok(shown.duration_since(start))
}

/// A write outside of the workspace that was refused.
fn denial(place: &Place) -> Result<Judgement, Fault> {
    let outside = place.base().join("outside");
    let stderr = format!("touch: cannot touch '{}': Read-only file system\n", outside.display());
    let ended =
        Ended { end: End::Exited(1), witness: Witness::Record, stdout: b"", stderr: stderr.as_bytes() };
    place.bwrap.classify(&ended)
}

fn in_a_process(place: &Place) -> Result<(f64, u64), Fault> {
    let program = std::env::current_exe().map_err(system("find", "this program"))?;
    let mut command = Command::new(program);
    command.arg(WORD).arg(place.base()).arg(place.workspace().as_path());
    let output = command.output().map_err(system("start", WORD))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let mut words = text.split_whitespace();
    let figures =
        words.next().and_then(|word| word.parse().ok()).zip(words.next().and_then(|word| word.parse().ok()));
    figures.ok_or_else(|| {
        Fault::Failed(WORD, output.status, String::from_utf8_lossy(&output.stderr).into_owned())
    })
}

/// What the process of its own does: prints milliseconds and KiB.
pub(crate) fn many(words: impl IntoIterator<Item = std::ffi::OsString>) -> Result<(), Fault> {
    let mut words = words.into_iter();
    let base = words.next().unwrap_or_default();
    let workspace = AbsPath::new(words.next().unwrap_or_default()).map_err(library)?;
    let took = runtime()?.block_on(ask_many(base.as_ref(), &workspace))?;
    let path = "/proc/self/status";
    let status = std::fs::read_to_string(path).map_err(system("read", path))?;
    let peak = peak::mark(&status).ok_or_else(|| Fault::Unexpected(format!("`VmHWM` in `{path}`")))?;
    println!("{} {peak}", milliseconds(took));
    Ok(())
}

async fn ask_many(base: &std::path::Path, workspace: &AbsPath) -> Result<Duration, Fault> {
    let (approvals, clocked) = session(base, "many")?;
    let turn = Arc::new(approvals.turn().await.map_err(library)?);
    let policy = resolve(&library::request(workspace, "")?, &HostView::here()).map_err(library)?;
    let policy = Arc::new(policy);
    let start = Instant::now();
    let mut tasks = Vec::new();
    for number in 0..MANY {
        let (approvals, turn) = (approvals.clone(), turn.clone());
        let words = ["/bin/true".to_owned(), number.to_string()];
        let asked = Asked::command(words, workspace.clone(), policy.clone()).environment(Variables::new());
        tasks.push(tokio::spawn(async move { approvals.request(&turn, &asked).await }));
    }
    for task in tasks {
        let decided = task.await.map_err(library)?.map_err(library)?;
        if decided.pass.is_none() {
            return Err(Fault::Library(format!("a question of many ended as {:?}", decided.outcome)));
        }
    }
    let took = start.elapsed();
    let seen = clocked.0.lock().map(|seen| seen.iter().map(|(_, number)| *number).collect::<Vec<_>>());
    let in_order = seen.is_ok_and(|seen| seen.into_iter().eq((0..MANY).map(Some)));
    if in_order { Ok(took) } else { Err(Fault::Library("the questions came out of order".into())) }
}

/// A session on the disk, below `base`.
fn session(base: &std::path::Path, name: &str) -> Result<(Approvals, Arc<Clocked>), Fault> {
    let home = base.join("home");
    let places = Places::with(|name| (name == "HOME").then(|| home.clone().into_os_string()));
    let session = SessionId::new(name).map_err(library)?;
    let approvals = Approvals::open(&places, &session, ApprovalPolicy::Ask).map_err(library)?;
    let clocked = Arc::new(Clocked::default());
    approvals.approver(clocked.clone());
    Ok((approvals, clocked))
}

fn runtime() -> Result<Runtime, Fault> {
    Builder::new_current_thread().enable_all().build().map_err(system("make", "a tokio runtime"))
}

fn library(error: impl std::fmt::Display) -> Fault {
    Fault::Library(error.to_string())
}
