//! Old fetches on disk, in the order of time: between reading sources and filling the store.
//!
//! WARC files are in the order of their crawler, indexes in that of the alphabet; a journal is in
//! the order of time. So what is read is gathered up to a bound, sorted, and written as a *run*;
//! taking in merges all runs. Each run begins with a line that says how far the sources were read
//! when it was written: what is on disk is never read again after a kill.
//!
//! Cost: the bound in memory, a window of 128 KB and its buffers for each run while merging; on disk
//! the text of URLs and links, packed. Limits: [`RUNS_MAX`].
//! Invariant: a run is whole or not there; the merge has one order, whatever was killed when.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Write as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use serde::{Deserialize, Serialize};
use turnstone_crawl::old_crawl::{Homes, OldFetch};
use turnstone_fetch::Url;

use super::skipped::{Place, Skipped};

/// The most runs that are merged.
const RUNS_MAX: usize = 1000;
/// How hard runs are packed: fast, with a window that keeps merging cheap.
const LEVEL: i32 = 1;
const WINDOW_LOG: u32 = 17;

/// How far the sources were read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ReadUpTo {
    /// Sources read to their end.
    pub(super) sources: usize,
    /// Records or lines read of the one after them.
    pub(super) records: u64,
}

/// The first line of a run.
#[derive(Debug, Default, Serialize, Deserialize)]
struct RunHead {
    read: ReadUpTo,
    fetches: u64,
    passed_over: u64,
    skipped: Skipped,
    homes: Homes,
}

/// What reading has brought so far.
#[derive(Debug, Default)]
pub(super) struct Spooled {
    /// How far the sources were read.
    pub(super) read: ReadUpTo,
    /// How many fetches are on disk.
    pub(super) fetches: u64,
    /// Records that are no fetch of a page.
    pub(super) passed_over: u64,
    /// What could not be read.
    pub(super) skipped: Skipped,
    /// Hosts.
    pub(super) homes: Homes,
}

/// Writes runs.
pub(super) struct Spool {
    folder: PathBuf,
    bytes_max: usize,
    runs: usize,
    /// Everything in finished runs, and what was noted since.
    spooled: Spooled,
    /// What is new since the last run.
    homes: Homes,
    waiting: Vec<(u64, String)>,
    waiting_bytes: usize,
}

impl Spool {
    /// Goes on in a folder where runs may be already.
    pub(super) fn open(folder: &Path, bytes_max: usize) -> anyhow::Result<Self> {
        let mut spool = Self {
            folder: folder.to_owned(),
            bytes_max,
            runs: 0,
            spooled: Spooled::default(),
            homes: Homes::default(),
            waiting: Vec::new(),
            waiting_bytes: 0,
        };
        while run_path(folder, spool.runs).exists() {
            let head = Run::open(folder, spool.runs)?.head;
            let so_far = &mut spool.spooled;
            so_far.homes.merge(head.homes);
            so_far.read = head.read;
            so_far.fetches += head.fetches;
            so_far.passed_over = head.passed_over;
            so_far.skipped = head.skipped;
            spool.runs += 1;
        }
        Ok(spool)
    }

    /// How far the sources were read.
    pub(super) fn read(&self) -> ReadUpTo {
        self.spooled.read
    }

    /// Adds a fetch. `records` of its source have been read with it.
    pub(super) fn add(&mut self, url: &Url, fetch: &OldFetch, records: u64) -> anyhow::Result<()> {
        self.homes.add(url, fetch.at);
        let line = serde_json::to_string(fetch)?;
        self.waiting_bytes += line.len() + size_of::<(u64, String)>();
        self.waiting.push((fetch.at, line));
        self.spooled.read.records = records;
        if self.waiting_bytes >= self.bytes_max {
            self.write_run()?;
        }
        Ok(())
    }

    /// Notes a record that is no fetch of a page.
    pub(super) fn pass_over(&mut self) {
        self.spooled.passed_over += 1;
    }

    /// Notes what cannot be read.
    pub(super) fn skip(&mut self, file: &str, place: Place, reason: impl Into<String>) {
        self.spooled.skipped.add(file, place, reason);
    }

    /// What was skipped, to be added to.
    pub(super) fn skipped(&mut self) -> &mut Skipped {
        &mut self.spooled.skipped
    }

    /// A source was read to its end.
    pub(super) fn source_done(&mut self) {
        self.spooled.read.sources += 1;
        self.spooled.read.records = 0;
    }

    /// All sources were read.
    pub(super) fn finish(mut self) -> anyhow::Result<Spooled> {
        if !self.waiting.is_empty() {
            self.write_run()?;
        }
        Ok(self.spooled)
    }

