//! `confine explain`: whether something is allowed, by which rule and which layer, and what would change it.
//!
//! The answer comes from the tables that denials are judged by.

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::fs::{File, Metadata};
use std::io::Read as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, PathBuf};

use confine_core::classify::{Answer, Last, Permissions as _, Rule, Ruling, Sandbox, resolve, smallest};
use confine_core::denial::{Attempt, Target};
use confine_core::policy::Access::Scratch;
use confine_core::policy::{Entry, Kind};
use confine_core::{AbsPath, BackendId, Effect, LaunchFault, Layer, PolicyId, Text};
use confine_runner::judge::HostPermissions;
use rustix::fs::{Mode, OFlags};
use serde::Serialize;

use crate::arguments::{Access, Explain};
use crate::fault::{self, Answer as Exit};
use crate::{annotate, answer, policy, request};

/// The answer no.
const NO: u8 = 1;
/// So much of a script's first line does the kernel read.
const FIRST: u64 = 256;
/// So many interpreters one after another.
const INTERPRETERS: usize = 4;
/// What of a process only those see who may trace it: proc(5).
const TRACED: &[&str] = &[
    "auxv",
    "cwd",
    "environ",
    "exe",
    "fd",
    "fdinfo",
    "io",
    "map_files",
    "maps",
    "mem",
    "numa_maps",
    "pagemap",
    "root",
    "smaps",
    "smaps_rollup",
];

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
    /// Of a script, the interpreter that the answer is about.
    interpreter: Option<AbsPath>,
    grant: Option<Target>,
}

/// What is asked.
struct Question {
    access: Access,
    attempt: Attempt,
    object: Object,
}

enum Object {
    /// With its links resolved.
    Path(AbsPath),
    /// As the words say, where links lead in a circle.
    Circle(AbsPath),
    /// A path that tells of a process, by its number.
    Process(AbsPath),
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
    let word = &arguments.object;
    if word.is_empty() {
        return Err(fault::usage("explain an empty path", "name a path"));
    }
    let wrong =
        |error| fault::usage(format!("explain `{}`: {error}", Text::from(word.as_os_str())), "name a path");
    let named = cwd.as_path().join(word);
    let Some(place) = resolve(&named, Last::Followed, sandbox, permissions) else {
        let words: PathBuf = named.components().filter(|part| *part != Component::ParentDir).collect();
        let object = Object::Circle(AbsPath::new(words).map_err(wrong)?);
        return Ok(Question { access, attempt: Attempt::Read, object });
    };
    let attempt = match access {
        Access::Exec => Attempt::Execute,
        Access::Write if permissions.exists(&place) == Some(false) => Attempt::Create,
        Access::Write => Attempt::Write,
        Access::Read | Access::Connect => Attempt::Read,
    };
    let of_process = access == Access::Read && process(&place).is_some();
    let object = if of_process { Object::Process(place) } else { Object::Path(place) };
    Ok(Question { access, attempt, object })
}

/// What follows the number in `/proc/NUMBER/…`.
fn process(path: &AbsPath) -> Option<&str> {
    let below = path.as_path().strip_prefix("/proc").ok()?.to_str()?;
    let (number, rest) = below.split_once('/').unwrap_or((below, ""));
    (!number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())).then_some(rest)
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
    let mut interpreter = None;
    let (target, ruling, outside) = match &question.object {
        Object::Path(path) => {
            let mut answer = of_path(path, attempt, sandbox, permissions);
            if attempt == Attempt::Execute && may(&answer) {
                (interpreter, answer) = interpreted(path, answer, sandbox, permissions);
            }
            (target(question.access, path), answer.0, answer.1)
        }
        Object::Circle(path) => {
            let ruling = Ruling::Allowed { rule: None, unenforced: None };
            (target(question.access, path), ruling, Some(Answer::Refused("ELOOP")))
        }
        Object::Process(path) => {
            let ruling = of_process(path, sandbox);
            let outside = ruling.block().is_none().then(|| permissions.allows(path, attempt));
            (target(question.access, path), ruling, outside)
        }
        Object::Host(host) => (Target::Connect(host.clone()), sandbox.network(attempt), None),
    };
    let grant = match (&question.object, ruling.block()) {
        (Object::Path(path), Some(block)) => {
            smallest(sandbox, block, interpreter.as_ref().unwrap_or(path), attempt, permissions)
        }
        (Object::Host(_), Some(_)) => Some(target.clone()),
        _ => None,
    };
    let answer = (ruling, outside);
    let allowed = may(&answer);
    let (ruling, outside) = answer;
    let (effect, layers, rule, unenforced) = match ruling {
        Ruling::Allowed { rule, unenforced } => (None, Vec::new(), rule, unenforced),
        Ruling::Blocked(block) => (Some(block.effect), block.layers, block.rule, None),
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
        interpreter,
        grant,
    }
}

/// What the sandbox says, and what the host does, where it is the host's to say.
type Said = (Ruling, Option<Answer>);

