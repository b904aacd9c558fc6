//! The stored copies of one page, for the commands that show and compare them.

use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use anyhow::Context as _;
use turnstone_crawl::stored::{Outlined, StoredAnswer, Visible, outlined, visible};
use turnstone_fetch::Url;
use turnstone_fetch::html::Ignored;
use turnstone_fetch::urls::{UrlLimits, canonical_key, parse, shown};
use turnstone_frontier::PageId;
use turnstone_pagestore::warc::{self, HttpBlock};
use turnstone_pagestore::{Facts, Store};

use super::directory::Directory;
use super::shards;
use crate::exit::Usage;
use crate::moment::utc;

/// The longest record that is read.
const RECORD_BYTES_MAX: u64 = 256 << 20;

/// All copies of a page.
pub(crate) struct Copies {
    store: Rc<Store>,
    /// Where the WARC files are.
    archive: PathBuf,
    /// What of them does not count.
    ignored: Ignored,
    pub(crate) url: Url,
    /// Oldest first.
    pub(crate) all: Vec<Facts>,
}

/// A copy, out of the WARC files.
pub(crate) struct StoredCopy {
    pub(crate) head: Vec<u8>,
    pub(crate) body: Vec<u8>,
    status: u16,
    truncated: Option<String>,
    /// When the body came.
    pub(crate) wall_ms: u64,
}

/// A moment, as an option names it.
pub(crate) fn moment(text: &str) -> anyhow::Result<u64> {
    let found = warc::parse_warc_date(text);
    let what = || format!("'{text}' is no moment such as 2026-11-18T08:30:00Z");
    Ok(found.ok_or_else(|| Usage::of("--at", what()))?)
}

impl Copies {
    pub(crate) fn of(path: &Path, text: &str) -> anyhow::Result<Self> {
        let mut url = parse(text, &UrlLimits::default()).map_err(|error| {
            let what = format!(
                "{}: {error}; give a URL like https://example.org/",
                shown(text)
            );
            Usage::of("URL", what)
        })?;
        url.set_fragment(None);
        let looked = super::cluster::looked_at(path)?;
        let folder = shards::folder_of(&looked, &url)?;
        let directory = Directory::look(&folder)?;
        // Journals are copied from the servers where machines share a crawl; bodies lie where they were fetched.
        let path = match folder.file_name() {
            Some(shard) if looked != path => path.join(shards::FOLDER).join(shard),
            _ => folder,
        };
        let key = canonical_key(&url, &directory.plan.keys);
        let ignored = directory.plan.pages.ignored.clone();
        let store = directory.store;
        let page = store.index().find(store.keyer().key(&key));
        let page =
            page.with_context(|| format!("{}: the crawl never met it", shown(url.as_str())))?;
        let archive = path.join("warc");
        let copies = Self::in_store(&Rc::new(store), ignored, (url, page))?;
        Ok(Self { archive, ..copies })
    }

    /// Those of a page of a store that is looked at.
    pub(crate) fn in_store(
        store: &Rc<Store>,
        ignored: Ignored,
        (url, page): (Url, PageId),
    ) -> anyhow::Result<Self> {
        anyhow::ensure!(
            !store.index().is_forgotten(page),
            "{}: forgotten on request; nothing of it is kept (`turnstone why` tells more)",
            shown(url.as_str())
        );
        let all = store.copies(page)?;
        anyhow::ensure!(
            !all.is_empty(),
            "{}: no copy is stored; `turnstone why` tells the reason",
            shown(url.as_str())
        );
        Ok(Self {
            archive: store.archive_folder(),
            store: store.clone(),
            ignored,
            url,
            all,
        })
    }

    /// The copy that was current at a moment; the last without one.
    pub(crate) fn at(&self, moment_ms: Option<u64>) -> anyhow::Result<&Facts> {
        let until = moment_ms.unwrap_or(u64::MAX);
        // A moment is given to the second.
        let mut copies = self.all.iter().rev();
        let copy = copies.find(|copy| copy.wall_ms / 1000 <= until / 1000);
        copy.with_context(|| {
            let first = self.all.first().map_or(0, |copy| copy.wall_ms);
            format!(
                "{}: no copy is that old; the first is of {}",
                shown(self.url.as_str()),
                utc(first)
            )
        })
    }

    pub(crate) fn read(&self, copy: &Facts) -> anyhow::Result<StoredCopy> {
        let at = self.store.body_of(copy)?.with_context(|| {
            format!(
                "{}: its body is not in the WARC files (--no-warc, or an import that kept none)",
                shown(self.url.as_str())
            )
        })?;
        let read = self
            .store
            .read_record_in(&self.archive, at, RECORD_BYTES_MAX);
        let (record, block) = read.map_err(|error| {
            if self.archive.exists() || self.archive == self.store.archive_folder() {
                return anyhow::Error::from(error);
            }
            anyhow::anyhow!(
                "{}: its body is not on this machine; where machines share a crawl, the one that fetched a page has it",
                shown(self.url.as_str())
            )
        })?;
        let mut message =
            HttpBlock::read(block.as_slice()).with_context(|| shown(self.url.as_str()))?;
        let mut body = Vec::new();
        message.body.read_to_end(&mut body)?;
        Ok(StoredCopy {
            status: message.head.status().unwrap_or(copy.status),
            head: message.head.bytes().to_vec(),
            body,
            truncated: record.get("WARC-Truncated").map(str::to_owned),
            wall_ms: record.date_ms().unwrap_or(copy.wall_ms),
        })
    }

    fn answer<'a>(&'a self, copy: &'a StoredCopy) -> StoredAnswer<'a> {
        StoredAnswer {
            url: &self.url,
            status: copy.status,
            head: &copy.head,
            body: copy.body.clone(),
            truncated: copy.truncated.as_deref(),
            wall_ms: copy.wall_ms,
        }
    }

    /// Its links and fragments; nothing if it is no HTML.
    pub(crate) fn outlined(&self, copy: &StoredCopy) -> Option<Outlined> {
        outlined(self.answer(copy))
    }

    /// Its visible text, all of it.
    pub(crate) fn visible(&self, copy: &StoredCopy) -> anyhow::Result<Visible> {
        self.read_text(copy, &Ignored::default())
    }

    /// Its visible text, without what does not count.
    pub(crate) fn counted(&self, copy: &StoredCopy) -> anyhow::Result<Visible> {
        self.read_text(copy, &self.ignored)
    }

    fn read_text(&self, copy: &StoredCopy, ignored: &Ignored) -> anyhow::Result<Visible> {
        let answer = self.answer(copy);
        visible(answer, ignored).with_context(|| {
            format!(
                "{}: no text; --raw prints its bytes",
                shown(self.url.as_str())
            )
        })
    }
}
