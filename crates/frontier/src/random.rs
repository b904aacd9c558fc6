//! The one random generator of the pure crates: named, seeded, saved.
//!
//! xoshiro256++ is fixed by its authors, so a seed means the same decisions in every release. A
//! policy draws when it ranks, never when it chooses.

use std::io;

use rand_core::{Rng as _, SeedableRng as _};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::saved::{Restore, Save};

/// A xoshiro256++ generator whose state can be saved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Random(Xoshiro256PlusPlus);

impl Random {
    /// The generator of a seed.
    pub fn new(seed: u64) -> Self {
        Self(Xoshiro256PlusPlus::seed_from_u64(seed))
    }

    /// 64 random bits.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// A uniform number below `bound`, which must not be 0. No modulo bias.
    #[inline]
    pub fn below(&mut self, bound: u64) -> u64 {
        assert!(bound > 0, "nothing is below 0");
        // Multiply and keep the high half; reject the few low halves that would favour some values.
        let mut product = u128::from(self.bits()) * u128::from(bound);
        if (product as u64) < bound {
            let rejected = bound.wrapping_neg() % bound;
            while (product as u64) < rejected {
                product = u128::from(self.bits()) * u128::from(bound);
            }
        }
        (product >> 64) as u64
    }

    /// A uniform number in [0, 1), 53 bits of it.
    #[inline]
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// Puts a slice in uniformly random order.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            let other = self.below(last as u64 + 1) as usize;
            items.swap(last, other);
        }
    }
}

impl Save for Random {
    fn save(&self, out: &mut dyn io::Write) -> io::Result<()> {
        out.write_all(&self.0.state())
    }
}

impl Restore for Random {
    fn restore(from: &mut dyn io::Read) -> io::Result<Self> {
        let mut state = [0; 32];
        from.read_exact(&mut state)?;
        Ok(Self(Xoshiro256PlusPlus::from_seed(state)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_saved_generator_goes_on_alike() {
        let mut random = Random::new(7);
        random.bits();
        let mut saved = Vec::new();
        random.save(&mut saved).unwrap();
        let mut restored = Random::restore(&mut saved.as_slice()).unwrap();
        assert_eq!(random.bits(), restored.bits());
    }

    #[test]
    fn draws_are_even_and_in_range() {
        let mut random = Random::new(1);
        let mut seen = [0u32; 6];
        for _ in 0..6000 {
            seen[random.below(6) as usize] += 1;
        }
        assert!(
            seen.iter().all(|&count| (850..1150).contains(&count)),
            "{seen:?}"
        );
        assert!((0..1000).all(|_| (0.0..1.0).contains(&random.unit())));
    }

    #[test]
    fn a_seed_means_the_same_numbers_for_ever() {
        let mut random = Random::new(1);
        let drawn: Vec<u64> = (0..3).map(|_| random.below(1000)).collect();
        expect_test::expect!["[811, 747, 100]"].assert_eq(&format!("{drawn:?}"));
    }
}
