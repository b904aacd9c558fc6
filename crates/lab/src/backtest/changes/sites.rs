//! Sites as one store: the pages of their first snapshots, and what each page was in every cycle.
//!
//! Cycle c looks at each site as it was c times so many weeks after its own first snapshot; after
//! its last one a site stands still. A content is a hash of what counts as the page (visible text
//! or bytes), so "changed" is a comparison of two numbers. The histories are read one after the
//! other and let go: what stays is 8 bytes a page and cycle, the first links, and what the pages
//! looked like.
//!
//! Where a cycle is a snapshot, cycle c looks at each site as it was at its own snapshot c. A crawl
//! directory does not know what every page was in every cycle: see [`SiteStore::known`].
//!
//! Invariant: pages are numbered in the order in which they join, within a cycle by site and page.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock};

use serde::Serialize;
use turnstone_frontier::{PageId, Tick};
use turnstone_linkgraph::LinkGraph;
use turnstone_linkgraph::rank::{InLinks, PageRank, Teleport};
use turnstone_policy::changes::{ClusterMap, DirectoryTree, LinkMap, Store};

use super::gather::Gatherer;
use crate::cluster::{self, Look, Words};
use crate::history::{History, Known};
use crate::web::{self, RecordedSite, WebError};

/// What counts as the content of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Compare {
    /// The visible text.
    Text,
    /// The bytes.
    Raw,
}

/// How long a cycle is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// So many weeks.
    Weeks(u32),
    /// From one snapshot to the next.
    Snapshots,
}

/// How histories become a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Calendar {
    /// How many cycles; where each is a snapshot, at most.
    pub cycles: u32,
    /// How long each is.
    pub pace: Pace,
    /// What counts as a change.
    pub compare: Compare,
    /// Whether pages born later join.
    pub grow: bool,
}

/// What a page is in a cycle: a hash of its content.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Content(u64);

impl Content {
    /// The page is not there.
    pub const ABSENT: Self = Self(0);

    /// A content with this hash.
    pub fn of(hash: u64) -> Self {
        // 0 is taken.
        Self(hash.max(1))
    }
}

/// The sites as one store.
#[derive(Debug)]
pub struct SiteStore {
    /// The names of the sites.
    pub sites: Vec<String>,
    pub(super) site_of: Arc<[u32]>,
    /// By page: the cycle in which it joins; 0 is the start.
    pub(super) joins: Vec<u32>,
    /// By cycle, 0 being the start, and page.
    pub(super) contents: Vec<Vec<Content>>,
    /// By cycle and page: how well its content is known. Empty where all is seen.
    pub(super) known: Vec<Vec<Known>>,
    /// By cycle: when it is.
    pub(super) ticks: Vec<Tick>,
    pub(super) pace: Pace,
    pub(super) graph: LinkGraph,
    pub(super) directories: Arc<DirectoryTree>,
    pub(super) looks: Vec<Look>,
    pub(super) words: Words,
    pub(super) link_map: OnceLock<Arc<LinkMap>>,
    pub(super) importance: OnceLock<Arc<[f64]>>,
    pub(super) features: OnceLock<cluster::Features>,
    /// By how many clusters were asked for.
    pub(super) clusters: Mutex<BTreeMap<usize, Arc<ClusterMap>>>,
}

impl SiteStore {
    /// Reads the histories of some sites.
    pub fn read(
        sites: &[RecordedSite],
        calendar: Calendar,
        watch: &mut dyn FnMut(f64),
    ) -> Result<Self, WebError> {
        let mut gatherer = Gatherer::new(calendar);
        for (index, site) in sites.iter().enumerate() {
            watch(index as f64 / sites.len() as f64);
            gatherer.add(&site.read(web::Words::Read)?);
        }
        Ok(gatherer.finish())
    }

    /// The store of some histories at hand.
    pub fn of(histories: &[History], calendar: Calendar) -> Self {
        let mut gatherer = Gatherer::new(calendar);
        for history in histories {
            gatherer.add(history);
        }
        gatherer.finish()
    }

    /// How many pages there are, those that join later included.
    pub fn page_count(&self) -> usize {
        self.joins.len()
    }

    /// How many pages are there at the start.
    pub fn first_pages(&self) -> usize {
        self.joins.partition_point(|cycle| *cycle == 0)
    }

