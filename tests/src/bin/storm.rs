//! Starts many runs by the library, in the current directory, and cancels each at another moment of its start:
//! `storm BACKEND ROUNDS LOSSES SCRIPT`.

use std::time::{Duration, Instant};

use confine_core::BackendId;
use confine_core::report::OutcomeNote;
use confine_tests::library::{absolute, builder, workspace_write};

/// The latest of them comes this long after its run was spawned.
const SPREAD: Duration = Duration::from_millis(10);

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let [backend, rounds, losses, script] = arguments();
    let rounds: u32 = rounds.parse().expect("a number of rounds");
    let here = std::env::current_dir().expect("a current directory");
    let confine = builder().detect().expect("facts");
    let mut slowest = Duration::ZERO;
    for round in 0..rounds {
        // Resolved anew, since a placeholder of the run before would be an existing name.
        let policy = workspace_write(&here, &losses);
        let command = confine.command(["sh", "-c", &script]).cwd(absolute(&here)).policy(&policy);
        let run = command.backend(BackendId::new(backend.as_str())).spawn().await.expect("it spawns");
        tokio::time::sleep(SPREAD * round / rounds).await;
        let begun = Instant::now();
        run.canceller().cancel(None);
        let report = run.wait().await;
        slowest = slowest.max(begun.elapsed());
        assert_eq!(report.outcome, OutcomeNote::Cancelled, "{report:?}");
    }
    eprintln!("{rounds} runs were cancelled; the slowest took {slowest:?} to end");
}

fn arguments() -> [String; 4] {
    let words: Vec<_> = std::env::args().skip(1).collect();
    words.try_into().expect("storm BACKEND ROUNDS LOSSES SCRIPT")
}
