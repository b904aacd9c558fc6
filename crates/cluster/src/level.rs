//! The level: below which rank nobody hands out, so that many nodes fetch in nearly one order.
//!
//! Left alone, each shard fetches its own best pages, and a shard that was dealt poor ones spends
//! requests that another would spend better: with 16 nodes a third more downloads to the same
//! coverage. So whoever holds shard 0 tells φ times the best rank of all, each second, and shards
//! rest below it. φ = 0.5 costs a few percent of downloads; 0 is for speed. The level only
//! withholds, so the order within a shard, and the replay of its journal, do not depend on it.
//!
//! A shard that nobody holds may not hold up the others: only statements that changed lately count.

use std::collections::BTreeMap;

use crate::Millis;
use crate::audit::Statement;
use crate::shard::Shard;
use crate::wire::{Cursor, Malformed, Put as _};

/// How often the level is told.
pub const TELL_MS: Millis = 1_000;
/// A statement that has not changed for so long does not count.
pub const FRESH_MS: Millis = 10_000;

/// 2 says why all are to end, and not only whether nothing is left.
const VERSION: u8 = 2;

/// What whoever holds shard 0 tells all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Told {
    /// The epoch of shard 0 in which it was told.
    pub epoch: u64,
    /// The level.
    pub level: u64,
    /// The wave of statements that is asked for.
    pub wave: u64,
    /// Why all are to end, by a number of the driver's; 0 while they go on.
    pub end: u64,
}

impl Told {
    /// As the value of a key.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = vec![VERSION];
        out.put_number(self.epoch);
        out.put_number(self.level);
        out.put_number(self.wave);
        out.put_number(self.end);
        out
    }

    /// From the value of a key.
    pub fn decode(bytes: &[u8]) -> Result<Self, Malformed> {
        let mut from = Cursor::versioned(bytes, VERSION)?;
        let told = Self {
            epoch: from.number()?,
            level: from.number()?,
            wave: from.number()?,
            end: from.number()?,
        };
        from.end()?;
        Ok(told)
    }
}

/// φ, in thousandths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Phi(pub u32);

impl Default for Phi {
    fn default() -> Self {
        Self(500)
    }
}

/// Remembers when each shard's best rank was last heard of.
#[derive(Debug, Default)]
pub struct Levels {
    seen: BTreeMap<Shard, (u64, Millis, u64)>,
}

impl Levels {
    /// Takes the statement of a shard, found at this revision of its key.
    pub fn take(&mut self, statement: &Statement, revision: u64, now: Millis) {
        let seen = self.seen.entry(statement.shard).or_insert((0, now, 0));
        if seen.0 != revision {
            *seen = (revision, now, statement.best);
        }
    }

    /// The level to tell.
    pub fn level(&self, phi: Phi, now: Millis) -> u64 {
        let fresh = self.seen.values().filter(|(_, at, _)| now < at + FRESH_MS);
        let best = fresh.map(|(_, _, best)| *best).max().unwrap_or(0);
        let level = u128::from(best) * u128::from(phi.0.min(1000)) / 1000;
        u64::try_from(level).expect("no more than the best")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::audit::{Account, Work};
    use crate::shard::NodeId;

    #[test]
    fn a_silent_shard_stops_nobody() {
        let mut levels = Levels::default();
        let mut say = |shard, best, revision, now| {
            let statement = Statement {
                shard: Shard(shard),
                claim: (1, NodeId(1)),
                wave: 0,
                position: 0,
                work: Work::Busy,
                best,
                account: Account::default(),
                sent: BTreeMap::new(),
                senders: BTreeMap::new(),
                figures: Vec::new(),
            };
            levels.take(&statement, revision, now);
            (levels.level(Phi::default(), now), levels.level(Phi(0), now))
        };
        assert_eq!(say(0, 1000, 1, 0), (500, 0));
        assert_eq!(say(1, 100, 2, 0), (500, 0));
        assert_eq!(say(1, 90, 3, 9_000), (500, 0));
        assert_eq!(say(0, 1000, 1, 10_000), (45, 0), "shard 0 repeats itself");
        assert_eq!(say(0, u64::MAX, 9, 10_000), (u64::MAX / 2, 0));
    }

    #[test]
    fn every_cut_is_refused() {
        let told = Told {
            epoch: 3,
            level: u64::MAX,
            wave: 9,
            end: 5,
        };
        let bytes = told.encode();
        assert_eq!(Told::decode(&bytes), Ok(told));
        for cut in 0..bytes.len() {
            assert!(Told::decode(&bytes[..cut]).is_err());
        }
    }
}
