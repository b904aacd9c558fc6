//! What a crawl brought, as tables that other tools read: Parquet, JSON lines and CSV.
//!
//! A table is a list of columns ([`Column`]) and a function that hands on rows of [`Cell`]s, one at a
//! time; a sink writes them in one of the forms. So all forms hold the same columns with the same names,
//! and no table is ever held whole: memory is one row group, whatever the size of the crawl.
//!
//! Parquet is written through the column writers of the `parquet` crate, without `arrow`: rows come one
//! by one out of the journal, so there is no array to be shared, and a build without `arrow` is shorter.
//!
//! | module | what it knows |
//! |---|---|
//! | `pages`, `links`, `events`, `captures`, `decisions`, `texts` | which columns a table has, and its rows |
//! | `column`, `parquet_file`, `lines` | cells, and how each form writes them |
//! | `parts` | which of several files has a host |
//! | `host_parts` | a host name as Common Crawl takes it apart |
//! | `captured` | captures read out of Parquet, ours or Common Crawl's |
//!
//! Not here: policies, HTTP, the terminal. Nothing here changes a crawl.

mod captured;
mod captures;
mod column;
mod decisions;
mod events;
mod host_parts;
mod lines;
mod links;
mod pages;
mod parquet_file;
mod parts;
mod texts;

use std::io::{self, Write};
use std::path::Path;

use turnstone_frontier::PageId;
use turnstone_pagestore::{Joined, Store, StoreError};

pub use captured::{Captured, CapturedError, CapturedReader, is_parquet};
pub use column::{Cell, Column, Kind};
pub use parts::{PARTS_MAX, part_of};

use crate::column::Sink;
use crate::lines::{Csv, JsonLines};
use crate::parquet_file::ParquetFile;
use crate::parts::Parts;

/// How a table is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Apache Parquet, packed with Snappy.
    Parquet,
    /// A JSON object a line.
    JsonLines,
    /// Comma-separated values with a head line (RFC 4180).
    Csv,
}

impl Form {
    /// Every form.
    pub const ALL: [Self; 3] = [Self::Parquet, Self::JsonLines, Self::Csv];

    /// What names of such files end in.
    pub fn extension(self) -> &'static str {
        match self {
            Self::Parquet => "parquet",
            Self::JsonLines => "jsonl",
            Self::Csv => "csv",
        }
    }

    /// The form that the end of a name stands for.
    pub fn of(path: &Path) -> Option<Self> {
        let extension = path.extension()?.to_str()?;
        let is_it = |form: &Self| extension.eq_ignore_ascii_case(form.extension());
        Self::ALL.into_iter().find(is_it)
    }
}

/// Whether a row is written, by what its publisher said of how the page may be used.
pub type Keep<'a> = &'a dyn Fn(&str) -> bool;

/// The tables of a crawl.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Table {
    /// A row for each known page.
    Pages,
    /// A row for each link of a stored copy.
    Links,
    /// A row for each event.
    Events,
    /// A row for each answer that a fetch brought.
    Captures,
    /// A row for each hand-out.
    Decisions,
    /// A row for each stored page that has a text.
    Text,
}

impl Table {
    /// Every table.
    pub const ALL: [Self; 6] = [
        Self::Pages,
        Self::Links,
        Self::Events,
        Self::Captures,
        Self::Decisions,
        Self::Text,
    ];

