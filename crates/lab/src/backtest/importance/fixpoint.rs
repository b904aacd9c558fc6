//! What the estimates are measured against: the fixpoint of the chain that OPIC walks, and the
//! off-line algorithm that computes it.
//!
//! The chain has one row per node: what it hands to each node it links to. What a row lacks to 1
//! goes to the virtual page, which hands it to all nodes alike. With x = xB + 1/n the importance
//! is x/|x|: one linear system, solved by sweeps that use fresh numbers at once (Gauss–Seidel).
//! One iteration of the off-line algorithm is one product with the chain, virtual page included.
//!
//! Cost: O(links) per sweep; 4 bytes per link and 41 per node, 12 per link between hosts.

use std::collections::BTreeMap;

use turnstone_frontier::{HostId, PageId};
use turnstone_linkgraph::{ArcBuilder, LinkGraph};
use turnstone_policy::importance::{NodeKind, OpicOptions, VirtualEdge, WhichLinks};

use super::living_web::LivingWeb;

/// Sweeps end when the sum of all changes is below this share of the sum.
const TOLERANCE: f64 = 1e-13;

/// No more sweeps than this.
const SWEEPS_MAX: u32 = 20_000;

/// What shapes the chain; what does not (selection, window) is left out.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ChainKind {
    virtual_edge: VirtualEdge,
    internal: f64,
    links: WhichLinks,
    nodes: NodeKind,
}

impl ChainKind {
    /// What holds importance.
    pub fn nodes(&self) -> NodeKind {
        self.nodes
    }

    /// The chain that a policy with these options walks.
    pub fn of(options: &OpicOptions) -> Self {
        Self {
            virtual_edge: options.virtual_edge,
            internal: options.internal.number(),
            links: options.links,
            nodes: options.nodes,
        }
    }

    /// What one link gets of 1, external and internal.
    fn shares(&self, external: usize, internal: usize) -> (f64, f64) {
        let links = external as f64 + self.internal * internal as f64;
        let each = match self.virtual_edge {
            VirtualEdge::Link(weight) => 1.0 / (links + weight.number()),
            VirtualEdge::Fraction(share) => (1.0 - share.number()) / links,
        };
        if links > 0.0 {
            (each, each * self.internal)
        } else {
            (0.0, 0.0)
        }
    }
}

/// The chain, as what each node receives.
#[derive(Debug)]
pub struct Chain {
    /// By node: where its sources begin.
    starts: Vec<usize>,
    /// Nodes that hand it something, ascending; marked when over an internal link.
    sources: Vec<u32>,
    shares: Shares,
    /// By node: whether it takes part.
    present: Vec<bool>,
    count: usize,
}

/// How much of what it has a source hands over one link.
#[derive(Debug)]
enum Shares {
    /// By source: over an external, and over an internal link.
    BySource(Vec<(f64, f64)>),
    /// By link.
    ByLink(Vec<f64>),
}

/// Marks a source that hands on over an internal link. Pages are numbered below this.
const INTERNAL: u32 = 1 << 31;

impl Chain {
    /// The chain of a web as it is now. `hosts` is by page; empty means one for all.
    pub fn of(web: &dyn LivingWeb, hosts: &[HostId], kind: ChainKind) -> Self {
        match kind.nodes {
            NodeKind::Page => Self::of_pages(web, hosts, kind),
            NodeKind::Host | NodeKind::Site => Self::of_hosts(web, hosts, kind),
        }
    }

    fn of_pages(web: &dyn LivingWeb, hosts: &[HostId], kind: ChainKind) -> Self {
        let weighs_hosts = kind.internal != 1.0;
        let is_internal = |page: PageId, link: PageId| {
            let host = |page: PageId| hosts.get(page.index()).copied().unwrap_or_default();
            weighs_hosts && host(page) == host(link)
        };
        let pages = || (0..web.known()).map(PageId::from_index);
        let linked = Linked::of(web, kind.links);
        let present: Vec<bool> = pages().map(|page| web.is_present(page)).collect();
        let here = || pages().filter(|page| present[page.index()]);
        // What goes to a page that is not there comes to the virtual page.
        let each_link = |page: PageId, then: &mut dyn FnMut(PageId)| {
            let links = linked.of_page(web, page).iter().copied();
            links.filter(|link| present[link.index()]).for_each(then);
        };
        let mut starts = vec![0; present.len() + 1];
        let mut shares = vec![(0.0, 0.0); present.len()];
        for page in here() {
            each_link(page, &mut |link| starts[link.index() + 1] += 1);
            let links = linked.of_page(web, page);
            let internal = links
                .iter()
                .filter(|link| is_internal(page, **link))
                .count();
            shares[page.index()] = kind.shares(links.len() - internal, internal);
        }
        for at in 1..starts.len() {
            starts[at] += starts[at - 1];
        }
        let mut sources = vec![0; starts[present.len()]];
        let mut ends = starts.clone();
        for page in here() {
            each_link(page, &mut |link| {
                let mark = if is_internal(page, link) { INTERNAL } else { 0 };
                sources[ends[link.index()]] = page.0 | mark;
                ends[link.index()] += 1;
            });
        }
        Self {
            starts,
            sources,
            shares: Shares::BySource(shares),
            count: here().count(),
            present,
        }
    }

