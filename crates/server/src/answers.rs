//! What only the command line can tell of a crawl: why a page waits, what differs between its copies, the
//! report. It knows policies and HTTP; a server does not.
//!
//! These answers read files and may fold a journal: they are asked for by name, one at a time, never for a
//! page that merely shows a crawl.

use std::path::Path;

use serde_json::Value;

/// The budgets of a crawl; nothing for no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// Pages stored.
    pub pages: Option<u64>,
    /// Requests sent.
    pub requests: Option<u64>,
    /// Bytes of bodies received.
    pub bytes: Option<u64>,
    /// Seconds in one process.
    pub seconds: Option<u64>,
}

/// An answer for programs and for people.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Told {
    /// For programs: what the command prints with `--json`.
    pub json: Value,
    /// For people: what the command prints without.
    pub text: String,
}

/// What differs between two copies of a page.
#[derive(Clone, Debug, Default)]
pub struct Compared {
    /// For programs.
    pub json: Value,
    /// When the two were current, as moments.
    pub moments: [String; 2],
    /// Their titles.
    pub titles: [String; 2],
    /// Old beside new.
    pub hunks: Vec<Vec<turnstone_events::DiffLine>>,
    /// What was not compared.
    pub notes: Vec<String>,
}

/// Who answers. All methods may take seconds, and block.
pub trait Answers: Send + Sync {
    /// The budgets that the directory's configuration has.
    fn limits(&self, directory: &Path) -> Limits;

    /// Why a page is stored, waits or was refused.
    fn why(&self, directory: &Path, url: &str) -> Result<Told, String>;

    /// What differs between the copy of a page at a moment (the last one without) and the one before it.
    fn diff(&self, directory: &Path, url: &str, at_ms: Option<u64>) -> Result<Compared, String>;

    /// The report, as a page.
    fn report(&self, directory: &Path) -> Result<String, String>;
}
