//! What lists are worth: sitemaps and feeds, whose own links are worth little, and whose hints may be
//! worth a lot.
//!
//! A list is credited with the importance of every page that it hinted at and that was then found
//! changed, divided by how often it was fetched for that. Hints of a list that are not proved cost it
//! nothing but its fetches.
//!
//! Cost: O(log lists) a hint and a fetch; 8 bytes a page hinted at and not fetched since.

use std::collections::BTreeMap;

use turnstone_frontier::{Change, PageId};

/// The most that a list counts for, in average pages.
const COUNTS_MAX: f64 = 100.0;

/// All lists that ever hinted.
#[derive(Debug, Default)]
pub(super) struct Lists {
    /// Pages that were hinted at and not fetched since, and by which list.
    hinted: BTreeMap<PageId, PageId>,
    lists: BTreeMap<PageId, List>,
}

/// What a list was good for.
#[derive(Clone, Copy, Debug, Default)]
struct List {
    /// How often it was fetched since its first hint, that fetch included.
    fetches: u32,
    /// What the pages count for that it hinted at and that had changed.
    proved: f64,
}

turnstone_frontier::saved!(List: fetches, proved);

impl Lists {
    /// A list hints at a page. Hints follow the fetch of their list.
    pub(super) fn hinted(&mut self, page: PageId, by: PageId) {
        let first = List {
            fetches: 1,
            proved: 0.0,
        };
        self.lists.entry(by).or_insert(first);
        self.hinted.insert(page, by);
    }

    /// A page that counts for so much was fetched.
    pub(super) fn fetched(&mut self, page: PageId, change: Change, counts: f64) {
        if let Some(list) = self.lists.get_mut(&page) {
            list.fetches += 1;
        }
        let by = self.hinted.remove(&page);
        if let Some(list) = by.and_then(|by| self.lists.get_mut(&by))
            && change == Change::Changed
        {
            list.proved += counts;
        }
    }

    /// What a page counts for that counts for so much by the links to it.
    pub(super) fn counts(&self, page: PageId, linked: f64) -> f64 {
        match self.lists.get(&page) {
            Some(list) => {
                let each = list.proved / f64::from(list.fetches.max(1));
                (linked.max(1.0) + each).min(COUNTS_MAX)
            }
            None => linked,
        }
    }

    turnstone_frontier::saved_in_place!(pub(super) [hinted, lists]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_counts_for_what_it_proved_to_know() {
        let weights = [0.1, 3.0, 1.0];
        let (list, changed, same) = (PageId(0), PageId(1), PageId(2));
        let mut lists = Lists::default();
        let fetched = |lists: &mut Lists, page: PageId, change| {
            lists.fetched(page, change, weights[page.index()]);
        };
        let counts = |lists: &Lists| (lists.counts(list, weights[0]) * 100.0).round() / 100.0;
        fetched(&mut lists, list, Change::New);
        assert_eq!(counts(&lists), 0.1);
        lists.hinted(changed, list);
        lists.hinted(same, list);
        assert_eq!(counts(&lists), 1.0, "nothing is proved yet");
        fetched(&mut lists, changed, Change::Changed);
        fetched(&mut lists, same, Change::Unchanged);
        assert_eq!(counts(&lists), 4.0, "one fetch led to a page of weight 3");
        fetched(&mut lists, list, Change::Changed);
        assert_eq!(counts(&lists), 2.5, "a second one led to nothing");
        // A change that nobody told of.
        fetched(&mut lists, changed, Change::Changed);
        assert_eq!(counts(&lists), 2.5);
    }
}
