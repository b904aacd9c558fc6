//! A crawl whose fetching is done by others: its journal, and a lender that is the fold of it.
//!
//! Beside the [`Ledger`](crate::Ledger), for crawlers that ask for pages, fetch them themselves and tell what
//! came. A page is known by its URL *and* the name of its host, both as the crawlers wrote them: nothing is made
//! canonical, and one URL under two names is two pages. Everything that decides is in the journal (pages,
//! loans, what was told, what was said of a host), so a server that is killed at any moment goes on as if
//! nothing had happened: loans that are open stay open, and hosts that rest go on resting.
//!
//! Nothing here is acknowledged or lent before it is written: [`Loans::write`] first, then the answers.
//!
//! Cost: that of the lender and the index, some 60 bytes a page with its key.

use std::path::Path;

use turnstone_frontier::{
    Change, Event, Fault, HostId, Lender, Links as Linked, PageId, Policy, Queue, Tick, Wish,
};
use turnstone_pagestore::{
    Entry, Facts, Fold, Index, Key, Links, NewPage, Outcome, Position, Reader, Settled, Store,
    StoreError, Syncer, Written,
};

use crate::telling;

/// The question of plans of such crawls.
pub const LEND: &str = "lend";
/// The kind of notes in which a host is spoken of.
const QUEUE_NOTE: &str = "queue";
/// The class of a page of which nobody said what came of it.
pub const TOLD: &str = "told";

/// A crawl whose pages are lent.
#[derive(Debug)]
pub struct Loans<P> {
    store: Store,
    lender: Lender<P>,
}

/// A page named by a crawler.
#[derive(Clone, Copy, Debug)]
pub struct Named<'a> {
    /// Its URL, as written.
    pub url: &'a str,
    /// The name of its host, as written or derived.
    pub host: &'a str,
    /// What the crawler wants back with it.
    pub metadata: &'a [u8],
}

/// What a crawler tells of a page it asked for.
#[derive(Clone, Debug, Default)]
pub struct ToldOf<'a> {
    /// When it is to be lent again, in seconds of 1970; 0 for never.
    pub due_s: u64,
    /// What came of it, if the crawler says.
    pub came: Option<Came<'a>>,
}

/// What came of a page.
#[derive(Clone, Debug, Default)]
pub struct Came<'a> {
    /// The HTTP status; 0 if there was no answer.
    pub status: u16,
    /// Where a redirect led.
    pub moved_to: Option<&'a str>,
    /// Its links, or nothing if nobody says which they are.
    pub links: Option<Vec<&'a str>>,
    /// At most so many links are not among them.
    pub links_left_out: u64,
    /// What stands for its content.
    pub digest: &'a [u8],
    /// Its title.
    pub title: &'a str,
    /// Bytes of its body.
    pub body_bytes: u64,
}

/// What is said of one host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Said {
    /// It rests so many seconds.
    Delay(u32),
    /// Nothing of it is lent before this tick.
    Blocked(Tick),
    /// Nothing of it is lent once so many pages are completed; 0 for no limit.
    Limit(u32),
    /// It is deleted; its pages were forgotten before.
    Deleted,
}

impl Said {
    fn bytes(self, host: HostId) -> Vec<u8> {
        let (kind, value) = match self {
            Self::Delay(seconds) => (0, u64::from(seconds)),
            Self::Blocked(until) => (1, until.0),
            Self::Limit(pages) => (2, u64::from(pages)),
            Self::Deleted => (3, 0),
        };
        let mut bytes = vec![kind];
        bytes.extend_from_slice(&host.0.to_le_bytes());
        bytes.extend_from_slice(&value.to_le_bytes());
        bytes
    }

    /// Nothing where a newer release said something else.
    fn read(bytes: &[u8]) -> Option<(HostId, Self)> {
        let (kind, rest) = bytes.split_first()?;
        let (host, value) = rest.split_first_chunk::<4>()?;
        let value = u64::from_le_bytes(value.try_into().ok()?);
        let said = match kind {
            0 => Self::Delay(value.try_into().ok()?),
            1 => Self::Blocked(Tick(value)),
            2 => Self::Limit(value.try_into().ok()?),
            3 => Self::Deleted,
            _ => return None,
        };
        Some((HostId(u32::from_le_bytes(*host)), said))
    }
}

/// What a process says when it takes such a crawl over.
#[derive(Clone, Debug)]
pub struct Began<'a> {
    /// The tick.
    pub tick: Tick,
    /// The wall clock, in milliseconds of 1970.
    pub wall_ms: u64,
    /// Which start of the machine it is.
    pub boot: &'a str,
    /// Milliseconds since that start.
    pub boot_ms: u64,
    /// How many seconds hosts rest.
    pub delay_s: u32,
    /// The policy with everything its decisions depend on; what the default is called otherwise.
    pub policy: &'a str,
}

