//! What is recorded of the served sites at two dates.
//!
//! Pages are numbered through all sites, as the server numbers them. Two recorded pages with one
//! address are one page: the one that the server shows there.
//!
//! Text that is the same is the same page; of feeds and sitemaps, which have no text, the bytes
//! are compared, as a crawl does.

use std::sync::Arc;

use turnstone_frontier::PageId;
use turnstone_lab::history::{History, VersionId};
use turnstone_lab::serve::{At, Handle};

/// Pages named to a crawl at most of one site, where links do not lead to all of it.
const SEEDS_MAX: usize = 2000;

/// Some sites, as they were when they were crawled and as they are now.
#[derive(Debug)]
pub(crate) struct Record {
    sites: Vec<Site>,
    /// By page: the page that is served at its address.
    shown: Vec<PageId>,
}

#[derive(Debug)]
struct Site {
    history: Arc<History>,
    /// The first of its pages.
    first: u32,
    /// The snapshots of both dates.
    dates: [usize; 2],
    /// By page, at both dates.
    versions: [Vec<Option<VersionId>>; 2],
}

/// One of the two dates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum When {
    /// When the sites were crawled.
    Then,
    /// When the questions are asked.
    Now,
}

impl Record {
    /// The record at two shares of each history: 0 is its first snapshot, 1 its last.
    pub(crate) fn new(histories: &[Arc<History>], shares: [f64; 2], handle: &Handle) -> Self {
        let mut sites: Vec<Site> = Vec::new();
        let mut first = 0;
        for history in histories {
            let last = history.snapshots.len().saturating_sub(1);
            let dates = shares.map(|share| ((last as f64 * share).round() as usize).min(last));
            let versions = dates.map(|date| {
                let walk = history.at(date);
                let pages = (0..history.page_count()).map(PageId::from_index);
                pages.map(|page| walk.version(page)).collect()
            });
            sites.push(Site {
                history: Arc::clone(history),
                first,
                dates,
                versions,
            });
            first += u32::try_from(history.page_count()).expect("page ids are 32-bit");
        }
        let shown = |page: PageId| handle.page_at(&handle.url_of(page)).unwrap_or(page);
        Self {
            shown: (0..first).map(PageId).map(shown).collect(),
            sites,
        }
    }

    /// Shows every site as it was at one of the dates.
    pub(crate) fn show(&self, when: When, handle: &Handle) {
        for (number, site) in self.sites.iter().enumerate() {
            handle.set_snapshot(number, At::Number(site.dates[when as usize]));
        }
    }

    /// The page served at a page's address.
    pub(crate) fn shown(&self, page: PageId) -> PageId {
        self.shown[page.index()]
    }

    fn site(&self, page: PageId) -> (&Site, PageId) {
        let at = self.sites.partition_point(|site| site.first <= page.0) - 1;
        let site = &self.sites[at];
        (site, PageId(page.0 - site.first))
    }

    fn version(&self, page: PageId, when: When) -> Option<VersionId> {
        let (site, own) = self.site(page);
        site.versions[when as usize][own.index()]
    }

    /// Whether a page is there.
    pub(crate) fn is_there(&self, page: PageId, when: When) -> bool {
        self.version(page, when).is_some()
    }

    /// Whether a page that was there and is there reads differently.
    pub(crate) fn changed(&self, page: PageId) -> bool {
        let (site, own) = self.site(page);
        let [then, now] = [When::Then, When::Now].map(|when| self.version(page, when));
        let (Some(then), Some(now)) = (then, now) else {
            return then != now;
        };
        let [old, new] = [then, now].map(|version| site.history.versions[version.index()]);
        if site.history.pages[own.index()].is_xml {
            return old != new || site.history.links_of(then) != site.history.links_of(now);
        }
        old.text != new.text
    }

    /// The links of a page in the order of the document; none of one that is not there.
    pub(crate) fn links(&self, page: PageId, when: When) -> impl Iterator<Item = PageId> + '_ {
        let (site, _) = self.site(page);
        let links = self
            .version(page, when)
            .map_or(&[][..], |version| site.history.links_of(version));
        let first = site.first;
        links
            .iter()
            .map(move |link| self.shown(PageId(link.0 + first)))
    }

    /// Pages from which links lead to all that was there, front pages and feeds first, and all
    /// pages that a crawl of these must store. At most [`SEEDS_MAX`] a site.
    pub(crate) fn seeds(&self) -> (Vec<PageId>, Vec<PageId>) {
        let mut reached = vec![false; self.shown.len()];
        let mut seeds = Vec::new();
        let mut stored = Vec::new();
        for site in &self.sites {
            let pages = &site.history.pages;
            let mut order: Vec<usize> = (0..pages.len()).collect();
            order.sort_by_key(|own| (pages[*own].url != "/", !pages[*own].is_xml, *own));
            let mut named = 0;
            for own in order {
                let page = self.shown(PageId(site.first + own as u32));
                if named == SEEDS_MAX {
                    break;
                }
                if self.is_there(page, When::Then) && !reached[page.index()] {
                    named += 1;
                    seeds.push(page);
                    self.reach(page, &mut reached, &mut stored);
                }
            }
        }
        (seeds, stored)
    }

    /// Marks what links lead to; lists those of these pages that were there.
    fn reach(&self, from: PageId, reached: &mut [bool], there: &mut Vec<PageId>) {
        let mut queue = vec![from];
        reached[from.index()] = true;
        while let Some(page) = queue.pop() {
            if self.is_there(page, When::Then) {
                there.push(page);
            }
            for link in self.links(page, When::Then) {
                if !std::mem::replace(&mut reached[link.index()], true) {
                    queue.push(link);
                }
            }
        }
    }
}
