//! How well a cover did, over many sites and snapshots: the columns of the paper's table 2.
//!
//! A case is a site at a snapshot where something could be found. Overhead is pages fetched per
//! new page found: pooled over all cases, and as the mean over the cases where something was found
//! (for the others it is undefined). Coverage is pooled over all new pages, so that a burst of
//! thousands decides much of it, and as the mean over cases, where it does not.
//!
//! Where the record cannot answer some requests, overhead is that of the answered ones, coverage what
//! these found. At worst the others found nothing; at best they found all that was new.

use turnstone_frontier::PageId;
use turnstone_policy::discovery::Arrivals;

/// Sums over cases. Tallies of different sites add up.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Tally {
    /// Sites and snapshots where something could be found.
    pub cases: u64,
    /// Of these, where something was.
    pub hits: u64,
    /// Old pages fetched.
    pub fetched: u64,
    /// New pages found.
    pub found: u64,
    /// New pages that could be found.
    pub new: u64,
    /// Requests that the record could not answer; not among those fetched.
    pub unknown: u64,
    /// New pages that would be found if each of them had found all.
    pub found_at_best: u64,
    /// New pages of all rounds, those that no old page leads to included.
    pub all_new: u64,
    /// Of these, those found.
    pub all_found: u64,
    /// Requests of the rounds in which there was a new page: old pages, and guesses that missed.
    pub spent: u64,
    /// Requests of the other rounds.
    pub spent_idle: u64,
    /// Guessed addresses asked for, in all rounds.
    pub guesses: u64,
    /// Of these, those that were there.
    pub guess_hits: u64,
    depths: u64,
    overheads: f64,
    coverages: f64,
}

/// New pages that a round found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Sums {
    /// All of them.
    pub(super) all: u64,
    /// Those that some old page leads to.
    pub(super) findable: u64,
}

impl Tally {
    /// Takes in one case.
    pub fn add_case(&mut self, fetched: u64, found: u64, new: u64) {
        assert!(new > 0 && found <= new, "a case has something to find");
        self.cases += 1;
        self.fetched += fetched;
        self.found += found;
        self.new += new;
        self.depths += fetched.saturating_sub(1);
        self.coverages += found as f64 / new as f64;
        if found > 0 {
            self.hits += 1;
            self.overheads += fetched as f64 / found as f64;
        }
    }

    /// Takes in a round of a policy that may find what no old page leads to.
    pub(super) fn add_round(&mut self, arrivals: &Arrivals, found: Sums, spent: u64) {
        if arrivals.found() > 0 {
            self.add_case(spent, found.findable, u64::from(arrivals.found()));
            self.found_at_best += found.findable;
        }
        self.add_whole(arrivals, found.all, spent);
    }

    /// The part of a round that all new pages have.
    fn add_whole(&mut self, arrivals: &Arrivals, found: u64, spent: u64) {
        let new = u64::from(arrivals.found()) + u64::from(arrivals.orphans());
        self.all_new += new;
        self.all_found += found;
        if new > 0 {
            self.spent += spent;
        } else {
            self.spent_idle += spent;
        }
    }

    /// Requests of the last case that the record could not answer.
    fn add_unknown(&mut self, unknown: u64, found: u64, new: u64) {
        self.unknown += unknown;
        self.found_at_best += if unknown > 0 { new } else { found };
    }

    /// Takes in another tally.
    pub fn add(&mut self, other: &Self) {
        self.cases += other.cases;
        self.hits += other.hits;
        self.fetched += other.fetched;
        self.found += other.found;
        self.new += other.new;
        self.unknown += other.unknown;
        self.found_at_best += other.found_at_best;
        self.all_new += other.all_new;
        self.all_found += other.all_found;
        self.spent += other.spent;
        self.spent_idle += other.spent_idle;
        self.guesses += other.guesses;
        self.guess_hits += other.guess_hits;
        self.depths += other.depths;
        self.overheads += other.overheads;
        self.coverages += other.coverages;
    }

    /// The mean number of pages fetched.
    pub fn size(&self) -> Option<f64> {
        ratio(self.fetched as f64, self.cases as f64)
    }

    /// The same counted from 0 as in the paper's table: a cover of one page has depth 0.
    pub fn depth(&self) -> Option<f64> {
        ratio(self.depths as f64, self.cases as f64)
    }

    /// Pages fetched per new page found, all cases together.
    pub fn overhead_pooled(&self) -> Option<f64> {
        ratio(self.fetched as f64, self.found as f64)
    }

    /// The mean of the overheads of the cases where something was found.
    pub fn overhead_mean(&self) -> Option<f64> {
        ratio(self.overheads, self.hits as f64)
    }

    /// The share of all new pages that was found.
    pub fn coverage(&self) -> Option<f64> {
        ratio(self.found as f64, self.new as f64)
    }

    /// The share of all new pages that was found, those that no old page leads to included.
    pub fn coverage_all(&self) -> Option<f64> {
        ratio(self.all_found as f64, self.all_new as f64)
    }

    /// Requests per new page found, in all rounds that brought a new page.
    pub fn overhead_all(&self) -> Option<f64> {
        ratio(self.spent as f64, self.all_found as f64)
    }

    /// The same with the requests of rounds in which nothing was new.
    pub fn overhead_idle(&self) -> Option<f64> {
        let spent = self.spent + self.spent_idle;
        ratio(spent as f64, self.all_found as f64)
    }

    /// The share of requests that the record could not answer.
    pub fn unknown_share(&self) -> Option<f64> {
        let asked = self.fetched + self.unknown;
        ratio(self.unknown as f64, asked as f64)
    }

    /// The share of all new pages that was found if all unknown requests found all there was.
    pub fn coverage_high(&self) -> Option<f64> {
        ratio(self.found_at_best as f64, self.new as f64)
    }

    /// Pages asked for per new page found, if all unknown requests found nothing; and if all.
    pub fn overhead_bounds(&self) -> Option<(f64, f64)> {
        let asked = (self.fetched + self.unknown) as f64;
        let high = ratio(asked, self.found as f64)?;
        Some((asked / self.found_at_best.max(1) as f64, high))
    }

    /// The mean over cases of the share that was found.
    pub fn coverage_mean(&self) -> Option<f64> {
        ratio(self.coverages, self.cases as f64)
    }
}

fn ratio(part: f64, whole: f64) -> Option<f64> {
    (whole > 0.0).then(|| part / whole)
}

/// Judges a cover at several budgets at once: its first pages are the smaller covers. `is_known`
/// says whether the record knows what a page led to. `budgets` ascend; there is a tally for each.
pub fn judge(
    arrivals: &Arrivals,
    (asked, is_known): (&[PageId], &dyn Fn(PageId) -> bool),
    budgets: &[u64],
    tallies: &mut [Tally],
) {
    assert_eq!(budgets.len(), tallies.len(), "a tally for each budget");
    let new = u64::from(arrivals.found());
    let mut cover = arrivals.cover();
    let (mut done, mut unknown) = (0, 0);
    for (budget, tally) in budgets.iter().zip(tallies) {
        let size = asked
            .len()
            .min(usize::try_from(*budget).unwrap_or(usize::MAX));
        for &page in &asked[done.min(size)..size] {
            if is_known(page) {
                cover.fetch(page);
            } else {
                unknown += 1;
            }
        }
        done = done.max(size);
        let found = u64::from(cover.count());
        let fetched = size as u64 - unknown;
        tally.add_whole(arrivals, found, fetched);
        if new > 0 {
            tally.add_case(fetched, found, new);
            tally.add_unknown(unknown, found, new);
        }
    }
}