impl<P: Policy> Loans<P> {
    /// Takes a crawl over: makes its directory or opens it, and folds its journal. `make` makes the policy, if
    /// there is to be one.
    pub fn open<E: From<StoreError>>(
        store: Store,
        began: &Began<'_>,
        make: impl FnOnce(&Store) -> Result<Option<P>, E>,
    ) -> Result<Self, E> {
        let sessions = store.index().sessions();
        let first = sessions.first().map(|first| (first.wall_ms, first.tick));
        let (wall_ms, tick) = first.unwrap_or((began.wall_ms, began.tick));
        let epoch_ms = wall_ms.saturating_sub(tick.0);
        let lender = Lender::new(make(&store)?, began.delay_s, epoch_ms);
        let mut loans = Self { store, lender };
        let mut folding = Folding {
            store: &loans.store,
            lender: &mut loans.lender,
        };
        loans.store.try_fold::<StoreError>(&mut folding)?;
        loans.begin(began);
        loans.store.write()?;
        Ok(loans)
    }

    fn begin(&mut self, began: &Began<'_>) {
        let plan = self.store.index().plan();
        let same = plan.is_some_and(|plan| {
            (plan.question.as_str(), plan.policy.as_str()) == (LEND, began.policy)
        });
        if !same {
            let none = Links::Ids(&[]);
            let entry = Entry::Plan {
                question: LEND,
                policy: began.policy,
                seeds: 0,
                text: "",
                inside: none,
                outside: none,
            };
            self.store.append(began.tick, &entry);
        }
        let entry = Entry::Session {
            wall_ms: began.wall_ms,
            boot: began.boot,
            boot_ms: began.boot_ms,
            delay_ms: u64::from(began.delay_s) * 1000,
            open_max: 1,
            policy: began.policy,
        };
        self.store.append(began.tick, &entry);
    }

    /// A page that a crawler found. Returns whether it was not known yet.
    pub fn discover(&mut self, tick: Tick, named: &Named<'_>) -> bool {
        let key = self.key(named);
        if self.store.index().find(key).is_some() {
            return false;
        }
        self.add(tick, key, named);
        true
    }

    fn add(&mut self, tick: Tick, key: Key, named: &Named<'_>) -> PageId {
        let host = self.store.host(tick, named.host);
        let new = NewPage {
            key,
            url: named.url,
            host,
            seed: false,
            outside: false,
            listed: false,
            depth: 0,
            refused: ("", ""),
            metadata: named.metadata,
        };
        let page = self.store.add(tick, new);
        let due_s = self.lender.seconds(tick);
        self.lender
            .discover((page, host, false), due_s, tick, &self.store);
        page
    }

    /// What a crawler tells of a page, known before or not.
    pub fn tell(
        &mut self,
        tick: Tick,
        named: &Named<'_>,
        told: &ToldOf<'_>,
        host_of: impl Fn(&str) -> Option<String>,
    ) -> Result<(), StoreError> {
        let key = self.key(named);
        let page = self.store.index().find(key);
        let page = page.unwrap_or_else(|| self.add(tick, key, named));
        let mut facts = Facts {
            class: TOLD.to_owned(),
            due_s: Some(told.due_s),
            metadata: named.metadata.to_owned(),
            wall_ms: self.lender.seconds(tick) * 1000,
            ..Facts::default()
        };
        let mut settled = Settled::Failed(Fault::Unknown);
        let mut links = Vec::new();
        if let Some(came) = &told.came {
            facts.requests = 1;
            facts.status = came.status;
            facts.title = came.title.to_owned();
            facts.body_bytes = came.body_bytes;
            facts.text_hash = hash(came.digest);
            facts.class = class(came.status).to_owned();
            settled = match came.status {
                200..=299 => {
                    facts.unseen_links = match &came.links {
                        Some(_) => came.links_left_out,
                        None => Facts::UNBOUNDED,
                    };
                    for url in came.links.iter().flatten() {
                        links.extend(self.find_or_add(tick, url, &host_of));
                    }
                    dedup(&mut links);
                    Settled::Fetched(self.change(page, facts.text_hash)?)
                }
                300..=399 if came.moved_to.is_some() => {
                    let to = came.moved_to.unwrap_or_default();
                    match self.find_or_add(tick, to, &host_of) {
                        Some(to) if to != page => Settled::Moved(to),
                        _ => Settled::Failed(Fault::Unknown),
                    }
                }
                401 | 403 | 451 => Settled::Failed(Fault::Refused),
                404 | 410 => Settled::Failed(Fault::Gone),
                _ => Settled::Failed(Fault::Unknown),
            };
        }
        facts.novel =
            matches!(settled, Settled::Fetched(_)) && !self.store.index().has_text(facts.text_hash);
        let outcome = telling::outcome(&self.store, page, settled, &links, facts);
        self.store.settle(tick, outcome.clone());
        settle(&mut self.lender, &self.store, tick, &outcome);
        Ok(())
    }

