//! Liveness: find the pages of an old crawl that are still alive, with the fewest requests (Huynh,
//! Mathieu, Viennot: LiveRank, 2014).
//!
//! A LiveRank is an order of the old crawl's pages. Static orders use its links alone; others test
//! a sample and reckon that life and death pass along links, or run through whole sites; dynamic
//! ones learn from every answer; [`tree`] is ours and the default. The cost of finding a share α of the n_a alive pages is the number
//! of requests over α·n_a: 1 is ideal, n/n_a is blind.

mod active_site;
mod alive_bfs;
mod alive_indegree;
mod diffusion;
mod draws;
mod estimate;
mod exact;
mod live_rank;
mod old_crawl;
mod sample;
mod static_order;
mod survey;
mod tree;

pub use estimate::{AliveEstimate, Confidence, Enough};
pub use old_crawl::OldCrawl;
pub use sample::{Sample, SampleBy, SampleError, SampleSize};
pub use survey::Tally;

use std::sync::Arc;

use turnstone_frontier::Policy;

use crate::catalog::{ParameterInfo, PolicyInfo, Question};
use crate::spec::{Spec, SpecError};
use active_site::{ActiveSiteFirst, Inside};
use alive_bfs::AliveBfs;
use alive_indegree::AliveIndegree;
use diffusion::Diffusion;
use live_rank::{LiveRank, Order};
use static_order::StaticOrder;
use tree::Tree;

/// A policy that answers the liveness question.
pub trait LivenessPolicy: Policy {
    /// How many pages were found alive and gone so far.
    fn tally(&self) -> Tally;

    /// The sample that is tested first, if there is one.
    fn sample(&self) -> Option<Sample>;

    /// How many of the sample were found alive and gone so far.
    fn sample_tally(&self) -> Tally;

    /// How many pages are alive, as far as a random sample that is back tells, or pages drawn at
    /// random.
    fn estimate(&self) -> Option<AliveEstimate>;

    /// How many bytes it keeps beside the ranking and the old crawl, where it counts them.
    fn allocated_bytes(&self) -> usize {
        0
    }
}

/// What a liveness crawl starts from.
#[derive(Clone, Debug)]
pub struct Start {
    /// The old crawl.
    pub old: Arc<OldCrawl>,
    /// The sample of every policy whose spec does not say otherwise.
    pub sample: Sample,
    /// What the random order hangs on.
    pub seed: u64,
}

const SAMPLE: ParameterInfo = ParameterInfo {
    name: "sample",
    default: "as given for all",
    meaning: "which pages are tested first: random, indegree, pagerank, or indegree-apart and \
              pagerank-apart, which pass over neighbours of pages already chosen",
};

const SIZE: ParameterInfo = ParameterInfo {
    name: "size",
    default: "as given for all",
    meaning: "how many pages are tested first: a number or a share such as 2%",
};

const PAPER: &str = "Huynh, Mathieu, Viennot, LiveRank, 2014";

const fn info(
    name: &'static str,
    summary: &'static str,
    cost: &'static str,
    parameters: &'static [ParameterInfo],
) -> PolicyInfo {
    PolicyInfo {
        name,
        questions: &[Question::Liveness],
        summary,
        paper: PAPER,
        cost,
        parameters,
    }
}

/// The catalogue entries.
pub const POLICIES: &[PolicyInfo] = &[
    PolicyInfo {
        paper: "ours",
        ..info(
            "tree",
            "the page most likely alive, by what was found in its folder, the folders above and its \
             host; learns from every answer and needs no sample",
            "O(depth log places) a verdict",
            &[ParameterInfo {
                name: "looks",
                default: "0.5",
                meaning: "how many pages are drawn at random, to tell how many are alive: so many \
                          for each square root of the number of tests, 0 (none) to 100",
            }],
        )
    },
    info(
        "random",
        "pages of the old crawl at random",
        "a shuffle",
        &[],
    ),
    info(
        "indegree",
        "pages most linked to first",
        "a pass over the links and a sort",
        &[],
    ),
    info(
        "pagerank",
        "pages of highest PageRank first",
        "one PageRank run and a sort",
        &[],
    ),
    info(
        "pa",
        "after a sample: by PageRank from the sample's alive pages",
        "one more PageRank run and a sort",
        &[SAMPLE, SIZE],
    ),
    info(
        "pa-ratio",
        "after a sample: by PageRank from its alive pages over PageRank from its gone ones",
        "two more PageRank runs and a sort",
        &[SAMPLE, SIZE],
    ),
    info(
        "active-site-first",
        "after a sample of every site: the site with the largest alive share first",
        "a sort",
        &[
            ParameterInfo {
                name: "sample",
                default: "per-site",
                meaning: "per-site (the same number of random pages from every site that has as \
                          many) or a sample as for the other policies",
            },
            SIZE,
            ParameterInfo {
                name: "inside",
                default: "random",
                meaning: "the order within a site: random or pagerank",
            },
        ],
    ),
    info(
        "alive-bfs",
        "from alive pages breadth-first along old links",
        "O(links log pages) over the whole crawl",
        &[SAMPLE, SIZE],
    ),
    info(
        "alive-indegree",
        "the page most linked to from pages found alive next",
        "O(links log pages) over the whole crawl",
        &[SAMPLE, SIZE],
    ),
    info(
        "pa-recursive",
        "after a sample: PageRank from the pages that ranked highest, again and again; it stays \
         near the sample and fails",
        "1 + rounds more PageRank runs and sorts",
        &[
            SAMPLE,
            SIZE,
            ParameterInfo {
                name: "rounds",
                default: "5",
                meaning: "how often PageRank starts again from its own best pages, 0 to 100",
            },
        ],
    ),
    PolicyInfo {
        paper: "ours, from LiveRank",
        ..info(
            "pa-site",
            "pa-ratio times the odds of life in the page's site, so that pages which no link \
             leads to are judged by their site",
            "two more PageRank runs and a sort",
            &[SAMPLE, SIZE],
        )
    },
];

