//! The simulation's own dice.

use rand_core::{Rng as _, SeedableRng as _};
use rand_xoshiro::Xoshiro256PlusPlus;

/// Numbers from a seed.
pub(crate) struct Random(Xoshiro256PlusPlus);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(Xoshiro256PlusPlus::seed_from_u64(seed))
    }

    /// A number below this.
    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.0.next_u64() % limit.max(1)
    }
}
