//! The policies that learn from full recrawls: rank by a statistic of the past, fetch the best.
//!
//! At each recrawl the policy works out which old pages led to which new ones and hands that to
//! its [`Statistic`]; at each discovery round it ranks the pages the statistic puts first, as many
//! as the budget allows. A page's rank is its place from the end, so the ranking's order is
//! exactly the statistic's. What a discovery round finds teaches it nothing: between two recrawls
//! it always asks for the same pages.
//!
//! Cost: a recrawl's closure and what the statistic adds; O(log pages) per fetch of a round.

use std::collections::BTreeSet;
use std::io;

use turnstone_frontier::{Event, Fault, Links, PageId, Policy, Ranking, Restore, Save, Tick};

use super::DiscoveryPolicy;
use super::arrivals::Arrivals;
use super::watch::{Phase, RECRAWL, Target, Watch};

/// What is remembered of past recrawls, and which pages it speaks for.
pub(crate) trait Statistic: Send {
    /// Takes in a recrawl. `round` counts time.
    fn learn(&mut self, round: u32, arrivals: &Arrivals);

    /// A page was there in a recrawl, or was gone.
    fn presence(&mut self, _page: PageId, _present: bool) {}

    /// An old page linked to a new one in a recrawl, and had so many links in all.
    fn told(&mut self, _page: PageId, _links: usize) {}

    /// The pages to fetch, best first; more than `budget` need not be right.
    fn best(&mut self, budget: usize) -> &[PageId];

    /// How often the site must be recrawled for the statistic to be what it is called.
    fn recrawl_every(&self) -> Option<u32> {
        None
    }

    fn save(&self, out: &mut dyn io::Write) -> io::Result<()>;
    fn restore(&mut self, saved: &mut dyn io::Read) -> io::Result<()>;
}

/// Ranks by a statistic of full recrawls.
#[derive(Debug)]
pub(crate) struct HistoryBased<S> {
    watch: Watch,
    statistic: S,
    /// Whether the current round is a recrawl.
    recrawl: bool,
    /// Pages ranked for the current round.
    queued: Vec<PageId>,
}

impl<S: Statistic> HistoryBased<S> {
    pub(crate) fn new(statistic: S, target: Target) -> Self {
        Self {
            watch: Watch::new(Phase::Recrawl, target),
            statistic,
            recrawl: false,
            queued: Vec::new(),
        }
    }

    fn begin(&mut self, round: u32, budget: u64, ranking: &mut Ranking) {
        if let Some(seen) = self.watch.begin(round, budget) {
            self.statistic.learn(seen.round, &seen.arrivals);
        }
        self.recrawl = budget == RECRAWL;
        clear(&mut self.queued, ranking);
        if !self.recrawl {
            let budget = usize::try_from(budget).unwrap_or(usize::MAX);
            let best = self.statistic.best(budget);
            let best = &best[..best.len().min(budget)];
            self.queued.extend_from_slice(best);
            queue(&self.queued, ranking);
        }
    }
}

/// Ranks pages in the order given.
pub(crate) fn queue(pages: &[PageId], ranking: &mut Ranking) {
    for (place, page) in pages.iter().enumerate() {
        ranking.set(*page, (pages.len() - place) as u64);
    }
}

/// Takes away the ranks that the round before has left; pages in flight keep theirs.
pub(crate) fn clear(queued: &mut Vec<PageId>, ranking: &mut Ranking) {
    let flying: BTreeSet<PageId> = ranking.in_flight().collect();
    for page in queued.drain(..).filter(|page| !flying.contains(page)) {
        ranking.take(page);
    }
}

/// What a page's answer means for its rank in any discovery policy: it was asked for once.
pub(crate) fn settle(event: &Event<'_>, ranking: &mut Ranking) {
    match *event {
        // A hand-out that never came back is asked for again in the same round.
        Event::Failed {
            page,
            fault: Fault::Lost,
        } => ranking.queue(page),
        Event::Fetched { page, .. } | Event::Failed { page, .. } | Event::Moved { page, .. } => {
            ranking.take(page);
        }
        Event::Discovered { .. }
        | Event::Held { .. }
        | Event::Unseen { .. }
        | Event::Hinted { .. }
        | Event::Crossed(_)
        | Event::Guessed { .. }
        | Event::Round { .. } => {}
    }
}

impl<S: Statistic> Policy for HistoryBased<S> {
    fn observe(&mut self, event: &Event<'_>, _: Tick, _: &dyn Links, ranking: &mut Ranking) {
        settle(event, ranking);
        match *event {
            Event::Discovered { page, host, .. } => self.watch.discover(page, host),
            Event::Fetched { page, links, .. } => {
                if self.watch.fetch(page, links) {
                    self.statistic.told(page, links.len());
                }
                if self.recrawl {
                    self.statistic.presence(page, true);
                }
            }
            Event::Failed {
                page,
                fault: Fault::Gone,
            } if self.recrawl => self.statistic.presence(page, false),
            Event::Round { round, budget } => self.begin(round, budget, ranking),
            Event::Failed { .. }
            | Event::Moved { .. }
            | Event::Held { .. }
            | Event::Unseen { .. }
            | Event::Hinted { .. }
            | Event::Crossed(_)
            | Event::Guessed { .. } => {}
        }
    }

    fn save(&self, out: &mut dyn io::Write) -> io::Result<()> {
        self.watch.save(out)?;
        self.statistic.save(out)?;
        self.recrawl.save(out)?;
        self.queued.save(out)
    }

    fn restore(&mut self, saved: &mut dyn io::Read) -> io::Result<()> {
        self.watch.restore(saved)?;
        self.statistic.restore(saved)?;
        self.recrawl = Restore::restore(saved)?;
        self.queued = Restore::restore(saved)?;
        known_pages(&self.queued, self.watch.page_count())
    }
}

/// Refuses saved pages that were never discovered.
pub(crate) fn known_pages(pages: &[PageId], known: usize) -> io::Result<()> {
    if pages.iter().all(|page| page.index() < known) {
        Ok(())
    } else {
        Err(turnstone_frontier::corrupt("a page that is not known"))
    }
}

impl<S: Statistic> DiscoveryPolicy for HistoryBased<S> {
    fn recrawl_every(&self) -> Option<u32> {
        self.statistic.recrawl_every()
    }
}
