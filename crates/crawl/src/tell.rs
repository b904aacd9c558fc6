//! What happens, told to the ledger: the words of the asker for the entries of the journal.

use turnstone_frontier::{HostId, PageId, Policy, Tick, Visit};
use turnstone_pagestore::{Entry, Facts, Hint, Settled};

use crate::asker::Asker;

impl<P: Policy> Asker<P> {
    /// A page is settled.
    pub(crate) fn settle(
        &mut self,
        page: PageId,
        settled: Settled,
        links: &[PageId],
        facts: Facts,
    ) {
        self.ledger.settle(self.now, page, settled, links, facts);
        if !self.quotas.is_empty() {
            let host = self.ledger.index().host(page);
            self.quotas.count(host, self.ledger.index());
        }
    }

    /// A page says that another changed since our copy of it was made.
    pub(crate) fn hinted(&mut self, hint: Hint) {
        self.ledger.tell(self.now, &Entry::Hint(hint));
    }

    /// A host is not to be asked before a tick.
    pub(crate) fn hold(&mut self, host: HostId, until: Tick) {
        self.ledger.tell(self.now, &Entry::Held { host, until });
    }

    /// Pages of a host are not to be asked for before a tick.
    pub(crate) fn shut(&mut self, host: HostId, until: Tick) {
        self.ledger.tell(self.now, &Entry::Shut { host, until });
    }

    /// Something happens at a host beside its pages.
    pub(crate) fn visit(&mut self, host: HostId, visit: Visit) {
        self.ledger.tell(self.now, &Entry::Visit { host, visit });
    }

    /// Two hosts are served by one address.
    pub(crate) fn join(&mut self, host: HostId, with: HostId) {
        let unit = |asker: &Self, host| asker.ledger.scheduler().unit(host);
        let turns = [host, with].map(|host| self.turns.remove(&unit(self, host)));
        self.ledger.tell(self.now, &Entry::Joined { host, with });
        if let Some(turn) = turns.into_iter().flatten().next() {
            self.turns.insert(unit(self, host), turn);
        }
    }
}