    fn write_run(&mut self) -> anyhow::Result<()> {
        if self.runs == RUNS_MAX {
            bail!("the sources hold too much for one import; import them in parts, oldest first");
        }
        // Stable: what has one date stays in the order it was read.
        self.waiting.sort_by_key(|(at, _)| *at);
        let homes = std::mem::take(&mut self.homes);
        let head = RunHead {
            read: self.spooled.read,
            fetches: self.waiting.len() as u64,
            passed_over: self.spooled.passed_over,
            skipped: self.spooled.skipped.clone(),
            homes,
        };
        let waiting = std::mem::take(&mut self.waiting);
        let text = serde_json::to_string(&head)?;
        let path = run_path(&self.folder, self.runs);
        crate::files::write_whole(&path, |out| {
            let mut packed = zstd::Encoder::new(out, LEVEL)?;
            packed.window_log(WINDOW_LOG)?;
            writeln!(packed, "{text}")?;
            for (_, line) in &waiting {
                writeln!(packed, "{line}")?;
            }
            packed.finish()?.flush()
        })?;
        self.spooled.fetches += head.fetches;
        self.spooled.homes.merge(head.homes);
        self.waiting_bytes = 0;
        self.runs += 1;
        Ok(())
    }
}

/// Whether anything was read into a folder.
pub(super) fn has_runs(folder: &Path) -> bool {
    run_path(folder, 0).exists()
}

fn run_path(folder: &Path, run: usize) -> PathBuf {
    folder.join(format!("run-{run:04}.zst"))
}

/// A run, being read.
struct Run {
    path: PathBuf,
    lines: io::Lines<BufReader<zstd::Decoder<'static, BufReader<File>>>>,
    head: RunHead,
}

impl Run {
    fn open(folder: &Path, run: usize) -> anyhow::Result<Self> {
        let path = run_path(folder, run);
        let open = || {
            let decoder = zstd::Decoder::new(File::open(&path)?)?;
            let mut lines = BufReader::new(decoder).lines();
            let first = lines.next().transpose()?.unwrap_or_default();
            anyhow::Ok((serde_json::from_str(&first)?, lines))
        };
        let (head, lines) = open().with_context(|| damaged(&path))?;
        Ok(Self { path, lines, head })
    }

    fn next(&mut self) -> anyhow::Result<Option<OldFetch>> {
        let Some(line) = self.lines.next() else {
            return Ok(None);
        };
        let read = || anyhow::Ok(serde_json::from_str(&line?)?);
        read().map(Some).with_context(|| damaged(&self.path))
    }
}

fn damaged(path: &Path) -> String {
    let folder = path.parent().unwrap_or(path);
    format!(
        "{}: damaged; remove the folder {} to read the sources again",
        path.display(),
        folder.display()
    )
}

/// Old fetches in the order of time.
pub(super) trait InTime {
    /// The next one.
    fn next(&mut self) -> anyhow::Result<Option<OldFetch>>;
}

impl InTime for Run {
    fn next(&mut self) -> anyhow::Result<Option<OldFetch>> {
        Run::next(self)
    }
}

/// Merges streams that are each in the order of time; of one date, the stream named first goes
/// first.
pub(super) struct Merge {
    streams: Vec<Box<dyn InTime>>,
    heads: Vec<Option<OldFetch>>,
    order: BinaryHeap<Reverse<(u64, usize)>>,
}

impl Merge {
    /// Merges all runs of a folder and more streams.
    pub(super) fn new(folder: &Path, more: Vec<Box<dyn InTime>>) -> anyhow::Result<Self> {
        let mut streams: Vec<Box<dyn InTime>> = Vec::new();
        while run_path(folder, streams.len()).exists() {
            streams.push(Box::new(Run::open(folder, streams.len())?));
        }
        streams.extend(more);
        let mut merge = Self {
            heads: Vec::new(),
            order: BinaryHeap::new(),
            streams,
        };
        for index in 0..merge.streams.len() {
            merge.heads.push(None);
            merge.advance(index)?;
        }
        Ok(merge)
    }

    /// The earliest date of all.
    pub(super) fn earliest(&self) -> Option<u64> {
        self.order.peek().map(|Reverse((at, _))| *at)
    }

    fn advance(&mut self, index: usize) -> anyhow::Result<()> {
        self.heads[index] = self.streams[index].next()?;
        if let Some(fetch) = &self.heads[index] {
            self.order.push(Reverse((fetch.at, index)));
        }
        Ok(())
    }
}

impl InTime for Merge {
    fn next(&mut self) -> anyhow::Result<Option<OldFetch>> {
        let Some(Reverse((_, index))) = self.order.pop() else {
            return Ok(None);
        };
        let fetch = self.heads[index].take();
        self.advance(index)?;
        Ok(fetch)
    }
}

/// Removes the folder when nothing in it is needed any more.
pub(super) fn remove(folder: &Path) -> anyhow::Result<()> {
    fs::remove_dir_all(folder).with_context(|| folder.display().to_string())
}
