//! A table as a Parquet file, row group by row group.
//!
//! The format wants a row group column by column, and rows come one by one: so the cells of one group
//! are held, each column in a buffer of its own, and written when there are enough of them. That is all
//! the memory there is: 131,072 rows or 64 MB of text, whichever comes first, and once more as much
//! while it is packed.
//!
//! Columns of text that hardly repeats (`Kind::Distinct`) have no dictionary: it would be built for
//! nothing and thrown away.

use std::io::Write;
use std::mem;
use std::sync::Arc;

use bytes::Bytes;
use parquet::basic::Compression;
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DoubleType, Int32Type, Int64Type};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::parser::parse_message_type;
use parquet::schema::types::ColumnPath;

use crate::TableError;
use crate::column::{Cell, Column, Kind, Sink};

/// The most rows of a group.
const ROWS_MAX: usize = 1 << 17;
/// So many rows a group has, however many files are written side by side, unless their texts are long.
const ROWS_MIN: usize = 1 << 13;
/// The most bytes of text in a group, but for one row.
const TEXT_BYTES_MAX: usize = 64 << 20;
/// The version of our columns, in the metadata of the file.
const VERSION: &str = "1";

/// A Parquet file being written.
pub(crate) struct ParquetFile<W: Write + Send> {
    writer: SerializedFileWriter<W>,
    columns: Vec<Held>,
    rows: usize,
    text_bytes: usize,
    rows_max: usize,
    text_bytes_max: usize,
}

/// The cells of one column in the group at hand: values that are there, and for each row whether it is.
struct Held {
    values: Values,
    present: Vec<i16>,
}

enum Values {
    /// Texts one after the other, and where each ends.
    Texts(Vec<u8>, Vec<usize>),
    Longs(Vec<i64>),
    Ints(Vec<i32>),
    Reals(Vec<f64>),
    Flags(Vec<bool>),
}

impl<W: Write + Send> ParquetFile<W> {
    pub(crate) fn begin(table: &str, columns: &[Column], out: W) -> Result<Self, TableError> {
        Self::begin_part(table, columns, 1, out)
    }

    /// One of several files that are written side by side, and share the memory of one.
    pub(crate) fn begin_part(
        table: &str,
        columns: &[Column],
        parts: usize,
        out: W,
    ) -> Result<Self, TableError> {
        let mut schema = format!("message {table} {{\n");
        let mut properties = WriterProperties::builder()
            .set_compression(Compression::SNAPPY)
            .set_statistics_enabled(EnabledStatistics::Chunk)
            .set_created_by(concat!("turnstone ", env!("CARGO_PKG_VERSION")).to_owned())
            .set_key_value_metadata(Some(vec![
                KeyValue::new("turnstone.table".to_owned(), table.to_owned()),
                KeyValue::new("turnstone.version".to_owned(), VERSION.to_owned()),
            ]));
        for (name, kind) in columns {
            let (physical, logical) = match kind {
                Kind::Text | Kind::Distinct => ("binary", "(STRING)"),
                Kind::Long => ("int64", ""),
                Kind::Int => ("int32", ""),
                Kind::Short => ("int32", "(INTEGER(16,true))"),
                Kind::Real => ("double", ""),
                Kind::Flag => ("boolean", ""),
                Kind::Moment => ("int64", "(TIMESTAMP(MILLIS,true))"),
            };
            schema += &format!("  optional {physical} {name} {logical};\n");
            if *kind == Kind::Distinct {
                let path = ColumnPath::from(*name);
                properties = properties.set_column_dictionary_enabled(path, false);
            }
        }
        let schema = parse_message_type(&(schema + "}"))?;
        let columns = columns.iter().map(|(_, kind)| Held::new(*kind)).collect();
        Ok(Self {
            writer: SerializedFileWriter::new(out, Arc::new(schema), Arc::new(properties.build()))?,
            columns,
            rows: 0,
            text_bytes: 0,
            rows_max: (ROWS_MAX / parts).max(ROWS_MIN),
            text_bytes_max: TEXT_BYTES_MAX / parts,
        })
    }

