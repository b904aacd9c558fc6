//! How important pages are by the links that are stored already, kept up as links come and go.
//!
//! OPIC spends a visit to move cash once, because in 2003 links did not fit; a crawl that keeps them
//! can move importance along them whenever it likes, without a request. What is kept is PageRank with
//! a uniform jump, unscaled: every known page is *endowed* with [`ENDOWED`], and passes on 17/20 of
//! what it has in equal parts through the links of its last copy. Pages without links pass nothing on:
//! with a uniform jump, sending their part to everybody would scale all pages alike and change no
//! proportion. So no page count enters, and a page found later changes nothing but what it links to.
//!
//! Each page has what it *passed on* the base of (`settled`) and what came since (`owed`). What has
//! gone through each link of a page is a function of `settled` and its number of links alone, in whole
//! units, so that exactly
//!
//! > settled + owed = endowed + Σ what has gone through each link to it
//!
//! holds after every call, also when a page's links change: what went through the old ones is taken
//! back, and the same base goes through the new ones. Passing on is put off until enough is owed, and
//! is done a bounded piece at a time, in the order in which pages came to owe (a queue needs few rounds
//! for what a heap would do in the best order).
//!
//! Cost: O(links) when a page's links come or change, and whatever [`Standing::work`] is given. 17 bytes
//! a page, 4 more for a page in the queue.

use std::collections::VecDeque;
use std::io;

use turnstone_frontier::{Links, PageId, Restore, Save, corrupt};

/// What every page begins with. A billion pages that pass on 17/20 add up to less than 2⁶³.
pub const ENDOWED: i64 = 1 << 30;

/// The share that is passed on.
const PASSED: (i64, i64) = (17, 20);

/// The links of its last copy carry what it passes on.
const FLOWS: u8 = 1;
/// It waits to pass on what it is owed.
const QUEUED: u8 = 2;

/// The importance of every known page.
#[derive(Debug, Default)]
pub struct Standing {
    settled: Vec<i64>,
    owed: Vec<i64>,
    marks: Vec<u8>,
    queue: VecDeque<PageId>,
    /// What all pages have together.
    total: i64,
    /// What a page is owed before it passes it on.
    patience: i64,
    room: Vec<PageId>,
}

impl Standing {
    /// Of no page yet. A page passes on what it is owed as soon as that is one part in so many of
    /// what it was endowed with.
    pub fn new(exactness: u32) -> Self {
        Self {
            patience: (ENDOWED / i64::from(exactness.max(1))).max(1),
            ..Self::default()
        }
    }

    /// A page is known from now on; pages come in order.
    pub fn know(&mut self) {
        self.settled.push(0);
        self.owed.push(ENDOWED);
        self.marks.push(0);
        self.total += ENDOWED;
    }

    /// What a page counts for, 1 being the average.
    pub fn of(&self, page: PageId) -> f64 {
        let has = self.settled[page.index()] + self.owed[page.index()];
        has.max(0) as f64 * self.settled.len() as f64 / self.total.max(1) as f64
    }

    /// A page was fetched and has these links, by `known` those of its last copy.
    pub fn fetched(&mut self, page: PageId, links: &[PageId], known: &dyn Links) {
        let at = page.index();
        if self.marks[at] & FLOWS != 0 {
            let mut room = std::mem::take(&mut self.room);
            let old = known.old_links_of(page, &mut room);
            if old == links {
                self.room = room;
                return;
            }
            let passed = through(self.settled[at], old.len());
            for link in old {
                self.owe(*link, -passed);
            }
            self.room = room;
        }
        self.marks[at] |= FLOWS;
        self.settled[at] += std::mem::take(&mut self.owed[at]);
        let passed = through(self.settled[at], links.len());
        for link in links {
            self.owe(*link, passed);
        }
    }

    /// Passes on what is owed, until about so many links were followed or nothing is left to pass on.
    pub fn work(&mut self, links_max: usize, known: &dyn Links) {
        let mut left = links_max;
        let mut room = std::mem::take(&mut self.room);
        while left > 0
            && let Some(page) = self.queue.pop_front()
        {
            let at = page.index();
            self.marks[at] &= !QUEUED;
            let links = known.links_of(page, &mut room);
            left = left.saturating_sub(links.len().max(1));
            let before = through(self.settled[at], links.len());
            self.settled[at] += std::mem::take(&mut self.owed[at]);
            let more = through(self.settled[at], links.len()) - before;
            for link in links {
                self.owe(*link, more);
            }
        }
        self.room = room;
    }

    /// How many pages are known.
    pub fn known(&self) -> usize {
        self.settled.len()
    }

    /// How many pages wait to pass on what they are owed.
    pub fn waiting(&self) -> usize {
        self.queue.len()
    }

    fn owe(&mut self, page: PageId, units: i64) {
        let at = page.index();
        self.owed[at] += units;
        self.total += units;
        let waits = self.marks[at] == FLOWS && self.owed[at].abs() >= self.patience;
        if waits {
            self.marks[at] |= QUEUED;
            self.queue.push_back(page);
        }
    }
}

