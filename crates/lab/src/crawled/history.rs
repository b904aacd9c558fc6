//! The histories of the sites of a crawl, from its journal.
//!
//! A site is an origin (scheme, host and port), because a history has one. Its pages are those
//! that were ever fetched; a fetch gives the page the version it brought, a 404 or 410 or a
//! redirect takes the page away, and a fetch without a verdict changes nothing. A page not asked
//! for in a snapshot is as it was. Links are followed through redirects to pages of the same
//! site; what leads to another host of the crawl is off-site. What is out of scope is no page of
//! a crawl and not counted.
//!
//! Cost: two scans of the journal and a look at each fetch; 16 bytes a fetch, and the versions of
//! one site at a time.

use std::borrow::Borrow;
use std::collections::HashMap;
use std::io::{self, Write};
use std::path::Path;

use turnstone_frontier::{Fault, PageId};
use turnstone_pagestore::{Entry, Facts, Position, Settled, Store, StoreError};

use super::snapshots::{Grouping, SnapshotBy, Visits};
use crate::history::{
    self, Found, History, HistoryError, HistoryWriter, Line, Look, Looks, Rows, VersionId,
};

/// Redirects that a link is followed through.
const HOPS_MAX: usize = 20;

/// The class of a fetch that only asked whether the page is there.
const SURVEYED: &str = "alive";

/// Why a history was not written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExportError {
    /// The crawl cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The history cannot be written.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// What was written cannot be read.
    #[error(transparent)]
    History(#[from] HistoryError),
}

/// What a written history holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HistoryCounts {
    /// Pages ever seen.
    pub pages: u64,
    /// Distinct contents.
    pub versions: u64,
    /// Snapshots.
    pub snapshots: u64,
}

/// The sites of a crawl that have a history.
#[derive(Debug)]
pub struct SiteHistories<S> {
    store: S,
    sites: Vec<Site>,
    /// By site.
    seen: Vec<Visits>,
    /// By page: its site and its number there, if it was ever fetched.
    places: Vec<Option<(u32, u32)>>,
    /// Where redirects lead.
    moved: HashMap<PageId, PageId>,
}

#[derive(Debug)]
struct Site {
    origin: String,
    /// In the order in which they were first fetched.
    pages: Vec<PageId>,
}

impl<S: Borrow<Store>> SiteHistories<S> {
    /// Reads where everything is.
    pub fn read(store: S, by: SnapshotBy) -> Result<Self, StoreError> {
        let pages = store.borrow().index().page_count();
        let mut all = Self {
            store,
            sites: Vec::new(),
            seen: Vec::new(),
            places: vec![None; pages],
            moved: HashMap::new(),
        };
        let numbers = all.find_sites()?;
        all.find_fetches(by, &numbers)?;
        Ok(all)
    }

    fn store(&self) -> &Store {
        self.store.borrow()
    }

    /// Numbers sites and pages; returns the number of each origin.
    fn find_sites(&mut self) -> Result<HashMap<String, u32>, StoreError> {
        let mut numbers: HashMap<String, u32> = HashMap::new();
        let mut scan = self.store().scan(Position::FIRST);
        while let Some((_, _, entry)) = scan.next()? {
            let Entry::Outcome(outcome) = entry else {
                continue;
            };
            let fetched = matches!(outcome.settled, Settled::Fetched(_));
            let forgotten = self.store().index().is_forgotten(outcome.page);
            if !fetched || forgotten || self.places[outcome.page.index()].is_some() {
                continue;
            }
            let url = self.store().url(outcome.page)?;
            let (origin, _) = split(&url);
            let number = *numbers.entry(origin.to_owned()).or_insert_with(|| {
                self.sites.push(Site {
                    origin: origin.to_owned(),
                    pages: Vec::new(),
                });
                self.sites.len() as u32 - 1
            });
            let site = &mut self.sites[number as usize];
            self.places[outcome.page.index()] = Some((number, site.pages.len() as u32));
            site.pages.push(outcome.page);
        }
        Ok(numbers)
    }

    fn find_fetches(
        &mut self,
        by: SnapshotBy,
        numbers: &HashMap<String, u32>,
    ) -> Result<(), StoreError> {
        let mut seen: Vec<Visits> = self.sites.iter().map(|_| Visits::default()).collect();
        let site_of = |url: &str| numbers.get(split(url).0).copied();
        let mut grouping = Grouping::new(by);
        let mut scan = self.store().scan(Position::FIRST);
        while let Some((at, _, entry)) = scan.next()? {
            let outcome = match entry {
                Entry::Outcome(outcome) => outcome,
                other => {
                    grouping.entry(&other, &mut seen, &site_of);
                    continue;
                }
            };
            match outcome.settled {
                Settled::Moved(to) => {
                    self.moved.insert(outcome.page, to);
                }
                Settled::Fetched(_) => {
                    self.moved.remove(&outcome.page);
                }
                Settled::Failed(Fault::Gone) => {}
                Settled::Failed(_) => continue,
            }
            if let Some((number, _)) = self.places[outcome.page.index()] {
                grouping.outcome(&outcome, at, &mut seen[number as usize]);
            }
        }
        grouping.finish(&mut seen);
        self.seen = seen;
        Ok(())
    }

