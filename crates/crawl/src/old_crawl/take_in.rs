//! Old fetches told to a ledger, in the order of time.
//!
//! It is told what a live fetch would have told it: hosts, pages, outcomes with their links. A tick
//! is milliseconds since the crawl's birth, the earliest date; where a directory had a life before,
//! ticks go on from there, and the date of a fetch is in its facts alone.
//!
//! A page's outcomes stay in the order of time: what is older than the last one known of its page
//! is not taken, and what is the same fetch (date, status, digest) not twice.
//!
//! Cost: one append a fetch and one a new page; a copy is read back where a page is fetched again.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use turnstone_fetch::REDIRECTS_MAX;
use turnstone_frontier::{Change, Fault, Links as _, PageId, Tick};
use turnstone_ledger::telling;
use turnstone_pagestore::{Facts, Key, Keyer, Settled, Store, StoreError};
use turnstone_urls::scope::{Scope, ScopeRules};
use turnstone_urls::{KeyOptions, Url, UrlLimits, canonical_key, host_of, parse, shown};

use super::homes::Homes;
use super::old_fetch::{Came, OldFetch};
use crate::verdict::{change, still_current};

/// What became of the fetches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Taken {
    /// Pages fetched for the first time.
    pub new: u64,
    /// Pages that had changed.
    pub changed: u64,
    /// Pages that had not.
    pub unchanged: u64,
    /// Redirects.
    pub moved: u64,
    /// Pages that were gone.
    pub gone: u64,
    /// Pages that were refused.
    pub refused: u64,
    /// Fetches without a verdict.
    pub unknown: u64,
    /// Links of all pages.
    pub links: u64,
    /// Fetches that were known already.
    pub known: u64,
    /// Fetches older than what was known of their page.
    pub older: u64,
    /// Fetches outside `--since` and `--until`.
    pub undue: u64,
}

impl Taken {
    /// Fetches that are in the store now.
    pub fn outcomes(&self) -> u64 {
        let fetched = self.new + self.changed + self.unchanged;
        fetched + self.moved + self.gone + self.refused + self.unknown
    }
}

/// Which links are kept.
#[derive(Debug)]
pub enum Reach {
    /// Those to hosts of the import.
    Hosts(Homes),
    /// All.
    Everywhere(Homes),
}

impl Reach {
    /// The hosts of the import.
    pub fn homes(&self) -> &Homes {
        match self {
            Self::Hosts(homes) | Self::Everywhere(homes) => homes,
        }
    }

    fn has(&self, url: &Url) -> bool {
        match self {
            Self::Everywhere(_) => true,
            Self::Hosts(homes) => homes.has(host_of(url)),
        }
    }
}

/// An outcome that a killed process took in and did not note.
#[derive(Clone, Copy, Debug)]
pub struct TakenBefore {
    /// Its page.
    pub page: PageId,
    /// Its date.
    pub at: u64,
    /// What came of the page.
    pub settled: Settled,
    /// How many links it has.
    pub links: u64,
}

/// Takes old fetches in.
pub struct TakeIn<'a> {
    store: &'a mut Store,
    reach: &'a Reach,
    keyer: Keyer,
    keys: KeyOptions,
    /// What a URL may be, wherever it leads.
    shape: Scope,
    birth_ms: u64,
    taken: Taken,
    /// Outcomes that a killed process wrote after its last note, in order.
    written: VecDeque<TakenBefore>,
    buffer: Vec<PageId>,
}

impl<'a> TakeIn<'a> {
    /// Goes on with what was taken before.
    pub fn new(
        store: &'a mut Store,
        reach: &'a Reach,
        (taken, written): (Taken, VecDeque<TakenBefore>),
    ) -> Self {
        let birth_ms = store.index().sessions().first().map_or(0, |s| s.wall_ms);
        let shape = Scope::new(ScopeRules::default()).expect("there is no expression in it");
        Self {
            keyer: store.keyer(),
            keys: KeyOptions::default(),
            store,
            reach,
            shape,
            birth_ms,
            taken,
            written,
            buffer: Vec::new(),
        }
    }

