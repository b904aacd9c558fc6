//! The few things we ask of a file, so that tests can have disks that fail.
//!
//! Everything is by position and through a shared reference: the owner appends, readers read what
//! was appended, and another thread syncs.

use std::fmt::Debug;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;

/// A file that is appended to.
pub trait Disk: Debug + Send + Sync {
    /// Reads some bytes at a position; 0 at the end.
    fn read_at(&self, bytes: &mut [u8], at: u64) -> io::Result<usize>;

    /// Writes some bytes at a position, perhaps not all.
    fn write_at(&self, bytes: &[u8], at: u64) -> io::Result<usize>;

    /// Cuts the file to a length.
    fn cut(&self, length: u64) -> io::Result<()>;

    /// How long the file is.
    fn length(&self) -> io::Result<u64>;

    /// Returns when everything written before is durable.
    fn sync(&self) -> io::Result<()>;
}

/// A file of the system.
#[derive(Debug)]
pub struct RealDisk(pub File);

impl Disk for RealDisk {
    fn read_at(&self, bytes: &mut [u8], at: u64) -> io::Result<usize> {
        self.0.read_at(bytes, at)
    }

    fn write_at(&self, bytes: &[u8], at: u64) -> io::Result<usize> {
        self.0.write_at(bytes, at)
    }

    fn cut(&self, length: u64) -> io::Result<()> {
        self.0.set_len(length)
    }

    fn length(&self) -> io::Result<u64> {
        Ok(self.0.metadata()?.len())
    }

    fn sync(&self) -> io::Result<()> {
        self.0.sync_data()
    }
}

/// Fills as many bytes as there are at a position; returns how many.
pub(crate) fn read_full(disk: &dyn Disk, bytes: &mut [u8], at: u64) -> io::Result<usize> {
    let mut done = 0;
    while done < bytes.len() {
        match disk.read_at(&mut bytes[done..], at + done as u64) {
            Ok(0) => break,
            Ok(more) => done += more,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(done)
}

/// Writes all bytes at a position, the end of the file; on failure the file is as it was.
pub(crate) fn append(disk: &dyn Disk, bytes: &[u8], at: u64) -> io::Result<()> {
    let mut done = 0;
    while done < bytes.len() {
        match disk.write_at(&bytes[done..], at + done as u64) {
            Ok(0) => {
                cut_back(disk, at);
                return Err(io::ErrorKind::WriteZero.into());
            }
            Ok(more) => done += more,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => {
                cut_back(disk, at);
                return Err(error);
            }
        }
    }
    Ok(())
}

/// What was half written is overwritten by the next attempt, or cut when the journal is opened:
/// that cutting it now may fail too does no harm.
fn cut_back(disk: &dyn Disk, length: u64) {
    let _ = disk.cut(length);
}
