//! Reads a site history: JSON lines in a zstd frame (`docs/formats.md`).
//!
//! One line at a time, each checked against what came before: ids dense, references known, dates
//! ascending. A history that breaks a rule is refused with file and line; nothing is guessed.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read as _};
use std::path::{Path, PathBuf};

use serde::Deserialize;
use turnstone_frontier::PageId;

use super::{Date, History, Page, Snapshot, Version, VersionId};

/// The longest line that is read: a version with many thousand links fits, a bomb does not.
const LINE_BYTES_MAX: u64 = 64 << 20;

/// The largest zstd window that is accepted, as a power of two.
const WINDOW_LOG_MAX: u32 = 27;

/// Why a history could not be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HistoryError {
    /// The file cannot be opened or decompressed.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A line does not fit the format.
    #[error("{}:{line}: {what}", path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: u64,
        /// What is wrong.
        what: String,
    },
}

#[derive(Deserialize)]
struct HeaderLine {
    site: String,
    origin: String,
    pages: u32,
    snapshots: Vec<String>,
}

#[derive(Deserialize)]
struct PageLine {
    page: u32,
    url: String,
    #[serde(default)]
    kind: String,
}

#[derive(Deserialize)]
struct HostLine {
    host: u32,
    name: String,
}

#[derive(Deserialize)]
struct VersionLine {
    version: u32,
    raw: String,
    text: String,
    #[serde(default)]
    bytes: u32,
    #[serde(default)]
    words: u32,
    #[serde(default)]
    images: u32,
    #[serde(default)]
    offsite: u32,
    #[serde(default)]
    hosts: Vec<u32>,
    #[serde(default)]
    terms: Vec<(String, u32)>,
    #[serde(default)]
    broken: u32,
    links: Vec<u32>,
}

#[derive(Deserialize)]
struct EventLine {
    snapshot: u32,
    set: Vec<(u32, u32)>,
    gone: Vec<u32>,
}

/// Reads a history without its words.
pub fn read(path: &Path) -> Result<History, HistoryError> {
    Reader {
        terms: None,
        ..Reader::default()
    }
    .run(path)
}

/// Reads a history with the frequent words of every version.
pub fn read_with_terms(path: &Path) -> Result<History, HistoryError> {
    Reader {
        terms: Some(HashMap::new()),
        ..Reader::default()
    }
    .run(path)
}

/// Reads a history from memory, with its words; `name` is what errors call it.
pub fn read_bytes(name: &Path, packed: &[u8]) -> Result<History, HistoryError> {
    Reader {
        terms: Some(HashMap::new()),
        ..Reader::default()
    }
    .take_in(name, packed)
}

#[derive(Default)]
struct Reader {
    history: History,
    expected_pages: u32,
    /// Index of each word, when words are kept.
    terms: Option<HashMap<String, u32>>,
}

impl Reader {
    fn run(self, path: &Path) -> Result<History, HistoryError> {
        let file = File::open(path).map_err(|source| HistoryError::Io {
            path: path.to_owned(),
            source,
        })?;
        self.take_in(path, file)
    }

    fn take_in(mut self, path: &Path, packed: impl io::Read) -> Result<History, HistoryError> {
        let io_error = |source| HistoryError::Io {
            path: path.to_owned(),
            source,
        };
        let mut decoder = zstd::Decoder::new(packed).map_err(io_error)?;
        decoder.window_log_max(WINDOW_LOG_MAX).map_err(io_error)?;
        let mut input = BufReader::with_capacity(1 << 18, decoder);
        let mut text = Vec::new();
        let mut line = 0;
        loop {
            text.clear();
            let read = (&mut input)
                .take(LINE_BYTES_MAX)
                .read_until(b'\n', &mut text);
            if read.map_err(|source| cut_short(path, source))? == 0 {
                break;
            }
            line += 1;
            self.line(&text).map_err(|what| HistoryError::Line {
                path: path.to_owned(),
                line,
                what,
            })?;
        }
        let fault = |what: String| {
            Err(HistoryError::Line {
                path: path.to_owned(),
                line,
                what,
            })
        };
        let history = self.history;
        if line == 0 {
            return fault("empty: a history begins with a header line".to_owned());
        }
        if history.pages.len() as u32 != self.expected_pages {
            let (got, wanted) = (history.pages.len(), self.expected_pages);
            return fault(format!("{got} pages listed, but the header says {wanted}"));
        }
        if history.snapshots.len() != history.dates.len() {
            let (got, wanted) = (history.snapshots.len(), history.dates.len());
            return fault(format!(
                "{got} events, but the header lists {wanted} snapshots: cut short?"
            ));
        }
        Ok(history)
    }

    /// Takes in one line. The kinds are told apart by the first key.
    fn line(&mut self, text: &[u8]) -> Result<(), String> {
        if self.history.site.is_empty() {
            return self.header(parse(text)?);
        }
        match first_key(text) {
            Some(b"page") => self.page(parse(text)?),
            Some(b"host") => self.host(parse(text)?),
            Some(b"version") => self.version(parse(text)?),
            Some(b"snapshot") => self.event(parse(text)?),
            _ => Err("not a page, host, version or snapshot line".to_owned()),
        }
    }

