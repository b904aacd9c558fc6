//! Random numbers for one page, independent of every other page.
//!
//! Each page has a generator of its own, seeded by the web's seed and the page's number, so pages can
//! be made in any order and in parallel and still come out the same.

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// An odd number with well mixed bits, to keep the seeds of neighbours apart.
const STRIDE: u64 = 0x9e37_79b9_7f4a_7c15;

pub(super) struct Dice(Xoshiro256PlusPlus);

impl Dice {
    /// The dice of thing number `i` under a seed.
    pub(super) fn of(seed: u64, i: u64) -> Self {
        // The seeding itself runs its number through SplitMix64.
        Self(Xoshiro256PlusPlus::seed_from_u64(
            seed.rotate_left(32) ^ i.wrapping_mul(STRIDE),
        ))
    }

    /// Uniform in [0, 1), in steps of 2⁻⁵³.
    #[inline]
    pub(super) fn unit(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// True with this probability.
    #[inline]
    pub(super) fn chance(&mut self, probability: f64) -> bool {
        self.unit() < probability
    }

    /// Uniform in `0..below`; off by less than 2⁻³² of a share.
    #[inline]
    pub(super) fn below(&mut self, below: u32) -> u32 {
        ((u128::from(self.0.next_u64()) * u128::from(below)) >> 64) as u32
    }
}
