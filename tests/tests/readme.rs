//! What the README shows is true.

use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn text(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("cannot read `{path}`: {error}"))
}

/// What stands between a line that is `open` and the next line that is three backticks.
fn block<'a>(page: &'a str, open: &str) -> &'a str {
    let (_, rest) = page.split_once(&format!("\n{open}\n")).expect("the block begins");
    let (block, _) = rest.split_once("\n```\n").expect("the block ends");
    block
}

#[test]
fn the_library_example_is_part_of_an_example_that_compiles() {
    let readme = text("README.md");
    let shown = block(&readme, "```rust");
    assert!(text("backends/runner/examples/run.rs").contains(shown), "the README shows\n{shown}");
    assert!(shown.lines().count() <= 20, "an example of {} lines", shown.lines().count());
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
