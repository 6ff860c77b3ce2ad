//! What each backend answers for each effect, by value on any kernel: one table a backend, reviewed like code.
//! `CONFINE_GOLDEN=write` writes them.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use confine_backends::{Bwrap, Landlock, Registry, Seatbelt, Windows};
use confine_core::probe::Unusable;
use confine_core::{Backend, Effect, Governed, Layer, Probe};

use crate::{fixture, golden};

fn off<T>() -> Result<T, Unusable> {
    Err(Unusable::without_remedy("off"))
}

/// Who calls, with and without filters; a root that cannot protect its device nodes last.
fn callers() -> Vec<(&'static str, Probe)> {
    let user = fixture::probe();
    let root = Probe { uid: 0, ..user.clone() };
    let nodes = "root without CAP_SYS_ADMIN cannot make its device nodes read-only";
    let bare = Probe { device_nodes: Err(Unusable::without_remedy(nodes)), ..root.clone() };
    let without = |probe: &Probe| Probe { seccomp: off(), ..probe.clone() };
    vec![
        ("user", user.clone()),
        ("user without filter", without(&user)),
        ("root", root.clone()),
        ("root without filter", without(&root)),
        ("root with its nodes", bare.clone()),
        ("root with its nodes, without filter", without(&bare)),
    ]
}

fn on(os: &str) -> Vec<(&'static str, Probe)> {
    let probe = Probe { os: os.into(), ..fixture::probe() };
    vec![("user", probe.clone()), ("root", Probe { uid: 0, ..probe })]
}

/// As people read it.
fn answer(governed: &Governed) -> String {
    match governed {
        Governed::Enforced { layers } => {
            layers.iter().map(|layer| layer.name()).collect::<Vec<_>>().join(", ")
        }
        Governed::Detected { reason } => format!("detected: {reason}"),
        Governed::NotGoverned { reason } => format!("not governed: {reason}"),
        Governed::Untestable { reason } => format!("untestable: {reason}"),
    }
}

/// Why the backend does not work with this ABI at all: the reason of every effect.
fn unusable(backend: &dyn Backend, abi: u32, probe: &Probe) -> Option<String> {
    let governed = backend.governs(&Probe { landlock: Ok(abi), ..probe.clone() });
    let mut answers = governed.values().map(answer);
    let first = answers.next()?;
    answers.all(|answer| answer == first).then_some(first)
}

/// `ABI 1-2: …`, one line for each run of equal answers; no ABI where all are equal.
fn by_abi(backend: &dyn Backend, effect: Effect, probe: &Probe) -> String {
    let mut runs: Vec<(u32, u32, String)> = Vec::new();
    for abi in (1..=9).filter(|abi| unusable(backend, *abi, probe).is_none()) {
        let governed = backend.governs(&Probe { landlock: Ok(abi), ..probe.clone() });
        let answer = answer(&governed[&effect]);
        match runs.last_mut() {
            Some((_, last, same)) if *same == answer => *last = abi,
            _ => runs.push((abi, abi, answer)),
        }
    }
    if let [(_, _, only)] = runs.as_slice() {
        return format!("    {only}\n");
    }
    runs.iter().fold(String::new(), |mut text, (first, last, answer)| {
        let range = if first == last { format!("ABI {first}") } else { format!("ABI {first}-{last}") };
        writeln!(text, "    {range}: {answer}").unwrap();
        text
    })
}

fn table(backend: &dyn Backend, callers: &[(&str, Probe)]) -> String {
    let mut text = String::new();
    for abi in 1..=9 {
        let reasons: BTreeSet<_> = callers.iter().map(|(_, probe)| unusable(backend, abi, probe)).collect();
        assert_eq!(reasons.len(), 1, "no caller makes the difference");
        reasons
            .iter()
            .flatten()
            .for_each(|reason| writeln!(text, "unusable with ABI {abi}: {reason}").unwrap());
    }
    for effect in Effect::ALL {
        writeln!(text, "{effect}").unwrap();
        let mut groups: Vec<(Vec<&str>, String)> = Vec::new();
        for (name, probe) in callers {
            let answers = by_abi(backend, *effect, probe);
            match groups.iter_mut().find(|(_, same)| *same == answers) {
                Some((names, _)) => names.push(name),
                None => groups.push((vec![name], answers)),
            }
        }
        for (names, answers) in &groups {
            if groups.len() > 1 {
                writeln!(text, "  {}", names.join("; ")).unwrap();
            }
            text.push_str(answers);
        }
    }
    text
}

