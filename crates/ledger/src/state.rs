//! Everything that follows from the journal, and the one function that changes it.
//!
//! Live, an entry is applied when it is told. When a crawl is opened, the entries since its plan
//! are applied *again*: every recorded hand-out must be decided once more. What happened before the
//! plan is *news* to its policy: it learns from it, but the decisions were another policy's, so
//! hand-outs only leave the rest that their hosts are due.
//!
//! Nothing here looks at what the index knows by the end of the journal, except for what never
//! changes (a page's host, its URL) and for which side of the scope a page is on since the plan.
//!
//! Cost: that of the policy, and O(log hosts) an entry.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io;

use turnstone_frontier::{
    Crossing, Event, Fault, HostId, Links, Next, PageId, Policy, Politeness, Restore, Save,
    Scheduler, Tick, Visit,
};
use turnstone_pagestore::{Entry, Hint, Outcome, Position, Settled, Store, Written};
use turnstone_urls::Url;
use turnstone_urls::traps::OverBudget;

use crate::crossings::Crossings;
use crate::ledger::LedgerError;
use crate::patterns::Patterns;
use crate::spending::Spending;
use crate::terms::{Past, Terms};
use crate::troubles::Troubles;
use crate::view::{View, Viewed};
use crate::walls::Walls;

/// The question that proves what is stored.
const CRAWL: &str = "crawl";

/// The class of a page that a survey found alive: that it is there says nothing of its content.
pub(crate) const ALIVE: &str = "alive";

/// Why an entry is applied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Told {
    /// It happens now. What it hands out was handed out already.
    Now,
    /// It happened under this plan: it must be decided again.
    Again,
    /// It happened under another plan, or cannot be decided again.
    AsNews,
}

/// The state of a crawl.
#[derive(Debug)]
pub struct State<P> {
    pub(crate) scheduler: Scheduler<P>,
    pub(crate) view: View,
    pub(crate) patterns: Patterns,
    pub(crate) troubles: Troubles,
    pub(crate) walls: Walls,
    pub(crate) spending: Spending,
    /// By address: the first host that was met there.
    pub(crate) addresses: BTreeMap<Vec<u8>, HostId>,
    /// The delay that the last process kept.
    delay_ms: u64,
    /// How many entries were applied.
    pub(crate) entries: u64,
    /// What crossed between this shard and others, where the crawl is cut.
    pub(crate) crossings: Option<Crossings>,
    links: Vec<PageId>,
    room: RefCell<Vec<PageId>>,
}

impl<P: Policy> State<P> {
    pub(crate) fn new(policy: P, past: Past) -> Self {
        let view = match past {
            Past::All => View::default(),
            Past::Stored | Past::Since(_) => View::of_some(),
        };
        Self {
            scheduler: Scheduler::new(policy, Politeness::default()),
            view,
            patterns: Patterns::default(),
            troubles: Troubles::default(),
            walls: Walls::default(),
            spending: Spending::default(),
            addresses: BTreeMap::new(),
            delay_ms: Politeness::default().delay_ms,
            entries: 0,
            crossings: None,
            links: Vec::new(),
            room: RefCell::default(),
        }
    }

