//! What an order costs when the fate of some pages is unknown.
//!
//! The cost on the pages of known fate alone, as if there were no others; the cost if all others
//! were gone, and if all were alive; and, where pages were looked at by chance and the chance was
//! logged, each known page counted for as many as it stands for: one over its chance (Horvitz and
//! Thompson 1952). How many pages that is worth is the effective sample size, (Σw)²/Σw² (Kish 1965).
//!
//! Cost: O(1) a request and share.

use super::cost::{Course, alphas};
use crate::web::OldWeb;

/// With fewer pages than this, in effect, nothing is estimated.
pub const EFFECTIVE_MIN: f64 = 30.0;

/// Several courses through one order.
#[derive(Clone, Debug)]
pub(super) struct Doubt {
    /// Requests without an answer so far.
    unknown: u64,
    /// By share of the alive pages of known fate: requests without an answer by then.
    unknown_by: Vec<u64>,
    if_gone: Course,
    if_alive: Course,
    weighted: Option<Weighted>,
}

/// By share, what an order would have cost.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Doubts {
    /// Requests without an answer, by the time the share of those known was reached.
    pub unknown_by: Vec<u64>,
    /// Requests, if all pages of unknown fate were gone.
    pub if_gone: Vec<u64>,
    /// Requests, if they were alive.
    pub if_alive: Vec<u64>,
    /// The cost with pages counted for as many as they stand for.
    pub weighted: Option<Vec<f64>>,
}

impl Doubt {
    /// Before the first request; none where all is known.
    pub(super) fn of(web: &OldWeb) -> Option<Self> {
        let unknown = web.unknown_count();
        (unknown > 0).then(|| Self {
            unknown: 0,
            unknown_by: Vec::new(),
            if_gone: Course::new(web.alive_count()),
            if_alive: Course::new(web.alive_count() + unknown),
            weighted: Weighted::of(web),
        })
    }

    /// One request was answered: alive, gone, or not at all. `reached` shares were reached by it
    /// and those before it.
    pub(super) fn answered(&mut self, fate: Option<bool>, weight: f64, reached: usize) {
        self.unknown += u64::from(fate.is_none());
        self.unknown_by.resize(reached, self.unknown);
        self.if_gone.answered(fate.unwrap_or(false));
        self.if_alive.answered(fate.unwrap_or(true));
        if let (Some(weighted), Some(alive)) = (&mut self.weighted, fate) {
            weighted.answered(alive, weight);
        }
    }

    pub(super) fn finish(self) -> Doubts {
        Doubts {
            unknown_by: self.unknown_by,
            if_gone: self.if_gone.reached().to_vec(),
            if_alive: self.if_alive.reached().to_vec(),
            weighted: self.weighted.map(|weighted| weighted.costs),
        }
    }
}

/// How many pages of known fate there are in effect; none where nothing hung on chance.
pub fn effective_pages(web: &OldWeb) -> Option<f64> {
    if web.weights.is_empty() {
        return None;
    }
    let known = web.weights.iter().enumerate();
    let known = known.filter(|(page, _)| web.unknown.get(*page) != Some(&true));
    let (sum, squares) = known.fold((0.0, 0.0), |(sum, squares), (_, weight)| {
        (sum + weight, squares + weight * weight)
    });
    (squares > 0.0).then(|| sum * sum / squares)
}

/// A course in which a page counts for as many as it stands for.
#[derive(Clone, Debug)]
struct Weighted {
    alive: f64,
    requests: f64,
    found: f64,
    costs: Vec<f64>,
}

impl Weighted {
    fn of(web: &OldWeb) -> Option<Self> {
        effective_pages(web).filter(|pages| *pages >= EFFECTIVE_MIN)?;
        let pages = web.weights.iter().zip(&web.alive);
        let alive: f64 = pages.filter(|(_, alive)| **alive).map(|(w, _)| w).sum();
        Some(Self {
            alive,
            requests: 0.0,
            found: 0.0,
            costs: Vec::new(),
        })
    }

    fn answered(&mut self, alive: bool, weight: f64) {
        self.requests += weight;
        self.found += if alive { weight } else { 0.0 };
        let reached = alphas().skip(self.costs.len());
        // The tolerance is for the last page, whose weight completes the sum.
        let reached = reached.take_while(|alpha| self.found >= alpha * self.alive * (1.0 - 1e-9));
        let more: Vec<f64> = reached
            .map(|alpha| self.requests / (alpha * self.alive))
            .collect();
        self.costs.extend(more);
    }
}
