//! What a policy sees of a round: which links to new pages its fetches showed.
//!
//! A policy works out N(x) itself, from events it would get in a live crawl as well. A page is
//! new in a round if it was discovered after the round was announced; ids are issued in order, so
//! that is one comparison. Links are kept only where they lead to new pages, and only until the
//! round is over: a full recrawl of a large site costs what its new links cost.
//!
//! A round with budget [`RECRAWL`] is a full recrawl: the driver asks for every page it knows, and
//! there is nothing to rank. A discovery round and a recrawl with the same number look at the web
//! at the same time: what is new in one is new in the other.
//!
//! Cost: O(links) per fetch; 8 bytes per link to a new page, until the round ends.

use std::io;

use turnstone_frontier::{HostId, PageId, Restore, Save, corrupt};

use super::arrivals::{Arrivals, SavedSightings, Sightings};

/// The budget of a full recrawl.
pub const RECRAWL: u64 = u64::MAX;

/// What counts as found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Target {
    /// Every new page.
    #[default]
    Pages,
    /// Hosts never seen before; pages on known hosts are only the way there.
    Hosts,
}

/// What a round is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Find new pages within a budget.
    Discovery,
    /// Fetch everything.
    Recrawl,
}

/// What came of a phase.
pub(crate) struct Yield {
    pub(crate) round: u32,
    pub(crate) arrivals: Arrivals,
}

/// Links to new pages, round by round.
#[derive(Debug)]
pub(crate) struct Watch {
    target: Target,
    /// Which rounds are watched.
    watched: Phase,
    pages: u32,
    hosts: u32,
    current: Option<(u32, Phase)>,
    sightings: Sightings,
}

impl Watch {
    /// Watches the rounds of one kind.
    pub(crate) fn new(watched: Phase, target: Target) -> Self {
        Self {
            target,
            watched,
            pages: 0,
            hosts: 0,
            current: None,
            sightings: Sightings::default(),
        }
    }

    /// How many pages are known.
    pub(crate) fn page_count(&self) -> usize {
        self.pages as usize
    }

    /// Whether a page was discovered in the current round.
    pub(crate) fn is_new(&self, page: PageId) -> bool {
        self.sightings.is_new(page)
    }

    pub(crate) fn discover(&mut self, page: PageId, host: HostId) {
        assert_eq!(page.0, self.pages, "page ids are dense and issued in order");
        let weight = match self.target {
            Target::Pages => 1,
            Target::Hosts => u32::from(host.0 >= self.hosts),
        };
        self.pages += 1;
        self.hosts = self.hosts.max(host.0 + 1);
        if self.current.is_some() {
            self.sightings.expect(weight);
        }
    }

    /// Takes in what a page links to. Returns whether it is an old page that links to a new one.
    pub(crate) fn fetch(&mut self, page: PageId, links: &[PageId]) -> bool {
        self.watching().is_some() && self.sightings.see(page, links) && !self.is_new(page)
    }

    /// A phase begins. Returns what came of the one before, if it was watched.
    pub(crate) fn begin(&mut self, round: u32, budget: u64) -> Option<Yield> {
        let seen = self.watching().map(|round| Yield {
            round,
            arrivals: self.sightings.close(),
        });
        if self.current.is_some_and(|(current, _)| current == round) {
            self.sightings.forget_links();
        } else {
            self.sightings = Sightings::new(PageId(self.pages));
        }
        let phase = if budget == RECRAWL {
            Phase::Recrawl
        } else {
            Phase::Discovery
        };
        self.current = Some((round, phase));
        seen
    }

    /// The current round, if it is watched.
    pub(crate) fn watching(&self) -> Option<u32> {
        let current = self.current.filter(|(_, phase)| *phase == self.watched);
        current.map(|(round, _)| round)
    }

    pub(crate) fn save(&self, out: &mut dyn io::Write) -> io::Result<()> {
        self.pages.save(out)?;
        self.hosts.save(out)?;
        let current = self.current;
        current
            .map(|(round, phase)| (round, phase == Phase::Recrawl))
            .save(out)?;
        let parts = self.sightings.parts();
        parts.first_new.save(out)?;
        parts.weights.save(out)?;
        parts.from_old.save(out)?;
        parts.from_new.save(out)
    }

    pub(crate) fn restore(&mut self, saved: &mut dyn io::Read) -> io::Result<()> {
        self.pages = Restore::restore(saved)?;
        self.hosts = Restore::restore(saved)?;
        let current: Option<(u32, bool)> = Restore::restore(saved)?;
        self.current = current.map(|(round, recrawl)| {
            let phase = if recrawl {
                Phase::Recrawl
            } else {
                Phase::Discovery
            };
            (round, phase)
        });
        let parts = SavedSightings {
            first_new: Restore::restore(saved)?,
            weights: Restore::restore(saved)?,
            from_old: Restore::restore(saved)?,
            from_new: Restore::restore(saved)?,
        };
        self.sightings = Sightings::from_parts(parts)
            .ok_or_else(|| corrupt("a link to a page that is not new in its round"))?;
        Ok(())
    }
}
