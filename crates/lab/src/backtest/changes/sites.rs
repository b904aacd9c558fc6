//! Sites as one store: the pages of their first snapshots, and what each page was in every cycle.
//!
//! Cycle c looks at each site as it was c times so many weeks after its own first snapshot; after
//! its last one a site stands still. A content is a hash of what counts as the page (visible text
//! or bytes), so "changed" is a comparison of two numbers. The histories are read one after the
//! other and let go: what stays is 8 bytes a page and cycle, the first links, and what the pages
//! looked like.
//!
//! Invariant: pages are numbered in the order in which they join, within a cycle by site and page.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock};

use turnstone_frontier::PageId;
use turnstone_linkgraph::LinkGraph;
use turnstone_linkgraph::rank::{InLinks, PageRank, Teleport};
use turnstone_policy::changes::{ClusterMap, DirectoryTree, LinkMap, Store};

use super::paths;
use crate::cluster::{self, Look, Words};
use crate::history::{self, History, HistoryError, VersionId};

/// What counts as the content of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compare {
    /// The visible text.
    Text,
    /// The bytes.
    Raw,
}

/// How histories become a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Calendar {
    /// How many cycles.
    pub cycles: u32,
    /// How long each is.
    pub cycle_weeks: u32,
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
    site_of: Arc<[u32]>,
    /// By page: the cycle in which it joins; 0 is the start.
    joins: Vec<u32>,
    /// By cycle, 0 being the start, and page.
    contents: Vec<Vec<Content>>,
    graph: LinkGraph,
    directories: Arc<DirectoryTree>,
    looks: Vec<Look>,
    words: Words,
    link_map: OnceLock<Arc<LinkMap>>,
    importance: OnceLock<Arc<[f64]>>,
    features: OnceLock<cluster::Features>,
    /// By how many clusters were asked for.
    clusters: Mutex<BTreeMap<usize, Arc<ClusterMap>>>,
}

impl SiteStore {
    /// Reads the histories of some sites.
    pub fn read(
        files: &[PathBuf],
        calendar: Calendar,
        watch: &mut dyn FnMut(f64),
    ) -> Result<Self, HistoryError> {
        let mut gatherer = Gatherer::new(calendar);
        for (index, file) in files.iter().enumerate() {
            watch(index as f64 / files.len() as f64);
            gatherer.add(&history::read_with_terms(file)?);
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

/// One page as it is gathered, before pages are numbered.
struct Gathered {
    site: u32,
    joins: u32,
    directory: u32,
    look: Look,
    /// Where its site's pages and its own links begin among the gathered ones.
    links: Vec<PageId>,
    contents: Vec<Content>,
}

struct Gatherer {
    calendar: Calendar,
    sites: Vec<String>,
    pages: Vec<Gathered>,
    /// By site: by its own page number, the gathered page.
    numbers: Vec<Vec<Option<u32>>>,
    directories: paths::Directories,
    words: Words,
}

impl Gatherer {
    fn new(calendar: Calendar) -> Self {
        Self {
            calendar,
            sites: Vec::new(),
            pages: Vec::new(),
            numbers: Vec::new(),
            directories: paths::Directories::default(),
            words: Words::default(),
        }
    }

    fn add(&mut self, history: &History) {
        let site = self.sites.len() as u32;
        self.sites.push(history.site.clone());
        self.directories.begin_host();
        let words = self.words.adopt(&history.words);
        let mut numbers: Vec<Option<u32>> = vec![None; history.page_count()];
        let mut walk = history.walk();
        let mut next_snapshot = 0;
        for cycle in 0..=self.calendar.cycles {
            let days = 7 * i64::from(self.calendar.cycle_weeks) * i64::from(cycle);
            while history
                .dates
                .get(next_snapshot)
                .is_some_and(|date| i64::from(date.days_since(history.dates[0])) <= days)
            {
                walk.step();
                next_snapshot += 1;
            }
            if cycle == 0 || self.calendar.grow {
                for (page, version) in walk.present() {
                    if numbers[page.index()].is_none() {
                        numbers[page.index()] = Some(self.pages.len() as u32);
                        let gathered = self.gather(history, page, version, &words);
                        self.pages.push(Gathered {
                            site,
                            joins: cycle,
                            contents: vec![Content::ABSENT; cycle as usize],
                            ..gathered
                        });
                    }
                }
            }
            for (page, number) in numbers.iter().enumerate() {
                if let Some(number) = number {
                    let version = walk.version(PageId::from_index(page));
                    let content =
                        version.map_or(Content::ABSENT, |version| self.content(history, version));
                    self.pages[*number as usize].contents.push(content);
                }
            }
        }
        self.numbers.push(numbers);
    }

    fn content(&self, history: &History, version: VersionId) -> Content {
        let version = &history.versions[version.index()];
        Content::of(match self.calendar.compare {
            Compare::Text => version.text,
            Compare::Raw => version.raw,
        })
    }

    fn gather(
        &mut self,
        history: &History,
        page: PageId,
        version: VersionId,
        words: &[u32],
    ) -> Gathered {
        let url = &history.pages[page.index()].url;
        let terms = history.terms.row(version.index());
        Gathered {
            site: 0,
            joins: 0,
            directory: self.directories.of(url),
            look: Look::new(
                &history.versions[version.index()],
                terms
                    .iter()
                    .map(|(word, count)| (words[*word as usize], *count)),
                self.words.address(&history.origin, url),
            ),
            links: history.links_of(version).to_vec(),
            contents: Vec::new(),
        }
    }

    /// Numbers the pages in the order in which they join.
    fn finish(self) -> SiteStore {
        let mut order: Vec<u32> = (0..self.pages.len() as u32).collect();
        order.sort_by_key(|gathered| self.pages[*gathered as usize].joins);
        let mut number_of = vec![0u32; order.len()];
        for (number, gathered) in order.iter().enumerate() {
            number_of[*gathered as usize] = number as u32;
        }
        let mut pages: Vec<Option<Gathered>> = self.pages.into_iter().map(Some).collect();
        let cycles = self.calendar.cycles as usize + 1;
        let mut contents = vec![Vec::with_capacity(order.len()); cycles];
        let (mut joins, mut looks) = (Vec::new(), Vec::new());
        let mut graph = turnstone_linkgraph::GraphBuilder::with_capacity(order.len(), 0);
        let (mut site_of, mut directory_of) = (Vec::new(), Vec::new());
        for gathered in order {
            let page = pages[gathered as usize]
                .take()
                .expect("each page is numbered once");
            let numbers = &self.numbers[page.site as usize];
            let links = page.links.iter().filter_map(|link| numbers[link.index()]);
            let mut links: Vec<PageId> =
                links.map(|link| PageId(number_of[link as usize])).collect();
            links.sort_unstable();
            links.dedup();
            graph.push(&links);
            site_of.push(page.site);
            directory_of.push(page.directory);
            joins.push(page.joins);
            looks.push(page.look);
            for (cycle, content) in page.contents.iter().enumerate() {
                contents[cycle].push(*content);
            }
        }
        SiteStore {
            sites: self.sites,
            site_of: site_of.into(),
            joins,
            contents,
            graph: graph.finish(),
            directories: Arc::new(self.directories.tree(directory_of)),
            looks,
            words: self.words,
            link_map: OnceLock::new(),
            importance: OnceLock::new(),
            features: OnceLock::new(),
            clusters: Mutex::default(),
        }
    }
}
