//! A site's history: every page version ever seen, and what each snapshot changed.
//!
//! Versions are stored once and shared; a snapshot is the difference to the one before, so a
//! history of 160 weekly snapshots costs little more than its distinct versions. Walk it with
//! [`Walk`], which keeps the site as it was at one snapshot and steps to the next.
//!
//! Cost: 4 bytes a link, about 40 a version, 8 a page event. Invariant: every page, version and
//! host named by an event or a link exists; snapshots are in order of date. The reader refuses
//! anything else with file and line.

mod date;
mod looks;
mod read;
mod walk;
mod write;

pub use date::Date;
pub use looks::{Found, Known, Look, Looks};
pub use read::{HistoryError, read, read_bytes, read_with_terms};
pub use walk::{Step, Walk};
pub use write::{HistoryWriter, Line};

use turnstone_frontier::PageId;

/// One content of a page. Several pages may share it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct VersionId(pub u32);

impl VersionId {
    /// The id as an index.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A page of the site.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    /// Its address below the origin, with a leading slash.
    pub url: String,
    /// A feed or a sitemap rather than a document.
    pub is_xml: bool,
}

/// What is known of one content.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Version {
    /// Hash of the bytes.
    pub raw: u64,
    /// Hash of the visible text.
    pub text: u64,
    /// Size in bytes.
    pub bytes: u32,
    /// Words of visible text.
    pub words: u32,
    /// Images.
    pub images: u32,
    /// Distinct off-site link targets.
    pub offsite: u32,
    /// On-site link targets that are no page in any snapshot.
    pub broken: u32,
}

/// What one snapshot changed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Snapshot {
    /// Pages that have a new content from here on: new, returned or changed.
    pub set: Vec<(PageId, VersionId)>,
    /// Pages that are absent from here on.
    pub gone: Vec<PageId>,
}

/// Rows of different lengths, one after the other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rows<T> {
    starts: Vec<u32>,
    items: Vec<T>,
}

impl<T> Default for Rows<T> {
    fn default() -> Self {
        Self {
            starts: vec![0],
            items: Vec::new(),
        }
    }
}

impl<T> Rows<T> {
    /// The row with this number.
    pub fn row(&self, index: usize) -> &[T] {
        &self.items[self.starts[index] as usize..self.starts[index + 1] as usize]
    }

    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.starts.len() - 1
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many items all rows have together.
    pub fn item_count(&self) -> usize {
        self.items.len()
    }

    pub(crate) fn push(&mut self, row: impl IntoIterator<Item = T>) {
        self.items.extend(row);
        let end = u32::try_from(self.items.len()).expect("a site has fewer than 2^32 links");
        self.starts.push(end);
    }
}

impl<T, R: IntoIterator<Item = T>> FromIterator<R> for Rows<T> {
    fn from_iter<I: IntoIterator<Item = R>>(rows: I) -> Self {
        let mut all = Self::default();
        rows.into_iter().for_each(|row| all.push(row));
        all
    }
}

/// A site and all that is recorded of it.
#[derive(Clone, Debug, Default)]
pub struct History {
    /// Its name.
    pub site: String,
    /// Where its addresses begin, with a trailing slash.
    pub origin: String,
    /// By snapshot, ascending.
    pub dates: Vec<Date>,
    /// By page.
    pub pages: Vec<Page>,
    /// Names of off-site registrable domains.
    pub hosts: Vec<String>,
    /// By version.
    pub versions: Vec<Version>,
    /// By version: the pages linked to, in document order, without the page itself.
    pub links: Rows<PageId>,
    /// By version: off-site domains linked to, first 20, as indices into `hosts`.
    pub offsite_hosts: Rows<u32>,
    /// By version: frequent words as (index into `words`, count). Empty unless asked for.
    pub terms: Rows<(u32, u32)>,
    /// The words that `terms` speaks of.
    pub words: Vec<String>,
    /// By snapshot.
    pub snapshots: Vec<Snapshot>,
    /// When each page was looked at; none where every snapshot saw the whole site.
    pub looks: Option<Looks>,
}

impl History {
    /// The full address of a page.
    pub fn address(&self, page: PageId) -> String {
        let path = &self.pages[page.index()].url;
        format!("{}{}", self.origin, path.strip_prefix('/').unwrap_or(path))
    }

    /// How many pages were ever seen.
    pub fn page_count(&self) -> usize {
        self.pages.len()
    }

    /// The links of a version.
    pub fn links_of(&self, version: VersionId) -> &[PageId] {
        self.links.row(version.index())
    }

    /// How well it is known what a page was at a snapshot; `last` and `same` as for [`Looks::at`].
    pub fn known(
        &self,
        page: PageId,
        snapshot: usize,
        last: Option<VersionId>,
        same: &dyn Fn(VersionId, VersionId) -> bool,
    ) -> Known {
        let looks = self.looks.as_ref();
        looks.map_or(Known::Seen(0), |looks| looks.at(page, snapshot, last, same))
    }

    /// Forgets all but the first snapshots.
    pub fn truncate(&mut self, snapshots: usize) {
        self.snapshots.truncate(snapshots);
        self.dates.truncate(snapshots);
        self.looks = self.looks.take().map(|looks| looks.truncated(snapshots));
    }

    /// The site before its first snapshot, ready to step.
    pub fn walk(&self) -> Walk<'_> {
        Walk::new(self)
    }

    /// The site as it was at a snapshot.
    pub fn at(&self, snapshot: usize) -> Walk<'_> {
        let mut walk = self.walk();
        for _ in 0..=snapshot {
            walk.step();
        }
        walk
    }
}
