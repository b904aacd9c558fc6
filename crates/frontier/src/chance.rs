//! The chance with which a decision fell on a page.
//!
//! A record of what was fetched tells how a policy would have done only for pages that were fetched.
//! Where these were drawn at random, and it is known with which chance, each stands for one over its
//! chance of others (Horvitz and Thompson 1952): so every fetch logs its chance.

use std::fmt;

/// A chance above 0, in units of 2⁻³²; 0 units mean that it was certain.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Chance(u32);

impl Chance {
    /// Nothing hung on chance.
    pub const CERTAIN: Self = Self(0);

    const ONE: u64 = 1 << 32;

    /// So many of so many: certain where all are taken. Rounded to the nearest unit, at least one.
    pub fn of(part: u64, whole: u64) -> Self {
        if part >= whole {
            return Self::CERTAIN;
        }
        let units = (u128::from(part) * u128::from(Self::ONE) * 2 + u128::from(whole))
            / (2 * u128::from(whole));
        Self::units(units as u64)
    }

    /// A chance given as a number; 1 and all that is no chance is certain.
    pub fn near(number: f64) -> Self {
        if number > 0.0 && number < 1.0 {
            Self::units((number * Self::ONE as f64).round() as u64)
        } else {
            Self::CERTAIN
        }
    }

    fn units(units: u64) -> Self {
        u32::try_from(units.max(1)).map_or(Self::CERTAIN, Self)
    }

    /// What the journal writes.
    pub fn to_units(self) -> u32 {
        self.0
    }

    /// What the journal wrote.
    pub fn from_units(units: u32) -> Self {
        Self(units)
    }

    /// The chance as a number, 1 where it was certain.
    pub fn number(self) -> f64 {
        if self.0 == 0 {
            1.0
        } else {
            f64::from(self.0) / Self::ONE as f64
        }
    }

    /// How many pages the page stands for.
    pub fn weight(self) -> f64 {
        1.0 / self.number()
    }
}

impl fmt::Display for Chance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 == 0 {
            f.pad("certain")
        } else {
            f.pad(&format!("1 in {:.0}", self.weight()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chances_are_kept_to_a_unit() {
        assert_eq!(Chance::of(5, 5), Chance::CERTAIN);
        assert_eq!(Chance::of(1, 4).to_units(), 1 << 30);
        assert_eq!(Chance::of(1, u64::MAX).to_units(), 1);
        assert_eq!(Chance::of(u64::MAX - 1, u64::MAX), Chance::CERTAIN);
        assert_eq!(Chance::near(0.25), Chance::of(1, 4));
        assert_eq!(Chance::near(f64::NAN), Chance::CERTAIN);
        assert!((Chance::of(1, 3).weight() - 3.0).abs() < 1e-8);
        assert_eq!(Chance::of(1, 50).to_string(), "1 in 50");
        assert_eq!(Chance::CERTAIN.to_string(), "certain");
    }
}
