//! Runs the published test vectors of a data folder and says what passed, what is expected to
//! differ and why, and what was left out.
//!
//! `cargo run --release -p turnstone-fetch --example conformance -- PATH`
//!
//! Exit code 0 when nothing unexpected happened, 1 otherwise, 2 when a file cannot be read. A
//! vector that is listed as an expected difference and passes is unexpected, too: the lists under
//! `expected/` stay true that way.
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a command line program"
)]

mod html;
mod lists;
mod pages;
mod report;
mod robots;
mod url_standard;
mod urls;

use std::path::PathBuf;
use std::process::ExitCode;

use report::{Error, Report};

fn main() -> ExitCode {
    let Some(folder) = std::env::args_os().nth(1).map(PathBuf::from) else {
        eprintln!("usage: conformance PATH (a folder with robots/, url/, html/, …)");
        return ExitCode::from(2);
    };
    let mut report = Report::new(folder);
    match run(&mut report) {
        Ok(()) => {}
        Err(error) => {
            eprintln!("conformance: {error}");
            return ExitCode::from(2);
        }
    }
    report.left_out(
        "ssrf/addresses.json",
        "the address guard looks at sockets; its own tests read this file",
    );
    report.left_out("warc/", "WARC is written and read elsewhere");
    report.left_out(
        "html/tokenizer/xmlViolation.test",
        "an output mode for XML tools that we do not have",
    );
    if report.finish() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

fn run(report: &mut Report) -> Result<(), Error> {
    robots::run(report)?;
    url_standard::run(report)?;
    urls::run(report)?;
    html::run(report)?;
    lists::run(report)?;
    pages::run(report)
}
