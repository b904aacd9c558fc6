//! PageRank: Y = d·Y·A + (1−d)·X, where A shares a page's score among its links.
//!
//! A page without links either lets its share leak away, so that scores sum to less than X does, or
//! spreads it over the pages by X. With W = X the two differ by a factor only: spread is leak scaled
//! to the sum of X, and this is how it is computed.
//!
//! **How.** Each page in turn pulls what its in-links bring, and later pages use what earlier ones
//! have just got (Gauss–Seidel), which needs about half the sweeps of the power iteration. To give
//! the same bytes for any number of threads, what is fresh and what is not is fixed by page numbers
//! alone: pages are cut into blocks, blocks into waves; a page sees fresh scores of its own block
//! and of earlier waves, old ones of everything else, and the blocks of one wave run in parallel.
//! Sums run in a fixed order within a page, a block and over blocks. Pages without links influence
//! nobody; they are computed once, at the end.
//!
//! **When to stop.** Write one sweep as Y' = Y'·L + Y·U + (1−d)·X with L + U = d·A, both ≥ 0. What Y'
//! lacks is (Y'−Y)·U, so its L1 distance to the fixpoint is at most d/(1−d)·|Y'−Y|, as for the power
//! iteration. `tolerance` is a bound for that distance, not for the step.
//!
//! Cost: a sweep is O(pages + links); 4 bytes a link and 28 a page in all.

use std::num::NonZeroUsize;
use std::ops::Range;

use rayon::prelude::*;
use turnstone_frontier::PageId;

use super::in_links::InLinks;

/// Pages that are swept one after the other. Large enough to hold most links of most hosts, small
/// enough that scores and shares of a block stay in the second-level cache.
const BLOCK_PAGES: usize = 1 << 14;
/// Blocks that may run at the same time. More blocks share work better, fewer mean fresher scores.
const WAVE_BLOCKS: usize = 16;

/// What becomes of the score a page without links would hand on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Dangling {
    /// It is lost; scores sum to less than the teleport vector.
    #[default]
    Leak,
    /// It goes where teleports go; scores sum to what the teleport vector sums to.
    Spread,
}

/// Where a reader who starts afresh goes.
#[derive(Debug, Clone, Copy)]
pub enum Teleport<'a> {
    /// To every page alike; sums to 1.
    Uniform,
    /// To each page by its weight, which is finite and not negative. Taken as it is, whatever the sum.
    Weights(&'a [f64]),
}

/// How to compute PageRank.
#[derive(Debug, Clone, Copy)]
pub struct PageRank {
    /// The chance to follow a link rather than to start afresh: d in [0, 1). Default 0.85.
    pub damping: f64,
    /// The result is at most this far (sum of absolute differences) from the true one. Default 1e-9.
    pub tolerance: f64,
    /// No more sweeps than this. Default 1000.
    pub sweeps_max: u32,
    /// What becomes of the score of pages without links. Default: leak.
    pub dangling: Dangling,
    /// Threads to use; the result does not depend on it. Default: one for each core.
    pub threads: NonZeroUsize,
}

impl Default for PageRank {
    fn default() -> Self {
        Self {
            damping: 0.85,
            tolerance: 1e-9,
            sweeps_max: 1000,
            dangling: Dangling::Leak,
            threads: std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN),
        }
    }
}

/// Where a computation stands after a sweep.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Progress {
    /// Sweeps done.
    pub sweeps: u32,
    /// How much the last sweep changed, summed over pages.
    pub step: f64,
    /// The scores are at most this far from the true ones.
    pub distance_max: f64,
}

/// PageRank of every page, and how it was reached.
#[derive(Debug, Clone, PartialEq)]
pub struct Ranked {
    /// The score of each page.
    pub scores: Vec<f64>,
    /// The last sweep.
    pub end: Progress,
    /// Whether the tolerance was reached before `sweeps_max`.
    pub converged: bool,
}

