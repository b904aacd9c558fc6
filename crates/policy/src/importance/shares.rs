//! How a page's cash is divided when it is read: between its links and the virtual page.
//!
//! External links weigh 1, internal links (to the same host) may weigh less. The *small edge* to
//! the virtual page is one more child of some weight, or a fixed fraction of the cash. Whatever
//! remains after integer division is the virtual page's.

use std::sync::Arc;

use turnstone_frontier::PageId;

use crate::mass::Fraction;

/// A weight of at least 0, exact to three decimals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Weight {
    thousandths: u32,
}

impl Weight {
    /// The weight of an ordinary link.
    pub const ONE: Self = Self { thousandths: 1000 };
    /// As if it were not there.
    pub const ZERO: Self = Self { thousandths: 0 };
    /// The largest weight.
    pub const MAX: f64 = 1_000_000.0;

    /// The weight nearest to a number, or none outside 0 to [`MAX`](Self::MAX).
    pub fn new(number: f64) -> Option<Self> {
        (0.0..=Self::MAX).contains(&number).then(|| Self {
            thousandths: (number * 1000.0).round() as u32,
        })
    }

    /// The weight as a number.
    pub fn number(self) -> f64 {
        f64::from(self.thousandths) / 1000.0
    }

    /// The weight in thousandths.
    pub(crate) fn thousandths(self) -> u32 {
        self.thousandths
    }

    /// So many times some cash, rounded down.
    pub(crate) fn of(self, cash: u64) -> u64 {
        let product = u128::from(cash) * u128::from(self.thousandths) / 1000;
        u64::try_from(product).unwrap_or(u64::MAX)
    }

    /// This weight's part of some cash, when all weights add up to `total` thousandths.
    fn part(self, cash: u64, total: u64) -> u64 {
        if total == 0 {
            return 0;
        }
        let part = u128::from(cash) * u128::from(self.thousandths) / u128::from(total);
        u64::try_from(part).expect("a part is not more than the whole")
    }
}

/// The small edge from every page to the virtual page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VirtualEdge {
    /// One more link, of this weight.
    Link(Weight),
    /// This fraction of the cash, however many links there are. With 1−d, importance is PageRank.
    Fraction(Fraction),
}

/// How cash is divided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shares {
    pub(crate) virtual_edge: VirtualEdge,
    pub(crate) internal: Weight,
}

/// What each link gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Parts {
    pub(crate) external: u64,
    pub(crate) internal: u64,
}

impl Shares {
    /// What each of so many external and internal links gets. The rest is the virtual page's.
    #[inline]
    pub(crate) fn divide(&self, cash: u64, external: usize, internal: usize) -> Parts {
        let links = external as u64 * u64::from(Weight::ONE.thousandths)
            + internal as u64 * u64::from(self.internal.thousandths);
        let (pool, total) = match self.virtual_edge {
            VirtualEdge::Link(weight) => (cash, links + u64::from(weight.thousandths)),
            VirtualEdge::Fraction(share) => (cash - share.of_rounded_up(cash), links),
        };
        let part = |weight: Weight, count| {
            if count > 0 {
                weight.part(pool, total)
            } else {
                0
            }
        };
        Parts {
            external: part(Weight::ONE, external),
            internal: part(self.internal, internal),
        }
    }
}

/// Pages that earn more than their links bring: per link, so many times the link's share on top,
/// out of the virtual page's cash as far as it goes. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Bonus {
    /// By page, each once.
    scores: Arc<[(PageId, Weight)]>,
}

impl Bonus {
    /// Nobody earns more.
    pub fn none() -> Self {
        Self::default()
    }

    /// These pages earn more; of a page that stands twice the first score counts.
    pub fn new(mut scores: Vec<(PageId, Weight)>) -> Self {
        scores.sort_by_key(|(page, _)| *page);
        scores.dedup_by_key(|(page, _)| *page);
        Self {
            scores: scores.into(),
        }
    }

    /// Whether nobody earns more.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.scores.is_empty()
    }

    /// What a page gets on top of a link's share.
    pub(crate) fn on_top(&self, page: PageId, share: u64) -> u64 {
        let found = self
            .scores
            .binary_search_by_key(&page, |(scored, _)| *scored);
        found.map_or(0, |at| self.scores[at].1.of(share))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn divide(virtual_edge: VirtualEdge, internal: f64, external: usize, inside: usize) -> Parts {
        let internal = Weight::new(internal).unwrap();
        let shares = Shares {
            virtual_edge,
            internal,
        };
        shares.divide(12_000, external, inside)
    }

    #[test]
    fn the_small_edge_is_one_more_link() {
        let edge = |weight| VirtualEdge::Link(Weight::new(weight).unwrap());
        assert_eq!(divide(edge(1.0), 1.0, 5, 0).external, 2000);
        assert_eq!(divide(edge(0.0), 1.0, 5, 0).external, 2400);
        assert_eq!(divide(edge(3.0), 1.0, 3, 0).external, 2000);
        assert_eq!(divide(edge(0.5), 1.0, 0, 0).external, 0);
    }

    #[test]
    fn the_small_edge_is_a_fraction() {
        let fraction = VirtualEdge::Fraction(Fraction::new(0.25).unwrap());
        assert_eq!(divide(fraction, 1.0, 3, 0).external, 3000);
        assert_eq!(divide(fraction, 0.0, 0, 3).internal, 0);
        assert_eq!(divide(fraction, 0.0, 0, 0).external, 0);
    }

    #[test]
    fn internal_links_weigh_less() {
        let fraction = VirtualEdge::Fraction(Fraction::new(0.25).unwrap());
        let parts = divide(fraction, 0.5, 2, 2);
        assert_eq!((parts.external, parts.internal), (3000, 1500));
    }

    #[test]
    fn weights_outside_are_refused() {
        for number in [-0.1, 1e7, f64::NAN] {
            assert_eq!(Weight::new(number), None, "{number}");
        }
    }
}
