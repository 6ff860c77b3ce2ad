//! The question as a person sees it. Pure: the same request gives the same text.
//!
//! Whatever a program, a file name or the caller put into a request is shown by `visible` alone, so that it neither moves
//! the cursor nor imitates a line of ours; a line of ours begins with a label that no such text can reach.

use std::time::Duration;

use confine_core::Text;
use confine_core::approval::{ApprovalRequest, Choice, Cover, RerunRisk, Subject};
use confine_core::denial::{Certainty, Denial};
use confine_core::visible::{visible, visible_argv};

use super::grant;
use super::key;

/// How many denials, and how many places, are listed.
const LISTED: usize = 5;
/// What is shown of a command, half of its beginning and half of its end, in characters. The whole has a key.
const SHOWN: usize = 1_500;

/// The text of the question, to the last line that does not change.
pub(super) fn question(request: &ApprovalRequest) -> String {
    let mut text = Page::default();
    text.0.push_str(&format!("confine: {}\n", headline(&request.subject)));
    subject(&mut text, &request.subject);
    if let Some(claim) = &request.justification {
        text.row("it says", &visible(claim.as_ref()));
    }
    risk(&mut text, &request.rerun);
    for (key, choice) in key::of(&request.choices) {
        text.row(&format!("[{}]", key.name()), &meaning(choice));
    }
    if is_cut(request) {
        text.row(&format!("[{}]", key::WHOLE), "show the whole command first");
    }
    text.0
}

/// The line that counts: what is left of the time, and what is typed. It stays in one row of `columns`, with room for the
/// cursor: it is written over itself, and a second row would scroll the question away.
pub(super) fn status(choices: &[Choice], left: Duration, typed: &str, columns: usize) -> String {
    let count = format!("(no in {} s)", left.as_millis().div_ceil(1_000));
    let forms = [format!("{}? {count} {typed}", names(choices)), format!("{count} {typed}"), count];
    let fits = |form: &&String| form.chars().count() < columns;
    let shortest = forms.last().cloned().unwrap_or_default();
    let form = forms.iter().find(fits).unwrap_or(&shortest);
    form.chars().take(columns.saturating_sub(1)).collect()
}

/// What is said of a line that is none of the choices.
pub(super) fn misunderstood(choices: &[Choice]) -> String {
    format!("type one of {}, and Enter\n", names(choices))
}

fn names(choices: &[Choice]) -> String {
    let names: Vec<&str> = key::of(choices).into_iter().map(|(key, _)| key.name()).collect();
    names.join("/")
}

/// The whole command, word by word.
pub(super) fn whole(request: &ApprovalRequest) -> String {
    let (Subject::Command { argv, .. } | Subject::Escalation { argv, .. }) = &request.subject else {
        return String::new();
    };
    let mut text = Page::default();
    for (number, word) in argv.iter().enumerate() {
        text.row(&format!("word {number}"), &visible_argv([word]));
    }
    text.0
}

/// Whether the question does not show the whole command.
pub(super) fn is_cut(request: &ApprovalRequest) -> bool {
    match &request.subject {
        Subject::Command { argv, .. } | Subject::Escalation { argv, .. } => {
            visible_argv(argv).chars().count() > SHOWN
        }
        Subject::Connect { .. } | Subject::Tool { .. } => false,
    }
}

/// Labelled rows.
#[derive(Default)]
struct Page(String);

impl Page {
    fn row(&mut self, label: &str, text: &str) {
        self.0.push_str(&format!("  {label:<9} {text}\n"));
    }
}

const fn headline(subject: &Subject) -> &'static str {
    match subject {
        Subject::Command { .. } => "may this command run?",
        Subject::Escalation { denials, .. } if denials.is_empty() => {
            "may this command run with more than its policy allows?"
        }
        Subject::Escalation { .. } => "a command was denied something. May it run again with more?",
        Subject::Connect { .. } => "may this connection be made?",
        Subject::Tool { .. } => "may this tool be used?",
    }
}

fn subject(text: &mut Page, subject: &Subject) {
    match subject {
        Subject::Command { argv, cwd } => {
            text.row("command", &command(argv));
            text.row("in", &visible(cwd.as_path().as_os_str()));
        }
        Subject::Escalation { argv, cwd, grant, directories, denials } => {
            text.row("command", &command(argv));
            text.row("in", &visible(cwd.as_path().as_os_str()));
            denied(text, denials);
            grant.words(directories).iter().for_each(|words| text.row("grant", words));
            grant::difference(grant).iter().for_each(|line| text.row("policy", &format!("+ {line}")));
        }
        Subject::Connect { host, port } => {
            text.row("connect", &format!("{} port {port}", visible(host.as_ref())))
        }
        Subject::Tool { name, input, read_only } => {
            text.row("tool", &visible(name.as_ref()));
            text.row("input", &cut(&visible(input.to_string().as_ref())));
            let says = if *read_only { "that it changes nothing" } else { "nothing about what it changes" };
            text.row("it says", says);
        }
    }
}

fn command(argv: &[Text]) -> String {
    cut(&visible_argv(argv))
}

/// The beginning and the end of a long text, with the number of characters between.
fn cut(text: &str) -> String {
    let count = text.chars().count();
    if count <= SHOWN {
        return text.to_owned();
    }
    let head: String = text.chars().take(SHOWN / 2).collect();
    let tail: String = text.chars().skip(count - SHOWN / 2).collect();
    format!("{head} [... {} characters not shown ...] {tail}", count - SHOWN / 2 * 2)
}

fn denied(text: &mut Page, denials: &[Denial]) {
    let sure = || denials.iter().filter(|denial| denial.certainty >= Certainty::Likely);
    for denial in sure().take(LISTED) {
        text.row("denied", &grant::denied(denial));
        if let Some(line) = &denial.evidence.line {
            text.row("", &format!("it said: {}", visible(line.as_os_str())));
        }
    }
    let more = sure().count().saturating_sub(LISTED);
    if more > 0 {
        text.row("", &format!("and {more} more, in the report"));
    }
}

fn risk(text: &mut Page, risk: &RerunRisk) {
    let RerunRisk::RanBefore { attempts, could_write } = risk else { return };
    let times = if *attempts == 1 { "once".to_owned() } else { format!("{attempts} times") };
    text.row("so far", &format!("it ran {times}, and would begin again; what it did stays done"));
    let places: Vec<String> =
        could_write.iter().take(LISTED).map(|path| visible(path.as_path().as_os_str())).collect();
    if !places.is_empty() {
        let more = could_write.len().saturating_sub(LISTED);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        text.row("", &format!("it could write: {}{more}", places.join("  ")));
    }
}

fn meaning(choice: &Choice) -> String {
    match choice {
        Choice::AllowOnce => "yes, this once".to_owned(),
        Choice::AllowForSession { covers } => format!("yes, and {} for this session", covered(covers)),
        Choice::AllowAlways { covers } => {
            format!("yes, and {} from now on under every policy, by a rule", covered(covers))
        }
        Choice::Reject => "no; also Enter alone, and the end of the time".to_owned(),
        Choice::Cancel => "stop; also Ctrl-C".to_owned(),
    }
}

fn covered(cover: &Cover) -> String {
    match cover {
        Cover::Exact => "the very same".to_owned(),
        Cover::Prefix { argv } => format!("whatever begins with {}", visible_argv(argv)),
    }
}

#[cfg(test)]
mod tests;
