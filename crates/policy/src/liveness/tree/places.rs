//! The places of an old crawl: the whole web, its hosts, their folders, and in each folder the
//! *leaf*, which holds the pages directly in it.
//!
//! Places are numbered as a walk from the top meets them, the largest first, so that the smaller
//! number is also the better guess where nothing is known: a test in a large place tells of many
//! pages. A folder that holds pages and no folders is itself the leaf.
//!
//! The pages of a leaf stand in three parts: those settled, those open (offered, asked for, or to be
//! asked again), and those nobody asked for yet. A place is *begun* when a page of it was opened;
//! the parts of a folder that are not begun stand at the end, the largest first.
//!
//! Cost: 12 bytes a page, 56 a place. Opening and settling a page are O(1), finding a place that is
//! begun out of turn O(parts of its folder).

use std::cmp::Reverse;
use std::io;

use turnstone_frontier::{PageId, Restore, Save, corrupt};

use crate::changes::DirectoryTree;

/// The place that holds all others.
pub(super) const WEB: usize = 0;

/// No place is above the web.
const NOWHERE: u32 = u32::MAX;

/// One place and what is known of it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Place {
    /// Tests that speak for it, and those found alive, in units of `belief::TEST`.
    pub(super) tests: u64,
    pub(super) alive: u64,
    /// The place it lies in.
    above: u32,
    /// Its pages or parts, in `order` or `parts`.
    first: u32,
    last: u32,
    /// The first page never opened, or the first part not begun.
    next: u32,
    /// Behind the last settled page; only of a leaf.
    settled: u32,
    /// Pages in it that have not been settled.
    pub(super) left: u32,
    /// How likely its pages are alive, as its parts were last told.
    pub(super) told: u32,
    /// The value under which it is on offer, if it is.
    pub(super) listed: Option<Value>,
    is_leaf: bool,
    pub(super) begun: bool,
}

/// A chance of life, in units of 2⁻³⁰, plus one so that none is smaller than any.
pub(super) type Value = std::num::NonZeroU32;

/// All places and the pages in them.
#[derive(Debug, Default)]
pub(super) struct Places {
    pub(super) all: Vec<Place>,
    /// The parts of folders, folder by folder.
    parts: Vec<u32>,
    /// The pages of leaves, leaf by leaf.
    order: Vec<u32>,
    /// By page: where it stands in `order`.
    spots: Vec<u32>,
    /// By page.
    leaves: Vec<u32>,
}

impl Places {
    /// The places of some folders.
    pub(super) fn new(folders: &DirectoryTree, pages: usize) -> Self {
        let sketch = Sketch::of(folders, pages);
        let mut places = Self {
            leaves: vec![0; pages],
            ..Self::default()
        };
        let mut numbers = vec![NOWHERE; sketch.sizes.len()];
        let mut stack = vec![WEB as u32];
        while let Some(drawn) = stack.pop() {
            numbers[drawn as usize] = places.all.len() as u32;
            let above = sketch.above[drawn as usize];
            places.all.push(Place {
                above: if above == NOWHERE {
                    NOWHERE
                } else {
                    numbers[above as usize]
                },
                left: sketch.sizes[drawn as usize],
                is_leaf: sketch.is_leaf[drawn as usize],
                ..Place::default()
            });
            stack.extend(sketch.parts(drawn).iter().rev());
        }
        for (drawn, &number) in numbers.iter().enumerate() {
            if number != NOWHERE {
                let place = &mut places.all[number as usize];
                place.first = places.parts.len() as u32;
                let parts = sketch.parts(drawn as u32).iter();
                places
                    .parts
                    .extend(parts.map(|part| numbers[*part as usize]));
                place.last = places.parts.len() as u32;
                place.next = place.first;
            }
        }
        let mut filled = 0;
        for place in places.all.iter_mut().filter(|place| place.is_leaf) {
            place.first = filled;
            place.last = filled + place.left;
            (place.next, place.settled) = (filled, filled);
            filled = place.last;
        }
        places.order = vec![0; pages];
        places.spots = vec![0; pages];
        let mut next: Vec<u32> = places.all.iter().map(|place| place.first).collect();
        for page in 0..pages {
            let leaf = numbers[sketch.leaf_of(folders, page)];
            let spot = &mut next[leaf as usize];
            places.leaves[page] = leaf;
            places.spots[page] = *spot;
            places.order[*spot as usize] = page as u32;
            *spot += 1;
        }
        places
    }

