//! A round in this process: the same policy and the same scheduler as the command's, from the same
//! journal; the record answers instead of a server.
//!
//! Requests are answered at once and one after the other. New pages are numbered as they are found.
//! Known here: nothing of HTTP, robots.txt, traps or soft 404s. Where these cost or refuse
//! something, live and predicted differ, and that is what the comparison is for.

use std::collections::HashMap;

use turnstone_crawl::Plan;
use turnstone_fetch::Url;
use turnstone_fetch::scope::{Scope, ScopeRules};
use turnstone_fetch::urls::canonical_key;
use turnstone_frontier::{
    Change, Event, Fault, HostId, Links, Next, PageId, Policy, Politeness, Scheduler, Tick,
};
use turnstone_lab::serve::Handle;
use turnstone_ledger::{DISCOVER as DISCOVER_QUESTION, Past, Replay, View};
use turnstone_pagestore::{Key, Store};
use turnstone_policy::Question;
use turnstone_questions::Asked;

use super::record::{Record, When};
use super::{Command, Round, What};

/// What the commands take when no policy is named.
const REVIVE: &str = "tree";
const REVIVE_SAMPLE: &str = "2%";
pub(crate) const DISCOVER: &str = "bandit:hubs=0.5";
const REFRESH: &str = "cohorts:ahead=16";
/// The seed of a crawl directory that names none.
pub(crate) const SEED: u64 = 1;

/// The crawl directory and the record that answers for it.
pub(crate) struct Oracle<'a> {
    pub(crate) store: &'a Store,
    pub(crate) record: &'a Record,
    pub(crate) handle: &'a Handle,
    pub(crate) plan: &'a Plan,
}

/// The plan of the commands, as far as folding and numbering hang on it.
pub(crate) fn plan() -> anyhow::Result<Plan> {
    let mut plan = Plan::new(Scope::new(ScopeRules::default())?);
    plan.politeness = Politeness {
        delay_ms: 0,
        open_max: 1,
    };
    Ok(plan)
}

/// How discovery chooses, and where random generators start.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Draw<'a> {
    pub(crate) discover_policy: &'a str,
    pub(crate) seed: u64,
}

/// What a command that began as a live round did is going to find.
///
/// A survey's budget of requests also pays for probes, which nobody sends here: what is predicted
/// ends with as many pages as the live one had requests left for.
pub(crate) fn predict(
    oracle: &Oracle<'_>,
    command: Command,
    live: &Round,
    draw: Draw<'_>,
) -> anyhow::Result<Round> {
    let store = oracle.store;
    let (question, budget, past) = match command {
        Command::Revive(requests) => (
            "revive",
            requests.unwrap_or(u64::MAX),
            Past::Since(store.end()),
        ),
        Command::Discover(budget) => (DISCOVER_QUESTION, budget, Past::All),
        Command::Refresh(budget) => ("refresh", budget, Past::Stored),
    };
    let (asked, spec) = match command {
        Command::Revive(_) => (Question::Liveness, REVIVE),
        Command::Discover(_) => (Question::Discovery, draw.discover_policy),
        Command::Refresh(_) => (Question::Changes, REFRESH),
    };
    let asked = Asked {
        random_seed: draw.seed,
        sample: REVIVE_SAMPLE.parse()?,
        ..Asked::new(asked, spec.parse()?)
    };
    let policy = asked.make(store)?;
    let terms = oracle.plan.terms(question, question, past);
    let mut news = Replay::news(store, &terms, policy);
    store.fold(&mut news)?;
    let folded = news.finish()?;
    let mut lab = Lab {
        oracle,
        scheduler: folded.scheduler,
        known: Known {
            store,
            grows: past == Past::All,
            view: folded.view,
            fresh: HashMap::new(),
        },
        surveys: matches!(command, Command::Revive(_)),
        places: places(oracle)?,
        new: HashMap::new(),
        now: live.began,
    };
    lab.scheduler.set_politeness(oracle.plan.politeness);
    let round = store.index().rounds(question);
    lab.tell(&Event::Round { round, budget });
    lab.run(match command {
        Command::Revive(Some(_)) => Some(live.pages.len() as u64),
        Command::Revive(None) | Command::Discover(_) | Command::Refresh(_) => None,
    })
}

/// By page of the store: the recorded page at its address.
pub(crate) fn places(oracle: &Oracle<'_>) -> anyhow::Result<Vec<Option<PageId>>> {
    let pages = (0..oracle.store.index().page_count()).map(PageId::from_index);
    let place = |page| Ok(oracle.handle.page_at(&oracle.store.url(page)?));
    pages.map(place).collect()
}

