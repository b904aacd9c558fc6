//! Opens an archive as far as a journal acknowledges it, after any end, clean or not.
//!
//! Everything beyond is cut, in the WARC files and in the index. What was acknowledged and is not
//! there is an error that says what is missing, before anything is changed.
//!
//! Invariant: opening may itself be killed at any step and done again.
//! Cost: a look at each file's length.
//! Not here: archives without a journal; see `salvage`.

use std::fs::{self, File};
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use super::cdx_line::{CdxLine, CdxReader};
use super::folder::Folder;
use super::sort::remove_temporaries;
use super::tail::Tail;
use super::uploaded::{UPLOADED_ENDING, Uploaded};
use super::writer::{Ends, INDEX_NAME, Settings, Writer};

/// Why an archive cannot be opened. Nothing was changed by the step that failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The disk failed.
    #[error("{}: {source}", .path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// An acknowledged file is not there.
    #[error("{}: this file is missing, but the journal says that captures were written to it; put it back", .path.display())]
    Missing {
        /// The file.
        path: PathBuf,
    },
    /// An acknowledged file has lost its end.
    #[error("{}: {is} bytes long, but the journal says {should}: {} bytes of captures are missing; put the file back from a copy", .path.display(), should - is)]
    Short {
        /// The file.
        path: PathBuf,
        /// Its length.
        is: u64,
        /// What was acknowledged.
        should: u64,
    },
    /// The index cannot be cut where the journal says.
    #[error("{}: no line ends at byte {at}: the index was sorted or edited since the journal was written; make it anew from the WARC files", .path.display())]
    IndexChanged {
        /// The index.
        path: PathBuf,
        /// Where it should be cut.
        at: u64,
    },
    /// The name of the archive cannot be part of a file name.
    #[error("archive name {name:?}: use 1 to 100 letters, digits, '-', '_' and '.'")]
    Name {
        /// The name.
        name: String,
    },
}

/// What recovery cut away.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cut {
    /// Bytes of WARC files, whole files included.
    pub warc_bytes: u64,
    /// Bytes of the index.
    pub index_bytes: u64,
}

impl Writer {
    /// Opens the archive at a path as far as `ends` acknowledges it; cuts the rest.
    ///
    /// `Ends::default()` says that nothing was ever acknowledged: everything of this name goes.
    /// When the journal is lost, ask [`super::recover_without_journal`] for the ends first.
    pub fn open(
        path: &Path,
        settings: Settings,
        ends: Ends,
        folder: Box<dyn Folder>,
    ) -> Result<(Self, Cut), OpenError> {
        check_name(&settings.name)?;
        fs::create_dir_all(path).map_err(io_error(path))?;
        let index_path = path.join(INDEX_NAME);
        remove_temporaries(&index_path).map_err(io_error(path))?;
        check_index(&index_path, &settings, ends)?;
        let found = ArchiveFiles::look(path, &settings)?;
        found.check(ends)?;
        let mut cut = Cut::default();
        for number in 1..ends.file {
            found.close(number, folder.as_ref())?;
        }
        let current = found.reopen(ends, folder.as_ref(), &mut cut)?;
        for file in found.files.iter().filter(|file| file.number > ends.file) {
            cut.warc_bytes += file.len;
            folder.remove(&file.path).map_err(io_error(&file.path))?;
        }
        let index_is = len_of(&index_path)?.unwrap_or(0);
        cut.index_bytes = index_is - ends.index_len;
        let index = Tail::open(folder.as_ref(), &index_path, ends.index_len)
            .map_err(io_error(&index_path))?;
        folder.sync(path).map_err(io_error(path))?;
        let writer = Self {
            folder,
            path: path.to_owned(),
            settings,
            current,
            number: ends.file,
            closed_len: ends.warc_len,
            info_len: 0,
            index,
        };
        Ok((writer, cut))
    }
}

/// A WARC file of this archive.
pub(super) struct FoundFile {
    pub(super) number: u32,
    pub(super) path: PathBuf,
    pub(super) open: bool,
    pub(super) len: u64,
}

/// The WARC files of an archive, by number.
pub(super) struct ArchiveFiles<'a> {
    path: &'a Path,
    settings: &'a Settings,
    pub(super) files: Vec<FoundFile>,
}

impl<'a> ArchiveFiles<'a> {
    pub(super) fn look(path: &'a Path, settings: &'a Settings) -> Result<Self, OpenError> {
        let mut files = Vec::new();
        for entry in fs::read_dir(path).map_err(io_error(path))? {
            let entry = entry.map_err(io_error(path))?;
            let name = entry.file_name();
            let Some(name) = name.to_str() else {
                continue;
            };
            // A file that was brought elsewhere and dropped is as long as the note beside it says.
            if let Some(file) = name.strip_suffix(UPLOADED_ENDING) {
                let (file, path) = (number_of(file, settings), path.join(file));
                if let Some((number, false)) = file
                    && !path.exists()
                    && let Some(note) = Uploaded::of(&path).map_err(io_error(&path))?
                {
                    let (open, len) = (false, note.bytes);
                    files.push(FoundFile {
                        number,
                        path,
                        open,
                        len,
                    });
                }
                continue;
            }
            let Some((number, open)) = number_of(name, settings) else {
                continue;
            };
            let len = entry.metadata().map_err(io_error(&entry.path()))?.len();
            files.push(FoundFile {
                number,
                path: entry.path(),
                open,
                len,
            });
        }
        files.sort_by_key(|file| (file.number, file.open));
        Ok(Self {
            path,
            settings,
            files,
        })
    }

