//! What the README shows is true.

use std::path::{Path, PathBuf};

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
