//! Which shard a site belongs to, and how shards and nodes are called.
//!
//! `siphash(secret, registrable domain) mod S`. The domain rather than the host keeps most links
//! of a site, and most of its addresses, in one shard. An address would be the better key for
//! politeness, but it is unknown before a lookup and changes. The secret keeps strangers from
//! choosing names that all fall into one shard. S is fixed when the crawl is founded: a shard can
//! move to another node, but never be split, because its journal is one history.

use std::hash::Hasher as _;

use siphasher::sip::SipHasher13;

/// The most shards of a crawl.
pub const SHARDS_MAX: u32 = 256;
/// The most lanes of a crawl: more shards share lanes, so that messages do not grow as S².
pub const LANES_MAX: u32 = 64;

/// One part of a crawl: a journal and the loop that writes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Shard(pub u32);

/// One process that holds shards. Drawn anew when a process starts, so that nobody mistakes the
/// lease of an earlier life for its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(pub u64);

/// How a crawl is cut into shards.
#[derive(Clone, Copy, Debug)]
pub struct Cut {
    secret: [u8; 16],
    shards: u32,
}

impl Cut {
    /// With the cluster's secret, into so many shards.
    ///
    /// # Panics
    /// If there are no shards, or more than [`SHARDS_MAX`].
    pub fn new(secret: [u8; 16], shards: u32) -> Self {
        assert!((1..=SHARDS_MAX).contains(&shards), "{shards} shards");
        Self { secret, shards }
    }

    /// How many shards.
    pub fn shards(&self) -> u32 {
        self.shards
    }

    /// How many lanes.
    pub fn lanes(&self) -> u32 {
        self.shards.min(LANES_MAX)
    }

    /// The shard of a registrable domain, given in lower case.
    pub fn shard_of(&self, domain: &str) -> Shard {
        Shard(self.slot(b'd', domain.as_bytes()))
    }

    fn slot(&self, kind: u8, bytes: &[u8]) -> u32 {
        let mut hasher = SipHasher13::new_with_key(&self.secret);
        hasher.write_u8(kind);
        hasher.write(bytes);
        let slot = hasher.finish() % u64::from(self.shards);
        u32::try_from(slot).expect("it is below a u32")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn domains_spread_evenly_and_never_move() {
        let cut = Cut::new([7; 16], 64);
        let mut found = [0u32; 64];
        for number in 0..64_000 {
            found[cut.shard_of(&format!("site-{number}.example")).0 as usize] += 1;
        }
        // 1000 each, with a deviation of 32: six deviations are never seen.
        assert!(found.iter().all(|n| (800..1200).contains(n)), "{found:?}");
        // Part of the format: journals of a crawl are cut by it.
        assert_eq!(cut.shard_of("example.org"), Shard(29));
    }

    #[test]
    fn another_secret_is_another_cut() {
        let (one, other) = (Cut::new([1; 16], 64), Cut::new([2; 16], 64));
        let moved = (0..1000)
            .map(|number| format!("site-{number}.example"))
            .filter(|name| one.shard_of(name) != other.shard_of(name))
            .count();
        assert!(moved > 900, "{moved}");
    }
}