    /// Applies one entry. `links` answers for pages as they were when the entry was written.
    pub(crate) fn apply(
        &mut self,
        (store, links): (&Store, &dyn Links),
        terms: &Terms,
        told: Told,
        written: Written,
        entry: &Entry<'_>,
    ) -> Result<(), LedgerError> {
        let tick = written.tick;
        self.entries += 1;
        self.spending
            .apply(store.index(), &terms.question, tick, entry);
        match entry {
            Entry::Session {
                delay_ms, open_max, ..
            } => {
                self.delay_ms = *delay_ms;
                self.scheduler.set_politeness(Politeness {
                    delay_ms: *delay_ms,
                    open_max: *open_max,
                });
                // Whoever takes a crawl over tries at once what could not be had.
                self.scheduler.open_all(tick);
            }
            Entry::Page {
                page,
                host,
                seed,
                outside,
                refused,
                ..
            } if terms.past == Past::All => {
                let outside = match told {
                    Told::AsNews => store.index().is_outside(*page),
                    Told::Now | Told::Again => *outside,
                };
                if outside {
                    self.view.leave_out();
                } else {
                    let seed = *seed || store.index().is_late_seed(*page);
                    let here = store.index().away(*host).is_none();
                    let refused = here && !refused.0.is_empty();
                    self.found((*page, *host), seed, refused, (tick, links));
                    if let (false, Some(page)) = (here, self.view.inner(*page)) {
                        let event = Event::Crossed(Crossing::Away { page });
                        self.observe(&event, tick, links);
                    }
                }
            }
            Entry::HandOut { page } => match told {
                Told::Now => {}
                Told::Again => self.hand_out_again(*page, tick)?,
                Told::AsNews => self.rest(store.index().host(*page), (tick, links)),
            },
            Entry::Outcome(outcome) => {
                self.settled((store, links), terms, (told, written), outcome);
            }
            Entry::Held { host, until } => {
                let event = Event::Held {
                    host: *host,
                    until: *until,
                };
                self.scheduler.observe(&event, tick, links);
            }
            Entry::Shut { host, until } => self.scheduler.shut(*host, *until, tick),
            Entry::Visit { host, visit } => match (told, visit) {
                (Told::Now | Told::Again, _) => self.scheduler.visit(*host, *visit, tick),
                (Told::AsNews, Visit::Opened) => self.rest(*host, (tick, links)),
                (Told::AsNews, Visit::Spared | Visit::Closed) => {}
            },
            Entry::Address { host, address } => {
                self.addresses.insert(address.to_vec(), *host);
            }
            Entry::Joined { host, with } => self.scheduler.join(*host, *with, tick),
            Entry::Round {
                question,
                round,
                budget,
            } if terms.hears(question) => {
                let event = Event::Round {
                    round: *round,
                    budget: *budget,
                };
                self.observe(&event, tick, links);
            }
            // To a policy that proves what is stored, a round without a budget is a call to rank more.
            Entry::Starved if terms.question == CRAWL => {
                let event = Event::Round {
                    round: 0,
                    budget: 0,
                };
                self.observe(&event, tick, links);
                if terms.sitemaps && told != Told::AsNews {
                    self.scheduler.queue_rest();
                }
            }
            Entry::Hint(Hint { page, by, .. }) => {
                if let Some(page) = self.view.inner(*page) {
                    let by = self.view.inner(*by);
                    self.observe(&Event::Hinted { page, by }, tick, links);
                }
            }
            Entry::Cut { shard, shards } => {
                self.crossings = Some(Crossings::new(*shard, *shards));
                self.observe(&Event::Crossed(Crossing::Cut), tick, links);
            }
            Entry::Sent { lane, bytes } => {
                self.sent(store, (*lane, bytes), (written, links))?;
            }
            Entry::Received { bytes } => self.received(store, bytes, (tick, links))?,
            Entry::Page { .. }
            | Entry::Away { .. }
            | Entry::Round { .. }
            | Entry::Host { .. }
            | Entry::Robots { .. }
            | Entry::Plan { .. }
            | Entry::Starved
            | Entry::Lent { .. }
            | Entry::Forgotten { .. }
            | Entry::Note { .. } => {}
        }
        self.mourn(store);
        Ok(())
    }

    /// A page is told to the policy for the first time.
    fn found(
        &mut self,
        (page, host): (PageId, HostId),
        seed: bool,
        refused: bool,
        (tick, links): (Tick, &dyn Links),
    ) {
        let Some(page) = self.view.join(page) else {
            return;
        };
        self.observe(&Event::Discovered { page, host, seed }, tick, links);
        if refused {
            let fault = Fault::Refused;
            self.observe(&Event::Failed { page, fault }, tick, links);
        }
    }

    pub(crate) fn observe(&mut self, event: &Event<'_>, tick: Tick, links: &dyn Links) {
        let known = Viewed {
            view: &self.view,
            links,
            room: &self.room,
        };
        self.scheduler.observe(event, tick, &known);
    }

    /// A host was asked under another plan: it rests as it was due.
    fn rest(&mut self, host: HostId, (tick, links): (Tick, &dyn Links)) {
        let until = tick.plus(self.delay_ms);
        self.scheduler
            .observe(&Event::Held { host, until }, tick, links);
    }

    /// Asks again what was asked when the journal was written.
    fn hand_out_again(&mut self, recorded: PageId, tick: Tick) -> Result<(), LedgerError> {
        match self.scheduler.next(tick) {
            Next::Fetch(number) if self.view.outer(number) == recorded => Ok(()),
            other => Err(LedgerError::Differs {
                tick: tick.0,
                recorded,
                decided: match other {
                    Next::Fetch(number) => format!("page {}", self.view.outer(number)),
                    Next::WaitUntil(tick) => format!("to wait until {} ms", tick.0),
                    Next::Empty => "that nothing is left".to_owned(),
                },
            }),
        }
    }

