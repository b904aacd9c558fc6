//! The tape: a shard's journal on one machine, as bytes and as what they mean.
//!
//! A seat brings the tape to what the chain says, and publishes what the ledger appends to it. The
//! ledger of a real shard lends its journal through this trait; simulations have a toy one. It is
//! lent for each call, so that neither side owns the other.

use crate::audit::Statement;
use crate::chain::Ends;
use crate::shard::{NodeId, Shard};

/// The journal of a shard on this node, as bytes and as what they mean. It ends with a whole entry.
pub trait Tape {
    /// Its end.
    fn end(&self) -> u64;
    /// Bytes from a position on, at most so many: up to the end of an entry, unless not even one
    /// ends within so many.
    fn piece(&self, from: u64, bytes_max: usize) -> (Vec<u8>, Ends);
    /// The bytes between two positions.
    fn range(&self, from: u64, until: u64) -> Vec<u8>;
    /// Appends whole entries that stand in the chain.
    fn append(&mut self, bytes: &[u8]);
    /// Cuts at the end of an entry.
    fn cut(&mut self, at: u64);
    /// Appends the entry `Epoch`.
    fn seal(&mut self, epoch: u64, node: NodeId);
    /// How many transfers a lane has whose entries `Sent` end at or before a position.
    fn sent(&self, lane: u32, until: u64) -> u64;
    /// The bytes of a transfer.
    fn transfer(&self, lane: u32, number: u64) -> Vec<u8>;
    /// The lane that a shard reads.
    fn lane_of(&self, shard: Shard) -> u32;
    /// What the shard says of itself at a durable position. `heard` is filled in by the seat.
    fn statement(&self, durable: u64) -> Statement;
}
