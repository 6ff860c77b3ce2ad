//! The measured rows of `tests/classify/rows.toml`: what the dialects and the classification make of each.

use std::collections::BTreeMap;
use std::path::Path;

use confine_core::classify::{Answer, Incident, Judgement, Permissions, Sandbox, Witness, classify};
use confine_core::denial::{Attempt, Dialect, DialectId, Object, Stream};
use confine_core::policy::fs::{MissingProtected, Proc, Symlinks, Tmp};
use confine_core::policy::{Access, Entry, EnvPlan, FsPlan, Kind, Limits, Mode, NetPlan, Source};
use confine_core::{AbsPath, Effect, Effects, Governed, Layer, Outcome, Policy, Text, Verdict};
use toml::{Table, Value};

const ROWS: &str = include_str!("../classify/rows.toml");
const LANDLOCK: &str = include_str!("../../core/dialects/landlock.toml");
/// The bound: so many of a hundred rows with text come out right.
const RIGHT: usize = 97;
/// Every row of the measurement is accounted for.
const MEASURED: usize = 877;

/// What stood around the programs of some rows.
struct World {
    backend: String,
    user: Option<String>,
    dialect: Dialect,
    layers: Vec<Layer>,
    governs: BTreeMap<Effect, Governed>,
    policy: Option<Policy>,
}

/// One row.
#[derive(Clone)]
struct Row {
    user: String,
    backend: String,
    tool: String,
    expect: String,
    exit: String,
    line: String,
    command: String,
}

fn word<'a>(table: &'a Table, key: &str) -> Option<&'a str> {
    table.get(key).map(|value| value.as_str().unwrap_or_else(|| panic!("`{key}` is no string")))
}

fn words<'a>(table: &'a Table, key: &str) -> Vec<&'a str> {
    let array = table.get(key).and_then(Value::as_array);
    array.into_iter().flatten().map(|value| value.as_str().unwrap()).collect()
}

fn tables<'a>(table: &'a Table, key: &str) -> impl Iterator<Item = &'a Table> {
    table[key].as_array().unwrap().iter().map(|value| value.as_table().unwrap())
}

fn file() -> Table {
    ROWS.parse().unwrap()
}

fn rows(file: &Table) -> Vec<Row> {
    let of = |of| {
        tables(of, "row").map(|row| {
            let text =
                |table, key| word(table, key).unwrap_or_else(|| panic!("a row without `{key}`")).to_owned();
            Row {
                user: text(of, "user"),
                backend: text(of, "backend"),
                tool: text(row, "tool"),
                expect: text(row, "expect"),
                exit: text(row, "exit"),
                line: text(row, "line"),
                command: text(row, "command"),
            }
        })
    };
    tables(file, "of").flat_map(of).collect()
}

fn world(table: &Table) -> World {
    let layers: Vec<Layer> = words(table, "layers").iter().map(|name| name.parse().unwrap()).collect();
    let governs = Effect::ALL.iter().map(|effect| (*effect, Governed::by(&layers))).collect();
    let id = DialectId::new(word(table, "dialect").unwrap());
    let prefixes = words(table, "prefixes");
    let dialect = if prefixes.is_empty() {
        Dialect::builtin(&id).unwrap().clone()
    } else {
        let ours = "[\"confine-stage: \"]";
        assert!(LANDLOCK.contains(ours));
        Dialect::parse(&LANDLOCK.replace(ours, &format!("{prefixes:?}"))).unwrap()
    };
    World {
        backend: word(table, "backend").unwrap().to_owned(),
        user: word(table, "user").map(str::to_owned),
        dialect,
        layers,
        governs,
        policy: table.get("policy").map(|table| policy(table.as_table().unwrap())),
    }
}

fn abs(path: impl AsRef<Path>) -> AbsPath {
    AbsPath::new(path).unwrap()
}