    /// The origins of the sites.
    pub fn origins(&self) -> impl Iterator<Item = &str> {
        self.sites.iter().map(|site| site.origin.as_str())
    }

    /// How many snapshots each site has, in the order of [`SiteHistories::origins`].
    pub fn snapshot_counts(&self) -> impl Iterator<Item = usize> {
        self.seen.iter().map(|seen| seen.snapshots.len())
    }

    /// Writes the history of one site, by its place among [`SiteHistories::origins`].
    pub fn write(&self, number: usize, out: impl Write) -> Result<HistoryCounts, ExportError> {
        Ok(self.write_all(number, out)?.0)
    }

    /// The history of one site as [`SiteHistories::write`] writes it, and when each of its pages
    /// was looked at.
    pub fn history(&self, number: usize) -> Result<History, ExportError> {
        let mut packed = Vec::new();
        let (_, events) = self.write_all(number, &mut packed)?;
        let name = Path::new(&self.sites[number].origin);
        let mut history = history::read_bytes(name, &packed)?;
        let whole = self.seen[number].snapshots.iter();
        let whole = whole.map(|snapshot| snapshot.is_whole()).collect();
        history.looks = Some(Looks::new(whole, looks(&events, history.page_count())));
        Ok(history)
    }

    fn write_all(
        &self,
        number: usize,
        out: impl Write,
    ) -> Result<(HistoryCounts, Vec<Event>), ExportError> {
        let (site, seen) = (&self.sites[number], &self.seen[number]);
        let mut lines = HistoryWriter::new(out)?;
        lines.write(&Line::Site {
            site: name_of(&site.origin),
            origin: &format!("{}/", site.origin),
            source: "crawled",
            pages: site.pages.len() as u32,
            snapshots: seen
                .snapshots
                .iter()
                .map(|snapshot| snapshot.date.to_string())
                .collect(),
        });
        for (number, page) in site.pages.iter().enumerate() {
            let url = self.store().url(*page)?;
            let mime = self
                .store()
                .copy(*page)?
                .map(|facts| facts.mime)
                .unwrap_or_default();
            let xml = mime.contains("xml") && !mime.contains("xhtml");
            lines.write(&Line::Page {
                page: number as u32,
                url: split(&url).1,
                kind: xml.then_some("xml"),
            });
        }
        let hosts = self.write_hosts(seen, &mut lines)?;
        let (versions, events) = self.write_versions(number, &hosts, &mut lines)?;
        let (pages, snapshots) = (site.pages.len(), seen.snapshots.len());
        write_events((pages, snapshots), &events, &mut lines);
        lines.finish()?;
        let counts = HistoryCounts {
            pages: pages as u64,
            versions,
            snapshots: snapshots as u64,
        };
        Ok((counts, events))
    }

    /// Lists the hosts of the crawl that the site links to; returns the number of each.
    fn write_hosts(
        &self,
        seen: &Visits,
        lines: &mut HistoryWriter<impl Write>,
    ) -> Result<HashMap<u32, u32>, StoreError> {
        let mut hosts = HashMap::new();
        let mut links = Vec::new();
        for (at, _) in &seen.fetches {
            let outcome = self.store().outcome_and_links(*at, &mut links)?;
            let own = self.store().index().host(outcome.page);
            for link in &links {
                let host = self.store().index().host(self.end_of(*link));
                if host != own && !hosts.contains_key(&host.0) {
                    let number = hosts.len() as u32;
                    hosts.insert(host.0, number);
                    let name = self.store().index().host_name(host);
                    lines.write(&Line::Host { host: number, name });
                }
            }
        }
        Ok(hosts)
    }

    /// Writes every distinct content; returns how many, and what each fetch made of its page.
    fn write_versions(
        &self,
        number: usize,
        hosts: &HashMap<u32, u32>,
        lines: &mut HistoryWriter<impl Write>,
    ) -> Result<(u64, Vec<Event>), StoreError> {
        let mut known: HashMap<(u64, u64, Vec<u32>), u32> = HashMap::new();
        let mut events = Vec::with_capacity(self.seen[number].fetches.len());
        let mut found = Vec::new();
        for &(at, snapshot) in &self.seen[number].fetches {
            let outcome = self.store().outcome_and_links(at, &mut found)?;
            let Some((_, page)) = self.places[outcome.page.index()] else {
                continue;
            };
            let version = match outcome.settled {
                Settled::Fetched(_) => {
                    let facts = &outcome.facts;
                    let linked = self.linked(number, outcome.page, &found, hosts);
                    let raw = facts.digest.map_or(facts.text_hash, first_eight);
                    let key = (raw, facts.text_hash, linked.pages.clone());
                    let next = known.len() as u32;
                    let version = *known.entry(key).or_insert(next);
                    if version == next {
                        lines.write(&linked.line(version, raw, facts));
                    }
                    Some(version)
                }
                Settled::Failed(_) | Settled::Moved(_) => None,
            };
            events.push(Event {
                snapshot,
                page,
                version,
                surveyed: outcome.facts.class == SURVEYED,
                chance: outcome.facts.chance,
            });
        }
        Ok((known.len() as u64, events))
    }

