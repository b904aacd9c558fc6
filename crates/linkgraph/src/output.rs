//! Files that appear whole or not at all.
//!
//! A [`NewFile`] writes beside its place under a name of its own; `seal` completes it and `publish`
//! renames it. Dropped before, it removes what it wrote. Several files that belong together are all
//! sealed first and then published, so that a full disk leaves none of them.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use crate::error::WriteError;
use crate::input::with_suffix;

const BUFFER_BYTES: usize = 1 << 18;
/// Fast, and within a few per cent of the slower levels on sorted links.
const ZSTD_LEVEL: i32 = 3;

/// A file being written; compressed when its name ends in `.zst` or `.gz`.
pub(crate) struct NewFile {
    place: Place,
    writer: Writer,
}

enum Writer {
    Plain(BufWriter<File>),
    Zst(BufWriter<zstd::stream::write::Encoder<'static, File>>),
    Gz(BufWriter<flate2::write::GzEncoder<File>>),
}

impl NewFile {
    pub(crate) fn create(path: &Path) -> Result<Self, WriteError> {
        let fail = |error| WriteError::new(path, error);
        let temporary = with_suffix(path, &format!(".{}.part", std::process::id()));
        let file = File::create(&temporary).map_err(fail)?;
        // From here on a failure removes the file.
        let place = Place {
            path: path.to_owned(),
            temporary,
        };
        let writer = match path.extension().and_then(|ext| ext.to_str()) {
            Some("zst") => {
                let mut encoder =
                    zstd::stream::write::Encoder::new(file, ZSTD_LEVEL).map_err(fail)?;
                encoder.include_checksum(true).map_err(fail)?;
                Writer::Zst(BufWriter::with_capacity(BUFFER_BYTES, encoder))
            }
            Some("gz") => {
                let encoder = flate2::write::GzEncoder::new(file, flate2::Compression::fast());
                Writer::Gz(BufWriter::with_capacity(BUFFER_BYTES, encoder))
            }
            _ => Writer::Plain(BufWriter::with_capacity(BUFFER_BYTES, file)),
        };
        Ok(Self { place, writer })
    }

    /// Writes bytes; the error names the file.
    #[inline]
    pub(crate) fn put(&mut self, bytes: &[u8]) -> Result<(), WriteError> {
        self.write_all(bytes)
            .map_err(|error| WriteError::new(&self.place.path, error))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.place.path
    }

    /// Completes the file, still under its temporary name.
    pub(crate) fn seal(self) -> Result<Sealed, WriteError> {
        let Self { place, writer } = self;
        let done: io::Result<()> = match writer {
            Writer::Plain(mut writer) => writer.flush(),
            Writer::Zst(writer) => writer
                .into_inner()
                .map_err(io::IntoInnerError::into_error)
                .and_then(zstd::stream::write::Encoder::finish)
                .map(drop),
            Writer::Gz(writer) => writer
                .into_inner()
                .map_err(io::IntoInnerError::into_error)
                .and_then(flate2::write::GzEncoder::finish)
                .map(drop),
        };
        match done {
            Ok(()) => Ok(Sealed(place)),
            Err(error) => Err(WriteError::new(&place.path, error)),
        }
    }
}

impl Write for NewFile {
    #[inline]
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.writer {
            Writer::Plain(writer) => writer.write(bytes),
            Writer::Zst(writer) => writer.write(bytes),
            Writer::Gz(writer) => writer.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.writer {
            Writer::Plain(writer) => writer.flush(),
            Writer::Zst(writer) => writer.flush(),
            Writer::Gz(writer) => writer.flush(),
        }
    }
}

/// A complete file that waits for its name.
pub(crate) struct Sealed(Place);

impl Sealed {
    /// Gives the file its name, over any file that had it.
    pub(crate) fn publish(self) -> Result<(), WriteError> {
        fs::rename(&self.0.temporary, &self.0.path)
            .map_err(|error| WriteError::new(&self.0.path, error))
    }
}

struct Place {
    path: PathBuf,
    temporary: PathBuf,
}

impl Drop for Place {
    fn drop(&mut self) {
        // Published: there is nothing of this name any more. Failed: nothing better can be done.
        let _ = fs::remove_file(&self.temporary);
    }
}
