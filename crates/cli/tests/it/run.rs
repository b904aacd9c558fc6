//! Runs the binary and keeps what it said.

use std::path::Path;
use std::process::Command;

/// What a run of the binary said.
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Ran {
    /// Standard output as JSON.
    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {}", self.out))
    }
}

/// Runs `turnstone` in a folder; arguments are split at spaces.
pub(crate) fn turnstone(folder: &Path, arguments: &str) -> Ran {
    let output = Command::new(env!("CARGO_BIN_EXE_turnstone"))
        .args(arguments.split_whitespace())
        .current_dir(folder)
        .output()
        .unwrap();
    Ran {
        code: output.status.code().unwrap(),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

/// Runs it and insists that it worked.
pub(crate) fn done(folder: &Path, arguments: &str) -> Ran {
    let ran = turnstone(folder, arguments);
    assert_eq!(ran.code, 0, "turnstone {arguments}\n{}{}", ran.out, ran.err);
    ran
}
