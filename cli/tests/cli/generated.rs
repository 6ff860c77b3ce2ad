//! Generated files kept in the repository are what the code says.

use crate::call::{answer, matches_file, text};

/// Words, and the file that keeps their answer.
const FILES: &[(&[&str], &str)] = &[
    (&["man"], "../docs/confine.1"),
    (&["policy", "schema"], "../docs/policy.schema.json"),
    (&["serve", "--schema"], "../docs/serve.schema.json"),
    (&["backend", "schema"], "../docs/backend-protocol.schema.json"),
    (&["completions", "bash"], "../docs/completions/confine.bash"),
    (&["completions", "zsh"], "../docs/completions/_confine"),
    (&["completions", "fish"], "../docs/completions/confine.fish"),
    (&["--help"], "tests/golden/help.txt"),
    (&["run", "--help"], "tests/golden/help-run.txt"),
    (&["policy", "show", "--help"], "tests/golden/help-policy-show.txt"),
    (&["--version", "--json"], "tests/golden/version.json"),
];

#[test]
fn every_generated_file_is_fresh() {
    for (words, file) in FILES {
        let output = answer(words);
        assert_eq!(output.status.code(), Some(0), "{words:?}");
        assert_eq!(text(&output.stderr), "", "{words:?}");
        matches_file(file, &output.stdout);
    }
}

#[test]
fn the_schema_describes_every_key_of_a_policy() {
    let schema: serde_json::Value = serde_json::from_slice(&answer(&["policy", "schema"]).stdout).unwrap();
    let keys: Vec<&String> = schema["properties"].as_object().unwrap().keys().collect();
    for key in ["version", "mode", "extends", "filesystem", "network", "environment", "limits", "enforcement"]
    {
        assert!(keys.iter().any(|one| *one == key), "{key}: {keys:?}");
    }
    assert_eq!(schema["additionalProperties"], false);
}

#[test]
fn the_man_page_is_formatted_without_a_warning() {
    let page = answer(&["man"]).stdout;
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), page).unwrap();
    let Ok(output) = std::process::Command::new("groff")
        .args(["-man", "-Tutf8", "-ww", "-z", "-K", "utf8"])
        .arg(file.path())
        .output()
    else {
        return eprintln!("SKIP the_man_page_is_formatted_without_a_warning: no groff here");
    };
    assert!(output.status.success());
    assert_eq!(text(&output.stderr), "");
}
