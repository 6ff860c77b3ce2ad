//! Every dependency has a licence that we may ship and comes from where we look: both lists are those of `deny.toml`.

use std::fs;
use std::path::Path;

use confine_tests::metadata;
use spdx::{Expression, LicenseReq, Licensee, ParseMode};

fn deny() -> toml::Table {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../deny.toml");
    fs::read_to_string(file).expect("`deny.toml` is there").parse().expect("`deny.toml` is TOML")
}

fn list(table: &str, key: &str) -> Vec<String> {
    let deny = deny();
    let list = deny[table][key].as_array().expect("a list").clone();
    list.into_iter().map(|one| one.as_str().expect("a list of strings").to_owned()).collect()
}

fn allowed(expression: &str, licensees: &[Licensee]) -> bool {
    let permits = |wanted: &LicenseReq| licensees.iter().any(|licensee| licensee.satisfies(wanted));
    // Some packages still write `MIT/Apache-2.0`, which means OR.
    Expression::parse_mode(expression, ParseMode::LAX).is_ok_and(|parsed| parsed.evaluate(permits))
}

fn licensees() -> Vec<Licensee> {
    let allowed = list("licenses", "allow");
    allowed.iter().map(|name| Licensee::parse(name).expect("`deny.toml` lists SPDX names")).collect()
}

#[test]
fn every_package_has_an_allowed_licence() {
    let licensees = licensees();
    for package in metadata::all() {
        let licence = package.licence.as_deref().unwrap_or("");
        let name = format!("{} {}", package.name, package.version);
        assert!(
            allowed(licence, &licensees),
            "`{name}` is under `{licence}`, which deny.toml does not allow"
        );
    }
}

#[test]
fn every_package_that_is_not_ours_comes_from_an_allowed_registry() {
    let sources: Vec<_> =
        list("sources", "allow-registry").into_iter().map(|url| format!("registry+{url}")).collect();
    for package in metadata::all() {
        let known = package.source.as_ref().is_none_or(|source| sources.contains(source));
        assert!(known, "`{}` comes from {:?}, which deny.toml does not allow", package.name, package.source);
    }
}

#[test]
fn a_licence_outside_the_list_is_seen() {
    let licensees = licensees();
    for (expression, expected) in [
        ("MIT", true),
        ("MIT/Apache-2.0", true),
        ("GPL-3.0-only OR MIT", true),
        ("GPL-3.0-only", false),
        ("GPL-3.0-only AND MIT", false),
        ("Apache-2.0 WITH LLVM-exception OR Apache-2.0 OR MIT", true),
        ("", false),
    ] {
        assert_eq!(allowed(expression, &licensees), expected, "{expression}");
    }
}
