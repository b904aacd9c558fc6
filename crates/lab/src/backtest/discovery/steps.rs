//! From snapshot to snapshot: what is new, and which old pages lead to it.
//!
//! Old pages at a snapshot are all that any earlier snapshot held, new ones the rest. Links to
//! pages that are not there do not exist; an absent page has no links; a page that comes back is
//! not new again. A step looks only at pages that changed in it, and at pages known to have been
//! waiting: those that already linked to a page before it was there.
//!
//! Of a crawl directory, what a page linked to at a snapshot may be unknown: then it leads nowhere as
//! far as the record tells, and [`Steps::is_known`] says so.
//!
//! Cost: O(links of the pages set in the snapshot) a step and the closure over its new pages, not
//! O(site); 8 bytes for every link to a page that is still to come.

use turnstone_frontier::PageId;
use turnstone_policy::discovery::{Arrivals, Sightings};

use super::web::DiscoveryWeb;
use crate::history::{VersionId, Walk};

/// A walk through a site's snapshots.
#[derive(Debug)]
pub struct Steps<'a> {
    web: &'a DiscoveryWeb,
    walk: Walk<'a>,
    /// By page still to come: who links to it, with which content.
    waiting: Vec<Vec<(PageId, VersionId)>>,
    /// Pages that have appeared so far.
    known: u32,
    /// The snapshot that was stepped to.
    snapshot: usize,
}

/// What a snapshot brought.
#[derive(Clone, Debug, Default)]
pub struct Step {
    /// Its number.
    pub snapshot: usize,
    /// The first new page; ids from here to `end` are new.
    pub first_new: PageId,
    /// After the last new page.
    pub end: PageId,
    /// Which old pages lead to which new ones.
    pub arrivals: Arrivals,
    /// Pages that link to a new page, old and new, ascending.
    pub telling: Vec<PageId>,
    /// Old pages that are absent from here on.
    pub gone: Vec<PageId>,
    /// Old pages that were absent and are back.
    pub back: Vec<PageId>,
}

impl Step {
    /// The new pages.
    pub fn new_pages(&self) -> impl Iterator<Item = PageId> + use<> {
        (self.first_new.0..self.end.0).map(PageId)
    }

    /// Old pages that link to a new page, ascending.
    pub(super) fn telling_old(&self) -> Vec<PageId> {
        let old = self.telling.partition_point(|page| *page < self.first_new);
        self.telling[..old].to_vec()
    }

    /// Whether something could be found in this snapshot.
    pub fn is_case(&self) -> bool {
        self.snapshot > 0 && self.arrivals.found() > 0
    }
}

impl<'a> Steps<'a> {
    /// Before the first snapshot.
    pub fn new(web: &'a DiscoveryWeb) -> Self {
        Self {
            web,
            walk: web.history().walk(),
            waiting: vec![Vec::new(); web.history().page_count()],
            known: 0,
            snapshot: 0,
        }
    }

    /// The web walked through.
    pub fn web(&self) -> &'a DiscoveryWeb {
        self.web
    }

    /// Goes on to the next snapshot. None after the last.
    pub fn step(&mut self) -> Option<Step> {
        let changes = self.walk.step()?;
        self.snapshot = changes.snapshot;
        let first_new = PageId(self.known);
        self.known += changes.new.len() as u32;
        let end = PageId(self.known);
        let mut sightings = Sightings::new(first_new);
        for page in (first_new.0..end.0).map(PageId) {
            sightings.expect(self.web.weight(page));
        }
        let mut telling: Vec<PageId> = Vec::new();
        let changed = changes.changed.iter().map(|(page, _)| *page);
        let set = changes.new.iter().chain(&changes.returned).copied();
        for page in set.chain(changed) {
            let Some(version) = self.walk.version(page) else {
                continue;
            };
            if self.look(page, version, (first_new, end), &mut sightings) {
                telling.push(page);
            }
        }
        self.look_at_waiting((first_new, end), &mut sightings, &mut telling);
        telling.sort_unstable();
        telling.dedup();
        Some(Step {
            snapshot: changes.snapshot,
            first_new,
            end,
            arrivals: sightings.close(),
            telling,
            gone: changes.gone.iter().map(|(page, _)| *page).collect(),
            back: changes.returned,
        })
    }

    /// Notes a page's links to new pages and to pages still to come. Returns whether it has any
    /// of the former.
    fn look(
        &mut self,
        page: PageId,
        version: VersionId,
        (first_new, end): (PageId, PageId),
        sightings: &mut Sightings,
    ) -> bool {
        if self.web.last_link(version) < first_new {
            return false;
        }
        let mut tells = false;
        for &link in self.web.history().links_of(version) {
            if link >= end {
                self.waiting[link.index()].push((page, version));
            } else if link >= first_new {
                // In the first snapshot nobody is old, so nothing can be found.
                if first_new.0 > 0 {
                    sightings.see(page, &[link]);
                }
                tells = true;
            }
        }
        tells
    }

    /// Pages that have been linking to a page before it was there.
    fn look_at_waiting(
        &mut self,
        (first_new, end): (PageId, PageId),
        sightings: &mut Sightings,
        telling: &mut Vec<PageId>,
    ) {
        for page in (first_new.0..end.0).map(PageId) {
            for (source, version) in std::mem::take(&mut self.waiting[page.index()]) {
                if self.walk.version(source) == Some(version) && self.is_known(source) {
                    sightings.see(source, &[page]);
                    telling.push(source);
                }
            }
        }
    }

    /// Whether the record knows what a page links to now.
    pub fn is_known(&self, page: PageId) -> bool {
        let version = self.walk.version(page);
        self.web.known(page, self.snapshot, version).is_known()
    }

    /// Whether a page is there now.
    pub fn is_present(&self, page: PageId) -> bool {
        self.walk.version(page).is_some()
    }

    /// The links of a page as a crawler sees them now: those to pages still to come, which would
    /// bring nothing, left out. Uses `buffer` only if there are any.
    pub fn links<'b>(&'b self, page: PageId, buffer: &'b mut Vec<PageId>) -> &'b [PageId] {
        let Some(version) = self.walk.version(page) else {
            return &[];
        };
        let links = self.web.history().links_of(version);
        if self.web.last_link(version).0 < self.known {
            return links;
        }
        buffer.clear();
        buffer.extend(links.iter().filter(|link| link.0 < self.known));
        buffer
    }
}
