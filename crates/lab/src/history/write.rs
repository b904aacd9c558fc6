//! Writes the lines of a site history: see `docs/formats.md`.
//!
//! The lines must come in the order of the format; the reader refuses any other.

use std::io::{self, Write};

use serde::Serialize;

/// How hard to compress: fast, since most of the gain comes at once.
const COMPRESSION_LEVEL: i32 = 6;

/// One line of a history. The first field tells which kind it is.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
pub enum Line<'a> {
    /// The header.
    Site {
        /// The name of the site.
        site: &'a str,
        /// Where its addresses begin, with a trailing slash.
        origin: &'a str,
        /// Where it comes from.
        source: &'a str,
        /// How many pages were ever seen.
        pages: u32,
        /// The date of each snapshot.
        snapshots: Vec<String>,
    },
    /// A page.
    Page {
        /// Its number.
        page: u32,
        /// Its address below the origin, with a leading slash.
        url: &'a str,
        /// `xml` for feeds and sitemaps.
        #[serde(skip_serializing_if = "Option::is_none")]
        kind: Option<&'static str>,
    },
    /// An off-site host.
    Host {
        /// Its number.
        host: u32,
        /// Its name.
        name: &'a str,
    },
    /// A content.
    Version {
        /// Its number.
        version: u32,
        /// Hash of the bytes, 16 hex digits.
        raw: String,
        /// Hash of the visible text, 16 hex digits.
        text: String,
        /// Size in bytes.
        bytes: u32,
        /// Words of visible text.
        words: u32,
        /// Images.
        images: u32,
        /// Distinct off-site link targets.
        offsite: u32,
        /// Off-site hosts linked to.
        hosts: Vec<u32>,
        /// The title.
        title: &'a str,
        /// Frequent words with their counts.
        terms: Vec<(String, u32)>,
        /// On-site link targets that are no page in any snapshot.
        broken: u32,
        /// Pages linked to, in document order.
        links: &'a [u32],
    },
    /// What a snapshot changed.
    Event {
        /// Its number.
        snapshot: u32,
        /// Pages that have another content from here on.
        set: &'a [(u32, u32)],
        /// Pages that are absent from here on.
        gone: &'a [u32],
    },
}

/// Lines on their way out, compressed. The first error stops all writing and is kept.
pub struct HistoryWriter<W: Write> {
    encoder: zstd::Encoder<'static, W>,
    error: Option<io::Error>,
}

impl<W: Write> HistoryWriter<W> {
    /// Begins a history.
    pub fn new(out: W) -> io::Result<Self> {
        Ok(Self {
            encoder: zstd::Encoder::new(out, COMPRESSION_LEVEL)?,
            error: None,
        })
    }

    /// Writes the next line.
    pub fn write(&mut self, line: &Line<'_>) {
        if self.error.is_none() {
            let written = serde_json::to_writer(&mut self.encoder, line).map_err(io::Error::from);
            self.error = written.and_then(|()| self.encoder.write_all(b"\n")).err();
        }
    }

    /// Ends the history, and tells whether all of it was written.
    pub fn finish(self) -> io::Result<()> {
        self.error.map_or(Ok(()), Err)?;
        self.encoder.finish()?.flush()
    }
}

impl<W: Write> std::fmt::Debug for HistoryWriter<W> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HistoryWriter").finish_non_exhaustive()
    }
}
