//! A queue of pages in which only the best are ordered.
//!
//! Of millions of ranked pages few are next, and most raises fall on pages far from the top. So
//! the *front* of the array, about one entry in sixty-four, is a heap, and the *rest* behind it lies
//! in no order below a *floor*: an entry that no page of the front is worse than and no page of
//! the rest as good as. A raise that stays below the floor writes one number; one that reaches it
//! joins the front. When the front is used up, or twice as large as wanted, a new floor is drawn
//! and the best are gathered anew. Where the floor lies decides what an operation costs, never
//! which page is best.
//!
//! Cost: O(1) a raise below the floor, else O(log front). Gathering reads every entry once in as
//! many operations as the front has room for: O(1) each, O(entries) for the one that pays. Up to
//! [`FRONT_MIN`] entries are a plain heap. 12 bytes an entry, 40 a lane.

use super::{Rank, add};
use crate::heap::{self, Entry, Keyed as _};
use crate::id::PageId;

/// The share of a lane that is ordered: one entry in so many. A quarter of it, 16, made greedy OPIC
/// on 5 million pages 15 % slower: the front no longer fits a core's own cache.
const FRONT_SHARE: usize = 64;

/// The fewest entries worth dividing.
const FRONT_MIN: usize = 64;

/// How many entries are looked at to draw a floor.
const SAMPLE: usize = 512;

/// Worse than every entry.
const BOTTOM: Entry = Entry {
    rank: 0,
    page: PageId(u32::MAX),
};

/// Pages with their ranks, the best first. Every change is told where places are written, and
/// with which tag.
#[derive(Debug)]
pub(super) struct Lane {
    /// The front, a heap, then the rest.
    entries: Vec<Entry>,
    /// How many entries are in the front; 0 only if there are none at all.
    front: u32,
    floor: Entry,
}

impl Default for Lane {
    fn default() -> Self {
        Self {
            entries: Vec::new(),
            front: 0,
            floor: BOTTOM,
        }
    }
}

impl Lane {
    #[inline]
    pub(super) fn best(&self) -> Option<Entry> {
        self.entries.first().copied()
    }

    #[inline]
    pub(super) fn rank_at(&self, at: usize) -> Rank {
        self.entries[at].rank
    }

    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Every entry, in no order.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Entry> {
        self.entries.iter()
    }

    /// The bytes the entries take, as allocated.
    pub(super) fn allocated_bytes(&self) -> usize {
        self.entries.capacity() * size_of::<Entry>()
    }

    /// Adds to the rank of the entry at `at`. Returns whether it is the best now.
    #[inline]
    pub(super) fn raise(&mut self, at: usize, by: Rank, places: &mut [u32], tag: u32) -> bool {
        let entry = &mut self.entries[at];
        entry.rank = add(entry.rank, by);
        if at < self.front() {
            return heap::sift_up(self.ordered(), places, tag, at) == 0;
        }
        !self.floor.beats(self.entries[at]) && self.join_front(at, places, tag)
    }

    /// Gives the entry at `at` a rank. Returns whether the best entry is another now.
    pub(super) fn set(&mut self, at: usize, rank: Rank, places: &mut [u32], tag: u32) -> bool {
        let best = self.best();
        let entry = Entry {
            rank,
            ..self.entries[at]
        };
        let (is_ordered, is_good) = (at < self.front(), !self.floor.beats(entry));
        if is_ordered != is_good {
            self.remove(at, places, tag);
            self.push(entry, places, tag);
        } else {
            self.entries[at] = entry;
            if is_ordered {
                heap::sift(self.ordered(), places, tag, at);
            }
        }
        self.best() != best
    }

    /// Adds an entry. Returns whether it is the best.
    #[inline]
    pub(super) fn push(&mut self, entry: Entry, places: &mut [u32], tag: u32) -> bool {
        let at = heap::append(&mut self.entries, entry);
        if self.floor.beats(entry) {
            heap::settle(&mut self.entries, places, tag, at, entry);
            return false;
        }
        self.join_front(at, places, tag)
    }

    /// Takes out the entry at `at`; its page's place is for the caller to write.
    pub(super) fn remove(&mut self, at: usize, places: &mut [u32], tag: u32) -> Entry {
        let removed = self.entries[at];
        let mut hole = at;
        if at < self.front() {
            // The last of the front fills the hole, the last of the rest the one it leaves.
            self.front -= 1;
            hole = self.front();
            if at < hole {
                self.entries[at] = self.entries[hole];
                heap::sift(self.ordered(), places, tag, at);
            }
        }
        self.entries.swap_remove(hole);
        if let Some(&moved) = self.entries.get(hole) {
            heap::settle(&mut self.entries, places, tag, hole, moved);
        }
        if self.front == 0 {
            self.gather(self.entries.len(), places, tag);
        }
        removed
    }

    #[inline]
    fn front(&self) -> usize {
        self.front as usize
    }

    #[inline]
    fn ordered(&mut self) -> &mut [Entry] {
        let front = self.front();
        &mut self.entries[..front]
    }

    /// How many entries the front should hold.
    fn wanted(&self) -> usize {
        (self.entries.len() / FRONT_SHARE).max(FRONT_MIN)
    }

    /// Moves an entry of the rest into the front. Returns whether it is the best.
    fn join_front(&mut self, at: usize, places: &mut [u32], tag: u32) -> bool {
        let (front, joining) = (self.front(), self.entries[at]);
        let yielding = self.entries[front];
        heap::settle(&mut self.entries, places, tag, at, yielding);
        self.entries[front] = joining;
        self.front += 1;
        let is_best = heap::sift_up(self.ordered(), places, tag, front) == 0;
        if self.front() > 2 * self.wanted() {
            self.gather(self.front(), places, tag);
        }
        is_best
    }

