//! Where everything is: what is kept in memory of a journal.
//!
//! For each page the positions of its URL and of its last outcome, its host and its state; for
//! each URL its page; for each host its name; for each authority its robots.txt. The index is a
//! fold like any other: the same function builds it on opening and keeps it up while appending.
//!
//! Cost: 24 bytes a page, the key table's 17 to 34, 10 for each distinct text, and some 20 for each page
//! that a sitemap or feed said had changed.

mod listed;
mod past;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

pub use past::{PlanAt, Session};
use turnstone_frontier::{Fault, HostId, PageId, Tick};

use crate::entry::{Entry, Hint};
use crate::facts::Archived;
use crate::forget::{FORGET_NOTE, Forgotten};
use crate::journal::Position;
use crate::keys::{Key, KeyTable};
use crate::outcome::Settled;
use crate::page_state::PageState;
use crate::tally::Tally;

#[derive(Clone, Copy, Debug)]
struct Slot {
    page_at: Position,
    outcome_at: Position,
    host: HostId,
    state: PageState,
    /// What it was before it was handed out.
    before: PageState,
    /// [`STORED`], [`COPIED`], [`OUTSIDE`], [`LISTED`]: in one byte, because there is a slot for every page.
    marks: u8,
    depth: u8,
}

/// It was fetched.
const STORED: u8 = 1;
/// It is known from an old crawl, or stored: there is something to hold a new copy against.
const COPIED: u8 = 2;
/// It is out of scope.
const OUTSIDE: u8 = 4;
/// A sitemap or a feed led there, or it is one that was named, before any other link did.
const LISTED: u8 = 8;

impl Slot {
    fn has(&self, mark: u8) -> bool {
        self.marks & mark != 0
    }
}

/// The kind of the note that makes a seed of a page known before: its number, 4 bytes.
pub(crate) const SEED_NOTE: &str = "seed";

/// The index of a journal.
#[derive(Debug, Default)]
pub struct Index {
    keys: KeyTable,
    slots: Vec<Slot>,
    seeds: Vec<PageId>,
    /// Those of them that were found by being named: numbers that rise.
    early_seeds: Vec<PageId>,
    /// Those of them that were found before they were named.
    late_seeds: BTreeSet<PageId>,
    counts: [u64; PageState::ALL.len()],
    host_names: Vec<Box<str>>,
    hosts: HashMap<Box<str>, HostId>,
    robots: BTreeMap<Box<str>, Position>,
    notes: BTreeMap<Box<str>, Position>,
    /// Which shard of a crawl this is, of how many; nothing where it is the whole crawl.
    shard: Option<(u32, u32)>,
    /// Hosts that belong to other shards.
    away: BTreeMap<HostId, u32>,
    /// The last plan.
    plan: Option<PlanAt>,
    /// The first plan: what came before it was read by a release that forgot links out of scope.
    first_plan: Option<PlanAt>,
    /// By question: how many rounds began, and where the last one did.
    rounds: BTreeMap<Box<str>, (u32, Position)>,
    /// By page: the latest moment at which it is said to have changed, in seconds of 1970.
    hints: HashMap<PageId, u64>,
    /// Hashes of every visible text ever fetched.
    texts: HashSet<u64>,
    /// Targets of redirects: how many in a row led there.
    redirects: HashMap<PageId, u32>,
    stored: u64,
    /// Of them, those out of scope.
    stored_outside: u64,
    copied: u64,
    capture: Option<Archived>,
    forgotten: BTreeSet<PageId>,
    sessions: Vec<Session>,
    latest: Tick,
    tally: Tally,
}

impl Index {
    /// A page can be found by its key from now on.
    pub(crate) fn know_key(&mut self, key: Key, page: PageId) {
        self.keys.insert(key, page);
    }

    /// Takes over the keys of all pages, gathered elsewhere.
    pub(crate) fn set_keys(&mut self, keys: KeyTable) {
        self.keys = keys;
    }

    /// A page cannot be found by its key any more.
    pub(crate) fn forget_key(&mut self, key: Key, page: PageId) {
        self.keys.remove(key, page);
    }

