//! The arrows between our crates: exactly those of the architecture, read from cargo's own metadata.

use std::collections::{BTreeMap, BTreeSet};

use confine_tests::metadata;

/// Who may use whom. `core` and `stage` use none of ours.
const ARROWS: &[(&str, &[&str])] = &[
    ("confine-core", &[]),
    ("confine-stage", &[]),
    ("confine-plugin-abi", &[]),
    ("confine-plugin-host", &["confine-core", "confine-plugin-abi"]),
    ("confine-tool-fetch", &["confine-plugin-abi"]),
    ("confine-egress-links", &["confine-plugin-abi"]),
    ("confine-backends", &["confine-core", "confine-stage"]),
    ("confine-runner", &["confine-core", "confine-backends", "confine-stage"]),
    ("confine-broker", &["confine-core", "confine-runner"]),
    ("confine", &["confine-core", "confine-backends", "confine-stage", "confine-runner"]),
    (
        "confine-tests",
        &["confine-core", "confine-backends", "confine-stage", "confine-runner", "confine-broker"],
    ),
];

#[test]
fn our_crates_use_each_other_only_along_the_arrows() {
    let ours = metadata::ours();
    let names: BTreeSet<&str> = ours.iter().map(|package| package.name.as_str()).collect();
    let arrows: BTreeMap<&str, &[&str]> = ARROWS.iter().copied().collect();
    assert_eq!(names, arrows.keys().copied().collect(), "the crates of the workspace");
    for package in &ours {
        let used = package.dependencies.iter().filter(|name| names.contains(name.as_str()));
        for name in used {
            let allowed = arrows[package.name.as_str()].contains(&name.as_str());
            assert!(allowed, "{} must not depend on {name}", package.name);
        }
    }
}

#[test]
fn the_pure_crates_use_nothing_that_reaches_the_system() {
    const IMPURE: &[&str] = &["libc", "nix", "tokio", "landlock"];
    for package in metadata::ours().iter().filter(|package| PURE.contains(&package.name.as_str())) {
        let reached: Vec<_> = package.shipped.iter().filter(|name| IMPURE.contains(&name.as_str())).collect();
        assert!(reached.is_empty(), "{} is pure, and depends on {reached:?}", package.name);
    }
}

/// What is computed there is computed from arguments alone.
const PURE: &[&str] = &["confine-core", "confine-backends"];