/// Makes the policy that a spec names.
pub fn build(spec: &Spec, start: &Start) -> Result<Box<dyn LivenessPolicy>, SpecError> {
    let Plan {
        order,
        sample,
        size,
    } = Plan::read(spec)?;
    let by = match sample {
        SampleFrom::None => None,
        SampleFrom::Common => Some(start.sample.by),
        SampleFrom::Own(by) => Some(by),
    };
    let size = size.map_or(Ok(start.sample.size), |size| {
        let pages = start.old.page_count();
        size.of(pages).map_err(|_| SpecError::BadValue {
            policy: spec.name().to_owned(),
            parameter: "size".to_owned(),
            value: size.to_string(),
            wanted: format!("at most the web's {pages} pages"),
        })
    })?;
    let sample = by.map(|by| Sample { by, size });
    Ok(match order {
        Ordered::Static(order) => start.live_rank(sample, order),
        Ordered::Diffusion(order) => start.live_rank(sample, order),
        Ordered::ActiveSite(order) => start.live_rank(sample, order),
        Ordered::AliveBfs => start.live_rank(sample, AliveBfs::default()),
        Ordered::AliveIndegree => start.live_rank(sample, AliveIndegree),
        Ordered::Tree { looks } => Box::new(Tree::new(&start.old, looks, start.seed)),
    })
}

/// Whether a spec names a liveness policy with possible parameters, before any web is read.
pub fn check(spec: &Spec) -> Result<(), SpecError> {
    Plan::read(spec).map(drop)
}

/// Whether the policy learns from every answer, so that no part of its order is known beforehand.
pub fn is_dynamic(spec: &Spec) -> Result<bool, SpecError> {
    let order = Plan::read(spec)?.order;
    Ok(matches!(
        order,
        Ordered::AliveBfs | Ordered::AliveIndegree | Ordered::Tree { .. }
    ))
}

impl Start {
    fn live_rank(
        &self,
        sample: Option<Sample>,
        order: impl Order + 'static,
    ) -> Box<dyn LivenessPolicy> {
        Box::new(LiveRank::new(&self.old, sample, self.seed, order))
    }
}

/// What a spec asks for.
struct Plan {
    order: Ordered,
    sample: SampleFrom,
    size: Option<SampleSize>,
}

enum Ordered {
    Static(StaticOrder),
    Diffusion(Diffusion),
    ActiveSite(ActiveSiteFirst),
    AliveBfs,
    AliveIndegree,
    Tree { looks: f64 },
}

enum SampleFrom {
    /// Nothing is tested first.
    None,
    /// As given for all.
    Common,
    /// As the spec says.
    Own(SampleBy),
}

impl Plan {
    fn read(spec: &Spec) -> Result<Self, SpecError> {
        let info = spec.find(Question::Liveness)?;
        let order = match info.name {
            "tree" => {
                let often = |looks: &f64| (0.0..=tree::LOOKS_MAX).contains(looks);
                let read = |value: &str| value.parse().ok().filter(often);
                let looks = spec.read("looks", 0.5, "a number from 0 to 100", read)?;
                Ordered::Tree { looks }
            }
            "random" => Ordered::Static(StaticOrder::Random),
            "indegree" => Ordered::Static(StaticOrder::Indegree),
            "pagerank" => Ordered::Static(StaticOrder::PageRank),
            "pa" => Ordered::Diffusion(Diffusion::Alive),
            "pa-ratio" => Ordered::Diffusion(Diffusion::Ratio),
            "pa-site" => Ordered::Diffusion(Diffusion::Site),
            "active-site-first" => {
                let inside = [("random", Inside::Random), ("pagerank", Inside::PageRank)];
                let inside = spec.choice("inside", Inside::Random, &inside)?;
                Ordered::ActiveSite(ActiveSiteFirst { inside })
            }
            "alive-bfs" => Ordered::AliveBfs,
            "alive-indegree" => Ordered::AliveIndegree,
            "pa-recursive" => {
                let read = |value: &str| value.parse().ok().filter(|rounds| *rounds <= 100);
                let rounds = spec.read("rounds", 5, "a number from 0 to 100", read)?;
                Ordered::Diffusion(Diffusion::Recursive { rounds })
            }
            other => unreachable!("{other} is in the catalogue but cannot be built"),
        };
        let sample = match &order {
            // The first pages of a random order are a random sample, so they may as well count.
            Ordered::Static(StaticOrder::Random) => SampleFrom::Own(SampleBy::Random),
            Ordered::Static(_) | Ordered::Tree { .. } => SampleFrom::None,
            Ordered::ActiveSite(_) => {
                let ways = [SampleBy::COMMON, &[("per-site", SampleBy::PerSite)]].concat();
                SampleFrom::Own(spec.choice("sample", SampleBy::PerSite, &ways)?)
            }
            Ordered::Diffusion(_) | Ordered::AliveBfs | Ordered::AliveIndegree => {
                let named = spec.get("sample").is_some();
                let by = spec.choice("sample", SampleBy::Random, SampleBy::COMMON)?;
                if named {
                    SampleFrom::Own(by)
                } else {
                    SampleFrom::Common
                }
            }
        };
        let wanted = "a number of pages such as 1000, or a share such as 2%";
        let size = spec.read("size", None, wanted, |value| value.parse().ok().map(Some))?;
        Ok(Self {
            order,
            sample,
            size,
        })
    }
}