    /// Draws a new floor and orders what reaches it, of the first `among` entries; the entries
    /// after them are known to be worse.
    fn gather(&mut self, among: usize, places: &mut [u32], tag: u32) {
        let wanted = self.wanted();
        let mut front = among;
        self.floor = BOTTOM;
        if among > wanted {
            self.floor = floor(&self.entries[..among], wanted);
            front = 0;
            for at in 0..among {
                let entry = self.entries[at];
                if !self.floor.beats(entry) {
                    let yielding = self.entries[front];
                    heap::settle(&mut self.entries, places, tag, at, yielding);
                    heap::settle(&mut self.entries, places, tag, front, entry);
                    front += 1;
                }
            }
        }
        self.front = front as u32;
        heap::order(self.ordered(), places, tag);
    }
}

/// An entry that about so many of these are not worse than, and at least one: the entry itself.
fn floor(entries: &[Entry], wanted: usize) -> Entry {
    let step = entries.len().div_ceil(SAMPLE);
    let mut sample: Vec<Entry> = entries.iter().copied().step_by(step).collect();
    let at = sample.len() * wanted / entries.len();
    let by_worth = |a: &Entry, b: &Entry| b.beats(*a).cmp(&a.beats(*b));
    *sample.select_nth_unstable_by(at, by_worth).1
}

#[cfg(test)]
mod tests {
    use std::cmp::Reverse;
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    const TAG: u32 = 1 << heap::INDEX_BITS;

    /// What may happen to a page: it is put in if it is not there.
    #[derive(Clone, Copy, Debug)]
    enum Step {
        Raise(Rank),
        Set(Rank),
        Remove,
        RemoveBest,
    }

    /// A lane beside the slow truth.
    #[derive(Default)]
    struct Pair {
        lane: Lane,
        places: Vec<u32>,
        truth: BTreeMap<u32, Rank>,
    }

    impl Pair {
        fn at(&self, page: u32) -> usize {
            (self.places[page as usize] & !TAG) as usize
        }

        fn put(&mut self, page: u32, rank: Rank) -> bool {
            let missing = (page as usize + 1).saturating_sub(self.places.len());
            self.places.extend(std::iter::repeat_n(0, missing));
            let entry = Entry {
                rank,
                page: PageId(page),
            };
            self.truth.insert(page, rank);
            self.lane.push(entry, &mut self.places, TAG)
        }

        fn remove(&mut self, page: u32) {
            let at = self.at(page);
            let removed = self.lane.remove(at, &mut self.places, TAG);
            assert_eq!({ removed.rank }, self.truth.remove(&page).unwrap());
        }

        fn step(&mut self, page: u32, step: Step) {
            let before = self.lane.best();
            let is_told = match (step, self.truth.get(&page)) {
                (Step::RemoveBest, _) => {
                    if let Some(best) = before {
                        self.remove(best.page.0);
                    }
                    return;
                }
                (Step::Remove, Some(_)) => return self.remove(page),
                (Step::Remove, None) => return,
                (Step::Raise(rank) | Step::Set(rank), None) => self.put(page, rank),
                (Step::Raise(by), Some(rank)) => {
                    self.truth.insert(page, rank + by);
                    self.lane.raise(self.at(page), by, &mut self.places, TAG)
                }
                (Step::Set(rank), Some(_)) => {
                    self.truth.insert(page, rank);
                    self.lane.set(self.at(page), rank, &mut self.places, TAG)
                }
            };
            assert!(is_told || self.lane.best() == before, "a new best is told");
        }

        fn check(&self) {
            let best = self
                .lane
                .best()
                .map(|best| (best.rank, Reverse(best.page.0)));
            let all = self.truth.iter();
            let truth = all.map(|(page, rank)| (*rank, Reverse(*page))).max();
            assert_eq!(best, truth);
            assert_eq!(self.lane.len(), self.truth.len());
            for (at, entry) in self.lane.entries.iter().enumerate() {
                assert_eq!(self.places[entry.owner()], TAG | at as u32);
                assert_eq!({ entry.rank }, self.truth[&entry.page.0]);
                assert_eq!(at < self.lane.front(), !self.lane.floor.beats(*entry));
            }
            assert!(self.lane.front() <= 2 * self.lane.wanted());
        }
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            6 => (0u64..40).prop_map(Step::Raise),
            2 => (0u64..60).prop_map(Step::Set),
            1 => Just(Step::Remove),
            4 => Just(Step::RemoveBest),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn the_best_is_always_the_best(
            ranks in prop::collection::vec(0u64..50, 0..700),
            steps in prop::collection::vec((0u32..700, step()), 0..400),
        ) {
            let mut pair = Pair::default();
            for (page, rank) in ranks.iter().enumerate() {
                pair.put(page as u32, *rank);
            }
            pair.check();
            for (page, step) in steps {
                pair.step(page, step);
                pair.check();
            }
        }
    }

    #[test]
    fn few_of_many_are_ordered_and_all_come_out_in_order() {
        let mut pair = Pair::default();
        for page in 0..20_000u32 {
            pair.put(page, Rank::from(page.wrapping_mul(2_654_435_761) >> 20));
        }
        pair.check();
        assert!(pair.lane.front() < 1000, "{}", pair.lane.front());
        let mut order: Vec<(Reverse<Rank>, u32)> = Vec::new();
        while let Some(best) = pair.lane.best() {
            order.push((Reverse(best.rank), best.page.0));
            pair.remove(best.page.0);
        }
        assert!(order.is_sorted() && order.len() == 20_000);
    }
}
