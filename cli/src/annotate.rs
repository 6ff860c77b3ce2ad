//! One line that tells a model, or a person, what was denied and what would let it pass, or that nothing was.

use std::io::Write as _;

use confine_core::denial::{Certainty, Denial, Target};
use confine_core::{AbsPath, Effect, Report, Verdict};

use crate::policy::word;
use crate::shell;

/// Says on stderr how it went: always, so that the last line of this kind is confine's own, whatever the program prints.
pub(crate) fn say(report: &Report) {
    // Nothing is to be done where stderr is gone.
    let _ = writeln!(std::io::stderr().lock(), "{}", line(report));
}

/// The line about the surest denial, with the number of others; where there is none, about the verdict.
fn line(report: &Report) -> String {
    let mode = report.policy.as_ref().map(|policy| format!(" (mode {})", word(&policy.mode)));
    let mode = mode.unwrap_or_default();
    let mut sure = report.denials.iter().filter(|denial| denial.certainty >= Certainty::Likely);
    let Some(first) = sure.next() else {
        return format!("[confine: {}{mode}{}]", word(&report.verdict), reason(report));
    };
    let more = match sure.count() {
        0 => String::new(),
        count => format!("; {count} more in the report"),
    };
    format!("[confine: {}{mode}; {}{more}]", denied(first), help(first))
}

/// What is known of a run without a denial.
fn reason(report: &Report) -> String {
    match (report.verdict, report.not_the_sandbox, report.denials.len()) {
        (Verdict::LauncherFailed | Verdict::Refused, ..) => "; the command never ran".to_owned(),
        (Verdict::Failed, Some(because), _) => format!("; not the sandbox: {}", word(&because)),
        (Verdict::Failed, None, 0) => "; nothing shows that it was the sandbox".to_owned(),
        (Verdict::Failed, None, count) => format!("; perhaps the sandbox: {count} possible in the report"),
        _ => String::new(),
    }
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

fn help(denial: &Denial) -> String {
    match (&denial.grant, denial.effect) {
        (Some(grant), _) => format!("smallest grant: {}", option(grant)),
        (None, Effect::NetTcp | Effect::NetUdp | Effect::NetHost) => {
            "no single host can be granted yet, --network open grants all of them".to_owned()
        }
        (None, _) => "no grant lifts it".to_owned(),
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
            line(&report(vec![one.clone()])),
            "[confine: write to /etc/x denied by the mount layer (mode workspace-write); smallest grant: --write /etc/x]"
        );
        let none = denial(Some(Target::Read(x())), None);
        let both = line(&report(vec![none, one]));
        assert!(both.ends_with("; no grant lifts it; 1 more in the report]"), "{both}");
        let connect = Denial {
            effect: Effect::NetTcp,
            ..denial(Some(Target::Connect("example.org:443".into())), None)
        };
        let connect = line(&report(vec![connect]));
        assert!(connect.contains("connection to example.org:443 denied"), "{connect}");
        assert!(connect.contains("--network open grants all of them"), "{connect}");
    }

    #[test]
    fn something_is_said_of_every_end() {
        let ended =
            |verdict, not_the_sandbox| line(&Report { verdict, not_the_sandbox, ..report(Vec::new()) });
        let missing = Some(confine_core::classify::Because::MissingFile);
        for (verdict, because, end) in [
            (Verdict::Passed, None, "passed (mode workspace-write)"),
            (Verdict::Failed, missing, "failed (mode workspace-write); not the sandbox: missing-file"),
            (Verdict::Failed, None, "failed (mode workspace-write); nothing shows that it was the sandbox"),
            (Verdict::TimedOut, None, "timed-out (mode workspace-write)"),
            (Verdict::Cancelled, None, "cancelled (mode workspace-write)"),
            (Verdict::LauncherFailed, None, "launcher-failed (mode workspace-write); the command never ran"),
        ] {
            assert_eq!(ended(verdict, because), format!("[confine: {end}]"));
        }
    }

    #[test]
    fn nothing_is_said_of_what_is_only_possible_and_a_name_cannot_end_the_line() {
        let possible = Denial { certainty: Certainty::Possible, ..denial(None, None) };
        let failed = Report { verdict: Verdict::Failed, ..report(vec![possible]) };
        assert_eq!(
            line(&failed),
            "[confine: failed (mode workspace-write); perhaps the sandbox: 1 possible in the report]"
        );
        for end in ["\n", "]", ";", " ", "\u{1b}", "\u{202e}", "\u{2028}", "\u{2029}"] {
            let odd = || path(&format!("/a{end}[confine:all-is-well]"));
            let text = line(&report(vec![denial(Some(Target::Write(odd())), Some(Target::Write(odd())))]));
            assert_eq!(text.matches("[confine:").count(), 1, "{text}");
            assert_eq!((text.matches(']').count(), text.matches(';').count()), (1, 1), "{text}");
            let named = shell::escape(odd().as_path().as_os_str());
            assert!(text.contains(&format!("write to {named} denied")), "{text}");
            assert!(text.ends_with(&format!("--write {named}]")), "{text}");
        }
    }
}
