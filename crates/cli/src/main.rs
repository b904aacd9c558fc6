//! `turnstone`: the one binary. It reads arguments, calls the crates, prints, and exits.
//!
//! The file tree is the command tree: `turnstone backtest coverage` is
//! `commands/backtest/coverage.rs`. Nothing here decides anything about crawling.

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

use std::process::ExitCode;

use clap::Parser;

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

fn main() -> ExitCode {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => {
            // A closed pipe is no reason to complain about help that nobody reads.
            let _ = error.print();
            return if error.use_stderr() {
                Exit::Usage.into()
            } else {
                Exit::Done.into()
            };
        }
    };
    let output = Output::new(arguments.json);
    match arguments.command.run(&output) {
        Ok(exit) => exit.into(),
        Err(error) => output.fault(&error).into(),
    }
}