    /// Writes the group at hand.
    fn flush(&mut self) -> Result<(), TableError> {
        if self.rows == 0 {
            return Ok(());
        }
        let mut group = self.writer.next_row_group()?;
        for held in &mut self.columns {
            let mut column = group
                .next_column()?
                .expect("the schema was made of these columns");
            held.write(&mut column)?;
            column.close()?;
        }
        group.close()?;
        (self.rows, self.text_bytes) = (0, 0);
        Ok(())
    }
}

impl<W: Write + Send> Sink for ParquetFile<W> {
    fn row(&mut self, cells: &[Cell<'_>]) -> Result<(), TableError> {
        assert_eq!(cells.len(), self.columns.len(), "a cell for each column");
        for (held, cell) in self.columns.iter_mut().zip(cells) {
            self.text_bytes += held.add(cell);
        }
        self.rows += 1;
        if self.rows >= self.rows_max || self.text_bytes >= self.text_bytes_max {
            self.flush()?;
        }
        Ok(())
    }

    fn finish(mut self) -> Result<(), TableError> {
        self.flush()?;
        self.writer.close()?;
        Ok(())
    }
}

impl Held {
    fn new(kind: Kind) -> Self {
        let values = match kind {
            Kind::Text | Kind::Distinct => Values::Texts(Vec::new(), Vec::new()),
            Kind::Long | Kind::Moment => Values::Longs(Vec::new()),
            Kind::Int | Kind::Short => Values::Ints(Vec::new()),
            Kind::Real => Values::Reals(Vec::new()),
            Kind::Flag => Values::Flags(Vec::new()),
        };
        let present = Vec::new();
        Self { values, present }
    }

    /// Adds a cell; returns how many bytes of text it had.
    fn add(&mut self, cell: &Cell<'_>) -> usize {
        let mut bytes = 0;
        match (&mut self.values, cell) {
            (_, Cell::Nothing) => {
                self.present.push(0);
                return 0;
            }
            (Values::Texts(arena, ends), Cell::Text(text)) => {
                arena.extend_from_slice(text.as_bytes());
                ends.push(arena.len());
                bytes = text.len();
            }
            (Values::Longs(longs), Cell::Whole(number)) => longs.push(*number),
            (Values::Longs(longs), Cell::Moment(ms)) => {
                longs.push(i64::try_from(*ms).unwrap_or(i64::MAX));
            }
            (Values::Ints(ints), Cell::Whole(number)) => {
                ints.push(i32::try_from(*number).unwrap_or(i32::MAX));
            }
            (Values::Reals(reals), Cell::Real(number)) => reals.push(*number),
            (Values::Flags(flags), Cell::Flag(flag)) => flags.push(*flag),
            (_, cell) => panic!("{cell:?} is not what its column holds"),
        }
        self.present.push(1);
        bytes
    }

    fn write(&mut self, column: &mut SerializedColumnWriter<'_>) -> Result<(), TableError> {
        let present = mem::take(&mut self.present);
        let present = Some(present.as_slice());
        match &mut self.values {
            Values::Texts(arena, ends) => {
                let all = Bytes::from(mem::take(arena));
                let mut from = 0;
                let texts = mem::take(ends).into_iter().map(|end| {
                    let text = ByteArray::from(all.slice(from..end));
                    from = end;
                    text
                });
                let texts: Vec<ByteArray> = texts.collect();
                let writer = column.typed::<ByteArrayType>();
                writer.write_batch(&texts, present, None)?;
            }
            Values::Longs(longs) => {
                let writer = column.typed::<Int64Type>();
                writer.write_batch(&mem::take(longs), present, None)?;
            }
            Values::Ints(ints) => {
                let writer = column.typed::<Int32Type>();
                writer.write_batch(&mem::take(ints), present, None)?;
            }
            Values::Reals(reals) => {
                let writer = column.typed::<DoubleType>();
                writer.write_batch(&mem::take(reals), present, None)?;
            }
            Values::Flags(flags) => {
                let writer = column.typed::<BoolType>();
                writer.write_batch(&mem::take(flags), present, None)?;
            }
        }
        Ok(())
    }
}