    /// In one word.
    pub fn name(self) -> &'static str {
        match self {
            Self::Pages => "pages",
            Self::Links => "links",
            Self::Events => "events",
            Self::Captures => "captures",
            Self::Decisions => "decisions",
            Self::Text => "texts",
        }
    }

    /// Its columns, in order.
    pub fn columns(self) -> &'static [Column] {
        match self {
            Self::Pages => pages::COLUMNS,
            Self::Links => links::COLUMNS,
            Self::Events => events::COLUMNS,
            Self::Captures => captures::COLUMNS,
            Self::Decisions => decisions::COLUMNS,
            Self::Text => texts::COLUMNS,
        }
    }

    /// Writes it; returns how many rows there are.
    pub fn write(
        self,
        directory: &Path,
        form: Form,
        out: &mut (dyn Write + Send),
    ) -> Result<u64, TableError> {
        self.write_where(directory, form, &|_| true, out)
    }

    /// Whether rows can be chosen by what publishers said.
    pub fn has_preferences(self) -> bool {
        matches!(self, Self::Pages | Self::Captures)
    }

    /// Writes the rows whose publishers said what `keep` lets through; other tables than
    /// [`Table::has_preferences`] names are written whole.
    pub fn write_where(
        self,
        directory: &Path,
        form: Form,
        keep: Keep<'_>,
        out: &mut (dyn Write + Send),
    ) -> Result<u64, TableError> {
        let columns = self.columns();
        match form {
            Form::Parquet => {
                let file = ParquetFile::begin(self.name(), columns, out)?;
                self.rows(directory, keep, file)
            }
            Form::JsonLines => self.rows(directory, keep, JsonLines::new(columns, out)),
            Form::Csv => self.rows(directory, keep, Csv::begin(columns, out)?),
        }
    }

    /// Writes it as Parquet in several files, a host in one of them ([`part_of`]); returns how many rows there are.
    pub fn write_parts<W: Write + Send>(
        self,
        directory: &Path,
        keep: Keep<'_>,
        outs: Vec<W>,
    ) -> Result<u64, TableError> {
        let columns = self.columns();
        let parts = Parts::begin((self.name(), columns), self.host_column(), outs)?;
        self.rows(directory, keep, parts)
    }

    /// The column that has the host of a row.
    fn host_column(self) -> &'static str {
        match self {
            Self::Links => "source_host",
            Self::Captures => "url_host_name",
            Self::Pages | Self::Events | Self::Decisions | Self::Text => "host",
        }
    }

    /// Hands on row by row, a cell for each column; returns how many there are.
    pub fn each(
        self,
        directory: &Path,
        row: impl FnMut(&[Cell<'_>]) -> Result<(), TableError>,
    ) -> Result<u64, TableError> {
        self.rows(directory, &|_| true, column::Each(row))
    }

    fn rows(
        self,
        directory: &Path,
        keep: Keep<'_>,
        mut sink: impl Sink,
    ) -> Result<u64, TableError> {
        let count = match self {
            Self::Pages => pages::rows(&Numbered::look(directory)?, keep, &mut sink),
            Self::Links => links::rows(&Numbered::look(directory)?, &mut sink),
            Self::Events => events::rows(directory, &mut sink),
            Self::Captures => captures::rows(&Numbered::look(directory)?, keep, &mut sink),
            Self::Decisions => decisions::rows(&Numbered::look(directory)?, &mut sink),
            Self::Text => texts::rows(&Numbered::look(directory)?, &mut sink),
        }?;
        sink.finish()?;
        Ok(count)
    }
}

/// A crawl, of one store or of several, and what its pages and files are called in tables.
pub(crate) struct Numbered(Joined);

impl Numbered {
    pub(crate) fn look(directory: &Path) -> Result<Self, StoreError> {
        Ok(Self(Joined::look(directory)?))
    }

    pub(crate) fn stores(&self) -> &[Store] {
        self.0.stores()
    }

    /// The pages in scope, each once: the number of its store, and its number there.
    pub(crate) fn pages(&self) -> impl Iterator<Item = (usize, PageId)> + '_ {
        self.0.pages()
    }

    /// A page by its number: that of its journal, or of all where there are several. Of a page out of scope only
    /// a journal by itself knows a number.
    pub(crate) fn page(&self, store: usize, page: PageId) -> Cell<'static> {
        if !self.0.is_cut() {
            return Cell::number(page.0.into());
        }
        let number = self.0.number(store, page);
        number.map_or(Cell::Nothing, |number| Cell::number(number.0.into()))
    }

    /// A WARC file by its name, with the folder that has it where there are several.
    pub(crate) fn file(&self, store: usize, name: String) -> String {
        if self.0.is_cut() {
            format!("shards/{store}/warc/{name}")
        } else {
            name
        }
    }
}

/// Why a table was not written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TableError {
    /// The crawl could not be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The file could not be written.
    #[error(transparent)]
    Write(#[from] io::Error),
    /// The file could not be written as Parquet.
    #[error("as Parquet: {0}")]
    Parquet(#[from] parquet::errors::ParquetError),
}