    /// What was taken.
    pub fn taken(&mut self) -> &mut Taken {
        &mut self.taken
    }

    /// The store.
    pub fn store(&mut self) -> &mut Store {
        self.store
    }

    /// Takes one fetch in.
    pub fn take(&mut self, fetch: OldFetch) -> Result<(), StoreError> {
        let Ok(url) = parse(&fetch.url, &UrlLimits::default()) else {
            return Ok(()); // every source has parsed it before
        };
        let tick = self.tick(fetch.at);
        let key = self.key(&url);
        let known = self.store.index().find(key);
        if let Some(next) = self.written.front().copied() {
            if known == Some(next.page) && next.at == fetch.at {
                self.written.pop_front();
                self.count(next.settled, next.links);
            } else {
                // It was not written then, so it was known or older.
                self.taken.known += 1;
            }
            return Ok(());
        }
        let page = match known {
            Some(page) => page,
            None => telling::add(self.store, tick, (key, &url), 0),
        };
        if let Some(last) = self.store.outcome(page)? {
            let same = last.facts.wall_ms == fetch.at
                && last.facts.status == fetch.facts.status
                && (fetch.facts.digest.is_none() || last.facts.digest == fetch.facts.digest);
            if same {
                self.taken.known += 1;
                return Ok(());
            }
            if last.facts.wall_ms > fetch.at {
                self.taken.older += 1;
                return Ok(());
            }
        }
        self.settle(tick, page, fetch)
    }

    /// Leaves a note at a date.
    pub fn note(&mut self, at: u64, kind: &str, bytes: &[u8]) {
        telling::note(self.store, self.tick(at), kind, bytes);
    }

    /// The tick of a date; never before what was written.
    fn tick(&self, at: u64) -> Tick {
        let tick = Tick(at.saturating_sub(self.birth_ms));
        tick.max(self.store.index().latest())
    }

    fn key(&self, url: &Url) -> Key {
        self.keyer.key(&canonical_key(url, &self.keys))
    }

    /// The page that a link or redirect leads to, if it is within reach.
    fn reached(&mut self, tick: Tick, url: &Url, depth: u8) -> Option<PageId> {
        let key = self.key(url);
        if let Some(page) = self.store.index().find(key) {
            return Some(page);
        }
        let within = self.reach.has(url) && self.shape.check(url, 0).is_ok();
        within.then(|| telling::add(self.store, tick, (key, url), depth))
    }

    fn settle(&mut self, tick: Tick, page: PageId, fetch: OldFetch) -> Result<(), StoreError> {
        let mut facts = fetch.facts;
        let failed = |fault| Settled::Failed(fault);
        let mut links = Vec::new();
        let settled = match fetch.came {
            Came::Page => {
                let copy = self.store.copy(page)?;
                links = self.links(tick, page, &fetch.links);
                Settled::Fetched(change(copy.as_ref(), &facts))
            }
            Came::Listed => {
                links = self.links(tick, page, &fetch.links);
                match self.store.copy(page)? {
                    None => Settled::Fetched(Change::New),
                    Some(copy) => {
                        still_current(&mut facts, copy);
                        if links.is_empty() {
                            links = self.stored_links(page);
                        }
                        Settled::Fetched(Change::Unchanged)
                    }
                }
            }
            Came::NotModified => match self.store.copy(page)? {
                Some(copy) => {
                    still_current(&mut facts, copy);
                    facts.duplicate_of = Some(page);
                    links = self.stored_links(page);
                    Settled::Fetched(Change::Unchanged)
                }
                None => failed(Fault::Unknown),
            },
            Came::SameBody(of) => {
                let (same, change) = self.same_body(page, of.as_deref(), &mut facts)?;
                if let Some(same) = same {
                    links = self.stored_links(same);
                }
                Settled::Fetched(change)
            }
            Came::Moved(to) => self.moved(tick, page, &to, &mut facts),
            Came::Gone => failed(Fault::Gone),
            Came::Refused => failed(Fault::Refused),
            Came::Unknown => failed(Fault::Unknown),
            Came::WholeSite { .. } => unreachable!("told apart before it is taken"),
        };
        self.count(settled, links.len() as u64);
        telling::settle(self.store, tick, page, settled, &links, facts);
        Ok(())
    }

