//! Files: an Atom feed, written whole, and lines of JSON, added.
//!
//! A kill after lines were added and before the cursor was noted would add them again. The file itself
//! says how far it is: a last line that is not whole is cut, and what its last whole line already tells
//! is not told again. So this file has every event once, as long as nobody else writes to it.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::Path;

use turnstone_events::{SiteEvent, atom, json};

use crate::courier::Batch;
use crate::send::SendError;

/// How much of the end of a file is looked at for its last line.
const TAIL_BYTES: u64 = 1 << 20;

pub(crate) fn write_feed(path: &Path, name: &str, batch: &Batch<'_>) -> Result<(), SendError> {
    let events: Vec<SiteEvent> = batch.before.iter().chain(batch.events).cloned().collect();
    let text = atom(batch.crawl, name, &events);
    let write = || {
        let folder = match path.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        };
        let mut file = tempfile::NamedTempFile::new_in(folder)?;
        file.write_all(text.as_bytes())?;
        make_readable(file.as_file())?;
        file.as_file().sync_all()?;
        file.persist(path).map_err(|error| error.error)?;
        Ok(())
    };
    write().map_err(|source| failed(path, source))
}

pub(crate) fn add_lines(path: &Path, batch: &Batch<'_>) -> Result<(), SendError> {
    let add = || {
        let mut options = OpenOptions::new();
        let mut file = options
            .create(true)
            .truncate(false)
            .read(true)
            .write(true)
            .open(path)?;
        let told = last_told(&mut file, batch.crawl)?;
        let fresh = |event: &&SiteEvent| told.is_none_or(|position| event.at.0 > position);
        let lines: String = batch
            .events
            .iter()
            .filter(fresh)
            .map(|event| format!("{}\n", json(event)))
            .collect();
        file.seek(SeekFrom::End(0))?;
        file.write_all(lines.as_bytes())?;
        file.sync_data()
    };
    add().map_err(|source| failed(path, source))
}

/// Cuts a last line that is not whole, and says which position of this crawl the last whole one tells.
fn last_told(file: &mut File, crawl: &str) -> io::Result<Option<u64>> {
    let length = file.metadata()?.len();
    let from = length.saturating_sub(TAIL_BYTES);
    file.seek(SeekFrom::Start(from))?;
    let mut tail = Vec::new();
    file.read_to_end(&mut tail)?;
    let end = tail.iter().rposition(|byte| *byte == b'\n');
    let torn = &tail[end.map_or(0, |at| at + 1)..];
    if torn.first() == Some(&b'{') && (end.is_some() || from == 0) {
        file.set_len(length - torn.len() as u64)?;
    } else if !torn.is_empty() {
        // No line of ours: it is left as it is.
        file.seek(SeekFrom::End(0))?;
        file.write_all(b"\n")?;
    }
    let Some(end) = end else {
        return Ok(None);
    };
    let begin = tail[..end].iter().rposition(|byte| *byte == b'\n');
    let line = &tail[begin.map_or(0, |at| at + 1)..end];
    let line: serde_json::Value = serde_json::from_slice(line).unwrap_or_default();
    let is_ours = line["id"].as_str().is_some_and(|id| id.starts_with(crawl));
    Ok(line["position"].as_u64().filter(|_| is_ours))
}

fn failed(path: &Path, source: io::Error) -> SendError {
    SendError::File {
        path: path.display().to_string(),
        source,
    }
}

/// Temporary files are private; what a user asked for has the usual permissions.
#[cfg(unix)]
pub(crate) fn make_readable(file: &File) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    file.set_permissions(fs::Permissions::from_mode(0o644))
}

#[cfg(not(unix))]
pub(crate) fn make_readable(_: &File) -> io::Result<()> {
    Ok(())
}
