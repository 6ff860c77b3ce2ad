//! A backend that does less than it says: another one, with one fault.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use confine_core::{
    AbsPath, Argv, Backend, BackendId, ConfineError, ConfinedArgv, Effect, Governed, Layer, Policy, Probe,
};
use confine_stage::Plan;

use super::fault::{EVERYTHING, Fault, Lie};
use super::filter;

/// See the module.
pub struct Liar {
    honest: Box<dyn Backend>,
    lies: &'static [Lie],
    effect: Option<Effect>,
}

const BROKEN: &[Lie] = &[
    Lie::Options(|_, options| options.insert(0, "--no-such-option".into())),
    Lie::Plan(|_, plan| {
        plan.cwd = "/nonexistent/confine".into();
    }),
];

impl Liar {
    /// With a fault.
    pub fn of(honest: Box<dyn Backend>, fault: &'static Fault) -> Self {
        Self { honest, lies: fault.lies, effect: Some(fault.effect) }
    }

    /// That does nothing at all, and says that it does everything.
    pub fn of_all(honest: Box<dyn Backend>) -> Self {
        Self { honest, lies: EVERYTHING, effect: None }
    }

    /// Whose launcher fails.
    pub fn broken(honest: Box<dyn Backend>) -> Self {
        Self { honest, lies: BROKEN, effect: None }
    }
}

/// What a lie is told: where the attempts' surroundings are.
pub struct Scene {
    /// The throwaway directory.
    pub ground: PathBuf,
    /// The process outside that attempts are made at; 0 where there is none.
    pub victim: i32,
}

impl Scene {
    /// Attempts are made in a workspace below it.
    fn of(argv: &Argv) -> Self {
        let ground = argv.cwd().as_path().parent().unwrap_or(Path::new("/")).to_owned();
        let orders = argv.words().iter().filter_map(|word| word.to_str());
        let orders = orders.filter_map(|word| serde_json::from_str::<serde_json::Value>(word).ok());
        let victim = orders.filter_map(|orders| orders["victim"].as_i64()).next();
        Self { ground, victim: victim.and_then(|victim| victim.try_into().ok()).unwrap_or(0) }
    }

    /// A path in it.
    ///
    /// # Panics
    /// Where it is not absolute.
    pub fn at(&self, below: &str) -> AbsPath {
        AbsPath::new(self.ground.join(below)).expect("an absolute path")
    }
}

impl Backend for Liar {
    fn id(&self) -> BackendId {
        self.honest.id()
    }

    fn pinned(&self) -> Option<&str> {
        self.honest.pinned()
    }

    fn governs(&self, probe: &Probe) -> BTreeMap<Effect, Governed> {
        let mut governed = self.honest.governs(probe);
        if self.lies.iter().any(|lie| matches!(lie, Lie::Claims)) {
            let claimed = Effect::ALL.iter().filter(|effect| self.effect.is_none_or(|one| one == **effect));
            governed.extend(claimed.map(|effect| (*effect, Governed::by(&[Layer::Runner]))));
        }
        governed
    }

    fn confine(&self, argv: &Argv, policy: &Policy, probe: &Probe) -> Result<ConfinedArgv, ConfineError> {
        let scene = Scene::of(argv);
        let (mut policy, mut probe) = (policy.clone(), probe.clone());
        for lie in self.lies {
            match lie {
                Lie::Policy(change) => change(&scene, &mut policy),
                Lie::Probe(change) => change(&mut probe),
                _ => {}
            }
        }
        let mut confined = self.honest.confine(argv, &policy, &probe)?;
        for lie in self.lies {
            apply(lie, &scene, &probe, &mut confined);
        }
        Ok(confined)
    }
}

fn apply(lie: &Lie, scene: &Scene, probe: &Probe, confined: &mut ConfinedArgv) {
    match lie {
        Lie::Policy(_) | Lie::Probe(_) | Lie::Claims => {}
        Lie::Plan(change) => replan(confined, |plan| change(scene, plan)),
        Lie::Calls(rules) => {
            let arch = probe.arch.expect("a known architecture");
            replan(confined, |plan| plan.seccomp = filter::with(rules, arch, &plan.seccomp));
        }
        Lie::Options(change) => {
            if let Some(wrapper) = &mut confined.launch.wrapper {
                change(scene, &mut wrapper.options);
            }
        }
        Lie::Shell(script) => {
            let script = script.replace("GROUND", &scene.ground.to_string_lossy());
            let shell = ["/bin/sh", "-c", &script, "sh"].map(OsString::from);
            confined.launch.command.splice(0..0, shell);
        }
        Lie::Passes(name) => confined.env.pass.push((*name).to_owned()),
        Lie::Does(act) => act(scene),
    }
}

fn replan(confined: &mut ConfinedArgv, change: impl FnOnce(&mut Plan)) {
    let (mut plan, _) = Plan::decode(confined.launch.plan.iter().cloned()).expect("a plan");
    change(&mut plan);
    confined.launch.plan = plan.encode();
}