    /// The parts of a place, or none of a leaf.
    pub(super) fn parts(&self, place: usize) -> &[u32] {
        let Place {
            first,
            last,
            is_leaf,
            ..
        } = self.all[place];
        if is_leaf {
            return &[];
        }
        &self.parts[first as usize..last as usize]
    }

    /// The parts of a place that are begun.
    pub(super) fn begun_parts(&self, place: usize) -> &[u32] {
        let begun = self.all[place].next - self.all[place].first;
        self.parts(place).get(..begun as usize).unwrap_or(&[])
    }

    /// The place that a place lies in; none for the web.
    pub(super) fn above(&self, place: usize) -> Option<usize> {
        let above = self.all[place].above;
        (above != NOWHERE).then_some(above as usize)
    }

    /// The leaf of a page.
    pub(super) fn leaf(&self, page: PageId) -> usize {
        self.leaves[page.index()] as usize
    }

    /// Whether a place is a leaf.
    pub(super) fn is_leaf(&self, place: usize) -> bool {
        self.all[place].is_leaf
    }

    /// Whether a place has something to open itself: pages never opened, or parts not begun.
    pub(super) fn has_fresh(&self, place: usize) -> bool {
        self.all[place].next < self.all[place].last
    }

    /// The place whose turn it is when a place with something fresh is asked: itself if it is a leaf.
    pub(super) fn turn(&self, place: usize) -> u32 {
        if self.all[place].is_leaf {
            place as u32
        } else {
            self.parts[self.all[place].next as usize]
        }
    }

    /// Begins the largest part not begun yet. Returns it.
    pub(super) fn begin_next(&mut self, place: usize) -> usize {
        let part = self.turn(place) as usize;
        self.all[place].next += 1;
        self.all[part].begun = true;
        part
    }

    /// Begins a part out of turn.
    pub(super) fn begin(&mut self, part: usize) {
        let above = self.all[part].above as usize;
        let (next, last) = (self.all[above].next as usize, self.all[above].last as usize);
        let fresh = &mut self.parts[next..last];
        let at = fresh.iter().position(|other| *other as usize == part);
        let at = at.expect("what is not begun stands behind what is");
        // The others keep their order.
        fresh[..=at].rotate_right(1);
        self.begin_next(above);
    }

    /// Opens the next page of a leaf.
    pub(super) fn open_next(&mut self, leaf: usize) -> PageId {
        let place = &mut self.all[leaf];
        let page = self.order[place.next as usize];
        place.next += 1;
        PageId(page)
    }

    /// Whether a page was opened and is not settled.
    pub(super) fn is_open(&self, page: PageId) -> bool {
        let place = &self.all[self.leaf(page)];
        (place.settled..place.next).contains(&self.spots[page.index()])
    }

    /// Opens a page out of turn.
    pub(super) fn open(&mut self, page: PageId) {
        let leaf = self.leaf(page);
        self.swap(page, self.all[leaf].next);
        self.all[leaf].next += 1;
    }

    /// An open page is as if never opened: it is the leaf's next again.
    pub(super) fn close(&mut self, page: PageId) {
        let leaf = self.leaf(page);
        self.all[leaf].next -= 1;
        self.swap(page, self.all[leaf].next);
    }

    /// An open page is settled.
    pub(super) fn settle(&mut self, page: PageId) {
        let leaf = self.leaf(page);
        self.swap(page, self.all[leaf].settled);
        self.all[leaf].settled += 1;
    }

    fn swap(&mut self, page: PageId, with: u32) {
        let at = std::mem::replace(&mut self.spots[page.index()], with);
        let other = std::mem::replace(&mut self.order[with as usize], page.0);
        self.order[at as usize] = other;
        // If both are the same page, the first line stands.
        if other != page.0 {
            self.spots[other as usize] = at;
        }
    }

    /// How many bytes all this takes.
    pub(super) fn allocated_bytes(&self) -> usize {
        self.all.capacity() * size_of::<Place>()
            + (self.parts.capacity()
                + self.order.capacity()
                + self.spots.capacity()
                + self.leaves.capacity())
                * size_of::<u32>()
    }
}

/// Places before they are numbered: the web, then every folder, then the leaves of folders that
/// hold both pages and folders.
struct Sketch {
    above: Vec<u32>,
    sizes: Vec<u32>,
    is_leaf: Vec<bool>,
    /// By folder: its leaf, where that is not the folder itself.
    leaf: Vec<u32>,
    starts: Vec<u32>,
    parts: Vec<u32>,
}

