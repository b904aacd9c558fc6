//! What a test would find, guessed from pages that were fetched anyway; and whether it is time to test.
//!
//! A page that was just fetched by its rank lay outside a moment ago. A few surfers who leave it tell which part
//! of them comes back into the store: a guess of X that costs no request. It is kept as a running mean. The pages
//! fetched are the best of those outside, so the guess may be off; it decides when to test and what to stake,
//! never what is certified.
//!
//! A test of X with mean μ and variance σ² against what is needed, μ − g, takes about 2·ln(K)·(σ² + g²)/g²
//! surfers for a capital of K. One more page by rank makes g grow by the coverage it brings, about 1−d times what it
//! holds. The sum of both is least where a page by rank saves the test less than the one request it costs.
//!
//! Cost: [`WITHIN`] walks for each page fetched, from when a test can be near; 24 bytes in all.

use turnstone_frontier::{Links, PageId, Random};

use super::RankMass;
use super::certificate::{Certificate, Supposed};
use super::surfer::{Ending, Ground, Stand};
use crate::mass::as_fraction;

/// How many surfers leave a page that was fetched.
const WITHIN: u64 = 8;

/// The weight of the newest page in the running means.
const NEWEST: f64 = 1.0 / 64.0;

/// How many pages are looked at before the means say anything.
const LOOKS_MIN: f64 = 16.0;

/// No surfers are sent while more than this share of those outside would have to come back.
const NEEDED_MAX: f64 = 0.9;

/// What a surfer costs, in requests.
const REQUESTS: f64 = 1.25;

/// Running means of what pages brought that were fetched.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Outlook {
    looks: f64,
    mean: f64,
    square: f64,
}

/// What a fetch by rank would bring, and what is asked for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Prospect {
    /// The share that is asked for.
    pub(super) goal: f64,
    /// What is proven.
    pub(super) proven: f64,
    /// By how much the best page would raise the coverage.
    pub(super) by_rank: f64,
}

impl Prospect {
    /// The mean of X at which the goal is just reached.
    fn needed(self) -> f64 {
        (self.goal - self.proven) / (1.0 - self.proven)
    }

    /// Whether a test can be near.
    pub(super) fn is_near(self) -> bool {
        self.proven < self.goal && self.needed() < NEEDED_MAX
    }
}

impl Outlook {
    /// A page was fetched by its rank.
    pub(super) fn look(&mut self, page: PageId, proof: &RankMass, links: &dyn Links) {
        let account = proof.account();
        let ground = Ground { account, links };
        // Not from the seed: what is guessed must not know what surfers will draw.
        let mut random = Random::new(u64::from(page.0));
        let (mut stay, mut leave) = (0.0, 0.0);
        for _ in 0..WITHIN {
            match ground.walk(Stand::Leaving(Some(page)), &[], &mut random) {
                Ending::Stays(at) if at != page => stay += 1.0,
                Ending::Beyond { .. } => leave += 1.0,
                Ending::Stays(_) | Ending::Vanishes => {}
            }
        }
        let damping = account.rules.goal.damping.number();
        let came_back = damping * (stay + leave * self.mean) / WITHIN as f64;
        self.looks += 1.0;
        let weight = NEWEST.max(1.0 / self.looks);
        self.mean += weight * (came_back - self.mean);
        self.square += weight * (came_back * came_back - self.square);
    }

    /// What is supposed of X.
    pub(super) fn supposed(&self) -> Supposed {
        // Few surfers for each page: a part of the variance is theirs.
        let variance = (self.square - self.mean * self.mean).max(0.01);
        Supposed {
            mean: self.mean,
            variance,
        }
    }

    /// Whether a surfer is worth more than a page by rank.
    pub(super) fn says_test(&self, certificate: &Certificate, prospect: Prospect) -> bool {
        if self.looks < LOOKS_MIN || !prospect.is_near() {
            return false;
        }
        let Supposed { mean, variance } = certificate.estimate(self.supposed());
        let gap = mean - prospect.needed();
        if gap <= 0.0 {
            return false;
        }
        let spread = variance + gap * gap;
        let surfers = 2.0 * ln(certificate.to_grow()) * spread / (gap * gap);
        let by_rank = prospect.by_rank / (1.0 - prospect.proven);
        let saved = REQUESTS * surfers * 2.0 * variance / (gap * spread) * by_rank;
        saved < 1.0
    }
}

/// The natural logarithm of a number from 1, to a tenth: the same on every machine.
fn ln(number: f64) -> f64 {
    let (mut doublings, mut rest) = (0.0, number);
    while rest >= 2.0 {
        rest *= 0.5;
        doublings += 1.0;
    }
    (doublings + (rest - 1.0)) * std::f64::consts::LN_2
}

/// The share that the best page holds, and that it brings.
pub(super) fn by_rank(best: u64, proof: &RankMass) -> f64 {
    let damping = proof.account().rules.goal.damping.number();
    (1.0 - damping) * as_fraction(best)
}

turnstone_frontier::saved!(Outlook: looks, mean, square);