    /// How what came compares with what the page brought last. Without a digest it counts as changed.
    fn change(&self, page: PageId, text_hash: u64) -> Result<Change, StoreError> {
        Ok(match self.store.copy(page)? {
            None => Change::New,
            Some(before) if before.text_hash == text_hash && text_hash != 0 => Change::Unchanged,
            Some(_) => Change::Changed,
        })
    }

    /// The page of a link; nothing for one without a host, or when there are too many pages.
    fn find_or_add(
        &mut self,
        tick: Tick,
        url: &str,
        host_of: impl Fn(&str) -> Option<String>,
    ) -> Option<PageId> {
        let host = host_of(url)?;
        let named = Named {
            url,
            host: &host,
            metadata: &[],
        };
        let key = self.key(&named);
        let known = self.store.index().find(key);
        if known.is_none() && self.is_full() {
            return None;
        }
        Some(known.unwrap_or_else(|| self.add(tick, key, &named)))
    }

    /// Whether there is no number left for a page.
    pub fn is_full(&self) -> bool {
        self.store.index().page_count() >= PAGES_MAX
    }

    /// Lends from one more host. What is lent stands in the journal then.
    pub fn lend(&mut self, wish: &Wish, pages: &mut Vec<PageId>) -> Option<HostId> {
        let from = pages.len();
        let host = self.lender.lend(wish, pages)?;
        let entry = Entry::Lent {
            until: wish.until,
            pages: Links::Ids(&pages[from..]),
        };
        self.store.append(wish.now, &entry);
        Some(host)
    }

    /// Something is said of a host.
    pub fn say(&mut self, tick: Tick, host: HostId, said: Said) {
        telling::note(&mut self.store, tick, QUEUE_NOTE, &said.bytes(host));
        heed(&mut self.lender, tick, host, said);
    }

    /// A page is as if it had never been known.
    pub fn forget(&mut self, tick: Tick, page: PageId) -> Result<(), StoreError> {
        let (key, _) = self.store.named(page)?;
        self.store.append(tick, &Entry::Forgotten { page, key });
        self.lender.forget(page, tick, &self.store);
        Ok(())
    }

    /// The page of a URL under the name of a host.
    pub fn find(&self, url: &str, host: &str) -> Option<PageId> {
        let metadata = &[];
        let named = Named {
            url,
            host,
            metadata,
        };
        self.store.index().find(self.key(&named))
    }

    /// The fingerprint of a page: of its URL alone where its host is what everybody takes for it, so that those
    /// who look at the crawl by URL find it. No URL begins with the byte that others begin with.
    fn key(&self, named: &Named<'_>) -> Key {
        let keyer = self.store.keyer();
        let usual = !named.url.starts_with('\0') && usual_host(named.url) == named.host;
        if usual {
            return keyer.key(named.url);
        }
        keyer.key(&format!(
            "\0{}:{}{}",
            named.host.len(),
            named.host,
            named.url
        ))
    }

    /// Hosts that have no rest of their own rest so long from now on, until the process ends.
    pub fn set_delay(&mut self, tick: Tick, delay_s: u32) {
        self.lender.pass(tick);
        self.lender.set_delay(delay_s);
    }

    /// Every host rests once: what was lent last may be missing.
    pub fn rest_all(&mut self, tick: Tick) {
        self.lender.rest_all(tick);
    }

    /// Loans end whose time has come.
    pub fn pass(&mut self, tick: Tick) {
        self.lender.pass(tick);
    }

    /// Who lends.
    pub fn lender(&self) -> &Lender<P> {
        &self.lender
    }

    /// What is where.
    pub fn index(&self) -> &Index {
        self.store.index()
    }

    /// Where it is.
    pub fn directory(&self) -> &Path {
        self.store.directory()
    }

    /// What is known of a host that has pages.
    pub fn queue(&self, name: &str) -> Option<(HostId, &Queue)> {
        let host = self.store.index().find_host(name)?;
        Some((host, self.lender.queue(host)?))
    }

    /// Whether a page is known and not forgotten.
    pub fn is_there(&self, page: PageId) -> bool {
        !self.store.index().is_outside(page)
    }

    /// When a page is due, in seconds of 1970, and 0 if never, with what is wanted back with it: where these stand.
    pub fn places(&self, page: PageId) -> (Position, Option<Position>) {
        let index = self.store.index();
        (index.page_at(page), index.outcome_at(page))
    }

    /// When a page was first put.
    pub fn found_at(&self, page: PageId) -> Result<Tick, StoreError> {
        self.store.found_at(page)
    }

    /// Reads what was written, from any thread.
    pub fn reader(&self) -> Reader {
        self.store.reader()
    }