impl Sketch {
    fn of(folders: &DirectoryTree, pages: usize) -> Self {
        let count = folders.directory_count();
        let mut own = vec![0u32; count];
        for page in 0..pages {
            own[folders.directory(PageId::from_index(page)) as usize] += 1;
        }
        let above =
            (0..count as u32).map(|folder| folders.above(folder).map_or(WEB as u32, |up| up + 1));
        let mut above: Vec<u32> = std::iter::once(NOWHERE).chain(above).collect();
        let mut sizes: Vec<u32> = std::iter::once(0).chain(own.iter().copied()).collect();
        // A folder comes after the one above it.
        for folder in (1..=count).rev() {
            sizes[above[folder] as usize] += sizes[folder];
        }
        let mut has_folders = vec![false; count + 1];
        for folder in (1..=count).filter(|folder| sizes[*folder] > 0) {
            has_folders[above[folder] as usize] = true;
        }
        let mut is_leaf: Vec<bool> = has_folders.iter().map(|has| !has).collect();
        let mut leaf = vec![NOWHERE; count];
        for folder in (0..count).filter(|folder| own[*folder] > 0) {
            if has_folders[folder + 1] {
                leaf[folder] = above.len() as u32;
                above.push(folder as u32 + 1);
                sizes.push(own[folder]);
                is_leaf.push(true);
            }
        }
        let (starts, parts) = group(&above, &sizes);
        Self {
            above,
            sizes,
            is_leaf,
            leaf,
            starts,
            parts,
        }
    }

    fn parts(&self, place: u32) -> &[u32] {
        let place = place as usize;
        &self.parts[self.starts[place] as usize..self.starts[place + 1] as usize]
    }

    fn leaf_of(&self, folders: &DirectoryTree, page: usize) -> usize {
        let folder = folders.directory(PageId::from_index(page));
        match self.leaf[folder as usize] {
            NOWHERE => folder as usize + 1,
            leaf => leaf as usize,
        }
    }
}

/// By place: its parts that hold pages, the largest first, ties by number.
fn group(above: &[u32], sizes: &[u32]) -> (Vec<u32>, Vec<u32>) {
    let held = |place: &usize| above[*place] != NOWHERE && sizes[*place] > 0;
    let mut starts = vec![0u32; above.len() + 1];
    for place in (0..above.len()).filter(held) {
        starts[above[place] as usize + 1] += 1;
    }
    for place in 0..above.len() {
        starts[place + 1] += starts[place];
    }
    let mut next = starts.clone();
    let mut parts = vec![0; starts[above.len()] as usize];
    for place in (0..above.len()).filter(held) {
        let at = &mut next[above[place] as usize];
        parts[*at as usize] = place as u32;
        *at += 1;
    }
    for place in 0..above.len() {
        let row = &mut parts[starts[place] as usize..starts[place + 1] as usize];
        row.sort_by_key(|part| (Reverse(sizes[*part as usize]), *part));
    }
    (starts, parts)
}

impl Save for Places {
    /// What moves; the rest follows from the old crawl.
    fn save(&self, out: &mut dyn io::Write) -> io::Result<()> {
        self.parts.save(out)?;
        self.order.save(out)?;
        for place in &self.all {
            (place.tests, place.alive).save(out)?;
            (place.next, place.settled).save(out)?;
            (place.left, place.told).save(out)?;
            place.listed.map_or(0, Value::get).save(out)?;
            place.begun.save(out)?;
        }
        Ok(())
    }
}

impl Places {
    /// Takes back what was saved of the same old crawl.
    pub(super) fn restore(&mut self, from: &mut dyn io::Read) -> io::Result<()> {
        let wrong = || corrupt("places of another old crawl");
        let parts: Vec<u32> = Restore::restore(from)?;
        let order: Vec<u32> = Restore::restore(from)?;
        if parts.len() != self.parts.len() || order.len() != self.order.len() {
            return Err(wrong());
        }
        if parts.iter().any(|part| *part as usize >= self.all.len()) {
            return Err(wrong());
        }
        (self.parts, self.order) = (parts, order);
        for (spot, &page) in self.order.iter().enumerate() {
            *self.spots.get_mut(page as usize).ok_or_else(wrong)? = spot as u32;
        }
        for place in &mut self.all {
            (place.tests, place.alive) = Restore::restore(from)?;
            (place.next, place.settled) = Restore::restore(from)?;
            (place.left, place.told) = Restore::restore(from)?;
            place.listed = Value::new(Restore::restore(from)?);
            place.begun = Restore::restore(from)?;
            if !(place.first..=place.last).contains(&place.next) || place.alive > place.tests {
                return Err(wrong());
            }
        }
        Ok(())
    }
}
