//! What is launched, as text: one file a backend and policy, reviewed like code. `CONFINE_GOLDEN=write` writes them.

use crate::{fixture, host};
use std::ffi::OsString;
use std::fmt::Write as _;
use std::path::PathBuf;

use confine_backends::{Bwrap, Landlock};
use confine_core::policy::fs::{Proc, Symlinks, Tmp};
use confine_core::policy::{Access, Kind, NetPlan, Policy};
use confine_core::{Backend, ConfinedArgv, Probe};

/// How many values follow an option of bwrap or of the stage.
fn values(option: &str) -> usize {
    match option {
        "--bind" | "--ro-bind" | "--bind-try" | "--ro-bind-try" | "--dev-bind" | "--symlink" | "--rule" => 2,
        "--rlimit" | "--scratch" => 2,
        "--tmpfs" | "--dev" | "--proc" | "--remount-ro" | "--perms" | "--size" | "--chdir" | "--cap-drop" => {
            1
        }
        "--cwd" | "--seccomp" | "--masked" | "--stdio-access" | "--role" => 1,
        "--landlock" => 3,
        _ => 0,
    }
}

fn lines(words: &[OsString]) -> String {
    let mut text = String::new();
    let mut words = words.iter().map(|word| word.to_str().unwrap());
    while let Some(option) = words.next() {
        text.push_str(option);
        for value in words.by_ref().take(values(option)) {
            let shown = if option == "--seccomp" { "…" } else { value };
            write!(text, " {shown}").unwrap();
        }
        text.push('\n');
    }
    text
}

fn render(confined: &ConfinedArgv) -> String {
    let mut text = String::new();
    if let Some(wrapper) = &confined.launch.wrapper {
        write!(text, "# {}\n{}", wrapper.program, lines(&wrapper.options)).unwrap();
    }
    write!(text, "# {}\n{}", confined.launch.stage_inside, lines(&confined.launch.plan)).unwrap();
    let layers: Vec<&str> = confined.layers.iter().map(|layer| layer.name()).collect();
    writeln!(text, "# layers\n{}", layers.join(" ")).unwrap();
    for (title, losses) in [("missing", &confined.missing), ("only by a runner", &confined.runner_only)] {
        writeln!(text, "# {title}").unwrap();
        losses.iter().for_each(|loss| writeln!(text, "{}: {}", loss.effect, loss.reason).unwrap());
    }
    writeln!(text, "# pins").unwrap();
    confined.pins.iter().for_each(|pin| writeln!(text, "{pin}").unwrap());
    text
}

fn check(name: &str, backend: &dyn Backend, policy: &Policy, probe: &Probe) {
    let confined = backend.confine(&fixture::argv(), policy, probe).unwrap();
    let rendered = render(&confined);
    matches(&format!("{}-{name}.txt", backend.id()), &rendered);
}

/// Whether golden files are to be written.
pub(crate) fn is_written() -> bool {
    std::env::var_os("CONFINE_GOLDEN").is_some_and(|word| word == "write")
}

pub(crate) fn matches(name: &str, rendered: &str) {
    let file: PathBuf = [env!("CARGO_MANIFEST_DIR"), "tests/golden", name].iter().collect();
    if is_written() {
        std::fs::write(&file, rendered).unwrap();
    }
    let golden = std::fs::read_to_string(&file).unwrap_or_default();
    assert_eq!(rendered, golden, "{} differs; CONFINE_GOLDEN=write writes it", file.display());
}

fn open_and_nested() -> Policy {
    let mut policy = fixture::workspace();
    policy.net = NetPlan::Open;
    policy.nested = true;
    policy.fs.proc = Proc::Host;
    policy.fs.tmp = Tmp::Host;
    policy.fs.entries.extend(fixture::plan(&[("/tmp", Access::Write, Kind::Directory)]).entries);
    policy.fs.symlinks = Symlinks::Deny;
    policy.limits.cpu = Some(std::time::Duration::from_millis(1500));
    policy.limits.processes = Some(64);
    policy.limits.time = Some(std::time::Duration::from_secs(600));
    policy
}

#[test]
fn bwrap_with_a_workspace() {
    check("workspace", &Bwrap, &fixture::workspace(), &fixture::probe());
}

#[test]
fn bwrap_as_root_masks_kernel_tables() {
    let probe = Probe { uid: 0, ..fixture::probe() };
    check("workspace-root", &Bwrap, &fixture::workspace(), &probe);
}

#[test]
fn bwrap_with_a_minimal_root() {
    check("minimal", &Bwrap, &fixture::minimal(), &fixture::probe());
}

#[test]
fn bwrap_with_every_setting_opened() {
    check("open", &Bwrap, &open_and_nested(), &fixture::probe());
}

#[test]
fn bwrap_on_a_kernel_without_landlock() {
    let unusable = confine_core::probe::Unusable::without_remedy("the kernel has no Landlock");
    let probe = Probe { landlock: Err(unusable), ..fixture::probe() };
    check("without-landlock", &Bwrap, &fixture::minimal(), &probe);
}

#[test]
fn landlock_with_a_workspace() {
    let mut policy = fixture::workspace();
    policy.accept_missing =
        "fs-hide,fs-metadata,fs-carve-out,fs-carve-out-new,net-unix-path,net-unix-path-new,\
        proc-see,ipc-sysv"
            .parse()
            .unwrap();
    check("workspace", &Landlock, &policy, &fixture::probe());
}

#[test]
fn landlock_with_a_minimal_root() {
    let mut policy = fixture::minimal();
    policy.accept_missing = "fs-metadata,net-unix-path,net-unix-path-new,proc-see,ipc-sysv".parse().unwrap();
    check("minimal", &Landlock, &policy, &fixture::probe());
}

#[test]
fn bwrap_with_the_built_in_policy() {
    check("built-in", &Bwrap, &host::built_in(), &fixture::probe());
}

#[test]
fn landlock_with_the_built_in_policy_less_what_it_cannot_say() {
    let mut policy = host::built_in();
    let refusal = Landlock.confine(&fixture::argv(), &policy, &fixture::probe()).unwrap_err();
    assert_eq!(
        refusal.acceptable().to_string(),
        "fs-hide,fs-metadata,fs-carve-out,net-unix-path,proc-see,ipc-sysv"
    );
    policy.accept_missing.extend(refusal.acceptable());
    check("built-in", &Landlock, &policy, &fixture::probe());
}
