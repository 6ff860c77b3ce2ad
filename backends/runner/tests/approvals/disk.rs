//! What is kept: it survives, it shows what was done to it, and where it cannot be kept nothing is allowed.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::time::Duration;

use confine_core::approval::{Answer, ApprovalOutcome, ApprovalPolicy, Preset};
use confine_core::audit::Event;
use confine_runner::approvals::{Approvals, ApprovalsError, Keeping, SessionLog};
use nix::errno::Errno;
use nix::mount::{MntFlags, MsFlags, mount, umount2};

use crate::approver::Scripted;
use crate::scene::{Scene, scene, session};

/// Root may write whatever its mode says, so only a file system of its own is full or read-only for it.
fn is_root(test: &str) -> bool {
    let is_root = nix::unistd::Uid::effective().is_root();
    let required = std::env::var("CONFINE_REQUIRE").unwrap_or_default();
    assert!(is_root || !required.split(',').any(|need| need == "root"), "{test} needs root");
    if !is_root {
        eprintln!("SKIP {test}: needs root");
    }
    is_root
}

/// The state directory as a small file system, unmounted at the end.
struct Small<'a>(&'a Scene);

impl<'a> Small<'a> {
    fn mount(scene: &'a Scene) -> Self {
        let state = scene.state("");
        fs::create_dir_all(&state).unwrap();
        fs::set_permissions(&state, Permissions::from_mode(0o700)).unwrap();
        mount(Some("tmpfs"), &state, Some("tmpfs"), MsFlags::empty(), Some("size=64k,mode=700")).unwrap();
        Self(scene)
    }

    fn fill(&self) {
        // Whatever is free, page by page.
        let mut file = fs::File::create(self.0.state("filler")).unwrap();
        while std::io::Write::write_all(&mut file, &[0; 4096]).is_ok() {}
    }

    /// Once what was open is closed: tasks of a runtime end when they get to it.
    async fn read_only(&self) {
        let flags = MsFlags::MS_REMOUNT | MsFlags::MS_RDONLY;
        let remount = || mount(None::<&str>, &self.0.state(""), None::<&str>, flags, None::<&str>);
        for _ in 0..500 {
            match remount() {
                Err(Errno::EBUSY) => tokio::time::sleep(Duration::from_millis(10)).await,
                done => return done.unwrap(),
            }
        }
        panic!("the log stays open");
    }
}

impl Drop for Small<'_> {
    fn drop(&mut self) {
        // A task may have a file open for a moment more.
        let _ = umount2(&self.0.state(""), MntFlags::MNT_DETACH);
    }
}

#[tokio::test]
async fn a_saved_approval_is_found_by_the_next_process_and_the_file_is_the_users_alone() {
    let scene = scene();
    let asked = scene.command(&["env", "A=", "uv", "run", "pytest"]);
    let first = scene.open();
    let always = Scripted::always(Answer::AllowAlways);
    first.approver(always.clone());
    let turn = first.turn().await.unwrap();
    let decided = first.request(&turn, &asked).await.unwrap();
    assert!(matches!(decided.outcome, ApprovalOutcome::AllowedByRule { .. }), "{:?}", decided.outcome);
    let text = fs::read_to_string(scene.state("approvals.toml")).unwrap();
    assert_eq!(scene.state("approvals.toml").metadata().unwrap().permissions().mode() & 0o7777, 0o600);
    let other = confine_core::approval::SessionId::new("other").unwrap();
    let second = Approvals::open(&scene.places(), &other, ApprovalPolicy::Ask).unwrap();
    let turn = second.turn().await.unwrap();
    let decided = second.request(&turn, &asked).await.unwrap();
    decided.pass.expect("allowed by the rule, with nobody to ask").consume(&asked).await.unwrap();
    let other = second.request(&turn, &scene.command(&["env", "B=", "uv", "run", "pytest"])).await.unwrap();
    assert!(other.pass.is_none(), "another command is another command");
    assert_eq!(always.count(), 1);
    assert_eq!(fs::read_to_string(scene.state("approvals.toml")).unwrap(), text);
}

#[tokio::test]
async fn a_corrupt_file_of_rules_stops_everything_and_stays() {
    let scene = scene();
    let approvals = scene.open();
    approvals.approver(Scripted::always(Answer::AllowAlways));
    let turn = approvals.turn().await.unwrap();
    let file = scene.state("approvals.toml");
    fs::write(&file, "version = 1\n[[rule]\n").unwrap();
    fs::set_permissions(&file, Permissions::from_mode(0o600)).unwrap();
    let refused = approvals.request(&turn, &scene.command(&["true"])).await.unwrap_err();
    assert!(matches!(refused, ApprovalsError::Rules { .. }), "{refused}");
    assert!(refused.help().contains("mend"), "{}", refused.help());
    assert_eq!(fs::read_to_string(&file).unwrap(), "version = 1\n[[rule]\n");
    fs::remove_file(&file).unwrap();
    assert!(approvals.request(&turn, &scene.command(&["true"])).await.unwrap().pass.is_some());
}

