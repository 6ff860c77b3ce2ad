//! `confine classify`: the judgement over a run that a spawner made from a plan.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use confine_core::classify::{Because, Judgement, Witness};
use confine_core::denial::Denial;
use confine_core::{BackendId, LaunchFault, LaunchStage, Text, Verdict};
use confine_runner::{End, Ended};
use rustix::fs::{Mode, OFlags};
use serde::Serialize;
use serde_json::{Deserializer, Value};

use crate::arguments::Classify;
use crate::fault::{self, Answer};
use crate::policy::word;
use crate::{annotate, answer, request};

/// What is read of a stream: so much of its head, and of its tail.
const PART: u64 = 512 * 1024;
/// The longest record that is read.
const RECORD: u64 = 64 * 1024;

/// The answer of `classify --json`, version 1. The fields are those of a report.
#[derive(Serialize)]
struct Classified<'a> {
    version: u32,
    verdict: Verdict,
    denials: &'a [Denial],
    not_the_sandbox: Option<Because>,
    launch_fault: Option<&'a LaunchFault>,
}

/// Answers.
pub(crate) fn classify(arguments: &Classify) -> Answer {
    let judgement = judged(arguments)?;
    if arguments.json {
        answer::json(&Classified {
            version: 1,
            verdict: judgement.verdict,
            denials: &judgement.denials,
            not_the_sandbox: judgement.not_the_sandbox,
            launch_fault: judgement.launch.as_ref(),
        })?;
    } else {
        answer::text(&readable(&judgement))?;
    }
    Ok(0)
}

fn judged(arguments: &Classify) -> Result<Judgement, LaunchFault> {
    let (stdout, stderr) = (stream("--stdout", &arguments.stdout)?, stream("--stderr", &arguments.stderr)?);
    let record = arguments.status_record.as_deref().map(record).transpose()?;
    if let Some(record) = record {
        agree(record, arguments)?;
    }
    if record == Some(Record::NeverRan) {
        let text = "set the sandbox up: the launcher's record has no `exit-code`, so the program never ran";
        return Ok(Judgement {
            launch: Some(LaunchFault::new(LaunchStage::Status, text)),
            ..Judgement::plain(Verdict::LauncherFailed)
        });
    }
    let witness = if record.is_some() { Witness::Record } else { Witness::ExitStatus };
    let end = match (arguments.status, arguments.signal) {
        (Some(code), _) => End::Exited(code),
        (None, Some(signal)) => End::Signaled(signal),
        (None, None) => {
            return Err(fault::usage("classify: the status is missing", "give `--status` or `--signal`"));
        }
    };
    let resolved = request::resolve(&arguments.policy)?;
    let confine = request::detect(&arguments.backend, &resolved.policy)?;
    let mut command = confine.command(&arguments.words).cwd(resolved.cwd.clone()).policy(&resolved.policy);
    if let Some(backend) = request::backend(&arguments.backend, &confine)? {
        command = command.backend(backend);
    }
    if record.is_some() {
        let backend = command.confined().map_err(|refused| refused.fault())?.backend;
        writes_records(&backend)?;
    }
    let ended = Ended { end, witness, stdout: &stdout, stderr: &stderr };
    command.classify(&ended).map_err(|refused| refused.fault())
}

/// Head and tail of a file; nothing where there is none.
fn stream(option: &str, path: &Option<PathBuf>) -> Result<Vec<u8>, LaunchFault> {
    let Some(path) = path else { return Ok(Vec::new()) };
    read(path).map_err(|error| unreadable(option, path, &error))
}

fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut file = regular(path)?;
    let mut bytes = Vec::new();
    file.by_ref().take(PART).read_to_end(&mut bytes)?;
    let rest = file.metadata()?.len().saturating_sub(PART);
    if rest > PART {
        file.seek(SeekFrom::End(-i64::try_from(PART).unwrap_or(i64::MAX)))?;
        bytes.push(b'\n');
    }
    file.take(PART).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// A file to be read: not a pipe, which would have to be waited for, nor a device.
fn regular(path: &Path) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::open(path, flags, Mode::empty())?);
    if file.metadata()?.is_file() || path == Path::new("/dev/null") {
        Ok(file)
    } else {
        Err(io::Error::other("it is no regular file"))
    }
}

/// What a launcher's record says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Record {
    /// It started the program, which ended with this code.
    Ran(i64),
    /// It did not.
    NeverRan,
}

/// JSON objects, one after another. A `child-pid` is there also where the set-up failed, so only an `exit-code` counts.
fn record(path: &Path) -> Result<Record, LaunchFault> {
    let unusable = |error: &io::Error| unreadable("--status-record", path, error);
    let mut bytes = Vec::new();
    regular(path)
        .and_then(|file| file.take(RECORD).read_to_end(&mut bytes))
        .map_err(|error| unusable(&error))?;
    let objects: Result<Vec<Value>, _> = Deserializer::from_slice(&bytes).into_iter().collect();
    let objects = objects.map_err(|error| unusable(&io::Error::from(error)))?;
    if let Some(code) = objects.iter().find_map(|object| object.get("exit-code")?.as_i64()) {
        return Ok(Record::Ran(code));
    }
    // Before the set-up begins there is nothing at all.
    if objects.is_empty() || objects.iter().any(|object| object.get("child-pid").is_some()) {
        return Ok(Record::NeverRan);
    }
    Err(unusable(&io::Error::other("it holds neither `child-pid` nor `exit-code`: bwrap did not write it")))
}

/// Whether the end and the record can be of one run. bwrap exits as the program did, with 128 + N for a signal.
fn agree(record: Record, arguments: &Classify) -> Result<(), LaunchFault> {
    let told = match (arguments.status, arguments.signal) {
        (Some(status), _) => i64::from(status),
        (None, Some(signal)) => 128 + i64::from(signal),
        (None, None) => return Ok(()),
    };
    let wrong = match record {
        Record::Ran(code) if code != told => format!("says that the program ended with {code}, not {told}"),
        Record::NeverRan if told == 0 => "says that the program never ran, which is no success".to_owned(),
        _ => return Ok(()),
    };
    Err(fault::usage(
        format!("classify: `--status-record` {wrong}"),
        "give the status and the record of the same run",
    ))
}

/// Only bwrap's `--json-status-fd` is read.
fn writes_records(backend: &BackendId) -> Result<(), LaunchFault> {
    if backend.as_str() == "bwrap" {
        return Ok(());
    }
    Err(fault::usage(
        format!("classify: `--status-record` is bwrap's, and the backend is `{backend}`"),
        "leave the record out, or name the backend whose plan was spawned",
    ))
}

fn unreadable(option: &str, path: &Path, error: &io::Error) -> LaunchFault {
    let doing = format!("read `{option} {}`", Text::from(path.as_os_str()));
    fault::system(LaunchStage::Usage, &doing, error).help("name a file that can be read")
}

/// The verdict, and one reason a line.
fn readable(judgement: &Judgement) -> String {
    let mut lines = vec![word(&judgement.verdict)];
    lines.extend(judgement.denials.iter().map(|denial| {
        let grant =
            denial.grant.as_ref().map(|grant| format!("; smallest grant: {}", annotate::option(grant)));
        format!("{}: {}{}", word(&denial.certainty), annotate::denied(denial), grant.unwrap_or_default())
    }));
    lines.extend(judgement.not_the_sandbox.map(|because| format!("not the sandbox: {}", word(&because))));
    lines.extend(judgement.launch.as_ref().map(|launch| format!("cannot {}", launch.text)));
    lines.push(String::new());
    lines.join("\n")
}
