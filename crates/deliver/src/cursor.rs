//! How far a receiver is. A note in the journal: the last one of its name counts.
//!
//! A note is a version and three numbers of eight bytes, low end first: the position from which on
//! events are still to be delivered, when the last batch was taken, how many events were left out since.

use turnstone_pagestore::{Position, Store, StoreError};

use crate::receiver::Receiver;

const VERSION: u8 = 1;

/// How far a receiver is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cursor {
    /// Events from here on are still to be delivered.
    pub at: Position,
    /// When the last batch was taken, in milliseconds of 1970; at first when the receiver was first seen.
    pub sent_ms: u64,
    /// Events that were left out since, for they were too old.
    pub skipped: u64,
}

impl Cursor {
    /// How far a receiver is in a store; nothing if it was never seen there.
    pub fn find(store: &Store, receiver: &Receiver) -> Result<Option<Self>, StoreError> {
        let note = store.note(&Self::kind(&receiver.name))?;
        Ok(note.as_deref().and_then(Self::read))
    }

    /// Where a receiver begins that was never seen: where the journal ends now, or at its beginning.
    pub fn first(store: &Store, receiver: &Receiver, now_ms: u64) -> Self {
        let at = match receiver.from_start {
            true => Position::FIRST,
            false => store.end(),
        };
        Self {
            at,
            sent_ms: now_ms,
            skipped: 0,
        }
    }

    /// The kind of the notes of a receiver.
    pub fn kind(name: &str) -> String {
        format!("delivered {name}")
    }

    /// As it is written.
    pub fn to_bytes(self) -> Vec<u8> {
        let numbers = [self.at.0, self.sent_ms, self.skipped];
        let numbers = numbers.iter().flat_map(|number| number.to_le_bytes());
        std::iter::once(VERSION).chain(numbers).collect()
    }

    /// Reads a note; nothing if it is not one.
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let (&VERSION, numbers) = bytes.split_first()? else {
            return None;
        };
        match numbers.as_chunks::<8>() {
            (&[at, sent_ms, skipped], []) => Some(Self {
                at: Position(u64::from_le_bytes(at)),
                sent_ms: u64::from_le_bytes(sent_ms),
                skipped: u64::from_le_bytes(skipped),
            }),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_is_read_as_it_was_written() {
        let cursor = Cursor {
            at: Position(77),
            sent_ms: 8,
            skipped: 9,
        };
        let bytes = cursor.to_bytes();
        assert_eq!(Cursor::read(&bytes), Some(cursor));
        for end in 0..bytes.len() {
            assert_eq!(Cursor::read(&bytes[..end]), None);
        }
        assert_eq!(Cursor::read(&[9; 25]), None);
    }
}
