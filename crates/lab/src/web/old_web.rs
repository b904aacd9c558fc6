//! An old crawl and its fate: a web at one time, and which of its pages are there at a later one.
//!
//! A history has both times; a folder of histories is one web whose pages carry their site, each
//! site with times of its own. A graph needs a list of its alive pages. Links that lead out of the
//! old web are left out, as no policy can use them.
//!
//! A crawl directory knows the fate of the pages it looked at again: a page's fate is what the last
//! look after the first time and up to the second one told; that of all others is unknown.

use std::convert::Infallible;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use turnstone_frontier::{Chance, HostId, PageId, WholeGraphRank};
use turnstone_linkgraph::{GraphBuilder, LinkGraph, ReadError, UrlTable};
use turnstone_policy::changes::paths;
use turnstone_policy::liveness::OldCrawl;

use super::{GraphWeb, RecordedSite, WebError, WebKind, Words, open_graph, recognise};
use crate::history::{History, VersionId};

/// Which pages of a history make up the old crawl.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum From {
    /// Those present at a snapshot, with the links they had.
    Snapshot(usize),
    /// Every page seen before the later time, with the links last seen.
    All,
}

/// The two times of a history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Times {
    /// The old crawl.
    pub from: From,
    /// The snapshot that tells what is alive; none means the last.
    pub to: Option<usize>,
}