const fn may((ruling, outside): &Said) -> bool {
    ruling.block().is_none() && !matches!(outside, Some(Answer::Refused(_) | Answer::Missing))
}

fn target(access: Access, path: &AbsPath) -> Target {
    let reads = matches!(access, Access::Read | Access::Exec);
    if reads { Target::Read(path.clone()) } else { Target::Write(path.clone()) }
}

/// The host's permissions count where its files are seen: a private directory is the sandbox's own.
fn of_path(path: &AbsPath, attempt: Attempt, sandbox: &Sandbox<'_>, permissions: &HostPermissions) -> Said {
    let ruling = sandbox.at(path, attempt);
    let rule = match &ruling {
        Ruling::Allowed { rule, .. } => rule.as_ref(),
        Ruling::Blocked(block) => block.rule.as_ref(),
    };
    let is_directory = rule.is_some_and(|rule| rule.path == *path && rule.kind == Kind::Directory);
    if attempt == Attempt::Execute && is_directory {
        return (ruling, Some(Answer::Refused("EACCES")));
    }
    if ruling.block().is_none()
        && rule.is_some_and(|rule| rule.access == Scratch)
        && !has_place(path, sandbox)
    {
        return (ruling, Some(Answer::Missing));
    }
    let counts = ruling.block().is_some() || sandbox.shows(path);
    (ruling, counts.then(|| permissions.allows(path, attempt)))
}

/// A private directory is empty at first, but for what is shown in it, and nothing is made below what is not there.
fn has_place(path: &AbsPath, sandbox: &Sandbox<'_>) -> bool {
    let Some(above) = path.parent().filter(|_| sandbox.layers.contains(&Layer::Mount)) else { return true };
    let is_there =
        |(at, entry): (&AbsPath, &Entry)| at.is_within(&above) && (*at == above || entry.access.shows_host());
    sandbox.policy.fs.entries.iter().any(is_there)
}

/// A script is executed where each interpreter is: execve(2) goes so deep.
fn interpreted(
    path: &AbsPath,
    said: Said,
    sandbox: &Sandbox<'_>,
    permissions: &HostPermissions,
) -> (Option<AbsPath>, Said) {
    let (mut last, mut said) = (None, said);
    for _ in 0..INTERPRETERS {
        let script = last.as_ref().unwrap_or(path);
        let Some(named) = sandbox.shows(script).then(|| interpreter(script)).flatten() else { break };
        let Some(next) = resolve(&named, Last::Followed, sandbox, permissions) else { break };
        said = of_path(&next, Attempt::Execute, sandbox, permissions);
        let goes_on = may(&said);
        last = Some(next);
        if !goes_on {
            break;
        }
    }
    (last, said)
}

/// What the first line of a script names; `None` for what is none, or cannot be read.
fn interpreter(path: &AbsPath) -> Option<PathBuf> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::open(path.as_path(), flags, Mode::empty()).ok()?);
    let mut first = Vec::new();
    file.metadata().ok().filter(Metadata::is_file)?;
    file.take(FIRST).read_to_end(&mut first).ok()?;
    let line = first.strip_prefix(b"#!")?.split(|byte| *byte == b'\n').next()?;
    let word = line.split(|byte| matches!(byte, b' ' | b'\t')).find(|word| !word.is_empty())?;
    Some(PathBuf::from(OsStr::from_bytes(word)))
}

/// The numbers of the host's processes mean nothing where others are out of sight; elsewhere what is inside of them is
/// kept from everybody in a sandbox.
fn of_process(path: &AbsPath, sandbox: &Sandbox<'_>) -> Ruling {
    let sees = sandbox.act(Effect::ProcSee, Attempt::Trace);
    let inner =
        process(path).is_some_and(|rest| TRACED.contains(&rest.split('/').next().unwrap_or_default()));
    if sees.block().is_some() || !inner {
        return sees;
    }
    sandbox.act(Effect::ProcTrace, Attempt::Trace)
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

/// What it takes to be there.
fn missing(explained: &Explained) -> &'static str {
    let is_private = explained.rule.as_ref().is_some_and(|rule| rule.access == Scratch);
    if is_private && explained.effect.is_none() {
        "its directory is not there when a run begins, and a program may make it"
    } else {
        "there is nothing of that name on this host"
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
    if let Some(interpreter) = &explained.interpreter {
        line("interpreter", &format!("{interpreter}: the rest is about it"));
    }
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
        Some("missing") => line("missing", missing(explained)),
        Some("ELOOP") => line("permissions", "its links lead in a circle (ELOOP)"),
        Some(errno) => line("permissions", &format!("this user may not, without a sandbox either ({errno})")),
    }
    match &explained.grant {
        Some(grant) => line("grant", &annotate::option(grant)),
        None if explained.effect == Some(Effect::FsHide) => {
            line("grant", "none: a hidden place is not offered");
        }
        None if explained.effect.is_some() => line("grant", "none would let it pass"),
        None => {}
    }
    text
}
