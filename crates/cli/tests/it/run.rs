//! Runs the binary and keeps what it said.

use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::Value;

/// What a run of the binary said.
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Ran {
    /// Standard output as JSON: one document, or the last of several lines.
    pub(crate) fn json(&self) -> serde_json::Value {
        let last = self.out.lines().last().unwrap_or_default();
        let whole = serde_json::from_str(&self.out);
        whole
            .or_else(|_| serde_json::from_str(last))
            .unwrap_or_else(|error| panic!("{error}: {}", self.out))
    }

    /// The events that were told in lines before the last one.
    pub(crate) fn events(&self) -> Vec<serde_json::Value> {
        let lines: Vec<&str> = self.out.lines().collect();
        let (_, events) = lines.split_last().expect("a last line");
        let read = |line: &&str| serde_json::from_str(line).expect("a line is JSON");
        events.iter().map(read).collect()
    }
}

/// Runs `turnstone` in a folder; arguments are split at spaces.
pub(crate) fn turnstone(folder: &Path, arguments: &str) -> Ran {
    let output = Command::new(env!("CARGO_BIN_EXE_turnstone"))
        .args(arguments.split_whitespace())
        .current_dir(folder)
        .output()
        .unwrap();
    let out = String::from_utf8(output.stdout).unwrap();
    keep_documents(&out);
    Ran {
        code: output.status.code().unwrap(),
        out,
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

/// Runs it and insists that it worked.
pub(crate) fn done(folder: &Path, arguments: &str) -> Ran {
    let ran = turnstone(folder, arguments);
    assert_eq!(ran.code, 0, "turnstone {arguments}\n{}{}", ran.out, ran.err);
    ran
}

/// Keeps the documents that were printed in the folder that `KEEP_DOCUMENTS` names: of these, schemas are made.
fn keep_documents(out: &str) {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let Ok(folder) = std::env::var("KEEP_DOCUMENTS") else {
        return;
    };
    let whole = serde_json::from_str::<Value>(out).into_iter();
    let lines = out.lines().flat_map(serde_json::from_str::<Value>);
    for document in whole.chain(lines) {
        if let Some(schema) = document["schema"].as_str() {
            let name = schema.split('/').next().unwrap();
            let number = NUMBER.fetch_add(1, Ordering::Relaxed);
            let file = Path::new(&folder).join(format!("{name}--{number}.json"));
            std::fs::write(file, document.to_string()).unwrap();
        }
    }
}