impl PageRank {
    /// PageRank of every page. `watch` is told after every sweep.
    ///
    /// Panics on a damping outside [0, 1), a tolerance that is not positive, or weights that are not
    /// one finite, non-negative number for each page.
    pub fn rank(
        &self,
        in_links: &InLinks,
        teleport: Teleport<'_>,
        watch: &mut (dyn FnMut(&Progress) + Send),
    ) -> Ranked {
        assert!(
            (0.0..1.0).contains(&self.damping),
            "damping must be in [0, 1)"
        );
        assert!(self.tolerance > 0.0, "tolerance must be positive");
        if let Teleport::Weights(weights) = teleport {
            assert_eq!(
                weights.len(),
                in_links.page_count(),
                "one weight for each page"
            );
            let sound = weights
                .iter()
                .all(|&weight| weight.is_finite() && weight >= 0.0);
            assert!(sound, "weights must be finite and not negative");
        }
        // A machine that gives no threads still gets the same bytes, from one.
        let pool = (self.threads.get() > 1)
            .then(|| {
                rayon::ThreadPoolBuilder::new()
                    .num_threads(self.threads.get())
                    .build()
                    .ok()
            })
            .flatten();
        match pool {
            Some(pool) => {
                pool.install(|| Solver::new(*self, in_links, teleport, Way::Parallel).run(watch))
            }
            None => Solver::new(*self, in_links, teleport, Way::Alone).run(watch),
        }
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Way {
    Alone,
    Parallel,
}

/// What one block adds up to in one sweep.
#[derive(Clone, Copy, Default)]
struct BlockSums {
    step: f64,
    mass: f64,
}

/// The scores and fresh shares of a block, and where its sums go.
type BlockState<'a> = ((&'a mut [f64], &'a mut [f64]), &'a mut BlockSums);

struct Solver<'a> {
    options: PageRank,
    in_links: &'a InLinks,
    teleport: Teleport<'a>,
    way: Way,
    /// Y, where pages without links keep their first value until the end.
    scores: Vec<f64>,
    /// d·Y/c: what each page hands to each page it links to.
    shares: Vec<f64>,
    /// The shares of the wave being swept.
    fresh: Vec<f64>,
    sums: Vec<BlockSums>,
}

impl<'a> Solver<'a> {
    fn new(options: PageRank, in_links: &'a InLinks, teleport: Teleport<'a>, way: Way) -> Self {
        let pages = in_links.page_count();
        let scores: Vec<f64> = (0..pages)
            .map(|page| weight(teleport, page, pages))
            .collect();
        let share = |(page, score): (usize, &f64)| match in_links.outdegree(PageId(page as u32)) {
            0 => 0.0,
            links => options.damping * score / f64::from(links),
        };
        let shares = scores.iter().enumerate().map(share).collect();
        Self {
            options,
            in_links,
            teleport,
            way,
            scores,
            shares,
            fresh: vec![0.0; pages.min(BLOCK_PAGES * WAVE_BLOCKS)],
            sums: vec![BlockSums::default(); pages.div_ceil(BLOCK_PAGES)],
        }
    }

    fn run(mut self, watch: &mut (dyn FnMut(&Progress) + Send)) -> Ranked {
        let teleport_mass = block_sum(self.scores.iter().copied());
        let mut end = Progress {
            sweeps: 0,
            step: f64::INFINITY,
            distance_max: f64::INFINITY,
        };
        while end.sweeps < self.options.sweeps_max && end.distance_max > self.options.tolerance {
            self.sweep();
            end = self.progress(end.sweeps + 1, teleport_mass);
            watch(&end);
        }
        self.finish_dangling();
        if self.options.dangling == Dangling::Spread {
            let mass = block_sum(self.scores.iter().copied());
            if mass > 0.0 {
                let factor = teleport_mass / mass;
                self.scores.iter_mut().for_each(|score| *score *= factor);
            }
        }
        let converged = end.distance_max <= self.options.tolerance;
        Ranked {
            scores: self.scores,
            end,
            converged,
        }
    }

    /// The sums of the last sweep, and what they prove about the distance to the fixpoint.
    fn progress(&self, sweeps: u32, teleport_mass: f64) -> Progress {
        let damping = self.options.damping;
        let step = block_sum(self.sums.iter().map(|sums| sums.step));
        let mut distance_max = damping / (1.0 - damping) * step;
        if self.options.dangling == Dangling::Spread {
            // Scaling to the teleport mass scales the distance, and the factor itself is off by as
            // much again. The sum of all scores follows from that of the pages with links.
            let linked_mass = block_sum(self.sums.iter().map(|sums| sums.mass));
            let mass = damping * linked_mass + (1.0 - damping) * teleport_mass;
            if mass > 0.0 {
                distance_max *= 2.0 * teleport_mass / mass;
            }
        }
        Progress {
            sweeps,
            step,
            distance_max,
        }
    }

