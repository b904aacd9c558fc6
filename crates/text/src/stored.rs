//! The answer of a stored copy, out of the WARC files.

use std::borrow::Cow;
use std::io::Read as _;

use http::HeaderMap;
use turnstone_fetch::{Limits, decode, header_map};
use turnstone_pagestore::warc::HttpBlock;
use turnstone_pagestore::{CopyError, Facts, Store, StoreError};

/// The longest record that is read.
const RECORD_BYTES_MAX: u64 = 256 << 20;

/// Why a stored copy could not be read.
#[derive(Debug)]
pub enum Unread {
    /// Its body is not kept: the crawl had no WARC files, or an index told of it.
    NotKept,
    /// The record is damaged, or its file is not here.
    Damaged(String),
}

impl std::fmt::Display for Unread {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::NotKept => f.write_str("its body is not in the WARC files"),
            Self::Damaged(why) => f.write_str(why),
        }
    }
}

/// An answer: its header lines, and its body as it was received.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The header lines.
    pub headers: HeaderMap,
    body: Vec<u8>,
}

impl Answer {
    /// Made of the head, status line to empty line, and the body without chunks; content codings are undone,
    /// as far as the limits of a live crawl allow.
    pub fn new(head: &[u8], body: Vec<u8>) -> Self {
        let headers = header_map(head);
        let body = match decode(&headers, &body, &Limits::default()).body {
            Cow::Owned(decoded) => decoded,
            Cow::Borrowed(whole) if whole.len() == body.len() => body,
            Cow::Borrowed(part) => part.to_vec(),
        };
        Self { headers, body }
    }

    /// Reads that of a copy.
    pub fn of(store: &Store, copy: &Facts) -> Result<Result<Self, Unread>, StoreError> {
        let Some(at) = store.body_of(copy)? else {
            return Ok(Err(Unread::NotKept));
        };
        let read = |(_, block): (_, Vec<u8>)| {
            let mut message =
                HttpBlock::read(block.as_slice()).map_err(|error| error.to_string())?;
            let mut body = Vec::new();
            let read = message.body.read_to_end(&mut body);
            read.map_err(|error| error.to_string())?;
            Ok(Self::new(message.head.bytes(), body))
        };
        let record = store.read_record(at, RECORD_BYTES_MAX);
        let record = record.map_err(|error: CopyError| error.to_string());
        Ok(record.and_then(read).map_err(Unread::Damaged))
    }

    /// The body without its codings.
    pub fn body(&self) -> &[u8] {
        &self.body
    }

    /// The first header line of a name.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }
}
