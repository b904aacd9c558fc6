//! Taking a crawl over: what a process writes before it asks for anything.
//!
//! After a start of the machine every host rests, since what was never synced may be missing. Then the
//! session with its clocks, and everything that the last process left open: pages that were in
//! flight are given back, and their hosts rest, for when their requests were sent is not known.

use turnstone_fetch::Url;
use turnstone_fetch::urls::origin_of;
use turnstone_frontier::{Fault, HostId, PageId, Policy, Visit};
use turnstone_pagestore::{Entry, Facts, Settled};

use turnstone_ledger::STOP_NOTE;

use crate::asker::Session;
use crate::asker::{AskError, Asker};
use crate::plan::Round;
use crate::robots_came::host_of_authority;

impl<P: Policy> Asker<P> {
    /// Writes down that this process has the crawl now, and gives back what was in flight.
    pub(crate) fn take_over(&mut self, session: &Session) -> Result<(), AskError> {
        let politeness = self.plan.politeness;
        // When requests were sent is not known, only that it was before now.
        let rested = self.now.plus(politeness.delay_ms);
        let hosts = self.ledger.index().host_count();
        if session.rebooted {
            // What was never synced may be missing: every host rests once. This stands before the
            // session: a process that dies in between leaves it to the next one, for which the
            // machine was started anew too.
            for host in (0..hosts).map(HostId::from_index) {
                let due = self.due_at(host, None);
                self.hold(host, rested.max(self.now.plus(due)));
            }
            self.hold_by_rules()?;
        }
        // By the journal: a scheduler that was folded freely handed nothing out.
        let visited: Vec<HostId> = self.ledger.spending().visited().collect();
        let policy = self.ledger.terms().policy.clone();
        let entry = Entry::Session {
            wall_ms: self.wall_ms,
            boot: &session.boot,
            boot_ms: session.boot_ms,
            delay_ms: politeness.delay_ms,
            open_max: politeness.open_max,
            policy: &policy,
        };
        self.ledger.tell(self.now, &entry);
        self.note(STOP_NOTE, b"");
        for page in self.left_open() {
            let due = self.lost_due(page)?;
            if due > 0 {
                self.hold(self.ledger.index().host(page), self.now.plus(due));
            }
            // Its request may have been sent: it counts, or budgets would not bind over kills.
            let facts = Facts {
                requests: 1,
                ..Facts::default()
            };
            self.settle(page, Settled::Failed(Fault::Lost), &[], facts);
        }
        for host in visited {
            let due = self.due_of_host(host)?;
            self.hold(host, self.now.plus(due));
        }
        for host in (0..hosts).map(HostId::from_index) {
            // Requests for no page.
            while self.ledger.scheduler().open_count(host) > 0 {
                let due = self.due_of_host(host)?;
                self.hold(host, self.now.plus(due));
                self.visit(host, Visit::Closed);
            }
        }
        // A slice that is under way goes on; others begin when it is time.
        if let (Some(Round { budget, .. }), None) = (self.plan.round.clone(), &self.pacing) {
            self.announce_round(budget);
        }
        Ok(())
    }

    /// How long the host of a page that was in flight must rest.
    fn lost_due(&mut self, page: PageId) -> Result<u64, AskError> {
        let Ok(url) = Url::parse(&self.ledger.store().url(page)?) else {
            return Ok(self.plan.politeness.delay_ms);
        };
        let authority = origin_of(&url);
        self.meet(&authority)?;
        let now_s = self.now_s();
        let host = self.ledger.index().host(page);
        Ok(self.due_at(host, self.robots.crawl_delay(&authority, now_s)))
    }

    /// How long a host rests that was asked for no page of its own.
    pub(crate) fn due_of_host(&mut self, host: HostId) -> Result<u64, AskError> {
        let mut due = self.due_at(host, None);
        for scheme in ["http", "https"] {
            let name = self.ledger.index().host_name(host);
            let authority = format!("{scheme}://{name}");
            if self.ledger.index().robots_at(&authority).is_some() {
                self.meet(&authority)?;
                due = due.max(self.due(self.robots.crawl_delay(&authority, self.now_s())));
            }
        }
        Ok(due)
    }

    /// Lets every host rest as long as its rules want.
    fn hold_by_rules(&mut self) -> Result<(), AskError> {
        let robots = self.ledger.index().robots();
        let authorities: Vec<String> = robots.map(|(authority, _)| authority.to_owned()).collect();
        let now_s = self.now_s();
        for authority in authorities {
            self.meet(&authority)?;
            let wanted = self.robots.crawl_delay(&authority, now_s);
            let host = self
                .ledger
                .index()
                .find_host(&host_of_authority(&authority));
            if let (Some(wanted), Some(host)) = (wanted, host) {
                self.hold(host, self.now.plus(self.due(Some(wanted))));
            }
        }
        Ok(())
    }
}
