//! How many pages are alive, judged from pages that were drawn at random, and when to stop.
//!
//! Two ways. A sample of a size fixed before anything was asked gives exact bounds once it is
//! back ([`exact`]); the estimate uses that sample alone. Pages drawn one by one while
//! others are chosen give bounds that hold at all times at once ([`draws`]). Either is cut to
//! what is known anyway: pages found alive are alive, those found gone are not.

use std::sync::Arc;

use super::draws::{self, Draw};
use super::exact::Drawn;
use super::survey::Tally;

/// How many of an old crawl's pages are alive, as far as pages drawn at random tell.
#[derive(Clone, Debug, PartialEq)]
pub struct AliveEstimate {
    pages: u64,
    /// What is known of single pages, among those of the estimate.
    known: Tally,
    basis: Basis,
}

#[derive(Clone, Debug, PartialEq)]
enum Basis {
    /// A sample of fixed size: it is what is known.
    Sample,
    /// Single draws.
    Draws(Arc<Vec<Draw>>),
}

impl AliveEstimate {
    /// From a sample with so many alive and gone pages, of a crawl of so many pages; none when
    /// the sample has no verdict at all.
    pub fn new(pages: u64, alive: u64, gone: u64) -> Option<Self> {
        assert!(alive + gone <= pages, "a sample is no larger than the web");
        (alive + gone > 0).then_some(Self {
            pages,
            known: Tally { alive, gone },
            basis: Basis::Sample,
        })
    }

    /// From single draws, with all that is known by now; none before the first.
    pub(super) fn of_draws(pages: u64, known: Tally, draws: &Arc<Vec<Draw>>) -> Option<Self> {
        (!draws.is_empty()).then(|| Self {
            pages,
            known,
            basis: Basis::Draws(Arc::clone(draws)),
        })
    }

    /// How many pages drawn at random it rests on.
    pub fn looks(&self) -> u64 {
        match &self.basis {
            Basis::Sample => self.known.tested(),
            Basis::Draws(draws) => draws.len() as u64,
        }
    }

    /// The most likely number of alive pages.
    pub fn alive(&self) -> f64 {
        match &self.basis {
            Basis::Sample => {
                self.known.alive as f64 / self.known.tested() as f64 * self.pages as f64
            }
            Basis::Draws(draws) => draws::likeliest(draws, self.bounds()),
        }
    }

    /// The numbers of alive pages that fit, two-sided at this confidence.
    pub fn interval(&self, confidence: Confidence) -> (u64, u64) {
        let error = 1.0 - confidence.number();
        match &self.basis {
            Basis::Sample => {
                let drawn = self.drawn();
                (drawn.at_least(error / 2.0), drawn.at_most(error / 2.0))
            }
            Basis::Draws(draws) => draws::interval(draws, self.bounds(), error),
        }
    }

    /// At this confidence, no more pages than this are alive.
    pub fn at_most(&self, confidence: Confidence) -> u64 {
        let error = 1.0 - confidence.number();
        match &self.basis {
            Basis::Sample => self.drawn().at_most(error),
            Basis::Draws(draws) => draws::interval(draws, self.bounds(), error).1,
        }
    }

    fn drawn(&self) -> Drawn {
        Drawn {
            pages: self.pages,
            tested: self.known.tested(),
            alive: self.known.alive,
        }
    }

    /// No fewer than were found alive, no more than were not found gone.
    fn bounds(&self) -> (u64, u64) {
        (self.known.alive, self.pages - self.known.gone)
    }
}

/// A confidence strictly between one half and 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Confidence(f64);

impl Confidence {
    /// The confidence of this number, or none outside (0.5, 1).
    pub fn new(number: f64) -> Option<Self> {
        (number > 0.5 && number < 1.0).then_some(Self(number))
    }

    /// As a number.
    pub fn number(self) -> f64 {
        self.0
    }
}

impl Default for Confidence {
    fn default() -> Self {
        Self(0.95)
    }
}

/// When enough has been found: this share of all alive pages, at this confidence.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Enough {
    share: f64,
    confidence: Confidence,
}

impl Enough {
    /// Stop at a share in (0, 1], or none outside.
    pub fn new(share: f64, confidence: Confidence) -> Option<Self> {
        (share > 0.0 && share <= 1.0).then_some(Self { share, confidence })
    }

    /// The share wanted.
    pub fn share(self) -> f64 {
        self.share
    }

    /// The confidence wanted.
    pub fn confidence(self) -> Confidence {
        self.confidence
    }

    /// How many alive pages must be found, given what the sample tells.
    pub fn needed(self, estimate: &AliveEstimate) -> u64 {
        // The tolerance keeps 0.1 of 30 at 3.
        (self.share * estimate.at_most(self.confidence) as f64 - 1e-9)
            .ceil()
            .max(0.0) as u64
    }

    /// Whether so many alive pages are enough.
    pub fn met(self, found: u64, estimate: &AliveEstimate) -> bool {
        found >= self.needed(estimate)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_whole_sample_leaves_no_doubt() {
        let estimate = AliveEstimate::new(50, 20, 30).unwrap();
        assert_eq!(estimate.interval(Confidence::default()), (20, 20));
        assert_eq!(estimate.at_most(Confidence::default()), 20);
        assert_eq!(AliveEstimate::new(50, 0, 0), None);
    }

    /// The probability of drawing exactly `hits` of `marked` in `drawn` draws from `pages`.
    fn hypergeometric(pages: u64, marked: u64, drawn: u64, hits: u64) -> f64 {
        let log_choose = |n: u64, k: u64| -> f64 {
            (0..k).map(|i| ((n - i) as f64 / (k - i) as f64).ln()).sum()
        };
        let other = pages - marked;
        if hits > marked || drawn - hits > other {
            return 0.0;
        }
        (log_choose(marked, hits) + log_choose(other, drawn - hits) - log_choose(pages, drawn))
            .exp()
    }

    #[test]
    fn the_confidence_is_what_it_says_whatever_the_truth() {
        let confidence = Confidence::default();
        for (pages, drawn) in [(300, 60), (300, 3), (40, 20)] {
            for truth in 0..=pages {
                let (mut inside, mut below) = (0.0, 0.0);
                for hits in 0..=drawn {
                    let chance = hypergeometric(pages, truth, drawn, hits);
                    let estimate = AliveEstimate::new(pages, hits, drawn - hits).unwrap();
                    let (low, high) = estimate.interval(confidence);
                    inside += chance * f64::from(u8::from((low..=high).contains(&truth)));
                    below += chance * f64::from(u8::from(truth <= estimate.at_most(confidence)));
                }
                assert!(inside >= 0.95 - 1e-9, "{pages} {drawn} {truth}: {inside}");
                assert!(below >= 0.95 - 1e-9, "{pages} {drawn} {truth}: {below}");
            }
        }
    }

    #[test]
    fn enough_is_a_share_of_the_upper_bound() {
        let all_tested = AliveEstimate::new(50, 30, 20).unwrap();
        let enough = Enough::new(0.1, Confidence::default()).unwrap();
        assert!(enough.met(3, &all_tested) && !enough.met(2, &all_tested));
        for share in [0.0, -0.1, 1.1, f64::NAN] {
            assert_eq!(Enough::new(share, Confidence::default()), None);
        }
        for confidence in [0.5, 1.0, f64::NAN] {
            assert_eq!(Confidence::new(confidence), None);
        }
    }
}
