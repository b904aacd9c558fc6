//! Budgets: one key says how much each shard was given; together it is never more than there is.
//!
//! A shard draws what the next 10 s need, but no more than a quarter of its even share of what
//! remains, at least 1: so the last requests are still shared by all. It spends only up to a *limit*
//! that stands in its journal. The rules that make it exact, whatever is delayed or lost:
//!
//! - a limit is raised only to what a swap *of this epoch*, known to have been done, has written:
//!   that swap has put an end to every older one that is still under way;
//! - a limit is lowered in the journal, durably, before the key is: so nobody can be given what
//!   this shard might still spend;
//! - a new epoch begins with a swap, spends nothing before it, and takes the limit it then writes:
//!   the journal may have lost the entry that lowered it, and the last epoch may have been given
//!   what it did not live to enter. An idle shard gives that back.
//!
//! Hence spent ≤ limit ≤ given at every instant, and the swap keeps the sum of all given within the
//! budget. Assumed: the bus does not lose an acknowledged swap.
//!
//! Cost: one swap of up to 10 KB each 10 s and shard.

use crate::bus::{Answer, Key, Request};
use crate::shard::{SHARDS_MAX, Shard};
use crate::wire::{Cursor, Malformed, Put as _};

/// What is counted: requests, bytes, pages.
pub const KINDS: usize = 3;

/// An amount of each.
pub type Amounts = [u64; KINDS];

const VERSION: u8 = 1;

/// What the key says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ledger {
    /// What there is.
    pub total: Amounts,
    /// What each shard was given.
    pub slots: Vec<Slot>,
}

/// What one shard was given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Slot {
    /// Who wrote it last: the shard's epoch, and how often it wrote in that epoch.
    pub stamp: (u64, u64),
    /// All it was given, less what it gave back.
    pub given: Amounts,
}

impl Ledger {
    /// Nothing given yet.
    pub fn new(total: Amounts, shards: u32) -> Self {
        Self {
            total,
            slots: vec![Slot::default(); shards as usize],
        }
    }

    /// What nobody was given.
    pub fn remaining(&self, kind: usize) -> u64 {
        let given = self
            .slots
            .iter()
            .map(|slot| u128::from(slot.given[kind]))
            .sum();
        let left = u128::from(self.total[kind]).saturating_sub(given);
        u64::try_from(left).expect("no more than the total")
    }

    /// What a shard that needs this much gets now.
    pub fn grant(&self, kind: usize, need: u64) -> u64 {
        let remaining = self.remaining(kind);
        let share = remaining / (4 * self.slots.len() as u64);
        need.min(share.max(1)).min(remaining)
    }

    /// As the value of the key.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = vec![VERSION];
        for amount in self.total {
            out.put_number(amount);
        }
        out.put_number(self.slots.len() as u64);
        for slot in &self.slots {
            out.put_number(slot.stamp.0);
            out.put_number(slot.stamp.1);
            for amount in slot.given {
                out.put_number(amount);
            }
        }
        out
    }

    /// From the value of the key.
    pub fn decode(bytes: &[u8]) -> Result<Self, Malformed> {
        let mut from = Cursor::versioned(bytes, VERSION)?;
        let total = read_amounts(&mut from)?;
        let count = from.count(2 + KINDS)?;
        if count > SHARDS_MAX as usize {
            return Err(Malformed("more shards than there can be"));
        }
        let mut slots = Vec::with_capacity(count);
        for _ in 0..count {
            let stamp = (from.number()?, from.number()?);
            let given = read_amounts(&mut from)?;
            slots.push(Slot { stamp, given });
        }
        from.end()?;
        Ok(Self { total, slots })
    }
}

fn read_amounts(from: &mut Cursor<'_>) -> Result<Amounts, Malformed> {
    let mut amounts = [0; KINDS];
    for amount in &mut amounts {
        *amount = from.number()?;
    }
    Ok(amounts)
}

/// What a purse is busy with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wish {
    Nothing,
    /// To be given up to this much in all.
    Reach(Amounts),
    /// To keep no more than this.
    Keep(Amounts),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Resting,
    Loading,
    Swapping,
    Over,
}

/// Draws for one shard, and gives back.
#[derive(Debug)]
pub struct Purse {
    shard: Shard,
    epoch: u64,
    /// What the budget is, and for how many shards: to found the key.
    founding: Ledger,
    counter: u64,
    wish: Wish,
    mode: Mode,
    /// What the swap under way, or in doubt, would have written.
    tried: Option<Slot>,
    /// What was read, until a swap follows.
    found: Option<(u64, Ledger)>,
}

/// What came of a wish.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Came {
    /// The key gives the shard this much now. After a draw the limit may be raised to it.
    Given(Amounts),
    /// Nothing remains to be given; the limit may be this.
    Spent(Amounts),
}

impl Purse {
    /// For an epoch of a shard.
    pub fn new(shard: Shard, epoch: u64, total: Amounts, shards: u32) -> Self {
        Self {
            shard,
            epoch,
            founding: Ledger::new(total, shards),
            counter: 0,
            wish: Wish::Nothing,
            mode: Mode::Resting,
            tried: None,
            found: None,
        }
    }

    /// Whether nothing is under way.
    pub fn resting(&self) -> bool {
        self.mode == Mode::Resting && self.wish == Wish::Nothing
    }

    /// Whether another epoch of the shard draws now.
    pub fn over(&self) -> bool {
        self.mode == Mode::Over
    }