#[test]
fn bwrap_on_every_abi() {
    golden::matches("effects-bwrap.txt", &table(&Bwrap, &callers()));
}

#[test]
fn landlock_on_every_abi() {
    golden::matches("effects-landlock.txt", &table(&Landlock, &callers()));
}

#[test]
fn seatbelt_on_macos() {
    golden::matches("effects-seatbelt.txt", &table(&Seatbelt, &on("macos")));
}

/// What a policy refines: the backend can say it for some, and then these enforce it.
const FOR_SOME_POLICIES: [(Effect, Layer); 4] = [
    (Effect::FsHide, Layer::Landlock),
    (Effect::FsCarveOut, Layer::Landlock),
    (Effect::FsCarveOutNew, Layer::Mount),
    (Effect::FsCarveOutNew, Layer::Runner),
];

#[test]
fn the_layers_of_each_effect_are_those_that_some_backend_names_somewhere() {
    let mut named: BTreeMap<Effect, BTreeSet<Layer>> = BTreeMap::new();
    let probes: Vec<Probe> = callers().into_iter().chain(on("macos")).map(|(_, probe)| probe).collect();
    for backend in Registry::default().iter() {
        for probe in
            probes.iter().flat_map(|probe| (1..=9).map(|abi| Probe { landlock: Ok(abi), ..probe.clone() }))
        {
            for (effect, governed) in backend.governs(&probe) {
                if let Governed::Enforced { layers } = governed {
                    named.entry(effect).or_default().extend(layers);
                }
            }
        }
    }
    for (effect, layer) in FOR_SOME_POLICIES {
        named.entry(effect).or_default().insert(layer);
    }
    for effect in Effect::ALL {
        let listed: BTreeSet<Layer> = effect.layers().iter().copied().collect();
        assert_eq!(listed, named.remove(effect).unwrap_or_default(), "{effect}");
    }
}

#[test]
fn a_backend_of_another_system_answers_by_name_only_and_enforces_nothing() {
    let registry = Registry::default();
    let names = |os: &str| -> Vec<String> {
        let probe = Probe { os: os.into(), ..fixture::probe() };
        registry.for_host(&probe).map(|backend| backend.id().to_string()).collect()
    };
    assert_eq!(names("linux"), ["bwrap", "landlock"]);
    assert_eq!(names("macos"), ["seatbelt"]);
    assert_eq!(names("windows"), ["windows"]);
    let others: [(&dyn Backend, &[&str]); 3] = [
        (&Seatbelt, &["linux", "windows"]),
        (&Windows, &["linux", "macos", "windows"]),
        (&Landlock, &["macos", "windows"]),
    ];
    for (backend, systems) in others {
        assert!(registry.by_id(&backend.id()).is_some());
        for os in systems {
            let probe = Probe { os: (*os).into(), ..fixture::probe() };
            let refusal = backend.confine(&fixture::argv(), &fixture::workspace(), &probe).unwrap_err();
            assert!(matches!(refusal, confine_core::ConfineError::Unusable { .. }), "{refusal}");
            let governed = backend.governs(&probe);
            assert_eq!(governed.len(), Effect::ALL.len());
            assert!(governed.values().all(|answer| matches!(answer, Governed::NotGoverned { .. })));
        }
    }
}

#[test]
fn root_that_cannot_protect_its_nodes_claims_neither_metadata_nor_redirected_descriptors() {
    let claims = |backend: &dyn Backend, probe: &Probe| -> Vec<Effect> {
        let governed = backend.governs(probe);
        let both = [Effect::FsMetadata, Effect::FdStdio];
        both.into_iter().filter(|effect| governed[effect].is_enforced()).collect()
    };
    let root = Probe { uid: 0, ..fixture::probe() };
    let bare = Probe { device_nodes: off(), ..root.clone() };
    assert_eq!(claims(&Bwrap, &root), [Effect::FsMetadata, Effect::FdStdio]);
    assert_eq!(claims(&Bwrap, &bare), []);
    assert_eq!(claims(&Landlock, &fixture::probe()), [Effect::FdStdio]);
    assert_eq!(claims(&Landlock, &root), []);
    let refusal = Bwrap.confine(&fixture::argv(), &fixture::workspace(), &bare).unwrap_err();
    assert_eq!(refusal.acceptable().to_string(), "fs-metadata,fd-stdio");
}

