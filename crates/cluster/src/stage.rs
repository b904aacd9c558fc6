//! How far a seat is, what of it asks, and why it ends.

use crate::shard::Shard;

/// What of a seat asks and is answered. Each has one request under way at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// The lease.
    Lease,
    /// The journal.
    Journal,
    /// What is sent in a lane.
    Lane(u32),
    /// What is received.
    Inbound,
    /// What is stated.
    Statement,
}

/// What came in the lane that a shard reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inbound {
    /// The sender.
    pub from: Shard,
    /// It has sent so many transfers: if fewer are known, the others are a gap.
    pub through: u64,
    /// A transfer; empty if the message is a seal.
    pub transfer: Vec<u8>,
}

/// How far a seat is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// The lease is not ours yet.
    Taking,
    /// The journal is read.
    Reading,
    /// What others know is compared.
    Checking,
    /// The journal is sealed.
    Sealing,
    /// The lanes are sealed.
    Lanes,
    /// The receivers are asked.
    Asking,
    /// In work.
    Open,
    /// Everything is finished before the lease is given back.
    Leaving,
    /// It is over.
    Gone(Gone),
}

/// Why a seat is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Gone {
    /// Another node has the shard.
    #[error("another node has the shard")]
    Deposed,
    /// The journal was written by a newer release.
    #[error("the journal was written by a newer release: run the same release on every node")]
    Newer,
    /// Given back in order.
    #[error("given back in order")]
    Released,
    /// The bus lost a tail of the journal.
    #[error(
        "the journal ends at {found}, but {known} was acknowledged: start the node that has its \
         file, or restore the stream"
    )]
    TailLost {
        /// What was acknowledged.
        known: u64,
        /// What is there.
        found: u64,
    },
    /// Somebody has transfers that the journal does not know of.
    #[error(
        "lane {lane} or its shards have transfer {applied}, but the journal knows only {sent}: \
         start the node that has its file, or restore the stream"
    )]
    Beyond {
        /// The lane.
        lane: u32,
        /// What the journal knows.
        sent: u64,
        /// What others have.
        applied: u64,
    },
}
