//! Text files from outside, line by line: plain, `.zst` or `.gz`, told apart by their names.
//!
//! Lines are handed out as slices of one buffer, so reading costs no allocation a line. A line has
//! a limit ([`LINE_BYTES_MAX`]); a cut-off or damaged compressed stream is an error, never a short
//! list.

use std::fs::File;
use std::io::{self, Read};
use std::ops::Range;
use std::path::{Path, PathBuf};

use memchr::memchr;

use crate::error::{LineFault, ReadError};

/// No line may be longer: two URLs of the longest kind browsers accept, with room to spare.
pub(crate) const LINE_BYTES_MAX: usize = 1 << 17;
const BUFFER_BYTES: usize = 1 << 20;

/// The lines of a file, without their line breaks.
pub(crate) struct Lines {
    path: PathBuf,
    source: Box<dyn Read>,
    buffer: Vec<u8>,
    /// Where the current line lies in the buffer.
    current: Range<usize>,
    /// What of the buffer is read but not yet walked over.
    start: usize,
    end: usize,
    at_end: bool,
    /// Number of the current line, counted from 1.
    line: u64,
}

impl Lines {
    pub(crate) fn open(path: &Path) -> Result<Self, ReadError> {
        let file = File::open(path).map_err(|error| ReadError::io(path, error))?;
        let source: Box<dyn Read> = match path.extension().and_then(|ext| ext.to_str()) {
            Some("zst") => Box::new(Named {
                format: "zstd",
                inner: zstd::stream::read::Decoder::new(file)
                    .map_err(|error| ReadError::io(path, error))?,
            }),
            Some("gz") => Box::new(Named {
                format: "gzip",
                inner: flate2::read::MultiGzDecoder::new(file),
            }),
            _ => Box::new(file),
        };
        Ok(Self {
            path: path.to_owned(),
            source,
            buffer: vec![0; BUFFER_BYTES],
            current: 0..0,
            start: 0,
            end: 0,
            at_end: false,
            line: 0,
        })
    }

    /// Goes on to the next line; false when there is none.
    #[inline]
    pub(crate) fn advance(&mut self) -> Result<bool, ReadError> {
        let mut searched = 0;
        self.current = loop {
            let rest = &self.buffer[self.start..self.end];
            if let Some(length) = memchr(b'\n', &rest[searched..]) {
                let line = self.start..self.start + searched + length;
                self.start = line.end + 1;
                break line;
            }
            searched = rest.len();
            if self.at_end {
                if searched == 0 {
                    return Ok(false);
                }
                let line = self.start..self.end;
                self.start = self.end;
                break line;
            }
            if searched > LINE_BYTES_MAX {
                self.line += 1;
                return Err(self.fault(LineFault::TooLong(LINE_BYTES_MAX)));
            }
            self.fill()?;
        };
        self.line += 1;
        Ok(true)
    }

    /// The current line, without `\n` or `\r\n`.
    #[inline]
    pub(crate) fn current(&self) -> &[u8] {
        let line = &self.buffer[self.current.clone()];
        line.strip_suffix(b"\r").unwrap_or(line)
    }

    /// Moves what is left to the front and reads more behind it.
    fn fill(&mut self) -> Result<(), ReadError> {
        self.buffer.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
        while self.end < self.buffer.len() {
            match self.source.read(&mut self.buffer[self.end..]) {
                Ok(0) => {
                    self.at_end = true;
                    break;
                }
                Ok(bytes) => self.end += bytes,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(ReadError::io(&self.path, error)),
            }
        }
        Ok(())
    }

    /// An error at the current line.
    pub(crate) fn fault(&self, fault: LineFault) -> ReadError {
        ReadError::line(&self.path, self.line, fault)
    }

    pub(crate) fn line(&self) -> u64 {
        self.line
    }
}

/// A decompressor whose errors say what they are about.
struct Named<R> {
    format: &'static str,
    inner: R,
}

impl<R: Read> Read for Named<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.inner.read(buffer).map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof | io::ErrorKind::Interrupted => error,
            kind => io::Error::new(
                kind,
                format!(
                    "damaged {} stream ({error}); copy or make it again",
                    self.format
                ),
            ),
        })
    }
}

/// `path` with `suffix` put behind its name (unlike `with_extension`, which would cut `a.b`).
pub(crate) fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

/// `path` without `suffix`, if its name ends so.
pub(crate) fn without_suffix(path: &Path, suffix: &str) -> Option<PathBuf> {
    let name = path.file_name()?.to_str()?.strip_suffix(suffix)?;
    (!name.is_empty()).then(|| path.with_file_name(name))
}
