//! `confine explain`: whether something is allowed, by which rule and which layer, and what would change it.
//!
//! The answer comes from the tables that denials are judged by.

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::path::Path;

use confine_core::classify::{Answer, Block, Permissions as _, Rule, Ruling, Sandbox, smallest};
use confine_core::denial::{Attempt, Target};
use confine_core::{AbsPath, BackendId, Effect, LaunchFault, Layer, PolicyId, Text};
use confine_runner::judge::HostPermissions;
use serde::Serialize;

use crate::arguments::{Access, Explain};
use crate::fault::{self, Answer as Exit};
use crate::{annotate, answer, policy, request};

/// The answer no.
const NO: u8 = 1;

/// The answer of `explain --json`, version 1.
#[derive(Serialize)]
struct Explained {
    version: u32,
    access: &'static str,
    target: Target,
    allowed: bool,
    backend: BackendId,
    policy: PolicyId,
    effect: Option<Effect>,
    layers: Vec<Layer>,
    rule: Option<Rule>,
    /// The policy says no, and this is what the backend does not enforce.
    unenforced: Option<Effect>,
    /// Whether the caller's own user may do it outside: `allowed`, `missing`, `unknown`, or the error.
    permissions: Option<&'static str>,
    grant: Option<Target>,
}

/// What is asked.
struct Question {
    access: Access,
    attempt: Attempt,
    object: Object,
}

enum Object {
    Path(AbsPath),
    Host(String),
}

/// Answers.
pub(crate) fn explain(arguments: &Explain) -> Exit {
    let explained = explained(arguments)?;
    if arguments.json {
        answer::json(&explained)?;
    } else {
        answer::text(&readable(&explained))?;
    }
    Ok(if explained.allowed { 0 } else { NO })
}

fn explained(arguments: &Explain) -> Result<Explained, LaunchFault> {
    let resolved = request::resolve(&arguments.policy)?;
    let confine = request::detect(&arguments.backend, &resolved.policy)?;
    // No program is run, and the policy is the same for each.
    let mut command = confine.command(["true"]).cwd(resolved.cwd.clone()).policy(&resolved.policy);
    if let Some(backend) = request::backend(&arguments.backend, &confine)? {
        command = command.backend(backend);
    }
    let confined = command.confined().map_err(|refused| refused.fault())?;
    let backend = confine.registry().by_id(&confined.backend);
    let governs = backend.map(|backend| backend.governs(confine.probe())).unwrap_or_default();
    let sandbox = Sandbox { policy: &resolved.policy, layers: &confined.layers, governs: &governs };
    let permissions = confine.permissions();
    let question = question(arguments, &resolved.cwd, &sandbox, &permissions)?;
    Ok(answered(&question, &sandbox, &permissions, confined.backend))
}

fn question(
    arguments: &Explain,
    cwd: &AbsPath,
    sandbox: &Sandbox<'_>,
    permissions: &HostPermissions,
) -> Result<Question, LaunchFault> {
    let access = arguments.access;
    if access == Access::Connect {
        let object = Object::Host(host(&arguments.object)?);
        return Ok(Question { access, attempt: Attempt::Connect, object });
    }
    let path = path(cwd, &arguments.object)?;
    let place = permissions.located(&path, &|path| sandbox.shows(path));
    let attempt = match access {
        Access::Exec => Attempt::Execute,
        Access::Write if permissions.exists(&place) == Some(false) => Attempt::Create,
        Access::Write => Attempt::Write,
        Access::Read | Access::Connect => Attempt::Read,
    };
    Ok(Question { access, attempt, object: Object::Path(place) })
}

/// As the program would name it.
fn path(cwd: &AbsPath, word: &OsStr) -> Result<AbsPath, LaunchFault> {
    let mut path = cwd.as_path().to_owned();
    for component in Path::new(word).components() {
        match component {
            std::path::Component::ParentDir => drop(path.pop()),
            other => path.push(other),
        }
    }
    let wrong = |error| fault::usage(format!("explain `{}`: {error}", Text::from(word)), "name a path");
    AbsPath::new(path).map_err(wrong)
}

