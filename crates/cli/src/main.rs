//! `turnstone`: the one binary. All it does is in the library beside it.

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(turnstone::main(std::env::args_os().collect()))
}
