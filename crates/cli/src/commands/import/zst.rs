//! Files packed with zstd, with or without a dictionary at their beginning.
//!
//! Archives pack WARC files so (`.warc.zst`): a frame a record, and where records are much alike a dictionary for all
//! of them, in a frame that other readers skip and that may be packed itself. A record is read around damages by
//! going back and forth in the file, which a stream of zstd cannot; so such a file is unpacked into a temporary one,
//! one at a time.
//!
//! Cost: the unpacked file on the disk for temporary files, while it is read; at most [`BYTES_MAX`].

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write as _};

use anyhow::{Context as _, bail};

use super::source::{self, Source};

/// How a frame begins.
const FRAME: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
/// How the frame of a dictionary begins.
const DICTIONARY: [u8; 4] = [0x5d, 0x2a, 0x4d, 0x18];
/// The longest dictionary.
const DICTIONARY_BYTES_MAX: u64 = 64 << 20;
/// The longest file, unpacked.
const BYTES_MAX: u64 = 1 << 38;

/// Whether a file that begins so is packed with zstd.
pub(super) fn is_it(magic: &[u8]) -> bool {
    magic == FRAME || magic == DICTIONARY
}

/// What is in it.
pub(super) fn open(mut packed: impl BufRead + 'static) -> io::Result<Box<dyn BufRead>> {
    if !packed.fill_buf()?.starts_with(&DICTIONARY) {
        return Ok(Box::new(BufReader::new(zstd::Decoder::with_buffer(
            packed,
        )?)));
    }
    let mut head = [0; 8];
    packed.read_exact(&mut head)?;
    let length = u64::from(u32::from_le_bytes([head[4], head[5], head[6], head[7]]));
    let too_long = || {
        io::Error::new(
            io::ErrorKind::InvalidData,
            "a dictionary of more than 64 MiB",
        )
    };
    if length > DICTIONARY_BYTES_MAX {
        return Err(too_long());
    }
    let mut dictionary = Vec::new();
    (&mut packed).take(length).read_to_end(&mut dictionary)?;
    if dictionary.starts_with(&FRAME) {
        let mut plain = Vec::new();
        let unpacking = zstd::Decoder::new(dictionary.as_slice())?;
        unpacking
            .take(DICTIONARY_BYTES_MAX + 1)
            .read_to_end(&mut plain)?;
        if plain.len() as u64 > DICTIONARY_BYTES_MAX {
            return Err(too_long());
        }
        dictionary = plain;
    }
    let unpacking = zstd::Decoder::with_dictionary(packed, &dictionary)?;
    Ok(Box::new(BufReader::new(unpacking)))
}

/// A file, unpacked.
pub(super) struct Unpacked {
    pub(super) file: tempfile::NamedTempFile,
    /// Up to where that was possible, and why no further.
    pub(super) damage: Option<(u64, String)>,
}

/// Unpacks a source; nothing if it is not packed so.
pub(super) fn unpacked(source: &Source) -> anyhow::Result<Option<Unpacked>> {
    let context = || source.path.display().to_string();
    let mut magic = [0; 4];
    let read = File::open(&source.path).and_then(|mut file| file.read(&mut magic));
    if !is_it(&magic[..read.with_context(context)?]) {
        return Ok(None);
    }
    let mut file = tempfile::NamedTempFile::new().context("no temporary file can be made")?;
    let mut from = source::open(&source.path).with_context(context)?.0;
    let (mut at, mut damage) = (0, None);
    loop {
        let piece = match from.fill_buf() {
            Ok(piece) => piece,
            Err(error) => {
                damage = Some((at, error.to_string()));
                break;
            }
        };
        if piece.is_empty() {
            break;
        }
        at += piece.len() as u64;
        if at > BYTES_MAX {
            bail!(
                "{}: more than 256 GiB, unpacked; import it in parts",
                context()
            );
        }
        let count = piece.len();
        file.write_all(piece)
            .context("the temporary file for an unpacked WARC cannot be written")?;
        from.consume(count);
    }
    file.flush()?;
    Ok(Some(Unpacked { file, damage }))
}
