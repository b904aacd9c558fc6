//! Counting what passed, and saying what did not.
//!
//! Every difference that is expected is listed by itself: in `expected/differences.txt` by suite
//! and number, or by name where a suite has names. No rule decides which ones they are, so that
//! none can hide a new one.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::path::PathBuf;

use serde_json::Value;

/// Why a file could not be used.
#[derive(Debug)]
pub(crate) struct Error {
    file: PathBuf,
    why: String,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.file.display(), self.why)
    }
}

/// What one suite came to.
#[derive(Default)]
struct Suite {
    /// Vectors so far; the number of the last.
    count: usize,
    passed: usize,
    /// Expected differences by reason.
    expected: BTreeMap<String, usize>,
    unexpected: Vec<String>,
    note: String,
}

/// The whole run.
pub(crate) struct Report {
    folder: PathBuf,
    /// Reasons by suite and number.
    differences: HashMap<(&'static str, usize), &'static str>,
    suites: Vec<(String, Suite)>,
    left_out: Vec<(String, String)>,
}

impl Report {
    pub(crate) fn new(folder: PathBuf) -> Report {
        Report {
            folder,
            differences: differences(include_str!("expected/differences.txt")),
            suites: Vec::new(),
            left_out: Vec::new(),
        }
    }

    /// The bytes of a file of the data folder.
    pub(crate) fn bytes(&self, file: &str) -> Result<Vec<u8>, Error> {
        let path = self.folder.join(file);
        std::fs::read(&path).map_err(|e| Error {
            file: path,
            why: e.to_string(),
        })
    }

    pub(crate) fn text(&self, file: &str) -> Result<String, Error> {
        let bytes = self.bytes(file)?;
        String::from_utf8(bytes).map_err(|e| Error {
            file: self.folder.join(file),
            why: e.to_string(),
        })
    }

    pub(crate) fn json(&self, file: &str) -> Result<Value, Error> {
        let text = mend_surrogates(&self.text(file)?);
        serde_json::from_str(&text).map_err(|e| Error {
            file: self.folder.join(file),
            why: e.to_string(),
        })
    }

    /// The names of the files in a sub-folder, sorted.
    pub(crate) fn files(&self, folder: &str) -> Result<Vec<String>, Error> {
        let path = self.folder.join(folder);
        let fail = |e: std::io::Error| Error {
            file: path.clone(),
            why: e.to_string(),
        };
        let mut names = Vec::new();
        for entry in std::fs::read_dir(&path).map_err(fail)? {
            names.push(
                entry
                    .map_err(fail)?
                    .file_name()
                    .to_string_lossy()
                    .into_owned(),
            );
        }
        names.sort();
        Ok(names)
    }

    /// Begins a suite; the following calls count for it.
    pub(crate) fn suite(&mut self, name: &str) {
        self.suites.push((name.to_owned(), Suite::default()));
    }

    fn current(&mut self) -> &mut Suite {
        &mut self.suites.last_mut().expect("a suite was begun").1
    }

    /// Counts one vector: `same` as expected or not.
    pub(crate) fn vector(&mut self, same: bool, show: impl FnOnce() -> String) {
        let (name, suite) = self.suites.last().expect("a suite was begun");
        let number = suite.count + 1;
        let known = self.differences.get(&(name.as_str(), number)).copied();
        self.named_vector(same, known, || format!("#{number} {}", show()));
    }

    /// Counts one vector of a suite with names, and the reason if it is listed to differ.
    pub(crate) fn named_vector(
        &mut self,
        same: bool,
        known: Option<&str>,
        show: impl FnOnce() -> String,
    ) {
        let suite = self.current();
        suite.count += 1;
        match (same, known) {
            (true, None) => suite.passed += 1,
            (false, Some(reason)) => *suite.expected.entry(reason.to_owned()).or_insert(0) += 1,
            (false, None) => suite.unexpected.push(show()),
            (true, Some(reason)) => suite
                .unexpected
                .push(format!("passes but is listed as \"{reason}\": {}", show())),
        }
    }

