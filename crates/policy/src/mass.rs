//! Mass in integers, so that "nothing is lost" is an exact statement.
//!
//! All the personalised PageRank there is makes [`ONE`] = 2⁶² units, 2·10⁻¹⁹ each. Damping is a
//! decimal fraction held exactly to nine digits. Whatever cannot be divided evenly is returned to
//! the caller as a remainder, never rounded away; what a policy claims is rounded down.

use turnstone_frontier::Coverage;

/// All the mass there is.
pub const ONE: u64 = Coverage::ONE;

/// A fraction strictly between 0 and 1, exact to nine decimals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fraction {
    billionths: u32,
}

impl Fraction {
    /// Two in a hundred.
    pub const TWO_PERCENT: Self = Self {
        billionths: 20_000_000,
    };

    /// The fraction nearest to a number, or none outside (0, 1).
    pub fn new(number: f64) -> Option<Self> {
        let billionths = (number * 1e9).round();
        (1.0..1e9).contains(&billionths).then_some(Self {
            billionths: billionths as u32,
        })
    }

    /// All of it, in billionths.
    pub(crate) const BILLION: u64 = 1_000_000_000;

    /// The fraction in billionths.
    pub(crate) fn billionths(self) -> u64 {
        u64::from(self.billionths)
    }

    /// The fraction as a number.
    pub fn number(self) -> f64 {
        f64::from(self.billionths) / 1e9
    }

    /// This fraction of a mass, rounded up.
    #[inline]
    pub fn of_rounded_up(self, mass: u64) -> u64 {
        // Whole billions and the rest apart: both products fit 64 bits, and no 128-bit division.
        const BILLION: u64 = Fraction::BILLION;
        let (whole, rest) = (mass / BILLION, mass % BILLION);
        let fraction = u64::from(self.billionths);
        whole * fraction + (rest * fraction).div_ceil(BILLION)
    }

    /// One less this fraction, of all the mass, rounded up: a goal that is truly met.
    pub fn complement_of_one(self) -> u64 {
        let rest = Self {
            billionths: 1_000_000_000 - self.billionths,
        };
        rest.of_rounded_up(ONE)
    }
}

impl Default for Fraction {
    /// The damping of the literature.
    fn default() -> Self {
        Self {
            billionths: 850_000_000,
        }
    }
}

/// A mass as a fraction of all, for showing; use the integers to decide.
pub fn as_fraction(mass: u64) -> f64 {
    mass as f64 / ONE as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn fractions_outside_0_and_1_are_refused() {
        for number in [-0.1, 0.0, 1e-10, 1.0, 1.5, f64::NAN, f64::INFINITY] {
            assert_eq!(Fraction::new(number), None, "{number}");
        }
        assert_eq!(Fraction::new(0.85), Some(Fraction::default()));
    }

    proptest! {
        #[test]
        fn products_are_exact_and_rounded_up(mass in 0..=ONE, billionths in 1u32..1_000_000_000) {
            let fraction = Fraction { billionths };
            let exact = u128::from(mass) * u128::from(billionths);
            prop_assert_eq!(
                u128::from(fraction.of_rounded_up(mass)),
                exact.div_ceil(1_000_000_000)
            );
        }
    }
}
