//! What a session has chosen holds for its runs.

use super::*;

#[test]
fn a_preset_of_the_session_sets_mode_and_asking_for_its_runs_alone() {
    needs!(root, bwrap, landlock = 6);
    each(USERS, &[Backend::Bwrap], |scene| {
        let target = scene.workspace().join("y");
        let choose = |preset: &str| {
            let call = scene.plain().env("CONFINE_SESSION", "s").verb(["preset", "use", preset]);
            call.run::<&str>([]).exits(0);
        };
        choose("plan");
        let asking = Asked::of(scene.confine().env("CONFINE_SESSION", "s")).shell(&writes(&target));
        asking.answers(1, "n\r");
        let (run, _) = asking.ends();
        run.exits(2).reports("/policy/mode", "read-only").reports("/refusal/outcome", "rejected");
        assert!(!is_there(&target));
        let other = Asked::of(scene.confine().env("CONFINE_SESSION", "other")).shell(&writes(&target));
        other.asks_nothing().exits(0).reports("/policy/mode", "workspace-write");

        choose("danger-full-access");
        let full = scene.confine().env("CONFINE_SESSION", "s").run(["true"]);
        full.exits(125).says("full access");
        scene.confine().env("CONFINE_SESSION", "no name").run(["true"]).exits(125).says("`no name`");
    });
}
