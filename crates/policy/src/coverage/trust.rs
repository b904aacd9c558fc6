//! The trusted pages: where the surfer starts and returns to.
//!
//! Their weights are turned into masses that add up to [`ONE`] exactly.

use std::sync::Arc;

use turnstone_frontier::PageId;

use crate::mass::ONE;

/// Trusted pages with their share of the surfer's returns. Cheap to clone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trust {
    /// By page, each once; the masses add up to `ONE`.
    masses: Arc<[(PageId, u64)]>,
}

/// What can be wrong with a list of trusted pages.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum TrustError {
    /// Nobody is trusted.
    #[error("no trusted page given; name at least one")]
    Empty,
    /// A page stands twice.
    #[error("trusted page {0} is named twice; name it once, with the sum of its weights")]
    Twice(PageId),
    /// A weight that is not a positive number.
    #[error("trusted page {page} has weight {weight}; a weight is a positive number")]
    Weight {
        /// The page.
        page: PageId,
        /// Its weight as given.
        weight: f64,
    },
}

impl Trust {
    /// Trusts pages in proportion to their weights.
    pub fn weighted(mut pages: Vec<(PageId, f64)>) -> Result<Self, TrustError> {
        pages.sort_by_key(|(page, _)| *page);
        if let Some(twice) = pages.windows(2).find(|pair| pair[0].0 == pair[1].0) {
            return Err(TrustError::Twice(twice[0].0));
        }
        if let Some(&(page, weight)) = pages.iter().find(|(_, w)| !(w.is_finite() && *w > 0.0)) {
            return Err(TrustError::Weight { page, weight });
        }
        let largest = pages.iter().map(|(_, weight)| *weight).fold(0.0, f64::max);
        // Scaled to 32 bits, so that shares are divisions of integers and add up exactly.
        let scaled = |weight: f64| ((weight / largest * f64::from(u32::MAX)) as u64).max(1);
        let total: u64 = pages.iter().map(|(_, weight)| scaled(*weight)).sum();
        if total == 0 {
            return Err(TrustError::Empty);
        }
        let share =
            |weight| (u128::from(ONE) * u128::from(scaled(weight)) / u128::from(total)) as u64;
        let mut masses: Vec<(PageId, u64)> = pages
            .iter()
            .map(|&(page, weight)| (page, share(weight)))
            .collect();
        let rest = ONE - masses.iter().map(|(_, mass)| mass).sum::<u64>();
        // Rounding leaves less than a unit a page: give it to the first.
        masses[0].1 += rest;
        Ok(Self {
            masses: masses.into(),
        })
    }

    /// Trusts pages alike.
    pub fn alike(pages: impl IntoIterator<Item = PageId>) -> Result<Self, TrustError> {
        Self::weighted(pages.into_iter().map(|page| (page, 1.0)).collect())
    }

    /// The trusted pages with their masses, by page.
    pub fn masses(&self) -> &[(PageId, u64)] {
        &self.masses
    }

    /// The mass of a page; 0 for one that is not trusted.
    pub fn of(&self, page: PageId) -> u64 {
        let found = self
            .masses
            .binary_search_by_key(&page, |(trusted, _)| *trusted);
        found.map_or(0, |at| self.masses[at].1)
    }

    /// The same trust among those of the pages that can be had; none if that is no page.
    pub(super) fn among(&self, can_be_had: impl Fn(PageId) -> bool) -> Option<Self> {
        let had = || self.masses.iter().filter(|(page, _)| can_be_had(*page));
        let whole: u64 = had().map(|(_, mass)| mass).sum();
        if whole == ONE {
            return Some(self.clone());
        }
        let part = |mass| (u128::from(ONE) * u128::from(mass) / u128::from(whole)) as u64;
        let mut masses: Vec<(PageId, u64)> =
            had().map(|&(page, mass)| (page, part(mass))).collect();
        let rest = ONE - masses.iter().map(|(_, mass)| mass).sum::<u64>();
        masses.first_mut()?.1 += rest;
        Some(Self {
            masses: masses.into(),
        })
    }

    /// The trust that was saved, if it adds up.
    pub(super) fn restored(masses: Vec<(PageId, u64)>) -> Option<Self> {
        let sum = masses.iter().map(|(_, mass)| u128::from(*mass)).sum();
        let is_sorted = masses.is_sorted_by(|a, b| a.0 < b.0);
        (u128::from(ONE) == sum && is_sorted).then(|| Self {
            masses: masses.into(),
        })
    }

    /// What of a mass goes to a page that is trusted with a part of all.
    pub(super) fn share(mass: u64, trusted: u64) -> u64 {
        ((u128::from(mass) * u128::from(trusted)) >> ONE.ilog2()) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn masses_add_up_exactly(weights in prop::collection::vec(1e-6f64..1e6, 1..40), mass in 0..ONE) {
            let pages = weights.iter().enumerate().map(|(i, w)| (PageId::from_index(i), *w));
            let trust = Trust::weighted(pages.collect()).unwrap();
            prop_assert_eq!(trust.masses().iter().map(|(_, mass)| mass).sum::<u64>(), ONE);
            let shares = trust.masses().iter().map(|(_, trusted)| Trust::share(mass, *trusted));
            let rest = mass - shares.sum::<u64>();
            prop_assert!(rest <= weights.len() as u64, "less than a unit a page is left");
            let odd = trust.among(|page| page.index() % 2 == 1);
            prop_assert_eq!(odd.is_some(), weights.len() > 1);
            let odd = odd.map_or(ONE, |odd| odd.masses().iter().map(|(_, mass)| mass).sum::<u64>());
            prop_assert_eq!(odd, ONE);
        }
    }

    #[test]
    fn bad_lists_say_what_is_wrong() {
        let check = |pages: &[(u32, f64)], expected: &str| {
            let pages = pages
                .iter()
                .map(|&(page, weight)| (PageId(page), weight))
                .collect();
            assert_eq!(Trust::weighted(pages).unwrap_err().to_string(), expected);
        };
        check(&[], "no trusted page given; name at least one");
        check(
            &[(3, 1.0), (3, 2.0)],
            "trusted page 3 is named twice; name it once, with the sum of its weights",
        );
        check(
            &[(1, -1.0)],
            "trusted page 1 has weight -1; a weight is a positive number",
        );
        check(
            &[(1, f64::NAN)],
            "trusted page 1 has weight NaN; a weight is a positive number",
        );
    }
}