fn policy(table: &Table) -> Policy {
    let mut entries = BTreeMap::from([(abs("/"), entry(Access::Hide, "/"))]);
    for (key, access) in [
        ("read", Access::Read),
        ("write", Access::Write),
        ("protect", Access::Protect),
        ("hide", Access::Hide),
    ] {
        entries.extend(words(table, key).iter().map(|path| (abs(path), entry(access, path))));
    }
    let limits = match table.contains_key("limits") {
        false => Limits::default(),
        true => Limits {
            memory: Some(1 << 28),
            cpu: Some(std::time::Duration::from_secs(1)),
            file_size: Some(1024),
            open_files: Some(12),
            ..Limits::default()
        },
    };
    Policy {
        id: serde_json::from_str("\"sha256:0\"").unwrap(),
        mode: Mode::WorkspaceWrite,
        fs: FsPlan {
            entries,
            links: BTreeMap::new(),
            missing: Default::default(),
            placeholders: BTreeMap::new(),
            protected_links: Vec::new(),
            repositories: Default::default(),
            workspaces: [abs("/srv/peerws")].into(),
            precreate: Default::default(),
            not_granted: Vec::new(),
            tmp: Tmp::None,
            proc: Proc::Host,
            symlinks: Symlinks::Allow,
            missing_protected: MissingProtected::Watch,
        },
        net: if word(table, "network") == Some("off") { NetPlan::Off } else { NetPlan::Open },
        env: EnvPlan { pass: Vec::new(), set: BTreeMap::new() },
        limits,
        nested: false,
        approval: Default::default(),
        audit: Default::default(),
        require: Effects::default(),
        accept_missing: Effects::default(),
    }
}

fn entry(access: Access, path: &str) -> Entry {
    let kind = if path.contains('.') && !path.ends_with(".git") { Kind::File } else { Kind::Directory };
    Entry { access, kind, source: Source::CommandLine }
}

/// The host of the measurement, for one of its users.
struct Host {
    is_root: bool,
}

/// What was not there.
const MISSING: &[&str] = &[
    "/no",
    "/nonexistent-x",
    "/run/dbus",
    "/tmp/x",
    "/proc/sysrq-trigger",
    "/srv/secret/key.c",
    "/srv/peerws/ELFgarbage",
    "/srv/peerws/cargo",
    "/srv/peerws/rustup",
    "/srv/peerws/insmod",
];
/// What an ordinary user may not write.
const CLOSED: &[&str] = &["/proc/sys", "/var/lib/dpkg", "/tmp/cc", "/root", "/mnt", "/dev"];

impl Permissions for Host {
    fn allows(&self, path: &AbsPath, attempt: Attempt) -> Answer {
        let below = |places: &[&str]| places.iter().any(|place| path.is_within(&abs(place)));
        if below(MISSING) {
            return Answer::Missing;
        }
        match attempt {
            _ if self.is_root => Answer::Allowed,
            Attempt::Metadata | Attempt::Mount => Answer::Refused("EPERM"),
            _ if below(CLOSED) => Answer::Refused("EACCES"),
            _ => Answer::Allowed,
        }
    }

    fn acts(&self, attempt: Attempt, _: &Object) -> Answer {
        match attempt {
            _ if self.is_root => Answer::Allowed,
            // A process of the same user.
            Attempt::Signal | Attempt::Trace => Answer::Allowed,
            Attempt::Mount => Answer::Refused("EPERM"),
            _ => Answer::Unknown,
        }
    }
}

impl Row {
    fn world<'a>(&self, worlds: &'a [World]) -> &'a World {
        let fits = |world: &&World| {
            world.backend == self.backend && world.user.as_ref().is_none_or(|user| *user == self.user)
        };
        worlds.iter().find(fits).unwrap_or_else(|| panic!("no world for `{}`", self.backend))
    }

    /// How the tool ended. Where the command went on after it and ended well, the tool itself failed all the same.
    fn outcome(&self) -> Outcome {
        match self.exit.parse::<i32>() {
            Ok(0) if !self.line.is_empty() => Outcome::Exited { code: 1 },
            Ok(code) if code >= 0 => Outcome::Exited { code: u8::try_from(code).unwrap() },
            Ok(signal) => Outcome::Signaled { signal: -signal, core: false },
            Err(_) => Outcome::Exited { code: 124 },
        }
    }

    fn judge(&self, world: &World, policy: &Policy) -> Judgement {
        let outcome = self.outcome();
        let command = ["sh", "-c", &self.command].map(Text::from);
        let cwd = abs("/srv/peerws");
        let sandbox = Sandbox { policy, layers: &world.layers, governs: &world.governs };
        let incident = Incident {
            outcome: &outcome,
            witness: Witness::ExitStatus,
            sandbox: Some(sandbox),
            dialect: Some(&world.dialect),
            cwd: Some(&cwd),
            command: &command,
            stdout: b"",
            stderr: self.line.as_bytes(),
        };
        classify(&incident, &Host { is_root: self.user == "root" })
    }

    /// By the dialect alone, among the layers that there are: `EFFECT/LAYER`, or nothing.
    fn read(&self, world: &World) -> Option<String> {
        let found = world.dialect.read_beside(Stream::Stderr, self.line.as_bytes(), self.command.as_bytes());
        let first = found.first()?;
        let layer = first.layers.iter().find(|layer| world.layers.contains(layer))?;
        Some(format!("{}/{layer}", first.effect))
    }

    /// What comes out.
    fn verdict(&self, world: &World) -> Came {
        let Some(policy) = &world.policy else {
            return self.read(world).map_or(Came::Nothing, Came::Denied);
        };
        let judgement = self.judge(world, policy);
        match (judgement.verdict, judgement.denials.first()) {
            (Verdict::LauncherFailed, _) => Came::Launcher,
            (verdict, Some(denial)) => {
                let layer = denial.layer.map_or("?", Layer::name);
                let said = format!("{}/{layer}", denial.effect);
                if verdict == Verdict::Denied { Came::Denied(said) } else { Came::Possible(said) }
            }
            (_, None) => Came::Nothing,
        }
    }
}

