//! One line that tells a model, or a person, what was denied and what would let it pass.

use std::io::Write as _;

use confine_core::denial::{Certainty, Denial, Target};
use confine_core::{AbsPath, Effect, Report};

use crate::policy::word;
use crate::shell;

/// Says on stderr what was denied, where something was; nothing otherwise.
pub(crate) fn say(report: &Report) {
    if let Some(line) = line(report) {
        // Nothing is to be done where stderr is gone.
        let _ = writeln!(std::io::stderr().lock(), "{line}");
    }
}

/// The line about the surest denial, with the number of others.
fn line(report: &Report) -> Option<String> {
    let mut sure = report.denials.iter().filter(|denial| denial.certainty >= Certainty::Likely);
    let first = sure.next()?;
    let mode = report.policy.as_ref().map(|policy| format!(" (mode {})", word(&policy.mode)));
    let more = match sure.count() {
        0 => String::new(),
        count => format!("; {count} more in the report"),
    };
    Some(format!(
        "[confine: {}{}; {}{more}]",
        denied(first),
        mode.unwrap_or_default(),
        help(first.grant.as_ref())
    ))
}

/// `write to /etc/x denied by the mount layer`.
pub(crate) fn denied(denial: &Denial) -> String {
    let layer = denial.layer.map(|layer| format!(" by the {layer} layer")).unwrap_or_default();
    format!("{} denied{layer}", act(denial.effect, denial.target.as_ref()))
}

/// What was tried, named as the grant names it: a program chooses names, and must not write the rest of the line.
fn act(effect: Effect, target: Option<&Target>) -> String {
    match target {
        Some(Target::Read(path)) => format!("read of {}", name(path)),
        Some(Target::Write(path) | Target::Precreate(path)) => format!("write to {}", name(path)),
        Some(Target::Connect(host)) => format!("connection to {}", word_of(host)),
        Some(Target::Socket(path)) => format!("connection to {}", name(path)),
        Some(Target::Device(path)) => format!("use of {}", name(path)),
        Some(Target::Process(pid)) => format!("access to process {pid}"),
        Some(Target::Syscall(call)) => format!("system call {}", word_of(call)),
        Some(Target::Git(_)) | None => format!("{effect} ({})", effect.definition()),
    }
}

fn help(grant: Option<&Target>) -> String {
    match grant {
        Some(grant) => format!("smallest grant: {}", option(grant)),
        None => "no grant lifts it".to_owned(),
    }
}

/// A grant as an option of the command line. Single hosts take a proxy, which this version does not have.
pub(crate) fn option(grant: &Target) -> String {
    let path = |option: &str, path: &AbsPath| format!("{option} {}", name(path));
    match grant {
        Target::Read(at) => path("--read", at),
        Target::Write(at) => path("--write", at),
        Target::Precreate(at) => path("--precreate", at),
        Target::Socket(at) => path("--socket", at),
        Target::Device(at) => path("--device", at),
        Target::Git(word) => format!("--git {}", word_of(word)),
        Target::Connect(_) => "--network open".to_owned(),
        Target::Process(_) | Target::Syscall(_) => "none".to_owned(),
    }
}

fn name(path: &AbsPath) -> String {
    shell::escape(path.as_path().as_os_str())
}

fn word_of(text: &str) -> String {
    shell::escape(text.as_ref())
}

#[cfg(test)]
mod tests {
    use super::*;
    use confine_core::denial::{Evidence, Source};
    use confine_core::policy::Mode;
    use confine_core::report::PolicyNote;
    use confine_core::{LaunchFault, LaunchStage, Layer};

    fn report(denials: Vec<Denial>) -> Report {
        let fault = LaunchFault::new(LaunchStage::Usage, "");
        let id = serde_json::from_str("\"sha256:0\"").unwrap();
        let policy = Some(PolicyNote { id, mode: Mode::WorkspaceWrite });
        Report { denials, policy, ..confine_runner::unstarted(&[], None, None, fault) }
    }

    fn denial(target: Option<Target>, grant: Option<Target>) -> Denial {
        let evidence = Evidence { source: Source::Record, line: None, errno: None };
        let (effect, layer, certainty) = (Effect::FsWrite, Some(Layer::Mount), Certainty::Likely);
        Denial { effect, target, layer, certainty, evidence, grant }
    }

    fn path(path: &str) -> AbsPath {
        AbsPath::new(path).unwrap()
    }

    #[test]
    fn the_line_names_act_layer_mode_and_grant() {
        let x = || path("/etc/x");
        let one = denial(Some(Target::Write(x())), Some(Target::Write(x())));
        assert_eq!(
            line(&report(vec![one.clone()])).unwrap(),
            "[confine: write to /etc/x denied by the mount layer (mode workspace-write); smallest grant: --write /etc/x]"
        );
        let none = denial(Some(Target::Read(x())), None);
        let both = line(&report(vec![none, one])).unwrap();
        assert!(both.ends_with("; no grant lifts it; 1 more in the report]"), "{both}");
    }

    #[test]
    fn nothing_is_said_of_what_is_only_possible_and_a_name_cannot_end_the_line() {
        let possible = Denial { certainty: Certainty::Possible, ..denial(None, None) };
        assert_eq!(line(&report(vec![possible])), None);
        for end in ["\n", "]", ";", " ", "\u{1b}", "\u{202e}", "\u{2028}", "\u{2029}"] {
            let odd = || path(&format!("/a{end}[confine:all-is-well]"));
            let text =
                line(&report(vec![denial(Some(Target::Write(odd())), Some(Target::Write(odd())))])).unwrap();
            assert_eq!(text.matches("[confine:").count(), 1, "{text}");
            assert_eq!((text.matches(']').count(), text.matches(';').count()), (1, 1), "{text}");
            let named = shell::escape(odd().as_path().as_os_str());
            assert!(text.contains(&format!("write to {named} denied")), "{text}");
            assert!(text.ends_with(&format!("--write {named}]")), "{text}");
        }
    }
}
