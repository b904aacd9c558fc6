//! The few things the archive asks of the folder it is in, so that tests can make each of them
//! fail; what it asks of a file is [`Disk`].
//!
//! Assumed of a disk: what `sync` returned for stays; a rename is there or not there, never
//! half; a file that was cut has the bytes before the cut unchanged.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::Path;
use std::sync::Arc;

use crate::disk::{Disk, RealDisk};

/// A folder, or a test's idea of one.
pub trait Folder: Send {
    /// Opens a file to be written; makes it if it is not there.
    fn open(&self, path: &Path) -> io::Result<Arc<dyn Disk>>;
    /// Gives a file another name in the same folder.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// Removes a file.
    fn remove(&self, path: &Path) -> io::Result<()>;
    /// Makes the names in the folder durable.
    fn sync(&self, folder: &Path) -> io::Result<()>;
}

/// A folder of the system.
#[derive(Clone, Copy, Debug)]
pub struct RealFolder;

impl Folder for RealFolder {
    fn open(&self, path: &Path) -> io::Result<Arc<dyn Disk>> {
        let file = OpenOptions::new()
            .create(true)
            .truncate(false)
            .read(true)
            .write(true)
            .open(path)?;
        Ok(Arc::new(RealDisk(file)))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }

    fn sync(&self, folder: &Path) -> io::Result<()> {
        File::open(folder)?.sync_all()
    }
}
