//! From lines to sightings.

use std::cell::{Cell, LazyCell};
use std::collections::HashSet;
use std::ffi::OsString;
use std::ops::Range;

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind, StartKind};
use regex::bytes::Captures;

use super::errno::{self, Errno};
use super::row::Answer;
use super::template::Slot;
use super::{Attempt, Dialect, LINE_BOUND, Object, Row, SIGHTING_BOUND, Sighting, Stream, lines, quoting};
use crate::{Effect, Text};

/// So much of the beginning and of the end of an output may tell what a line leaves out.
const NEAR: usize = 16 * 1024;
/// So many bytes are matched, line by line and row by row, for each half of the lines that are worth a look: output that
/// is made to fit every row a little costs no more than that.
const WORK: usize = 1 << 18;
/// Saying where the slots of a row that fits are takes up to so many times as long as finding that it does not.
const CAPTURE: usize = 64;
/// The same of the words near by, which are simpler.
const CAPTURE_NEAR: usize = 8;

/// What finds rows for a line.
#[derive(Clone, Debug)]
pub(super) struct Index {
    /// Words of which a line that is worth a look holds one.
    telling: AhoCorasick,
    /// The longest words of each row that has some.
    literals: AhoCorasick,
    /// For each row, which of `literals` it needs.
    needs: Vec<Option<usize>>,
    /// The words of every context.
    hints: AhoCorasick,
    /// For each of them, its context.
    hint_of: Vec<usize>,
}

impl Index {
    fn new(dialect: &Dialect) -> Option<Self> {
        let mut literals: Vec<&str> = Vec::new();
        let mut telling: Vec<&str> = errno::ALL.iter().flat_map(Errno::all_texts).collect();
        telling.extend(errno::ALL.iter().map(|errno| errno.name));
        let mut needs = Vec::new();
        for row in &dialect.rows {
            let literal = row.template.literal();
            let said = row.template.has(Slot::Errno) || row.template.has(Slot::Name);
            telling.extend(literal.filter(|_| !said));
            needs.push(literal.map(|literal| position(&mut literals, literal)));
        }
        let telling = AhoCorasick::builder()
            .kind(Some(AhoCorasickKind::DFA))
            .start_kind(StartKind::Unanchored)
            .match_kind(MatchKind::LeftmostFirst)
            .ascii_case_insensitive(true)
            .build(telling)
            .ok()?;
        let literals = AhoCorasick::new(literals).ok()?;
        let words = dialect.contexts.iter().enumerate();
        let words = words.flat_map(|(number, context)| context.words.iter().map(move |word| (number, word)));
        let (hint_of, hints): (Vec<_>, Vec<_>) = words.unzip();
        let hints = AhoCorasick::new(hints).ok()?;
        Some(Self { telling, literals, needs, hints, hint_of })
    }

    /// Rows that may fit `line`, in order.
    fn rows<'a>(&'a self, line: &[u8]) -> impl Iterator<Item = usize> + use<'a> {
        let mut present = vec![false; self.literals.patterns_len()];
        for found in self.literals.find_overlapping_iter(line) {
            if let Some(one) = present.get_mut(found.pattern().as_usize()) {
                *one = true;
            }
        }
        let holds = move |need: &Option<usize>| need.is_none_or(|need| present.get(need) == Some(&true));
        self.needs.iter().enumerate().filter(move |(_, need)| holds(need)).map(|(row, _)| row)
    }
}

fn position<'a>(literals: &mut Vec<&'a str>, literal: &'a str) -> usize {
    literals.iter().position(|one| *one == literal).unwrap_or_else(|| {
        literals.push(literal);
        literals.len() - 1
    })
}

