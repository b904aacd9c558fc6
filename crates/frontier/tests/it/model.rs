//! The slow truth: a ranking and a calendar that look at everything, every time.

use std::collections::BTreeMap;

use turnstone_frontier::{HostId, Next, PageId, Politeness, Rank, Tick};

/// Where a page's rank is, said in full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    Queued,
    Parked,
    InFlight,
    Shelved,
    Deferred(Tick),
    Absent { home_parked: bool },
}

#[derive(Clone, Debug)]
pub(crate) struct Page {
    pub(crate) host: HostId,
    pub(crate) rank: Rank,
    pub(crate) place: Place,
}

/// Every page in a list, every question answered by reading the whole list.
#[derive(Clone, Debug, Default)]
pub(crate) struct Model {
    pub(crate) pages: Vec<Page>,
    /// By host: the starts of its requests, and how many are open.
    pub(crate) starts: BTreeMap<HostId, Tick>,
    pub(crate) held: BTreeMap<HostId, Tick>,
}

impl Model {
    fn open(&self, host: HostId) -> usize {
        self.pages
            .iter()
            .filter(|p| p.host == host && p.place == Place::InFlight)
            .count()
    }

    /// The first tick at which the host may be asked, if it is time alone that keeps it.
    fn earliest(&self, host: HostId, politeness: Politeness) -> Option<Tick> {
        if self.open(host) >= politeness.open_max as usize {
            return None;
        }
        let after_last = self
            .starts
            .get(&host)
            .map_or(Tick(0), |t| t.plus(politeness.delay_ms));
        Some(after_last.max(self.held.get(&host).copied().unwrap_or_default()))
    }

    /// Every event and every question brings back the pages whose time has come.
    pub(crate) fn wake(&mut self, now: Tick) {
        for page in &mut self.pages {
            if matches!(page.place, Place::Deferred(until) if until <= now) {
                page.place = Place::Queued;
            }
        }
    }

    pub(crate) fn next(&mut self, now: Tick, politeness: Politeness) -> Next {
        self.wake(now);
        let mut best: Option<usize> = None;
        let mut wake: Option<Tick> = None;
        for (index, page) in self.pages.iter().enumerate() {
            match page.place {
                Place::Deferred(until) => wake = Some(wake.map_or(until, |w| w.min(until))),
                Place::Queued => match self.earliest(page.host, politeness) {
                    Some(tick) if tick <= now => {
                        let better = best.is_none_or(|b| page.rank > self.pages[b].rank);
                        best = if better { Some(index) } else { best };
                    }
                    Some(tick) => wake = Some(wake.map_or(tick, |w| w.min(tick))),
                    None => {}
                },
                _ => {}
            }
        }
        match best {
            Some(index) => {
                self.pages[index].place = Place::InFlight;
                self.starts.insert(self.pages[index].host, now);
                Next::Fetch(PageId::from_index(index))
            }
            None => wake.map_or(Next::Empty, Next::WaitUntil),
        }
    }

    /// The best page in a place: higher rank, then smaller id.
    pub(crate) fn best(&self, place: Place) -> Option<(PageId, Rank)> {
        let pages = self
            .pages
            .iter()
            .enumerate()
            .filter(|(_, page)| page.place == place);
        pages
            .map(|(index, page)| (PageId::from_index(index), page.rank))
            .reduce(|a, b| if b.1 > a.1 { b } else { a })
    }
}
