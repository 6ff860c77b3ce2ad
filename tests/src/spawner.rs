//! A program in another language that spawns `plan --json`.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::backend::LANDLOCK_LOSSES;
use crate::{Backend, Finished, Scene, installation};

/// A spawner that has read cli.md and nothing of ours: a plan on stdin; it leaves the directory `argv[1]` open as 9.
const SPAWN: &str = "
import json, os, subprocess, sys
plan = json.load(sys.stdin)
env = {name: os.environ[name] for name in plan['env']['pass'] if name in os.environ}
env.update(plan['env']['set'])
os.dup2(os.open(sys.argv[1], os.O_RDONLY), 9)
done = subprocess.run(plan['argv'], env=env, cwd=plan['cwd'], stdin=subprocess.DEVNULL,
                      stdout=subprocess.PIPE, stderr=subprocess.PIPE, pass_fds=[9])
failure = plan['runner_failure']
lines = [line for line in done.stderr.decode(errors='replace').splitlines()
         if not any(line.startswith(word) for word in failure['informational'])]
prefixed = bool(lines) and any(lines[0].startswith(prefix) for prefix in failure['prefixes'])
sys.stdout.buffer.write(done.stdout)
sys.stderr.buffer.write(done.stderr)
if prefixed and done.returncode in failure['exit_codes']:
    print('SPAWNER: likely a launcher failure', file=sys.stderr)
sys.exit(done.returncode if done.returncode >= 0 else 128 - done.returncode)
";

/// What only the runner does, and is accepted here; metadata for root alone, whose device nodes it makes read-only.
pub const RUNNERS: &str = "orphan,fs-carve-out-new,fd-stdio,fs-metadata";

/// The words of the spawner's classification.
pub const LIKELY: &str = "SPAWNER: likely a launcher failure";

/// The plan of the words in the scene's workspace.
///
/// # Panics
/// When it is refused.
#[track_caller]
pub fn plan(scene: &Scene, words: &[&str]) -> Value {
    plan_by(scene, &installation::confine(), words)
}

/// As [`plan`], by another `confine`.
///
/// # Panics
/// When it is refused.
#[track_caller]
pub fn plan_by(scene: &Scene, confine: &Path, words: &[&str]) -> Value {
    let losses = match scene.backend {
        Backend::Bwrap => RUNNERS.to_owned(),
        Backend::Landlock => format!("{LANDLOCK_LOSSES},{RUNNERS}"),
    };
    let mut command = scene.command(confine);
    command.args(["plan", "--json", "--backend", scene.backend.id(), "--accept-missing", &losses, "--"]);
    command.args(words).env("SECRET_TOKEN", "s3cret");
    let plan = Finished::of(command, &[]).exits(0);
    serde_json::from_str(&plan.stdout).unwrap_or_else(|error| panic!("{error}: {plan}"))
}

/// Plans, changes the plan, and spawns it. A socket of another test, listening at the plan and gone at the spawn, is no
/// failure of this one.
///
/// # Panics
/// As [`plan`] and [`spawned`].
#[track_caller]
pub fn portable(scene: &Scene, words: &[&str], change: impl Fn(Value) -> Value) -> Finished {
    let own = scene.base().to_string_lossy().into_owned();
    for _ in 0..10 {
        let run = spawned(scene, &change(plan(scene, words)));
        let of_another = run.stderr.contains("/confine-") && !run.stderr.contains(&own);
        if !(run.stderr.contains("bwrap: Can't") && of_another) {
            return run;
        }
    }
    panic!("ten sockets went away");
}

/// Spawns a plan with nothing of ours around it.
///
/// # Panics
/// As [`Finished::of`].
#[track_caller]
pub fn spawned(scene: &Scene, plan: &Value) -> Finished {
    let mut python: Command = scene.command("python3");
    python.args(["-c", SPAWN]).arg(scene.outside()).env("SECRET_TOKEN", "s3cret").current_dir("/");
    Finished::of(python, plan.to_string().as_bytes())
}
