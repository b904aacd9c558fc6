//! CLIQ: pages that found the same things are one; fetch only the best of each such cluster.
//!
//! Two old pages overlap if the Jaccard coefficient of what they led to is at least 1−ε_b;
//! clusters are what overlap joins, directly or in steps. `cliq-1` ranks the representative of
//! each cluster of the most recent recrawl (its largest p, ties to the lowest id) by its p.
//! `cliq-win` adds every page that ever led to a new page as a cluster of its own, ranked by its
//! average p as in `od-win`; a page that comes twice is fetched once, at its better place (the
//! paper's sections 5.2 and 5.4).
//!
//! The paper's "every old node" includes the members of clusters, so by default `cliq-win` differs
//! from `od-win` only in order; `singletons=outside` takes only pages outside the clusters.
//!
//! Cost: O(Σ over components of (sets that hold it)²) per recrawl that saw a new page; pages with
//! the same set are joined for nothing.

use std::io;

use turnstone_frontier::{PageId, Restore, Save};

use super::arrivals::Arrivals;
use super::components::Lists;
use super::greedy::representatives;
use super::history_based::Statistic;
use super::out_degree::{Last, Shares, by_score};

/// Which pages `cliq-win` adds as clusters of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Singletons {
    /// Every page that ever led to a new page.
    All,
    /// Those in no cluster of the most recent recrawl.
    Outside,
}

/// The past beyond the most recent recrawl, for `cliq-win`.
#[derive(Clone, Debug)]
pub(crate) struct Past {
    pub(crate) shares: Shares,
    pub(crate) singletons: Singletons,
}

/// What CLIQ remembers.
#[derive(Clone, Debug)]
pub(crate) struct Clique {
    last: Last,
    /// 1−ε_b: from here on two pages overlap.
    overlap: f64,
    past: Option<Past>,
    /// Representatives of the most recent recrawl with their p, by page.
    heads: Vec<(PageId, f64)>,
    /// All pages in its clusters, ascending.
    members: Vec<PageId>,
    order: Vec<PageId>,
}

impl Clique {
    pub(crate) fn new(last: Last, epsilon_b: f64, past: Option<Past>) -> Self {
        Self {
            last,
            overlap: 1.0 - epsilon_b,
            past,
            heads: Vec::new(),
            members: Vec::new(),
            order: Vec::new(),
        }
    }

    fn rank(&mut self) {
        let heads = self.heads.iter().map(|(page, p)| (*p, *page));
        let Some(Past { shares, singletons }) = &self.past else {
            self.order = by_score(heads.collect());
            return;
        };
        let outside = |page: &PageId| match singletons {
            Singletons::All => true,
            Singletons::Outside => self.members.binary_search(page).is_err(),
        };
        let singles = shares.pages().filter(outside);
        let singles = singles.map(|page| (shares.share(page), page));
        let mut order = by_score(heads.chain(singles).collect());
        let mut fetched = vec![false; order.iter().map(|page| page.index() + 1).max().unwrap_or(0)];
        order.retain(|page| !std::mem::replace(&mut fetched[page.index()], true));
        self.order = order;
    }
}

impl Statistic for Clique {
    fn learn(&mut self, round: u32, arrivals: &Arrivals) {
        if self.last == Last::Literal || arrivals.found() > 0 {
            self.heads = cluster_heads(arrivals, self.overlap);
            self.members = arrivals.sources().iter().map(|(page, _)| *page).collect();
        }
        if let Some(past) = &mut self.past {
            past.shares.learn(round, arrivals);
        }
        self.rank();
    }

    fn best(&mut self, _: usize) -> &[PageId] {
        &self.order
    }

    fn save(&self, out: &mut dyn io::Write) -> io::Result<()> {
        self.heads.save(out)?;
        self.members.save(out)?;
        self.order.save(out)?;
        self.past
            .as_ref()
            .map_or(Ok(()), |past| past.shares.save(out))
    }

