//! Counts over a whole crawl: the fold of its entries that people ask for.

use std::collections::BTreeMap;

use turnstone_frontier::HostId;

use crate::entry::{Entry, Outcome, Settled};

/// The most classes that are counted apart; strangers do not choose classes, but limits are cheap.
const CLASSES_MAX: usize = 256;

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
    /// By HTTP status class: 1xx to 5xx, and other at 0.
    pub statuses: [u64; 6],
    /// Settled pages by class, in the order of the alphabet.
    pub classes: BTreeMap<String, u64>,
    /// By host.
    pub hosts: Vec<HostTally>,
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
    /// Folds one entry in. `host` is that of the page an outcome speaks of; `first` says whether
    /// that page had never been fetched.
    pub(crate) fn fold(&mut self, entry: &Entry<'_>, host: HostId, first: bool) {
        match entry {
            Entry::Host { .. } => self.hosts.push(HostTally::default()),
            Entry::Page { refused, .. } => {
                if let Some(host) = self.hosts.get_mut(host.index()) {
                    host.pages += 1;
                }
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
            _ => {}
        }
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
        let fetched = matches!(outcome.settled, Settled::Fetched(_));
        if facts.requests == 0 {
            self.imported_bytes += facts.body_bytes;
            self.imported_pages += u64::from(fetched && first);
        }
        self.fetches += u64::from(fetched);
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
