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

use std::collections::HashMap;
use std::io::{self, Write};

use turnstone_frontier::{Fault, PageId};
use turnstone_pagestore::{Entry, Facts, Position, Settled, Store, StoreError};

use crate::history::{Date, HistoryWriter, Line};

const DAY_MS: u64 = 86_400_000;
/// Redirects that a link is followed through.
const HOPS_MAX: usize = 20;

/// What a snapshot of a crawled site is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SnapshotBy {
    /// Everything fetched on one day (UTC).
    Day,
    /// Everything fetched by one process.
    Session,
}

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
pub struct SiteHistories<'s> {
    store: &'s Store,
    sites: Vec<Site>,
    /// By page: its site and its number there, if it was ever fetched.
    places: Vec<Option<(u32, u32)>>,
    /// Where redirects lead.
    moved: HashMap<PageId, PageId>,
}

#[derive(Debug)]
struct Site {
    origin: String,
    pages: Vec<PageId>,
    /// What came of its pages: where it stands in the journal, and in which snapshot.
    seen: Vec<(Position, u32)>,
    /// The key of each snapshot, and its date.
    snapshots: Vec<(u64, Date)>,
}

impl<'s> SiteHistories<'s> {
    /// Reads where everything is.
    pub fn read(store: &'s Store, by: SnapshotBy) -> Result<Self, StoreError> {
        let mut all = Self {
            store,
            sites: Vec::new(),
            places: vec![None; store.index().page_count()],
            moved: HashMap::new(),
        };
        all.find_sites()?;
        all.find_fetches(by)?;
        Ok(all)
    }

    fn find_sites(&mut self) -> Result<(), StoreError> {
        let mut numbers: HashMap<String, u32> = HashMap::new();
        for page in (0..self.places.len()).map(PageId::from_index) {
            if !self.store.index().is_stored(page) {
                continue;
            }
            let url = self.store.url(page)?;
            let (origin, _) = split(&url);
            let number = *numbers.entry(origin.to_owned()).or_insert_with(|| {
                self.sites.push(Site {
                    origin: origin.to_owned(),
                    pages: Vec::new(),
                    seen: Vec::new(),
                    snapshots: Vec::new(),
                });
                self.sites.len() as u32 - 1
            });
            let site = &mut self.sites[number as usize];
            self.places[page.index()] = Some((number, site.pages.len() as u32));
            site.pages.push(page);
        }
        Ok(())
    }

    fn find_fetches(&mut self, by: SnapshotBy) -> Result<(), StoreError> {
        let (mut session, mut began_ms, mut day) = (0, 0, 0);
        let mut scan = self.store.scan(Position::FIRST);
        while let Some((at, _, entry)) = scan.next()? {
            let outcome = match entry {
                Entry::Session { wall_ms, .. } => {
                    session += 1;
                    began_ms = began_ms.max(wall_ms);
                    continue;
                }
                Entry::Outcome(outcome) => outcome,
                _ => continue,
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
            // A clock that was set back does not turn time around.
            day = (outcome.facts.wall_ms.max(began_ms) / DAY_MS).max(day);
            let (key, date) = match by {
                SnapshotBy::Day => (day, day),
                SnapshotBy::Session => (session, began_ms / DAY_MS),
            };
            if let Some((number, _)) = self.places[outcome.page.index()] {
                let site = &mut self.sites[number as usize];
                if site.snapshots.last().is_none_or(|(last, _)| *last != key) {
                    let date = Date(i32::try_from(date).unwrap_or(i32::MAX / 2));
                    site.snapshots.push((key, date));
                }
                site.seen.push((at, site.snapshots.len() as u32 - 1));
            }
        }
        Ok(())
    }

    /// The origins of the sites.
    pub fn origins(&self) -> impl Iterator<Item = &str> {
        self.sites.iter().map(|site| site.origin.as_str())
    }

    /// Writes the history of one site, by its place among [`SiteHistories::origins`].
    pub fn write(&self, number: usize, out: impl Write) -> Result<HistoryCounts, ExportError> {
        let site = &self.sites[number];
        let mut lines = HistoryWriter::new(out)?;
        lines.write(&Line::Site {
            site: name_of(&site.origin),
            origin: &format!("{}/", site.origin),
            source: "crawled",
            pages: site.pages.len() as u32,
            snapshots: site
                .snapshots
                .iter()
                .map(|(_, date)| date.to_string())
                .collect(),
        });
        for (number, page) in site.pages.iter().enumerate() {
            let url = self.store.url(*page)?;
            let mime = self
                .store
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
        let hosts = self.write_hosts(site, &mut lines)?;
        let (versions, events) = self.write_versions(number, &hosts, &mut lines)?;
        write_events(site, &events, &mut lines);
        lines.finish()?;
        Ok(HistoryCounts {
            pages: site.pages.len() as u64,
            versions,
            snapshots: site.snapshots.len() as u64,
        })
    }

    /// Lists the hosts of the crawl that the site links to; returns the number of each.
    fn write_hosts(
        &self,
        site: &Site,
        lines: &mut HistoryWriter<impl Write>,
    ) -> Result<HashMap<u32, u32>, StoreError> {
        let mut hosts = HashMap::new();
        let mut links = Vec::new();
        for (at, _) in &site.seen {
            let outcome = self.store.outcome_and_links(*at, &mut links)?;
            let own = self.store.index().host(outcome.page);
            for link in &links {
                let host = self.store.index().host(self.end_of(*link));
                if host != own && !hosts.contains_key(&host.0) {
                    let number = hosts.len() as u32;
                    hosts.insert(host.0, number);
                    let name = self.store.index().host_name(host);
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
        let mut events = Vec::with_capacity(self.sites[number].seen.len());
        let mut found = Vec::new();
        for &(at, snapshot) in &self.sites[number].seen {
            let outcome = self.store.outcome_and_links(at, &mut found)?;
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
        let own = self.store.index().host(page);
        for link in found {
            let end = self.end_of(*link);
            let host = self.store.index().host(end);
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
}

/// Writes what each snapshot changed: the last word on each page counts.
fn write_events(site: &Site, events: &[Event], lines: &mut HistoryWriter<impl Write>) {
    let mut present: Vec<Option<u32>> = vec![None; site.pages.len()];
    let mut events = events.iter().peekable();
    for snapshot in 0..site.snapshots.len() as u32 {
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
