//! What follows from the one definition of the arguments and of the policy file: completions, man page, schema.

use std::io;

use clap::CommandFactory as _;
use clap_complete::Shell;
use clap_mangen::Man;
use confine_backends::foreign::protocol::schema as schema_of_backends;
use confine_core::LaunchStage;
use confine_core::policy::file::schema as schema_of_policies;

use crate::answer;
use crate::arguments::{Arguments, EXIT_CODES};
use crate::fault::{self, Answer};
use crate::version::VERSION;

/// Prints the completions of `shell`.
pub(crate) fn completions(shell: Shell) -> Answer {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Arguments::command(), "confine", &mut script);
    answer::bytes(&script)?;
    Ok(0)
}

/// Prints the man page.
pub(crate) fn man() -> Answer {
    answer::bytes(
        &page().map_err(|error| fault::system(LaunchStage::Usage, "render the man page", &error))?,
    )?;
    Ok(0)
}

/// Prints the JSON schema of policy files.
pub(crate) fn schema() -> Answer {
    answer::json(&schema_of_policies())?;
    Ok(0)
}

/// Prints the JSON schema of what third-party backends are asked and answer.
pub(crate) fn protocol() -> Answer {
    answer::json(&schema_of_backends())?;
    Ok(0)
}

/// One page for all commands: each has its own usage and options section.
fn page() -> io::Result<Vec<u8>> {
    let mut command = Arguments::command().disable_help_flag(true);
    command.build();
    let mut page = Vec::new();
    let man = Man::new(command.clone()).source(format!("confine {VERSION}")).manual("User Commands");
    man.render_title(&mut page)?;
    man.render_name_section(&mut page)?;
    page.extend_from_slice(b".SH SYNOPSIS\n");
    page.extend_from_slice(usage(&command).as_bytes());
    man.render_description_section(&mut page)?;
    man.render_options_section(&mut page)?;
    for subcommand in command.get_subcommands() {
        section(subcommand, &mut page)?;
        for nested in subcommand.get_subcommands() {
            section(nested, &mut page)?;
        }
    }
    page.extend_from_slice(b".SH EXIT STATUS\n.nf\n");
    page.extend_from_slice(EXIT_CODES.as_bytes());
    page.extend_from_slice(b"\n.fi\n");
    Ok(page)
}

/// The renderer's own headings become sub-headings of the command's section.
fn section(command: &clap::Command, page: &mut Vec<u8>) -> io::Result<()> {
    let name = command.get_bin_name().unwrap_or_else(|| command.get_name()).to_uppercase();
    let man = Man::new(command.clone());
    let mut text = Vec::new();
    man.render_description_section(&mut text)?;
    text.extend_from_slice(usage(command).as_bytes());
    man.render_options_section(&mut text)?;
    let text = String::from_utf8_lossy(&text).replace(".SH ", ".SS ").replace(".SS DESCRIPTION\n", "");
    page.extend_from_slice(format!(".SH \"{name}\"\n{text}").as_bytes());
    Ok(())
}

/// The usage as the help has it: the renderer's own leaves `--` out.
fn usage(command: &clap::Command) -> String {
    let usage = command.clone().render_usage().to_string();
    let lines = usage.trim_start_matches("Usage: ").lines().map(|line| line.trim().replace('-', "\\-"));
    format!(".PP\n.nf\n{}\n.fi\n", lines.collect::<Vec<_>>().join("\n"))
}
