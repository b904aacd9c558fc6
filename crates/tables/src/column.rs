//! Columns, cells, and what takes rows of them.

use std::borrow::Cow;

use crate::TableError;

/// What a column holds. Every cell may also hold nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Text, UTF-8.
    Text,
    /// Text that is hardly ever the same twice: a dictionary of it would be as long as itself.
    Distinct,
    /// An integer of 64 bits.
    Long,
    /// An integer of 32 bits.
    Int,
    /// An integer of 16 bits.
    Short,
    /// A number with a fraction.
    Real,
    /// Yes or no.
    Flag,
    /// A moment, in milliseconds of 1970, UTC.
    Moment,
}

/// A column: its name and what it holds.
pub type Column = (&'static str, Kind);

/// One value.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell<'a> {
    /// Not known, or does not apply.
    Nothing,
    /// Of a [`Kind::Text`] or [`Kind::Distinct`] column.
    Text(Cow<'a, str>),
    /// Of a column of integers. It fits the column.
    Whole(i64),
    /// Of a [`Kind::Real`] column.
    Real(f64),
    /// Of a [`Kind::Flag`] column.
    Flag(bool),
    /// Of a [`Kind::Moment`] column.
    Moment(u64),
}

impl<'a> Cell<'a> {
    /// Text; nothing where it is empty.
    pub(crate) fn text(text: impl Into<Cow<'a, str>>) -> Self {
        let text = text.into();
        if text.is_empty() {
            Self::Nothing
        } else {
            Self::Text(text)
        }
    }

    /// Text that may be absent.
    pub(crate) fn maybe(text: Option<impl Into<Cow<'a, str>>>) -> Self {
        text.map_or(Self::Nothing, |text| Self::Text(text.into()))
    }

    /// Bytes of strangers as text; nothing where there are none.
    pub(crate) fn bytes(bytes: &'a [u8]) -> Self {
        Self::text(String::from_utf8_lossy(bytes))
    }

    /// A number, 0 included.
    pub(crate) fn number(number: u64) -> Self {
        Self::Whole(i64::try_from(number).unwrap_or(i64::MAX))
    }

    /// A number; nothing where it is 0.
    pub(crate) fn count(number: u64) -> Self {
        if number == 0 {
            Self::Nothing
        } else {
            Self::number(number)
        }
    }

    /// A hash in hexadecimal digits; nothing where it is 0.
    pub(crate) fn hash(hash: u64) -> Self {
        if hash == 0 {
            Self::Nothing
        } else {
            Self::Text(format!("{hash:016x}").into())
        }
    }

    /// A moment; nothing where it is 0.
    pub(crate) fn moment(ms: u64) -> Self {
        if ms == 0 {
            Self::Nothing
        } else {
            Self::Moment(ms)
        }
    }

    /// The cell if something holds, else nothing.
    pub(crate) fn when(self, holds: bool) -> Self {
        if holds { self } else { Self::Nothing }
    }
}

/// Takes rows.
pub(crate) trait Sink {
    /// One row: a cell for each column, in order.
    fn row(&mut self, cells: &[Cell<'_>]) -> Result<(), TableError>;

    /// There are no more.
    fn finish(self) -> Result<(), TableError>;
}

/// Hands rows on to a function.
pub(crate) struct Each<F>(pub(crate) F);

impl<F: FnMut(&[Cell<'_>]) -> Result<(), TableError>> Sink for Each<F> {
    fn row(&mut self, cells: &[Cell<'_>]) -> Result<(), TableError> {
        (self.0)(cells)
    }

    fn finish(self) -> Result<(), TableError> {
        Ok(())
    }
}