/// Why there is no old crawl to look at.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OldWebError {
    /// The web cannot be opened.
    #[error(transparent)]
    Web(#[from] WebError),
    /// The list of pages cannot be read.
    #[error(transparent)]
    List(#[from] ReadError),
    /// A list names a page that is not there.
    #[error("{}:{line}: there is no page '{name}' in the web; give ids or URLs as recorded", path.display())]
    UnknownPage {
        /// The list.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// What it says.
        name: String,
    },
    /// A list holds no page.
    #[error("{}: the list names no page", path.display())]
    EmptyList {
        /// The list.
        path: PathBuf,
    },
    /// A history with one snapshot has no later time.
    #[error("{}: the history has one snapshot, and liveness needs two times", path.display())]
    OneSnapshot {
        /// The history.
        path: PathBuf,
    },
    /// Nobody looked at any page again.
    #[error("{}: no page was fetched twice, so nothing is known of what became of any; look again \
             with `turnstone revive` or `turnstone refresh`", path.display())]
    NothingKnown {
        /// The crawl directory.
        path: PathBuf,
    },
    /// The old crawl is not older.
    #[error("{}: snapshot {from} is not before snapshot {to}", path.display())]
    NotBefore {
        /// The history.
        path: PathBuf,
        /// The old crawl.
        from: usize,
        /// What should be later.
        to: usize,
    },
    /// A graph does not know what is alive.
    #[error("{}: a link graph has one time only; say which pages are alive with a list", path.display())]
    NoAliveList {
        /// The graph.
        path: PathBuf,
    },
    /// A history knows what is alive.
    #[error("{}: a history tells itself what is alive; lists of pages are for link graphs", path.display())]
    ListForHistory {
        /// The history.
        path: PathBuf,
    },
}

/// An old crawl and its fate.
#[derive(Debug, Default)]
pub struct OldWeb {
    /// The pages and links as they were.
    pub web: GraphWeb,
    /// The site of each page; empty when addresses are not known.
    pub sites: Vec<HostId>,
    /// How many sites there are.
    pub site_count: usize,
    /// By page: whether it is still there, as far as is known.
    pub alive: Vec<bool>,
    /// By page: whether its fate is unknown. Empty where every fate is known.
    pub unknown: Vec<bool>,
    /// By page of known fate: one over the chance with which it was looked at. Empty where nothing
    /// hung on chance.
    pub weights: Vec<f64>,
}

impl OldWeb {
    /// How many pages are of unknown fate.
    pub fn unknown_count(&self) -> u64 {
        self.unknown.iter().filter(|unknown| **unknown).count() as u64
    }

    /// Whether the fate of a page is unknown.
    pub fn is_unknown(&self, page: PageId) -> bool {
        self.unknown.get(page.index()).copied().unwrap_or(false)
    }

    /// How many pages are still there.
    pub fn alive_count(&self) -> u64 {
        self.alive.iter().filter(|alive| **alive).count() as u64
    }

    /// The links as they were.
    pub fn graph(&self) -> &LinkGraph {
        &self.web.graph
    }

    /// The site of a page.
    pub fn site(&self, page: PageId) -> HostId {
        self.sites.get(page.index()).copied().unwrap_or_default()
    }

    /// What a policy may know of it: its links, and in which folder each page lies, where addresses
    /// are known.
    pub fn old_crawl(&self, ranks: Arc<dyn WholeGraphRank>) -> OldCrawl {
        let old = OldCrawl::new(ranks);
        let Some(urls) = &self.web.urls else {
            return old;
        };
        let pages = self.graph().pages();
        let sites: Vec<u32> = pages.map(|page| self.site(page).0).collect();
        let url_of = |page| Ok::<_, Infallible>(urls.url(PageId::from_index(page)).into());
        let Ok(folders) = paths::of_urls(&sites, url_of);
        old.in_folders(Arc::new(folders))
    }

    /// Histories at two times.
    pub fn of_histories(path: &Path, times: Times) -> Result<Self, OldWebError> {
        if let WebKind::Bv(path) | WebKind::Edges(path) = recognise(path)? {
            return Err(OldWebError::NoAliveList { path });
        }
        let mut growing = Growing::default();
        let mut crawled = false;
        for site in RecordedSite::all(path)? {
            crawled |= site.is_crawled();
            let history = site.read(Words::Skip)?;
            growing.add(&history, &site.name(), times)?;
        }
        let old = growing.finish();
        let path = || path.to_owned();
        // Of a crawl directory, no page at all means that none was there before the later time.
        if crawled && old.unknown_count() == old.graph().page_count() as u64 {
            return Err(OldWebError::NothingKnown { path: path() });
        }
        if old.graph().page_count() == 0 {
            return Err(WebError::Empty { path: path() }.into());
        }
        Ok(old)
    }

    /// A graph and a list of its alive pages; with a second list, only the pages on that one and
    /// the links between them make up the old crawl, because only their fate is known.
    pub fn of_graph(path: &Path, alive: &Path, among: Option<&Path>) -> Result<Self, OldWebError> {
        if let WebKind::History(path) = recognise(path)? {
            return Err(OldWebError::ListForHistory { path });
        }
        if let WebKind::Histories(_) = recognise(path)? {
            let path = path.to_owned();
            return Err(OldWebError::ListForHistory { path });
        }
        let web = open_graph(path)?;
        let alive = read_list(alive, &web)?;
        let (web, alive) = match among {
            None => (web, alive),
            Some(list) => {
                let kept = read_list(list, &web)?;
                if !kept.contains(&true) {
                    let path = list.to_owned();
                    return Err(OldWebError::EmptyList { path });
                }
                let pages: Vec<PageId> = web
                    .graph
                    .pages()
                    .filter(|page| kept[page.index()])
                    .collect();
                let alive = pages.iter().map(|page| alive[page.index()]).collect();
                (narrowed(&web, &pages), alive)
            }
        };
        let sites = web.host_ids();
        let site_count = web.hosts().map_or(1, |hosts| hosts.len());
        Ok(Self {
            web,
            sites,
            site_count,
            alive,
            ..Self::default()
        })
    }
}

/// Reads a list of pages, one id or URL a line: by page, whether it is on the list.
fn read_list(path: &Path, web: &GraphWeb) -> Result<Vec<bool>, OldWebError> {
    let names = UrlTable::read(path)?;
    let mut listed = vec![false; web.graph.page_count()];
    for line in 0..names.len() {
        let name = names.url(PageId::from_index(line)).trim();
        let page = web.find(name).ok_or_else(|| OldWebError::UnknownPage {
            path: path.to_owned(),
            line: line + 1,
            name: name.chars().take(200).collect(),
        })?;
        listed[page.index()] = true;
    }
    Ok(listed)
}

/// Some pages of a web, renumbered in their order, and the links between them.
fn narrowed(web: &GraphWeb, pages: &[PageId]) -> GraphWeb {
    let mut number = vec![None; web.graph.page_count()];
    for (index, page) in pages.iter().enumerate() {
        number[page.index()] = Some(PageId::from_index(index));
    }
    let mut builder = GraphBuilder::with_capacity(0, 0);
    let mut urls = web.urls.as_ref().map(|_| UrlTable::new());
    let mut links = Vec::new();
    for &page in pages {
        links.clear();
        links.extend(
            web.graph
                .links(page)
                .iter()
                .filter_map(|link| number[link.index()]),
        );
        builder.push(&links);
        if let (Some(urls), Some(all)) = (&mut urls, &web.urls) {
            urls.push(all.url(page));
        }
    }
    GraphWeb {
        graph: builder.finish(),
        urls,
    }
}

/// An old web to which one site after the other is added.
#[derive(Debug)]
struct Growing {
    builder: GraphBuilder,
    urls: UrlTable,
    sites: Vec<HostId>,
    alive: Vec<bool>,
    unknown: Vec<bool>,
    weights: Vec<f64>,
    site_count: usize,
}

impl Default for Growing {
    fn default() -> Self {
        Self {
            builder: GraphBuilder::with_capacity(0, 0),
            urls: UrlTable::new(),
            sites: Vec::new(),
            alive: Vec::new(),
            unknown: Vec::new(),
            weights: Vec::new(),
            site_count: 0,
        }
    }
}

impl Growing {
    fn add(&mut self, history: &History, file: &Path, times: Times) -> Result<(), OldWebError> {
        let to = check_times(history, file, times)?;
        let old = match times.from {
            From::Snapshot(from) => {
                let walk = history.at(from.min(history.snapshots.len() - 1));
                let pages = (0..history.page_count()).map(PageId::from_index);
                pages.map(|page| walk.version(page)).collect()
            }
            From::All => last_seen(history, to),
        };
        let now = history.at(to);
        let mut number = vec![None; history.page_count()];
        for (index, _) in old
            .iter()
            .enumerate()
            .filter(|(_, version)| version.is_some())
        {
            let page = PageId::from_index(index);
            number[index] = Some(self.urls.push(&history.address(page)));
            self.sites.push(HostId::from_index(self.site_count));
            let fate = match &history.looks {
                None => Some((now.version(page).is_some(), 0)),
                Some(looks) => {
                    let after = match times.from {
                        From::Snapshot(from) => Some(from),
                        From::All => looks.of(page).first().map(|look| look.snapshot as usize),
                    };
                    looks.fate(page, after, to, now.version(page))
                }
            };
            self.unknown.push(fate.is_none());
            let (alive, chance) = fate.unwrap_or((false, 0));
            self.alive.push(alive);
            self.weights.push(weight(chance));
        }
        let mut links: Vec<PageId> = Vec::new();
        for version in old.iter().flatten() {
            let targets = history.links_of(*version).iter();
            links.clear();
            links.extend(targets.filter_map(|link| number[link.index()]));
            links.sort_unstable();
            links.dedup();
            self.builder.push(&links);
        }
        self.site_count += 1;
        Ok(())
    }

    fn finish(self) -> OldWeb {
        OldWeb {
            web: GraphWeb {
                graph: self.builder.finish(),
                urls: Some(self.urls),
            },
            sites: self.sites,
            site_count: self.site_count,
            alive: self.alive,
            unknown: some(self.unknown, |unknown| *unknown),
            weights: some(self.weights, |weight| *weight != 1.0),
        }
    }
}

/// A list, or none if nothing in it matters.
fn some<T>(list: Vec<T>, matters: impl Fn(&T) -> bool) -> Vec<T> {
    if list.iter().any(matters) {
        list
    } else {
        Vec::new()
    }
}

/// One over a chance as the journal writes it.
pub(crate) fn weight(chance: u32) -> f64 {
    Chance::from_units(chance).weight()
}

/// The later of the two times, if both exist and are in order.
fn check_times(history: &History, file: &Path, times: Times) -> Result<usize, OldWebError> {
    let path = file.to_owned();
    let last = history.snapshots.len() - 1;
    if history.looks.is_some() {
        // A site that was crawled once, or later than others: what is not known of it is unknown.
        return Ok(times.to.unwrap_or(last).min(last));
    }
    if last == 0 {
        return Err(OldWebError::OneSnapshot { path });
    }
    let to = times.to.unwrap_or(last);
    let from = match times.from {
        From::Snapshot(from) => from,
        From::All => 0,
    };
    if let Some(&snapshot) = [from, to].iter().find(|snapshot| **snapshot > last) {
        return Err(WebError::NoSnapshot {
            path,
            snapshot,
            last,
        }
        .into());
    }
    if from >= to {
        return Err(OldWebError::NotBefore { path, from, to });
    }
    Ok(to)
}

/// By page: the last content it had before a snapshot.
fn last_seen(history: &History, before: usize) -> Vec<Option<VersionId>> {
    let mut last = vec![None; history.page_count()];
    for snapshot in &history.snapshots[..before] {
        for &(page, version) in &snapshot.set {
            last[page.index()] = Some(version);
        }
    }
    last
}
