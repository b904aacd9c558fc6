//! What the slice under way has spent, and each host today: a fold of the journal.
//!
//! A hand-out that never came back may have been sent, so it counts as a request: the process that
//! takes the crawl over settles it so, and requests for no page that were open count when it
//! begins. Budgets therefore bind over kills too.
//!
//! Cost: a number a host that was asked today.

use std::collections::BTreeMap;

use turnstone_frontier::{HostId, Tick, Visit};
use turnstone_pagestore::{Entry, Index};
use turnstone_urls::{Url, host_of};

use crate::slice::{DAY_MS, Slice};

/// What was spent.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Spending {
    /// The slice that runs, or ran last.
    slice: Slice,
    /// The day of the crawl that hosts are counted for.
    day: u64,
    /// By host: requests that day.
    hosts: BTreeMap<HostId, u64>,
    /// Requests for no page that are under way.
    visits: BTreeMap<HostId, u32>,
    /// Of a robots.txt, if the entry before was one: the host it is for, and its requests. If it was asked
    /// for elsewhere, the end of that visit comes next.
    robots: Option<(HostId, u64)>,
}

impl Spending {
    /// The slice that runs, or ran last.
    pub fn slice(&self) -> &Slice {
        &self.slice
    }

    /// How many requests a host got on the day of a tick.
    pub fn of_host(&self, host: HostId, now: Tick) -> u64 {
        if now.0 / DAY_MS != self.day {
            return 0;
        }
        self.hosts.get(&host).copied().unwrap_or(0)
    }

    /// The hosts that were asked for no page of theirs, and have not answered.
    pub fn visited(&self) -> impl Iterator<Item = HostId> + '_ {
        self.visits.keys().copied()
    }

    /// A hand-out spends nothing. Live it is decided where others are counted.
    pub(crate) fn hands_out(&mut self) {
        self.robots = None;
    }

    /// Counts one entry; `question` is that of the rounds which are slices here.
    pub(crate) fn apply(&mut self, index: &Index, question: &str, tick: Tick, entry: &Entry<'_>) {
        let robots = self.robots.take();
        match entry {
            Entry::Round {
                question: of,
                round,
                budget,
            } if *of == question => {
                self.slice = Slice {
                    round: *round,
                    began: tick,
                    budget: *budget,
                    ..Slice::default()
                };
            }
            Entry::Outcome(outcome) => {
                self.slice.count(entry);
                let host = index.host(outcome.page);
                self.host(host, u64::from(outcome.facts.requests), tick);
            }
            Entry::Robots {
                authority,
                requests,
                ..
            } => {
                self.slice.count(entry);
                let url = Url::parse(authority).ok();
                let host = url.and_then(|url| index.find_host(host_of(&url)));
                if let Some(host) = host {
                    let requests = u64::from(*requests);
                    self.host(host, requests, tick);
                    self.robots = Some((host, requests));
                }
            }
            Entry::Hint(_) => self.slice.count(entry),
            Entry::Visit {
                host,
                visit: Visit::Opened,
            } => *self.visits.entry(*host).or_default() += 1,
            Entry::Visit {
                host,
                visit: Visit::Closed,
            } => {
                if let Some(open) = self.visits.get_mut(host) {
                    *open -= 1;
                    if *open == 0 {
                        self.visits.remove(host);
                    }
                }
                if let Some((own, requests)) = robots.filter(|(own, _)| own != host) {
                    if let Some(counted) = self.hosts.get_mut(&own) {
                        *counted = counted.saturating_sub(requests);
                    }
                    self.host(*host, requests, tick);
                }
            }
            Entry::Session { .. } => {
                for (host, open) in std::mem::take(&mut self.visits) {
                    self.slice.requests += u64::from(open);
                    self.host(host, u64::from(open), tick);
                }
            }
            _ => {}
        }
    }

    fn host(&mut self, host: HostId, requests: u64, tick: Tick) {
        let day = tick.0 / DAY_MS;
        if day != self.day {
            self.day = day;
            self.hosts.clear();
        }
        if requests > 0 {
            *self.hosts.entry(host).or_default() += requests;
        }
    }
}

turnstone_frontier::saved!(Spending: slice, day, hosts, visits, robots);

turnstone_frontier::saved!(Slice:
    round, began, budget, requests, new, changed, unchanged, gone, hints);
