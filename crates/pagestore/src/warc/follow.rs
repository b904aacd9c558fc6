//! Going on with an archive that other machines write too.
//!
//! In a cluster a shard's captures lie on the machine that fetched them: files are numbered over all of them, and
//! each has those it wrote. So whoever takes a shard over begins a file of its own behind the last number that
//! the journal knows. What an earlier process left here beyond that was never acknowledged, and goes; what
//! stands in a file that was acknowledged stays, also where the journal was cut behind it: a true capture that
//! no journal speaks of does no harm.
//!
//! Cost: the index is read once, and written anew where it speaks of files that went.

use std::fs;
use std::path::Path;

use super::folder::Folder;
use super::recovery::{ArchiveFiles, OpenError, check_name, io_error};
use super::sort::remove_temporaries;
use super::tail::Tail;
use super::writer::{INDEX_NAME, Settings, Writer};

impl Writer {
    /// Opens the archive at a path behind the file with a number; the next capture begins a new one.
    pub fn follow(
        path: &Path,
        settings: Settings,
        last: u32,
        folder: Box<dyn Folder>,
    ) -> Result<Self, OpenError> {
        check_name(&settings.name)?;
        fs::create_dir_all(path).map_err(io_error(path))?;
        let index_path = path.join(INDEX_NAME);
        remove_temporaries(&index_path).map_err(io_error(path))?;
        let found = ArchiveFiles::look(path, &settings)?;
        for file in &found.files {
            if file.number > last {
                folder.remove(&file.path).map_err(io_error(&file.path))?;
            } else if file.open {
                let closed = path.join(settings.file_name(file.number));
                folder
                    .rename(&file.path, &closed)
                    .map_err(io_error(&file.path))?;
            }
        }
        let index_len = keep_lines(path, &index_path)?;
        let index =
            Tail::open(folder.as_ref(), &index_path, index_len).map_err(io_error(&index_path))?;
        folder.sync(path).map_err(io_error(path))?;
        Ok(Self {
            folder,
            path: path.to_owned(),
            settings,
            current: None,
            number: last,
            closed_len: 0,
            info_len: 0,
            index,
        })
    }
}

/// Keeps the lines of an index that speak of files that are there. Returns how long it is.
fn keep_lines(path: &Path, index: &Path) -> Result<u64, OpenError> {
    let bytes = match fs::read(index) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(0),
        Err(error) => return Err(io_error(index)(error)),
    };
    let is_kept = |line: &&[u8]| {
        const NAME: &str = "\"filename\":";
        let text = String::from_utf8_lossy(line);
        let name = text.split_once(NAME).map(|(_, rest)| rest.trim_start());
        let name = name.and_then(|rest| rest.strip_prefix('"')?.split('"').next());
        line.ends_with(b"\n") && name.is_some_and(|name| path.join(name).exists())
    };
    let kept: Vec<u8> = bytes
        .split_inclusive(|byte| *byte == b'\n')
        .filter(is_kept)
        .flatten()
        .copied()
        .collect();
    if kept.len() < bytes.len() {
        let fresh = index.with_extension("kept");
        fs::write(&fresh, &kept).map_err(io_error(&fresh))?;
        fs::rename(&fresh, index).map_err(io_error(index))?;
    }
    Ok(kept.len() as u64)
}
