//! A 4-ary max-heap over slices, with the key inline and each owner's place written beside.
//!
//! Four children share a cache line or two, and a comparison never leaves the heap. The order is
//! total (higher rank, then smaller id), so what comes out first never depends on what went in
//! first. These are free functions: one array of places serves many heaps, because an owner (a
//! page, or a host) is in at most one of them.
//!
//! Cost: O(log entries) a move; 12 bytes a page entry, 4 bytes a place. Invariant: after every
//! call, `places[entry.owner()] == tag | index` for each entry.

use crate::id::{HostId, PageId};

/// Something that stands in a heap on behalf of an owner.
pub(crate) trait Keyed: Copy {
    /// The order of the heap; never true both ways, and true one way for different owners.
    fn beats(self, other: Self) -> bool;
    /// Whose place is to be kept.
    fn owner(self) -> usize;
}

/// A page and its rank, 12 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C, packed(4))]
pub(crate) struct Entry {
    pub(crate) rank: u64,
    pub(crate) page: PageId,
}

impl Keyed for Entry {
    /// The total order of the house: higher rank first, then the smaller id.
    #[inline]
    fn beats(self, other: Self) -> bool {
        let (mine, theirs) = (self.rank, other.rank);
        mine > theirs || (mine == theirs && self.page.0 < other.page.0)
    }

    #[inline]
    fn owner(self) -> usize {
        self.page.index()
    }
}

/// A host and the best of its pages.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HostTop {
    pub(crate) best: Entry,
    pub(crate) host: HostId,
}

impl Keyed for HostTop {
    #[inline]
    fn beats(self, other: Self) -> bool {
        self.best.beats(other.best)
    }

    #[inline]
    fn owner(self) -> usize {
        self.host.index()
    }
}

/// The bits of a place that hold an index; the two above them are the tag.
pub(crate) const INDEX_BITS: u32 = 30;

/// Children per node.
const ARITY: usize = 4;

/// Writes one entry where it now stands.
#[inline]
pub(crate) fn settle<E: Keyed>(heap: &mut [E], places: &mut [u32], tag: u32, at: usize, entry: E) {
    heap[at] = entry;
    places[entry.owner()] = tag | at as u32;
}

/// Moves the entry at `at` up to where it belongs. Returns where that is.
#[inline]
pub(crate) fn sift_up<E: Keyed>(
    heap: &mut [E],
    places: &mut [u32],
    tag: u32,
    mut at: usize,
) -> usize {
    let entry = heap[at];
    while at > 0 {
        let parent = (at - 1) / ARITY;
        if !entry.beats(heap[parent]) {
            break;
        }
        let demoted = heap[parent];
        settle(heap, places, tag, at, demoted);
        at = parent;
    }
    settle(heap, places, tag, at, entry);
    at
}

/// Moves the entry at `at` down to where it belongs. Returns where that is.
pub(crate) fn sift_down<E: Keyed>(
    heap: &mut [E],
    places: &mut [u32],
    tag: u32,
    mut at: usize,
) -> usize {
    let entry = heap[at];
    loop {
        let first = at * ARITY + 1;
        let end = heap.len().min(first + ARITY);
        if first >= end {
            break;
        }
        let mut best = first;
        for child in first + 1..end {
            if heap[child].beats(heap[best]) {
                best = child;
            }
        }
        if !heap[best].beats(entry) {
            break;
        }
        let promoted = heap[best];
        settle(heap, places, tag, at, promoted);
        at = best;
    }
    settle(heap, places, tag, at, entry);
    at
}

/// Moves an entry whose key may have gone either way. Returns where it now stands.
pub(crate) fn sift<E: Keyed>(heap: &mut [E], places: &mut [u32], tag: u32, at: usize) -> usize {
    match sift_up(heap, places, tag, at) {
        unmoved if unmoved == at => sift_down(heap, places, tag, at),
        above => above,
    }
}

/// Makes a heap of entries in any order, whose places are written: O(entries).
pub(crate) fn order<E: Keyed>(heap: &mut [E], places: &mut [u32], tag: u32) {
    for at in (0..heap.len().div_ceil(ARITY)).rev() {
        sift_down(heap, places, tag, at);
    }
}

/// Puts an entry behind all others, its place not written. Returns where that is.
pub(crate) fn append<E>(entries: &mut Vec<E>, entry: E) -> usize {
    assert!(
        entries.len() < 1 << INDEX_BITS,
        "a heap holds at most 2^30 entries"
    );
    if entries.len() == entries.capacity() {
        // A thirty-second, not double: a heap of 10^8 pages must not ask for a second gigabyte.
        entries.reserve_exact((entries.len() / 32).max(4));
    }
    entries.push(entry);
    entries.len() - 1
}

/// Adds an entry. Returns where it stands.
pub(crate) fn push<E: Keyed>(heap: &mut Vec<E>, places: &mut [u32], tag: u32, entry: E) -> usize {
    let last = append(heap, entry);
    sift_up(heap, places, tag, last)
}

/// Takes out the entry at `at`; its owner's place is for the caller to write.
pub(crate) fn remove<E: Keyed>(heap: &mut Vec<E>, places: &mut [u32], tag: u32, at: usize) -> E {
    let removed = heap.swap_remove(at);
    if at < heap.len() {
        sift(heap, places, tag, at);
    }
    removed
}
