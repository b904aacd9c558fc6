//! The replay: cycle by cycle, the policy asks through the scheduler and the record answers.
//!
//! Measures, cycle by cycle: the ChangeRatio (changed among fetched), the same weighted by
//! PageRank (a page of average rank counting 1), and the freshness of the store at the cycle's end
//! (the share of pages whose copy is current), plain and weighted. A page that vanished and whose
//! copy says so is fresh.
//!
//! Cost: that of the policy, and O(pages) a cycle.

use turnstone_frontier::{
    Change, Event, Fault, HostId, Next, PageId, Policy, Politeness, Scheduler, Tick,
};
use turnstone_policy::changes::Store as _;

use super::sites::{Content, SiteStore};

/// Milliseconds of a week.
const WEEK_MS: u64 = 7 * 86_400_000;

/// Compared with what a page counts as changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
}

/// Runs a policy with a budget of fetches a cycle.
pub fn run(
    store: &SiteStore,
    policy: Box<dyn Policy>,
    cycle_weeks: u32,
    budget: u64,
    since: Since,
) -> Vec<Cycle> {
    let mut replay = Replay {
        store,
        scheduler: Scheduler::new(policy, Politeness::OFF),
        copies: store.contents(0).to_vec(),
        weights: store
            .importance()
            .iter()
            .map(|w| w * store.page_count() as f64)
            .collect(),
        since,
    };
    replay.join(0, Tick(0));
    let tick = |cycle: u32| Tick(WEEK_MS * u64::from(cycle_weeks) * u64::from(cycle));
    (1..=store.cycles())
        .map(|cycle| replay.cycle(cycle, tick(cycle), budget))
        .collect()
}

struct Replay<'a> {
    store: &'a SiteStore,
    scheduler: Scheduler<Box<dyn Policy>>,
    /// By page: our copy.
    copies: Vec<Content>,
    /// By page: PageRank, 1 on average.
    weights: Vec<f64>,
    since: Since,
}

impl Replay<'_> {
    fn cycle(&mut self, cycle: u32, now: Tick, budget: u64) -> Cycle {
        self.join(cycle, now);
        let round = Event::Round {
            round: cycle - 1,
            budget,
        };
        self.scheduler.observe(&round, now, self.store.graph());
        let mut tally = Cycle::default();
        let mut weight = 0.0;
        while let Next::Fetch(page) = self.scheduler.next(now) {
            assert!(
                tally.downloads < budget,
                "a cycle spends its budget at most"
            );
            let changed = self.fetch(page, cycle, now, &mut tally);
            if changed {
                weight += self.weights[page.index()];
            }
        }
        let downloads = tally.downloads.max(1) as f64;
        tally.change_ratio = tally.changed as f64 / downloads;
        tally.weighted_change_ratio = weight / downloads;
        (tally.freshness, tally.weighted_freshness) = self.freshness(cycle);
        tally
    }

    /// Announces the pages that join in a cycle, with copies of now.
    fn join(&mut self, cycle: u32, now: Tick) {
        for page in self.store.joining(cycle) {
            self.copies[page.index()] = self.store.contents(cycle)[page.index()];
            let event = Event::Discovered {
                page,
                host: HostId(0),
                seed: false,
            };
            self.scheduler.observe(&event, now, self.store.graph());
        }
    }

    fn fetch(&mut self, page: PageId, cycle: u32, now: Tick, tally: &mut Cycle) -> bool {
        let index = page.index();
        let content = self.store.contents(cycle)[index];
        let copy = std::mem::replace(&mut self.copies[index], content);
        let before = self.store.contents(cycle - 1)[index];
        tally.downloads += 1;
        tally.changed_since_copy += u64::from(content != copy);
        tally.changed_since_last_cycle += u64::from(content != before);
        let changed = match self.since {
            Since::Copy => content != copy,
            Since::LastCycle => content != before,
        };
        tally.changed += u64::from(changed);
        let event = if content == Content::ABSENT {
            let fault = Fault::Gone;
            Event::Failed { page, fault }
        } else {
            Event::Fetched {
                page,
                change: if changed {
                    Change::Changed
                } else {
                    Change::Unchanged
                },
                links: self.store.graph().links(page),
            }
        };
        self.scheduler.observe(&event, now, self.store.graph());
        changed
    }

    fn freshness(&self, cycle: u32) -> (f64, f64) {
        let (mut fresh, mut weighted, mut count, mut total) = (0u64, 0.0, 0u64, 0.0);
        let joined = self.store.joined(cycle);
        for (index, content) in self.store.contents(cycle)[..joined].iter().enumerate() {
            count += 1;
            total += self.weights[index];
            if *content == self.copies[index] {
                fresh += 1;
                weighted += self.weights[index];
            }
        }
        (
            fresh as f64 / count.max(1) as f64,
            weighted / total.max(f64::MIN_POSITIVE),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::super::sites::{Calendar, Compare};
    use super::super::testing::{Site, read, store};
    use super::*;
    use turnstone_policy::Spec;

    fn replay(store: &SiteStore, spec: &str, budget: u64, since: Since) -> Vec<Cycle> {
        let spec: Spec = spec.parse().unwrap();
        let policy = turnstone_policy::changes::build(&spec, store, 1).unwrap();
        run(store, policy, 1, budget, since)
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
            let mut replay = Replay {
                store: &store,
                scheduler: Scheduler::new(policy, Politeness::OFF),
                copies: store.contents(0).to_vec(),
                weights: vec![1.0],
                since,
            };
            replay.join(0, Tick(0));
            replay.cycle(1, Tick(1), 0);
            replay.cycle(2, Tick(2), 1).changed
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
            cycle_weeks: 1,
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
