//! Starts many runs, ends each at another moment in another way, and counts who is left.
//!
//! `cargo run --example storm -- bwrap 300`

use std::time::{Duration, Instant};

use confine_core::policy::resolve::{Request, Written, resolve};
use confine_core::policy::{PolicyFile, Source};
use confine_core::{AbsPath, BackendId, Effect};
use confine_runner::{Confine, view::HostView};

/// Nobody else sleeps this long.
const SLEEP: &str = "86399.25";
/// The latest end, in microseconds after the spawn.
const SPREAD: u64 = 10_000;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let backend = std::env::args().nth(1).unwrap_or_else(|| "bwrap".to_owned());
    let rounds: u64 = std::env::args().nth(2).and_then(|count| count.parse().ok()).unwrap_or(300);
    let here = AbsPath::new(std::env::current_dir()?)?;
    let file = PolicyFile::builtin("workspace-write").unwrap_or_default();
    let mut policy = resolve(
        &Request {
            layers: vec![Written { file, base: here.clone(), source: Source::BuiltIn }],
            workspaces: vec![here.clone()],
            workspaces_named: true,
            cwd: here.clone(),
            own_directories: Vec::new(),
            own_files: Vec::new(),
        },
        &HostView::here(),
    )?;
    policy.accept_missing.extend(Effect::ALL.iter().copied());
    let stage = std::env::current_exe()?.with_file_name("../confine-stage");
    let confine = Confine::builder().stage(stage).detect()?;
    let script =
        format!("trap '' TERM INT; setsid sleep {SLEEP} & (setsid sleep {SLEEP} &) ; exec sleep {SLEEP}");
    let mut slowest = Duration::ZERO;
    for round in 0..rounds {
        let command = confine.command(["sh", "-c", &script]).cwd(here.clone()).policy(&policy);
        let run = command.backend(BackendId::new(backend.as_str())).spawn().await?;
        tokio::time::sleep(Duration::from_micros(round * SPREAD / rounds)).await;
        let begun = Instant::now();
        if round % 2 == 0 {
            run.canceller().cancel(None);
            run.wait().await;
            slowest = slowest.max(begun.elapsed());
        } else {
            drop(run);
        }
    }
    tokio::time::sleep(Duration::from_secs(1)).await;
    println!("{rounds} runs on {backend}: {} left, slowest end {slowest:?}", left()?);
    Ok(())
}

fn left() -> std::io::Result<usize> {
    let sleeps = |entry: std::fs::DirEntry| {
        let line = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
        line.split(|byte| *byte == 0).any(|word| word == SLEEP.as_bytes())
    };
    Ok(std::fs::read_dir("/proc")?.flatten().filter_map(|entry| sleeps(entry).then_some(())).count())
}