    fn final_path(&self, number: u32) -> PathBuf {
        self.path.join(self.settings.file_name(number))
    }

    fn get(&self, number: u32) -> Result<&FoundFile, OpenError> {
        let at = self.files.binary_search_by_key(&number, |file| file.number);
        at.map(|at| &self.files[at])
            .map_err(|_| OpenError::Missing {
                path: self.final_path(number),
            })
    }

    /// Looks that everything acknowledged is there, before anything is changed.
    fn check(&self, ends: Ends) -> Result<(), OpenError> {
        for number in 1..=ends.file {
            let file = self.get(number)?;
            if number == ends.file && file.len < ends.warc_len {
                return Err(OpenError::Short {
                    path: file.path.clone(),
                    is: file.len,
                    should: ends.warc_len,
                });
            }
        }
        Ok(())
    }

    /// A full file whose final name did not reach the disk gets it now.
    fn close(&self, number: u32, folder: &dyn Folder) -> Result<(), OpenError> {
        let file = self.get(number)?;
        if file.open {
            folder
                .rename(&file.path, &self.final_path(number))
                .map_err(io_error(&file.path))?;
        }
        Ok(())
    }

    /// Opens the last acknowledged file and cuts it; a closed one that ends right stays closed.
    fn reopen(
        &self,
        ends: Ends,
        folder: &dyn Folder,
        cut: &mut Cut,
    ) -> Result<Option<Tail>, OpenError> {
        if ends.file == 0 {
            return Ok(None);
        }
        let file = self.get(ends.file)?;
        if !file.open && file.len == ends.warc_len {
            return Ok(None);
        }
        let mut path = file.path.clone();
        if !file.open {
            path = self
                .path
                .join(format!("{}.open", self.settings.file_name(ends.file)));
            folder
                .rename(&file.path, &path)
                .map_err(io_error(&file.path))?;
        }
        cut.warc_bytes += file.len - ends.warc_len;
        Tail::open(folder, &path, ends.warc_len)
            .map(Some)
            .map_err(io_error(&path))
    }
}

/// The number of a file of this archive, and whether it is the open one.
fn number_of(name: &str, settings: &Settings) -> Option<(u32, bool)> {
    let rest = name.strip_prefix(&settings.name)?.strip_prefix('-')?;
    let (rest, open) = match rest.strip_suffix(".open") {
        Some(rest) => (rest, true),
        None => (rest, false),
    };
    let number: u32 = rest.strip_suffix(".warc.gz")?.parse().ok()?;
    let right = settings.file_name(number);
    let is_ours = number > 0 && name.strip_suffix(".open").unwrap_or(name) == right;
    is_ours.then_some((number, open))
}

pub(super) fn check_name(name: &str) -> Result<(), OpenError> {
    let right = (1..=100).contains(&name.len())
        && !name.starts_with('.')
        && name
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b));
    if right {
        Ok(())
    } else {
        Err(OpenError::Name {
            name: name.to_owned(),
        })
    }
}

/// Looks that the index can be cut at its acknowledged length: a line ends there, and what comes
/// behind points behind the acknowledged captures. A sorted index could be cut nowhere else.
fn check_index(path: &Path, settings: &Settings, ends: Ends) -> Result<(), OpenError> {
    let should = ends.index_len;
    let Some(is) = len_of(path)? else {
        return match should {
            0 => Ok(()),
            _ => Err(OpenError::Missing {
                path: path.to_owned(),
            }),
        };
    };
    if is < should {
        return Err(OpenError::Short {
            path: path.to_owned(),
            is,
            should,
        });
    }
    let can_be_cut = File::open(path)
        .and_then(|file| can_be_cut(file, settings, ends))
        .map_err(io_error(path))?;
    if can_be_cut {
        Ok(())
    } else {
        Err(OpenError::IndexChanged {
            path: path.to_owned(),
            at: should,
        })
    }
}

fn can_be_cut(mut file: File, settings: &Settings, ends: Ends) -> io::Result<bool> {
    let mut last = *b"\n";
    if ends.index_len > 0 {
        file.seek(SeekFrom::Start(ends.index_len - 1))?;
        file.read_exact(&mut last)?;
    }
    if last != *b"\n" {
        return Ok(false);
    }
    let acknowledged = |line: CdxLine| {
        let number = line.filename.and_then(|name| number_of(&name, settings));
        let place = number.map(|(number, _)| (number, line.offset.unwrap_or(0)));
        place.is_some_and(|place| place < (ends.file, ends.warc_len))
    };
    // A torn or strange line is no acknowledged one.
    Ok(!CdxReader::new(BufReader::new(file))
        .filter_map(Result::ok)
        .any(acknowledged))
}

pub(super) fn len_of(path: &Path) -> Result<Option<u64>, OpenError> {
    match fs::metadata(path) {
        Ok(metadata) => Ok(Some(metadata.len())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(io_error(path)(error)),
    }
}

pub(super) fn io_error(path: &Path) -> impl FnOnce(io::Error) -> OpenError {
    let path = path.to_owned();
    move |source| OpenError::Io { path, source }
}
