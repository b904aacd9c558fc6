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
//!   sum of the ends matters;
//! - by weight, lives are taken heaviest first as long as all of them still fit (sets that fit are
//!   a matroid; a set fits when no stretch of cycles has more lives within it than fetches). For
//!   weighted freshness a life counts as if it were fetched at its first cycle: a bound that may
//!   be out of reach.
//!
//! A life with a content the page had before may be current without any fetch; it is counted as
//! fresh for nothing, so every number is a true upper bound.
//!
//! Cost: O(changes · (log changes + cycles²)).

use std::collections::BTreeSet;

use turnstone_policy::changes::Store as _;

use super::outcome::Measures;
use super::replay::Since;
use super::sites::SiteStore;

/// A stretch of cycles through which a page keeps one content that is not its first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Life {
    /// The first cycle after it.
    end: u32,
    page: u32,
    begin: u32,
    /// How many cycles it is fresh when fetched at once. 0 where it is fresh for nothing.
    worth: u32,
}

impl Life {
    /// The stretch in which a fetch finds a change: all of it, or its first cycle only.
    fn found(&self, since: Since) -> Self {
        let end = match since {
            Since::Copy => self.end,
            Since::LastCycle => self.begin + 1,
        };
        Self { end, ..*self }
    }
}

/// The best possible means over all cycles.
pub fn bound(store: &SiteStore, budget: u64, since: Since) -> Measures {
    let lives = lives(store);
    let cycles = store.cycles();
    let spent = budget as f64 * f64::from(cycles);
    let found: Vec<Life> = lives.iter().map(|life| life.found(since)).collect();
    let hits = schedule(&found, cycles, budget, Choice::EndsFirst).len() as f64;
    let fresh: Vec<Life> = lives
        .iter()
        .copied()
        .filter(|life| life.worth > 0)
        .collect();
    let kept: u64 = schedule(&fresh, cycles, budget, Choice::EndsLast)
        .into_iter()
        .map(|(life, cycle)| u64::from(life.end - cycle))
        .sum();
    let weights: Vec<f64> = store.importance().iter().copied().collect();
    let average = 1.0 / store.page_count().max(1) as f64;
    let weight = |life: &Life| weights[life.page as usize] / average;
    let heavy = heaviest(&found, cycles, budget, weight);
    let lasting = heaviest(&fresh, cycles, budget, |life| {
        weight(life) * f64::from(life.worth)
    });
    let free = fresh_for_nothing(store, &lives, |_| 1.0);
    let free_weighted = fresh_for_nothing(store, &lives, |page| weights[page] / average);
    let share = |part: f64, whole: f64| if whole > 0.0 { part / whole } else { 0.0 };
    Measures {
        change_ratio: share(hits, spent),
        weighted_change_ratio: share(heavy, spent),
        freshness: share(kept as f64 + free.0, free.1),
        weighted_freshness: share(lasting + free_weighted.0, free_weighted.1).min(1.0),
    }
}

