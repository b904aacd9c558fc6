//! Greedy sampling by site: sample every site, then fetch whole sites, most changed samples first
//! (Cho and Ntoulas, Effective Change Detection Using Sampling, 2002).
//!
//! A cycle first fetches s = max(1, √(N·r)) random pages of every site, N being the pages of an
//! average site and r the share of the store the budget pays for; then all pages of the site with
//! the most changed samples, then of the next, ties by site, until the budget is spent. Samples
//! count as spent.
//!
//! Cost: O(pages) a cycle and O(log pages) a fetch; 9 bytes a page.

use std::io;
use std::sync::Arc;

use turnstone_frontier::{
    Event, Links, PageId, Policy, Random, Ranking, Restore, Save, Tick, corrupt,
};

use super::book::{Book, Stage};
use super::copies::Copies;

/// Samples of every site, then whole sites.
#[derive(Debug)]
pub struct GreedySites {
    sites: Arc<[u32]>,
    random: Random,
    book: Book,
    copies: Copies,
    /// Samples of this cycle not yet answered.
    pending: u64,
    /// By site: its samples of this cycle that had changed.
    changed: Vec<u32>,
    /// By site: its pages.
    pages: Vec<Vec<PageId>>,
}

impl GreedySites {
    /// Pages by site, and a seed.
    pub fn new(sites: Arc<[u32]>, seed: u64) -> Self {
        Self {
            sites,
            random: Random::new(seed),
            book: Book::default(),
            copies: Copies::default(),
            pending: 0,
            changed: Vec::new(),
            pages: Vec::new(),
        }
    }

    fn know(&mut self, page: PageId, now: Tick) {
        self.book.know(page);
        self.copies.know(now);
        let site = self.sites[page.index()] as usize;
        if self.pages.len() <= site {
            self.pages.resize(site + 1, Vec::new());
        }
        self.pages[site].push(page);
    }

    fn begin(&mut self, budget: u64, ranking: &mut Ranking) {
        self.book.begin(budget, ranking);
        self.pending = 0;
        self.changed = vec![0; self.pages.len()];
        let sites = self.pages.iter().filter(|pages| !pages.is_empty()).count();
        let share = budget as f64 / sites.max(1) as f64;
        // N·r = (pages / sites)·(budget / pages).
        let samples = share.sqrt().round().max(1.0) as usize;
        for pages in &mut self.pages {
            for at in 0..samples.min(pages.len()) {
                let other = at as u64 + self.random.below((pages.len() - at) as u64);
                pages.swap(at, other as usize);
                if self.book.left() > 0 && self.book.stage(pages[at]) == Stage::Free {
                    self.book.ask(pages[at], Stage::Sample, 1, ranking);
                    self.pending += 1;
                }
            }
            pages.sort_unstable();
        }
        if self.pending == 0 {
            self.fetch_sites(ranking);
        }
    }

    /// All samples are in: whole sites until the budget is spent.
    fn fetch_sites(&mut self, ranking: &mut Ranking) {
        let mut sites: Vec<usize> = (0..self.pages.len()).collect();
        sites.sort_by_key(|site| std::cmp::Reverse(self.changed[*site]));
        let mut rank = u64::MAX;
        for page in sites.into_iter().flat_map(|site| &self.pages[site]) {
            if self.book.left() == 0 {
                return;
            }
            if self.book.stage(*page) == Stage::Free {
                self.book.ask(*page, Stage::Follower, rank, ranking);
                rank -= 1;
            }
        }
    }
}

impl Policy for GreedySites {
    fn observe(&mut self, event: &Event<'_>, now: Tick, _: &dyn Links, ranking: &mut Ranking) {
        match *event {
            Event::Discovered { page, .. } => return self.know(page, now),
            Event::Round { budget, .. } => return self.begin(budget, ranking),
            _ => {}
        }
        let Some(verdict) = self.copies.answer(event, now) else {
            return;
        };
        if self.book.settle(verdict.page, ranking) != Stage::Sample {
            return;
        }
        if verdict.changed == Some(true) {
            self.changed[self.sites[verdict.page.index()] as usize] += 1;
        }
        self.pending -= 1;
        if self.pending == 0 {
            self.fetch_sites(ranking);
        }
    }

    fn save(&self, out: &mut dyn io::Write) -> io::Result<()> {
        self.random.save(out)?;
        self.book.save(out)?;
        self.copies.save(out)?;
        self.pending.save(out)?;
        self.changed.save(out)
    }

    fn restore(&mut self, saved: &mut dyn io::Read) -> io::Result<()> {
        self.random = Restore::restore(saved)?;
        self.book = Restore::restore(saved)?;
        self.copies = Restore::restore(saved)?;
        self.pending = Restore::restore(saved)?;
        self.changed = Restore::restore(saved)?;
        let count = self.book.page_count();
        if count > self.sites.len() {
            return Err(corrupt("pages of no site"));
        }
        let sites = self.sites[..count].iter().max().map_or(0, |site| site + 1);
        self.pages = vec![Vec::new(); sites as usize];
        for (page, site) in self.sites[..count].iter().enumerate() {
            self.pages[*site as usize].push(PageId::from_index(page));
        }
        let begun = !self.changed.is_empty();
        if begun && self.changed.len() > self.pages.len() {
            return Err(corrupt("samples of sites that are not known"));
        }
        Ok(())
    }
}