    fn linked(
        &self,
        site: usize,
        page: PageId,
        found: &[PageId],
        hosts: &HashMap<u32, u32>,
    ) -> Linked {
        let mut linked = Linked::default();
        let own = self.store().index().host(page);
        for link in found {
            let end = self.end_of(*link);
            let host = self.store().index().host(end);
            match self.places[end.index()] {
                Some((number, _)) if end == page && number as usize == site => {}
                Some((number, target)) if number as usize == site => {
                    if !linked.pages.contains(&target) {
                        linked.pages.push(target);
                    }
                }
                _ if host == own => linked.broken += 1,
                _ => {
                    linked.offsite += 1;
                    let host = hosts[&host.0];
                    if !linked.hosts.contains(&host) && linked.hosts.len() < 20 {
                        linked.hosts.push(host);
                    }
                }
            }
        }
        linked
    }

    /// Where a link leads through redirects.
    fn end_of(&self, link: PageId) -> PageId {
        let mut end = link;
        for _ in 0..HOPS_MAX {
            match self.moved.get(&end) {
                Some(next) => end = *next,
                None => return end,
            }
        }
        link
    }
}

/// The links of one content.
#[derive(Default)]
struct Linked {
    pages: Vec<u32>,
    hosts: Vec<u32>,
    offsite: u32,
    broken: u32,
}

impl Linked {
    fn line<'a>(&'a self, version: u32, raw: u64, facts: &'a Facts) -> Line<'a> {
        Line::Version {
            version,
            raw: format!("{raw:016x}"),
            text: format!("{:016x}", facts.text_hash),
            bytes: u32::try_from(facts.body_bytes).unwrap_or(u32::MAX),
            words: facts.words,
            images: 0,
            offsite: self.offsite,
            hosts: self.hosts.clone(),
            title: &facts.title,
            terms: Vec::new(),
            broken: self.broken,
            links: &self.pages,
        }
    }
}

/// What a fetch made of a page: a version, or nothing.
struct Event {
    snapshot: u32,
    page: u32,
    version: Option<u32>,
    /// Whether it only asked if the page is there: the version is that of our copy.
    surveyed: bool,
    /// The chance with which the page was chosen.
    chance: u32,
}

/// By page, when it was looked at: the last word of each snapshot, and content before mere life.
fn looks(events: &[Event], pages: usize) -> Rows<Look> {
    let mut rows: Vec<Vec<Look>> = vec![Vec::new(); pages];
    for event in events {
        let look = Look {
            snapshot: event.snapshot,
            chance: event.chance,
            found: match event.version {
                _ if event.surveyed && event.version.is_some() => Found::Alive,
                Some(version) => Found::Version(VersionId(version)),
                None => Found::Gone,
            },
        };
        let row = &mut rows[event.page as usize];
        match row.last_mut().filter(|last| last.snapshot == look.snapshot) {
            Some(last) if look.found != Found::Alive => *last = look,
            Some(_) => {}
            None => row.push(look),
        }
    }
    rows.into_iter().collect()
}

/// Writes what each snapshot changed: the last word on each page counts.
fn write_events(
    (pages, snapshots): (usize, usize),
    events: &[Event],
    lines: &mut HistoryWriter<impl Write>,
) {
    let mut present: Vec<Option<u32>> = vec![None; pages];
    let mut events = events.iter().peekable();
    for snapshot in 0..snapshots as u32 {
        let mut last = std::collections::BTreeMap::new();
        while let Some(event) = events.next_if(|event| event.snapshot == snapshot) {
            last.insert(event.page, event.version);
        }
        let (mut set, mut gone) = (Vec::new(), Vec::new());
        for (page, version) in last {
            let before = std::mem::replace(&mut present[page as usize], version);
            match version {
                Some(version) if before != Some(version) => set.push((page, version)),
                None if before.is_some() => gone.push(page),
                _ => {}
            }
        }
        let (set, gone) = (&set[..], &gone[..]);
        lines.write(&Line::Event {
            snapshot,
            set,
            gone,
        });
    }
}

fn first_eight(digest: [u8; 20]) -> u64 {
    let [a, b, c, d, e, f, g, h, ..] = digest;
    u64::from_be_bytes([a, b, c, d, e, f, g, h])
}

/// The origin of a URL, and the rest with its leading slash.
fn split(url: &str) -> (&str, &str) {
    let host = url.find("://").map_or(0, |at| at + 3);
    let end = url[host..].find('/').map_or(url.len(), |at| host + at);
    let path = &url[end..];
    (&url[..end], if path.is_empty() { "/" } else { path })
}

/// The host and port of an origin.
fn name_of(origin: &str) -> &str {
    origin.split_once("://").map_or(origin, |(_, name)| name)
}