    /// Wants to have been given up to this much in all.
    pub fn draw(&mut self, up_to: Amounts) {
        assert!(self.resting(), "one wish at a time");
        self.wish = Wish::Reach(up_to);
    }

    /// Gives back all above this limit, which stands in the journal, durably.
    pub fn give_back(&mut self, limit: Amounts) {
        assert!(self.resting(), "one wish at a time");
        self.wish = Wish::Keep(limit);
    }

    /// What it needs done now.
    pub fn want(&mut self) -> Option<Request> {
        if self.mode != Mode::Resting || self.wish == Wish::Nothing {
            return None;
        }
        let Some((revision, mut ledger)) = self.found.take() else {
            self.mode = Mode::Loading;
            return Some(Request::Load { key: Key::Budget });
        };
        let given = self.wished(&ledger);
        self.counter += 1;
        let slot = Slot {
            stamp: (self.epoch, self.counter),
            given,
        };
        ledger.slots[self.shard.0 as usize] = slot;
        self.tried = Some(slot);
        self.mode = Mode::Swapping;
        Some(Request::Swap {
            key: Key::Budget,
            expect: revision,
            value: ledger.encode(),
        })
    }

    fn wished(&self, ledger: &Ledger) -> Amounts {
        let mut given = ledger.slots[self.shard.0 as usize].given;
        match self.wish {
            Wish::Nothing => {}
            Wish::Reach(up_to) => {
                for kind in 0..KINDS {
                    let need = up_to[kind].saturating_sub(given[kind]);
                    given[kind] += ledger.grant(kind, need);
                }
            }
            Wish::Keep(limit) => {
                for kind in 0..KINDS {
                    given[kind] = given[kind].min(limit[kind]);
                }
            }
        }
        given
    }

    /// Takes an answer.
    pub fn answered(&mut self, answer: &Answer) -> Option<Came> {
        let mode = std::mem::replace(&mut self.mode, Mode::Resting);
        match (mode, answer) {
            (Mode::Swapping, Answer::Swapped { .. }) => self.done(),
            (Mode::Loading, Answer::Values(values)) => self.loaded(values),
            (Mode::Over, _) => {
                self.mode = Mode::Over;
                None
            }
            // Refused or in doubt: read what the key says now.
            _ => None,
        }
    }

    fn loaded(&mut self, values: &[(Key, u64, Vec<u8>)]) -> Option<Came> {
        let (revision, ledger) = match values.first() {
            None => (0, self.founding.clone()),
            Some((_, revision, value)) => match Ledger::decode(value) {
                Ok(ledger) if ledger.slots.len() == self.founding.slots.len() => {
                    (*revision, ledger)
                }
                _ => {
                    self.mode = Mode::Over;
                    return None;
                }
            },
        };
        let slot = ledger.slots[self.shard.0 as usize];
        if slot.stamp.0 > self.epoch {
            self.mode = Mode::Over;
            return None;
        }
        if self.tried.is_some_and(|tried| tried.stamp == slot.stamp) {
            return self.done();
        }
        self.found = Some((revision, ledger));
        None
    }

    fn done(&mut self) -> Option<Came> {
        let slot = self.tried.take().expect("a swap was tried");
        let wish = std::mem::replace(&mut self.wish, Wish::Nothing);
        self.found = None;
        Some(match wish {
            Wish::Reach(up_to) if slot.given[0] < up_to[0] => Came::Spent(slot.given),
            _ => Came::Given(slot.given),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_last_ones_are_shared() {
        let mut ledger = Ledger::new([100, 0, 0], 4);
        assert_eq!(ledger.grant(0, 3), 3);
        assert_eq!(ledger.grant(0, 1000), 6);
        assert_eq!(ledger.grant(1, 5), 0);
        ledger.slots[0].given[0] = 98;
        assert_eq!(ledger.grant(0, 1000), 1);
        ledger.slots[1].given[0] = 5;
        assert_eq!(ledger.grant(0, 1000), 0);
    }

    proptest! {
        #[test]
        fn grants_never_pass_the_budget(
            total in 0u64..1000,
            wishes in prop::collection::vec((0usize..4, 0u64..500), 0..200),
        ) {
            let mut ledger = Ledger::new([total, u64::MAX, 0], 4);
            for (shard, need) in wishes {
                let grant = ledger.grant(0, need);
                ledger.slots[shard].given[0] += grant;
                let given: u64 = ledger.slots.iter().map(|slot| slot.given[0]).sum();
                prop_assert!(given <= total);
            }
            let bytes = ledger.encode();
            prop_assert_eq!(Ledger::decode(&bytes), Ok(ledger));
            for cut in 0..bytes.len() {
                prop_assert!(Ledger::decode(&bytes[..cut]).is_err());
            }
        }
    }

    #[test]
    fn a_swap_in_doubt_is_recognised_by_its_stamp() {
        let mut purse = Purse::new(Shard(1), 5, [100; KINDS], 2);
        purse.draw([10; KINDS]);
        assert_eq!(purse.want(), Some(Request::Load { key: Key::Budget }));
        assert_eq!(purse.answered(&Answer::Values(vec![])), None);
        let Some(Request::Swap {
            expect: 0, value, ..
        }) = purse.want()
        else {
            panic!("no swap")
        };
        assert_eq!(purse.answered(&Answer::Doubt), None);
        assert!(matches!(purse.want(), Some(Request::Load { .. })));
        let came = purse.answered(&Answer::Values(vec![(Key::Budget, 1, value)]));
        assert_eq!(came, Some(Came::Given([10; KINDS])));
        assert!(purse.resting());
    }
}
