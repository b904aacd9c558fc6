//! What nobody can beat: the best that a policy could do that knows the future.
//!
//! A *life* is a stretch of cycles through which a page keeps one content. Fetching a page in a
//! life counts as a change once, and keeps its copy current until the life ends. With a budget of
//! R fetches a cycle:
//!
//! - the most changes are found by fetching, of the lives at hand, those that end soonest: the
//!   classic rule for jobs with release times and deadlines;
//! - the store is freshest when, of the lives at hand, those that end latest are fetched: putting a
//!   fetch off by a cycle costs exactly one cycle of freshness whichever life it is, so only the
//!   sum of the ends matters.
//!
//! A life with the content the page had at the start may be current without any fetch; it is
//! counted as fresh for nothing, so both numbers are true upper bounds. Weighted measures have no
//! such rule; for them the same choice by weight is reported as a strong reference.
//!
//! Cost: O(changes · log changes).

use std::collections::BTreeSet;

use serde::Serialize;

use super::sites::{Content, SiteStore};

/// The best possible means over all cycles.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Bound {
    /// Mean ChangeRatio.
    pub change_ratio: f64,
    /// Mean freshness.
    pub freshness: f64,
}

/// A stretch of cycles through which a page keeps one content that is not its first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Life {
    /// The first cycle after it.
    end: u32,
    page: u32,
    begin: u32,
}

impl Bound {
    /// The bound for a budget of fetches a cycle.
    pub fn of(store: &SiteStore, budget: u64) -> Self {
        let lives = lives(store);
        let cycles = store.cycles();
        let hits = schedule(&lives, cycles, budget, Choice::EndsFirst).len() as f64;
        let spent = budget as f64 * f64::from(cycles);
        let kept: f64 = schedule(&lives, cycles, budget, Choice::EndsLast)
            .into_iter()
            .map(|(life, cycle)| f64::from(life.end - cycle))
            .sum();
        let (free, pages) = fresh_for_nothing(store);
        Self {
            change_ratio: if spent > 0.0 { hits / spent } else { 0.0 },
            freshness: (kept + free) / pages.max(1.0),
        }
    }
}

/// All lives but those with a page's first content.
fn lives(store: &SiteStore) -> Vec<Life> {
    let cycles = store.cycles();
    let mut lives = Vec::new();
    for page in 0..store.page_count() {
        let content = |cycle: u32| store.contents(cycle)[page];
        let Some(joins) = (0..=cycles).find(|cycle| page < store.joined(*cycle)) else {
            continue;
        };
        let mut begin = joins;
        for cycle in joins + 1..=cycles + 1 {
            if cycle <= cycles && content(cycle) == content(begin) {
                continue;
            }
            if content(begin) != content(joins) {
                lives.push(Life {
                    end: cycle,
                    page: page as u32,
                    begin,
                });
            } else if begin > joins {
                // Back at its first content: worth a hit, if what was between was fetched.
                lives.push(Life {
                    end: begin + 1,
                    page: page as u32,
                    begin,
                });
            }
            begin = cycle;
        }
    }
    lives
}

/// Which of the lives at hand is fetched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Choice {
    EndsFirst,
    EndsLast,
}

/// The lives fetched, each with the cycle in which it is.
fn schedule(lives: &[Life], cycles: u32, budget: u64, choice: Choice) -> Vec<(Life, u32)> {
    let mut by_begin = lives.to_vec();
    by_begin.sort_by_key(|life| (life.begin, life.page));
    let mut coming = by_begin.into_iter().peekable();
    let mut at_hand: BTreeSet<Life> = BTreeSet::new();
    let mut fetched = Vec::new();
    for cycle in 1..=cycles {
        while let Some(life) = coming.next_if(|life| life.begin <= cycle) {
            at_hand.insert(life);
        }
        while at_hand.first().is_some_and(|life| life.end <= cycle) {
            at_hand.pop_first();
        }
        for _ in 0..budget {
            let life = match choice {
                Choice::EndsFirst => at_hand.pop_first(),
                Choice::EndsLast => at_hand.pop_last(),
            };
            match life {
                Some(life) => fetched.push((life, cycle)),
                None => break,
            }
        }
    }
    fetched
}

/// Page-cycles in which a page has its first content, and all page-cycles.
fn fresh_for_nothing(store: &SiteStore) -> (f64, f64) {
    let mut first: Vec<Content> = store.contents(0).to_vec();
    let (mut free, mut all) = (0u64, 0u64);
    for cycle in 1..=store.cycles() {
        for page in store.joining(cycle) {
            first[page.index()] = store.contents(cycle)[page.index()];
        }
        let joined = store.joined(cycle);
        let contents = &store.contents(cycle)[..joined];
        all += joined as u64;
        free += contents
            .iter()
            .zip(&first)
            .filter(|(now, first)| now == first)
            .count() as u64;
    }
    (free as f64, all as f64)
}
