//! Captures in Parquet: our own table, or Common Crawl's columnar index.
//!
//! A row means what a line of an index means (`cdx`), and where a redirect led is in the table, so such
//! a page is moved, and not without a verdict.

use anyhow::Context as _;
use turnstone_tables::CapturedReader;

use super::cdx;
use super::skipped::Place;
use super::source::Source;
use super::spool::Spool;

/// Reads a table into the spool, but for rows that were read before.
pub(super) fn read(
    source: &Source,
    spool: &mut Spool,
    mut at_byte: impl FnMut(u64),
) -> anyhow::Result<()> {
    let context = || source.path.display().to_string();
    let name = source.name();
    let before = spool.read().records;
    let rows = CapturedReader::open(&source.path).with_context(context)?;
    let share = source.bytes as f64 / rows.row_count().max(1) as f64;
    for (number, row) in (1..).zip(rows) {
        let row = row.with_context(context)?;
        if number <= before {
            continue;
        }
        at_byte((number as f64 * share) as u64);
        match row {
            Ok(row) => cdx::take(&row.line, row.redirect, (&name, Place::Row(number)), spool)?,
            Err(reason) => spool.skip(&name, Place::Row(number), reason),
        }
    }
    Ok(())
}
