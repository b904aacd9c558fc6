//! What the binary does, as a library: it reads arguments, calls the crates, prints, and says how to end.
//!
//! The file tree is the command tree: `turnstone backtest coverage` is
//! `commands/backtest/coverage.rs`. Nothing here decides anything about crawling.
//!
//! It is a library so that two programs can run the same commands: the binary, which is one call of
//! [`main`], and the Python package, which calls one with [`Call`].

mod caller;
mod commands;
mod digest;
mod exit;
mod figure;
mod files;
mod lines;
mod log;
mod moment;
mod output;
mod progress;
mod report;
pub mod table;
mod units;

use std::ffi::OsString;
use std::io::Write as _;

use clap::{CommandFactory as _, FromArgMatches as _, Parser};

pub use crate::caller::{Call, Ended, Watch, stop, stoppable};

use crate::commands::Command;
use crate::exit::Exit;
use crate::output::Output;

/// Turnstone decides which page to ask for next, asks for it politely, and learns from the answer.
#[derive(Debug, Parser)]
#[command(
    name = "turnstone",
    version,
    propagate_version = true,
    max_term_width = 100
)]
#[command(
    after_help = "Exit codes: 0 done, 1 failed, 2 wrong usage, 3 stopped by a limit before \
                        its goal."
)]
struct Arguments {
    /// Print JSON instead of tables: one document, or a line for each event where there are several
    #[arg(long, global = true)]
    json: bool,

    #[command(subcommand)]
    command: Command,
}

/// Reads arguments, the program's name first; says also what the document that `--json` prints is called: the
/// words of the command, joined.
fn read(arguments: &[OsString]) -> Result<(Arguments, String), clap::Error> {
    let matches = Arguments::command().try_get_matches_from(arguments)?;
    let read = Arguments::from_arg_matches(&matches)
        .map_err(|error| error.format(&mut Arguments::command()))?;
    let mut names = Vec::new();
    let mut at = &matches;
    while let Some((name, below)) = at.subcommand() {
        names.push(name);
        at = below;
    }
    Ok((read, names.join("-")))
}

/// Runs the command that a shell asked for, the program's name first; gives the exit code.
pub fn main(arguments: Vec<OsString>) -> u8 {
    caller::given(&arguments);
    let exit = match read(&arguments) {
        Ok((parsed, name)) => {
            let output = Output::new(parsed.json, &name);
            match parsed.command.run(&output) {
                Ok(exit) => exit,
                Err(error) => output.fault(&error),
            }
        }
        Err(error) if error.use_stderr() && arguments.iter().any(|one| one == "--json") => {
            let why = caller::one_line(&error.render().to_string());
            Output::new(true, "").misread(&why)
        }
        Err(error) => {
            // A closed pipe is no reason to complain about help that nobody reads.
            let _ = error.print();
            if error.use_stderr() {
                Exit::Usage
            } else {
                Exit::Done
            }
        }
    };
    // Where Python runs this, nobody flushes standard output at the end of the process.
    let _ = std::io::stdout().flush();
    exit as u8
}
