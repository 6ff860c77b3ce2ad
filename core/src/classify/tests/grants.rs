//! What is offered, and what the host is asked for that.

use super::*;

#[test]
fn a_grant_that_would_not_help_is_not_offered() {
    let rows: &[(&str, Option<Target>)] = &[
        ("ln: failed to create symbolic link '/srv/new': Read-only file system", Some(write("/srv"))),
        ("mkfifo: cannot create fifo '/srv/new': Read-only file system", Some(write("/srv"))),
        ("mktemp: failed to create file via template '/srv/new': Read-only file system", Some(write("/srv"))),
        ("sed: couldn't open temporary file /srv/new: Read-only file system", Some(write("/srv"))),
        ("Error: unable to open database \"/srv/new\": unable to open database file", Some(write("/srv"))),
        ("fatal: cannot mkdir /srv/new: Read-only file system", Some(write("/srv"))),
        ("touch: cannot touch '/theirs/x': Read-only file system", None),
        // What is protected by name on the command line stays so, and holds the directories above it.
        ("touch: cannot touch '/ws/kept/x': Read-only file system", None),
        ("mv: cannot move 'kept' to 'k': Device or resource busy", None),
        ("mv: cannot move 'above' to 'a': Device or resource busy", None),
        ("rm: cannot remove '/ws/.envrc': Device or resource busy", Some(write("/ws/.envrc"))),
    ];
    let mut question = Question::of("bwrap");
    question.host.missing = vec!["/srv/new"];
    question.host.privileged = vec!["/theirs"];
    for path in ["/ws/kept", "/ws/above/kept"] {
        let entry = Entry { access: Access::Protect, kind: Kind::Directory, source: Source::CommandLine };
        question.policy.fs.entries.insert(abs(path), entry);
    }
    for (line, grant) in rows {
        let judgement = question.ask(line.as_bytes());
        let denial = judgement.denials.first().unwrap_or_else(|| panic!("{line}: {judgement:?}"));
        assert_eq!((&denial.grant, judgement.verdict), (grant, Verdict::Denied), "{line}: {denial:?}");
    }
}

#[test]
fn what_is_out_of_view_is_never_asked_about() {
    let mut question = Question::of("bwrap");
    question.policy.fs.entries.get_mut(&AbsPath::root()).unwrap().access = Access::Hide;
    let judgement = question.ask(b"cat: /srv/x: No such file or directory");
    assert_eq!(question.host.asked.get(), 0);
    assert_eq!(judgement.verdict, Verdict::Failed);
    let denial = &judgement.denials[0];
    assert_eq!((denial.effect, denial.certainty), (Effect::FsRead, Certainty::Possible));
    assert_eq!(denial.grant, Some(read("/srv/x")));
    // Landlock does not govern looking, so the program knows that it is there.
    let mut question = Question::of("landlock");
    question.policy.fs.entries.get_mut(&AbsPath::root()).unwrap().access = Access::Hide;
    let judgement = question.ask(b"cat: /srv/x: Permission denied");
    assert_eq!((judgement.verdict, judgement.denials[0].effect), (Verdict::Denied, Effect::FsRead));
}

#[test]
fn the_host_is_not_asked_about_what_the_sandbox_has_of_its_own() {
    let lines = [
        "touch: cannot touch '/tmp/x': Permission denied",
        "cat: /tmp/x: No such file or directory",
        "cat: /tmp/x: Permission denied",
        "cat: /dev/shm/x: No such file or directory",
        "chmod: changing permissions of '/tmp/x': Operation not permitted",
        "bash: line 1: kill: (77) - No such process",
        "bash: line 1: kill: (77) - Operation not permitted",
    ];
    for line in lines {
        let judgement = Question::of("bwrap").ask_of(&Untold, line.as_bytes());
        assert_eq!(judgement.verdict, Verdict::Failed, "{line}: {judgement:?}");
        assert_ne!(judgement.not_the_sandbox, Some(Because::MissingFile), "{line}");
    }
    // Without a namespace the program sees every process itself.
    let judgement = Question::of("landlock").ask(b"bash: line 1: kill: (77) - Operation not permitted");
    assert_eq!(judgement.verdict, Verdict::Denied, "{judgement:?}");
}

#[test]
fn a_grant_tells_nothing_of_what_is_out_of_view() {
    let mut question = Question::of("bwrap");
    question.policy.fs.entries.get_mut(&AbsPath::root()).unwrap().access = Access::Hide;
    let rows = [
        ("touch: cannot touch '/srv/a/x': Read-only file system", "/srv/a/x"),
        ("mkdir: cannot create directory '/srv/a/x': Read-only file system", "/srv/a"),
        ("rm: cannot remove '/srv/a/x': Read-only file system", "/srv/a"),
    ];
    for (line, place) in rows {
        let denial = question.ask_of(&Untold, line.as_bytes()).denials.remove(0);
        let (Some(Target::Write(grant) | Target::Precreate(grant)), Certainty::Possible) =
            (&denial.grant, denial.certainty)
        else {
            panic!("{line}: {denial:?}")
        };
        assert_eq!(grant, &abs(place), "{line}");
    }
}

#[test]
fn nothing_of_the_kernel_s_is_offered_but_a_device() {
    use Attempt::*;
    let places = ["/proc/sys/kernel/core_pattern", "/sys/x", "/sys", "/dev/kvm", "/dev/x/y", "/dev/mqueue/x"];
    let attempts = [
        Read,
        Execute,
        Open,
        Write,
        Create,
        Make,
        MakeDirectory,
        Rename,
        Link,
        Remove,
        Metadata,
        Owner,
        Connect,
    ];
    for (backend, root) in [("bwrap", Access::Read), ("bwrap", Access::Hide), ("landlock", Access::Hide)] {
        let mut question = Question::of(backend);
        question.policy.fs.entries.get_mut(&AbsPath::root()).unwrap().access = root;
        let Around { layers, governs, .. } = &question.around;
        let sandbox = Sandbox { policy: &question.policy, layers, governs };
        for (place, attempt) in places.iter().flat_map(|place| attempts.map(|attempt| (*place, attempt))) {
            let Ruling::Blocked(block) = sandbox.at(&abs(place), attempt) else { continue };
            let grant = smallest(&sandbox, &block, &abs(place), attempt, &question.host);
            assert!(
                matches!(grant, None | Some(Target::Device(_))),
                "{backend} {place} {attempt:?}: {grant:?}"
            );
        }
    }
}

#[test]
fn a_write_in_proc_is_a_setting_of_the_kernel_under_every_backend() {
    let path = abs("/proc/sys/kernel/core_pattern");
    for backend in ["bwrap", "landlock"] {
        let question = Question::of(backend);
        let Around { layers, governs, .. } = &question.around;
        let sandbox = Sandbox { policy: &question.policy, layers, governs };
        let ruling = sandbox.at(&path, Attempt::Create);
        let block = ruling.block().unwrap_or_else(|| panic!("{backend}: {ruling:?}"));
        assert_eq!(block.effect, Effect::ProcSysctl, "{backend}");
        assert!(block.layers.contains(&Layer::Landlock), "{backend}");
        assert_eq!(smallest(&sandbox, block, &path, Attempt::Create, &question.host), None, "{backend}");
    }
}
