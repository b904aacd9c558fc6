//! Saves what is whole of an archive whose journal is lost.
//!
//! A file that was open is cut to its last whole member; index lines that point at nothing are
//! dropped. What remains is what [`Writer::open`](super::Writer::open) can go on with.
//!
//! Cost: one pass over the open file, unpacking it, and one over the index.

use std::fs::{self, File};
use std::io::{self, BufRead as _, BufReader, Read as _, Seek as _};
use std::path::Path;

use flate2::bufread::GzDecoder;

use super::cdx_line::{CDX_LINE_BYTES_MAX, CdxLine};
use super::folder::RealFolder;
use super::recovery::{ArchiveFiles, Cut, OpenError, check_name, io_error, len_of};
use super::sort::{remove_temporaries, replace_index};
use super::tail::Tail;
use super::writer::{Ends, INDEX_NAME, Settings};

/// Cuts open files to their last whole member and drops index lines that point at nothing.
/// Returns how far the archive then reaches, for [`Writer::open`], and what was cut.
///
/// Captures that had no index line yet stay in the WARC file without one.
pub fn recover_without_journal(path: &Path, settings: &Settings) -> Result<(Ends, Cut), OpenError> {
    check_name(&settings.name)?;
    let index_path = path.join(INDEX_NAME);
    remove_temporaries(&index_path).map_err(io_error(path))?;
    let mut cut = Cut::default();
    let mut ends = Ends::default();
    let mut lengths = Vec::new();
    for file in ArchiveFiles::look(path, settings)?.files {
        let whole = if file.open {
            whole_members_end(&file.path).map_err(io_error(&file.path))?
        } else {
            file.len
        };
        cut.warc_bytes += file.len - whole;
        if whole == 0 {
            fs::remove_file(&file.path).map_err(io_error(&file.path))?;
            continue;
        }
        if whole < file.len {
            Tail::open(&RealFolder, &file.path, whole).map_err(io_error(&file.path))?;
        }
        lengths.push((settings.file_name(file.number), whole));
        ends.file = file.number;
        ends.warc_len = whole;
    }
    let before = len_of(&index_path)?.unwrap_or(0);
    if before > 0 {
        drop_dangling(&index_path, &lengths).map_err(io_error(&index_path))?;
        ends.index_len = len_of(&index_path)?.unwrap_or(0);
    }
    cut.index_bytes = before - ends.index_len;
    Ok((ends, cut))
}

/// Where the last whole gzip member of a file ends.
fn whole_members_end(path: &Path) -> io::Result<u64> {
    let mut file = BufReader::with_capacity(1 << 16, File::open(path)?);
    let mut end = 0;
    while !file.fill_buf()?.is_empty() {
        let mut member = GzDecoder::new(&mut file);
        match io::copy(&mut member, &mut io::sink()) {
            Ok(_) => end = file.stream_position()?,
            // What the disk says is an error; what the bytes say is the end.
            Err(error) if error.raw_os_error().is_some() => return Err(error),
            Err(_) => break,
        }
    }
    Ok(end)
}

/// Rewrites the index without lines that are torn or point beyond a file.
fn drop_dangling(index: &Path, lengths: &[(String, u64)]) -> io::Result<()> {
    let points_at_record = |line: &[u8]| {
        let Some(line) = line.strip_suffix(b"\n") else {
            return false;
        };
        let Ok(entry) = CdxLine::parse(line) else {
            return false;
        };
        let end = entry
            .offset
            .zip(entry.length)
            .map(|(o, l)| o.checked_add(l));
        lengths.iter().any(|(name, len)| {
            entry.filename.as_ref() == Some(name)
                && end.is_some_and(|end| end.is_some_and(|end| end <= *len))
        })
    };
    replace_index(index, |input, output| {
        let mut line = Vec::new();
        loop {
            line.clear();
            // Longer lines than we write come in pieces, none of which is a whole line.
            let limit = CDX_LINE_BYTES_MAX as u64;
            if input.take(limit).read_until(b'\n', &mut line)? == 0 {
                return Ok(());
            }
            if points_at_record(&line) {
                output.write_all(&line)?;
            }
        }
    })
}