    fn header(&mut self, header: HeaderLine) -> Result<(), String> {
        if header.site.is_empty() {
            return Err("the header names no site".to_owned());
        }
        for text in &header.snapshots {
            let date: Date = text
                .parse()
                .map_err(|error| format!("snapshot '{text}': {error}"))?;
            if self
                .history
                .dates
                .last()
                .is_some_and(|before| *before > date)
            {
                return Err(format!(
                    "snapshot {date} comes after a later one: dates must ascend"
                ));
            }
            self.history.dates.push(date);
        }
        if header.snapshots.is_empty() {
            return Err("the header lists no snapshot".to_owned());
        }
        self.history.site = header.site;
        self.history.origin = header.origin;
        self.expected_pages = header.pages;
        Ok(())
    }

    fn page(&mut self, line: PageLine) -> Result<(), String> {
        in_order("page", line.page, self.history.pages.len())?;
        let is_xml = line.kind == "xml";
        self.history.pages.push(Page {
            url: line.url,
            is_xml,
        });
        Ok(())
    }

    fn host(&mut self, line: HostLine) -> Result<(), String> {
        in_order("host", line.host, self.history.hosts.len())?;
        self.history.hosts.push(line.name);
        Ok(())
    }

    fn version(&mut self, line: VersionLine) -> Result<(), String> {
        in_order("version", line.version, self.history.versions.len())?;
        line.links
            .iter()
            .try_for_each(|link| self.known_page(*link))?;
        let host_count = self.history.hosts.len();
        if let Some(host) = line.hosts.iter().find(|host| **host as usize >= host_count) {
            return Err(format!("host {host} is not defined on an earlier line"));
        }
        let hash = |name: &str, text: &str| {
            u64::from_str_radix(text, 16)
                .map_err(|_| format!("{name} '{text}' is not a number of 16 hex digits"))
        };
        self.history.versions.push(Version {
            raw: hash("raw", &line.raw)?,
            text: hash("text", &line.text)?,
            bytes: line.bytes,
            words: line.words,
            images: line.images,
            offsite: line.offsite,
            broken: line.broken,
        });
        self.history.links.push(line.links.into_iter().map(PageId));
        self.history.offsite_hosts.push(line.hosts);
        if let Some(known) = &mut self.terms {
            let words = &mut self.history.words;
            self.history
                .terms
                .push(line.terms.into_iter().map(|(word, count)| {
                    let index = *known.entry(word).or_insert_with_key(|word| {
                        words.push(word.clone());
                        words.len() as u32 - 1
                    });
                    (index, count)
                }));
        }
        Ok(())
    }

    fn event(&mut self, line: EventLine) -> Result<(), String> {
        in_order("snapshot", line.snapshot, self.history.snapshots.len())?;
        if self.history.snapshots.len() >= self.history.dates.len() {
            return Err("more events than the header lists snapshots".to_owned());
        }
        let version_count = self.history.versions.len();
        for &(page, version) in &line.set {
            self.known_page(page)?;
            if version as usize >= version_count {
                return Err(format!(
                    "version {version} is not defined on an earlier line"
                ));
            }
        }
        line.gone
            .iter()
            .try_for_each(|page| self.known_page(*page))?;
        self.history.snapshots.push(Snapshot {
            set: line
                .set
                .into_iter()
                .map(|(p, v)| (PageId(p), VersionId(v)))
                .collect(),
            gone: line.gone.into_iter().map(PageId).collect(),
        });
        Ok(())
    }

    fn known_page(&self, page: u32) -> Result<(), String> {
        if (page as usize) < self.history.pages.len() {
            Ok(())
        } else {
            Err(format!("page {page} is not defined on an earlier line"))
        }
    }
}

/// An id must be the next one.
fn in_order(kind: &str, id: u32, expected: usize) -> Result<(), String> {
    if id as usize == expected {
        Ok(())
    } else {
        Err(format!(
            "{kind} {id} out of order: {kind} {expected} comes next"
        ))
    }
}

fn parse<'a, T: Deserialize<'a>>(text: &'a [u8]) -> Result<T, String> {
    serde_json::from_slice(text).map_err(|error| format!("not a line of a site history: {error}"))
}

/// The first key of a JSON object, without reading the rest.
fn first_key(text: &[u8]) -> Option<&[u8]> {
    let open = text.iter().position(|byte| *byte == b'"')?;
    let rest = &text[open + 1..];
    Some(&rest[..rest.iter().position(|byte| *byte == b'"')?])
}

/// Says of a stream that ends early that it does.
fn cut_short(path: &Path, source: io::Error) -> HistoryError {
    let source = match source.kind() {
        io::ErrorKind::UnexpectedEof => io::Error::new(
            source.kind(),
            "the compressed file is cut short; copy it again",
        ),
        _ => source,
    };
    HistoryError::Io {
        path: path.to_owned(),
        source,
    }
}
