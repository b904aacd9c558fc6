//! The bytes of a WARC file, unpacked if it is packed, with the places they came from.
//!
//! A packed file is a row of gzip members, usually one for each record. Bytes are handed out
//! member by member: the end of one is seen as an end, so that no record can swallow the next. A
//! plain file is one member without a frame.
//!
//! Cost: buffers of 32 KiB and a decompressor; nothing grows with the file.
//! Invariant: positions only move forward, but for `seek_member`.

use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};

use flate2::bufread::GzDecoder;

const BUFFER_BYTES: usize = 32 * 1024;

/// The first bytes of a gzip member that holds deflate data.
const MAGIC: [u8; 3] = [0x1F, 0x8B, 8];

enum Layer<R> {
    Plain(R),
    Packed(Box<GzDecoder<R>>),
}

impl<R: BufRead> Layer<R> {
    fn inner(&mut self) -> &mut R {
        match self {
            Self::Plain(input) => input,
            Self::Packed(decoder) => decoder.get_mut(),
        }
    }

    fn into_inner(self) -> R {
        match self {
            Self::Plain(input) => input,
            Self::Packed(decoder) => decoder.into_inner(),
        }
    }
}

/// A WARC file, being unpacked.
pub(super) struct Unpacked<R> {
    /// `None` only while it is changed.
    layer: Option<Layer<Input<R>>>,
    buffer: Vec<u8>,
    at: usize,
    member_start: u64,
    /// Unpacked bytes of this member handed out so far.
    taken: u64,
    member_over: bool,
    /// Whether the member could not be unpacked: it stays so until another one is begun.
    failed: bool,
    last_taken: u8,
}

impl<R: Read + Seek> Unpacked<R> {
    /// Reads from `start` to `end`, or to the end of the file.
    pub(super) fn new(source: R, start: u64, end: Option<u64>) -> io::Result<Self> {
        let mut unpacked = Self {
            layer: Some(Layer::Plain(Input::new(source, end))),
            buffer: Vec::with_capacity(BUFFER_BYTES),
            at: 0,
            member_start: start,
            taken: 0,
            member_over: true,
            failed: false,
            last_taken: b'\n',
        };
        unpacked.seek_member(start)?;
        Ok(unpacked)
    }

    /// Where the member begins that is being read.
    pub(super) fn member_start(&self) -> u64 {
        self.member_start
    }

    /// How many unpacked bytes of it were taken.
    pub(super) fn taken(&self) -> u64 {
        self.taken
    }

    /// Whether the member has a gzip frame.
    pub(super) fn is_packed(&self) -> bool {
        matches!(self.layer, Some(Layer::Packed(_)))
    }

    /// Where in the file the next byte is read from, when nothing is buffered.
    pub(super) fn position(&mut self) -> u64 {
        self.layer().inner().position
    }

    /// The byte taken last; a line end at the beginning.
    pub(super) fn last_taken(&self) -> u8 {
        self.last_taken
    }

    /// Unpacked bytes that come next; none at the end of the member.
    pub(super) fn peek(&mut self) -> io::Result<&[u8]> {
        self.peek_at_least(1)
    }

    /// Unpacked bytes that come next, at least so many unless the member ends before.
    pub(super) fn peek_at_least(&mut self, count: usize) -> io::Result<&[u8]> {
        debug_assert!(count < BUFFER_BYTES);
        while self.buffer.len() - self.at < count && !self.member_over {
            self.fill()?;
        }
        if self.failed && self.at == self.buffer.len() {
            return Err(io::ErrorKind::InvalidData.into());
        }
        Ok(&self.buffer[self.at..])
    }

    /// Takes bytes that were seen by `peek`.
    pub(super) fn take(&mut self, count: usize) {
        if count > 0 {
            self.at += count;
            self.taken += count as u64;
            self.last_taken = self.buffer[self.at - 1];
        }
    }

    /// Passes over the rest of the member; false if it cannot be unpacked.
    pub(super) fn skip_member(&mut self) -> io::Result<bool> {
        loop {
            match self.peek() {
                Ok([]) => return Ok(true),
                Ok(bytes) => {
                    let count = bytes.len();
                    self.take(count);
                }
                Err(error) if is_disk_error(&error) => return Err(error),
                Err(_) => return Ok(false),
            }
        }
    }

    /// Unpacks more behind what is buffered. What cannot be unpacked ends the member: the bytes
    /// before it are still handed out.
    fn fill(&mut self) -> io::Result<()> {
        self.buffer.drain(..self.at);
        self.at = 0;
        let kept = self.buffer.len();
        self.buffer.resize(kept + BUFFER_BYTES, 0);
        let free = &mut self.buffer[kept..];
        let read = match self.layer.as_mut().expect("only taken within a call") {
            Layer::Plain(input) => read_some(input, free),
            Layer::Packed(decoder) => read_some(decoder, free),
        };
        self.buffer
            .truncate(kept + read.as_ref().map_or(0, |&count| count));
        match read {
            Ok(0) => self.member_over = true,
            Ok(_) => {}
            Err(error) if is_disk_error(&error) => return Err(error),
            Err(_) => {
                self.member_over = true;
                self.failed = true;
            }
        }
        Ok(())
    }

