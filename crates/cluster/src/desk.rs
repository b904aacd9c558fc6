//! The desk: a tape whose shard is worked on, as a node sees it.
//!
//! A node knows of a shard what it must be told to carry it: transfers to take in, what it wants to spend, when
//! it is closed. Everything else about a shard is its own. Real nodes lend journals through this trait, the
//! simulation toy ones.

use crate::budget::Amounts;
use crate::level::Told;
use crate::shard::Shard;
use crate::tape::Tape;

/// What a shard wants of its purse.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wish {
    /// Nothing.
    Nothing,
    /// To have been given so much in all.
    Reach(Amounts),
    /// To give back what is above this: it spends no more than that, from now on.
    Keep(Amounts),
}

/// What became of a transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Taken {
    /// It was taken in, now or before.
    In,
    /// Others of its sender are missing before it.
    Gap,
}

/// A tape whose shard is worked on.
pub trait Desk: Tape {
    /// How many transfers of a sender were taken in.
    fn known(&self, from: Shard) -> u64;
    /// Takes a transfer in, if it is the next of its sender.
    fn take(&mut self, transfer: &[u8]) -> Taken;
    /// The transfers for a lane in a piece of a sender's journal.
    fn transfers_in(&self, piece: &[u8], lane: u32) -> Vec<Vec<u8>>;
    /// What it wants of its purse; asked only where there is a budget.
    fn wish(&self) -> Wish;
    /// It was asked for on its behalf.
    fn wished(&mut self, up_to: Amounts);
    /// What it may spend in all.
    fn granted(&mut self, limit: Amounts);
    /// Hears what the lead told.
    fn hear(&mut self, told: &Told);
    /// Whether there is nothing more that it would append: it may be given back.
    fn is_closed(&self) -> bool;
}