    /// Writes what waits.
    pub fn write(&mut self) -> Result<(), StoreError> {
        self.store.write()
    }

    /// How much waits to be written.
    pub fn waiting_bytes(&self) -> usize {
        self.store.waiting_bytes()
    }

    /// Makes durable what was written.
    pub fn syncer(&self) -> Syncer {
        self.store.syncer()
    }

    /// The bytes that pages take in memory, as allocated.
    pub fn allocated_bytes(&self) -> usize {
        self.store.index().allocated_bytes() + self.lender.allocated_bytes()
    }
}

/// The most pages of a crawl: what a ranking can number, and room to spare.
const PAGES_MAX: usize = 1 << 29;

/// The journal, told to a lender.
struct Folding<'a, P> {
    store: &'a Store,
    lender: &'a mut Lender<P>,
}

impl<P: Policy> Fold for Folding<'_, P> {
    fn see(&mut self, written: Written, entry: &Entry<'_>) -> Result<(), StoreError> {
        let tick = written.tick;
        let known = self.store.links_before(Position(written.at.0 + 1));
        let links = &known as &dyn Linked;
        match entry {
            Entry::Page {
                page, host, seed, ..
            } => {
                let due_s = self.lender.seconds(tick);
                let found = (*page, *host, *seed);
                self.lender.discover(found, due_s, tick, links);
            }
            Entry::Outcome(outcome) => settle(self.lender, links, tick, outcome),
            Entry::Lent { until, pages } => {
                let mut all = Vec::new();
                pages.read(&mut all);
                self.lender.lend_again(tick, *until, &all);
            }
            Entry::Forgotten { page, .. } => self.lender.forget(*page, tick, links),
            Entry::Note { kind, bytes } if *kind == QUEUE_NOTE => {
                if let Some((host, said)) = Said::read(bytes) {
                    heed(self.lender, tick, host, said);
                }
            }
            _ => {}
        }
        Ok(())
    }
}

fn heed<P: Policy>(lender: &mut Lender<P>, tick: Tick, host: HostId, said: Said) {
    lender.pass(tick);
    match said {
        Said::Delay(seconds) => lender.set_delay_of(host, seconds),
        Said::Blocked(until) => lender.block(host, until),
        Said::Limit(pages) => lender.limit(host, pages),
        Said::Deleted => lender.delete(host),
    }
}

/// What came of a page, told to the lender; the policy hears it only if somebody said what came.
fn settle<P: Policy>(
    lender: &mut Lender<P>,
    links: &dyn Linked,
    tick: Tick,
    outcome: &Outcome<'_>,
) {
    let facts = &outcome.facts;
    let due_s = facts.due_s.filter(|due_s| *due_s > 0);
    let mut buffer = Vec::new();
    let event = (facts.class != TOLD).then(|| outcome.event(&mut buffer));
    let unseen = (facts.unseen_links > 0 && event.is_some()).then_some(Event::Unseen {
        page: outcome.page,
        links: facts.unseen_links,
    });
    lender.settle(
        outcome.page,
        due_s,
        [unseen.as_ref(), event.as_ref()],
        tick,
        links,
    );
}

/// The host that everybody takes for that of a URL; empty where there is none. It is what stands between `://` and
/// the next of `:/?&#`, as other servers of the protocol cut it, because crawlers address hosts by these names. In
/// three things it is better than they: small letters, no user before an `@`, and IPv6 addresses are whole.
pub fn usual_host(url: &str) -> String {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let authority = &rest[..rest.find(['/', '?', '#']).unwrap_or(rest.len())];
    let host = authority
        .rsplit_once('@')
        .map_or(authority, |(_, host)| host);
    let end = match host.find(']').filter(|_| host.starts_with('[')) {
        Some(bracket) => bracket + 1,
        None => host.find([':', '&']).unwrap_or(host.len()),
    };
    host[..end].to_ascii_lowercase()
}

fn class(status: u16) -> &'static str {
    match status {
        200..=299 => "ok",
        300..=399 => "redirect",
        401 | 403 | 451 => "forbidden",
        404 | 410 => "not-found",
        429 => "busy",
        400..=499 => "client-error",
        500..=599 => "server-error",
        _ => "no-answer",
    }
}

/// The first eight bytes of a hash of a digest of any length; 0 where there is none.
fn hash(digest: &[u8]) -> u64 {
    let (mut hash, step) = (0xcbf2_9ce4_8422_2325_u64, 0x0000_0100_0000_01b3);
    for byte in digest {
        hash = (hash ^ u64::from(*byte)).wrapping_mul(step);
    }
    match digest {
        [] => 0,
        _ => hash,
    }
}

/// Parallel links count once, where they stood first.
fn dedup(links: &mut Vec<PageId>) {
    let mut seen = std::collections::BTreeSet::new();
    links.retain(|link| seen.insert(*link));
}
