//! A crawl as one file that replays in a browser: WACZ 1.1.1, a ZIP of WARC files, index, page list and digests.
//!
//! | in the ZIP | what it is |
//! |---|---|
//! | `archive/*.warc.gz` | the WARC files as they are; of the one being written what the journal acknowledges |
//! | `indexes/index.cdx.gz`, `index.idx` | the index in order, in blocks of gzip that a reader finds by bisection |
//! | `pages/pages.jsonl` | every stored page with its title, the first seed first |
//! | `datapackage.json`, `datapackage-digest.json` | what is in the ZIP, with SHA-256 of each, and that of the list |
//!
//! Everything is stored and not packed again, so that a reader can take a record out of the middle. A crawl may run
//! meanwhile: what is written is its state at one moment. The same crawl gives the same bytes, but for the date in
//! `datapackage.json`.
//!
//! Cost: one copy of the WARC files; memory for sorting the index, bounded, and the central directory of the ZIP.

mod index;
mod package;

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, Write};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use turnstone_frontier::PageId;
use turnstone_pagestore::warc::{INDEX_NAME, SortError, Uploaded, warc_date};
use turnstone_pagestore::{Joined, Store, StoreError};

use crate::package::Package;

/// What a package is called, and where it is made.
#[derive(Clone, Copy, Debug)]
pub struct Order<'a> {
    /// The crawl directory.
    pub directory: &'a Path,
    /// A title for people.
    pub title: &'a str,
    /// What software made it, such as `turnstone/0.1.0`.
    pub software: &'a str,
    /// Now, in milliseconds of 1970.
    pub now_ms: u64,
    /// Where temporary files may be: as large as the index.
    pub scratch: &'a Path,
}

/// What was packed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Packed {
    /// WARC files.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Lines of the index.
    pub captures: u64,
    /// Pages in the list.
    pub pages: u64,
}

/// Why a crawl was not packed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WaczError {
    /// The crawl cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The file cannot be written.
    #[error(transparent)]
    Write(#[from] io::Error),
    /// The file cannot be written as ZIP.
    #[error("as ZIP: {0}")]
    Zip(#[from] zip::result::ZipError),
    /// The index cannot be put in order.
    #[error(transparent)]
    Sort(#[from] SortError),
    /// There is nothing to replay.
    #[error("{}: no WARC files: this crawl kept no bodies (--no-warc), or none yet", .0.display())]
    NoArchive(PathBuf),
    /// A file that is to be packed cannot be read.
    #[error("{}: {source}", .path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A WARC file was brought to an object store and dropped here.
    #[error("{}: this file is at {place}; `turnstone upload DIR --back` brings it back", .path.display())]
    Elsewhere {
        /// Which.
        path: PathBuf,
        /// Where it is.
        place: String,
    },
    /// A file is shorter than the journal says.
    #[error("{}: {is} bytes, but the journal says {should}; put the file back from a copy", .path.display())]
    Short {
        /// Which.
        path: PathBuf,
        /// Its length.
        is: u64,
        /// What it should be.
        should: u64,
    },
    /// Two shards of an older release have files of one name.
    #[error(
        "two shards have WARC files called {0}: this crawl was begun by an older release; pack each shard by itself"
    )]
    Twice(String),
}

/// Packs a crawl; `tell` is told how much of it is done, from 0 to 1.
pub fn pack<W: Write + Seek>(
    order: Order<'_>,
    out: W,
    mut tell: impl FnMut(f64),
) -> Result<Packed, WaczError> {
    let crawl = Joined::look(order.directory)?;
    let parts = parts(&crawl)?;
    if parts.is_empty() {
        return Err(WaczError::NoArchive(order.directory.to_owned()));
    }
    let mut packed = Packed {
        files: parts.len() as u64,
        bytes: parts.iter().map(|part| part.bytes).sum(),
        ..Packed::default()
    };
    let mut package = Package::begin(out);
    let mut done = 0;
    for part in &parts {
        package.file(&format!("archive/{}", part.name), |to| {
            let mut from = BufReader::with_capacity(1 << 20, part.open()?).take(part.bytes);
            let mut copied = 0;
            loop {
                let piece = from.fill_buf()?;
                if piece.is_empty() {
                    break;
                }
                to.write_all(piece)?;
                let count = piece.len();
                from.consume(count);
                copied += count as u64;
                tell((done + copied) as f64 / packed.bytes.max(1) as f64);
            }
            done += copied;
            match copied == part.bytes {
                true => Ok(()),
                false => Err(part.short(copied)),
            }
        })?;
    }
    packed.captures = index::write(&crawl, order.scratch, &mut package)?;
    let first = pages(&crawl, &mut package, &mut packed.pages)?;
    let mut about = json!({
        "profile": "data-package",
        "wacz_version": "1.1.1",
        "title": order.title,
        "software": order.software,
        "created": warc_date(order.now_ms),
    });
    if let Some((url, ms)) = first {
        about["mainPageUrl"] = Value::from(url);
        about["mainPageDate"] = Value::from(warc_date(ms));
    }
    package.finish(about)?;
    Ok(packed)
}

