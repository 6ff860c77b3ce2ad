use crate::policy::Access::*;
use crate::policy::fake::*;
use crate::policy::pattern::{Bound, MATCHES, PatternError};
use crate::policy::resolve::{EntryFault, ResolveError};

fn hide(pattern: &str) -> crate::policy::resolve::Request {
    workspace_write().file(&format!("filesystem.hide = ['{pattern}']"))
}

fn bound(result: Result<crate::policy::Policy, ResolveError>) -> Bound {
    match result {
        Err(ResolveError::Entry { fault: EntryFault::Pattern(PatternError::OverBound(bound)), .. }) => bound,
        other => panic!("{other:?}"),
    }
}

#[test]
fn case_b07_every_shape_of_pattern_finds_its_files() {
    let mut fake = host();
    fake.file("/home/u/ws/a/secrets/k.key", "")
        .file("/home/u/ws/secrets/k.key", "")
        .directory("/home/u/ws/out");
    fake.file("/home/u/ws/a/k.key", "").file("/home/u/ws/.env", "").file("/home/u/ws/x1", "");
    let policy = hide("${workspace}/**/secrets/*.key").on(&fake).unwrap();
    assert_eq!(
        (policy.at("/home/u/ws/a/secrets/k.key"), policy.at("/home/u/ws/secrets/k.key")),
        (Hide, Hide)
    );
    assert_eq!(policy.at("/home/u/ws/a/k.key"), Write);
    assert!(policy.ignored("${workspace}/**/secrets/*.key").contains("snapshot of 2"));
    assert_eq!(hide("${workspace}/*env").on(&fake).unwrap().at("/home/u/ws/.env"), Hide);
    assert_eq!(hide("${workspace}/x[0-9]").on(&fake).unwrap().at("/home/u/ws/x1"), Hide);
    let grant = request("read-only").file("filesystem.write = ['${workspace}/out/**']").on(&fake).unwrap();
    assert_eq!(grant.at("/home/u/ws/out/o"), Write);
}

#[test]
fn an_entry_that_exists_literally_is_not_expanded_and_escapes_are_taken_off() {
    let mut fake = host();
    for path in ["/home/u/ws/a[1]*", "/home/u/ws/a1x", "/home/u/ws/b*", "/home/u/ws/bb", "/home/u/ws/c*d"] {
        fake.file(path, "");
    }
    let policy = hide("${workspace}/a[1]*").on(&fake).unwrap();
    assert_eq!((policy.at("/home/u/ws/a[1]*"), policy.at("/home/u/ws/a1x")), (Hide, Write));
    let policy = hide("${workspace}/b\\*").on(&fake).unwrap();
    assert_eq!((policy.at("/home/u/ws/b*"), policy.at("/home/u/ws/bb")), (Hide, Write));
    let policy = hide("${workspace}/?\\*d").on(&fake).unwrap();
    assert_eq!((policy.at("/home/u/ws/c*d"), policy.at("/home/u/ws/bb")), (Hide, Write));
    fake.directory("/home/u/a[1]*");
    assert_eq!(workspace_write().workspace("/home/u/a[1]*").on(&fake).unwrap().at("/home/u/a[1]*/f"), Write);
}

#[test]
fn case_b02_a_walk_follows_no_link_and_a_matching_link_hides_its_target() {
    let mut fake = host();
    fake.link("/home/u/ws/bazel-x", "/other/tree").file("/other/tree/secrets.env", "");
    fake.link("/home/u/ws/real.env", "/data/real.env").file("/data/real.env", "");
    fake.link("/home/u/ws/self.env", "/home/u").link("/home/u/ws/dang.env", "/nope");
    let policy = hide("${workspace}/**/*.env").on(&fake).unwrap();
    assert_eq!(policy.at("/other/tree/secrets.env"), Read);
    assert_eq!(policy.at("/data/real.env"), Hide);
    assert_eq!(policy.at("/home/u/ws/f"), Write, "a planted link does not hide the workspace");
    assert!(policy.ignored("${workspace}/**/*.env").contains("self.env"));
}

#[test]
fn a_link_found_by_a_pattern_grants_nothing() {
    let mut fake = host();
    fake.link("/home/u/ws/o/evil", "/home/u/.ssh").directory("/home/u/.ssh").directory("/home/u/ws/o/good");
    let policy = request("read-only").file("filesystem.write = ['${workspace}/o/*']").on(&fake).unwrap();
    assert_eq!((policy.at("/home/u/.ssh"), policy.at("/home/u/ws/o/good/x")), (Hide, Write));
    assert!(policy.ignored("${workspace}/o/*").contains("evil"));
}

#[test]
fn case_b10_every_bound_is_an_error_that_names_entry_and_bounds() {
    let mut deep = host();
    deep.file(&format!("/home/u/ws{}/f", "/d".repeat(40)), "");
    let result = hide("${workspace}/**/x").on(&deep);
    let text = result.as_ref().unwrap_err().to_string();
    assert!(text.contains("${workspace}/**/x") && text.contains("10000") && text.contains("32"), "{text}");
    assert_eq!(bound(result), Bound::Depth);
    let mut late = host();
    late.late = true;
    assert_eq!(bound(hide("${workspace}/*").on(&late)), Bound::Time);
    let mut many = host();
    for index in 0..=MATCHES {
        many.file(&format!("/home/u/ws/d/{index}.env"), "");
    }
    assert_eq!(bound(hide("${workspace}/d/*.env").on(&many)), Bound::Matches);
}

#[test]
fn a_malformed_pattern_is_an_error_and_an_unlistable_directory_is_listed() {
    let mut fake = host();
    fake.directory("/home/u/ws/d").locked("/home/u/ws/locked");
    for pattern in ["${workspace}/a**", "${workspace}/[", "${workspace}/*/../x"] {
        assert!(matches!(
            hide(pattern).on(&fake),
            Err(ResolveError::Entry { fault: EntryFault::Pattern(_), .. })
        ));
    }
    assert!(
        hide("${workspace}/**/x")
            .on(&fake)
            .unwrap()
            .ignored("${workspace}/**/x")
            .contains("cannot be listed")
    );
}

#[test]
fn options_are_literal() {
    let mut fake = host();
    fake.file("/home/u/ws/a.env", "");
    let error = workspace_write().command_line("filesystem.hide = ['*.env']").on(&fake).unwrap_err();
    assert!(matches!(error, ResolveError::Entry { fault: EntryFault::Missing, .. }));
}