    /// Goes on with the member behind this one, which must be at its end; false at the end of the
    /// file.
    pub(super) fn next_member(&mut self) -> io::Result<bool> {
        assert!(self.member_over, "a member is read to its end");
        let start = self.position();
        self.begin_member(start)
    }

    /// Begins again with the member at `start`; false if the file ends there.
    pub(super) fn seek_member(&mut self, start: u64) -> io::Result<bool> {
        self.layer().inner().seek_to(start)?;
        self.begin_member(start)
    }

    fn begin_member(&mut self, start: u64) -> io::Result<bool> {
        let mut input = self
            .layer
            .take()
            .expect("only taken within a call")
            .into_inner();
        let first = input.fill_buf().map(|bytes| bytes.first().copied());
        let packed = matches!(first, Ok(Some(0x1F)));
        self.layer = Some(if packed {
            Layer::Packed(Box::new(GzDecoder::new(input)))
        } else {
            Layer::Plain(input)
        });
        self.buffer.clear();
        self.at = 0;
        self.member_start = start;
        self.taken = 0;
        self.last_taken = b'\n';
        self.failed = false;
        self.member_over = first?.is_none();
        Ok(!self.member_over)
    }

    /// Begins with the first member at or after `from` that unpacks to what begins a record; false
    /// if there is none.
    pub(super) fn find_member(&mut self, mut from: u64) -> io::Result<bool> {
        loop {
            self.layer().inner().seek_to(from)?;
            let Some(start) = self.layer().inner().find_magic()? else {
                return Ok(false);
            };
            self.seek_member(start)?;
            match self.peek() {
                Ok(bytes) if bytes.starts_with(b"WARC/") => return Ok(true),
                Err(error) if is_disk_error(&error) => return Err(error),
                Ok(_) | Err(_) => from = start + 1,
            }
        }
    }

    fn layer(&mut self) -> &mut Layer<Input<R>> {
        self.layer.as_mut().expect("only taken within a call")
    }
}

/// Whether an error tells of the disk, and not of bytes that cannot be unpacked.
pub(super) fn is_disk_error(error: &io::Error) -> bool {
    use io::ErrorKind::{InvalidData, InvalidInput, UnexpectedEof};
    error.raw_os_error().is_some()
        || !matches!(error.kind(), InvalidData | InvalidInput | UnexpectedEof)
}

fn read_some(input: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    loop {
        match input.read(buffer) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            read => return read,
        }
    }
}

/// The file itself, with a position and an end.
struct Input<R> {
    file: BufReader<R>,
    position: u64,
    end: u64,
}

impl<R: Read + Seek> Input<R> {
    fn new(source: R, end: Option<u64>) -> Self {
        Self {
            file: BufReader::with_capacity(BUFFER_BYTES, source),
            position: 0,
            end: end.unwrap_or(u64::MAX),
        }
    }

    fn seek_to(&mut self, position: u64) -> io::Result<()> {
        self.file.seek(SeekFrom::Start(position))?;
        self.position = position;
        Ok(())
    }

    /// The position of the next bytes that look like the head of a gzip member.
    fn find_magic(&mut self) -> io::Result<Option<u64>> {
        let mut window = [0_u8; 4];
        let mut seen = 0;
        loop {
            let bytes = self.fill_buf()?;
            if bytes.is_empty() {
                return Ok(None);
            }
            let mut found = None;
            for (i, &byte) in bytes.iter().enumerate() {
                window.rotate_left(1);
                window[3] = byte;
                seen += 1;
                // The three upper flags are reserved and 0.
                if seen >= 4 && window.starts_with(&MAGIC) && window[3] & 0xE0 == 0 {
                    found = Some(i as u64);
                    break;
                }
            }
            let read = bytes.len();
            match found {
                Some(i) => return Ok(Some(self.position + i - 3)),
                None => self.consume(read),
            }
        }
    }
}

impl<R: Read + Seek> Read for Input<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.fill_buf()?.read(buffer)?;
        self.consume(count);
        Ok(count)
    }
}

impl<R: Read + Seek> BufRead for Input<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        let left = self.end.saturating_sub(self.position);
        if left == 0 {
            return Ok(&[]);
        }
        let bytes = self.file.fill_buf()?;
        let count = bytes.len().min(usize::try_from(left).unwrap_or(usize::MAX));
        Ok(&bytes[..count])
    }

    fn consume(&mut self, count: usize) {
        self.file.consume(count);
        self.position += count as u64;
    }
}