fn host(word: &OsStr) -> Result<String, LaunchFault> {
    let parts = word.to_str().and_then(|word| word.rsplit_once(':').filter(|(host, _)| !host.is_empty()));
    match parts {
        Some((_, port)) if port.parse::<u16>().is_ok_and(|port| port > 0) => {
            Ok(word.to_string_lossy().into_owned())
        }
        _ => Err(fault::usage(
            format!("explain a connection to `{}`: that is no HOST:PORT", Text::from(word)),
            "write for example `confine explain connect example.org:443`",
        )),
    }
}

fn answered(
    question: &Question,
    sandbox: &Sandbox<'_>,
    permissions: &HostPermissions,
    backend: BackendId,
) -> Explained {
    let attempt = question.attempt;
    let (target, ruling, outside, grant) = match &question.object {
        Object::Path(path) => {
            let ruling = sandbox.at(path, attempt);
            let grant = |block: &Block| smallest(sandbox, block, path, attempt, permissions);
            let grant = ruling.block().and_then(grant);
            let reads = matches!(attempt, Attempt::Read | Attempt::Execute);
            let target = if reads { Target::Read(path.clone()) } else { Target::Write(path.clone()) };
            (target, ruling, Some(permissions.allows(path, attempt)), grant)
        }
        Object::Host(host) => {
            let target = Target::Connect(host.clone());
            let ruling = sandbox.network(attempt);
            let grant = ruling.block().map(|_| target.clone());
            (target, ruling, None, grant)
        }
    };
    let may = !matches!(outside, Some(Answer::Refused(_) | Answer::Missing));
    let (allowed, effect, layers, rule, unenforced) = match ruling {
        Ruling::Allowed { rule, unenforced } => (may, None, Vec::new(), rule, unenforced),
        Ruling::Blocked(block) => (false, Some(block.effect), block.layers, block.rule, None),
    };
    Explained {
        version: 1,
        access: name(question.access),
        target,
        allowed,
        backend,
        policy: sandbox.policy.id.clone(),
        effect,
        layers,
        rule,
        unenforced,
        permissions: outside.map(said),
        grant,
    }
}

const fn name(access: Access) -> &'static str {
    match access {
        Access::Read => "read",
        Access::Write => "write",
        Access::Exec => "exec",
        Access::Connect => "connect",
    }
}

const fn said(answer: Answer) -> &'static str {
    match answer {
        Answer::Allowed => "allowed",
        Answer::Refused(errno) => errno,
        Answer::Missing => "missing",
        Answer::Unknown => "unknown",
    }
}

/// The answer, then one reason a line.
fn readable(explained: &Explained) -> String {
    let mut text = String::new();
    let mut line = |name: &str, value: &str| {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{name:<12} {value}");
    };
    let object = match &explained.target {
        Target::Read(path) | Target::Write(path) => path.to_string(),
        Target::Connect(host) => Text::from(host.as_str()).to_string(),
        _ => String::new(),
    };
    line(
        if explained.allowed { "allowed" } else { "not allowed" },
        &format!("{} {object}", explained.access),
    );
    if let Some(rule) = &explained.rule {
        line(
            "rule",
            &format!("{} {} ({})", policy::access(rule.access), rule.path, policy::source(&rule.source)),
        );
    }
    if let Some(effect) = explained.effect {
        line("effect", &format!("{effect}: {}", effect.definition()));
    }
    if !explained.layers.is_empty() {
        let layers: Vec<&str> = explained.layers.iter().map(|layer| layer.name()).collect();
        line("layer", &layers.join(", "));
    }
    if let Some(effect) = explained.unenforced {
        line("unenforced", &format!("the {} backend does not enforce {effect} here", explained.backend));
    }
    match explained.permissions {
        None | Some("allowed" | "unknown") => {}
        Some("missing") => line("missing", "there is nothing of that name on this host"),
        Some(errno) => line("permissions", &format!("this user may not, without a sandbox either ({errno})")),
    }
    match &explained.grant {
        Some(grant) => line("grant", &annotate::option(grant)),
        None if explained.effect.is_some() => line("grant", "none: a hidden place is not offered"),
        None => {}
    }
    text
}
