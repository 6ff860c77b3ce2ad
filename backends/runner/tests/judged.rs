//! When a run is judged at all, by what the judging has to ask for.

#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used, reason = "a test reports by panicking")]

mod harness;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use confine_backends::{Bwrap, Landlock, Registry};
use confine_core::denial::{Certainty, Dialect};
use confine_core::{
    Argv, Backend, BackendId, ConfineError, ConfinedArgv, Effect, Governed, Policy, Probe, Verdict,
};
use confine_runner::Confine;
use harness::{BACKENDS, Scene, scene, stage};

/// Nothing is judged without either: what an effect is governed by, and how refusals are worded.
#[derive(Debug, Default)]
struct Asked {
    governs: AtomicUsize,
    dialect: AtomicUsize,
}

impl Asked {
    /// How often since the last time.
    fn times(&self) -> [usize; 2] {
        [&self.governs, &self.dialect].map(|count| count.swap(0, Ordering::SeqCst))
    }
}

/// A backend that counts what it is asked.
struct Counting {
    backend: Box<dyn Backend>,
    asked: Arc<Asked>,
}

impl Backend for Counting {
    fn id(&self) -> BackendId {
        self.backend.id()
    }

    fn governs(&self, probe: &Probe) -> BTreeMap<Effect, Governed> {
        self.asked.governs.fetch_add(1, Ordering::SeqCst);
        self.backend.governs(probe)
    }

    fn confine(&self, argv: &Argv, policy: &Policy, probe: &Probe) -> Result<ConfinedArgv, ConfineError> {
        self.backend.confine(argv, policy, probe)
    }

    fn dialect(&self) -> Option<&Dialect> {
        self.asked.dialect.fetch_add(1, Ordering::SeqCst);
        self.backend.dialect()
    }
}

fn counted(backend: &str) -> (Scene, Arc<Asked>) {
    let asked = Arc::new(Asked::default());
    let scene = scene(backend);
    let backend: Box<dyn Backend> = match backend {
        "bwrap" => Box::new(Bwrap),
        _ => Box::new(Landlock),
    };
    let registry = Registry::new(vec![Box::new(Counting { backend, asked: asked.clone() })]);
    let confine = Confine::builder().stage(stage()).registry(registry).detect().unwrap();
    (Scene { confine, ..scene }, asked)
}

#[tokio::test(flavor = "current_thread")]
async fn a_run_that_passes_is_not_judged_whatever_it_prints() {
    for backend in BACKENDS {
        let (scene, asked) = counted(backend);
        let refused = scene.outside.path().join("x");
        let script = format!("(echo x > {})", refused.display());
        let passed = scene.run(&["sh", "-c", &format!("{script}; exit 0")]).await.report;
        assert!(harness::stderr(&passed).contains("cannot create"), "{backend}");
        let [launching, words] = asked.times();
        assert_eq!((passed.verdict, passed.denials.len(), words), (Verdict::Passed, 0, 0), "{backend}");
        // The same of one that fails: the counts are those of the judging.
        let failed = scene.run(&["sh", "-c", &format!("{script}; exit 2")]).await.report;
        let denial = failed.denials.first().expect("a denial");
        assert_eq!((failed.verdict, denial.certainty), (Verdict::Denied, Certainty::Likely), "{backend}");
        let [governs, words] = asked.times();
        assert!(governs > launching && words > 0, "{backend}: {governs} after {launching}, {words}");
    }
}