    /// Every page with links once, wave by wave.
    fn sweep(&mut self) {
        let pages = self.scores.len();
        for (wave, sums) in self.sums.chunks_mut(WAVE_BLOCKS).enumerate() {
            let start = wave * WAVE_BLOCKS * BLOCK_PAGES;
            let range = start..pages.min(start + WAVE_BLOCKS * BLOCK_PAGES);
            let fresh = &mut self.fresh[..range.len()];
            let scores = &mut self.scores[range.clone()];
            let (in_links, shares) = (self.in_links, &self.shares);
            let block = Block {
                in_links,
                shares,
                teleport: self.teleport,
                damping: self.options.damping,
            };
            let sweep = |(i, ((scores, fresh), sums)): (usize, BlockState<'_>)| {
                *sums = block.sweep(start + i * BLOCK_PAGES, scores, fresh);
            };
            match self.way {
                Way::Alone => scores
                    .chunks_mut(BLOCK_PAGES)
                    .zip(fresh.chunks_mut(BLOCK_PAGES))
                    .zip(sums)
                    .enumerate()
                    .for_each(sweep),
                Way::Parallel => scores
                    .par_chunks_mut(BLOCK_PAGES)
                    .zip(fresh.par_chunks_mut(BLOCK_PAGES))
                    .zip(sums)
                    .enumerate()
                    .for_each(sweep),
            }
            self.shares[range].copy_from_slice(fresh);
        }
    }

    /// The pages without links, from the shares of the others.
    fn finish_dangling(&mut self) {
        let (in_links, shares) = (self.in_links, &self.shares);
        let block = Block {
            in_links,
            shares,
            teleport: self.teleport,
            damping: self.options.damping,
        };
        let finish =
            |(i, scores): (usize, &mut [f64])| block.finish_dangling(i * BLOCK_PAGES, scores);
        match self.way {
            Way::Alone => self
                .scores
                .chunks_mut(BLOCK_PAGES)
                .enumerate()
                .for_each(finish),
            Way::Parallel => self
                .scores
                .par_chunks_mut(BLOCK_PAGES)
                .enumerate()
                .for_each(finish),
        }
    }
}

/// What the blocks of a wave share while they are swept.
#[derive(Clone, Copy)]
struct Block<'a> {
    in_links: &'a InLinks,
    /// Shares as they were before the wave.
    shares: &'a [f64],
    teleport: Teleport<'a>,
    damping: f64,
}

impl Block<'_> {
    /// Sweeps the pages from `first` on; `scores` and `fresh` are those of the block.
    fn sweep(&self, first: usize, scores: &mut [f64], fresh: &mut [f64]) -> BlockSums {
        let range = first..first + scores.len();
        fresh.copy_from_slice(&self.shares[range.clone()]);
        let mut sums = BlockSums::default();
        for (i, page) in range.clone().enumerate() {
            let id = PageId(page as u32);
            let links = self.in_links.outdegree(id);
            if links == 0 {
                continue;
            }
            let score = self.base(page) + self.pull(id, &range, fresh);
            sums.step += (score - scores[i]).abs();
            sums.mass += score;
            scores[i] = score;
            fresh[i] = self.damping * score / f64::from(links);
        }
        sums
    }

    /// What the in-links of a page bring. Sources ascend, so those of the block are in the middle.
    #[inline]
    fn pull(&self, page: PageId, block: &Range<usize>, fresh: &[f64]) -> f64 {
        let sources = self.in_links.sources(page);
        let mut sum = 0.0;
        let mut i = 0;
        while i < sources.len() && sources[i].index() < block.start {
            sum += self.shares[sources[i].index()];
            i += 1;
        }
        while i < sources.len() && sources[i].index() < block.end {
            sum += fresh[sources[i].index() - block.start];
            i += 1;
        }
        for source in &sources[i..] {
            sum += self.shares[source.index()];
        }
        sum
    }

    fn finish_dangling(&self, first: usize, scores: &mut [f64]) {
        for (i, score) in scores.iter_mut().enumerate() {
            let page = PageId((first + i) as u32);
            if self.in_links.outdegree(page) == 0 {
                let pulled: f64 = self
                    .in_links
                    .sources(page)
                    .iter()
                    .map(|source| self.shares[source.index()])
                    .sum();
                *score = self.base(first + i) + pulled;
            }
        }
    }

    /// What teleports bring.
    #[inline]
    fn base(&self, page: usize) -> f64 {
        (1.0 - self.damping) * weight(self.teleport, page, self.shares.len())
    }
}

#[inline]
fn weight(teleport: Teleport<'_>, page: usize, pages: usize) -> f64 {
    match teleport {
        Teleport::Uniform => 1.0 / pages as f64,
        Teleport::Weights(weights) => weights[page],
    }
}

/// A sum in blocks of fixed size, so that rounding grows with the block and not with the web.
fn block_sum(values: impl Iterator<Item = f64>) -> f64 {
    const BLOCK: usize = 1024;
    let (mut total, mut block) = (0.0, 0.0);
    for (i, value) in values.enumerate() {
        block += value;
        if i % BLOCK == BLOCK - 1 {
            total += block;
            block = 0.0;
        }
    }
    total + block
}
