//! Which files of a crawl are brought to a store, once each, and which may be dropped here.
//!
//! WARC files are brought when nothing can change them any more: they are closed, and the journal says so durably
//! ([`Store::settled_files`]). After the store has acknowledged a file, a note beside it says where it is
//! ([`Uploaded`]); a file with a note is not looked at again. A kill between the two is found out by reading what
//! lies there. Only a file with a note is ever dropped, by the rule of the operator ([`Keep`]). The index and the
//! reports change: they are brought again when they did.
//!
//! One process at a time brings files of a crawl; it holds a lock that dies with it.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use turnstone_pagestore::warc::{INDEX_NAME, Uploaded};
use turnstone_pagestore::{Lock, Store, shard_folders};

use super::files::{Depot, DepotError, Lies, Put};

/// What is locked while files are brought.
const LOCK: &str = "store/uploading";
/// What a crawl shows, brought beside its WARC files.
const REPORTS: &str = "reports";

/// Which local copies of brought WARC files stay.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Keep {
    /// All.
    #[default]
    All,
    /// None.
    None,
    /// Those that were brought within so many milliseconds.
    Milliseconds(u64),
    /// The newest, up to so many bytes together.
    Bytes(u64),
}

/// What is to be brought, and by which rule.
#[derive(Clone, Copy, Debug)]
pub struct Load<'a> {
    /// The crawl directory.
    pub directory: &'a Path,
    /// Which local copies stay.
    pub keep: Keep,
    /// Now, in milliseconds of 1970.
    pub now_ms: u64,
}

/// How a file stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// It was sent now.
    Sent,
    /// It lay there already.
    There,
    /// A note said so.
    Known,
}

/// A file that lies in the store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Brought {
    /// The local file.
    pub file: PathBuf,
    /// Its URL there.
    pub place: String,
    /// Its length.
    pub bytes: u64,
    /// How it stands.
    pub state: State,
    /// Whether there is a local copy.
    pub is_here: bool,
    /// Whether the local copy was dropped now.
    pub dropped: bool,
}

/// Brings what is to be brought, tells of each file when it lies there, and drops what may be dropped.
pub fn bring(
    depot: &Depot,
    load: Load<'_>,
    mut tell: impl FnMut(&Brought),
) -> Result<Vec<Brought>, DepotError> {
    let lock = locked(load.directory)?;
    let mut all = Vec::new();
    for folder in folders(load.directory) {
        let store = Store::look(&folder)?;
        let archive = store.archive();
        let stands_still = stands_still(&folder);
        let settled = settled(&store, stands_still)?;
        let mut found = Vec::new();
        for number in 1..=settled {
            let name = archive.file_name(number);
            let file = store.archive_folder().join(&name);
            if let Some(one) = bring_one(depot, &file, &format!("warc/{name}"), load.now_ms)? {
                if one.state != State::Known {
                    tell(&one);
                }
                found.push(one);
            }
        }
        drop_by_rule(&mut found, load)?;
        all.append(&mut found);
        if stands_still {
            let index = store.archive_folder().join(INDEX_NAME);
            let name = format!("index/{}.cdxj", archive.name);
            all.extend(bring_again(depot, &index, &name)?);
        }
    }
    if folders(load.directory)
        .iter()
        .all(|folder| stands_still(folder))
    {
        let name = Store::look(&folders(load.directory)[0])?.archive().name;
        for file in reports(load.directory).map_err(failed(load.directory))? {
            let of = file
                .file_name()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned();
            all.extend(bring_again(
                depot,
                &file,
                &format!("{REPORTS}/{name}/{of}"),
            )?);
        }
    }
    drop(lock);
    Ok(all)
}

/// The folders that have stores: of a crawl in one piece its own.
fn folders(directory: &Path) -> Vec<PathBuf> {
    let shards = shard_folders(directory);
    if shards.is_empty() {
        vec![directory.to_owned()]
    } else {
        shards
    }
}

/// Whether no process crawls there. If one begins a moment later, it begins a new file.
fn stands_still(folder: &Path) -> bool {
    Lock::holder(folder).is_none()
}

/// How many WARC files stay as they are. Of a crawl that stands still all that are closed: it closed the last one
/// when the journal had it durably.
fn settled(store: &Store, stands_still: bool) -> Result<u32, DepotError> {
    match stands_still {
        true => Ok(store.index().capture().map_or(0, |last| last.file)),
        false => Ok(store.settled_files()?),
    }
}

