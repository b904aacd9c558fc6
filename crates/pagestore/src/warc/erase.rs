//! Takes captures out of WARC files in place: what stood there is gone, everything else stays where it was.
//!
//! Journals and indexes name records by their offset, so nothing may move. The members of a capture are
//! overwritten by one member of exactly their length: a small `metadata` record that says so, filled up with
//! blanks in stored blocks (deflate's, which pack nothing, so that any length can be met). Any reader of WARC
//! files passes it by; no byte of the capture is left in the file. What the disk or a copy of the file
//! still holds is not ours to erase.
//!
//! The lines of the index are overwritten likewise, each by a line of its length under a key that no URL has,
//! for the journal knows how long the index is.
//!
//! Cost: the bytes erased, and one pass over the index.

use std::collections::HashSet;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead as _, BufReader, BufWriter, Write as _};
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use super::cdx_line::CdxLine;
use super::date::warc_date;
use super::fields::Fields;
use super::record_id::RecordId;
use super::sort::{SortError, sort_index};
use super::writer::INDEX_NAME;

/// What a deflate block can store.
const STORED_MAX: u64 = 0xFFFF;
/// What a stored block costs beside its bytes.
const BLOCK_HEAD: u64 = 5;
/// What a gzip member costs beside its blocks.
const MEMBER_BYTES: u64 = 18;
/// The key of an index line that was erased: it sorts before all others.
const KEY: &str = "!forgotten";

/// Where the records of one capture are.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Erased {
    /// The name of the closed file, without folders.
    pub file_name: String,
    /// The first byte.
    pub offset: u64,
    /// The first byte behind all records of the capture.
    pub end: u64,
}

/// Overwrites captures. A file that is still open has its name with `.open` behind it. What was erased
/// before may be erased again.
pub fn erase(
    folder: &Path,
    captures: &[Erased],
    (namespace, now_ms): (&[u8; 16], u64),
) -> io::Result<u64> {
    let mut bytes = 0;
    for capture in captures {
        let closed = folder.join(&capture.file_name);
        let path = if closed.exists() {
            closed
        } else {
            folder.join(format!("{}.open", capture.file_name))
        };
        let file = OpenOptions::new().write(true).open(&path)?;
        let length = capture.end.saturating_sub(capture.offset);
        if capture.end > file.metadata()?.len() {
            return Err(io::Error::other(format!(
                "{}: ends before byte {}, where a capture ends",
                path.display(),
                capture.end
            )));
        }
        let id = RecordId::new(
            namespace,
            "erased",
            now_ms,
            capture.offset,
            &capture.file_name,
        );
        let member = member(length, &id.to_string(), now_ms).ok_or_else(|| {
            io::Error::other(format!(
                "{}: a record of {length} bytes is too short to be overwritten",
                path.display()
            ))
        })?;
        file.write_all_at(&member, capture.offset)?;
        file.sync_all()?;
        bytes += length;
    }
    Ok(bytes)
}

/// Overwrites the index lines of captures; a sorted index stays sorted.
pub fn erase_lines(
    folder: &Path,
    captures: &[Erased],
    sort_bytes_max: usize,
) -> Result<u64, SortError> {
    let path = folder.join(INDEX_NAME);
    let io = |source| SortError::Io {
        path: path.clone(),
        source,
    };
    let places: HashSet<(&str, u64)> = captures
        .iter()
        .map(|it| (it.file_name.as_str(), it.offset))
        .collect();
    if places.is_empty() || !path.exists() {
        return Ok(0);
    }
    let fresh = path.with_extension("cdxj.forgetting");
    let (erased, sorted) = rewrite(&path, &fresh, &places).map_err(io)?;
    fs::rename(&fresh, &path)
        .and_then(|()| File::open(folder)?.sync_all())
        .map_err(io)?;
    if sorted && erased > 0 {
        sort_index(&path, sort_bytes_max)?;
    }
    Ok(erased)
}

/// Writes the index anew: how many lines were erased, and whether it was sorted.
fn rewrite(path: &Path, fresh: &Path, places: &HashSet<(&str, u64)>) -> io::Result<(u64, bool)> {
    let mut input = BufReader::new(File::open(path)?);
    let mut out = BufWriter::new(File::create(fresh)?);
    let (mut line, mut before) = (Vec::new(), Vec::new());
    let (mut erased, mut sorted) = (0, true);
    loop {
        line.clear();
        if input.read_until(b'\n', &mut line)? == 0 {
            break;
        }
        sorted &= before <= line;
        before.clone_from(&line);
        let body = line.strip_suffix(b"\n").unwrap_or(&line);
        let found = CdxLine::parse(body).ok().and_then(|it| {
            let place = (it.filename?, it.offset?);
            places.contains(&(place.0.as_str(), place.1)).then_some(())
        });
        match found {
            Some(()) => {
                erased += 1;
                out.write_all(filler(body.len()).as_bytes())?;
                out.write_all(b"\n")?;
            }
            None => out.write_all(&line)?,
        }
    }
    out.into_inner()
        .map_err(io::IntoInnerError::into_error)?
        .sync_all()?;
    Ok((erased, sorted))
}

