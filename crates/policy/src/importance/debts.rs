//! Who waits to pass something on, those who are owed most first, to a factor of two.
//!
//! A page lies in the list of those whose debt has as many binary digits; the lists are linked through the
//! pages, so that a page moves from one to another in O(1) wherever it lies and nothing stale remains. Within
//! a list who came first goes first.
//!
//! Cost: O(1) a call; 9 bytes a page. A heap would order exactly, for O(log pages) at every change of a debt,
//! and most debts change many times before they are paid.

use std::io;

use turnstone_frontier::{PageId, Restore, Save, corrupt};

/// So many lists: a debt has at most 63 binary digits.
const LISTS: usize = 64;

/// No page.
const NONE: u32 = u32::MAX;

/// Debts in lists by size.
#[derive(Debug)]
pub(crate) struct Debts {
    /// By page: who is behind it, and who is before it.
    next: Vec<u32>,
    last: Vec<u32>,
    /// By page: its list; 0 for one that does not wait.
    list: Vec<u8>,
    /// By list: its first and its last page.
    ends: [(u32, u32); LISTS],
    /// Which lists hold pages.
    used: u64,
    count: usize,
}

impl Default for Debts {
    fn default() -> Self {
        Self {
            next: Vec::new(),
            last: Vec::new(),
            list: Vec::new(),
            ends: [(NONE, NONE); LISTS],
            used: 0,
            count: 0,
        }
    }
}

impl Debts {
    /// One more page, which does not wait.
    pub(crate) fn know(&mut self) {
        self.next.push(NONE);
        self.last.push(NONE);
        self.list.push(0);
    }

    /// How many pages there are.
    pub(crate) fn known(&self) -> usize {
        self.list.len()
    }

    /// How many wait.
    pub(crate) fn len(&self) -> usize {
        self.count
    }

    pub(crate) fn allocated_bytes(&self) -> usize {
        (self.next.capacity() + self.last.capacity()) * size_of::<u32>() + self.list.capacity()
    }

    /// A page is owed so much now; it does not wait for nothing. Keeps its turn if its list is the same.
    #[inline]
    pub(crate) fn put(&mut self, page: PageId, debt: u64) {
        let list = (u64::BITS - debt.leading_zeros()).min(LISTS as u32 - 1) as u8;
        if self.list[page.index()] != list {
            self.unlink(page);
            self.link(page, list);
        }
    }

    /// The page does not wait any more.
    pub(crate) fn forget(&mut self, page: PageId) {
        self.unlink(page);
    }

    /// The page that is owed most waits no more.
    pub(crate) fn take_largest(&mut self) -> Option<PageId> {
        if self.used == 0 {
            return None;
        }
        let list = (u64::BITS - 1 - self.used.leading_zeros()) as usize;
        let page = PageId(self.ends[list].0);
        self.unlink(page);
        Some(page)
    }

    /// Asserts that lists and pages agree: O(pages).
    pub(crate) fn audit(&self) {
        let mut count = 0;
        for (list, (first, end)) in self.ends.iter().enumerate() {
            let (mut before, mut at) = (NONE, *first);
            while at != NONE {
                assert_eq!(
                    usize::from(self.list[at as usize]),
                    list,
                    "a page is where it says"
                );
                assert_eq!(self.last[at as usize], before, "links go both ways");
                (before, at) = (at, self.next[at as usize]);
                count += 1;
            }
            assert_eq!(before, *end, "a list ends with its last page");
            assert_eq!(
                self.used & (1 << list) != 0,
                *first != NONE,
                "used lists are known"
            );
        }
        let waiting = self.list.iter().filter(|list| **list != 0).count();
        assert_eq!(
            (count, waiting),
            (self.count, self.count),
            "nobody waits twice"
        );
    }

    fn link(&mut self, page: PageId, list: u8) {
        if list == 0 {
            return;
        }
        let at = page.index();
        let (first, end) = self.ends[usize::from(list)];
        (self.next[at], self.last[at], self.list[at]) = (NONE, end, list);
        if end == NONE {
            self.ends[usize::from(list)] = (page.0, page.0);
            self.used |= 1 << list;
        } else {
            self.next[end as usize] = page.0;
            self.ends[usize::from(list)] = (first, page.0);
        }
        self.count += 1;
    }

    fn unlink(&mut self, page: PageId) {
        let at = page.index();
        let list = usize::from(std::mem::take(&mut self.list[at]));
        if list == 0 {
            return;
        }
        let (before, behind) = (self.last[at], self.next[at]);
        match before {
            NONE => self.ends[list].0 = behind,
            before => self.next[before as usize] = behind,
        }
        match behind {
            NONE => self.ends[list].1 = before,
            behind => self.last[behind as usize] = before,
        }
        if self.ends[list].0 == NONE {
            self.used &= !(1 << list);
        }
        self.count -= 1;
    }
}

/// As how many pages there are, and who waits where, list by list in their order.
impl Save for Debts {
    fn save(&self, out: &mut dyn io::Write) -> io::Result<()> {
        (self.list.len() as u64).save(out)?;
        let mut waiting: Vec<(PageId, u8)> = Vec::with_capacity(self.count);
        for (list, (first, _)) in (0u8..).zip(&self.ends) {
            let mut at = *first;
            while at != NONE {
                waiting.push((PageId(at), list));
                at = self.next[at as usize];
            }
        }
        waiting.save(out)
    }
}

impl Restore for Debts {
    fn restore(from: &mut dyn io::Read) -> io::Result<Self> {
        let known = u64::restore(from)?;
        let waiting: Vec<(PageId, u8)> = Restore::restore(from)?;
        let mut debts = Self::default();
        if known > u64::from(u32::MAX) {
            return Err(corrupt("more pages than there can be"));
        }
        for _ in 0..known {
            debts.know();
        }
        for (page, list) in waiting {
            let fits = (1..LISTS).contains(&usize::from(list));
            if !fits || debts.list.get(page.index()) != Some(&0) {
                return Err(corrupt("a page that waits without a reason"));
            }
            debts.link(page, list);
        }
        Ok(debts)
    }
}
