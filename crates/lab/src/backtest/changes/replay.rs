//! The replay: cycle by cycle, the policy asks through the scheduler and the record answers.
//!
//! Measures, cycle by cycle: the ChangeRatio (changed among fetched), the same weighted by
//! PageRank (a page of average rank counting 1), and the freshness of the store at the cycle's end
//! (the share of pages whose copy is current), plain and weighted. A page that vanished and whose
//! copy says so is fresh.
//!
//! A request that the record cannot answer, because it does not know what the page was then, is as
//! one that failed: it is spent, the policy learns nothing, and our copy stays. The measures are
//! those of the answers there are; counts of the others go with them ([`Unknown`]), and so does what
//! the ChangeRatio would be with every answer counted for as many as it stands for, where pages were
//! looked at by chance.
//!
//! Cost: that of the policy, and O(pages) a cycle.

use serde::Serialize;
use turnstone_frontier::{Change, Event, Fault, HostId, Links, PageId, Policy};
use turnstone_policy::changes::Store as _;

use super::sites::{Content, SiteStore};
use crate::driver::{Answer, Answers, Driver, Newcomer};
use crate::history::Known;
use crate::web::weight;

/// Compared with what a page counts as changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Since {
    /// With our copy.
    Copy,
    /// With what it was a cycle ago, whatever was fetched.
    LastCycle,
}

/// What came of one cycle.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Cycle {
    /// Pages fetched.
    pub downloads: u64,
    /// Of these, changed, as asked for by [`Since`].
    pub changed: u64,
    /// Of these, not as our copy said.
    pub changed_since_copy: u64,
    /// Of these, not as they were a cycle ago.
    pub changed_since_last_cycle: u64,
    /// changed / downloads.
    pub change_ratio: f64,
    /// PageRank of the changed / downloads, a page of average rank counting 1.
    pub weighted_change_ratio: f64,
    /// The share of pages whose copy is current at the end of the cycle.
    pub freshness: f64,
    /// The same, by PageRank.
    pub weighted_freshness: f64,
    /// What is not known.
    pub unknown: Unknown,
}

impl Cycle {
    /// Requests that were answered.
    pub fn answered(&self) -> u64 {
        self.downloads - self.unknown.requests
    }
}

/// What the record does not know of a cycle, and what its chances tell.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Unknown {
    /// Requests without an answer.
    pub requests: u64,
    /// Pages of which it is not known whether our copy is current at the end of the cycle.
    pub copies: u64,
    /// Pages of which it is.
    pub known_copies: u64,
    /// Of the answers from a look: the sum of one over the chance of each, the same of those that
    /// had changed, and the sum of squares.
    pub weights: (f64, f64, f64),
    /// How many of these looks hung on chance.
    pub by_chance: u64,
}

/// Runs a policy with a budget of fetches a cycle.
pub fn run(store: &SiteStore, policy: Box<dyn Policy>, budget: u64, since: Since) -> Vec<Cycle> {
    let mut replay = Replay::new(store, policy, since);
    let cycles = 1..=store.cycles();
    cycles.map(|cycle| replay.cycle(cycle, budget)).collect()
}

/// A policy and the store it keeps.
struct Replay<'a> {
    driver: Driver<Box<dyn Policy>>,
    kept: Kept<'a>,
}

impl<'a> Replay<'a> {
    fn new(store: &'a SiteStore, policy: Box<dyn Policy>, since: Since) -> Self {
        let pages = store.page_count() as f64;
        let mut replay = Self {
            driver: Driver::in_rounds(policy),
            kept: Kept {
                store,
                copies: store.contents(0).to_vec(),
                weights: store.importance().iter().map(|w| w * pages).collect(),
                since,
                cycle: 0,
                announced: 0,
                told: Told::Unknown,
                tally: Cycle::default(),
                weight: 0.0,
            },
        };
        replay.driver.announce(&mut replay.kept);
        replay
    }

    fn cycle(&mut self, cycle: u32, budget: u64) -> Cycle {
        self.kept.cycle = cycle;
        self.driver.at(self.kept.store.tick(cycle));
        self.driver.announce(&mut self.kept);
        let round = cycle - 1;
        self.driver
            .tell(&Event::Round { round, budget }, self.kept.lent());
        while self.driver.step(&mut self.kept).is_some() {
            let spent = self.kept.tally.downloads;
            assert!(spent <= budget, "a cycle spends its budget at most");
        }
        self.kept.end()
    }
}