impl Dialect {
    /// Sightings with the number of their row.
    pub(super) fn sight(&self, stream: Stream, output: &[u8], context: &[u8]) -> Vec<(usize, Sighting)> {
        let index = self.index.get_or_init(|| Index::new(self));
        let Some(index) = index.as_ref().filter(|_| !output.is_empty()) else { return Vec::new() };
        let hint = LazyCell::new(|| self.hint(index, output, context));
        let near = || *hint;
        let lines = lines::telling(&index.telling, output);
        let (first, last) = lines.split_at(lines.len() / 2);
        let part = |lines: &mut dyn Iterator<Item = &Range<usize>>| {
            let work = Cell::new(WORK);
            let views = lines.map(|line| View {
                index,
                stream,
                output,
                line: line.clone(),
                hint: &near,
                work: &work,
            });
            self.part(views)
        };
        let mut sighted = part(&mut first.iter());
        // From the end backwards: why a program failed stands there.
        for one in part(&mut last.iter().rev()).into_iter().rev() {
            add(&mut sighted, one);
        }
        sighted
    }

    /// Half of what is found at most.
    fn part<'a>(&self, views: impl Iterator<Item = View<'a>>) -> Vec<(usize, Sighting)> {
        let mut sighted = Vec::new();
        let mut known = HashSet::new();
        for view in views {
            if sighted.len() == SIGHTING_BOUND / 2 || view.work.get() == 0 {
                break;
            }
            // A line that was read by itself says the same again.
            let Some(printed) = view.output.get(view.line.clone()).filter(|line| !known.contains(line))
            else {
                continue;
            };
            let (said, is_alone) = self.line(&view, printed);
            if is_alone {
                known.insert(printed);
            }
            if let Some(one) = said {
                add(&mut sighted, one);
            }
        }
        sighted
    }

    /// What a line says, and whether it says so by itself, whatever is around it.
    fn line(&self, view: &View<'_>, printed: &[u8]) -> (Option<(usize, Sighting)>, bool) {
        let line = lines::plain(printed);
        let is_alone = Cell::new(true);
        let around = LazyCell::new(|| lines::near(view.output, &view.line));
        let around = || {
            is_alone.set(false);
            view.spend(CAPTURE_NEAR * around.len());
            around.as_slice()
        };
        let mut rows = view.index.rows(&line);
        let said = rows.find_map(|number| {
            let row = self.rows.get(number)?;
            view.spend(line.len());
            if view.work.get() == 0 {
                return None;
            }
            let (captures, near) = row.captures(&line, around)?;
            view.spend(CAPTURE * line.len());
            let errno = row.errno.or_else(|| said(&captures)).map(|errno| errno.name);
            let (object, from) = object(&captures, near.as_ref(), quoting::Style::of(&row.tool));
            let (attempt, answer) = self.answer(row, errno, &object, view.hint)?;
            let object = if is_process(answer.effect) { process(object) } else { object };
            let sighting = Sighting {
                effect: answer.effect,
                layers: answer.layers.clone(),
                attempt,
                object,
                from,
                errno,
                tool: row.tool.clone(),
                stream: view.stream,
                line: Text::from(line.get(..LINE_BOUND).unwrap_or(&line).to_vec()),
            };
            Some((number, sighting))
        });
        (said, is_alone.get())
    }

    /// What the backend's table says. Words around count where the line names no object, or means nothing by itself.
    fn answer(
        &self,
        row: &Row,
        errno: Option<&str>,
        object: &Object,
        hint: &dyn Fn() -> Option<Told>,
    ) -> Option<(Attempt, &Answer)> {
        let look = |(attempt, effect): Told| {
            // Only looking a name up fails so.
            let resolves = matches!(errno, Some("EAI_AGAIN" | "EAI_NONAME" | "ENOTFOUND"));
            let attempt = if resolves { Attempt::Resolve } else { attempt };
            let fits = |answer: &&Answer| answer.fits(attempt, errno, object, effect);
            self.answers.iter().find(fits).map(|answer| (attempt, answer))
        };
        let told = (row.attempt, row.effect);
        if row.effect.is_some() || !matches!(row.attempt, Attempt::Call | Attempt::Open) {
            return look(told);
        }
        if row.attempt == Attempt::Call && *object == Object::Nothing {
            return hint().and_then(look).or_else(|| look(told));
        }
        let sharper = |told: &Told| {
            matches!(
                told.0,
                Attempt::Metadata
                    | Attempt::Owner
                    | Attempt::MakeDirectory
                    | Attempt::Remove
                    | Attempt::Rename
                    | Attempt::Execute
            )
        };
        let sharper = hint().filter(sharper).filter(|_| row.attempt == Attempt::Open);
        sharper.and_then(look).or_else(|| look(told)).or_else(|| hint().and_then(look))
    }

    /// What words of the command, or else near the ends of the output, say was tried.
    fn hint(&self, index: &Index, output: &[u8], context: &[u8]) -> Option<Told> {
        let end = output.len().saturating_sub(NEAR);
        let places = [
            context.get(..NEAR).unwrap_or(context),
            output.get(end..).unwrap_or_default(),
            output.get(..NEAR.min(end)).unwrap_or_default(),
        ];
        let first = |place: &&[u8]| {
            let found = index.hints.find_overlapping_iter(*place);
            found.filter_map(|found| index.hint_of.get(found.pattern().as_usize()).copied()).min()
        };
        let number = places.iter().find_map(first)?;
        self.contexts.get(number).map(|context| (context.attempt, context.effect))
    }
}

