//! Taking a crawl over: what a process writes before it asks for anything.
//!
//! The session with its clocks, then everything that the last process left open: pages that were in
//! flight are given back, and their hosts rest, for when their requests were sent is not known. After
//! a start of the machine every host rests, since what was never synced may be missing.

use turnstone_fetch::Url;
use turnstone_fetch::urls::origin_of;
use turnstone_frontier::{Fault, HostId, PageId, Policy, Visit};
use turnstone_pagestore::{Entry, Facts, PageState, Settled};

use crate::notes::STOP_NOTE;
use crate::plan::Round;
use crate::receive::host_of_authority;
use crate::run::{Crawl, CrawlError};

impl<P: Policy> Crawl<P> {
    /// Writes down that this process has the crawl now, and gives back what was in flight.
    pub(crate) fn begin(&mut self) -> Result<(), CrawlError> {
        let politeness = self.plan.politeness;
        let (wall_ms, boot, boot_ms) = self.clock.session();
        let entry = Entry::Session {
            wall_ms,
            boot,
            boot_ms,
            delay_ms: politeness.delay_ms,
            open_max: politeness.open_max,
            policy: &self.identity,
        };
        self.store.append(self.now, &entry);
        self.note(STOP_NOTE, b"");
        self.scheduler.set_politeness(politeness);
        // When their requests were sent is not known, only that it was before now.
        let rested = self.now.plus(politeness.delay_ms);
        // By the journal: a scheduler that was folded freely handed nothing out.
        let lost: Vec<PageId> = self.store.pages_in(PageState::InFlight).collect();
        for page in lost {
            let due = self.lost_due(page)?;
            if due > 0 {
                self.hold(self.store.index().host(page), self.now.plus(due));
            }
            self.settle(page, Settled::Failed(Fault::Lost), &[], Facts::default());
        }
        let hosts = self.store.index().host_count();
        for host in (0..hosts).map(HostId::from_index) {
            // Requests for no page.
            while self.scheduler.open_count(host) > 0 {
                self.hold(host, rested);
                self.visit(host, Visit::Closed);
            }
        }
        if self.clock.rebooted() {
            // What was never synced may be missing: every host rests once.
            for host in (0..hosts).map(HostId::from_index) {
                self.hold(host, rested);
            }
            self.hold_by_rules()?;
        }
        // A slice that is under way goes on; others begin when it is time.
        if let (Some(Round { budget, .. }), None) = (self.plan.round.clone(), &self.slices) {
            self.announce_round(budget);
        }
        Ok(())
    }

    /// How long the host of a page that was in flight must rest.
    fn lost_due(&mut self, page: PageId) -> Result<u64, CrawlError> {
        let Ok(url) = Url::parse(&self.store.url(page)?) else {
            return Ok(self.plan.politeness.delay_ms);
        };
        let authority = origin_of(&url);
        self.meet(&authority)?;
        let now_s = self.clock.seconds(self.now);
        Ok(self.due(self.robots.crawl_delay(&authority, now_s)))
    }

    /// Lets every host rest as long as its rules want.
    fn hold_by_rules(&mut self) -> Result<(), CrawlError> {
        let robots = self.store.index().robots();
        let authorities: Vec<String> = robots.map(|(authority, _)| authority.to_owned()).collect();
        let now_s = self.clock.seconds(self.now);
        for authority in authorities {
            self.meet(&authority)?;
            let wanted = self.robots.crawl_delay(&authority, now_s);
            let host = self.store.index().find_host(&host_of_authority(&authority));
            if let (Some(wanted), Some(host)) = (wanted, host) {
                self.hold(host, self.now.plus(self.due(Some(wanted))));
            }
        }
        Ok(())
    }
}
