//! What happens is written to the journal and told to the scheduler: always both, in this order.
//!
//! Nothing else in this crate tells the scheduler anything, so the journal has it all.

use turnstone_frontier::{Event, Fault, HostId, PageId, Policy, Tick, Visit};
use turnstone_pagestore::{Entry, Facts, Hint, Links, Outcome, Position, Settled};

use crate::run::Crawl;
use crate::view::{self, View, Viewed};

impl<P: Policy> Crawl<P> {
    /// A page is settled.
    pub(crate) fn settle(
        &mut self,
        page: PageId,
        settled: Settled,
        links: &[PageId],
        mut facts: Facts,
    ) {
        self.entries += 1;
        if let Some(chance) = self.chances.remove(&page) {
            facts.chance = chance.to_units();
        }
        if facts.requests > 0 {
            // Still as it was handed out: the policy has not been told yet.
            let number = self.view.inner(page);
            facts.arm = number.and_then(|number| self.scheduler.policy().arm(number));
        }
        let outcome = Outcome {
            page,
            settled,
            links: Links::Ids(links),
            before: Position::default(),
            facts,
        };
        self.store.settle(self.now, outcome);
        if let Some(slices) = &mut self.slices {
            slices.now.settled(settled);
        }
        if let Some(onlooker) = &self.onlooker {
            onlooker.settled(page, settled);
        }
        let mut buffer = Vec::new();
        let Some(event) = view::event(&self.view, page, settled, links, &mut buffer) else {
            return;
        };
        let known = Viewed {
            view: &self.view,
            links: &self.store,
        };
        self.scheduler.observe(&event, self.now, &known);
    }

    /// A page says that another changed since our copy of it was made.
    pub(crate) fn hinted(&mut self, hint: Hint) {
        self.entries += 1;
        self.store.append(self.now, &Entry::Hint(hint));
        if let Some(slices) = &mut self.slices {
            slices.now.hints += 1;
        }
        if let Some(onlooker) = &self.onlooker {
            onlooker.hinted(hint);
        }
        if let Some(page) = self.view.inner(hint.page) {
            let event = Event::Hinted { page };
            self.scheduler.observe(&event, self.now, &self.store);
        }
    }

    /// A host is not to be asked before a tick.
    pub(crate) fn hold(&mut self, host: HostId, until: Tick) {
        self.entries += 1;
        self.store.append(self.now, &Entry::Held { host, until });
        let event = Event::Held { host, until };
        self.scheduler.observe(&event, self.now, &self.store);
    }

    /// Something happens at a host beside its pages.
    pub(crate) fn visit(&mut self, host: HostId, visit: Visit) {
        self.entries += 1;
        self.store.append(self.now, &Entry::Visit { host, visit });
        self.scheduler.visit(host, visit, self.now);
    }

    /// Two hosts are served by one address.
    pub(crate) fn join(&mut self, host: HostId, with: HostId) {
        self.entries += 1;
        self.store.append(self.now, &Entry::Joined { host, with });
        let turns = [host, with].map(|host| self.turns.remove(&self.scheduler.unit(host)));
        self.scheduler.join(host, with, self.now);
        if let Some(turn) = turns.into_iter().flatten().next() {
            self.turns.insert(self.scheduler.unit(host), turn);
        }
    }

    /// A page was handed out.
    pub(crate) fn handed_out(&mut self, page: PageId) {
        self.entries += 1;
        self.store.append(self.now, &Entry::HandOut { page });
    }

    /// A page is announced: told to the scheduler, for it stands in the journal already.
    pub(crate) fn announced(&mut self, page: PageId, host: HostId, refused: bool) {
        self.entries += 1;
        if !matches!(self.view, View::All) {
            return;
        }
        let seed = false;
        let event = Event::Discovered { page, host, seed };
        self.scheduler.observe(&event, self.now, &self.store);
        if refused {
            let fault = Fault::Refused;
            let event = Event::Failed { page, fault };
            self.scheduler.observe(&event, self.now, &self.store);
        }
    }
}
