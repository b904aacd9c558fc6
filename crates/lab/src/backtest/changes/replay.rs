//! The replay: cycle by cycle, the policy asks through the scheduler and the record answers.
//!
//! Measures, cycle by cycle: the ChangeRatio (changed among fetched), the same weighted by
//! PageRank (a page of average rank counting 1), and the freshness of the store at the cycle's end
//! (the share of pages whose copy is current), plain and weighted. A page that vanished and whose
//! copy says so is fresh.
//!
//! Cost: that of the policy, and O(pages) a cycle.

use serde::Serialize;
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
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
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
