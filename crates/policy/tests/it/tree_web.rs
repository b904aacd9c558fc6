//! Random small old crawls with folders, for the tree of places.

use std::collections::VecDeque;
use std::sync::Arc;

use proptest::prelude::*;
use turnstone_frontier::{
    Change, Event, Fault, HostId, Next, NoLinks, PageId, Politeness, Scheduler, Tick,
    WholeGraphRank,
};
use turnstone_policy::Spec;
use turnstone_policy::changes::DirectoryTree;
use turnstone_policy::liveness::{self, LivenessPolicy, OldCrawl, Sample, SampleBy, Start};

/// No links: the tree needs none.
struct Unlinked(usize);

impl WholeGraphRank for Unlinked {
    fn page_count(&self) -> usize {
        self.0
    }

    fn rank(&self, teleport: &[f64]) -> Vec<f64> {
        teleport.to_vec()
    }

    fn indegree(&self) -> Vec<u32> {
        vec![0; self.0]
    }
}

/// Pages in folders, and what is alive of them.
#[derive(Clone, Debug)]
pub(crate) struct Folders {
    /// By folder: the one above; itself for the top of a host.
    pub(crate) above: Vec<u32>,
    /// By page: its folder.
    pub(crate) of_page: Vec<u32>,
    pub(crate) alive: Vec<bool>,
}

/// Up to 40 pages in up to 14 folders; fate runs in folders, but not always.
pub(crate) fn folders() -> impl Strategy<Value = Folders> {
    (1usize..14, 1usize..40).prop_flat_map(|(folders, pages)| {
        (
            prop::collection::vec((0u32..100, 0u32..4), folders),
            prop::collection::vec(prop::bool::ANY, folders),
            prop::collection::vec((0..folders as u32, 0u32..5), pages),
        )
            .prop_map(|(above, dead, pages)| {
                // One folder in four is the top of a host.
                let above = above.iter().enumerate().map(|(folder, (any, kind))| {
                    if folder == 0 || *kind == 0 {
                        folder as u32
                    } else {
                        any % folder as u32
                    }
                });
                Folders {
                    above: above.collect(),
                    of_page: pages.iter().map(|page| page.0).collect(),
                    alive: pages
                        .iter()
                        .map(|(folder, luck)| dead[*folder as usize] == (*luck == 0))
                        .collect(),
                }
            })
    })
}

impl Folders {
    pub(crate) fn policy(&self, spec: &str, seed: u64) -> Box<dyn LivenessPolicy> {
        let tree = DirectoryTree::new(self.of_page.clone(), self.above.clone());
        let pages = self.of_page.len();
        let old = OldCrawl::new(Arc::new(Unlinked(pages))).in_folders(Arc::new(tree));
        let start = Start {
            old: Arc::new(old),
            sample: Sample {
                by: SampleBy::Random,
                size: 1,
            },
            seed,
        };
        liveness::build(&spec.parse::<Spec>().unwrap(), &start).unwrap()
    }

    /// The top of the host that a folder is on.
    pub(crate) fn top(&self, folder: u32) -> u32 {
        let above = self.above[folder as usize];
        if above == folder {
            folder
        } else {
            self.top(above)
        }
    }
}

/// A survey with requests in flight, which can be killed after every answer.
pub(crate) struct InFlight<'a> {
    folders: &'a Folders,
    pub(crate) scheduler: Scheduler<Box<dyn LivenessPolicy>>,
    open: VecDeque<PageId>,
    open_max: usize,
    pub(crate) order: Vec<PageId>,
}

impl<'a> InFlight<'a> {
    pub(crate) fn start(folders: &'a Folders, spec: &str, seed: u64, open_max: usize) -> Self {
        let mut scheduler = Scheduler::new(folders.policy(spec, seed), Politeness::OFF);
        for (index, folder) in folders.of_page.iter().enumerate() {
            let event = Event::Discovered {
                page: PageId::from_index(index),
                host: HostId(folders.top(*folder)),
                seed: false,
            };
            scheduler.observe(&event, Tick(0), &NoLinks);
        }
        Self {
            folders,
            scheduler,
            open: VecDeque::new(),
            open_max,
            order: Vec::new(),
        }
    }

    /// One answer more, of the page asked for first. None when nothing is left.
    pub(crate) fn step(&mut self) -> Option<PageId> {
        while self.open.len() < self.open_max {
            let Next::Fetch(page) = self.scheduler.next(Tick(0)) else {
                break;
            };
            self.order.push(page);
            self.open.push_back(page);
        }
        let page = self.open.pop_front()?;
        let event = if self.folders.alive[page.index()] {
            Event::Fetched {
                page,
                change: Change::New,
                links: &[],
            }
        } else {
            let fault = Fault::Gone;
            Event::Failed { page, fault }
        };
        self.scheduler.observe(&event, Tick(0), &NoLinks);
        Some(page)
    }

    /// Dies and comes back; what was in flight is lost and asked for again.
    pub(crate) fn kill(&mut self, spec: &str, seed: u64) {
        let mut saved = Vec::new();
        self.scheduler.save(&mut saved).unwrap();
        let fresh = self.folders.policy(spec, seed);
        self.scheduler = Scheduler::restore(fresh, &mut saved.as_slice()).unwrap();
    }
}
