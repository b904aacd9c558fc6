//! Recorded webs: recognised by what is there, never by a flag.
//!
//! - `NAME.graph` + `NAME.properties`: a BV graph (say `NAME` or `NAME.graph`);
//! - `NAME.tsv[.zst|.gz]`: an edge list, with `NAME.urls[.zst|.gz]` beside it or not;
//! - `NAME.jsonl.zst`: a site history;
//! - a folder of histories;
//! - a crawl directory, with its link graph and the histories of its sites.

mod graph_web;
mod old_web;
pub mod page_list;
mod recorded_site;
mod recorded_web;
pub mod trusted;

pub use graph_web::GraphWeb;
pub(crate) use old_web::weight;
pub use old_web::{From, OldWeb, OldWebError, Times};
pub use recorded_site::{RecordedSite, Words};
pub use recorded_web::{Half, RecordedWeb};

use std::io;
use std::path::{Path, PathBuf};

use turnstone_linkgraph::{ReadError, bv, edges};
use turnstone_pagestore::{Joined, StoreError, shard_folders};

use crate::crawled::{self, ExportError};
use crate::history::{self, History, HistoryError};

/// The ending of a site history.
const HISTORY: &str = ".jsonl.zst";
/// The endings of an edge list.
const EDGES: [&str; 3] = [".tsv", ".tsv.zst", ".tsv.gz"];

/// What a path turned out to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WebKind {
    /// A link graph in BV format.
    Bv(PathBuf),
    /// A link graph as a list of links.
    Edges(PathBuf),
    /// The history of one site.
    History(PathBuf),
    /// The histories of several sites, by name.
    Histories(Vec<PathBuf>),
    /// A crawl directory.
    CrawlDirectory(PathBuf),
}

/// Why a recorded web could not be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WebError {
    /// There is nothing that looks like a web.
    #[error("{}: {what}; a recorded web is NAME.graph with NAME.properties, NAME.tsv[.zst|.gz], \
             NAME.jsonl.zst, a folder of .jsonl.zst files, or a crawl directory", path.display())]
    Unrecognised {
        /// Where it was looked for.
        path: PathBuf,
        /// What is there instead.
        what: &'static str,
    },
    /// The folder cannot be listed.
    #[error("{}: {source}", path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The link graph is damaged.
    #[error(transparent)]
    Graph(#[from] ReadError),
    /// The history is damaged.
    #[error(transparent)]
    History(#[from] HistoryError),
    /// The crawl directory cannot be read.
    #[error(transparent)]
    Crawl(#[from] StoreError),
    /// The history of a crawl directory cannot be made.
    #[error(transparent)]
    Crawled(#[from] ExportError),
    /// A crawl without a past.
    #[error("{}: no page was fetched yet: there is no history", path.display())]
    NothingFetched {
        /// The crawl directory.
        path: PathBuf,
    },
    /// It has no page.
    #[error("{}: the web has no page", path.display())]
    Empty {
        /// The web.
        path: PathBuf,
    },
    /// The snapshot asked for does not exist.
    #[error("{}: there is no snapshot {snapshot}; they are numbered 0 to {last}", path.display())]
    NoSnapshot {
        /// The history.
        path: PathBuf,
        /// The number asked for.
        snapshot: usize,
        /// The last number there is.
        last: usize,
    },
}

/// Tells what a path is.
pub fn recognise(path: &Path) -> Result<WebKind, WebError> {
    let text = path.as_os_str().to_string_lossy();
    let unrecognised = |what| {
        Err(WebError::Unrecognised {
            path: path.to_owned(),
            what,
        })
    };
    if path.join("store/journal").is_file() || !shard_folders(path).is_empty() {
        return Ok(WebKind::CrawlDirectory(path.to_owned()));
    }
    if path.is_dir() {
        let histories = histories_in(path)?;
        if histories.is_empty() {
            return unrecognised("the folder holds no history");
        }
        return Ok(WebKind::Histories(histories));
    }
    if text.ends_with(HISTORY) && path.is_file() {
        return Ok(WebKind::History(path.to_owned()));
    }
    if EDGES.iter().any(|ending| text.ends_with(ending)) && path.is_file() {
        return Ok(WebKind::Edges(path.to_owned()));
    }
    if bv::is_graph(path) {
        return Ok(WebKind::Bv(path.to_owned()));
    }
    let with = |ending: &str| PathBuf::from(format!("{text}{ending}"));
    if let Some(edges) = EDGES
        .iter()
        .map(|ending| with(ending))
        .find(|path| path.is_file())
    {
        return Ok(WebKind::Edges(edges));
    }
    if with(HISTORY).is_file() {
        return Ok(WebKind::History(with(HISTORY)));
    }
    unrecognised(if path.exists() {
        "not a recorded web"
    } else {
        "no such web"
    })
}

/// The link graph of any recorded web; of a history, the site as it was at its last snapshot.
pub fn open_graph(path: &Path) -> Result<GraphWeb, WebError> {
    let web = match recognise(path)? {
        WebKind::Bv(name) => GraphWeb::new(bv::read(&name)?),
        WebKind::Edges(file) => GraphWeb::new(edges::read(&file)?),
        WebKind::CrawlDirectory(directory) => crawled::graph(&Joined::look(&directory)?)?,
        WebKind::History(file) => {
            let history = history::read(&file)?;
            GraphWeb::of_history(&history, history.snapshots.len() - 1)
        }
        WebKind::Histories(files) => {
            let mut all = GraphWeb::default();
            for file in files {
                let history = history::read(&file)?;
                all.append(&GraphWeb::of_history(&history, history.snapshots.len() - 1));
            }
            all
        }
    };
    if web.graph.page_count() == 0 {
        return Err(WebError::Empty {
            path: path.to_owned(),
        });
    }
    Ok(web)
}

/// By page of [`open_graph`]: whether the record does not know what it links to. Empty where it knows
/// all, as everywhere but in a crawl directory.
pub fn unknown_pages(path: &Path) -> Result<Vec<bool>, WebError> {
    let WebKind::CrawlDirectory(directory) = recognise(path)? else {
        return Ok(Vec::new());
    };
    let unknown = crawled::never_asked(&Joined::look(&directory)?);
    Ok(if unknown.contains(&true) {
        unknown
    } else {
        Vec::new()
    })
}

/// The histories a path holds: the file itself, or each in a folder, to be read one at a time.
pub fn history_files(path: &Path) -> Result<Vec<PathBuf>, WebError> {
    match recognise(path)? {
        WebKind::History(file) => Ok(vec![file]),
        WebKind::Histories(files) => Ok(files),
        WebKind::Bv(path) | WebKind::Edges(path) => {
            let what = "a link graph without history, but this question needs snapshots over time";
            Err(WebError::Unrecognised { path, what })
        }
        WebKind::CrawlDirectory(path) => {
            let what = "a crawl directory, but files are wanted here; write them with \
                        `turnstone export history`";
            Err(WebError::Unrecognised { path, what })
        }
    }
}

/// Reads the histories a path holds, one at a time.
pub fn open_histories(
    path: &Path,
) -> Result<impl Iterator<Item = Result<History, WebError>>, WebError> {
    let sites = RecordedSite::all(path)?.into_iter();
    Ok(sites.map(|site| site.read(Words::Skip)))
}

fn histories_in(folder: &Path) -> Result<Vec<PathBuf>, WebError> {
    let fault = |source| WebError::Folder {
        path: folder.to_owned(),
        source,
    };
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(fault)? {
        let path = entry.map_err(fault)?.path();
        if path.as_os_str().to_string_lossy().ends_with(HISTORY) {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}
