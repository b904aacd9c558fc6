//! The stored pages of a crawl directory, as policies that ask about stored pages want them.
//!
//! Pages are numbered as the caller numbers them (in the order they were first fetched); links
//! lead among them only. What is costly (PageRank, neighbours) is computed when it is asked for.
//!
//! Not here: clusters. They need the words of pages, which a crawl directory does not keep.

use std::sync::{Arc, OnceLock};

use turnstone_frontier::{Links as _, PageId};
use turnstone_linkgraph::rank::{InLinks, PageRank, Teleport};
use turnstone_linkgraph::{GraphBuilder, LinkGraph};
use turnstone_pagestore::{Store, StoreError};
use turnstone_policy::changes::{self, ClusterMap, DirectoryTree, LinkMap, paths};

/// Stored pages and what lies between them.
#[derive(Debug)]
pub struct StoredPages {
    graph: LinkGraph,
    sites: Arc<[u32]>,
    directories: Arc<DirectoryTree>,
    link_map: OnceLock<Arc<LinkMap>>,
    importance: OnceLock<Arc<[f64]>>,
}

impl StoredPages {
    /// Reads the pages with these numbers in the store; here they are numbered from 0.
    pub fn read(store: &Store, pages: &[PageId]) -> Result<Self, StoreError> {
        let mut numbers = vec![u32::MAX; store.index().page_count()];
        for (number, page) in pages.iter().enumerate() {
            numbers[page.index()] = PageId::from_index(number).0;
        }
        let mut graph = GraphBuilder::with_capacity(pages.len(), pages.len() * 8);
        let mut buffer = Vec::new();
        let mut links = Vec::new();
        for page in pages {
            links.clear();
            let known = store.links_of(*page, &mut buffer).iter();
            let known = known.map(|link| PageId(numbers[link.index()]));
            links.extend(known.filter(|link| link.0 != u32::MAX));
            links.sort_unstable();
            links.dedup();
            graph.push(&links);
        }
        let (sites, directories) = places(store, pages)?;
        Ok(Self {
            graph: graph.finish(),
            sites,
            directories: Arc::new(directories),
            link_map: OnceLock::new(),
            importance: OnceLock::new(),
        })
    }

    /// The links between the pages.
    pub fn graph(&self) -> &LinkGraph {
        &self.graph
    }
}

/// By page its host, and the tree of all directories.
fn places(store: &Store, pages: &[PageId]) -> Result<(Arc<[u32]>, DirectoryTree), StoreError> {
    let index = store.index();
    let sites: Vec<u32> = pages.iter().map(|page| index.host(*page).0).collect();
    let directories = paths::of_urls(&sites, |number| Ok(store.url(pages[number])?.into()))?;
    Ok((sites.into(), directories))
}

impl changes::Store for StoredPages {
    fn sites(&self) -> Arc<[u32]> {
        Arc::clone(&self.sites)
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

    /// Every page alone: nothing is known of what pages look like.
    fn clusters(&self, _: usize) -> Arc<ClusterMap> {
        let none = vec![ClusterMap::NONE; self.graph.page_count()];
        Arc::new(ClusterMap::new(none, Vec::new()))
    }

    fn importance(&self) -> Arc<[f64]> {
        let rank = || {
            let in_links = InLinks::of(&self.graph);
            let ranked = PageRank::default().rank(&in_links, Teleport::Uniform, &mut |_| {});
            let total: f64 = ranked.scores.iter().sum();
            let scores = ranked
                .scores
                .iter()
                .map(|score| score / total.max(f64::MIN_POSITIVE));
            scores.collect::<Vec<f64>>().into()
        };
        Arc::clone(self.importance.get_or_init(rank))
    }
}