    /// Folds one entry in, all but a page's key: see [`Index::know_key`].
    pub(crate) fn fold(&mut self, at: Position, tick: Tick, entry: &Entry<'_>) {
        self.latest = self.latest.max(tick);
        let (mut host, mut first) = (HostId(0), false);
        match entry {
            Entry::Session {
                wall_ms,
                boot,
                boot_ms,
                policy,
                ..
            } => self.sessions.push(Session {
                tick,
                wall_ms: *wall_ms,
                boot: (*boot).to_owned(),
                boot_ms: *boot_ms,
                policy: (*policy).to_owned(),
            }),
            Entry::Host { host, name } | Entry::Away { host, name, .. } => {
                assert_eq!(host.index(), self.host_names.len(), "host ids are dense");
                self.host_names.push((*name).into());
                self.hosts.insert((*name).into(), *host);
                if let Entry::Away { shard, .. } = entry {
                    self.away.insert(*host, *shard);
                }
            }
            Entry::Page {
                page,
                host: of,
                seed,
                depth,
                refused,
                outside,
                listed,
                ..
            } => {
                assert_eq!(page.index(), self.slots.len(), "page ids are dense");
                host = *of;
                if *seed {
                    self.seeds.push(*page);
                    self.early_seeds.push(*page);
                }
                let state = match (outside, refused.0.is_empty()) {
                    (true, _) => PageState::Outside,
                    (false, _) if self.away.contains_key(of) => PageState::Away,
                    (false, true) => PageState::Waiting,
                    (false, false) => PageState::Refused,
                };
                self.slots.push(Slot {
                    page_at: at,
                    outcome_at: Position(0),
                    host,
                    state,
                    before: state,
                    marks: (u8::from(*outside) * OUTSIDE) | (u8::from(*listed) * LISTED),
                    depth: *depth,
                });
                self.counts[state as usize] += 1;
            }
            Entry::HandOut { page } => self.set_state(*page, PageState::InFlight),
            Entry::Outcome(outcome) => {
                host = self.slots[outcome.page.index()].host;
                first = !self.slots[outcome.page.index()].has(STORED);
                self.settle(outcome.page, outcome.settled, outcome.facts.hearsay);
                self.slots[outcome.page.index()].outcome_at = at;
                self.archived(outcome.facts.capture);
                if let (Settled::Fetched(_), false) = (outcome.settled, outcome.facts.hearsay) {
                    self.texts.insert(outcome.facts.text_hash);
                }
                if let Settled::Moved(to) = outcome.settled {
                    self.redirects.insert(to, outcome.facts.redirects);
                }
            }
            Entry::Robots { authority, .. } => {
                self.robots.insert((*authority).into(), at);
            }
            Entry::Note { kind, bytes } => {
                self.notes.insert((*kind).into(), at);
                match *kind {
                    SEED_NOTE => self.name_seed(bytes),
                    FORGET_NOTE => self.forget(bytes),
                    _ => {}
                }
            }
            Entry::Plan {
                question,
                policy,
                seeds,
                text,
                inside,
                outside,
            } => {
                inside.each(|page| self.rescope(page, true));
                outside.each(|page| self.rescope(page, false));
                let plan = PlanAt {
                    at,
                    tick,
                    question: (*question).to_owned(),
                    policy: (*policy).to_owned(),
                    seeds: *seeds,
                    text: (*text).to_owned(),
                };
                self.first_plan.get_or_insert_with(|| plan.clone());
                self.plan = Some(plan);
            }
            Entry::Round { question, .. } => {
                let (count, last) = self.rounds.entry((*question).into()).or_default();
                *count += 1;
                *last = at;
            }
            Entry::Hint(Hint {
                page, changed_s, ..
            }) => {
                let latest = self.hints.entry(*page).or_default();
                *latest = (*latest).max(*changed_s);
            }
            Entry::Cut { shard, shards } => self.shard = Some((*shard, *shards)),
            Entry::Forgotten { page, .. } => self.rescope(*page, false),
            Entry::Lent { .. }
            | Entry::Sent { .. }
            | Entry::Received { .. }
            | Entry::Held { .. }
            | Entry::Shut { .. }
            | Entry::Address { .. }
            | Entry::Starved
            | Entry::Visit { .. }
            | Entry::Joined { .. } => {}
        }
        self.tally.fold(entry, host, first);
    }

    /// A page that was found before is a seed from now on.
    fn name_seed(&mut self, bytes: &[u8]) {
        let Ok(number) = bytes.try_into() else {
            return;
        };
        let page = PageId(u32::from_le_bytes(number));
        if page.index() < self.slots.len() && !self.is_seed(page) {
            self.seeds.push(page);
            self.late_seeds.insert(page);
            self.slots[page.index()].depth = 0;
        }
    }

    /// Pages are forgotten: as if they had never been fetched, and never to be.
    fn forget(&mut self, bytes: &[u8]) {
        let pages = Forgotten::read(bytes).map_or(Vec::new(), |note| note.pages);
        for page in pages {
            if page.index() >= self.slots.len() || !self.forgotten.insert(page) {
                continue;
            }
            let slot = &mut self.slots[page.index()];
            if slot.has(STORED) {
                self.stored -= 1;
                self.stored_outside -= u64::from(slot.has(OUTSIDE));
            }
            self.copied -= u64::from(slot.has(COPIED));
            slot.marks &= !(STORED | COPIED);
            let state = match slot.has(OUTSIDE) {
                true => PageState::Outside,
                false => PageState::Refused,
            };
            self.set_state(page, state);
        }
    }