/// The sites at one cycle, and our copies of their pages.
struct Kept<'a> {
    store: &'a SiteStore,
    /// By page: our copy.
    copies: Vec<Content>,
    /// By page: PageRank, 1 on average.
    weights: Vec<f64>,
    since: Since,
    cycle: u32,
    announced: usize,
    /// What the page asked for last is.
    told: Told,
    tally: Cycle,
    /// PageRank of the pages that had changed.
    weight: f64,
}

/// What a fetch told.
#[derive(Clone, Copy, Debug)]
enum Told {
    Unknown,
    Gone,
    There(Change),
}

impl Answers for Kept<'_> {
    fn asked(&mut self, page: PageId) {
        self.tally.downloads += 1;
        self.told = self.look(page);
    }

    /// Pages join with copies of now.
    fn newcomer(&mut self) -> Option<Newcomer> {
        let index = self.announced;
        if index == self.store.joined(self.cycle) {
            return None;
        }
        self.announced += 1;
        self.copies[index] = self.store.contents(self.cycle)[index];
        Some(Newcomer {
            page: PageId::from_index(index),
            host: HostId(0),
            seed: false,
        })
    }

    fn answer(&self, page: PageId) -> Answer<'_> {
        match self.told {
            Told::Unknown => Answer::Failed(Fault::Refused),
            Told::Gone => Answer::Failed(Fault::Gone),
            Told::There(change) => Answer::Fetched(change, self.store.graph().links(page)),
        }
    }

    fn lent(&self) -> &dyn Links {
        self.store.graph()
    }
}

impl Kept<'_> {
    /// Looks at a page, renews our copy, and counts what changed.
    fn look(&mut self, page: PageId) -> Told {
        let (index, cycle) = (page.index(), self.cycle);
        let content = self.store.contents(cycle)[index];
        let before = self.store.contents(cycle - 1)[index];
        let tally = &mut self.tally;
        let known = self.store.known(cycle, page);
        // What was a cycle ago is part of this question.
        let compared = match self.since {
            Since::Copy => true,
            Since::LastCycle => self.store.known(cycle - 1, page).is_known(),
        };
        if !(known.is_known() && compared) {
            tally.unknown.requests += 1;
            return Told::Unknown;
        }
        let copy = std::mem::replace(&mut self.copies[index], content);
        tally.changed_since_copy += u64::from(content != copy);
        tally.changed_since_last_cycle += u64::from(content != before);
        let changed = match self.since {
            Since::Copy => content != copy,
            Since::LastCycle => content != before,
        };
        tally.changed += u64::from(changed);
        if changed {
            self.weight += self.weights[index];
        }
        if let Known::Seen(chance) = known {
            let weight = weight(chance);
            let (all, of_changed, squares) = &mut tally.unknown.weights;
            *all += weight;
            *of_changed += if changed { weight } else { 0.0 };
            *squares += weight * weight;
            tally.unknown.by_chance += u64::from(chance != 0);
        }
        match (content, changed) {
            (Content::ABSENT, _) => Told::Gone,
            (_, true) => Told::There(Change::Changed),
            (_, false) => Told::There(Change::Unchanged),
        }
    }

    /// Ends a cycle: its tally.
    fn end(&mut self) -> Cycle {
        let mut tally = std::mem::take(&mut self.tally);
        let downloads = tally.answered().max(1) as f64;
        tally.change_ratio = tally.changed as f64 / downloads;
        tally.weighted_change_ratio = std::mem::take(&mut self.weight) / downloads;
        self.look_at_copies(self.cycle, &mut tally);
        tally
    }

    /// Which copies are current, of those of which it is known.
    fn look_at_copies(&self, cycle: u32, tally: &mut Cycle) {
        let (mut fresh, mut weighted, mut total) = (0u64, 0.0, 0.0);
        let joined = self.store.joined(cycle);
        for (index, content) in self.store.contents(cycle)[..joined].iter().enumerate() {
            let page = PageId::from_index(index);
            if !self.store.known(cycle, page).is_known() {
                tally.unknown.copies += 1;
                continue;
            }
            tally.unknown.known_copies += 1;
            total += self.weights[index];
            if *content == self.copies[index] {
                fresh += 1;
                weighted += self.weights[index];
            }
        }
        tally.freshness = fresh as f64 / tally.unknown.known_copies.max(1) as f64;
        tally.weighted_freshness = weighted / total.max(f64::MIN_POSITIVE);
    }
}

