//! Captures read out of Parquet: our own table, or Common Crawl's columnar index.
//!
//! Columns are found by name; `url` and `fetch_time` must be there, the others may be. Only what is
//! used is read. A row without either is an error with its number, and reading goes on behind it.
//!
//! Cost: one row at a time, through the `parquet` crate's own rows; memory for a page of each column.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;
use std::sync::Arc;

use parquet::errors::ParquetError;
use parquet::file::reader::{FileReader as _, SerializedFileReader};
use parquet::record::reader::RowIter;
use parquet::record::{Field, Row};
use parquet::schema::types::Type;
use turnstone_pagestore::warc::{CdxLine, Digest};

/// What is read, where it is there.
const READ: [&str; 10] = [
    "url",
    "url_surtkey",
    "fetch_time",
    "fetch_status",
    "fetch_redirect",
    "content_digest",
    "content_mime_type",
    "warc_filename",
    "warc_record_offset",
    "warc_record_length",
];
/// What must be there.
const NEEDED: [&str; 2] = ["url", "fetch_time"];
/// How every Parquet file begins and ends.
const MAGIC: [u8; 4] = *b"PAR1";

/// One capture.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Captured {
    /// What a line of an index would tell of it.
    pub line: CdxLine,
    /// Where it redirected to, as the index says.
    pub redirect: Option<String>,
}

/// Why captures were not read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CapturedError {
    /// The file could not be opened.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// It is no Parquet that can be read.
    #[error("Parquet that cannot be read: {0}")]
    Parquet(#[from] ParquetError),
    /// It is another table.
    #[error(
        "a Parquet table without the column {0}: no captures; `turnstone export captures` writes them, \
         and Common Crawl's columnar index is such a table"
    )]
    NoColumn(&'static str),
}

/// Whether a file begins as Parquet does.
pub fn is_parquet(path: &Path) -> io::Result<bool> {
    let mut magic = [0; 4];
    let read = File::open(path)?.read(&mut magic)?;
    Ok(read == 4 && magic == MAGIC)
}

/// Reads the captures of a file, one after the other.
pub struct CapturedReader {
    rows: RowIter<'static>,
    count: u64,
}

impl CapturedReader {
    /// Opens a file.
    pub fn open(path: &Path) -> Result<Self, CapturedError> {
        let reader = SerializedFileReader::new(File::open(path)?)?;
        let meta = reader.metadata().file_metadata();
        let count = u64::try_from(meta.num_rows()).unwrap_or(0);
        let schema = meta.schema();
        let fields = schema.get_fields();
        for name in NEEDED {
            if !fields.iter().any(|field| field.name() == name) {
                return Err(CapturedError::NoColumn(name));
            }
        }
        let wanted = fields.iter().filter(|field| READ.contains(&field.name()));
        let wanted: Vec<Arc<Type>> = wanted.cloned().collect();
        let projection = Type::group_type_builder(schema.name())
            .with_fields(wanted)
            .build()?;
        let rows = RowIter::from_file_into(Box::new(reader)).project(Some(projection))?;
        Ok(Self { rows, count })
    }

    /// How many rows there are.
    pub fn row_count(&self) -> u64 {
        self.count
    }
}

impl Iterator for CapturedReader {
    /// A capture, or what is wrong with the row.
    type Item = Result<Result<Captured, &'static str>, CapturedError>;

    fn next(&mut self) -> Option<Self::Item> {
        match self.rows.next()? {
            Ok(row) => Some(Ok(captured(&row))),
            Err(error) => Some(Err(error.into())),
        }
    }
}

fn captured(row: &Row) -> Result<Captured, &'static str> {
    let mut found = Captured::default();
    let line = &mut found.line;
    let mut has_time = false;
    for (name, field) in row.get_column_iter() {
        match name.as_str() {
            "url" => line.url = text(field).unwrap_or_default(),
            "url_surtkey" => line.surt = text(field).unwrap_or_default(),
            "fetch_time" => {
                if let Some(ms) = moment(field) {
                    line.date_ms = ms;
                    has_time = true;
                }
            }
            "fetch_status" => {
                line.status = number(field).and_then(|number| u16::try_from(number).ok());
            }
            "fetch_redirect" => found.redirect = text(field),
            "content_digest" => line.digest = text(field).as_deref().and_then(Digest::parse),
            "content_mime_type" => line.mime = text(field),
            "warc_filename" => line.filename = text(field),
            "warc_record_offset" => line.offset = number(field),
            "warc_record_length" => line.length = number(field),
            _ => {}
        }
    }
    if found.line.url.is_empty() {
        return Err("no url");
    }
    if !has_time {
        return Err("no fetch_time");
    }
    Ok(found)
}

fn text(field: &Field) -> Option<String> {
    match field {
        Field::Str(text) if !text.is_empty() => Some(text.clone()),
        Field::Bytes(bytes) => String::from_utf8(bytes.data().to_vec()).ok(),
        _ => None,
    }
}

fn number(field: &Field) -> Option<u64> {
    let number = match field {
        Field::Byte(number) => i64::from(*number),
        Field::Short(number) => i64::from(*number),
        Field::Int(number) => i64::from(*number),
        Field::Long(number) => *number,
        _ => return None,
    };
    u64::try_from(number).ok()
}

fn moment(field: &Field) -> Option<u64> {
    let ms = match field {
        Field::TimestampMillis(ms) => *ms,
        Field::TimestampMicros(us) => *us / 1000,
        Field::Long(ms) => *ms,
        _ => return None,
    };
    u64::try_from(ms).ok()
}
