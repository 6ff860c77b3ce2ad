//! The conformance kit, first cut: what any backend has to do, by name, ours or not.
//!
//! Each effect is tried three ways. Denied: the attempts of [`confine_runner::probe`], each with its control outside.
//! Allowed: the same under a policy that grants it. Launcher failure: where the sandbox does not stand nothing is said to
//! be refused. Beside them the contracts that every run keeps: its time, its output, its input, its signals, its end.

pub mod contract;
pub mod fault;
mod filter;
pub mod liar;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use confine_backends::Registry;
use confine_core::{Backend, BackendId, Effect, Governed};
use confine_runner::probe::{Answer, Controls, Finding, Trial, refined};
use confine_runner::{Builder, Confine};

use crate::{installation, library};
use contract::Contract;
use fault::{FAULTS, Fault};
use liar::Liar;

/// A second of processor time, a fifth of a second and more of waiting.
const SLOW: &[Effect] = &[Effect::LimitCpu, Effect::LimitTime, Effect::LimitMemory, Effect::Orphan];

/// One cell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mark {
    /// As it has to be.
    Holds,
    /// Not so, and why.
    Fails(String),
    /// Not looked at, and why.
    Open(String),
}

/// One effect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// Which.
    pub effect: Effect,
    /// What the policy forbids does not happen.
    pub denied: Mark,
    /// What a wider policy grants does.
    pub allowed: Mark,
    /// Where the launcher fails, it is not taken for a refusal.
    pub launcher: Mark,
}

/// What one backend came to.
#[derive(Clone, Debug)]
pub struct Table {
    /// Which backend.
    pub backend: BackendId,
    /// By effect.
    pub rows: Vec<Row>,
    /// By name.
    pub contracts: Vec<(&'static str, Mark)>,
}

/// A backend under test, with what happens on this host without any.
pub struct Kit {
    make: Box<dyn Fn() -> Box<dyn Backend>>,
    controls: Controls,
}

impl Kit {
    /// For the backend that `make` makes, each time it is asked: one of ours, or a pinned one of others.
    ///
    /// # Panics
    /// Where the surroundings of attempts cannot be made.
    pub fn of(make: impl Fn() -> Box<dyn Backend> + 'static) -> Self {
        let confine = confine(builder(), make());
        let controls = Trial::of(&confine, installation::confine()).controls().expect("controls");
        Self { make: Box::new(make), controls }
    }

    /// Everything.
    ///
    /// # Panics
    /// As [`Kit::of`].
    pub fn table(&self) -> Table {
        let confine = confine(builder(), (self.make)());
        let backend = (self.make)();
        let claims = backend.governs(confine.probe());
        let honest = self.answer(&confine, Effect::ALL);
        let broken =
            self.answer(&self::confine(builder(), Box::new(Liar::broken((self.make)()))), Effect::ALL);
        let rows = Effect::ALL.iter().map(|effect| Row {
            effect: *effect,
            denied: denied(&claims, &honest, *effect),
            allowed: self.allowed(backend.id().as_str(), *effect),
            launcher: launcher(&broken),
        });
        let contracts =
            contract::ALL.iter().map(|one: &Contract| (one.name, (one.holds)(&confine, &backend.id())));
        Table { backend: backend.id(), rows: rows.collect(), contracts: contracts.collect() }
    }

    /// The effects whose checks fail under `fault`. Those that take long are looked at only where the fault is about
    /// them.
    ///
    /// # Panics
    /// As [`Kit::of`]; where the fault keeps the sandbox from standing.
    pub fn red(&self, fault: &'static Fault) -> BTreeSet<Effect> {
        let liar = || Box::new(Liar::of((self.make)(), fault));
        let confine = confine(builder(), liar());
        let looked_at: Vec<Effect> = Effect::ALL
            .iter()
            .copied()
            .filter(|effect| *effect == fault.effect || !SLOW.contains(effect))
            .collect();
        let answer = self.answer(&confine, &looked_at);
        assert!(
            answer.launch.is_ok(),
            "the fault at {} breaks the launch: {:?}",
            fault.effect,
            answer.launch
        );
        let claims = liar().governs(confine.probe());
        let fails = |effect: &Effect| matches!(denied(&claims, &answer, *effect), Mark::Fails(_));
        looked_at.into_iter().filter(fails).collect()
    }

