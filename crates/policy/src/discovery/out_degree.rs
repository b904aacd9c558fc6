//! OD: fetch the pages that led to most new pages in the past.
//!
//! p_i is the share of a recrawl's new pages that page i led to. `od-1` takes it from the most
//! recent recrawl, `od-win` averages it over all recrawls with weights α^(age in rounds), and
//! `od-all` is `od-win` on a site recrawled in every round (the paper's section 5.1 and 5.4).
//! Pages with p = 0 are never asked for, so a round may spend less than its budget.
//!
//! Snapshots that lie close together often bring no new page, and the literal most recent recrawl
//! then says nothing at all: `last=nonempty` takes the most recent that saw a new page.
//!
//! Cost: O(pages that led anywhere · log) per recrawl that saw a new page; 8 bytes per page.

use std::io;

use turnstone_frontier::{PageId, Restore, Save};

use super::arrivals::Arrivals;
use super::history_based::Statistic;

/// Which recrawl is the most recent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Last {
    /// The one before this round, whatever it saw.
    Literal,
    /// The last that saw a new page.
    Nonempty,
}

/// Averages p over recrawls, each weighing α^age.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Shares {
    decay: f64,
    /// By page: Σ α^(latest − t') p^(t'). Shorter than the pages that are known.
    sums: Vec<f64>,
    /// Pages with a sum above 0, ascending.
    pages: Vec<PageId>,
    /// Σ α^(latest − t').
    weight: f64,
    latest: u32,
}

impl Shares {
    pub(crate) fn new(decay: f64) -> Self {
        assert!((0.0..=1.0).contains(&decay), "a decay is a share");
        Self {
            decay,
            sums: Vec::new(),
            pages: Vec::new(),
            weight: 0.0,
            latest: 0,
        }
    }

    pub(crate) fn learn(&mut self, round: u32, arrivals: &Arrivals) {
        let fade = power(self.decay, round.saturating_sub(self.latest));
        self.latest = round;
        self.weight = self.weight * fade + 1.0;
        if fade < 1.0 {
            for page in &self.pages {
                self.sums[page.index()] *= fade;
            }
        }
        let found = f64::from(arrivals.found());
        let known = self.pages.len();
        for &(page, set) in arrivals.sources() {
            if page.index() >= self.sums.len() {
                self.sums.resize(page.index() + 1, 0.0);
            }
            let sum = &mut self.sums[page.index()];
            if *sum == 0.0 {
                self.pages.push(page);
            }
            *sum += f64::from(arrivals.size(set)) / found;
        }
        if self.pages.len() > known {
            self.pages.sort_unstable();
            // A sum that faded to nothing and came back is listed twice.
            self.pages.dedup();
        }
    }

    /// p of a page, averaged.
    pub(crate) fn share(&self, page: PageId) -> f64 {
        self.sum(page) / self.weight
    }

    /// The average before it is divided by the weights, which are the same for all pages.
    fn sum(&self, page: PageId) -> f64 {
        self.sums.get(page.index()).copied().unwrap_or(0.0)
    }

    /// Pages with p above 0, ascending.
    pub(crate) fn pages(&self) -> impl Iterator<Item = PageId> + '_ {
        let above = |page: &PageId| self.sums[page.index()] > 0.0;
        self.pages.iter().copied().filter(above)
    }

    turnstone_frontier::saved_in_place!(pub(crate) [sums, pages, weight, latest],
        |it| it.pages.iter().any(|page| page.index() >= it.sums.len()) => "a page without a share");
}

/// α^n by multiplication: the same bits on every machine.
pub(crate) fn power(base: f64, exponent: u32) -> f64 {
    if base == 1.0 {
        return 1.0;
    }
    // Below any share that could matter; stops long gaps from costing time.
    let mut product = 1.0;
    for _ in 0..exponent {
        product *= base;
        if product < 1e-300 {
            return 0.0;
        }
    }
    product
}

/// Sorts by score, highest first, ties to the lowest id.
pub(crate) fn by_score(mut scored: Vec<(f64, PageId)>) -> Vec<PageId> {
    scored.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    scored.into_iter().map(|(_, page)| page).collect()
}

/// What OD remembers.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum OutDegree {
    /// The most recent recrawl.
    One {
        /// Which one that is.
        last: Last,
        /// Its pages, best first.
        order: Vec<PageId>,
    },
    /// All recrawls.
    Window {
        /// The averages.
        shares: Shares,
        /// Pages, best first; kept until the averages change.
        order: Vec<PageId>,
        /// `od-all`: the site must be recrawled in every round.
        all: bool,
    },
}

impl Statistic for OutDegree {
    fn learn(&mut self, round: u32, arrivals: &Arrivals) {
        match self {
            Self::One { last, order } => {
                if *last == Last::Literal || arrivals.found() > 0 {
                    let sources = arrivals.sources().iter();
                    let scored = sources.map(|(page, set)| (f64::from(arrivals.size(*set)), *page));
                    *order = by_score(scored.collect());
                }
            }
            Self::Window { shares, order, .. } => {
                shares.learn(round, arrivals);
                // With no new page all averages shrink alike and the order stays.
                if arrivals.found() > 0 {
                    let scored = shares.pages().map(|page| (shares.sum(page), page));
                    *order = by_score(scored.collect());
                }
            }
        }
    }

    fn best(&mut self, _: usize) -> &[PageId] {
        match self {
            Self::One { order, .. } | Self::Window { order, .. } => order,
        }
    }

    fn recrawl_every(&self) -> Option<u32> {
        matches!(self, Self::Window { all: true, .. }).then_some(1)
    }

    fn save(&self, out: &mut dyn io::Write) -> io::Result<()> {
        match self {
            Self::One { order, .. } => order.save(out),
            Self::Window { shares, order, .. } => {
                shares.save(out)?;
                order.save(out)
            }
        }
    }

    fn restore(&mut self, saved: &mut dyn io::Read) -> io::Result<()> {
        match self {
            Self::One { order, .. } => *order = Restore::restore(saved)?,
            Self::Window { shares, order, .. } => {
                shares.restore(saved)?;
                *order = Restore::restore(saved)?;
            }
        }
        Ok(())
    }
}