    fn restore(&mut self, saved: &mut dyn io::Read) -> io::Result<()> {
        self.heads = Restore::restore(saved)?;
        self.members = Restore::restore(saved)?;
        self.order = Restore::restore(saved)?;
        self.past
            .as_mut()
            .map_or(Ok(()), |past| past.shares.restore(saved))
    }
}

/// The best page of each cluster with its p, by page.
fn cluster_heads(arrivals: &Arrivals, overlap: f64) -> Vec<(PageId, f64)> {
    let mut clusters = Clusters::new(arrivals.set_count());
    join_overlapping(arrivals, overlap, &mut clusters);
    // By cluster: the set with the most pages, ties to the lowest page that has it.
    let lowest = representatives(arrivals);
    let better = |a: usize, b: usize| {
        let size = |set: usize| arrivals.size(set as u32);
        size(a) > size(b) || (size(a) == size(b) && lowest[a] < lowest[b])
    };
    let mut heads: Vec<Option<usize>> = vec![None; arrivals.set_count()];
    for set in 0..arrivals.set_count() {
        let head = &mut heads[clusters.root(set)];
        if head.is_none_or(|known| better(set, known)) {
            *head = Some(set);
        }
    }
    let found = f64::from(arrivals.found());
    let mut heads: Vec<(PageId, f64)> = heads
        .into_iter()
        .flatten()
        .map(|set| (lowest[set], f64::from(arrivals.size(set as u32)) / found))
        .collect();
    heads.sort_unstable_by_key(|(page, _)| *page);
    heads
}

/// Joins every two sets whose Jaccard coefficient is at least `overlap`.
fn join_overlapping(arrivals: &Arrivals, overlap: f64, clusters: &mut Clusters) {
    each_overlap(arrivals, |set, other, jaccard| {
        // The tolerance makes 1 − 0.8 mean 0.2.
        if jaccard >= overlap - 1e-9 {
            clusters.join(set as usize, other as usize);
        }
    });
}

/// Every two sets that have a new page in common, each pair once, with their Jaccard coefficient.
pub fn each_overlap(arrivals: &Arrivals, mut each: impl FnMut(u32, u32, f64)) {
    let mut holders: Vec<(u32, u32)> = Vec::new();
    for set in 0..arrivals.set_count() {
        let components = arrivals.sets.row(set).iter();
        holders.extend(components.map(|component| (*component, set as u32)));
    }
    // By component: the sets that hold it, ascending.
    let holders = Lists::from_pairs(arrivals.weights.len(), &holders);
    let mut common = vec![0u32; arrivals.set_count()];
    let mut touched: Vec<u32> = Vec::new();
    for set in 0..arrivals.set_count() as u32 {
        for &component in arrivals.sets.row(set as usize) {
            let earlier = holders.row(component as usize).iter();
            for &other in earlier.take_while(|other| **other < set) {
                if common[other as usize] == 0 {
                    touched.push(other);
                }
                common[other as usize] += arrivals.weights[component as usize];
            }
        }
        for other in touched.drain(..) {
            let both = std::mem::take(&mut common[other as usize]);
            let either = arrivals.size(set) + arrivals.size(other) - both;
            each(set, other, f64::from(both) / f64::from(either));
        }
    }
}

/// Union-find.
struct Clusters(Vec<u32>);

impl Clusters {
    fn new(count: usize) -> Self {
        Self((0..count as u32).collect())
    }

    fn root(&mut self, mut item: usize) -> usize {
        while self.0[item] as usize != item {
            // Halve the path on the way.
            self.0[item] = self.0[self.0[item] as usize];
            item = self.0[item] as usize;
        }
        item
    }

    fn join(&mut self, a: usize, b: usize) {
        let (a, b) = (self.root(a), self.root(b));
        self.0[a.max(b)] = a.min(b) as u32;
    }
}