    /// What came of a page.
    fn settled(
        &mut self,
        (store, links): (&Store, &dyn Links),
        terms: &Terms,
        (told, Written { at, tick, .. }): (Told, Written),
        outcome: &Outcome<'_>,
    ) {
        let (page, facts) = (outcome.page, &outcome.facts);
        let fetched = matches!(outcome.settled, Settled::Fetched(_));
        let host = store.index().host(page);
        if let Some(mood) = facts.mood {
            self.troubles.told(host, mood);
        }
        if facts.requests > 0 && !facts.again {
            self.count_pattern(store, terms, page, fetched && facts.novel);
        }
        if facts.status != 0 && facts.requests > 0 {
            self.walls.told(host, &facts.class);
        }
        let mut first = false;
        // A stored page that the scope leaves out does not exist for the policy, as in a crawl.
        if fetched
            && terms.past != Past::All
            && !store.index().is_outside(page)
            && let Some(page) = self.view.join(page)
        {
            first = true;
            let seed = false;
            self.observe(&Event::Discovered { page, host, seed }, tick, links);
        }
        let hears = match terms.past {
            // What nobody here read is not stored: a crawl proves nothing of it. For other
            // questions it is a copy that was once there.
            Past::All => !(fetched && facts.hearsay && terms.question == CRAWL),
            // That a page is there says nothing about whether it changed.
            Past::Stored => !first && facts.class != ALIVE,
            Past::Since(start) => !first && at >= start,
        };
        if hears {
            let forgotten = told == Told::AsNews && forgot(store, terms, at);
            self.tell_outcome(outcome, forgotten, (tick, links));
        }
    }

    fn tell_outcome(
        &mut self,
        outcome: &Outcome<'_>,
        forgotten: bool,
        (tick, links): (Tick, &dyn Links),
    ) {
        let Some(page) = self.view.inner(outcome.page) else {
            return;
        };
        match outcome.settled {
            Settled::Fetched(change) => {
                let mut all = Vec::new();
                outcome.links.read(&mut all);
                let mut seen = std::mem::take(&mut self.links);
                self.view.links(all.iter().copied(), &mut seen);
                let unseen = if forgotten {
                    u64::MAX
                } else {
                    outcome.facts.unseen_links
                };
                if unseen > 0 {
                    let event = Event::Unseen {
                        page,
                        links: unseen,
                    };
                    self.observe(&event, tick, links);
                }
                let event = Event::Fetched {
                    page,
                    change,
                    links: &seen,
                };
                self.observe(&event, tick, links);
                self.links = seen;
            }
            Settled::Failed(fault) => {
                self.observe(&Event::Failed { page, fault }, tick, links);
            }
            Settled::Moved(to) => {
                // Where it leads is none of the policy's pages: it is not there any more.
                let event = match self.view.inner(to) {
                    Some(to) => Event::Moved { page, to },
                    None => Event::Failed {
                        page,
                        fault: Fault::Gone,
                    },
                };
                self.observe(&event, tick, links);
            }
        }
    }

    /// A disk that cannot be read any more ends the process, as for links: the crawl is on it, whole.
    fn count_pattern(&mut self, store: &Store, terms: &Terms, page: PageId, novel: bool) {
        let Some((_, budgets)) = terms.budgets() else {
            return;
        };
        let url = store.url(page);
        let url = url.unwrap_or_else(|error| panic!("URL of page {page}: {error}"));
        if let Ok(url) = Url::parse(&url) {
            let host = store.index().host(page);
            self.patterns.asked(host, &url, novel, &budgets);
        }
    }

    /// Whether the pattern of a URL has budget left; else why not.
    pub(crate) fn admits(
        &self,
        terms: &Terms,
        (host, url): (HostId, &Url),
        now_s: u64,
    ) -> Result<(), OverBudget> {
        match &terms.budgets() {
            Some(options) => self.patterns.allows(host, url, now_s, options),
            None => Ok(()),
        }
    }

    pub(crate) fn save(&self, out: &mut dyn io::Write) -> io::Result<()> {
        self.view.save(out)?;
        self.patterns.save(out)?;
        self.troubles.save(out)?;
        self.walls.save(out)?;
        self.spending.save(out)?;
        self.addresses.save(out)?;
        self.delay_ms.save(out)?;
        self.scheduler.save(out)?;
        // Nothing where nothing is cut: checkpoints of whole crawls stay what they were.
        match &self.crossings {
            Some(crossings) => crossings.save(out),
            None => Ok(()),
        }
    }

    pub(crate) fn restore(policy: P, cut: bool, from: &mut dyn io::Read) -> io::Result<Self> {
        Ok(Self {
            view: Restore::restore(from)?,
            patterns: Restore::restore(from)?,
            troubles: Restore::restore(from)?,
            walls: Restore::restore(from)?,
            spending: Restore::restore(from)?,
            addresses: Restore::restore(from)?,
            delay_ms: Restore::restore(from)?,
            scheduler: Scheduler::restore(policy, from)?,
            crossings: match cut {
                true => Some(Restore::restore(from)?),
                false => None,
            },
            entries: 0,
            links: Vec::new(),
            room: RefCell::default(),
        })
    }
}

/// Whether a release that forgot links out of scope read a page, and the scope is another now: then
/// nobody knows how many of its links are in scope.
fn forgot(store: &Store, terms: &Terms, at: Position) -> bool {
    let Some(first) = store.index().first_plan() else {
        return false;
    };
    at < first.at && Terms::read(first).is_none_or(|first| first.scope != terms.scope)
}