    fn count(&mut self, settled: Settled, links: u64) {
        let taken = &mut self.taken;
        taken.links += links;
        *match settled {
            Settled::Fetched(Change::New) => &mut taken.new,
            Settled::Fetched(Change::Changed) => &mut taken.changed,
            Settled::Fetched(Change::Unchanged) => &mut taken.unchanged,
            Settled::Moved(_) => &mut taken.moved,
            Settled::Failed(Fault::Gone) => &mut taken.gone,
            Settled::Failed(Fault::Refused) => &mut taken.refused,
            Settled::Failed(Fault::Unknown | Fault::Lost) => &mut taken.unknown,
        } += 1;
    }

    /// The pages linked to, each once, in order.
    fn links(&mut self, tick: Tick, page: PageId, urls: &[String]) -> Vec<PageId> {
        let depth = self.store.index().depth(page).saturating_add(1);
        let mut seen = std::collections::HashSet::new();
        let mut links = Vec::with_capacity(urls.len());
        for text in urls {
            let Ok(mut url) = parse(text, &UrlLimits::default()) else {
                continue;
            };
            url.set_fragment(None);
            if let Some(link) = self.reached(tick, &url, depth)
                && seen.insert(link)
            {
                links.push(link);
            }
        }
        links
    }

    fn stored_links(&mut self, page: PageId) -> Vec<PageId> {
        let mut buffer = std::mem::take(&mut self.buffer);
        let links = self.store.links_of(page, &mut buffer).to_vec();
        self.buffer = buffer;
        links
    }

    /// Which page has the body that a revisit speaks of, and how ours compares with its copy.
    fn same_body(
        &mut self,
        page: PageId,
        of: Option<&str>,
        facts: &mut Facts,
    ) -> Result<(Option<PageId>, Change), StoreError> {
        let own = self.store.copy(page)?;
        let digest = facts.digest;
        let fits = |copy: &Facts| digest.is_none() || copy.digest == digest;
        if let Some(copy) = own.as_ref().filter(|copy| fits(copy)) {
            still_current(facts, copy.clone());
            facts.duplicate_of = Some(page);
            return Ok((Some(page), Change::Unchanged));
        }
        let other = of
            .and_then(|text| parse(text, &UrlLimits::default()).ok())
            .and_then(|url| self.store.index().find(self.key(&url)));
        if let Some(other) = other
            && let Some(copy) = self.store.copy(other)?.filter(fits)
        {
            still_current(facts, copy);
            facts.duplicate_of = Some(other);
            return Ok((Some(other), change(own.as_ref(), facts)));
        }
        if let Some(digest) = digest {
            facts.text_hash = Facts::hash_of_digest(digest);
        }
        // The body is one that nobody here read.
        facts.hearsay = true;
        facts.detail = format!("a revisit of what was not imported ({})", facts.detail);
        Ok((None, change(own.as_ref(), facts)))
    }

    /// As a live crawl follows redirects.
    fn moved(&mut self, tick: Tick, page: PageId, to: &str, facts: &mut Facts) -> Settled {
        facts.redirects = self.store.index().redirects(page) + 1;
        let target = parse(to, &UrlLimits::default()).ok().map(|mut url| {
            url.set_fragment(None);
            url
        });
        let depth = self.store.index().depth(page);
        let reached = target
            .as_ref()
            .and_then(|url| self.reached(tick, url, depth));
        let mut refuse = |class: &str, why: String| {
            facts.class = class.to_owned();
            facts.detail = format!("{why} ({})", facts.detail);
            Settled::Failed(Fault::Refused)
        };
        match reached {
            Some(target) if target == page => refuse(
                "redirect-refused",
                format!("redirects to itself: {}", shown(to)),
            ),
            Some(_) if facts.redirects > REDIRECTS_MAX as u32 => refuse(
                "redirect-refused",
                format!("more than {REDIRECTS_MAX} redirects in a row"),
            ),
            Some(target) => Settled::Moved(target),
            None => refuse("redirect-outside", shown(to)),
        }
    }
}
