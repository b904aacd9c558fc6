//! A rehearsal of the live commands on recorded sites: what they find and what it costs, against
//! what the record says and what the same policy finds in the lab.
//!
//! | module | what it knows |
//! |---|---|
//! | [`record`] | the served sites at two dates: who is there, what changed, which links |
//! | [`predict`] | a round in this process, answered by the record |
//! | [`live`] | the same round by the binary, read back from its journal |
//! | [`stage`] | the server, the crawl at the first date, one round after the other at the second |
//! | [`soft404`] | servers that say 200 to anything |
//!
//! Predicted and live rounds are both a list of pages in the order they were asked, with what
//! came of each ([`Round`]): all figures are counted from these lists by the same code.

pub(crate) mod live;
pub(crate) mod predict;
pub(crate) mod record;
pub(crate) mod soft404;
pub(crate) mod stage;

use turnstone_frontier::{PageId, Tick};

/// A question about a crawl directory, as the command that asks it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Command {
    /// Every stored page, or as many as so many requests reach.
    Revive(Option<u64>),
    /// So many known pages, and every new page they lead to.
    Discover(u64),
    /// So many stored pages.
    Refresh(u64),
}

/// What came of asking for a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum What {
    /// It is there, and no copy of it was stored.
    New,
    /// It is there and reads differently.
    Changed,
    /// It is there as it was. In a survey: it is there.
    Unchanged,
    /// It is not there.
    Gone,
    /// No verdict, or it was not asked for after all.
    Undecided,
}

/// A round, in the order of its verdicts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Round {
    /// The pages by their numbers in the store.
    pub(crate) pages: Vec<(PageId, What)>,
    /// Requests for pages.
    pub(crate) requests: u64,
    /// Requests for random siblings, to unmask servers that say 200 to anything.
    pub(crate) probes: u64,
    /// Requests for robots.txt.
    pub(crate) robots: u64,
    /// When it began. Policies that weigh the age of copies hang on it.
    pub(crate) began: Tick,
}

impl Round {
    /// Pages asked that the store had. Of a survey and a refresh these are all.
    pub(crate) fn asked(&self, stored: impl Fn(PageId) -> bool) -> u64 {
        self.pages.iter().filter(|(page, _)| stored(*page)).count() as u64
    }

    /// What the command looks for: alive, new or changed pages.
    pub(crate) fn found(&self, command: Command) -> u64 {
        let counts = |what: What| match command {
            Command::Revive(_) => what == What::Unchanged,
            Command::Discover(_) => what == What::New,
            Command::Refresh(_) => matches!(what, What::Changed | What::Gone),
        };
        self.pages.iter().filter(|(_, what)| counts(*what)).count() as u64
    }
}
