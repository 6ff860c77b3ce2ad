//! What is asked about sessions and presets.

use clap::Subcommand;

/// `confine audit`.
#[derive(Debug, Subcommand)]
pub(crate) enum AuditCommand {
    /// Print what happened in a session: one line for each event, oldest first.
    Show {
        /// Which; without it, the one that `CONFINE_SESSION` names.
        session: Option<String>,
        /// Answer as JSON.
        #[arg(long)]
        json: bool,
    },
    /// Say whether logs are whole: nothing edited, left out, put in or cut off; exit 1 where one is not.
    ///
    /// The chain and its head are no signature: whoever can write the files as this user can make up another history.
    Verify {
        /// Which; without one, every session there is.
        sessions: Vec<String>,
        /// Answer as JSON.
        #[arg(long)]
        json: bool,
    },
}

/// `confine preset`.
#[derive(Debug, Subcommand)]
pub(crate) enum PresetCommand {
    /// The presets that there are, and which one the session has.
    List {
        /// Of which session; without it, the one that `CONFINE_SESSION` names.
        #[arg(long, value_name = "NAME")]
        session: Option<String>,
        /// Answer as JSON.
        #[arg(long)]
        json: bool,
    },
    /// Choose one for a session: its mode, and whether anybody is asked. Every later call of the session follows it.
    Use {
        /// As `list` shows it. Further ones are written in presets.toml, beside the user's policy.toml.
        name: String,
        /// For which session; without it, the one that `CONFINE_SESSION` names.
        #[arg(long, value_name = "NAME")]
        session: Option<String>,
        /// Answer as JSON.
        #[arg(long)]
        json: bool,
    },
}
