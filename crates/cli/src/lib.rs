//! What the binary does, as a library: it reads arguments, calls the crates, prints, and says how to end.
//!
//! The file tree is the command tree: `turnstone backtest coverage` is
//! `commands/backtest/coverage.rs`. Nothing here decides anything about crawling.
//!
//! It is a library so that two programs can run the same commands: the binary, which is one call of
//! [`main`], and the Python package, which calls one with [`Call`].

mod caller;
mod commands;
mod exit;
mod files;
mod lines;
mod log;
mod moment;
mod output;
mod progress;
mod seconds;
mod share;

use std::ffi::OsString;
use std::io::Write as _;

use clap::Parser;

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

/// Runs the command that a shell asked for, the program's name first; gives the exit code.
pub fn main(arguments: Vec<OsString>) -> u8 {
    caller::given(&arguments);
    let parsed = match Arguments::try_parse_from(&arguments) {
        Ok(parsed) => parsed,
        Err(error) => {
            // A closed pipe is no reason to complain about help that nobody reads.
            let _ = error.print();
            return if error.use_stderr() {
                Exit::Usage as u8
            } else {
                Exit::Done as u8
            };
        }
    };
    let output = Output::new(parsed.json);
    let exit = match parsed.command.run(&output) {
        Ok(exit) => exit,
        Err(error) => output.fault(&error),
    };
    // Where Python runs this, nobody flushes standard output at the end of the process.
    let _ = std::io::stdout().flush();
    exit as u8
}
