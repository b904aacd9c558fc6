//! One policy discovering in one recorded site.
//!
//! At each snapshot the policy is asked first, through the scheduler, and answered afterwards: the
//! pages of a round are fetched side by side, so no answer can guide the same round. Then all new
//! pages get their ids in order, those the round found as discovered by a link, the others as told
//! by somebody else: the paper lets every algorithm know all pages of earlier snapshots, found or
//! not. New pages that were found are fetched too, since that is how their links are found.
//!
//! A recrawl is announced as a round without limit and answered page by page. Pages that show no
//! link to a new page, and are neither gone nor back, are passed over: no policy learns from them.
//!
//! A page of which the record does not know what it linked to is given back as if it had never been
//! asked for: the policy learns nothing from it. A snapshot that did not look at every known page is
//! no recrawl, whatever the period.
//!
//! Cost: O(log pages) a request and the links of what it brings.

use turnstone_frontier::{
    Change, Event, Fault, Next, NoLinks, PageId, Politeness, Scheduler, Tick,
};
use turnstone_policy::discovery::{DiscoveryPolicy, RECRAWL};

use super::steps::{Step, Steps};
use super::web::DiscoveryWeb;

/// What follows a snapshot's round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Then {
    /// The next snapshot.
    GoOn,
    /// A full recrawl first.
    Recrawl,
}

impl Then {
    /// Whether a snapshot is one of the recrawls at 0, `period`, 2 · `period`, …
    pub fn at(snapshot: usize, period: u32) -> Self {
        if super::truth::is_recrawl(snapshot, period) {
            Self::Recrawl
        } else {
            Self::GoOn
        }
    }
}

/// A policy on its way through a site.
pub struct Replay {
    scheduler: Scheduler<Box<dyn DiscoveryPolicy>>,
    /// The last round announced.
    announced: Option<usize>,
    /// Pages whose presence changed since the last recrawl.
    moved: Vec<PageId>,
    buffer: Vec<PageId>,
}

impl Replay {
    /// A policy that knows nothing yet.
    pub fn new(policy: Box<dyn DiscoveryPolicy>) -> Self {
        Self {
            scheduler: Scheduler::new(policy, Politeness::OFF),
            announced: None,
            moved: Vec::new(),
            buffer: Vec::new(),
        }
    }

    /// The policy.
    pub fn policy(&self) -> &dyn DiscoveryPolicy {
        self.scheduler.policy().as_ref()
    }

    /// Begins a discovery round: the pages the policy asks for, best first.
    pub fn ask(&mut self, snapshot: usize, budget: u64) -> Vec<PageId> {
        self.announce(snapshot, budget);
        let mut asked = Vec::new();
        while (asked.len() as u64) < budget {
            match self.scheduler.next(Tick(0)) {
                Next::Fetch(page) => asked.push(page),
                Next::WaitUntil(_) | Next::Empty => break,
            }
        }
        asked
    }

    /// Ends a snapshot: answers what was asked for, makes every new page known, and recrawls the
    /// site if it is time.
    pub fn end(&mut self, steps: &Steps<'_>, step: &Step, asked: &[PageId], then: Then) {
        // What is new in a round is what is discovered after it was announced.
        let announced = self.announced == Some(step.snapshot);
        if then == Then::Recrawl && !announced {
            self.announce(step.snapshot, RECRAWL);
        }
        let found = found_by(steps, step, asked);
        for (page, found) in step.new_pages().zip(&found) {
            self.discover(steps.web(), page, !found);
        }
        for &page in asked {
            self.fetch(steps, page);
        }
        for (page, found) in step.new_pages().zip(&found) {
            if *found && !is_elsewhere(steps.web(), page) {
                self.fetch(steps, page);
            }
        }
        self.moved.extend(step.gone.iter().chain(&step.back));
        if then == Then::Recrawl {
            if announced {
                self.announce(step.snapshot, RECRAWL);
            }
            self.recrawl(steps, step);
        }
    }

    /// Fetches every page that has something to tell.
    fn recrawl(&mut self, steps: &Steps<'_>, step: &Step) {
        let mut moved = std::mem::take(&mut self.moved);
        moved.sort_unstable();
        moved.dedup();
        for page in moved {
            if step.telling.binary_search(&page).is_err() {
                self.fetch(steps, page);
            }
        }
        for &page in &step.telling {
            self.fetch(steps, page);
        }
    }

    fn announce(&mut self, snapshot: usize, budget: u64) {
        self.announced = Some(snapshot);
        let round = u32::try_from(snapshot).expect("fewer than 2^32 snapshots");
        self.observe(&Event::Round { round, budget });
    }

    fn discover(&mut self, web: &DiscoveryWeb, page: PageId, seed: bool) {
        let host = web.host(page);
        self.observe(&Event::Discovered { page, host, seed });
    }

    fn fetch(&mut self, steps: &Steps<'_>, page: PageId) {
        if !steps.is_known(page) {
            let fault = Fault::Lost;
            return self.observe(&Event::Failed { page, fault });
        }
        if !steps.is_present(page) {
            let fault = Fault::Gone;
            return self.observe(&Event::Failed { page, fault });
        }
        let mut buffer = std::mem::take(&mut self.buffer);
        self.observe(&Event::Fetched {
            page,
            // Discovery asks what a page links to, not whether its text is the same.
            change: Change::Changed,
            links: steps.links(page, &mut buffer),
        });
        self.buffer = buffer;
    }

    fn observe(&mut self, event: &Event<'_>) {
        self.scheduler.observe(event, Tick(0), &NoLinks);
    }
}

/// Whether a page is another host's, which is known of but not fetched.
fn is_elsewhere(web: &DiscoveryWeb, page: PageId) -> bool {
    web.host(page) != super::web::OWN_HOST
}

/// By new page: whether the pages asked for lead to it.
fn found_by(steps: &Steps<'_>, step: &Step, asked: &[PageId]) -> Vec<bool> {
    let mut found = vec![false; (step.end.0 - step.first_new.0) as usize];
    if found.is_empty() {
        return found;
    }
    let mut buffer = Vec::new();
    let tells = |page: &&PageId| step.telling.binary_search(page).is_ok() && steps.is_known(**page);
    let mut open: Vec<PageId> = asked.iter().filter(tells).copied().collect();
    while let Some(page) = open.pop() {
        for &link in steps.links(page, &mut buffer) {
            if link < step.first_new {
                continue;
            }
            if !std::mem::replace(&mut found[(link.0 - step.first_new.0) as usize], true) {
                open.push(link);
            }
        }
    }
    found
}