#[test]
fn facts_that_do_not_say_it_are_taken_as_a_no() {
    let mut facts = serde_json::to_value(fixture::probe()).unwrap();
    facts.as_object_mut().unwrap().remove("device_nodes").unwrap();
    let facts: Probe = serde_json::from_value(facts).unwrap();
    assert!(facts.device_nodes.is_err());
}

/// The rows of the page, from the code.
mod page {
    use super::*;

    const HERE: &str = "docs/effects.md";

    fn row(cells: impl IntoIterator<Item = String>) -> String {
        let cells: Vec<String> = cells.into_iter().map(|cell| cell.replace('|', "\\|")).collect();
        format!("| {} |\n", cells.join(" | "))
    }

    fn code(words: &[&str]) -> String {
        words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(" ")
    }

    fn effects() -> String {
        let rows = Effect::ALL.iter().map(|effect| {
            let cells = [effect.definition().to_owned(), effect.attempt().to_owned(), code(effect.keys())];
            row([format!("`{effect}`")].into_iter().chain(cells))
        });
        rows.collect()
    }

    fn answers() -> String {
        let linux = fixture::probe();
        let macos = Probe { os: "macos".into(), ..linux.clone() };
        let columns = [Bwrap.governs(&linux), Landlock.governs(&linux), Seatbelt.governs(&macos)];
        let rows = Effect::ALL.iter().map(|effect| {
            let cells = columns.iter().map(|column| answer(&column[effect]));
            row([format!("`{effect}`")].into_iter().chain(cells))
        });
        rows.collect()
    }

    fn layers() -> String {
        let rows = Layer::ALL.iter().map(|layer| {
            let effects: Vec<&str> = Effect::ALL
                .iter()
                .filter(|effect| effect.layers().contains(layer))
                .map(|effect| effect.name())
                .collect();
            row([format!("`{layer}`"), layer.definition().to_owned(), code(&effects)])
        });
        rows.collect()
    }

    /// With these rows below the table whose head begins so.
    fn with_rows(page: &str, head: &str, rows: &str) -> String {
        let start = page.find(head).unwrap_or_else(|| panic!("{HERE} has no table `{head}`"));
        let rule = page[start..].find("\n| --- ").map(|at| start + at + 1).unwrap();
        let body = page[rule..].find('\n').map(|at| rule + at + 1).unwrap();
        let old: usize =
            page[body..].split_inclusive('\n').take_while(|l| l.starts_with('|')).map(str::len).sum();
        format!("{}{rows}{}", &page[..body], &page[body + old..])
    }

    #[test]
    fn the_page_says_what_the_code_says() {
        let file = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(HERE);
        let written = std::fs::read_to_string(&file).unwrap();
        let page = with_rows(&written, "| effect | what it is |", &effects());
        let page = with_rows(&page, "| effect | bwrap |", &answers());
        let page = with_rows(&page, "| layer | what it is |", &layers());
        if golden::is_written() {
            std::fs::write(&file, &page).unwrap();
        } else {
            assert_eq!(page, written, "{HERE} differs; CONFINE_GOLDEN=write writes its tables");
        }
    }

    /// Keys that decide about no effect.
    const OTHERS: [&str; 6] = [
        "version",
        "extends",
        "approval.default",
        "approval.audit",
        "enforcement.require",
        "enforcement.accept-missing",
    ];

    #[test]
    fn the_keys_of_the_effects_are_those_of_policy_files() {
        let file = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/policy.md");
        let page = std::fs::read_to_string(file).unwrap();
        let table = page.lines().skip_while(|line| !line.starts_with("| key |")).skip(2);
        let documented: BTreeSet<String> = table
            .take_while(|line| line.starts_with('|'))
            .flat_map(|line| {
                line.split('|').nth(1).unwrap().split(',').map(|key| key.trim().replace('`', ""))
            })
            .collect();
        let about_effects = Effect::ALL.iter().flat_map(|effect| effect.keys().iter().copied());
        let listed: BTreeSet<String> = about_effects.chain(OTHERS).map(str::to_owned).collect();
        assert_eq!(listed, documented);
    }
}