    /// What the checks of each effect come to where nothing is enforced and all of it is claimed.
    ///
    /// # Panics
    /// As [`Kit::red`].
    pub fn naked(&self) -> Vec<(Effect, Mark)> {
        let liar = || Box::new(Liar::of_all((self.make)()));
        let confine = confine(builder(), liar());
        let answer = self.answer(&confine, Effect::ALL);
        assert!(answer.launch.is_ok(), "{:?}", answer.launch);
        let claims = liar().governs(confine.probe());
        Effect::ALL.iter().map(|effect| (*effect, denied(&claims, &answer, *effect))).collect()
    }

    fn allowed(&self, backend: &str, effect: Effect) -> Mark {
        let grants = FAULTS.iter().find(|one| one.effect == effect && one.is_grant() && one.is_of(backend));
        let Some(grant) = grants else { return Mark::Open("no key of a policy grants it".into()) };
        let confine = confine(builder(), Box::new(Liar::of((self.make)(), grant)));
        match self.answer(&confine, &[effect]).findings.get(&effect) {
            Some(Finding::Succeeded(_)) => Mark::Holds,
            Some(Finding::Untestable(reason)) => Mark::Open(reason.to_string()),
            other => Mark::Fails(format!("it is granted, and: {other:?}")),
        }
    }

    fn answer(&self, confine: &Confine, effects: &[Effect]) -> Answer {
        let mut trial = Trial::of(confine, installation::confine());
        trial.effects = effects.iter().copied().collect();
        let id = confine.registry().iter().next().expect("one backend").id();
        trial.backend(&id, &self.controls).expect("surroundings")
    }
}

fn builder() -> Builder {
    library::builder().afresh()
}

fn confine(builder: Builder, backend: Box<dyn Backend>) -> Confine {
    builder.registry(Registry::new(vec![backend])).detect().expect("facts")
}

fn denied(claims: &BTreeMap<Effect, Governed>, answer: &Answer, effect: Effect) -> Mark {
    let Some(claim) = claims.get(&effect) else {
        return Mark::Fails("the backend does not answer for it".into());
    };
    if let Err(unusable) = &answer.launch {
        return Mark::Fails(unusable.reason.to_string());
    }
    let found = match answer.findings.get(&effect) {
        Some(finding) => refined(claim.clone(), finding),
        None => claim.clone(),
    };
    match (claim, found) {
        (Governed::Enforced { .. }, Governed::Detected { reason }) => Mark::Fails(reason.to_string()),
        (_, Governed::Enforced { .. } | Governed::Detected { .. }) => Mark::Holds,
        (Governed::NotGoverned { reason }, _) => Mark::Open(format!("not governed: {reason}")),
        (_, Governed::Untestable { reason }) => Mark::Open(reason.to_string()),
        (_, Governed::NotGoverned { reason }) => Mark::Fails(reason.to_string()),
    }
}

fn launcher(broken: &Answer) -> Mark {
    match (&broken.launch, broken.findings.is_empty()) {
        (Err(_), true) => Mark::Holds,
        (launch, _) => Mark::Fails(format!("its launcher fails, and: {launch:?}")),
    }
}

impl Table {
    /// What does not hold.
    pub fn failures(&self) -> Vec<String> {
        let cells = self.rows.iter().flat_map(|row| {
            [("denied", &row.denied), ("allowed", &row.allowed), ("launcher failure", &row.launcher)]
                .map(|(column, mark)| (format!("{} {column}", row.effect), mark))
        });
        let contracts = self.contracts.iter().map(|(name, mark)| ((*name).to_owned(), mark));
        let failed = cells.chain(contracts).filter_map(|(what, mark)| match mark {
            Mark::Fails(why) => Some(format!("{what}: {why}")),
            Mark::Holds | Mark::Open(_) => None,
        });
        failed.collect()
    }
}

impl Mark {
    /// Why not.
    pub fn why(&self) -> Option<&str> {
        match self {
            Self::Holds => None,
            Self::Fails(why) | Self::Open(why) => Some(why),
        }
    }
}

impl fmt::Display for Mark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Holds => "holds",
            Self::Fails(_) => "FAILS",
            Self::Open(_) => "-",
        })
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:20}  {:8}{:8}launcher failure", self.backend, "denied", "allowed")?;
        for Row { effect, denied, allowed, launcher } in &self.rows {
            let why = denied.why().map(|why| format!("{launcher:18}{why}"));
            let rest = why.unwrap_or_else(|| launcher.to_string());
            writeln!(f, "{effect:20}  {denied:8}{allowed:8}{rest}")?;
        }
        for (name, mark) in &self.contracts {
            writeln!(f, "{name:20}  {mark}")?;
        }
        Ok(())
    }
}