impl Oracle<'_> {
    /// The name of a recorded page in the store.
    pub(crate) fn key(&self, page: PageId) -> anyhow::Result<Key> {
        let url = Url::parse(&self.handle.url_of(page))?;
        Ok(self
            .store
            .keyer()
            .key(&canonical_key(&url, &self.plan.keys)))
    }
}

/// A round under way.
struct Lab<'a, P> {
    oracle: &'a Oracle<'a>,
    scheduler: Scheduler<P>,
    known: Known<'a>,
    surveys: bool,
    /// By page of the store, new ones included.
    places: Vec<Option<PageId>>,
    new: HashMap<Key, PageId>,
    now: Tick,
}

impl<P: Policy> Lab<'_, P> {
    fn run(mut self, requests_max: Option<u64>) -> anyhow::Result<Round> {
        let mut round = Round {
            began: self.now,
            ..Round::default()
        };
        while requests_max.is_none_or(|max| round.requests < max) {
            match self.scheduler.next(self.now) {
                Next::Fetch(number) => {
                    let page = self.known.view.outer(number);
                    round.requests += 1;
                    round.pages.push((page, self.answer(page)?));
                }
                Next::WaitUntil(tick) => self.now = tick,
                Next::Empty => break,
            }
        }
        Ok(round)
    }

    /// Answers for a page and tells the policy.
    fn answer(&mut self, page: PageId) -> anyhow::Result<What> {
        let record = self.oracle.record;
        let place = self.places[page.index()].filter(|place| record.is_there(*place, When::Now));
        let Some(place) = place else {
            self.settle(page, None);
            return Ok(What::Gone);
        };
        if self.surveys {
            self.settle(page, Some(Change::Unchanged));
            return Ok(What::Unchanged);
        }
        let index = self.oracle.store.index();
        let is_stored = page.index() < index.page_count() && index.is_stored(page);
        let (change, what) = match (is_stored, record.changed(place)) {
            (false, _) => (Change::New, What::New),
            (true, true) => (Change::Changed, What::Changed),
            (true, false) => (Change::Unchanged, What::Unchanged),
        };
        let mut links = Vec::new();
        for link in record.links(place, When::Now) {
            links.push(self.page_of(link, page)?);
        }
        self.known.fresh.insert(page, links);
        self.settle(page, Some(change));
        Ok(what)
    }

    /// The number of a recorded page in the store; announced now if it is new.
    fn page_of(&mut self, place: PageId, from: PageId) -> anyhow::Result<PageId> {
        let key = self.oracle.key(place)?;
        let known = self.oracle.store.index().find(key);
        if let Some(page) = known.or_else(|| self.new.get(&key).copied()) {
            return Ok(page);
        }
        let page = PageId::from_index(self.places.len());
        self.new.insert(key, page);
        self.places.push(Some(place));
        if self.known.grows
            && let Some(number) = self.known.view.join(page)
        {
            let host = self.host(from);
            self.tell(&Event::Discovered {
                page: number,
                host,
                seed: false,
            });
        }
        Ok(page)
    }

    /// Sites are served one a host, and links stay within their site.
    fn host(&self, from: PageId) -> HostId {
        let number = self.known.view.inner(from);
        let number = number.expect("a page that was answered for has a number");
        self.scheduler.ranking().host(number)
    }

    fn settle(&mut self, page: PageId, change: Option<Change>) {
        let Some(number) = self.known.view.inner(page) else {
            return;
        };
        let mut buffer = Vec::new();
        let event = match change {
            None => Event::Failed {
                page: number,
                fault: Fault::Gone,
            },
            Some(change) => Event::Fetched {
                page: number,
                change,
                links: self.known.links_of(number, &mut buffer),
            },
        };
        self.scheduler.observe(&event, self.now, &self.known);
    }

    fn tell(&mut self, event: &Event<'_>) {
        self.scheduler.observe(event, self.now, &self.known);
    }
}

/// The links of stored pages, those of pages fetched in this round anew, by the policy's numbers.
struct Known<'a> {
    store: &'a Store,
    /// Whether new pages are told to the policy.
    grows: bool,
    view: View,
    fresh: HashMap<PageId, Vec<PageId>>,
}

impl Links for Known<'_> {
    fn links_of<'b>(&'b self, number: PageId, buffer: &'b mut Vec<PageId>) -> &'b [PageId] {
        let page = self.view.outer(number);
        let mut stored = Vec::new();
        let links = match self.fresh.get(&page) {
            Some(links) => links.as_slice(),
            None if page.index() < self.store.index().page_count() => {
                self.store.links_of(page, &mut stored)
            }
            None => &[],
        };
        buffer.clear();
        buffer.extend(links.iter().filter_map(|link| self.view.inner(*link)));
        buffer
    }
}
