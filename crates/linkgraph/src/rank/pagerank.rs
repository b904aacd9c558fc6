//! PageRank: Y = d·Y·A + (1−d)·X, where A shares a page's score among its links.
//!
//! A page without links either lets its share leak away, so that scores sum to less than X does, or
//! spreads it over the pages by X. With W = X the two differ by a factor only: spread is leak scaled
//! to the sum of X, and this is how it is computed.
//!
//! **How.** Each page in turn pulls what its in-links bring, and later pages use what earlier ones
//! have just got (Gauss–Seidel). To give the same bytes for any number of threads, what is fresh and
//! what is not is fixed by page numbers alone: pages are cut into blocks, blocks into waves; a page
//! sees fresh scores of its own block and of earlier waves, old ones of everything else, and the
//! blocks of one wave run in parallel. Sums run in a fixed order within a page, a block and over
//! blocks. Pages without links influence nobody; they are computed once, at the end.
//!
//! **What won.** To a distance of 1e-6 on a generated web of 5 M pages and 60 M links this takes 35
//! sweeps, the power iteration 47 (`bench/compare_pagerank.py`). Tried and dropped: waves without fresh
//! scores inside (nearly as many sweeps as the power iteration), alternating directions (no fewer),
//! over-relaxation (a little fewer here, no convergence on cnr-2000 from 1.1 on), sweeping each block
//! twice (half the sweeps for the same CPU time). `webgraph-algo` has a parallel Gauss–Seidel with the
//! same stopping rule, but what it reads fresh depends on timing, so its bytes do too.
//!
//! **When to stop.** Write one sweep as Y' = Y'·L + Y·U + (1−d)·X with L + U = d·A, both ≥ 0. What Y'
//! lacks is (Y'−Y)·U, so its L1 distance to the fixpoint is at most d/(1−d)·|Y'−Y|, as for the power
//! iteration. `tolerance` is a bound for that distance, not for the step.
//!
//! **Two at once.** Two teleport vectors over the same links share one walk over them: the links are
//! read once a sweep, and the shares of both lie side by side, so that a page fetched from memory
//! serves twice. Scores are kept in lanes, one for each vector; with one lane nothing is added.
//!
//! Cost: a sweep is O(pages + links); 4 bytes a link and 12 + 16 a lane for each page in all.

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
        let [ranked] = self.rank_lanes(in_links, [teleport], watch);
        ranked
    }

    /// PageRank for two teleport vectors, in less time than two runs. Sweeps go on until both are
    /// within the tolerance; `watch` is told of the one that is further off. Panics as `rank` does.
    pub fn rank_pair(
        &self,
        in_links: &InLinks,
        teleports: [Teleport<'_>; 2],
        watch: &mut (dyn FnMut(&Progress) + Send),
    ) -> [Ranked; 2] {
        self.rank_lanes(in_links, teleports, watch)
    }

    fn rank_lanes<const LANES: usize>(
        &self,
        in_links: &InLinks,
        teleports: [Teleport<'_>; LANES],
        watch: &mut (dyn FnMut(&Progress) + Send),
    ) -> [Ranked; LANES] {
        assert!(
            (0.0..1.0).contains(&self.damping),
            "damping must be in [0, 1)"
        );
        assert!(self.tolerance > 0.0, "tolerance must be positive");
        for teleport in teleports {
            let Teleport::Weights(weights) = teleport else {
                continue;
            };
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
                pool.install(|| Solver::new(*self, in_links, teleports, Way::Parallel).run(watch))
            }
            None => Solver::new(*self, in_links, teleports, Way::Alone).run(watch),
        }
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Way {
    Alone,
    Parallel,
}

/// One number for each teleport vector.
type Lanes<const LANES: usize> = [f64; LANES];

/// What one block adds up to in one sweep.
#[derive(Clone, Copy)]
struct BlockSums<const LANES: usize> {
    step: Lanes<LANES>,
    mass: Lanes<LANES>,
}

impl<const LANES: usize> Default for BlockSums<LANES> {
    fn default() -> Self {
        Self {
            step: [0.0; LANES],
            mass: [0.0; LANES],
        }
    }
}

/// The scores and fresh shares of a block, and where its sums go.
type BlockState<'a, const LANES: usize> = (
    (&'a mut [Lanes<LANES>], &'a mut [Lanes<LANES>]),
    &'a mut BlockSums<LANES>,
);

struct Solver<'a, const LANES: usize> {
    options: PageRank,
    in_links: &'a InLinks,
    teleports: [Teleport<'a>; LANES],
    way: Way,
    /// Y, where pages without links keep their first value until the end.
    scores: Vec<Lanes<LANES>>,
    /// d·Y/c: what each page hands to each page it links to.
    shares: Vec<Lanes<LANES>>,
    /// The shares of the wave being swept.
    fresh: Vec<Lanes<LANES>>,
    sums: Vec<BlockSums<LANES>>,
}

impl<'a, const LANES: usize> Solver<'a, LANES> {
    fn new(
        options: PageRank,
        in_links: &'a InLinks,
        teleports: [Teleport<'a>; LANES],
        way: Way,
    ) -> Self {
        let pages = in_links.page_count();
        let weights = |page| teleports.map(|teleport| weight(teleport, page, pages));
        let scores: Vec<Lanes<LANES>> = (0..pages).map(weights).collect();
        let share = |(page, scores): (usize, &Lanes<LANES>)| {
            let links = in_links.outdegree(PageId(page as u32));
            scores.map(|score| match links {
                0 => 0.0,
                links => options.damping * score / f64::from(links),
            })
        };
        let shares = scores.iter().enumerate().map(share).collect();
        Self {
            options,
            in_links,
            teleports,
            way,
            scores,
            shares,
            fresh: vec![[0.0; LANES]; pages.min(BLOCK_PAGES * WAVE_BLOCKS)],
            sums: vec![BlockSums::default(); pages.div_ceil(BLOCK_PAGES)],
        }
    }

    fn run(mut self, watch: &mut (dyn FnMut(&Progress) + Send)) -> [Ranked; LANES] {
        let lanes: [usize; LANES] = std::array::from_fn(|lane| lane);
        let teleport_mass = lanes.map(|lane| self.mass(lane));
        let mut ends = [Progress {
            sweeps: 0,
            step: f64::INFINITY,
            distance_max: f64::INFINITY,
        }; LANES];
        loop {
            let worst = ends
                .iter()
                .max_by(|a, b| a.distance_max.total_cmp(&b.distance_max));
            let Some(&worst) = worst else {
                break;
            };
            if worst.sweeps > 0 {
                watch(&worst);
            }
            let Progress {
                sweeps,
                distance_max,
                ..
            } = worst;
            if sweeps >= self.options.sweeps_max || distance_max <= self.options.tolerance {
                break;
            }
            self.sweep();
            ends = lanes.map(|lane| self.progress(lane, sweeps + 1, teleport_mass[lane]));
        }
        self.finish_dangling();
        let factor = lanes.map(|lane| match self.options.dangling {
            Dangling::Leak => 1.0,
            Dangling::Spread => match self.mass(lane) {
                0.0 => 1.0,
                mass => teleport_mass[lane] / mass,
            },
        });
        lanes.map(|lane| {
            let scores = self.scores.iter().map(|scores| scores[lane]);
            let scores = match self.options.dangling {
                Dangling::Leak => scores.collect(),
                Dangling::Spread => scores.map(|score| score * factor[lane]).collect(),
            };
            Ranked {
                scores,
                end: ends[lane],
                converged: ends[lane].distance_max <= self.options.tolerance,
            }
        })
    }

    /// The sum of all scores of a lane.
    fn mass(&self, lane: usize) -> f64 {
        block_sum(self.scores.iter().map(|scores| scores[lane]))
    }

    /// The sums of the last sweep, and what they prove about the distance to the fixpoint.
    fn progress(&self, lane: usize, sweeps: u32, teleport_mass: f64) -> Progress {
        let damping = self.options.damping;
        let step = block_sum(self.sums.iter().map(|sums| sums.step[lane]));
        let mut distance_max = damping / (1.0 - damping) * step;
        if self.options.dangling == Dangling::Spread {
            // Scaling to the teleport mass scales the distance, and the factor itself is off by as
            // much again. The sum of all scores follows from that of the pages with links.
            let linked_mass = block_sum(self.sums.iter().map(|sums| sums.mass[lane]));
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
                teleports: self.teleports,
                damping: self.options.damping,
            };
            let sweep = |(i, ((scores, fresh), sums)): (usize, BlockState<'_, LANES>)| {
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
            teleports: self.teleports,
            damping: self.options.damping,
        };
        let finish = |(i, scores): (usize, &mut [Lanes<LANES>])| {
            block.finish_dangling(i * BLOCK_PAGES, scores);
        };
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
struct Block<'a, const LANES: usize> {
    in_links: &'a InLinks,
    /// Shares as they were before the wave.
    shares: &'a [Lanes<LANES>],
    teleports: [Teleport<'a>; LANES],
    damping: f64,
}

impl<const LANES: usize> Block<'_, LANES> {
    /// Sweeps the pages from `first` on; `scores` and `fresh` are those of the block.
    fn sweep(
        &self,
        first: usize,
        scores: &mut [Lanes<LANES>],
        fresh: &mut [Lanes<LANES>],
    ) -> BlockSums<LANES> {
        let range = first..first + scores.len();
        fresh.copy_from_slice(&self.shares[range.clone()]);
        let mut sums = BlockSums::default();
        for (i, page) in range.clone().enumerate() {
            let id = PageId(page as u32);
            let links = self.in_links.outdegree(id);
            if links == 0 {
                continue;
            }
            let pulled = self.pull(id, &range, fresh);
            for lane in 0..LANES {
                let score = self.base(page, lane) + pulled[lane];
                sums.step[lane] += (score - scores[i][lane]).abs();
                sums.mass[lane] += score;
                scores[i][lane] = score;
                fresh[i][lane] = self.damping * score / f64::from(links);
            }
        }
        sums
    }

    /// What the in-links of a page bring. Sources ascend, so those of the block are in the middle.
    #[inline]
    fn pull(&self, page: PageId, block: &Range<usize>, fresh: &[Lanes<LANES>]) -> Lanes<LANES> {
        let sources = self.in_links.sources(page);
        let mut sum = [0.0; LANES];
        let mut i = 0;
        while i < sources.len() && sources[i].index() < block.start {
            add(&mut sum, &self.shares[sources[i].index()]);
            i += 1;
        }
        while i < sources.len() && sources[i].index() < block.end {
            add(&mut sum, &fresh[sources[i].index() - block.start]);
            i += 1;
        }
        for source in &sources[i..] {
            add(&mut sum, &self.shares[source.index()]);
        }
        sum
    }

    fn finish_dangling(&self, first: usize, scores: &mut [Lanes<LANES>]) {
        for (i, scores) in scores.iter_mut().enumerate() {
            let page = PageId((first + i) as u32);
            if self.in_links.outdegree(page) == 0 {
                let mut pulled = [0.0; LANES];
                for source in self.in_links.sources(page) {
                    add(&mut pulled, &self.shares[source.index()]);
                }
                for lane in 0..LANES {
                    scores[lane] = self.base(first + i, lane) + pulled[lane];
                }
            }
        }
    }

    /// What teleports bring.
    #[inline]
    fn base(&self, page: usize, lane: usize) -> f64 {
        (1.0 - self.damping) * weight(self.teleports[lane], page, self.shares.len())
    }
}

#[inline]
fn add<const LANES: usize>(sum: &mut Lanes<LANES>, share: &Lanes<LANES>) {
    for lane in 0..LANES {
        sum[lane] += share[lane];
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