    /// How many links lead from stored pages to stored pages.
    pub fn link_count(&self) -> u64 {
        self.graph.link_count()
    }

    /// The links of the pages as they joined.
    pub fn graph(&self) -> &LinkGraph {
        &self.graph
    }

    /// How many cycles were recorded, the start not counted.
    pub fn cycles(&self) -> u32 {
        self.contents.len() as u32 - 1
    }

    /// The pages that join in a cycle.
    pub fn joining(&self, cycle: u32) -> impl Iterator<Item = PageId> + '_ {
        let from = self.joins.partition_point(|joins| *joins < cycle);
        let to = self.joins.partition_point(|joins| *joins <= cycle);
        (from..to).map(PageId::from_index)
    }

    /// How many pages have joined by a cycle.
    pub fn joined(&self, cycle: u32) -> usize {
        self.joins.partition_point(|joins| *joins <= cycle)
    }

    /// By page: what it is in a cycle. Cycle 0 is the start.
    pub fn contents(&self, cycle: u32) -> &[Content] {
        &self.contents[cycle as usize]
    }

    /// How well it is known what a page is in a cycle.
    pub fn known(&self, cycle: u32, page: PageId) -> Known {
        let known = self.known.get(cycle as usize);
        known.map_or(Known::Seen(0), |known| known[page.index()])
    }

    /// Whether what some page was in some cycle is unknown.
    pub fn has_unknown(&self) -> bool {
        let mut known = self.known.iter().flatten();
        known.any(|known| !known.is_known())
    }

    /// Page-cycles after the start that are known, and all of them.
    pub fn known_share(&self) -> (u64, u64) {
        let all = (1..=self.cycles())
            .map(|cycle| self.joined(cycle) as u64)
            .sum();
        let unknown = |cycle: u32| {
            let pages = (0..self.joined(cycle)).map(PageId::from_index);
            pages.filter(move |page| !self.known(cycle, *page).is_known())
        };
        let unknown: usize = (1..=self.cycles())
            .map(|cycle| unknown(cycle).count())
            .sum();
        (all - unknown as u64, all)
    }

    /// How long a cycle is.
    pub fn pace(&self) -> Pace {
        self.pace
    }

    /// When a cycle is.
    pub fn tick(&self, cycle: u32) -> Tick {
        self.ticks[cycle as usize]
    }

    /// The site of a page.
    pub fn site(&self, page: PageId) -> u32 {
        self.site_of[page.index()]
    }
}

impl Store for SiteStore {
    fn sites(&self) -> Arc<[u32]> {
        Arc::clone(&self.site_of)
    }

    fn links(&self) -> Arc<LinkMap> {
        let draw = || {
            let links: Vec<&[PageId]> = self
                .graph
                .pages()
                .map(|page| self.graph.links(page))
                .collect();
            Arc::new(LinkMap::new(links.iter().copied()))
        };
        Arc::clone(self.link_map.get_or_init(draw))
    }

    fn directories(&self) -> Arc<DirectoryTree> {
        Arc::clone(&self.directories)
    }

    fn clusters(&self, count: usize) -> Arc<ClusterMap> {
        let draw = || {
            let first = &self.looks[..self.first_pages()];
            let features = self
                .features
                .get_or_init(|| cluster::Features::of(first, &self.words, &self.graph));
            let mut clusters = features.clusters(count);
            // Pages that join later look like nothing yet.
            clusters.of_page.resize(self.page_count(), ClusterMap::NONE);
            Arc::new(ClusterMap::new(clusters.of_page, clusters.nearest))
        };
        let mut drawn = self
            .clusters
            .lock()
            .expect("nobody panics while drawing clusters");
        Arc::clone(drawn.entry(count).or_insert_with(draw))
    }

    fn importance(&self) -> Arc<[f64]> {
        let rank = || {
            let in_links = InLinks::of(&self.graph);
            let ranked = PageRank::default().rank(&in_links, Teleport::Uniform, &mut |_| {});
            let total: f64 = ranked.scores.iter().sum();
            let scores = ranked.scores.iter().map(|score| score / total);
            scores.collect::<Vec<f64>>().into()
        };
        Arc::clone(self.importance.get_or_init(rank))
    }
}