#[tokio::test]
async fn a_log_that_was_edited_or_cut_is_not_gone_on_with() {
    let scene = scene();
    let approvals = scene.open();
    drop(approvals.turn().await.unwrap());
    let log = scene.state("sessions/test.jsonl");
    while scene.events().len() < 3 {
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    let text = fs::read_to_string(&log).unwrap();
    let edited = text.replace("turn/closed", "turn/opened");
    let missing = text.split_inclusive('\n').skip(1).collect::<String>();
    let cut = text.split_inclusive('\n').take(2).collect::<String>();
    for tampered in [edited, missing, cut, text.trim_end_matches("}\n").to_owned(), String::new()] {
        fs::write(&log, &tampered).unwrap();
        let refused = Approvals::open(&scene.places(), &session(), ApprovalPolicy::Ask).unwrap_err();
        assert!(matches!(refused, ApprovalsError::Corrupt { .. } | ApprovalsError::Log(_)), "{refused}");
        let lenient = Approvals::builder(ApprovalPolicy::Ask).keeping(Keeping::WherePossible);
        assert!(lenient.open(&scene.places(), &session()).is_err(), "whatever the setting is");
        assert!(!SessionLog::read(&scene.places(), &session()).unwrap().unwrap().is_whole());
        assert_eq!(fs::read_to_string(&log).unwrap(), tampered, "it stays as it is");
    }
    fs::write(&log, &text).unwrap();
    scene.open();
}

#[tokio::test]
async fn a_full_disk_allows_nothing_and_the_log_says_the_same() {
    if !is_root("a_full_disk_allows_nothing_and_the_log_says_the_same") {
        return;
    }
    let scene = scene();
    let small = Small::mount(&scene);
    let approvals = scene.open();
    approvals.approver(Scripted::always(Answer::AllowOnce));
    let turn = approvals.turn().await.unwrap();
    let asked = scene.command(&["true"]);
    let before = approvals.request(&turn, &asked).await.unwrap();
    small.fill();
    // A page may have room for some more lines.
    let long = scene.command(&["true", &"x".repeat(8192)]);
    let decided = approvals.request(&turn, &long).await.unwrap();
    assert!(
        matches!(&decided.outcome, ApprovalOutcome::Unavailable { reason } if reason.contains("No space left"))
    );
    assert!(decided.pass.is_none());
    let kept = scene.events();
    assert!(
        !kept.iter().any(|event| matches!(event, Event::Asked { request, .. } if request.id == decided.id))
    );
    fs::remove_file(scene.state("filler")).unwrap();
    before.pass.unwrap().consume(&asked).await.unwrap();
    assert!(approvals.request(&turn, &asked).await.unwrap().pass.is_some(), "with room again it goes on");
}

#[tokio::test]
async fn a_read_only_state_directory_allows_nothing_unless_the_setting_says_otherwise() {
    if !is_root("a_read_only_state_directory_allows_nothing_unless_the_setting_says_otherwise") {
        return;
    }
    let scene = scene();
    let small = Small::mount(&scene);
    let asked = scene.command(&["true"]);
    {
        let approvals = scene.open();
        approvals.approver(Scripted::always(Answer::AllowOnce));
        let turn = approvals.turn().await.unwrap();
        assert!(approvals.request(&turn, &asked).await.unwrap().pass.is_some());
        turn.close().await.unwrap();
    }
    small.read_only().await;
    let refused = Approvals::open(&scene.places(), &session(), ApprovalPolicy::Ask).unwrap_err();
    assert!(refused.to_string().contains("Read-only file system"), "{refused}");
    let lenient = Approvals::builder(ApprovalPolicy::Ask).keeping(Keeping::WherePossible);
    let lenient = lenient.open(&scene.places(), &session()).unwrap();
    lenient.approver(Scripted::always(Answer::AllowOnce));
    let turn = lenient.turn().await.unwrap();
    let decided = lenient.request(&turn, &asked).await.unwrap();
    decided.pass.unwrap().consume(&asked).await.unwrap();
}

#[tokio::test]
async fn a_preset_holds_for_every_process_of_the_session() {
    let scene = scene();
    let plan = Preset::built_in().into_iter().find(|preset| preset.name.as_str() == "plan").unwrap();
    scene.open().choose_blocking(&plan).unwrap();
    let other = scene.open();
    assert_eq!(other.effective(), (plan.mode, plan.approval));
    assert_eq!(other.permissions().preset, Some(plan.name));
}
