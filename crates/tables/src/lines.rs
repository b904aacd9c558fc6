//! A table as text: JSON lines, or comma-separated values (RFC 4180).

use std::io::Write;

use turnstone_pagestore::warc::warc_date;

use crate::TableError;
use crate::column::{Cell, Column, Sink};

/// A JSON object a line; what is not known is null.
pub(crate) struct JsonLines<W> {
    columns: &'static [Column],
    out: W,
    line: Vec<u8>,
}

impl<W: Write> JsonLines<W> {
    pub(crate) fn new(columns: &'static [Column], out: W) -> Self {
        let line = Vec::new();
        Self { columns, out, line }
    }
}

impl<W: Write> Sink for JsonLines<W> {
    fn row(&mut self, cells: &[Cell<'_>]) -> Result<(), TableError> {
        self.line.clear();
        let line = &mut self.line;
        let mut before = b'{';
        for ((name, _), cell) in self.columns.iter().zip(cells) {
            line.push(before);
            before = b',';
            write!(line, "\"{name}\":")?;
            match cell {
                Cell::Nothing => line.extend_from_slice(b"null"),
                Cell::Text(text) => write!(line, "{}", serde_json::Value::from(text.as_ref()))?,
                Cell::Whole(number) => write!(line, "{number}")?,
                Cell::Real(number) => write!(line, "{}", serde_json::Value::from(*number))?,
                Cell::Flag(flag) => write!(line, "{flag}")?,
                Cell::Moment(ms) => write!(line, "\"{}\"", warc_date(*ms))?,
            }
        }
        line.extend_from_slice(b"}\n");
        Ok(self.out.write_all(line)?)
    }

    fn finish(mut self) -> Result<(), TableError> {
        Ok(self.out.flush()?)
    }
}

/// Comma-separated values with a head line.
pub(crate) struct Csv<W> {
    out: W,
}

impl<W: Write> Csv<W> {
    pub(crate) fn begin(columns: &[Column], mut out: W) -> Result<Self, TableError> {
        let names: Vec<&str> = columns.iter().map(|(name, _)| *name).collect();
        write!(out, "{}\r\n", names.join(","))?;
        Ok(Self { out })
    }
}

impl<W: Write> Sink for Csv<W> {
    fn row(&mut self, cells: &[Cell<'_>]) -> Result<(), TableError> {
        let line: Vec<String> = cells.iter().map(value).collect();
        Ok(write!(self.out, "{}\r\n", line.join(","))?)
    }

    fn finish(mut self) -> Result<(), TableError> {
        Ok(self.out.flush()?)
    }
}

/// A value: quoted where it must be.
fn value(cell: &Cell<'_>) -> String {
    let text = match cell {
        Cell::Nothing => String::new(),
        Cell::Text(text) => text.to_string(),
        Cell::Whole(number) => number.to_string(),
        Cell::Real(number) => serde_json::Value::from(*number).to_string(),
        Cell::Flag(flag) => flag.to_string(),
        Cell::Moment(ms) => warc_date(*ms),
    };
    if text.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_quoted_where_they_must_be() {
        assert_eq!(value(&Cell::text("plain")), "plain");
        assert_eq!(value(&Cell::text("a, \"b\"\n")), "\"a, \"\"b\"\"\n\"");
        assert_eq!(value(&Cell::number(7)), "7");
        assert_eq!(value(&Cell::Nothing), "");
    }
}
