//! What a crawl notes in its journal for those who look at it later.

/// Why a process ended, as [`Stop::name`](crate::Stop::name). Empty while it runs, and for ever if
/// it was killed.
pub const STOP_NOTE: &str = "stop";

/// What was proven after so many requests. On disk three numbers of eight bytes, low end first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CoverageNote {
    /// Requests sent so far.
    pub requests: u64,
    /// At least this much was in the store, in units of [`Coverage::ONE`](turnstone_frontier::Coverage::ONE).
    pub guaranteed: u64,
    /// This much could not be guaranteed any more.
    pub stuck: u64,
}

impl CoverageNote {
    /// The kind of such notes.
    pub const KIND: &str = "coverage";

    pub(crate) fn to_bytes(self) -> Vec<u8> {
        let numbers = [self.requests, self.guaranteed, self.stuck];
        numbers.iter().flat_map(|n| n.to_le_bytes()).collect()
    }

    /// Reads a note; nothing if it is not one.
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let (numbers, rest) = bytes.as_chunks::<8>();
        match (numbers, rest) {
            (&[requests, guaranteed, stuck], []) => Some(Self {
                requests: u64::from_le_bytes(requests),
                guaranteed: u64::from_le_bytes(guaranteed),
                stuck: u64::from_le_bytes(stuck),
            }),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_is_read_as_it_was_written() {
        let note = CoverageNote {
            requests: 7,
            guaranteed: 1 << 61,
            stuck: 3,
        };
        assert_eq!(CoverageNote::read(&note.to_bytes()), Some(note));
        assert_eq!(CoverageNote::read(b"short"), None);
        assert_eq!(CoverageNote::read(&[0; 25]), None);
    }
}