/// What comes out of a row.
#[derive(Debug, PartialEq, Eq)]
enum Came {
    /// Text or record, and the policy.
    Denied(String),
    /// Listed, and the verdict is another.
    Possible(String),
    /// The launcher failed.
    Launcher,
    /// No denial.
    Nothing,
}

impl Came {
    fn is(&self, expect: &str) -> bool {
        match self {
            Self::Denied(said) => said == expect,
            Self::Possible(said) => said == expect || expect.starts_with("none"),
            Self::Launcher => expect == "launcher",
            Self::Nothing => expect.starts_with("none") || expect.starts_with("silent"),
        }
    }
}

#[test]
fn every_measured_row_has_a_well_formed_expectation() {
    let file = file();
    let worlds: Vec<World> = tables(&file, "world").map(world).collect();
    let rows = rows(&file);
    let foreign: i64 = tables(&file, "foreign").map(|one| one["rows"].as_integer().unwrap()).sum();
    assert_eq!(rows.len() + usize::try_from(foreign).unwrap(), MEASURED);
    for row in &rows {
        let _ = row.world(&worlds);
        match row.expect.split_once('/') {
            _ if row.expect == "launcher" => {}
            Some((effect, layer)) if effect.parse::<Effect>().is_ok() => {
                assert!(layer.parse::<Layer>().is_ok(), "{}", row.expect);
            }
            _ => {
                let (kind, reason) = row.expect.split_once(": ").unwrap_or_default();
                assert!(["none", "silent", "out"].contains(&kind) && !reason.is_empty(), "{}", row.expect);
            }
        }
    }
}

#[test]
fn rows_with_text_come_out_right_and_none_is_a_false_denial() {
    let file = file();
    let worlds: Vec<World> = tables(&file, "world").map(world).collect();
    let (mut wrong, mut all, mut likely) = (Vec::new(), 0, 0);
    for row in rows(&file).iter().filter(|row| !row.line.is_empty() && !row.expect.starts_with("out")) {
        let came = row.verdict(row.world(&worlds));
        all += 1;
        likely += usize::from(matches!(came, Came::Denied(_)));
        let is_false = row.expect.starts_with("none") && matches!(came, Came::Denied(_) | Came::Launcher);
        assert!(!is_false, "a false denial: {came:?} for {} {}: {}", row.user, row.backend, row.line);
        if !came.is(&row.expect) {
            wrong.push(format!(
                "{} {} {}: {} came as {came:?}: {}",
                row.user, row.backend, row.tool, row.expect, row.line
            ));
        }
    }
    println!(
        "{} of {all} rows with text are right, {likely} of them at least likely; wrong:\n{}",
        all - wrong.len(),
        wrong.join("\n")
    );
    assert!(
        (all - wrong.len()) * 100 >= all * RIGHT,
        "{} of {all} rows are wrong:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

#[test]
fn rows_without_text_are_decided_by_their_record() {
    let file = file();
    let worlds: Vec<World> = tables(&file, "world").map(world).collect();
    for row in rows(&file).iter().filter(|row| row.line.is_empty()) {
        let came = row.verdict(row.world(&worlds));
        assert!(
            came.is(&row.expect),
            "{} {} {}: {} came as {came:?}",
            row.user,
            row.backend,
            row.command,
            row.expect
        );
    }
}
