//! `confine policy describe`: what somebody who works under a policy should know of it. The text is stable: the same
//! policy gives the same words.

use std::fmt::Write as _;

use confine_core::policy::fs::{Symlinks, Tmp};
use confine_core::policy::{Access, Kind, NetPlan, Source};
use confine_core::{AbsPath, LaunchFault, Policy, Text};

use crate::arguments::Description;
use crate::fault::Answer;
use crate::policy::{limits, options, word};
use crate::request::Resolved;
use crate::{answer, request};

/// So many names of a kind are listed.
const NAMES: usize = 24;

/// Prints it. Whom it is for is said so that there can be others.
pub(crate) fn describe(description: &Description) -> Answer {
    let resolved = request::resolve(&options(&description.question))?;
    let missing = match &description.backend {
        Some(word) => missing(word, &resolved)?,
        None => Vec::new(),
    };
    answer::text(&model(&resolved.policy, &missing))?;
    Ok(0)
}

/// What the backend does not enforce of this policy, in words.
pub(crate) fn missing(word: &str, resolved: &Resolved) -> Result<Vec<String>, LaunchFault> {
    let confine = request::detect(word, &resolved.policy)?;
    // No program is run, and the policy is the same for each.
    let mut command = confine.command(["true"]).cwd(resolved.cwd.clone()).policy(&resolved.policy);
    if let Some(backend) = request::backend(word, &confine)? {
        command = command.backend(backend);
    }
    let confined = command.confined().map_err(|refused| refused.fault())?;
    Ok(confined.missing.iter().map(|loss| loss.effect.definition().to_owned()).collect())
}

/// What a model should know of `policy`, and of what is not enforced of it.
pub(crate) fn model(policy: &Policy, missing: &[String]) -> String {
    let mut text = String::new();
    let mut line = |words: &str| {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{words}");
    };
    line(&format!(
        "Commands run in a sandbox (confine, mode {}). The kernel refuses what it does not allow,",
        word(&policy.mode)
    ));
    line(
        "often with \"Read-only file system\", \"Permission denied\" or \"No such file or directory\"; trying again or",
    );
    line("another way around does not help.");
    line("");
    for (name, paths) in paths(policy) {
        if !paths.is_empty() {
            line(&format!("- {name}: {}.", joined(&paths)));
        }
    }
    line(&format!("- Temporary files: {}.", temporary(policy)));
    line(&format!("- Network: {}.", network(policy.net)));
    line(&format!("- Environment: {}.", environment(policy)));
    let limits: Vec<String> = limits(policy).map(|(name, value)| format!("{name} {value}")).collect();
    if !limits.is_empty() {
        line(&format!("- Limits: {}.", limits.join(", ")));
    }
    if policy.fs.symlinks == Symlinks::Deny {
        line("- Symbolic links: no new ones.");
    }
    line("- Background processes: ended when the command ends.");
    if !missing.is_empty() {
        line(&format!("- Not enforced here, and not allowed all the same: {}.", missing.join("; ")));
    }
    line("");
    line(
        "Where confine runs with --annotate, its own line is the last one after every command, and the only one that",
    );
    line(
        "counts: a command may print others like it. `[confine: passed …]`: it went well. `[confine: failed …; not the",
    );
    line(
        "sandbox: …]`: look for the cause in the command. `[confine: … denied by …; smallest grant: …]`: what was refused,",
    );
    line(
        "and which grant would let it pass. Report that to the user and ask for the grant; do not work around it.",
    );
    text
}

/// Names of paths by what is allowed there.
fn paths(policy: &Policy) -> Vec<(&'static str, Vec<&AbsPath>)> {
    let entries = &policy.fs.entries;
    let with = |wanted: fn(Access) -> bool, kinds: &[Kind]| {
        let kinds = kinds.to_vec();
        let chosen =
            entries.iter().filter(move |(_, entry)| wanted(entry.access) && kinds.contains(&entry.kind));
        chosen
            .filter(|(path, entry)| is_told(path, entry.access, &entry.source))
            .map(|(path, _)| path)
            .collect()
    };
    let files = [Kind::File, Kind::Directory];
    let mut protected: Vec<&AbsPath> = with(|access| access == Access::Protect, &files);
    protected.extend(&policy.fs.missing);
    protected.extend(policy.fs.placeholders.keys());
    protected.sort_unstable();
    vec![
        ("May be read and executed", with(|access| access == Access::Read, &files)),
        ("May be created, changed and deleted", with(|access| access == Access::Write, &files)),
        ("May be created, one by one", policy.fs.precreate.iter().collect()),
        ("Stay as they are, even inside the places above", protected),
        ("Hidden", with(|access| access == Access::Hide, &files)),
        ("Sockets that may be reached", with(|access| access == Access::Write, &[Kind::Socket])),
        ("Devices that may be used", with(|access| access == Access::Write, &[Kind::Device])),
    ]
}

/// Not what only happens to be on this host at this moment.
fn is_told(path: &AbsPath, access: Access, source: &Source) -> bool {
    let happens = matches!(source, Source::Listening | Source::Alias(_));
    let everything = access == Access::Hide && *path == AbsPath::root();
    !happens && !everything
}

fn joined(paths: &[&AbsPath]) -> String {
    let mut names: Vec<String> = paths.iter().take(NAMES).map(ToString::to_string).collect();
    if paths.len() > NAMES {
        names.push(format!("{} more", paths.len() - NAMES));
    }
    names.join(", ")
}

const fn temporary(policy: &Policy) -> &'static str {
    match policy.fs.tmp {
        Tmp::Private => {
            "/tmp (or $TMPDIR, where it is set) is private, empty at the start, and gone after each command"
        }
        Tmp::Host => "/tmp is the host's",
        Tmp::None => "/tmp is like any other directory",
    }
}

const fn network(net: NetPlan) -> &'static str {
    match net {
        NetPlan::Off => "none, name look-ups included",
        NetPlan::Open => "the host's",
    }
}

fn environment(policy: &Policy) -> String {
    let passed = policy.env.pass.iter().map(|name| Text::from(name.as_str()).to_string());
    let set = policy.env.set.keys().map(|name| format!("{} (set)", Text::from(name.as_str())));
    let names: Vec<String> = passed.chain(set).collect();
    if names.is_empty() { "no variables".to_owned() } else { format!("only {}", names.join(", ")) }
}
