//! Git repositories for a scene.

use std::path::Path;

use crate::{Finished, Scene};

impl Scene {
    /// Makes a repository at `path` with one commit of `a.txt`.
    ///
    /// # Panics
    /// When git fails.
    pub fn repository(&self, path: &Path) {
        self.directory(path);
        self.git(path, &["init", "-q"]);
        self.write(&path.join("a.txt"), "a\n");
        self.git(path, &["add", "a.txt"]);
        self.git(path, &["commit", "-q", "-m", "first"]);
    }

    /// Runs git on the host, as the user, in `directory`.
    ///
    /// # Panics
    /// When git fails.
    #[track_caller]
    pub fn git(&self, directory: &Path, words: &[&str]) -> Finished {
        let mut command = self.command("git");
        command.arg("-C").arg(directory).args(words);
        Finished::of(command, &[]).exits(0)
    }
}