/// An index line of a length that names nothing.
fn filler(length: usize) -> String {
    let empty = format!("{KEY} 00000000000000 {{\"forgotten\": \"\"}}");
    let blanks = length.saturating_sub(empty.len());
    let line = format!(
        "{KEY} 00000000000000 {{\"forgotten\": \"{}\"}}",
        "-".repeat(blanks)
    );
    // A line shorter than that is none of ours.
    line[..length.min(line.len())].to_owned()
}

/// A gzip member of exactly this many bytes that holds one record; nothing if that is too few.
fn member(length: u64, id: &str, now_ms: u64) -> Option<Vec<u8>> {
    let blocks = length
        .checked_sub(MEMBER_BYTES)?
        .div_ceil(STORED_MAX + BLOCK_HEAD)
        .max(1);
    let bytes = length.checked_sub(MEMBER_BYTES + BLOCK_HEAD * blocks)?;
    let record = record(usize::try_from(bytes).ok()?, id, now_ms)?;
    let mut out = vec![0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 0xFF];
    let mut left = record.as_slice();
    for block in 1..=blocks {
        let (now, rest) = left.split_at(left.len().min(STORED_MAX as usize));
        left = rest;
        out.push(u8::from(block == blocks));
        let stored = now.len() as u16;
        out.extend_from_slice(&stored.to_le_bytes());
        out.extend_from_slice(&(!stored).to_le_bytes());
        out.extend_from_slice(now);
    }
    out.extend_from_slice(&crc32fast::hash(&record).to_le_bytes());
    out.extend_from_slice(&(record.len() as u32).to_le_bytes());
    debug_assert_eq!(out.len() as u64, length);
    Some(out)
}

/// A record of exactly this many bytes that says that something was taken out.
fn record(bytes: usize, id: &str, now_ms: u64) -> Option<Vec<u8>> {
    const TEXT: &str = "captures were taken out here on request\r\n";
    let build = |blanks: usize, note: &str| {
        let block = format!("{TEXT}{}", " ".repeat(blanks));
        let mut fields = Fields::new("metadata");
        fields.push("WARC-Record-ID", id);
        fields.push("WARC-Date", warc_date(now_ms));
        fields.push("Content-Type", "text/plain");
        if !note.is_empty() {
            fields.push("Comment", note);
        }
        let mut record = fields.end(block.len()).into_bytes();
        record.extend_from_slice(block.as_bytes());
        record.extend_from_slice(b"\r\n\r\n");
        record
    };
    // The length of a block stands in its head, so one blank more may be two bytes more: then a
    // field of its own takes up the difference.
    for note in ["", "-", "--"] {
        let least = build(0, note).len();
        let Some(blanks) = bytes.checked_sub(least) else {
            continue;
        };
        for fewer in 0..=20 {
            let Some(blanks) = blanks.checked_sub(fewer) else {
                break;
            };
            let record = build(blanks, note);
            if record.len() == bytes {
                return Some(record);
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read as _;

    #[test]
    fn a_member_of_any_length_holds_one_record() {
        let long = (0..40).chain([65_000, 65_530, 65_535, 65_540, 65_545, 131_080, 200_000]);
        let lengths = (250..1_600).chain(long.map(|more| 66_000 + more));
        let mut odd = 0;
        for length in lengths {
            let Some(packed) = member(length, "<urn:uuid:0>", 1_700_000_000_000) else {
                odd += 1;
                continue;
            };
            assert_eq!(packed.len() as u64, length);
            let mut record = Vec::new();
            flate2::read::GzDecoder::new(&packed[..])
                .read_to_end(&mut record)
                .unwrap();
            let text = String::from_utf8(record).unwrap();
            let (head, block) = text.split_once("\r\n\r\n").unwrap();
            let declared = head.split("Content-Length: ").nth(1).unwrap();
            let declared: usize = declared.split("\r\n").next().unwrap().parse().unwrap();
            assert_eq!(block.len(), declared + 4, "{length}");
        }
        assert_eq!(odd, 0, "lengths that cannot be met");
        assert_eq!(member(100, "<urn:uuid:0>", 0), None);
    }

    #[test]
    fn a_line_of_an_index_keeps_its_length() {
        for length in [60, 61, 300] {
            let line = filler(length);
            assert_eq!(line.len(), length);
            assert!(line.as_str() < "com,example)/ 2026", "it sorts first");
        }
    }
}
