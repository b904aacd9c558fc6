//! The discovery dial: the virtual page pays part of its cash to pages never read.
//!
//! The paper: "when we want to do more discovery, we take some cash from the virtual page and
//! distribute it to pages that were not read yet". They take turns, in order of their numbers: one
//! of them at each payment, so that a payment stays O(1) and, by greedy, buys that page a visit.
//! Importance is then that of the biased walk, as in the paper.
//!
//! Cost: one byte per node; a payment looks at no more than [`LOOK_MAX`] nodes for one not read.

use std::io;

use turnstone_frontier::{Restore, Save, corrupt};

use super::bank::Node;
use super::shares::Weight;

/// The most nodes a payment looks at.
const LOOK_MAX: usize = 1024;

/// Which nodes were never read, and whose turn it is.
#[derive(Debug)]
pub(crate) struct Discovery {
    share: Weight,
    /// By node, as far as known to be read.
    read: Vec<bool>,
    cursor: usize,
}

impl Discovery {
    /// Pages never read get this share of what the virtual page pays, at most 1.
    pub(crate) fn new(share: Weight) -> Self {
        Self {
            share,
            read: Vec::new(),
            cursor: 0,
        }
    }

    /// Their part of some cash.
    pub(crate) fn part(&self, cash: u64) -> u64 {
        self.share.of(cash).min(cash)
    }

    pub(crate) fn read(&mut self, node: usize) {
        if self.read.len() <= node {
            self.read.resize(node + 1, false);
        }
        self.read[node] = true;
    }

    /// The next node never read among so many, if it can be found nearby.
    pub(crate) fn next_unread(
        &mut self,
        count: usize,
        in_game: impl Fn(usize) -> Option<Node>,
    ) -> Option<Node> {
        for _ in 0..count.min(LOOK_MAX) {
            let at = self.cursor % count;
            self.cursor = at + 1;
            if !self.read.get(at).copied().unwrap_or(false)
                && let Some(node) = in_game(at)
            {
                return Some(node);
            }
        }
        None
    }

    /// Becomes what was saved; the share is that of construction.
    pub(crate) fn restore_into(&mut self, from: &mut dyn io::Read) -> io::Result<()> {
        self.read = Restore::restore(from)?;
        let cursor = u64::restore(from)?;
        self.cursor = usize::try_from(cursor).map_err(|_| corrupt("a cursor past all nodes"))?;
        Ok(())
    }
}

impl Save for Discovery {
    fn save(&self, out: &mut dyn io::Write) -> io::Result<()> {
        self.read.save(out)?;
        (self.cursor as u64).save(out)
    }
}
