//! Random small old crawls: a web, its sites, and what is alive of it now.

use std::sync::Arc;

use proptest::prelude::*;
use turnstone_frontier::{HostId, PageId, WholeGraphRank};
use turnstone_policy::Spec;
use turnstone_policy::liveness::{self, LivenessPolicy, OldCrawl, Sample, SampleBy, Start};

use crate::web::{Answer, Crawl, Web, web};

/// PageRank by plain power iteration, in the form in which pages without links leak.
pub(crate) struct Toy(pub(crate) Web);

impl WholeGraphRank for Toy {
    fn page_count(&self) -> usize {
        self.0.page_count()
    }

    fn rank(&self, teleport: &[f64]) -> Vec<f64> {
        let mut ranks = teleport.to_vec();
        for _ in 0..40 {
            let mut next: Vec<f64> = teleport.iter().map(|share| 0.15 * share).collect();
            for (page, links) in self.0.0.iter().enumerate() {
                for link in links {
                    next[link.index()] += 0.85 * ranks[page] / links.len() as f64;
                }
            }
            ranks = next;
        }
        ranks
    }

    fn indegree(&self) -> Vec<u32> {
        let mut counts = vec![0; self.0.page_count()];
        for link in self.0.0.iter().flatten() {
            counts[link.index()] += 1;
        }
        counts
    }
}

/// An old crawl and its fate.
#[derive(Clone, Debug)]
pub(crate) struct OldWeb {
    pub(crate) web: Web,
    pub(crate) sites: Vec<HostId>,
    pub(crate) alive: Vec<bool>,
    pub(crate) sample_size: usize,
    pub(crate) seed: u64,
}

pub(crate) fn old_web() -> impl Strategy<Value = OldWeb> {
    web().prop_flat_map(|web| {
        let pages = web.page_count();
        (
            Just(web),
            prop::collection::vec(0u32..5, pages),
            prop::collection::vec(prop::bool::ANY, pages),
            1..=pages,
            0u64..50,
        )
            .prop_map(|(web, sites, alive, sample_size, seed)| OldWeb {
                web,
                sites: sites.into_iter().map(HostId).collect(),
                alive,
                sample_size,
                seed,
            })
    })
}

impl OldWeb {
    pub(crate) fn start(&self, by: SampleBy) -> Start {
        Start {
            old: Arc::new(OldCrawl::new(Arc::new(Toy(self.web.clone())))),
            sample: Sample {
                by,
                size: self.sample_size,
            },
            seed: self.seed,
        }
    }

    pub(crate) fn policy(&self, spec: &str, by: SampleBy) -> Box<dyn LivenessPolicy> {
        liveness::build(&spec.parse::<Spec>().unwrap(), &self.start(by)).unwrap()
    }

    pub(crate) fn crawl(&self, spec: &str, by: SampleBy) -> Crawl<Box<dyn LivenessPolicy>> {
        let host_of = |page: PageId| self.sites[page.index()];
        Crawl::start_on_hosts(self.policy(spec, by), &self.web, host_of)
    }

    pub(crate) fn answer(&self, page: PageId) -> Answer {
        if self.alive[page.index()] {
            Answer::Page
        } else {
            Answer::Gone
        }
    }

    /// The order in which a policy tests all pages.
    pub(crate) fn order(&self, spec: &str, by: SampleBy) -> Vec<PageId> {
        let mut crawl = self.crawl(spec, by);
        while crawl.step(&self.web, |page, _| self.answer(page)) {}
        crawl.order
    }
}