/// A WARC file, as far as the journal acknowledges it.
struct Part {
    name: String,
    path: PathBuf,
    bytes: u64,
}

impl Part {
    fn open(&self) -> Result<File, WaczError> {
        let path = self.path.clone();
        File::open(&self.path).map_err(|source| WaczError::File { path, source })
    }

    fn short(&self, is: u64) -> WaczError {
        WaczError::Short {
            path: self.path.clone(),
            is,
            should: self.bytes,
        }
    }
}

fn parts(crawl: &Joined) -> Result<Vec<Part>, WaczError> {
    let mut parts: Vec<Part> = Vec::new();
    for store in crawl.stores() {
        let Some(last) = store.index().capture() else {
            continue;
        };
        let archive = store.archive();
        for number in 1..=last.file {
            let name = archive.file_name(number);
            if parts.iter().any(|part| part.name == name) {
                return Err(WaczError::Twice(name));
            }
            let closed = store.archive_folder().join(&name);
            let open = store.archive_folder().join(format!("{name}.open"));
            let path = if closed.exists() { closed } else { open };
            let length = match path.metadata() {
                Ok(metadata) => metadata.len(),
                Err(source) => {
                    let closed = store.archive_folder().join(&name);
                    return Err(match Uploaded::of(&closed) {
                        Ok(Some(note)) => WaczError::Elsewhere {
                            path: closed,
                            place: note.place,
                        },
                        _ => WaczError::File {
                            path: closed,
                            source,
                        },
                    });
                }
            };
            let is_last = number == last.file;
            let bytes = if is_last { last.file_end } else { length };
            let part = Part { name, path, bytes };
            if length < bytes {
                return Err(part.short(length));
            }
            parts.push(part);
        }
    }
    Ok(parts)
}

/// The list of pages; returns the one to begin with, and when it was fetched.
fn pages<W: Write + Seek>(
    crawl: &Joined,
    package: &mut Package<W>,
    count: &mut u64,
) -> Result<Option<(String, u64)>, WaczError> {
    let all = crawl.stores().iter().enumerate();
    let seeds: Vec<(usize, PageId)> = all
        .flat_map(|(shard, store)| store.index().seeds().iter().map(move |seed| (shard, *seed)))
        .collect();
    let is_seed: HashSet<(usize, PageId)> = seeds.iter().copied().collect();
    let mut first = None;
    package.file("pages/pages.jsonl", |to| {
        let head = json!({"format": "json-pages-1.0", "id": "pages", "title": "All pages", "hasText": false});
        writeln!(to, "{head}")?;
        let others = crawl.pages().filter(|page| !is_seed.contains(page));
        for (shard, page) in seeds.iter().copied().chain(others) {
            let store = &crawl.stores()[shard];
            let Some((line, ms)) = line(store, (shard, page))? else {
                continue;
            };
            if first.is_none() {
                let url = line["url"].as_str().unwrap_or_default().to_owned();
                first = Some((url, ms));
            }
            writeln!(to, "{line}")?;
            *count += 1;
        }
        Ok(())
    })?;
    Ok(first)
}

/// A page as the list tells of it; nothing if it cannot be replayed as a page.
fn line(store: &Store, (shard, page): (usize, PageId)) -> Result<Option<(Value, u64)>, WaczError> {
    if !store.index().is_stored(page) {
        return Ok(None);
    }
    let Some(copy) = store.copies(page)?.pop() else {
        return Ok(None);
    };
    let is_page = copy.capture.is_some() && copy.mime.contains("html");
    if !is_page {
        return Ok(None);
    }
    let url = store.url(page)?;
    let line = json!({
        "id": format!("{shard}-{}", page.0),
        "url": url,
        "ts": warc_date(copy.wall_ms),
        "title": if copy.title.is_empty() { &url } else { &copy.title },
        "seed": store.index().is_seed(page),
    });
    Ok(Some((line, copy.wall_ms)))
}

/// The part of an index that the journal acknowledges.
fn acknowledged(store: &Store) -> Result<Option<io::Take<File>>, WaczError> {
    let Some(last) = store.index().capture() else {
        return Ok(None);
    };
    let path = store.archive_folder().join(INDEX_NAME);
    let file = File::open(&path).map_err(|source| WaczError::File { path, source })?;
    Ok(Some(file.take(last.index_end)))
}
