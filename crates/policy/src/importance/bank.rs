//! Where all the cash is: with the nodes, and with the virtual page.
//!
//! There is [`ONE`] of it, in integers, for ever: every unit lies at a node or at the virtual page
//! ([`Bank::audit`]). Remainders of divisions and whatever nobody can take go to the virtual page.
//!
//! The virtual page pays all nodes alike in O(1): it raises the *credit*, which every node's cash
//! has in common. What is kept per node is its *purse*, [`EMPTY`] + cash − credit, so that the
//! order of purses is the order of cash and no purse is ever 0: purse 0 means that the node is not
//! in the game (its page is gone), and cash sent there comes to the virtual page. When pages are
//! chosen by cash, the purse is the rank and lives in the ranking; else it is kept here.
//!
//! Cost: 8 bytes per node when the purses are kept here, nothing otherwise. The credit is folded
//! into all purses before it could run over, once per payment of at least `nodes / 2` times all
//! the cash there is.

use turnstone_frontier::{PageId, Ranking};

use crate::mass::ONE;

/// The purse of a node without cash while there is no credit.
const EMPTY: u64 = 1 << 63;

/// From here on the credit is folded into the purses: another payment still fits below `EMPTY`.
const CREDIT_MAX: u64 = ONE / 2;

/// Something that holds cash: a page, or a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Node {
    /// Its number.
    pub(crate) index: usize,
    /// The page in whose rank its purse is kept, if purses are ranks.
    pub(crate) holder: PageId,
}

/// The accounts of all nodes and of the virtual page.
#[derive(Debug)]
pub(crate) struct Bank {
    /// By node, its purse; or none, when purses are ranks.
    purses: Option<Vec<u64>>,
    /// What the virtual page holds.
    virtual_cash: u64,
    /// What the virtual page has paid to each node and is not yet in the purses.
    credit: u64,
    /// How many nodes are in the game.
    open: u64,
}

impl Bank {
    /// All cash lies at the virtual page. Purses are ranks, or are kept here.
    pub(crate) fn new(purses_are_ranks: bool) -> Self {
        Self {
            purses: (!purses_are_ranks).then(Vec::new),
            virtual_cash: ONE,
            credit: 0,
            open: 0,
        }
    }

    /// How many nodes are in the game.
    pub(crate) fn open_count(&self) -> u64 {
        self.open
    }

    pub(crate) fn virtual_cash(&self) -> u64 {
        self.virtual_cash
    }

    /// The purse, were purses ranks, of somebody with this cash.
    #[inline]
    pub(crate) fn purse_of(&self, cash: u64) -> u64 {
        EMPTY + cash - self.credit
    }

    /// The cash of a node; none when it is not in the game.
    #[inline]
    pub(crate) fn cash(&self, node: Node, ranking: &Ranking) -> Option<u64> {
        let purse = match &self.purses {
            None => ranking.rank(node.holder),
            Some(purses) => purses.get(node.index).copied().unwrap_or(0),
        };
        (purse > 0).then(|| purse + self.credit - EMPTY)
    }

    /// The node comes into the game, without cash.
    pub(crate) fn open(&mut self, node: Node, ranking: &mut Ranking) {
        self.open += 1;
        self.write(node, self.purse_of(0), ranking);
    }

    /// The node leaves the game. Returns the cash it had; what becomes of it is for the caller.
    #[inline]
    pub(crate) fn close(&mut self, node: Node, ranking: &mut Ranking) -> u64 {
        let Some(cash) = self.cash(node, ranking) else {
            return 0;
        };
        self.open -= 1;
        self.write(node, 0, ranking);
        cash
    }

    /// Gives cash to a node; to the virtual page if the node is not in the game.
    #[inline]
    pub(crate) fn give(&mut self, node: Node, cash: u64, ranking: &mut Ranking) {
        match &mut self.purses {
            None if ranking.rank(node.holder) > 0 => ranking.raise(node.holder, cash),
            Some(purses) if purses[node.index] > 0 => purses[node.index] += cash,
            _ => self.virtual_cash += cash,
        }
    }

    /// Gives the same to each of some pages that are nodes.
    #[inline]
    pub(crate) fn give_each(&mut self, pages: &[PageId], cash: u64, ranking: &mut Ranking) {
        // Looking at all ranks first lets their cache misses overlap; raising them one by one
        // would wait for each in turn.
        if self.purses.is_none() && ranking.count_ranked(pages) == pages.len() {
            for &page in pages {
                ranking.raise(page, cash);
            }
            return;
        }
        for &holder in pages {
            let index = holder.index();
            self.give(Node { index, holder }, cash, ranking);
        }
    }

    /// Gives cash to the virtual page.
    #[inline]
    pub(crate) fn give_virtual(&mut self, cash: u64) {
        self.virtual_cash += cash;
    }

    /// Takes up to this much from the virtual page. Returns how much it was.
    pub(crate) fn take_virtual(&mut self, wanted: u64) -> u64 {
        let taken = wanted.min(self.virtual_cash);
        self.virtual_cash -= taken;
        taken
    }

    /// The virtual page gives all nodes the same, as much as it can. What cannot be divided stays.
    pub(crate) fn pay_all(&mut self, nodes: impl Iterator<Item = Node>, ranking: &mut Ranking) {
        if self.open == 0 {
            return;
        }
        if self.credit >= CREDIT_MAX {
            self.fold_credit(nodes, ranking);
        }
        let each = self.virtual_cash / self.open;
        self.credit += each;
        self.virtual_cash -= each * self.open;
    }

    /// Asserts that no cash was made or lost: O(nodes).
    pub(crate) fn audit(&self, nodes: impl Iterator<Item = Node>, ranking: &Ranking) {
        let (mut open, mut held) = (0, 0);
        for cash in nodes.filter_map(|node| self.cash(node, ranking)) {
            open += 1;
            held += cash;
        }
        assert_eq!(open, self.open, "every node in the game is counted");
        assert_eq!(held + self.virtual_cash, ONE, "cash must be conserved");
    }

    /// The bytes the purses take here, as allocated.
    pub(crate) fn allocated_bytes(&self) -> usize {
        let purses = self.purses.as_ref();
        purses.map_or(0, |purses| purses.capacity() * size_of::<u64>())
    }

    fn fold_credit(&mut self, nodes: impl Iterator<Item = Node>, ranking: &mut Ranking) {
        for node in nodes {
            if let Some(cash) = self.cash(node, ranking) {
                self.write(node, EMPTY + cash, ranking);
            }
        }
        self.credit = 0;
    }

    /// Writes a purse. A rank of 0 takes the page out of the ranking.
    #[inline]
    fn write(&mut self, node: Node, purse: u64, ranking: &mut Ranking) {
        match &mut self.purses {
            Some(purses) => {
                if purses.len() <= node.index {
                    purses.resize(node.index + 1, 0);
                }
                purses[node.index] = purse;
            }
            None if purse == 0 => {
                ranking.take(node.holder);
            }
            None => ranking.set(node.holder, purse),
        }
    }
}

turnstone_frontier::saved!(Bank: virtual_cash, credit, open, purses;
    |bank| bank.virtual_cash > ONE || bank.credit > ONE + CREDIT_MAX => "more cash than there is");
