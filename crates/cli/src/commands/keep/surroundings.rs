//! What surrounds the pages of a store: their directories, and how important they are.
//!
//! A directory has the number of the first page that was known in it, so that it has the same
//! number in every process. Importance is PageRank over everything that is known when the process
//! begins; pages found later count as the average page until the next start.
//!
//! A *list* (a sitemap, a feed) that said which pages had changed counts for what it said: as much
//! as the average page, and as the pages together that a fetch of it led to and that had changed
//! indeed. Few pages link to a sitemap, and its own text interests nobody; without this it would be
//! looked at last. This is learnt while the crawl goes on, and again from the journal at the start.
//!
//! Cost: 8 bytes a page, 12 a directory, 8 a page that was hinted at; PageRank once at the start.
//! Limit: no list counts for more than [`LIST_MAX`] pages.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::{Mutex, MutexGuard, PoisonError};

use turnstone_crawl::Onlooker;
use turnstone_frontier::{Change, PageId};
use turnstone_lab::stored::StoredPages;
use turnstone_ledger::View;
use turnstone_pagestore::{Entry, Hint, Position, Settled, Store};
use turnstone_policy::changes::Store as _;
use turnstone_policy::keep;

/// The most that a list counts for, in average pages.
const LIST_MAX: f64 = 100.0;

/// Directories and importance of pages.
#[derive(Debug, Default)]
pub(super) struct Surroundings {
    /// By page: the average page has 1.
    importance: Vec<f32>,
    seen: Mutex<Seen>,
}

/// What was seen of the crawl so far.
#[derive(Debug, Default)]
struct Seen {
    /// By the hash of host and directory: its first page. A clash would join two directories.
    first: HashMap<u64, PageId>,
    /// By page: the first page of its directory.
    directories: Vec<PageId>,
    /// Pages that were hinted at and not fetched since, and by which list.
    hinted: HashMap<PageId, PageId>,
    lists: HashMap<PageId, List>,
}

/// What a list was good for.
#[derive(Clone, Copy, Debug, Default)]
struct List {
    /// How often it was fetched since its first hint, that fetch included.
    fetches: u32,
    /// What the pages count for that it hinted at and that had changed.
    proved: f64,
}

impl Surroundings {
    pub(super) fn of(store: &Store) -> anyhow::Result<Self> {
        let view = View::inside(store);
        let scores = StoredPages::read(store, &view.numbered())?.importance();
        let count = scores.len() as f64;
        let surroundings = Self {
            importance: scores.iter().map(|score| (score * count) as f32).collect(),
            seen: Mutex::default(),
        };
        let mut scan = store.scan(Position::FIRST);
        while let Some((_, _, entry)) = scan.next()? {
            match entry {
                Entry::Page { page, url, .. } => {
                    if let Some(page) = view.inner(page) {
                        surroundings.found(page, url);
                    }
                }
                Entry::Hint(hint) => {
                    if let (Some(page), Some(by)) = (view.inner(hint.page), view.inner(hint.by)) {
                        surroundings.hinted(Hint { page, by, ..hint });
                    }
                }
                Entry::Outcome(outcome) => {
                    if let Some(page) = view.inner(outcome.page) {
                        surroundings.settled(page, outcome.settled);
                    }
                }
                _ => {}
            }
        }
        Ok(surroundings)
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What a page counts for by the links to it.
    fn linked(&self, page: PageId) -> f64 {
        let weight = self.importance.get(page.index());
        weight.map_or(1.0, |weight| f64::from(*weight))
    }
}

impl Onlooker for Surroundings {
    fn found(&self, page: PageId, url: &str) {
        let mut seen = self.seen();
        debug_assert_eq!(page.index(), seen.directories.len(), "pages come in order");
        let mut hasher = DefaultHasher::new();
        directory_of(url).hash(&mut hasher);
        let first = *seen.first.entry(hasher.finish()).or_insert(page);
        seen.directories.push(first);
    }

    fn hinted(&self, hint: Hint) {
        let mut seen = self.seen();
        // Hints follow the fetch of their list.
        seen.lists.entry(hint.by).or_insert(List {
            fetches: 1,
            proved: 0.0,
        });
        seen.hinted.insert(hint.page, hint.by);
    }

    fn settled(&self, page: PageId, settled: Settled) {
        let Settled::Fetched(change) = settled else {
            return;
        };
        let weight = self.linked(page);
        let mut seen = self.seen();
        if let Some(list) = seen.lists.get_mut(&page) {
            list.fetches += 1;
        }
        let by = seen.hinted.remove(&page);
        if let Some(list) = by.and_then(|by| seen.lists.get_mut(&by))
            && change == Change::Changed
        {
            list.proved += weight;
        }
    }
}

impl keep::Surroundings for Surroundings {
    fn group(&self, page: PageId) -> Option<u32> {
        let seen = self.seen();
        seen.directories.get(page.index()).map(|first| first.0)
    }

    fn importance(&self, page: PageId) -> f64 {
        let linked = self.linked(page);
        match self.seen().lists.get(&page) {
            Some(list) => {
                let each = list.proved / f64::from(list.fetches.max(1));
                (linked.max(1.0) + each).min(LIST_MAX)
            }
            None => linked,
        }
    }
}

/// A URL up to the last slash of its path.
fn directory_of(url: &str) -> &str {
    let path = url.split(['?', '#']).next().unwrap_or(url);
    path.rfind('/').map_or(path, |at| &path[..=at])
}

#[cfg(test)]
mod tests {
    use super::*;
    use turnstone_policy::keep::Surroundings as _;

    #[test]
    fn a_directory_has_the_number_of_its_first_page() {
        let surroundings = Surroundings::default();
        let urls = [
            "http://a/",
            "http://a/x.html",
            "http://a/d/x?q=/z/",
            "http://b/d/x",
            "http://a/d/",
            "http://b/d/y",
        ];
        for (page, url) in urls.iter().enumerate() {
            surroundings.found(PageId::from_index(page), url);
        }
        let groups: Vec<Option<u32>> = (0..7)
            .map(|page| surroundings.group(PageId(page)))
            .collect();
        let expected = [Some(0), Some(0), Some(2), Some(3), Some(2), Some(3), None];
        assert_eq!(groups, expected);
    }

    #[test]
    fn a_list_counts_for_what_it_proved_to_know() {
        let surroundings = Surroundings {
            importance: vec![0.1, 3.0, 1.0, 1.0],
            ..Surroundings::default()
        };
        let (list, changed, same) = (PageId(0), PageId(1), PageId(2));
        let fetched = |page, change| surroundings.settled(page, Settled::Fetched(change));
        let importance = |page| (surroundings.importance(page) * 100.0).round() / 100.0;
        fetched(list, Change::New);
        assert_eq!(importance(list), 0.1);
        for page in [changed, same] {
            surroundings.hinted(Hint {
                page,
                by: list,
                changed_s: 7,
            });
        }
        assert_eq!(importance(list), 1.0, "nothing is proved yet");
        fetched(changed, Change::Changed);
        fetched(same, Change::Unchanged);
        assert_eq!(importance(list), 4.0, "one fetch led to a page of weight 3");
        fetched(list, Change::Changed);
        assert_eq!(importance(list), 2.5, "a second one led to nothing");
        // A change that nobody told of.
        fetched(changed, Change::Changed);
        assert_eq!(importance(list), 2.5);
        assert_eq!(importance(PageId(9)), 1.0, "found later");
    }
}
