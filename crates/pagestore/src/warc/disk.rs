//! The few things the archive asks of a disk, so that tests can make each of them fail.
//!
//! Assumed of a disk: what `sync` returned for stays; a rename is there or not there, never
//! half; a file that was cut has the bytes before the cut unchanged.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::Path;

/// A disk, or a test's idea of one.
pub trait Disk: Send {
    /// Opens a file for appending; makes it if it is not there.
    fn open(&self, path: &Path) -> io::Result<Box<dyn DiskFile>>;
    /// Gives a file another name in the same folder.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// Removes a file.
    fn remove(&self, path: &Path) -> io::Result<()>;
    /// Makes the names in a folder durable.
    fn sync_folder(&self, folder: &Path) -> io::Result<()>;
}

/// A file that is appended to.
pub trait DiskFile: Send {
    /// How long it is.
    fn byte_len(&self) -> io::Result<u64>;
    /// Appends bytes; after an error any part of them may be there.
    fn append(&mut self, bytes: &[u8]) -> io::Result<()>;
    /// Cuts it to a length.
    fn cut(&mut self, len: u64) -> io::Result<()>;
    /// Returns when all of it is durable.
    fn sync(&mut self) -> io::Result<()>;
}

/// The disk of this machine.
#[derive(Clone, Copy, Debug)]
pub struct RealDisk;

impl Disk for RealDisk {
    fn open(&self, path: &Path) -> io::Result<Box<dyn DiskFile>> {
        let file = OpenOptions::new().create(true).append(true).open(path)?;
        Ok(Box::new(RealFile(file)))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }

    fn sync_folder(&self, folder: &Path) -> io::Result<()> {
        File::open(folder)?.sync_all()
    }
}

struct RealFile(File);

impl DiskFile for RealFile {
    fn byte_len(&self) -> io::Result<u64> {
        Ok(self.0.metadata()?.len())
    }

    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.0.write_all(bytes)
    }

    fn cut(&mut self, len: u64) -> io::Result<()> {
        self.0.set_len(len)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.0.sync_data()
    }
}
