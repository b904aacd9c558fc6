//! Site histories: every page that a snapshot shows new, changed or gone is a fetch at its date.
//!
//! Pages that a snapshot shows as they were are not listed in a history, and make no fetch here; each
//! snapshot begins with word that it saw the whole site, so that they are known to be as they were.
//! Cost: the history in memory, 4 bytes a link and about 40 a version.

use turnstone_crawl::old_crawl::{Came, Homes, OldFetch};
use turnstone_fetch::urls::{UrlLimits, parse};
use turnstone_frontier::PageId;
use turnstone_lab::history::{self, History, VersionId};
use turnstone_pagestore::Facts;

use super::skipped::{Place, Skipped};
use super::source::Source;
use super::spool::InTime;

const DAY_MS: u64 = 86_400_000;

/// The events of a history.
pub(super) struct Past {
    name: String,
    history: History,
    snapshot: usize,
    /// Events of the snapshot that were handed out.
    event: usize,
    /// Whether word was given that the snapshot saw the whole site.
    told: bool,
}

impl Past {
    /// Opens a history; notes its host, and the pages whose URLs cannot be used.
    pub(super) fn open(
        source: &Source,
        (homes, skipped): (&mut Homes, &mut Skipped),
    ) -> anyhow::Result<Self> {
        let history = history::read(&source.path)?;
        let name = source.name();
        let first = history.dates.first().map_or(0, |date| date_ms(date.0));
        for page in (0..history.page_count()).map(PageId::from_index) {
            match parse(&history.address(page), &UrlLimits::default()) {
                Ok(url) => homes.add(&url, first),
                Err(error) => skipped.add(&name, Place::Page(u64::from(page.0)), error.to_string()),
            }
        }
        Ok(Self {
            name,
            history,
            snapshot: 0,
            event: 0,
            told: false,
        })
    }

    /// How many events there are.
    pub(super) fn len(&self) -> u64 {
        let snapshots = self.history.snapshots.iter();
        let events = snapshots.map(|snapshot| snapshot.set.len() + snapshot.gone.len());
        events.sum::<usize>() as u64
    }

    /// Word that the snapshot saw the whole site; none where its address cannot be used.
    fn whole_site(&self) -> Option<OldFetch> {
        let url = parse(&self.history.origin, &UrlLimits::default()).ok()?;
        Some(OldFetch {
            at: date_ms(self.history.dates[self.snapshot].0),
            url: url.into(),
            came: Came::WholeSite {
                snapshot: self.snapshot as u64,
            },
            facts: Facts::default(),
            links: Vec::new(),
        })
    }

    fn fetch(&self, page: PageId, version: Option<VersionId>) -> Option<OldFetch> {
        let mut url = parse(&self.history.address(page), &UrlLimits::default()).ok()?;
        url.set_fragment(None);
        let at = date_ms(self.history.dates[self.snapshot].0);
        let mut facts = Facts {
            class: "http-404".to_owned(),
            detail: format!("{}, snapshot {}", self.name, self.snapshot),
            status: 404,
            wall_ms: at,
            hearsay: true,
            ..Facts::default()
        };
        let Some(version) = version else {
            return Some(OldFetch {
                at,
                url: url.into(),
                came: Came::Gone,
                facts,
                links: Vec::new(),
            });
        };
        let content = &self.history.versions[version.index()];
        facts.class = "ok".to_owned();
        facts.status = 200;
        facts.text_hash = content.text;
        facts.words = content.words;
        facts.body_bytes = u64::from(content.bytes);
        let is_xml = self.history.pages[page.index()].is_xml;
        facts.mime = if is_xml { "text/xml" } else { "text/html" }.to_owned();
        let links = self.history.links_of(version).iter();
        Some(OldFetch {
            at,
            url: url.into(),
            came: Came::Page,
            facts,
            links: links.map(|link| self.history.address(*link)).collect(),
        })
    }
}

/// Days before 1970 are as good as 1970.
fn date_ms(days: i32) -> u64 {
    u64::try_from(days).unwrap_or(0) * DAY_MS
}

impl InTime for Past {
    fn next(&mut self) -> anyhow::Result<Option<OldFetch>> {
        while let Some(snapshot) = self.history.snapshots.get(self.snapshot) {
            if !std::mem::replace(&mut self.told, true)
                && let Some(whole) = self.whole_site()
            {
                return Ok(Some(whole));
            }
            let event = self.event;
            let set = snapshot.set.len();
            let (page, version) = if let Some((page, version)) = snapshot.set.get(event) {
                (*page, Some(*version))
            } else if let Some(page) = snapshot.gone.get(event - set) {
                (*page, None)
            } else {
                self.snapshot += 1;
                self.event = 0;
                self.told = false;
                continue;
            };
            self.event += 1;
            // A page that cannot be used was noted when the history was opened.
            if let Some(fetch) = self.fetch(page, version) {
                return Ok(Some(fetch));
            }
        }
        Ok(None)
    }
}
