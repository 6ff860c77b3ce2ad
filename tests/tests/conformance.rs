//! The conformance kit on our backends, and on backends that lie.

use std::collections::BTreeSet;

use confine_backends::{Bwrap, Landlock};
use confine_core::{Backend, Effect};
use confine_runner::find::Find;
use confine_runner::foreign::{Foreign, locate};
use confine_runner::lock::Pin;
use confine_runner::probe::{UNTRIED, attempt_at};
use confine_tests::conformance::fault::{FAULTS, Fault};
use confine_tests::conformance::{Kit, Mark, Table};
use confine_tests::{Temporary, library, needs};

fn bwrap() -> Box<dyn Backend> {
    Box::new(Bwrap)
}

fn landlock() -> Box<dyn Backend> {
    Box::new(Landlock)
}

/// The example of a backend of others, as a lock pins it.
struct Example {
    pin: Pin,
    _directory: Temporary,
}

impl Example {
    /// In a place that only root can write, as the runner demands.
    fn pinned() -> Self {
        let directory = Temporary::new("/var/tmp/confine-example-");
        let program = directory.path().join("confine-backend-firejail");
        std::fs::copy(EXAMPLE, &program).expect("a copy");
        let pin = locate(program.as_os_str(), &Find::here()).expect("a backend");
        Self { pin, _directory: directory }
    }

    /// As a registry has it.
    fn maker(&self) -> impl Fn() -> Box<dyn Backend> + 'static {
        let pin = self.pin.clone();
        move || Box::new(Foreign::new(pin.clone()))
    }
}

const EXAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../examples/confine-backend-firejail");

const OURS: &[fn() -> Box<dyn Backend>] = &[bwrap, landlock];

#[test]
fn every_effect_that_is_enforced_has_an_attempt_and_a_seeded_fault() {
    let probe = library::builder().detect().expect("facts").probe().clone();
    let untried = |effect: &Effect| UNTRIED.iter().any(|(one, _)| one == effect);
    for effect in Effect::ALL.iter().filter(|effect| !untried(effect)) {
        assert!(attempt_at(*effect).is_some(), "{effect} has no attempt");
        let enforced =
            OURS.iter().any(|make| make().governs(&probe).get(effect).is_some_and(|one| one.is_enforced()));
        let seeded = FAULTS.iter().any(|fault| fault.effect == *effect);
        assert!(seeded || !enforced, "{effect} has no seeded fault");
    }
}

fn conforms(make: impl Fn() -> Box<dyn Backend> + 'static) -> Table {
    let table = Kit::of(make).table();
    println!("{table}");
    assert!(table.failures().is_empty(), "{:#?}", table.failures());
    table
}

#[test]
fn bwrap_conforms() {
    needs!(root, bwrap, landlock = 6);
    conforms(bwrap);
}

#[test]
fn landlock_conforms() {
    needs!(root, landlock = 6);
    conforms(landlock);
}

#[test]
fn the_example_conforms_in_what_it_claims_and_lists_what_it_does_not() {
    needs!(root, firejail, landlock = 6);
    let example = Example::pinned();
    let table = conforms(example.maker());
    let claims = example.maker()().governs(library::builder().detect().expect("facts").probe());
    assert!(claims.values().filter(|claim| claim.is_enforced()).count() > 30, "{claims:?}");
    let wrong = table.rows.iter().filter(|row| match &row.denied {
        Mark::Holds => false,
        // Nobody can, on a host that refuses it to all.
        Mark::Open(_) if row.effect == Effect::TtyInject => false,
        mark => {
            claims[&row.effect].is_enforced() || !mark.why().unwrap_or_default().starts_with("not governed")
        }
    });
    let wrong: Vec<_> = wrong.collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// The faults turn their own checks red, and no other.
fn caught(backend: &str, make: impl Fn() -> Box<dyn Backend> + 'static) {
    let kit = Kit::of(make);
    let wrong = |fault: &'static Fault| {
        let red = kit.red(fault);
        (red != BTreeSet::from([fault.effect]))
            .then(|| format!("the fault at {} turns {red:?} red", fault.effect))
    };
    let wrong: Vec<String> = FAULTS.iter().filter(|fault| fault.is_of(backend)).filter_map(wrong).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn a_bwrap_backend_that_lies_is_caught_at_the_effect_it_lies_about() {
    needs!(root, bwrap, landlock = 6);
    caught("bwrap", bwrap);
}

#[test]
fn a_landlock_backend_that_lies_is_caught_at_the_effect_it_lies_about() {
    needs!(root, landlock = 6);
    caught("landlock", landlock);
}

#[test]
fn a_backend_of_others_that_lies_is_caught_at_the_effect_it_lies_about() {
    needs!(root, firejail, landlock = 6);
    caught("firejail", Example::pinned().maker());
}

#[test]
fn a_backend_that_lies_about_everything_is_caught_at_every_effect() {
    needs!(root, landlock = 6);
    let marks = Kit::of(landlock).naked();
    for (effect, mark) in &marks {
        println!("{effect:20}  {mark:?}");
    }
    let untried = |effect: &Effect| UNTRIED.iter().any(|(one, _)| one == effect);
    let missed: Vec<_> = marks
        .iter()
        .filter(|(effect, mark)| match mark {
            Mark::Fails(_) => false,
            // Nobody can, on a host that refuses it to all.
            Mark::Open(_) => !untried(effect) && *effect != Effect::TtyInject,
            Mark::Holds => true,
        })
        .collect();
    assert!(missed.is_empty(), "{missed:#?}");
}
