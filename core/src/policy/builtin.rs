//! The built-in sets: one table of data. `docs/policy.md` lists exactly these, and a test compares.
//!
//! Only what exists becomes an entry; a missing name at the top of a workspace is watched.

use std::path::PathBuf;

use crate::AbsPath;
use crate::policy::View;

/// Hidden: credentials, browser profiles, shell histories, and confine's own state and cache. `~/` is the home
/// directory, `$XDG_STATE_HOME` and `$XDG_CACHE_HOME` have the defaults of the XDG base directory specification.
pub const HIDE: &[&str] = &[
    "~/.ssh",
    "~/.aws",
    "~/.azure",
    "~/.config/gcloud",
    "~/.config/gh",
    "~/.docker/config.json",
    "~/.gnupg",
    "~/.kube",
    "~/.netrc",
    "~/.npmrc",
    "~/.pypirc",
    "~/.git-credentials",
    "~/.config/git/credentials",
    "~/.cargo/credentials.toml",
    "~/.password-store",
    "~/.local/share/keyrings",
    "~/.mozilla",
    "~/.config/google-chrome",
    "~/.config/chromium",
    "~/.bash_history",
    "~/.zsh_history",
    "~/.sh_history",
    "~/.local/share/fish/fish_history",
    "/etc/shadow",
    "/etc/gshadow",
    "/etc/sudoers.d",
    "$XDG_STATE_HOME/confine",
    "$XDG_CACHE_HOME/confine",
];

/// Protected at the top of each workspace root and of each repository found in it: files that programs on the host run,
/// or take orders from.
pub const PROTECT: &[&str] = &[
    ".envrc",
    ".bashrc",
    ".bash_profile",
    ".zshrc",
    ".zprofile",
    ".profile",
    ".gitconfig",
    ".gitmodules",
    ".ripgreprc",
    ".mcp.json",
    ".vscode",
    ".idea",
    ".cursor",
    ".claude",
    ".codex",
    ".agents",
    ".confine",
];

/// Protected in the home directory, where it is or lies in a workspace root: what the host runs at a login or when a session
/// begins. Incomplete by nature.
pub const HOME: &[&str] = &[
    ".bash_login",
    ".bash_logout",
    ".bash_aliases",
    ".zshenv",
    ".zlogin",
    ".zlogout",
    ".xprofile",
    ".xinitrc",
    ".xsession",
    ".xsessionrc",
    ".pam_environment",
    ".config/autostart",
    ".config/environment.d",
    ".config/fish",
    ".config/git",
    ".config/plasma-workspace",
    ".config/systemd/user",
    ".local/share/dbus-1/services",
    ".local/share/systemd/user",
];

/// Protected inside each git directory, `*` for one name: what runs code on the host's next git command.
pub const GIT: &[&str] = &[
    "hooks",
    "config",
    "config.worktree",
    "commondir",
    "info/attributes",
    "modules/*/config",
    "modules/*/hooks",
    "worktrees/*/gitdir",
    "worktrees/*/commondir",
    "worktrees/*/config.worktree",
];

/// Variables that name a base directory, and what it is below the home directory without them.
const VARIABLES: &[(&str, &str)] = &[("XDG_STATE_HOME", ".local/state"), ("XDG_CACHE_HOME", ".cache")];

/// Where an entry of [`HIDE`] is for the caller; `None` without a home directory.
pub(super) fn hidden_path(entry: &str, view: &dyn View) -> Option<PathBuf> {
    if let Some(below) = entry.strip_prefix("~/") {
        return Some(view.home()?.as_path().join(below));
    }
    let Some((name, below)) = entry.strip_prefix('$').and_then(|entry| entry.split_once('/')) else {
        return Some(entry.into());
    };
    let (_, default) = VARIABLES.iter().find(|(known, _)| *known == name)?;
    let base = view.variable(name).and_then(|value| AbsPath::new(value).ok());
    let base = match base {
        Some(base) => base.as_path().to_owned(),
        None => view.home()?.as_path().join(default),
    };
    Some(base.join(below))
}

#[cfg(test)]
mod tests {
    use super::*;

    const DOCUMENT: &str = include_str!("../../../docs/policy.md");

    fn listed(title: &str) -> Vec<&'static str> {
        let section = DOCUMENT.split_once(&format!("\n### {title}\n")).expect(title).1;
        let lines = section.lines().take_while(|line| !line.starts_with('#'));
        lines.filter_map(|line| line.strip_prefix("- `")?.strip_suffix('`')).collect()
    }

    #[test]
    fn the_document_lists_exactly_the_sets() {
        assert_eq!(listed("Hidden"), HIDE);
        assert_eq!(listed("Protected at the top of each workspace root and repository"), PROTECT);
        assert_eq!(listed("Protected in the home directory, where it lies in a workspace root"), HOME);
        assert_eq!(listed("Protected in each git directory"), GIT);
    }

    #[cfg(feature = "schema")]
    #[test]
    fn the_document_names_every_key_of_the_schema() {
        let schema = crate::policy::file::schema();
        let tables = schema["$defs"].as_object().unwrap();
        for (table, reference) in schema["properties"].as_object().unwrap() {
            let definition = reference["$ref"].as_str().and_then(|name| tables.get(name.rsplit('/').next()?));
            match definition.and_then(|definition| definition["properties"].as_object()) {
                Some(keys) => {
                    for key in keys.keys() {
                        assert!(DOCUMENT.contains(&format!("`{table}.{key}`")), "{table}.{key}");
                    }
                }
                None => assert!(DOCUMENT.contains(&format!("| `{table}` |")), "{table}"),
            }
        }
    }
}