    /// How far the archive reaches. A page may be settled after others whose captures came later.
    fn archived(&mut self, capture: Option<Archived>) {
        let end = |at: &Archived| (at.file, at.file_end);
        if let Some(capture) = capture
            && self
                .capture
                .as_ref()
                .is_none_or(|last| end(last) <= end(&capture))
        {
            self.capture = Some(capture);
        }
    }

    /// A page changes sides. What was fetched stays fetched.
    fn rescope(&mut self, page: PageId, inside: bool) {
        let slot = &mut self.slots[page.index()];
        if slot.has(OUTSIDE) != inside {
            return;
        }
        slot.marks ^= OUTSIDE;
        if slot.has(STORED) {
            self.stored_outside = if inside {
                self.stored_outside - 1
            } else {
                self.stored_outside + 1
            };
        }
        let host = slot.host;
        match (inside, slot.state) {
            (true, PageState::Outside) => self.set_state(page, PageState::Waiting),
            (false, PageState::Waiting | PageState::Unknown) => {
                self.set_state(page, PageState::Outside);
            }
            _ => {}
        }
        self.tally.rescoped(host, inside);
    }

    fn settle(&mut self, page: PageId, settled: Settled, hearsay: bool) {
        let slot = &mut self.slots[page.index()];
        if let Settled::Fetched(_) = settled {
            self.copied += u64::from(!slot.has(COPIED));
            slot.marks |= COPIED;
        }
        let before = slot.before;
        let (outside, stored) = (slot.has(OUTSIDE), slot.has(STORED));
        let state = match settled {
            // Somebody else had it once: it is known, no more.
            Settled::Fetched(_) if hearsay && !stored => match before {
                PageState::Outside => PageState::Outside,
                _ => PageState::Waiting,
            },
            Settled::Failed(Fault::Unknown | Fault::Refused | Fault::Lost)
                if outside && !stored =>
            {
                PageState::Outside
            }
            Settled::Fetched(_) => PageState::Fetched,
            Settled::Moved(_) => PageState::Moved,
            Settled::Failed(Fault::Gone) => PageState::Gone,
            Settled::Failed(Fault::Unknown) => PageState::Unknown,
            Settled::Failed(Fault::Refused) => PageState::Refused,
            Settled::Failed(Fault::Lost) => before,
        };
        let slot = &mut self.slots[page.index()];
        if state == PageState::Fetched && !stored {
            slot.marks |= STORED;
            self.stored_outside += u64::from(outside);
            self.stored += 1;
        }
        self.set_state(page, state);
    }

    fn set_state(&mut self, page: PageId, state: PageState) {
        let slot = &mut self.slots[page.index()];
        self.counts[slot.state as usize] -= 1;
        self.counts[state as usize] += 1;
        if slot.state != PageState::InFlight {
            slot.before = slot.state;
        }
        slot.state = state;
    }

    /// Makes room for this many more pages.
    pub(crate) fn reserve(&mut self, pages: usize) {
        self.slots.reserve(pages);
    }

    /// The page of a canonical URL.
    pub fn find(&self, key: Key) -> Option<PageId> {
        self.keys.find(key)
    }

    /// How many pages are known.
    pub fn page_count(&self) -> usize {
        self.slots.len()
    }

    /// The pages named by the user, in order.
    pub fn seeds(&self) -> &[PageId] {
        &self.seeds
    }

    /// Whether a page is a seed.
    pub fn is_seed(&self, page: PageId) -> bool {
        self.late_seeds.contains(&page) || self.early_seeds.binary_search(&page).is_ok()
    }

    /// Whether the user named a page that had been found before.
    pub fn is_late_seed(&self, page: PageId) -> bool {
        self.late_seeds.contains(&page)
    }