/// What has gone through each of so many links of a page with this base.
fn through(settled: i64, links: usize) -> i64 {
    let (part, whole) = PASSED;
    let divisor = whole.saturating_mul((links as i64).max(1));
    settled.div_euclid(divisor) * part + settled.rem_euclid(divisor) * part / divisor
}

impl Save for Standing {
    fn save(&self, out: &mut dyn io::Write) -> io::Result<()> {
        self.settled.save(out)?;
        self.owed.save(out)?;
        self.marks.save(out)?;
        self.queue.save(out)?;
        self.patience.save(out)
    }
}

impl Restore for Standing {
    fn restore(from: &mut dyn io::Read) -> io::Result<Self> {
        let settled: Vec<i64> = Restore::restore(from)?;
        let owed: Vec<i64> = Restore::restore(from)?;
        let marks: Vec<u8> = Restore::restore(from)?;
        let queue: VecDeque<PageId> = Restore::restore(from)?;
        let known = settled.len();
        let all = settled.iter().chain(&owed);
        let total = all
            .copied()
            .try_fold(0i64, i64::checked_add)
            .filter(|_| known == owed.len() && known == marks.len());
        let total = total.ok_or_else(|| corrupt("importance that does not add up"))?;
        let is_queued =
            |page: &PageId| (marks.get(page.index())).is_some_and(|mark| mark & QUEUED != 0);
        if !queue.iter().all(is_queued) {
            return Err(corrupt("a page that waits without a reason"));
        }
        Ok(Self {
            settled,
            owed,
            marks,
            queue,
            total,
            patience: Restore::restore(from)?,
            room: Vec::new(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Pages with the links of their last two copies.
    #[derive(Default)]
    struct Copies {
        now: Vec<Vec<PageId>>,
        before: Vec<Vec<PageId>>,
    }

    impl Links for Copies {
        fn links_of<'a>(&'a self, page: PageId, _: &'a mut Vec<PageId>) -> &'a [PageId] {
            &self.now[page.index()]
        }

        fn old_links_of<'a>(&'a self, page: PageId, _: &'a mut Vec<PageId>) -> &'a [PageId] {
            &self.before[page.index()]
        }
    }

    /// What the head says holds, unit by unit.
    fn adds_up(standing: &Standing, copies: &Copies) {
        let mut expected = vec![ENDOWED; standing.settled.len()];
        for (page, links) in copies.now.iter().enumerate() {
            for link in links {
                expected[link.index()] += through(standing.settled[page], links.len());
            }
        }
        for (page, expected) in expected.iter().enumerate() {
            assert_eq!(standing.settled[page] + standing.owed[page], *expected);
        }
        assert_eq!(standing.total, expected.iter().sum::<i64>());
    }

    /// PageRank by the book, over and over until nothing moves.
    fn by_the_book(links: &[Vec<PageId>]) -> Vec<f64> {
        let mut rank = vec![1.0; links.len()];
        for _ in 0..400 {
            let mut next = vec![1.0; links.len()];
            for (page, links) in links.iter().enumerate() {
                for link in links {
                    next[link.index()] += 0.85 * rank[page] / links.len() as f64;
                }
            }
            rank = next;
        }
        let mean = rank.iter().sum::<f64>() / rank.len() as f64;
        rank.iter().map(|rank| rank / mean).collect()
    }

    fn fetches() -> impl Strategy<Value = (usize, Vec<(u32, Vec<u32>)>)> {
        (2usize..30).prop_flat_map(|pages| {
            let page = 0..pages as u32;
            let links = prop::collection::btree_set(page.clone(), 0..6);
            let links = links.prop_map(|links| links.into_iter().collect());
            (Just(pages), prop::collection::vec((page, links), 1..80))
        })
    }

    proptest! {
        #[test]
        fn nothing_is_lost_and_the_limit_is_pagerank(
            (pages, fetches) in fetches(), work in 0usize..20, kill in 0usize..80,
        ) {
            let mut standing = Standing::new(4096);
            let mut copies = Copies::default();
            for _ in 0..pages {
                standing.know();
                copies.now.push(Vec::new());
                copies.before.push(Vec::new());
            }
            for (turn, (page, links)) in fetches.into_iter().enumerate() {
                let links: Vec<PageId> = links.into_iter().map(PageId).collect();
                let at = page as usize;
                copies.before[at] = std::mem::replace(&mut copies.now[at], links.clone());
                standing.fetched(PageId(page), &links, &copies);
                standing.work(work, &copies);
                adds_up(&standing, &copies);
                if turn == kill {
                    let mut saved = Vec::new();
                    standing.save(&mut saved).unwrap();
                    standing = Standing::restore(&mut saved.as_slice()).unwrap();
                }
            }
            standing.work(usize::MAX, &copies);
            adds_up(&standing, &copies);
            prop_assert_eq!(standing.waiting(), 0);
            for (page, expected) in by_the_book(&copies.now).into_iter().enumerate() {
                let got = standing.of(PageId::from_index(page));
                prop_assert!((got - expected).abs() < 0.02, "page {}: {} and {}", page, got, expected);
            }
        }
    }
}
