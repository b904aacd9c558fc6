//! A site as it was at one snapshot, stepping to the next.

use turnstone_frontier::PageId;

use super::{History, VersionId};

/// The state of a site at a snapshot: which pages are present, with which content.
#[derive(Clone, Debug)]
pub struct Walk<'a> {
    history: &'a History,
    /// The snapshot to come.
    next: usize,
    /// By page.
    present: Vec<Option<VersionId>>,
    /// By page: whether it was ever present.
    seen: Vec<bool>,
    present_count: usize,
}

/// What happened to the pages in one step.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Step {
    /// The snapshot's number.
    pub snapshot: usize,
    /// Never present before.
    pub new: Vec<PageId>,
    /// Present earlier, absent before this step, present again.
    pub returned: Vec<PageId>,
    /// Present before and now, with another content: (page, before).
    pub changed: Vec<(PageId, VersionId)>,
    /// Present before, absent now: (page, before).
    pub gone: Vec<(PageId, VersionId)>,
}

impl<'a> Walk<'a> {
    pub(super) fn new(history: &'a History) -> Self {
        Self {
            history,
            next: 0,
            present: vec![None; history.page_count()],
            seen: vec![false; history.page_count()],
            present_count: 0,
        }
    }

    /// Goes on to the next snapshot. None after the last.
    pub fn step(&mut self) -> Option<Step> {
        let snapshot = self.history.snapshots.get(self.next)?;
        let mut step = Step {
            snapshot: self.next,
            ..Step::default()
        };
        for &(page, version) in &snapshot.set {
            let index = page.index();
            match self.present[index].replace(version) {
                Some(before) => step.changed.push((page, before)),
                None if self.seen[index] => step.returned.push(page),
                None => step.new.push(page),
            }
            self.seen[index] = true;
        }
        for &page in &snapshot.gone {
            if let Some(before) = self.present[page.index()].take() {
                step.gone.push((page, before));
            }
        }
        self.present_count += step.new.len() + step.returned.len();
        self.present_count -= step.gone.len();
        self.next += 1;
        Some(step)
    }

    /// The history this walks through.
    pub fn history(&self) -> &'a History {
        self.history
    }

    /// The content of a page, if it is present.
    pub fn version(&self, page: PageId) -> Option<VersionId> {
        self.present[page.index()]
    }

    /// Whether the page was present at this snapshot or an earlier one.
    pub fn was_seen(&self, page: PageId) -> bool {
        self.seen[page.index()]
    }

    /// How many pages are present.
    pub fn present_count(&self) -> usize {
        self.present_count
    }

    /// The present pages with their contents, by page.
    pub fn present(&self) -> impl Iterator<Item = (PageId, VersionId)> + '_ {
        let pages = self.present.iter().enumerate();
        pages.filter_map(|(index, version)| Some((PageId::from_index(index), (*version)?)))
    }

    /// The links of a page as it is now; none for an absent page. They may lead to absent pages.
    pub fn links(&self, page: PageId) -> &'a [PageId] {
        self.version(page)
            .map_or(&[], |version| self.history.links_of(version))
    }
}
