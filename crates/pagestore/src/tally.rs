//! Counts over a whole crawl: the fold of its entries that people ask for.

use std::collections::BTreeMap;

use turnstone_frontier::{HostId, Visit};

use crate::entry::Entry;
use crate::outcome::{Outcome, Settled};

/// The most classes that are counted apart; strangers do not choose classes, but limits are cheap.
const CLASSES_MAX: usize = 256;

/// What the kind of the note begins with that keeps the answer of a random sibling.
pub const PROBE_NOTE: &str = "probe ";

/// What a crawl has done so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Pages asked for and robots.txt files together.
    pub requests: u64,
    /// Requests for robots.txt.
    pub robots_requests: u64,
    /// Bytes of bodies received.
    pub body_bytes: u64,
    /// Of them, what came without a request of ours: from an old crawl that was imported.
    pub imported_bytes: u64,
    /// Pages first stored without a request of ours.
    pub imported_pages: u64,
    /// Fetches that brought a page, again and again where it was fetched again.
    pub fetches: u64,
    /// Of these, fetches of pages whose links could not all be seen, because a limit cut them.
    pub cut_fetches: u64,
    /// By HTTP status class: 1xx to 5xx, and other at 0.
    pub statuses: [u64; 6],
    /// Settled pages by class, in the order of the alphabet.
    pub classes: BTreeMap<String, u64>,
    /// Random siblings that were asked for, to see what a server says of pages that are not there.
    pub probes: u64,
    /// Pages known that are out of scope.
    pub outside_pages: u64,
    /// By host.
    pub hosts: Vec<HostTally>,
    /// Requests for no page that are under way.
    visits_open: u64,
}

/// What a crawl has done at one host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HostTally {
    /// Pages known.
    pub pages: u32,
    /// Pages fetched at least once.
    pub fetched: u32,
    /// Requests that brought no page.
    pub failed: u32,
    /// Requests sent for pages.
    pub requests: u32,
    /// Time spent on them.
    pub milliseconds: u64,
    /// Bytes of bodies received.
    pub body_bytes: u64,
}

impl Tally {
    /// Adds what another shard of the crawl has done. Hosts follow one another, so their numbers say nothing.
    pub fn add(&mut self, other: &Self) {
        self.requests += other.requests;
        self.robots_requests += other.robots_requests;
        self.body_bytes += other.body_bytes;
        self.imported_bytes += other.imported_bytes;
        self.imported_pages += other.imported_pages;
        self.fetches += other.fetches;
        self.cut_fetches += other.cut_fetches;
        for (mine, theirs) in self.statuses.iter_mut().zip(other.statuses) {
            *mine += theirs;
        }
        for (class, count) in &other.classes {
            *self.classes.entry(class.clone()).or_default() += count;
        }
        self.probes += other.probes;
        self.outside_pages += other.outside_pages;
        self.hosts.extend_from_slice(&other.hosts);
        self.visits_open += other.visits_open;
    }

    /// Folds one entry in. `host` is that of the page an outcome speaks of; `first` says whether
    /// that page had never been fetched.
    pub(crate) fn fold(&mut self, entry: &Entry<'_>, host: HostId, first: bool) {
        match entry {
            Entry::Host { .. } | Entry::Away { .. } => self.hosts.push(HostTally::default()),
            // A request that was under way when its process ended may have been sent: it counts.
            Entry::Session { .. } => self.requests += std::mem::take(&mut self.visits_open),
            Entry::Visit {
                visit: Visit::Opened,
                ..
            } => self.visits_open += 1,
            Entry::Visit {
                visit: Visit::Closed,
                ..
            } => self.visits_open = self.visits_open.saturating_sub(1),
            Entry::Page {
                refused, outside, ..
            } => {
                self.scoped(host, !outside);
                if !refused.0.is_empty() {
                    self.class(refused.0);
                }
            }
            Entry::Outcome(outcome) => self.outcome(outcome, host, first),
            Entry::Robots {
                requests,
                body_bytes,
                ..
            } => {
                self.requests += u64::from(*requests);
                self.robots_requests += u64::from(*requests);
                self.body_bytes += body_bytes;
            }
            Entry::Note { kind, .. } if kind.starts_with(PROBE_NOTE) => self.probes += 1,
            _ => {}
        }
    }

    /// A page of a host comes into scope, or is found out of it.
    pub(crate) fn scoped(&mut self, host: HostId, inside: bool) {
        match self.hosts.get_mut(host.index()) {
            Some(host) if inside => host.pages += 1,
            Some(_) | None => {}
        }
        self.outside_pages += u64::from(!inside);
    }

    /// A page of a host changes sides.
    pub(crate) fn rescoped(&mut self, host: HostId, inside: bool) {
        if let Some(host) = self.hosts.get_mut(host.index()) {
            host.pages = if inside {
                host.pages + 1
            } else {
                host.pages.saturating_sub(1)
            };
        }
        self.outside_pages = if inside {
            self.outside_pages.saturating_sub(1)
        } else {
            self.outside_pages + 1
        };
    }

    fn outcome(&mut self, outcome: &Outcome<'_>, host: HostId, first: bool) {
        let facts = &outcome.facts;
        self.requests += u64::from(facts.requests);
        self.body_bytes += facts.body_bytes;
        if facts.status != 0 {
            let class = usize::from(facts.status / 100);
            self.statuses[if class > 5 { 0 } else { class }] += 1;
        }
        self.class(&facts.class);
        let fetched = matches!(outcome.settled, Settled::Fetched(_)) && !facts.hearsay;
        if facts.requests == 0 {
            self.imported_bytes += facts.body_bytes;
            self.imported_pages += u64::from(fetched && first);
        }
        self.fetches += u64::from(fetched);
        self.cut_fetches += u64::from(fetched && facts.unseen_links > 0);
        if let Some(host) = self.hosts.get_mut(host.index()) {
            host.fetched += u32::from(fetched && first);
            host.failed += u32::from(!fetched && facts.requests > 0);
            host.requests += facts.requests;
            host.milliseconds += u64::from(facts.milliseconds);
            host.body_bytes += facts.body_bytes;
        }
    }

    /// A page given back without a word about it is in no class.
    fn class(&mut self, class: &str) {
        if class.is_empty() {
            return;
        }
        if let Some(count) = self.classes.get_mut(class) {
            *count += 1;
        } else if self.classes.len() < CLASSES_MAX {
            self.classes.insert(class.to_owned(), 1);
        }
    }
}