    /// A host hands on what its pages do, each as often as the others.
    fn of_hosts(web: &dyn LivingWeb, hosts: &[HostId], kind: ChainKind) -> Self {
        let host = |page: PageId| hosts.get(page.index()).copied().unwrap_or_default();
        let linked = Linked::of(web, kind.links);
        let pages = (0..web.known()).map(PageId::from_index);
        let pages: Vec<PageId> = pages.filter(|page| web.is_present(*page)).collect();
        let count = pages.iter().map(|page| host(*page).index() + 1).max();
        let mut pages_of = vec![0u32; count.unwrap_or(0)];
        for page in &pages {
            pages_of[host(*page).index()] += 1;
        }
        let mut sums: BTreeMap<(HostId, HostId), f64> = BTreeMap::new();
        for &page in &pages {
            let own = host(page);
            let links = linked.of_page(web, page).iter();
            let mut targets: Vec<HostId> = links.map(|link| host(*link)).collect();
            targets.sort_unstable();
            targets.dedup();
            let internal = usize::from(targets.binary_search(&own).is_ok());
            let (external, within) = kind.shares(targets.len() - internal, internal);
            let is_there = |host: &HostId| pages_of.get(host.index()).is_some_and(|of| *of > 0);
            for target in targets.into_iter().filter(is_there) {
                let share = if target == own { within } else { external };
                *sums.entry((target, own)).or_default() += share / f64::from(pages_of[own.index()]);
            }
        }
        let mut starts = vec![0; pages_of.len() + 1];
        for (target, _) in sums.keys() {
            starts[target.index() + 1] += 1;
        }
        for at in 1..starts.len() {
            starts[at] += starts[at - 1];
        }
        let present: Vec<bool> = pages_of.iter().map(|pages| *pages > 0).collect();
        Self {
            starts,
            sources: sums.keys().map(|(_, source)| source.0).collect(),
            shares: Shares::ByLink(sums.into_values().collect()),
            count: present.iter().filter(|present| **present).count(),
            present,
        }
    }

    /// By node: whether it takes part.
    pub fn present(&self) -> &[bool] {
        &self.present
    }

    /// The importance of every node; they add up to 1. Sweeps begin at `guess` where there is one.
    pub fn importance(&self, guess: Option<&[f64]>) -> Vec<f64> {
        let base = 1.0 / self.count.max(1) as f64;
        let mut x = match guess {
            Some(guess) if guess.len() == self.present.len() => guess.to_vec(),
            _ => vec![base; self.present.len()],
        };
        for _ in 0..SWEEPS_MAX {
            let (mut changed, mut sum) = (0.0, 0.0);
            for at in 0..x.len() {
                let fresh = if self.present[at] {
                    base + self.pull(&x, at)
                } else {
                    0.0
                };
                changed += (fresh - x[at]).abs();
                sum += fresh;
                x[at] = fresh;
            }
            if changed <= TOLERANCE * sum {
                break;
            }
        }
        let sum: f64 = x.iter().sum();
        x.iter_mut().for_each(|score| *score /= sum);
        x
    }

    /// One iteration of the off-line algorithm: everyone hands on what it has, and the virtual page
    /// spreads what it gets.
    pub fn iterate(&self, x: &[f64]) -> Vec<f64> {
        let score = |at| {
            if self.present[at] {
                self.pull(x, at)
            } else {
                0.0
            }
        };
        let mut next: Vec<f64> = (0..self.present.len()).map(score).collect();
        let lacking = (1.0 - next.iter().sum::<f64>()) / self.count.max(1) as f64;
        for (score, _) in next
            .iter_mut()
            .zip(&self.present)
            .filter(|(_, here)| **here)
        {
            *score += lacking;
        }
        next
    }

    #[inline]
    fn pull(&self, x: &[f64], at: usize) -> f64 {
        let range = self.starts[at]..self.starts[at + 1];
        match &self.shares {
            Shares::BySource(shares) => {
                let sources = self.sources[range].iter();
                let handed = sources.map(|&source| {
                    let from = (source & !INTERNAL) as usize;
                    let (external, internal) = shares[from];
                    x[from]
                        * if source & INTERNAL == 0 {
                            external
                        } else {
                            internal
                        }
                });
                handed.sum()
            }
            Shares::ByLink(shares) => {
                let links = self.sources[range.clone()].iter().zip(&shares[range]);
                links.map(|(from, share)| x[*from as usize] * share).sum()
            }
        }
    }
}

/// Along which links importance flows.
enum Linked {
    Out,
    Both(LinkGraph),
}

impl Linked {
    fn of(web: &dyn LivingWeb, links: WhichLinks) -> Self {
        if links == WhichLinks::Out {
            return Self::Out;
        }
        let mut both = ArcBuilder::new();
        for page in (0..web.known()).map(PageId::from_index) {
            if web.is_present(page) {
                for link in web.links(page) {
                    both.add(page, *link);
                    both.add(*link, page);
                }
            }
        }
        Self::Both(both.finish(web.known()))
    }

