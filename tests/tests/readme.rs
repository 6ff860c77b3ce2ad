//! What the README shows is true.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use confine_tests::{Finished, installation, needs, scene::Temporary};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn text(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("cannot read `{path}`: {error}"))
}

#[test]
fn every_library_example_is_part_of_one_that_compiles() {
    let readme = text("README.md");
    let shown: Vec<&str> = readme.split("\n```rust\n").skip(1).collect();
    let examples = [text("backends/runner/examples/run.rs"), text("backends/runner/examples/ask.rs")];
    assert_eq!(shown.len(), examples.len());
    for (rest, example) in shown.iter().zip(examples) {
        let (shown, _) = rest.split_once("\n```\n").expect("the block ends");
        assert!(example.contains(shown), "the README shows\n{shown}");
        assert!(shown.lines().count() <= 20, "an example of {} lines", shown.lines().count());
    }
}

#[test]
fn every_exit_code_is_in_the_table() {
    use confine_core::outcome::exit;
    let readme = text("README.md");
    let (_, section) = readme.split_once("\n## Exit codes").expect("a section on exit codes");
    let codes = [
        exit::REFUSED,
        exit::TIMED_OUT,
        exit::LAUNCHER_FAILED,
        exit::NOT_EXECUTABLE,
        exit::NOT_FOUND,
        exit::SIGNAL_BASE + 9,
    ];
    for code in codes {
        assert!(section.contains(&format!("\n| {code}")), "{code} has no row");
    }
}

#[test]
fn every_link_leads_to_a_file() {
    for page in ["README.md", "SECURITY.md", "CONTRIBUTING.md", "CHANGELOG.md"] {
        let page = text(page);
        let links = page.split("](").skip(1).filter_map(|rest| rest.split_once(')')).map(|(link, _)| link);
        for link in links.filter(|link| !link.starts_with("http")) {
            assert!(root().join(link).is_file(), "`{link}` is no file");
        }
    }
}

#[test]
fn the_security_page_names_every_layer() {
    let page = text("SECURITY.md");
    for layer in confine_core::Layer::ALL {
        let name = layer.name().replace('-', "_");
        let known = [layer.name(), name.as_str()].iter().any(|name| page.to_lowercase().contains(name));
        assert!(known, "`{layer}` is not named");
    }
}

/// What builds here: the programs under test, put where cargo would put them.
const CARGO: &str = r#"#!/bin/sh
while [ $# -gt 0 ]; do
    case $1 in --package) package=$2 ;; --target) triple=$2 ;; esac
    shift
done
mkdir -p "target/$triple/release" && cp "PROGRAMS/$package" "target/$triple/release/$package"
"#;

/// A checkout as a newcomer has it, less the compiler.
fn checkout() -> Temporary {
    let place = Temporary::new("/var/tmp/confine-readme-");
    for name in ["Makefile", "demo", "tests"] {
        symlink(root().join(name).canonicalize().expect("it is there"), place.path().join(name))
            .expect("a link");
    }
    let programs = installation::directory();
    for (name, text) in [
        ("cargo", CARGO.replace("PROGRAMS", &programs.display().to_string())),
        ("rustup", "#!/bin/sh\n".to_owned()),
    ] {
        let path = place.path().join("bin").join(name);
        fs::create_dir_all(path.parent().expect("a directory")).expect("a directory");
        fs::write(&path, text).expect("a program");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("its mode");
    }
    for directory in ["fresh", "outside"] {
        fs::create_dir(place.path().join(directory)).expect("a directory");
    }
    place
}

/// A line of the README in that checkout, where `mktemp -d` makes its directories in `fresh`.
fn typed(place: &Path, line: &str) -> Finished {
    let path = std::env::var("PATH").expect("a path");
    let mut command = Command::new("sh");
    command.args(["-c", line]).current_dir(place).env("TMPDIR", place.join("fresh")).env("LC_ALL", "C");
    command.env("PATH", format!("{}:{path}", place.join("bin").display())).env_remove("CARGO_TARGET_DIR");
    for name in ["MAKEFLAGS", "MAKELEVEL", "CARGO"] {
        command.env_remove(name);
    }
    Finished::of(command, &[])
}

#[test]
fn both_commands_of_the_first_minute_do_what_the_text_says() {
    needs!(bwrap, landlock = 3, git, cc);
    let readme = text("README.md");
    let (_, rest) = readme.split_once("\n```sh\n").expect("a block of commands");
    let lines: Vec<&str> = rest.lines().take_while(|line| *line != "```").collect();
    let [first, second] = lines.as_slice() else { panic!("two commands: {lines:?}") };
    let place = checkout();
    let demo = typed(place.path(), first).exits(0);
    assert_eq!(demo.stdout.lines().filter(|line| line.contains("succeeds   fails")).count(), 5, "{demo}");

    let outside = "/var/tmp/out.txt";
    assert!(second.contains(outside) && second.contains(" run -- sh"), "{second}");
    // A name of its own: that of the text is everybody's.
    let out = place.path().join("outside/out.txt");
    let command = second.replace(outside, &out.display().to_string());
    typed(place.path(), &command).fails();
    let left = || {
        let made: Vec<_> = fs::read_dir(place.path().join("fresh")).expect("a directory").flatten().collect();
        made.into_iter().filter(|one| one.path().join("in.txt").is_file()).count()
    };
    assert_eq!((left(), out.exists()), (1, false));
    let grant = format!(" run --write {} -- sh", place.path().join("outside").display());
    let granted = command.replace(" run -- sh", &grant);
    typed(place.path(), &granted).exits(0);
    assert_eq!((left(), out.exists()), (2, true));
}