/// One line, and what is around it.
struct View<'a> {
    index: &'a Index,
    stream: Stream,
    output: &'a [u8],
    line: Range<usize>,
    hint: &'a dyn Fn() -> Option<Told>,
    /// What is left of [`WORK`].
    work: &'a Cell<usize>,
}

impl View<'_> {
    fn spend(&self, work: usize) {
        self.work.set(self.work.get().saturating_sub(work));
    }
}

/// Adds one that says more than those that are there.
fn add(sighted: &mut Vec<(usize, Sighting)>, one: (usize, Sighting)) {
    if !sighted.iter().any(|(_, known)| known.says_as_much(&one.1)) {
        sighted.push(one);
    }
}

/// What was tried, and the effect where that is known.
type Told = (Attempt, Option<Effect>);

impl Sighting {
    fn says_as_much(&self, other: &Self) -> bool {
        self.effect == other.effect
            && self.attempt == other.attempt
            && self.object == other.object
            && self.from == other.from
            && self.errno == other.errno
    }
}

fn said(captures: &Captures<'_>) -> Option<&'static Errno> {
    let text = || errno::by_text(captures.name("errno")?.as_bytes());
    let name = || errno::by_name(captures.name("name")?.as_bytes());
    let number = || errno::by_number(captures.name("number")?.as_bytes());
    text().or_else(name).or_else(number)
}

fn is_process(effect: Effect) -> bool {
    matches!(effect, Effect::ProcSee | Effect::ProcTrace)
}

/// A path below `/proc/PID` is about that process.
fn process(object: Object) -> Object {
    let Object::Path(path) = &object else { return object };
    let pid = path.to_str().and_then(|path| path.strip_prefix("/proc/")?.split('/').next()?.parse().ok());
    pid.map_or(object, Object::Process)
}

/// What a line is about, with the line near by; of two paths the new one, and the old one beside it.
fn object(
    captures: &Captures<'_>,
    near: Option<&Captures<'_>>,
    style: quoting::Style,
) -> (Object, Option<OsString>) {
    let quoted = |printed: &[u8]| quoting::path(printed, style);
    let printed = |name| {
        let found = captures.name(name).or_else(|| near.and_then(|near| near.name(name)));
        found.map(|found| found.as_bytes()).filter(|bytes| !bytes.is_empty())
    };
    let word = |name| {
        printed(name).map(|bytes| String::from_utf8_lossy(bytes).trim_end_matches([':', '.']).to_owned())
    };
    if let Some(to) = printed("to") {
        return (Object::Path(quoted(to)), printed("path").map(quoted));
    }
    if let Some(path) = printed("path") {
        return (Object::Path(quoted(path)), None);
    }
    let object = match (word("host"), word("port"), word("pid"), word("call")) {
        (Some(host), Some(port), ..) => Object::Host(format!("{host}:{port}")),
        (Some(host), ..) => Object::Host(host),
        (_, _, Some(pid), _) => pid.parse().map_or(Object::Nothing, Object::Process),
        (.., Some(call)) => Object::Call(call),
        _ => Object::Nothing,
    };
    (object, None)
}
