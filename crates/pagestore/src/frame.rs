//! One entry on disk: its length, a checksum over length and bytes, and the bytes.
//!
//! A frame is whole or it is not there: a length that does not fit, or a checksum that does not
//! agree, ends the journal. Cost: 8 bytes an entry.

/// Bytes before each entry.
pub(crate) const HEAD_BYTES: usize = 8;

/// The longest entry: a page with the most links we keep, and room to spare.
pub(crate) const ENTRY_BYTES_MAX: usize = 64 << 20;

/// Appends one entry to a buffer, which `write` fills with its bytes.
pub(crate) fn put(buffer: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
    let start = buffer.len();
    buffer.extend_from_slice(&[0; HEAD_BYTES]);
    write(buffer);
    let length = buffer.len() - start - HEAD_BYTES;
    assert!(length <= ENTRY_BYTES_MAX, "an entry of {length} bytes");
    let length = (length as u32).to_le_bytes();
    buffer[start..start + 4].copy_from_slice(&length);
    let sum = checksum(length, &buffer[start + HEAD_BYTES..]);
    buffer[start + 4..start + HEAD_BYTES].copy_from_slice(&sum.to_le_bytes());
}

/// What stands at the beginning of some bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Look<'a> {
    /// A whole entry.
    Entry(&'a [u8]),
    /// An entry that needs this many bytes, head included, if it is one.
    Needs(usize),
    /// No entry.
    Nothing,
}

/// Looks at the beginning of some bytes.
pub(crate) fn look(bytes: &[u8]) -> Look<'_> {
    let Some((head, rest)) = bytes.split_first_chunk::<HEAD_BYTES>() else {
        return Look::Needs(HEAD_BYTES);
    };
    let [a, b, c, d, sum @ ..] = *head;
    let length = u32::from_le_bytes([a, b, c, d]) as usize;
    if length == 0 || length > ENTRY_BYTES_MAX {
        return Look::Nothing;
    }
    match rest.get(..length) {
        None => Look::Needs(HEAD_BYTES + length),
        Some(entry) if checksum([a, b, c, d], entry) == u32::from_le_bytes(sum) => {
            Look::Entry(entry)
        }
        Some(_) => Look::Nothing,
    }
}

fn checksum(length: [u8; 4], entry: &[u8]) -> u32 {
    let mut sum = crc32fast::Hasher::new();
    sum.update(&length);
    sum.update(entry);
    sum.finalize()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cut_and_every_flip_is_seen() {
        let mut buffer = Vec::new();
        put(&mut buffer, |out| out.extend_from_slice(b"an entry"));
        assert_eq!(look(&buffer), Look::Entry(b"an entry"));
        for cut in 0..buffer.len() {
            assert!(matches!(look(&buffer[..cut]), Look::Needs(_)), "{cut}");
        }
        for at in 0..buffer.len() * 8 {
            let mut flipped = buffer.clone();
            flipped[at / 8] ^= 1 << (at % 8);
            assert!(!matches!(look(&flipped), Look::Entry(_)), "bit {at}");
        }
    }
}
