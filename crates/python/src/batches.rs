//! Rows of a table as Arrow record batches, one at a time.
//!
//! Tables push rows and Arrow readers pull batches. So a thread reads the table and puts each batch into a
//! channel that holds one: it is one batch ahead of the reader at most, and memory is three batches,
//! whatever the size of the crawl. A reader that goes away ends the thread at its next batch.
//!
//! Columns have the types of the Parquet files that `turnstone export` writes.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use arrow_array::builder::{
    BooleanBuilder, Float64Builder, Int16Builder, Int32Builder, Int64Builder, StringBuilder,
    TimestampMillisecondBuilder,
};
use arrow_array::{ArrayRef, RecordBatch, RecordBatchReader};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef, TimeUnit};
use turnstone_tables::{Cell, Column, Kind, Table, TableError};

/// The most rows of a batch.
const ROWS_MAX: usize = 1 << 15;
/// The most bytes of text in a batch, but for one row.
const TEXT_BYTES_MAX: usize = 16 << 20;

/// The schema of columns.
pub(crate) fn schema(columns: &[Column]) -> SchemaRef {
    let field = |(name, kind): &Column| Field::new(*name, data_type(*kind), true);
    Arc::new(Schema::new(
        columns.iter().map(field).collect::<Vec<Field>>(),
    ))
}

fn data_type(kind: Kind) -> DataType {
    match kind {
        Kind::Text | Kind::Distinct => DataType::Utf8,
        Kind::Long => DataType::Int64,
        Kind::Int => DataType::Int32,
        Kind::Short => DataType::Int16,
        Kind::Real => DataType::Float64,
        Kind::Flag => DataType::Boolean,
        Kind::Moment => DataType::Timestamp(TimeUnit::Millisecond, Some("UTC".into())),
    }
}

/// A column of the batch at hand.
enum Builder {
    Text(StringBuilder),
    Long(Int64Builder),
    Int(Int32Builder),
    Short(Int16Builder),
    Real(Float64Builder),
    Flag(BooleanBuilder),
    Moment(TimestampMillisecondBuilder),
}

impl Builder {
    fn new(kind: Kind) -> Self {
        match kind {
            Kind::Text | Kind::Distinct => Self::Text(StringBuilder::new()),
            Kind::Long => Self::Long(Int64Builder::new()),
            Kind::Int => Self::Int(Int32Builder::new()),
            Kind::Short => Self::Short(Int16Builder::new()),
            Kind::Real => Self::Real(Float64Builder::new()),
            Kind::Flag => Self::Flag(BooleanBuilder::new()),
            Kind::Moment => {
                Self::Moment(TimestampMillisecondBuilder::new().with_data_type(data_type(kind)))
            }
        }
    }

    /// Adds a cell; returns how many bytes of text it had.
    fn add(&mut self, cell: &Cell<'_>) -> usize {
        match (self, cell) {
            (Self::Text(builder), Cell::Text(text)) => {
                builder.append_value(text);
                return text.len();
            }
            (Self::Text(builder), _) => builder.append_null(),
            (Self::Long(builder), cell) => builder.append_option(whole(cell)),
            (Self::Int(builder), cell) => {
                builder.append_option(whole(cell).map(|n| i32::try_from(n).unwrap_or(i32::MAX)));
            }
            (Self::Short(builder), cell) => {
                builder.append_option(whole(cell).map(|n| i16::try_from(n).unwrap_or(i16::MAX)));
            }
            (Self::Real(builder), Cell::Real(number)) => builder.append_value(*number),
            (Self::Real(builder), _) => builder.append_null(),
            (Self::Flag(builder), Cell::Flag(flag)) => builder.append_value(*flag),
            (Self::Flag(builder), _) => builder.append_null(),
            (Self::Moment(builder), Cell::Moment(ms)) => {
                builder.append_value(i64::try_from(*ms).unwrap_or(i64::MAX));
            }
            (Self::Moment(builder), _) => builder.append_null(),
        }
        0
    }

    fn finish(&mut self) -> ArrayRef {
        match self {
            Self::Text(builder) => Arc::new(builder.finish()),
            Self::Long(builder) => Arc::new(builder.finish()),
            Self::Int(builder) => Arc::new(builder.finish()),
            Self::Short(builder) => Arc::new(builder.finish()),
            Self::Real(builder) => Arc::new(builder.finish()),
            Self::Flag(builder) => Arc::new(builder.finish()),
            Self::Moment(builder) => Arc::new(builder.finish()),
        }
    }
}

fn whole(cell: &Cell<'_>) -> Option<i64> {
    match cell {
        Cell::Whole(number) => Some(*number),
        _ => None,
    }
}

type Sent = Result<RecordBatch, ArrowError>;

/// The rows of one batch as they come.
struct Gathered {
    schema: SchemaRef,
    columns: Vec<Builder>,
    rows: usize,
    text_bytes: usize,
    sender: SyncSender<Sent>,
}

impl Gathered {
    fn add(&mut self, cells: &[Cell<'_>]) -> Result<(), TableError> {
        for (column, cell) in self.columns.iter_mut().zip(cells) {
            self.text_bytes += column.add(cell);
        }
        self.rows += 1;
        if self.rows >= ROWS_MAX || self.text_bytes >= TEXT_BYTES_MAX {
            self.send()?;
        }
        Ok(())
    }

    fn send(&mut self) -> Result<(), TableError> {
        if self.rows == 0 {
            return Ok(());
        }
        (self.rows, self.text_bytes) = (0, 0);
        let columns = self.columns.iter_mut().map(Builder::finish).collect();
        let batch = RecordBatch::try_new(Arc::clone(&self.schema), columns);
        let gone = |_| TableError::Write(io::ErrorKind::BrokenPipe.into());
        self.sender.send(batch).map_err(gone)
    }
}

/// Reads a table of a crawl, batch by batch.
pub(crate) struct Batches {
    schema: SchemaRef,
    receiver: Receiver<Sent>,
}

impl Batches {
    /// Begins to read.
    pub(crate) fn of(directory: PathBuf, table: Table) -> io::Result<Self> {
        let schema = schema(table.columns());
        let (sender, receiver) = sync_channel(1);
        let mut gathered = Gathered {
            schema: Arc::clone(&schema),
            columns: table
                .columns()
                .iter()
                .map(|(_, kind)| Builder::new(*kind))
                .collect(),
            rows: 0,
            text_bytes: 0,
            sender,
        };
        thread::Builder::new()
            .name(format!("turnstone {}", table.name()))
            .spawn(move || {
                let read = table.each(&directory, |cells| gathered.add(cells));
                if let Err(error) = read.and_then(|_| gathered.send()) {
                    let said = ArrowError::ExternalError(Box::new(error));
                    // A reader that went away does not want to know.
                    let _ = gathered.sender.send(Err(said));
                }
            })?;
        Ok(Self { schema, receiver })
    }
}

impl Iterator for Batches {
    type Item = Sent;

    fn next(&mut self) -> Option<Sent> {
        self.receiver.recv().ok()
    }
}

impl RecordBatchReader for Batches {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }
}
