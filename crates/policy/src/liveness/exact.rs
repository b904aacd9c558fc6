//! What a random sample of fixed size proves of the whole: the hypergeometric tails, summed.
//!
//! If M of n pages are alive, a sample of z without replacement has x of them with a known chance. The
//! numbers M for which x or fewer, and x or more, are not too unlikely are the interval (Clopper and
//! Pearson 1934, for finite populations): its confidence is at least what it says, for every
//! M and every size, also 1. Wilson's interval, which was here, is right on average only.
//!
//! Cost: O(√z · log n) for each bound. Numbers: + − × ÷ only.

/// A sample and the whole it is from.
#[derive(Clone, Copy, Debug)]
pub(super) struct Drawn {
    /// All pages.
    pub(super) pages: u64,
    /// In the sample.
    pub(super) tested: u64,
    /// Alive in the sample.
    pub(super) alive: u64,
}

/// Terms smaller than this part of the largest are left out.
const NEGLIGIBLE: f64 = 1e-18;

impl Drawn {
    /// The largest number of alive pages of which so few in the sample are likelier than `error`.
    pub(super) fn at_most(self, error: f64) -> u64 {
        let (mut inside, mut outside) = (self.alive, self.pages - (self.tested - self.alive) + 1);
        while outside - inside > 1 {
            let middle = inside.midpoint(outside);
            if self.at_most_as_many(middle) > error {
                inside = middle;
            } else {
                outside = middle;
            }
        }
        inside
    }

    /// The least number of alive pages of which so many in the sample are likelier than `error`.
    pub(super) fn at_least(self, error: f64) -> u64 {
        let mirrored = Self {
            alive: self.tested - self.alive,
            ..self
        };
        self.pages - mirrored.at_most(error)
    }

    /// The chance that a sample has at most as many alive pages as this one, if `all` are alive.
    fn at_most_as_many(self, all: u64) -> f64 {
        let (pages, tested) = (self.pages, self.tested);
        let least = tested.saturating_sub(pages - all);
        let most = tested.min(all);
        if self.alive >= most {
            return 1.0;
        }
        if self.alive < least {
            return 0.0;
        }
        let mode = u128::from(tested + 1) * u128::from(all + 1) / u128::from(pages + 2);
        let mode = (mode as u64).clamp(least, most);
        // How much likelier one more is.
        let ratio = |count: u64| {
            (all - count) as f64 * (tested - count) as f64
                / ((count + 1) as f64 * (pages - all + count + 1 - tested) as f64)
        };
        let (mut total, mut tail) = (0.0, 0.0);
        let mut add = |count: u64, term: f64| {
            total += term;
            if count <= self.alive {
                tail += term;
            }
        };
        let mut term = 1.0;
        add(mode, term);
        for count in mode..most {
            term *= ratio(count);
            add(count + 1, term);
            if term < NEGLIGIBLE {
                break;
            }
        }
        term = 1.0;
        for count in (least..mode).rev() {
            term /= ratio(count);
            add(count, term);
            if term < NEGLIGIBLE {
                break;
            }
        }
        tail / total
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All samples of a small web, counted one by one.
    fn counted(pages: u32, all: u32, tested: u32, at_most: u32) -> f64 {
        let (mut total, mut fitting) = (0u32, 0u32);
        for sample in 0u32..1 << pages {
            if sample.count_ones() == tested {
                total += 1;
                let alive = (sample & ((1 << all) - 1)).count_ones();
                fitting += u32::from(alive <= at_most);
            }
        }
        f64::from(fitting) / f64::from(total)
    }

    #[test]
    fn tails_are_those_of_counting() {
        for pages in 1..=9 {
            for all in 0..=pages {
                for tested in 1..=pages {
                    for alive in 0..=tested {
                        let drawn = Drawn {
                            pages: pages.into(),
                            tested: tested.into(),
                            alive: alive.into(),
                        };
                        let expected = counted(pages, all, tested, alive);
                        let tail = drawn.at_most_as_many(all.into());
                        assert!((tail - expected).abs() < 1e-12, "{drawn:?} {all}");
                    }
                }
            }
        }
    }
}
