//! One site of a recorded web with its past: a history on disk, or a site of a crawl directory.
//!
//! Sites are named first and read one at a time, so that memory need not hold them all.

use std::path::{Path, PathBuf};
use std::rc::Rc;

use turnstone_pagestore::{Store, shard_folders};

use super::{WebError, WebKind, history_files, recognise};
use crate::crawled::{SiteHistories, SnapshotBy};
use crate::history::{self, History};

/// Whether the frequent words of pages are read too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Words {
    /// They are, where there are any.
    Read,
    /// They are not.
    Skip,
}

/// A site that can be read.
#[derive(Clone, Debug)]
pub enum RecordedSite {
    /// A history on disk: every snapshot saw the whole site.
    File(PathBuf),
    /// A site of a crawl directory, by its number there: each round is a snapshot.
    Crawled(Rc<SiteHistories<Store>>, usize),
}

impl RecordedSite {
    /// The sites of a web that has a past, in order of name.
    pub fn all(path: &Path) -> Result<Vec<Self>, WebError> {
        let WebKind::CrawlDirectory(directory) = recognise(path)? else {
            let files = history_files(path)?;
            return Ok(files.into_iter().map(Self::File).collect());
        };
        let mut folders = shard_folders(&directory);
        if folders.is_empty() {
            folders.push(directory.clone());
        }
        // A site is in one shard.
        let mut sites: Vec<(String, Self)> = Vec::new();
        for folder in folders {
            let store = Store::look(&folder)?;
            let histories = Rc::new(SiteHistories::read(store, SnapshotBy::Round)?);
            for (number, origin) in histories.origins().enumerate() {
                let site = Self::Crawled(Rc::clone(&histories), number);
                sites.push((origin.to_owned(), site));
            }
        }
        sites.sort_by(|(a, _), (b, _)| a.cmp(b));
        let sites: Vec<Self> = sites.into_iter().map(|(_, site)| site).collect();
        if sites.is_empty() {
            return Err(WebError::NothingFetched { path: directory });
        }
        Ok(sites)
    }

    /// Whether what it was may be unknown.
    pub fn is_crawled(&self) -> bool {
        matches!(self, Self::Crawled(..))
    }

    /// Reads its history. A crawl directory keeps no words.
    pub fn read(&self, words: Words) -> Result<History, WebError> {
        Ok(match (self, words) {
            (Self::File(path), Words::Skip) => history::read(path)?,
            (Self::File(path), Words::Read) => history::read_with_terms(path)?,
            (Self::Crawled(histories, number), _) => histories.history(*number)?,
        })
    }

    /// What errors call it.
    pub fn name(&self) -> PathBuf {
        match self {
            Self::File(path) => path.clone(),
            Self::Crawled(histories, number) => {
                PathBuf::from(histories.origins().nth(*number).unwrap_or_default())
            }
        }
    }
}
