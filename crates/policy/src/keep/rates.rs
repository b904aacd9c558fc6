//! How often each page changes: its own history, with that of its group, its site and of all pages
//! as priors.
//!
//! Each level is a Gamma posterior whose prior is the level above, so a page that was never visited
//! again changes as its group does, and one with a history goes by it. Times are usual days (see
//! [`bursts`](super::bursts)). A visit that found a change counts the time until the first one as
//! expected under the rate believed so far, never changes by time: at most one change a visit is
//! seen, and counting it for the whole interval would make every busy page look slow.
//!
//! Cost: O(1) a visit and a question; 8 bytes a page, 16 a group and a site.

use super::bursts::Home;
use super::steady::exp_gap;

/// A page is believed to change so often a day before anything is known: once in two months.
const FIRST_GUESS: f64 = 1.0 / 60.0;

/// No page is believed to change more seldom, in changes a day: once in thirty years.
const RATE_MIN: f64 = 1e-4;

/// Changes, and the time waited for them.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Waits {
    pub(super) changes: f64,
    pub(super) days: f64,
}

turnstone_frontier::saved!(Waits: changes, days);

impl Waits {
    /// What a visit says under the rate believed so far.
    pub(super) fn of_visit(days: f64, changed: bool, believed: f64) -> Self {
        if !changed {
            return Self { changes: 0.0, days };
        }
        let x = believed * days;
        let first = if x < 1e-4 {
            // The limit: changes are then spread evenly.
            0.5 * days
        } else {
            // 1/rate − days/(e^x − 1), the latter as e^(−x)/(1 − e^(−x)).
            let gap = exp_gap(x);
            1.0 / believed - days * (1.0 - gap) / gap
        };
        Self {
            changes: 1.0,
            days: first,
        }
    }

    fn add(&mut self, other: Self) {
        self.changes += other.changes;
        self.days += other.days;
    }

    /// The mean of the posterior whose prior has this mean and weighs as much as so many changes.
    pub(super) fn posterior(self, prior: f64, weight: f64) -> f64 {
        (self.changes + weight) / (self.days + weight / prior)
    }
}

/// How much the level above weighs, in changes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Pool {
    /// The group, for a page.
    pub(super) page: f64,
    /// The site for a group, all pages for a site, and the first guess for all.
    pub(super) group: f64,
}

/// The histories of groups, sites and all pages.
#[derive(Debug)]
pub(super) struct Rates {
    pool: Pool,
    groups: Vec<Waits>,
    sites: Vec<Waits>,
    all: Waits,
}

impl Rates {
    pub(super) fn new(pool: Pool) -> Self {
        Self {
            pool,
            groups: Vec::new(),
            sites: Vec::new(),
            all: Waits::default(),
        }
    }

    /// What is believed of a page at this place before it is visited again.
    pub(super) fn prior(&self, home: Home) -> f64 {
        let weight = self.pool.group;
        let all = self.all.posterior(FIRST_GUESS, weight);
        let site = self.sites.get(home.site as usize);
        let site = site.map_or(all, |seen| seen.posterior(all, weight));
        let group = home.group.and_then(|group| self.groups.get(group as usize));
        group.map_or(site, |seen| seen.posterior(site, weight))
    }

    /// The rate of a page with this history of its own.
    pub(super) fn rate(&self, home: Home, own: Waits) -> f64 {
        own.posterior(self.prior(home), self.pool.page)
            .max(RATE_MIN)
    }

    /// A page was visited.
    pub(super) fn learn(&mut self, home: Home, seen: Waits) {
        let site = home.site as usize;
        if self.sites.len() <= site {
            self.sites.resize(site + 1, Waits::default());
        }
        self.sites[site].add(seen);
        if let Some(group) = home.group {
            let group = group as usize;
            if self.groups.len() <= group {
                self.groups.resize(group + 1, Waits::default());
            }
            self.groups[group].add(seen);
        }
        self.all.add(seen);
    }

    turnstone_frontier::saved_in_place!(pub(super) [groups, sites, all]);
}
