//! What a source held that could not be taken in: counted, and the first ones listed.

use std::fmt;

use serde::{Deserialize, Serialize};

/// How many are listed; more are counted only.
const LISTED_MAX: usize = 1000;

/// Where something was skipped, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Skip {
    /// The file.
    file: String,
    /// The place in it.
    #[serde(flatten)]
    place: Place,
    /// What is wrong.
    reason: String,
}

/// A place in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Place {
    /// The first byte of a record.
    Offset(u64),
    /// A line, counted from 1.
    Line(u64),
    /// A page of a graph or history.
    Page(u64),
    /// A row of a table, counted from 1.
    Row(u64),
}

impl Place {
    /// The number of it.
    pub(super) fn number(self) -> u64 {
        match self {
            Self::Offset(number) | Self::Line(number) | Self::Page(number) | Self::Row(number) => {
                number
            }
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Offset(at) => write!(f, "byte {at}"),
            Self::Line(line) => write!(f, "line {line}"),
            Self::Page(page) => write!(f, "page {page}"),
            Self::Row(row) => write!(f, "row {row}"),
        }
    }
}

impl fmt::Display for Skip {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            file,
            place,
            reason,
        } = self;
        match place {
            Place::Offset(at) => write!(f, "{file}: record at byte {at}: {reason}"),
            Place::Line(line) => write!(f, "{file}:{line}: {reason}"),
            Place::Page(page) => write!(f, "{file}: page {page}: {reason}"),
            Place::Row(row) => write!(f, "{file}: row {row}: {reason}"),
        }
    }
}

/// Everything skipped so far.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Skipped {
    /// How many.
    pub(super) count: u64,
    /// The first ones.
    pub(super) listed: Vec<Skip>,
}

impl Skipped {
    /// One more.
    pub(super) fn add(&mut self, file: &str, place: Place, reason: impl Into<String>) {
        self.count += 1;
        if self.listed.len() < LISTED_MAX {
            self.listed.push(Skip {
                file: file.to_owned(),
                place,
                reason: reason.into(),
            });
        }
    }

    /// So many more, of which nothing else is known.
    pub(super) fn add_unlisted(&mut self, count: u64) {
        self.count += count;
    }
}
