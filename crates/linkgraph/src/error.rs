//! What can be wrong with a file, told to the person who has to mend it.
//!
//! Every message is one line: the file (and line) first, then what is wrong, then what would be
//! right. Nothing here prints; the binary does.

use std::io;
use std::path::{Path, PathBuf};

/// Why a recorded web could not be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// The file cannot be opened or read, or its compressed stream is damaged.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A line of a text file is wrong.
    #[error("{}, line {line}: {fault}", path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// The line, counted from 1.
        line: u64,
        /// What is wrong with it.
        fault: LineFault,
    },
    /// The file as a whole is not what it should be.
    #[error("{}: {fault}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What is wrong, and what would be right.
        fault: String,
    },
}

impl ReadError {
    pub(crate) fn io(path: &Path, source: io::Error) -> Self {
        Self::Io {
            path: path.to_owned(),
            source: tell_truncation(source),
        }
    }

    pub(crate) fn file(path: &Path, fault: impl Into<String>) -> Self {
        Self::File {
            path: path.to_owned(),
            fault: fault.into(),
        }
    }

    pub(crate) fn line(path: &Path, line: u64, fault: LineFault) -> Self {
        Self::Line {
            path: path.to_owned(),
            line,
            fault,
        }
    }
}

/// Decompressors speak of frames and EOF; a user wants to know that the file is cut off.
fn tell_truncation(source: io::Error) -> io::Error {
    if source.kind() == io::ErrorKind::UnexpectedEof {
        return io::Error::new(
            source.kind(),
            "ends too early: the file is cut off; copy or make it again",
        );
    }
    source
}

/// What is wrong with one line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LineFault {
    /// A link needs exactly a source and a target.
    #[error("{0} fields instead of two: a link is source<TAB>target")]
    NotTwoFields(usize),
    /// A field is not a page id although the list began with ids.
    #[error("'{0}' is not a page id (a whole number from 0 to 4294967294)")]
    NotAnId(String),
    /// The id has no URL in the list of URLs.
    #[error("page {id} does not exist: {} has {pages} URLs, so ids go from 0 to {}", urls.display(), pages.saturating_sub(1))]
    NoSuchId {
        /// The id.
        id: u64,
        /// How many pages there are.
        pages: usize,
        /// The list of URLs.
        urls: PathBuf,
    },
    /// The URL is not in the list of URLs.
    #[error("{url} is not in {}", urls.display())]
    NoSuchUrl {
        /// The URL.
        url: String,
        /// The list of URLs.
        urls: PathBuf,
    },
    /// The line is not text.
    #[error("not UTF-8; percent-encode the URL")]
    NotUtf8,
    /// The line is longer than any URL list needs.
    #[error("longer than {0} bytes")]
    TooLong(usize),
    /// Nothing between two line breaks of a URL list.
    #[error("empty; line i of a list of URLs is the URL of page i, counted from 0")]
    Empty,
}

/// Why a web could not be written.
#[derive(Debug, thiserror::Error)]
#[error("{}: cannot be written: {source}", path.display())]
pub struct WriteError {
    /// The file.
    pub path: PathBuf,
    /// What the system said.
    pub source: io::Error,
}

impl WriteError {
    pub(crate) fn new(path: &Path, source: io::Error) -> Self {
        Self {
            path: path.to_owned(),
            source,
        }
    }
}

/// The beginning of something from outside, fit to be shown in a message.
pub(crate) fn shown(bytes: &[u8]) -> String {
    const SHOWN_MAX: usize = 60;
    let text = String::from_utf8_lossy(bytes);
    let mut shown: String = text
        .chars()
        .take(SHOWN_MAX)
        .flat_map(char::escape_debug)
        .collect();
    if text.chars().nth(SHOWN_MAX).is_some() {
        shown.push('…');
    }
    shown
}