/// All lives but the first of each page.
fn lives(store: &SiteStore) -> Vec<Life> {
    let cycles = store.cycles();
    let mut lives = Vec::new();
    for joins in 0..=cycles {
        for page in store.joining(joins) {
            let content = |cycle: u32| store.contents(cycle)[page.index()];
            let mut begin = joins;
            for cycle in joins + 1..=cycles + 1 {
                if cycle <= cycles && content(cycle) == content(begin) {
                    continue;
                }
                if begin > joins {
                    let returned = (joins..begin).any(|earlier| content(earlier) == content(begin));
                    lives.push(Life {
                        end: cycle,
                        page: page.0,
                        begin,
                        worth: if returned { 0 } else { cycle - begin },
                    });
                }
                begin = cycle;
            }
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

/// The largest sum of weights of lives that can all be fetched.
fn heaviest(lives: &[Life], cycles: u32, budget: u64, weight: impl Fn(&Life) -> f64) -> f64 {
    let mut order: Vec<(f64, &Life)> = lives.iter().map(|life| (weight(life), life)).collect();
    order.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(b.1)));
    let side = cycles as usize + 1;
    // For every stretch from a to b, how many lives more fit within it.
    let mut room = vec![0u64; side * side];
    for a in 1..side {
        for b in a..side {
            room[a * side + b] = budget.saturating_mul((b - a + 1) as u64);
        }
    }
    let mut sum = 0.0;
    for (weight, life) in order {
        let (begin, last) = (life.begin as usize, life.end as usize - 1);
        let around = || (1..=begin).flat_map(|a| (last..side).map(move |b| a * side + b));
        if around().all(|stretch| room[stretch] > 0) {
            around().for_each(|stretch| room[stretch] -= 1);
            sum += weight;
        }
    }
    sum
}

/// The weight of all page-cycles in which a page has its first content or one it had before, and
/// of all page-cycles.
fn fresh_for_nothing(
    store: &SiteStore,
    lives: &[Life],
    weight: impl Fn(usize) -> f64,
) -> (f64, f64) {
    let mut all = 0.0;
    for cycle in 1..=store.cycles() {
        all += (0..store.joined(cycle)).map(&weight).sum::<f64>();
    }
    // What no life that must be fetched takes up is free; a page is fresh in the cycle it joins.
    let paid = lives.iter().filter(|life| life.worth > 0);
    let paid: f64 = paid
        .map(|life| weight(life.page as usize) * f64::from(life.worth))
        .sum();
    (all - paid, all)
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Site, store};
    use super::*;
    use proptest::prelude::*;

    /// The best sums of changes and of fresh page-cycles over every way to fetch.
    fn by_trying_everything(site: &Site, budget: usize) -> (u32, u32) {
        fn go(site: &Site, budget: usize, cycle: usize, copies: &[u8]) -> (u32, u32) {
            let Some(now) = site.contents.get(cycle) else {
                return (0, 0);
            };
            let mut best = (0, 0);
            for choice in 0u32..1 << copies.len() {
                if choice.count_ones() as usize > budget {
                    continue;
                }
                let mut next = copies.to_vec();
                let mut hits = 0;
                for page in (0..copies.len()).filter(|page| choice & (1 << page) != 0) {
                    hits += u32::from(copies[page] != now[page]);
                    next[page] = now[page];
                }
                let fresh = next
                    .iter()
                    .zip(now)
                    .filter(|(copy, now)| copy == now)
                    .count();
                let (more_hits, more_fresh) = go(site, budget, cycle + 1, &next);
                best = (
                    best.0.max(hits + more_hits),
                    best.1.max(fresh as u32 + more_fresh),
                );
            }
            best
        }
        go(site, budget, 1, &site.contents[0])
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(60))]

        #[test]
        fn it_is_reached_when_contents_never_return_and_never_passed(
            steps in prop::collection::vec(prop::collection::vec(0u8..4, 3), 1..4),
            budget in 1usize..3,
            returning in any::<bool>(),
        ) {
            let mut contents = vec![vec![1u8; 3]];
            for (cycle, step) in steps.iter().enumerate() {
                let before = contents.last().unwrap().clone();
                let next = before.iter().zip(step).map(|(before, new)| match (new, returning) {
                    (0, _) => *before,
                    (new, true) => *new,
                    (_, false) => cycle as u8 + 2,
                });
                contents.push(next.collect());
            }
            let site = Site { contents };
            let store = store(std::slice::from_ref(&site));
            let late = bound(&store, budget as u64, Since::LastCycle);
            let bound = bound(&store, budget as u64, Since::Copy);
            prop_assert!(late.change_ratio <= bound.change_ratio + 1e-12);
            let (hits, fresh) = by_trying_everything(&site, budget);
            let cycles = f64::from(store.cycles());
            let best_ratio = f64::from(hits) / (budget as f64 * cycles);
            let best_fresh = f64::from(fresh) / (3.0 * cycles);
            prop_assert!(bound.change_ratio >= best_ratio - 1e-12);
            prop_assert!(bound.freshness >= best_fresh - 1e-12);
            // Without links all pages weigh the same: the matroid must agree with the rule.
            prop_assert!((bound.weighted_change_ratio - bound.change_ratio).abs() < 1e-9);
            prop_assert!(bound.weighted_freshness >= bound.freshness - 1e-9);
            if !returning {
                prop_assert!((bound.change_ratio - best_ratio).abs() < 1e-12);
                prop_assert!((bound.freshness - best_fresh).abs() < 1e-12);
            }
        }
    }
}
