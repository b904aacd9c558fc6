//! A table as several Parquet files, by the hash of the host: what of one host is in one file.
//!
//! Tools that read in parallel take a file each, and a question about one host reads one file. The hash is FNV-1a
//! of the host's name, modulo the number of files: the same in every export, so that exports of several crawls can be
//! joined part by part.
//!
//! Memory: as much as one file takes is shared out among all.

use std::io::Write;

use crate::TableError;
use crate::column::{Cell, Column, Sink};
use crate::parquet_file::ParquetFile;

/// The most parts.
pub const PARTS_MAX: usize = 256;

/// Which part has a host.
pub fn part_of(host: &str, parts: usize) -> usize {
    let mix = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3);
    let hash = host.bytes().fold(0xCBF2_9CE4_8422_2325, mix);
    // The low bits of this hash alone are not well mixed.
    ((hash ^ (hash >> 32)) % parts as u64) as usize
}

/// Files being written, each with the rows of its hosts.
pub(crate) struct Parts<W: Write + Send> {
    files: Vec<ParquetFile<W>>,
    /// Which column has the host.
    host: usize,
}

impl<W: Write + Send> Parts<W> {
    pub(crate) fn begin(
        (table, columns): (&str, &[Column]),
        host: &str,
        outs: Vec<W>,
    ) -> Result<Self, TableError> {
        let parts = outs.len();
        let begin = |out| ParquetFile::begin_part(table, columns, parts, out);
        let files = outs.into_iter().map(begin).collect::<Result<_, _>>()?;
        let is_it = |column: &Column| column.0 == host;
        let host = columns.iter().position(is_it);
        let host = host.expect("every table names the column of its host");
        Ok(Self { files, host })
    }
}

impl<W: Write + Send> Sink for Parts<W> {
    fn row(&mut self, cells: &[Cell<'_>]) -> Result<(), TableError> {
        let host = match &cells[self.host] {
            Cell::Text(host) => host.as_ref(),
            _ => "",
        };
        let part = part_of(host, self.files.len());
        self.files[part].row(cells)
    }

    fn finish(self) -> Result<(), TableError> {
        self.files.into_iter().try_for_each(Sink::finish)
    }
}

#[cfg(test)]
mod tests {
    use super::part_of;

    #[test]
    fn hosts_spread_and_stay() {
        let mut counts = [0; 16];
        for number in 0..1600 {
            counts[part_of(&format!("host{number}.example.org"), 16)] += 1;
        }
        assert!(
            counts.iter().all(|count| (60..160).contains(count)),
            "{counts:?}"
        );
        // Of every export ever made: part files of several crawls are joined by it.
        assert_eq!(part_of("example.org", 16), 2);
    }
}
