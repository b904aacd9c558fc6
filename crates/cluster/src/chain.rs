//! The chain: a shard's journal as chunks in a log, each linked to the one before.
//!
//! The payloads, joined, are the bytes of the journal. A chunk says who wrote it (epoch and node),
//! where its bytes begin, and the fingerprint of the chunk before. A reader goes through the log in
//! its order and *voids* every chunk that
//!
//! - has an epoch below one seen earlier, or the same epoch from another node;
//! - does not name the last valid chunk as the one before;
//! - does not begin where that one ended.
//!
//! Chunks end where entries end. An entry too long for one chunk fills several, all but the last
//! marked as *part*; if their writer dies before the last, the next epoch begins where the entry
//! began, and the parts count for nothing. So what was once whole is never taken back.
//!
//! So all readers of one log agree on one history, whoever managed to write into it: this needs a
//! total order and nothing else. That the log also refuses such writes is only the first fence.
//!
//! Cost: 40 to 60 bytes a chunk, one pass of a fast hash.

use crate::digest::Digest;
use crate::shard::NodeId;
use crate::wire::{Cursor, Malformed, Put as _};

/// The most journal bytes in one chunk.
pub const CHUNK_BYTES_MAX: usize = 512 << 10;

const VERSION: u8 = 1;

/// A piece of a journal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chunk<'a> {
    /// Under which lease it was written.
    pub epoch: u64,
    /// By whom.
    pub node: NodeId,
    /// Where in the journal its bytes begin.
    pub position: u64,
    /// The chunk before.
    pub previous: Digest,
    /// Whether its last entry goes on in the next chunk.
    pub ends: Ends,
    /// The bytes.
    pub bytes: &'a [u8],
}

/// Where a chunk ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ends {
    /// With an entry.
    Whole,
    /// Within an entry.
    Part,
}

impl<'a> Chunk<'a> {
    /// As a message.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.bytes.len() + 64);
        out.push(VERSION);
        out.put_number(self.epoch);
        out.put_number(self.node.0);
        out.put_number(self.position);
        out.extend_from_slice(&self.previous.0);
        out.push(u8::from(self.ends == Ends::Part));
        out.extend_from_slice(self.bytes);
        out
    }

    /// From a message.
    pub fn decode(message: &'a [u8]) -> Result<Self, Malformed> {
        let mut from = Cursor::versioned(message, VERSION)?;
        let chunk = Self {
            epoch: from.number()?,
            node: NodeId(from.number()?),
            position: from.number()?,
            previous: Digest(from.array()?),
            ends: match from.byte()? {
                0 => Ends::Whole,
                1 => Ends::Part,
                _ => return Err(Malformed("an end that means nothing")),
            },
            bytes: from.rest(),
        };
        if chunk.bytes.len() > CHUNK_BYTES_MAX {
            return Err(Malformed("a chunk of more than 512 KiB"));
        }
        Ok(chunk)
    }
}

/// Where the valid chunks of a log end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tip {
    /// The highest epoch, and who wrote in it.
    pub claim: (u64, NodeId),
    /// The end of the last chunk.
    pub end: u64,
    /// The end of the last chunk that ended with an entry: the journal goes up to here.
    pub whole: u64,
    /// The last valid chunk.
    pub digest: Digest,
}

/// Why a chunk does not count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Void {
    /// It cannot be read.
    #[error("it cannot be read: {0}")]
    Malformed(#[from] Malformed),
    /// A newer release wrote it. Nobody else may judge it, so it does not count as void: whoever
    /// meets it stops.
    #[error("a newer release wrote it")]
    Newer,
    /// Its writer had lost the lease.
    #[error("its writer had lost the lease")]
    Epoch,
    /// It does not follow the last valid chunk.
    #[error("it does not follow the last valid chunk")]
    Broken,
    /// It does not begin where the last valid chunk ended.
    #[error("it does not begin where the last valid chunk ended")]
    Position,
}

impl Tip {
    /// Where the next chunk of an epoch must begin.
    pub fn next(&self, epoch: u64) -> u64 {
        if epoch == self.claim.0 {
            self.end
        } else {
            self.whole
        }
    }

    /// Takes the next message of the log. Returns the chunk if it is valid.
    pub fn take<'m>(&mut self, message: &'m [u8]) -> Result<Chunk<'m>, Void> {
        if message.first().is_some_and(|version| *version > VERSION) {
            return Err(Void::Newer);
        }
        let chunk = Chunk::decode(message)?;
        let (epoch, node) = self.claim;
        if chunk.epoch < epoch || (chunk.epoch == epoch && chunk.node != node) {
            return Err(Void::Epoch);
        }
        if chunk.previous != self.digest {
            return Err(Void::Broken);
        }
        if chunk.position != self.next(chunk.epoch) {
            return Err(Void::Position);
        }
        let end = chunk.position + chunk.bytes.len() as u64;
        let whole = match chunk.ends {
            Ends::Whole => end,
            Ends::Part => self.whole,
        };
        *self = Self {
            claim: (chunk.epoch, chunk.node),
            end,
            whole,
            digest: Digest::of(message),
        };
        Ok(chunk)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chunk(tip: &Tip, epoch: u64, position: u64, (bytes, ends): (&[u8], Ends)) -> Vec<u8> {
        Chunk {
            epoch,
            node: NodeId(epoch),
            position,
            previous: tip.digest,
            ends,
            bytes,
        }
        .encode()
    }

    #[test]
    fn only_the_one_history_counts() {
        const X: (&[u8], Ends) = (b"x", Ends::Whole);
        let mut tip = Tip::default();
        let start = tip;
        let first = chunk(&start, 1, 0, (b"abc", Ends::Whole));
        assert!(tip.take(&first).is_ok());
        assert_eq!(tip.take(&first), Err(Void::Broken), "a doubled chunk");
        assert_eq!(tip.take(&chunk(&start, 2, 3, X)), Err(Void::Broken));
        let other = chunk(&tip, 1, 2, X);
        assert_eq!(tip.take(&other), Err(Void::Position));
        let part = chunk(&tip, 1, 3, (b"half", Ends::Part));
        assert!(tip.take(&part).is_ok());
        assert_eq!((tip.whole, tip.end), (3, 7));
        let behind = chunk(&tip, 3, 7, X);
        assert_eq!(
            tip.take(&behind),
            Err(Void::Position),
            "a part is taken back"
        );
        let seal = chunk(&tip, 3, 3, (b"C", Ends::Whole));
        assert!(tip.take(&seal).is_ok());
        assert_eq!(tip.end, 4);
        let late = chunk(&tip, 2, 4, X);
        assert_eq!(tip.take(&late), Err(Void::Epoch));
        let mut other = Chunk::decode(&seal).unwrap();
        (other.node, other.previous, other.position) = (NodeId(9), tip.digest, 4);
        assert_eq!(
            tip.take(&other.encode()),
            Err(Void::Epoch),
            "two nodes, one epoch"
        );
        assert!(matches!(tip.take(&[1, 2]), Err(Void::Malformed(_))));
        assert_eq!(tip.take(&[9; 60]), Err(Void::Newer));
    }
}