#[cfg(test)]
mod tests {
    use super::super::sites::{Calendar, Compare, Pace};
    use super::super::testing::{Site, read, store};
    use super::*;
    use turnstone_policy::Spec;

    fn replay(store: &SiteStore, spec: &str, budget: u64, since: Since) -> Vec<Cycle> {
        let spec: Spec = spec.parse().unwrap();
        let policy = turnstone_policy::changes::build(&spec, store, 1).unwrap();
        run(store, policy, budget, since)
    }

    /// Page 0 stands still, page 1 changes every week, page 2 vanishes in week 1 and stays away.
    fn three_pages() -> Site {
        let contents = vec![vec![1, 1, 1], vec![1, 2, 0], vec![1, 3, 0], vec![1, 4, 0]];
        Site { contents }
    }

    #[test]
    fn with_all_the_budget_every_change_is_found_once_and_all_is_fresh() {
        let store = store(&[three_pages()]);
        let cycles = replay(&store, "round-robin", 3, Since::Copy);
        let changed: Vec<u64> = cycles.iter().map(|cycle| cycle.changed).collect();
        // The page that vanished counts once.
        assert_eq!(changed, [2, 1, 1]);
        assert!(
            cycles
                .iter()
                .all(|cycle| cycle.freshness == 1.0 && cycle.downloads == 3)
        );
    }

    #[test]
    fn without_budget_nothing_is_fetched_and_the_store_grows_old() {
        let store = store(&[three_pages()]);
        let cycles = replay(&store, "round-robin", 0, Since::Copy);
        assert!(
            cycles
                .iter()
                .all(|cycle| cycle.downloads == 0 && cycle.change_ratio == 0.0)
        );
        assert!((cycles[2].freshness - 1.0 / 3.0).abs() < 1e-12);
    }

    #[test]
    fn since_copy_and_since_last_cycle_differ_for_a_page_that_changed_earlier() {
        let contents = vec![vec![1], vec![2], vec![2]];
        let store = store(&[Site { contents }]);
        // Nothing is fetched in the first cycle: the change is found a cycle late.
        let spec: Spec = "rns".parse().unwrap();
        let found = |since| {
            let policy = turnstone_policy::changes::build(&spec, &store, 1).unwrap();
            let mut replay = Replay::new(&store, policy, since);
            replay.cycle(1, 0);
            replay.cycle(2, 1).changed
        };
        assert_eq!((found(Since::Copy), found(Since::LastCycle)), (1, 0));
    }

    #[test]
    fn sites_start_together_and_stand_still_after_their_last_snapshot() {
        let long = Site {
            contents: vec![vec![1], vec![2], vec![3], vec![4]],
        };
        let short = Site {
            contents: vec![vec![1, 1], vec![1, 2]],
        };
        let store = store(&[long, short]);
        assert_eq!((store.page_count(), store.cycles()), (3, 3));
        assert_eq!([0, 1, 2].map(|page| store.site(PageId(page))), [0, 1, 1]);
        assert!(store.contents(3)[1..] == store.contents(1)[1..]);
        assert!(store.contents(3)[0] != store.contents(2)[0]);
    }

    #[test]
    fn pages_born_later_join_only_when_the_store_may_grow() {
        let site = Site {
            contents: vec![vec![1, 0, 1], vec![1, 5, 1], vec![2, 5, 1]],
        };
        let calendar = |grow| Calendar {
            cycles: 2,
            pace: Pace::Weeks(1),
            compare: Compare::Raw,
            grow,
        };
        let sites = [site];
        assert_eq!(read(&sites, calendar(false)).page_count(), 2);
        let grown = read(&sites, calendar(true));
        assert_eq!((grown.page_count(), grown.first_pages()), (3, 2));
        assert_eq!(grown.joining(1).collect::<Vec<_>>(), [PageId(2)]);
        for spec in [
            "rns",
            "directory-neighbours",
            "cluster-neighbours",
            "gsb",
            "cohorts",
            "azar",
        ] {
            let cycles = replay(&grown, spec, 3, Since::Copy);
            let downloads: Vec<u64> = cycles.iter().map(|cycle| cycle.downloads).collect();
            assert_eq!(downloads, [3, 3], "{spec}");
            assert_eq!(cycles[1].changed, 1, "{spec}");
        }
    }
}