fn locked(directory: &Path) -> Result<File, DepotError> {
    let path = directory.join(LOCK);
    // A directory that is no crawl is told as such.
    drop(Store::look(&folders(directory)[0])?);
    fs::create_dir_all(directory.join("store")).map_err(failed(&path))?;
    let lock = File::create(&path).map_err(failed(&path))?;
    match lock.try_lock() {
        Ok(()) => Ok(lock),
        Err(fs::TryLockError::WouldBlock) => Err(DepotError::Busy(directory.to_owned())),
        Err(fs::TryLockError::Error(source)) => Err(failed(&path)(source)),
    }
}

/// A WARC file; nothing if it is not there, or not closed.
fn bring_one(
    depot: &Depot,
    file: &Path,
    name: &str,
    now_ms: u64,
) -> Result<Option<Brought>, DepotError> {
    let is_here = file.exists();
    let brought = |note: Uploaded, state| Brought {
        file: file.to_owned(),
        place: note.place,
        bytes: note.bytes,
        state,
        is_here,
        dropped: false,
    };
    if let Some(note) = Uploaded::of(file).map_err(failed(file))? {
        // It may lie elsewhere, from before the operator named another store. Without a local copy it stays there.
        if note.place == depot.url(name) || !is_here {
            return Ok(Some(brought(note, State::Known)));
        }
    }
    if !is_here {
        return Ok(None);
    }
    let lies = depot.lay(file, name, Put::Once)?;
    let state = if lies.sent { State::Sent } else { State::There };
    let note = noted(lies, now_ms);
    note.write(file).map_err(failed(file))?;
    Ok(Some(brought(note, state)))
}

/// A file that changes; nothing if it is not there.
fn bring_again(depot: &Depot, file: &Path, name: &str) -> Result<Option<Brought>, DepotError> {
    if !file.exists() {
        return Ok(None);
    }
    let lies = depot.lay(file, name, Put::Again)?;
    Ok(Some(Brought {
        file: file.to_owned(),
        place: lies.url,
        bytes: lies.bytes,
        state: State::Sent,
        is_here: true,
        dropped: false,
    }))
}

fn noted(lies: Lies, wall_ms: u64) -> Uploaded {
    Uploaded {
        place: lies.url,
        bytes: lies.bytes,
        sha256: lies.sha256,
        wall_ms,
    }
}

/// Drops local copies, the oldest first.
fn drop_by_rule(found: &mut [Brought], load: Load<'_>) -> Result<(), DepotError> {
    let mut bytes_kept = 0_u64;
    for one in found.iter_mut().rev().filter(|one| one.is_here) {
        let stays = match load.keep {
            Keep::All => true,
            Keep::None => false,
            Keep::Bytes(max) => {
                bytes_kept += one.bytes;
                bytes_kept <= max
            }
            Keep::Milliseconds(span) => {
                let note = Uploaded::of(&one.file).map_err(failed(&one.file))?;
                let since = note.map_or(0, |note| load.now_ms.saturating_sub(note.wall_ms));
                since <= span
            }
        };
        if !stays {
            fs::remove_file(&one.file).map_err(failed(&one.file))?;
            (one.is_here, one.dropped) = (false, true);
        }
    }
    Ok(())
}

fn reports(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let folder = directory.join(REPORTS);
    if !folder.is_dir() {
        return Ok(Vec::new());
    }
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_file() {
            files.push(entry.path());
        }
    }
    files.sort();
    Ok(files)
}

/// What was brought back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Back {
    /// The local file.
    pub file: PathBuf,
    /// Its length.
    pub bytes: u64,
}

/// Brings back every WARC file whose local copy was dropped; each is held against its digest.
pub fn back(depot: &Depot, directory: &Path) -> Result<Vec<Back>, DepotError> {
    let lock = locked(directory)?;
    let mut all = Vec::new();
    for folder in folders(directory) {
        let store = Store::look(&folder)?;
        let archive = store.archive();
        let last = store.index().capture().map_or(0, |last| last.file);
        for number in 1..=last {
            let name = archive.file_name(number);
            let file = store.archive_folder().join(&name);
            let note = Uploaded::of(&file).map_err(failed(&file))?;
            if let Some(note) = note.filter(|_| !file.exists()) {
                if note.place != depot.url(&format!("warc/{name}")) {
                    return Err(DepotError::Elsewhere { place: note.place });
                }
                depot.fetch(&format!("warc/{name}"), (note.bytes, &note.sha256), &file)?;
                let bytes = note.bytes;
                all.push(Back { file, bytes });
            }
        }
    }
    drop(lock);
    Ok(all)
}

fn failed(path: &Path) -> impl Fn(io::Error) -> DepotError + use<> {
    let path = path.to_owned();
    move |source| DepotError::File {
        path: path.clone(),
        source,
    }
}
