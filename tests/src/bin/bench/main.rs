//! What a confined launch costs, against a bare spawn and against bubblewrap alone. See `docs/bench.md`.
//!
//! Not a timed test: the figures never fail it, only something that does not run does.

mod asking;
mod fault;
mod growth;
mod heap;
mod judging;
mod library;
mod options;
mod peak;
mod place;
mod report;
mod rounds;
mod row;
mod statistics;

use std::process::ExitCode;

fn main() -> ExitCode {
    let mut words = std::env::args_os().skip(1).peekable();
    let outcome = if words.next_if(|word| word == asking::WORD).is_some() {
        asking::many(words)
    } else {
        options::Options::parse(words)
            .and_then(|options| report::Report::measure(&options).map(|report| report.print(options.format)))
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(fault) => {
            eprintln!("bench: cannot {fault}");
            ExitCode::FAILURE
        }
    }
}
