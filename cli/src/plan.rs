//! `confine plan`: the wrapped argv, without running it.

use std::fmt::Write as _;

use confine_core::backend::PortableArgv;
use confine_core::{Effects, Governed, LaunchFault, LaunchStage, Loss, NeedsRunner, Text};
use confine_runner::{Command, Confine};

use crate::arguments::{Plan, RunOptions};
use crate::fault::{self, Answer};
use crate::{answer, request, shell};

/// Prints the plan: shell-quoted, or as JSON.
pub(crate) fn plan(arguments: &Plan) -> Answer {
    without_runner(&arguments.run, arguments.policy.ask)?;
    let resolved = request::resolve(&arguments.policy)?;
    let confine = request::detect(&arguments.run.backend, &resolved.policy)?;
    let mut command = confine.command(&arguments.words).cwd(resolved.cwd).policy(&resolved.policy);
    if let Some(backend) = request::backend(&arguments.run.backend, &confine)? {
        command = command.backend(backend);
    }
    let portable = portable(&command)?;
    if arguments.json {
        answer::json(&portable)?;
    } else {
        answer::text(&readable(&portable, &confine))?;
    }
    Ok(0)
}

/// The plan of `command`, for spawners in other languages.
///
/// # Errors
/// What needs the runner, by name; whatever keeps the command from being confined.
pub(crate) fn portable(command: &Command) -> Result<PortableArgv, LaunchFault> {
    let confined = command.confined().map_err(|refused| refused.fault())?;
    let names = std::env::vars_os().map(|(name, _)| name);
    confined.portable(names).map_err(|obstacles| needs_runner(&obstacles, &confined.accepted))
}

/// Options that only mean something where confine itself runs the command.
fn without_runner(options: &RunOptions, asks: bool) -> Result<(), LaunchFault> {
    let runner_only = [
        ("--tty", options.tty),
        ("--report", options.report.is_some()),
        ("--max-output", options.max_output.is_some()),
        ("--annotate", options.annotate),
        ("--strict", options.strict),
        ("--ask", asks),
    ];
    match runner_only.into_iter().find(|(_, given)| *given) {
        Some((option, _)) => Err(fault::usage(
            format!("plan with `{option}`: only `confine run` does that, a plan has no runner"),
            format!("leave `{option}` away"),
        )),
        None => Ok(()),
    }
}

fn needs_runner(obstacles: &[NeedsRunner], accepted: &Effects) -> LaunchFault {
    let texts: Vec<String> = obstacles.iter().map(ToString::to_string).collect();
    let mut list = accepted.clone();
    let mut remedies = Vec::new();
    for obstacle in obstacles {
        match obstacle {
            NeedsRunner::Effect(loss) => list.insert(loss.effect),
            NeedsRunner::Precreate(path) => remedies.push(format!("take `{path}` out of `precreate`")),
            NeedsRunner::TooLarge { .. } => remedies.push("write fewer and coarser entries".to_owned()),
        }
    }
    if list != *accepted {
        remedies.push(format!("accept what a spawner cannot do: `--accept-missing {list}`"));
    }
    let help = format!("use `confine run`, or {}", remedies.join(", and "));
    let stage = LaunchStage::Choose;
    LaunchFault::new(stage, format!("make a plan that runs without confine: {}", texts.join("; "))).help(help)
}

/// Every line but the argv is a comment, so the whole is a line of shell.
fn readable(plan: &PortableArgv, confine: &Confine) -> String {
    let mut text = String::new();
    let words: Vec<String> = plan.argv.iter().map(|word| shell::quote(word.as_os_str())).collect();
    let mut line = |args: std::fmt::Arguments<'_>| {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{args}");
    };
    line(format_args!("{}", words.join(" ")));
    line(format_args!("# backend  {}", plan.backend));
    line(format_args!("# cwd      {}", plan.cwd));
    line(format_args!("# policy   {}", plan.policy));
    line(format_args!("# plan     {}", plan.plan.0));
    let pass: Vec<String> = plan.env.pass.iter().map(ToString::to_string).collect();
    line(format_args!("# passes   {}", pass.join(" ")));
    for (name, value) in &plan.env.set {
        line(format_args!("# sets     {}={}", Text::from(name.as_str()), shell::quote(value.as_os_str())));
    }
    for (layer, effects) in layers(plan, confine) {
        let effects = if effects.is_empty() { "-".to_owned() } else { effects.to_string() };
        line(format_args!("# layer    {layer}: {effects}"));
    }
    for Loss { effect, reason } in &plan.missing {
        line(format_args!("# missing  {effect}: {reason}"));
    }
    for pin in &plan.pins {
        line(format_args!("# pinned   {pin}"));
    }
    text
}

/// What each layer of the plan enforces, less what the plan goes without.
fn layers(plan: &PortableArgv, confine: &Confine) -> Vec<(confine_core::Layer, Effects)> {
    let missing: Effects = plan.missing.iter().map(|loss| loss.effect).collect();
    let governs = confine.registry().by_id(&plan.backend).map(|backend| backend.governs(confine.probe()));
    let governs = governs.unwrap_or_default();
    let by = |layer| {
        let enforces = |governed: &Governed| matches!(governed, Governed::Enforced { layers } if layers.contains(&layer));
        let effects = governs.iter().filter(|(_, governed)| enforces(governed)).map(|(effect, _)| *effect);
        (layer, effects.collect::<Effects>().without(&missing))
    };
    plan.layers.iter().copied().map(by).collect()
}