    /// A figure worth printing beside the counts.
    pub(crate) fn note(&mut self, note: String) {
        self.current().note = note;
    }

    pub(crate) fn left_out(&mut self, what: &str, why: &str) {
        self.left_out.push((what.to_owned(), why.to_owned()));
    }

    /// Prints everything; whether nothing unexpected happened.
    pub(crate) fn finish(&self) -> bool {
        let (mut passed, mut expected, mut unexpected) = (0, 0, 0);
        for (name, suite) in &self.suites {
            let differ: usize = suite.expected.values().sum();
            println!(
                "{name:<44} {:>6} pass {differ:>4} expected {:>3} unexpected  {}",
                suite.passed,
                suite.unexpected.len(),
                suite.note
            );
            for (reason, count) in &suite.expected {
                println!("      {count:>4} {reason}");
            }
            for line in &suite.unexpected {
                println!("      !! {line}");
            }
            passed += suite.passed;
            expected += differ;
            unexpected += suite.unexpected.len();
        }
        println!("\nleft out:");
        for (what, why) in &self.left_out {
            println!("      {what}: {why}");
        }
        println!("\n{passed} pass, {expected} differ as expected, {unexpected} unexpected");
        unexpected == 0
    }
}

/// The list of expected differences: `[suite]`, `= reason`, and numbers such as `3 7-9`.
fn differences(list: &'static str) -> HashMap<(&'static str, usize), &'static str> {
    let (mut suite, mut reason) = ("", "");
    let mut out = HashMap::new();
    for line in list.lines().filter(|line| !line.starts_with('#')) {
        if let Some(name) = line.strip_prefix('[') {
            suite = name.trim_end_matches(']');
        } else if let Some(text) = line.strip_prefix("= ") {
            reason = text;
        } else {
            for word in line.split(' ').filter(|word| !word.is_empty()) {
                let (first, last) = word.split_once('-').unwrap_or((word, word));
                let number = |text: &str| text.parse::<usize>().expect("a number of a vector");
                out.extend((number(first)..=number(last)).map(|at| ((suite, at), reason)));
            }
        }
    }
    out
}

/// A string field of a JSON object, or nothing.
pub(crate) fn field<'a>(value: &'a Value, name: &str) -> &'a str {
    value.get(name).and_then(Value::as_str).unwrap_or("")
}

/// The elements of a JSON array.
pub(crate) fn items(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// Bytes from hex digits.
pub(crate) fn from_hex(hex: &str) -> Vec<u8> {
    hex.as_bytes()
        .chunks(2)
        .filter_map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok())
        .collect()
}

/// JSON text with lone surrogates (`\uD800`) replaced by U+FFFD, as browsers do on the way into a
/// URL. The standard's vectors hold some on purpose; no Rust string can.
fn mend_surrogates(text: &str) -> String {
    let unit = |at: usize| {
        let digits = text.get(at..at + 6)?.strip_prefix("\\u")?;
        u32::from_str_radix(digits, 16).ok()
    };
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    while let Some(next) = text[at..].find('\\') {
        out.push_str(&text[at..at + next]);
        at += next;
        let (kept, taken) = match (unit(at), unit(at + 6)) {
            (Some(0xD800..=0xDBFF), Some(0xDC00..=0xDFFF)) => (&text[at..at + 12], 12),
            (Some(0xD800..=0xDFFF), _) => ("\u{FFFD}", 6),
            // The escape and the character it escapes, so that `\\\\u` is not taken for `\\u`.
            _ => {
                let end = text[at + 1..]
                    .chars()
                    .next()
                    .map_or(at + 1, |c| at + 1 + c.len_utf8());
                (&text[at..end], end - at)
            }
        };
        out.push_str(kept);
        at += taken;
    }
    out.push_str(&text[at..]);
    out
}