    /// The hosts of this crawl, or of this shard of it, that have pages.
    pub fn hosts_met(&self) -> impl Iterator<Item = HostId> + '_ {
        let hosts = (0..self.tally.hosts.len()).map(HostId::from_index);
        hosts.filter(|host| self.tally.hosts[host.index()].pages > 0 && self.away(*host).is_none())
    }

    /// How many pages are known, in scope, and not away.
    pub fn known_count(&self) -> u64 {
        self.slots.len() as u64 - self.tally.outside_pages - self.count(PageState::Away)
    }

    /// Which shard of a crawl this is, and of how many; nothing where it is the whole crawl.
    pub fn shard(&self) -> Option<(u32, u32)> {
        self.shard
    }

    /// The shard that a host belongs to, where that is another.
    pub fn away(&self, host: HostId) -> Option<u32> {
        self.away.get(&host).copied()
    }

    /// Whether a page is out of scope.
    pub fn is_outside(&self, page: PageId) -> bool {
        self.slots[page.index()].has(OUTSIDE)
    }

    /// The plan in force; none in a journal of an older version.
    pub fn plan(&self) -> Option<&PlanAt> {
        self.plan.as_ref()
    }

    /// The first plan; what stands before it was written by a release that had none.
    pub fn first_plan(&self) -> Option<&PlanAt> {
        self.first_plan.as_ref()
    }

    /// How many pages are stored, or were by an old crawl that was taken in.
    pub fn copied_count(&self) -> u64 {
        self.copied
    }

    /// Whether a page is stored, or was by an old crawl that was taken in.
    pub fn is_copied(&self, page: PageId) -> bool {
        self.slots[page.index()].has(COPIED)
    }

    /// How many pages are stored and in scope.
    pub fn had_count(&self) -> u64 {
        self.stored - self.stored_outside
    }

    /// How many pages were ever fetched.
    pub fn stored_count(&self) -> u64 {
        self.stored
    }

    /// How many pages are in a state.
    pub fn count(&self, state: PageState) -> u64 {
        self.counts[state as usize]
    }

    /// Where a page stands.
    pub fn state(&self, page: PageId) -> PageState {
        self.slots[page.index()].state
    }

    /// Whether a page was ever fetched.
    pub fn is_stored(&self, page: PageId) -> bool {
        self.slots[page.index()].has(STORED)
    }

    /// Links from the nearest seed, as far as was known when the page was found.
    pub fn depth(&self, page: PageId) -> u8 {
        self.slots[page.index()].depth
    }

    /// Whether a visible text was ever fetched.
    pub fn has_text(&self, text_hash: u64) -> bool {
        self.texts.contains(&text_hash)
    }

    /// How many redirects in a row led to a page.
    pub fn redirects(&self, page: PageId) -> u32 {
        self.redirects.get(&page).copied().unwrap_or(0)
    }

    /// The host of a page.
    pub fn host(&self, page: PageId) -> HostId {
        self.slots[page.index()].host
    }

    /// The entry that announced a page.
    pub fn page_at(&self, page: PageId) -> Position {
        self.slots[page.index()].page_at
    }

    /// The entry of a page's last outcome; `None` before the first.
    pub fn outcome_at(&self, page: PageId) -> Option<Position> {
        let at = self.slots[page.index()].outcome_at;
        (at != Position(0)).then_some(at)
    }

    /// How many hosts are known.
    pub fn host_count(&self) -> usize {
        self.host_names.len()
    }

    /// The name of a host.
    pub fn host_name(&self, host: HostId) -> &str {
        &self.host_names[host.index()]
    }

    /// The host of a name.
    pub fn find_host(&self, name: &str) -> Option<HostId> {
        self.hosts.get(name).copied()
    }

    /// The last entry about each authority's robots.txt, in the order of the alphabet.
    pub fn robots(&self) -> impl Iterator<Item = (&str, Position)> {
        self.robots.iter().map(|(name, at)| (&**name, *at))
    }

    /// The last entry about one authority's robots.txt.
    pub fn robots_at(&self, authority: &str) -> Option<Position> {
        self.robots.get(authority).copied()
    }

    /// The last note of a kind.
    pub fn note_at(&self, kind: &str) -> Option<Position> {
        self.notes.get(kind).copied()
    }

    /// How many rounds of a question began.
    pub fn rounds(&self, question: &str) -> u32 {
        self.rounds.get(question).map_or(0, |(count, _)| *count)
    }

    /// The entry with which the last round of a question began.
    pub fn round_at(&self, question: &str) -> Option<Position> {
        self.rounds.get(question).map(|(_, at)| *at)
    }

    /// The latest moment at which a page is said to have changed, in seconds of 1970.
    pub fn hint(&self, page: PageId) -> Option<u64> {
        self.hints.get(&page).copied()
    }

    /// Pages that were forgotten on request.
    pub fn forgotten(&self) -> &BTreeSet<PageId> {
        &self.forgotten
    }

    /// Whether a page was forgotten on request.
    pub fn is_forgotten(&self, page: PageId) -> bool {
        self.forgotten.contains(&page)
    }

    /// The last capture that was acknowledged: where the WARC files and the index end.
    pub fn capture(&self) -> Option<Archived> {
        self.capture
    }

    /// Every process that took the crawl over, the last one last.
    pub fn sessions(&self) -> &[Session] {
        &self.sessions
    }

    /// The latest tick.
    pub fn latest(&self) -> Tick {
        self.latest
    }

    /// Counts.
    pub fn tally(&self) -> &Tally {
        &self.tally
    }

    /// The bytes that all this takes for pages, as allocated.
    pub fn allocated_bytes(&self) -> usize {
        self.keys.allocated_bytes() + self.slots.capacity() * size_of::<Slot>()
    }
}