    fn of_page<'a>(&'a self, web: &'a dyn LivingWeb, page: PageId) -> &'a [PageId] {
        match self {
            Self::Out => web.links(page),
            Self::Both(graph) => graph.links(page),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use turnstone_policy::Spec;

    /// x = xB + 1/n written down with a matrix, iterated until nothing moves.
    fn plainly(graph: &LinkGraph, kind: ChainKind) -> Vec<f64> {
        let count = graph.page_count();
        let mut x = vec![1.0 / count as f64; count];
        for _ in 0..4000 {
            let mut next = vec![0.0; count];
            let mut virtual_page = 0.0;
            for page in graph.pages() {
                let links = graph.links(page);
                let (each, _) = kind.shares(links.len(), 0);
                for link in links {
                    next[link.index()] += x[page.index()] * each;
                }
                virtual_page += x[page.index()] * (1.0 - each * links.len() as f64);
            }
            x = next
                .iter()
                .map(|score| score + virtual_page / count as f64)
                .collect();
        }
        x
    }

    fn kind(spec: &str) -> ChainKind {
        ChainKind::of(&OpicOptions::read(&spec.parse::<Spec>().unwrap()).unwrap())
    }

    fn graph() -> LinkGraph {
        let links: Vec<(u32, u32)> = (0..40u32)
            .flat_map(|page| [(page, (page * 7 + 1) % 40), (page, page / 2), (page, 3)])
            .filter(|(page, _)| page % 5 != 0)
            .collect();
        LinkGraph::from_links(40, &links)
    }

    #[test]
    fn sweeps_and_iterations_reach_the_same_fixpoint() {
        let graph = graph();
        for spec in ["opic", "opic:weight=0.2", "opic:virtual=fraction"] {
            let chain = Chain::of(&&graph, &[], kind(spec));
            let expected = plainly(&graph, kind(spec));
            let mut iterated = vec![1.0 / 40.0; 40];
            for _ in 0..4000 {
                iterated = chain.iterate(&iterated);
            }
            let exact = chain.importance(None);
            for page in 0..40 {
                assert!((exact[page] - expected[page]).abs() < 1e-11, "{spec}");
                assert!((iterated[page] - expected[page]).abs() < 1e-11, "{spec}");
            }
        }
    }

    #[test]
    fn a_fraction_of_one_less_damping_is_pagerank() {
        use turnstone_linkgraph::rank::{Dangling, InLinks, PageRank, Teleport};
        let graph = graph();
        let chain = Chain::of(&&graph, &[], kind("opic:virtual=fraction,weight=0.15"));
        let pagerank = PageRank {
            dangling: Dangling::Spread,
            tolerance: 1e-12,
            ..PageRank::default()
        };
        let ranked = pagerank.rank(&InLinks::of(&graph), Teleport::Uniform, &mut |_| {});
        for (ours, theirs) in chain.importance(None).iter().zip(&ranked.scores) {
            assert!((ours - theirs).abs() < 1e-11, "{ours} {theirs}");
        }
    }

    #[test]
    fn hosts_hand_on_what_their_pages_do() {
        // Host 0 has pages 0 and 1, host 1 pages 2 and 3. Only page 0 links out, to both of them.
        let graph = LinkGraph::from_links(4, &[(0, 1), (0, 2), (0, 3), (2, 0)]);
        let hosts = [0, 0, 1, 1].map(HostId);
        let chain = Chain::of(&&graph, &hosts, kind("opic:nodes=host"));
        // Half of host 0's visits hand on 1/2 (the other 1/2 is virtual), so 1/4; host 1 likewise.
        let once = chain.iterate(&[1.0, 0.0]);
        assert!((once[1] - (0.25 + 0.75 / 2.0)).abs() < 1e-12, "{once:?}");
        let sum: f64 = chain.importance(None).iter().sum();
        assert!((sum - 1.0).abs() < 1e-12);
    }

    #[test]
    fn internal_links_hand_on_less() {
        let graph = LinkGraph::from_links(3, &[(0, 1), (0, 2)]);
        let hosts = [0, 0, 1].map(HostId);
        let chain = Chain::of(&&graph, &hosts, kind("opic:internal=0.5,weight=0.5"));
        let once = chain.iterate(&[1.0, 0.0, 0.0]);
        let spread = 0.25 / 3.0;
        assert!((once[1] - 0.25 - spread).abs() < 1e-12 && (once[2] - 0.5 - spread).abs() < 1e-12);
    }

    #[test]
    fn links_count_both_ways() {
        let graph = LinkGraph::from_links(3, &[(0, 1), (2, 1)]);
        let chain = Chain::of(&&graph, &[], kind("opic:links=both"));
        let once = chain.iterate(&[0.0, 1.0, 0.0]);
        assert!(once[0] > once[1] && once[2] > once[1], "{once:?}");
    }
}
