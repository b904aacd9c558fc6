//! `turnstone import SOURCE… -o DIR`
//!
//! Two steps. *Reading* turns every source into old fetches and sorts them by time on disk
//! (`spool`); *taking in* merges them and tells the ledger of each ([`TakeIn`]). Both can be killed at any moment
//! and go on when the same command is given again: reading from the last whole run, taking in
//! from the last note in the journal. Graphs and histories are in the order of time as they are,
//! so they are merged straight from memory.

mod cdx;
mod graph;
mod history;
mod parquet;
mod plan;
mod skipped;
mod source;
mod spool;
mod summary;
mod url_list;
mod warc;
mod zst;

use std::collections::VecDeque;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::Args;
use serde::{Deserialize, Serialize};
use serde_json::json;
use turnstone_crawl::old_crawl::{Came, Reach, TakeIn, Taken, TakenBefore};
use turnstone_crawl::stored::AnswerReader;
use turnstone_fetch::Url;
use turnstone_fetch::urls::KeyOptions;
use turnstone_frontier::{Politeness, Tick};
use turnstone_lab::crawled::WHOLE_SITE;
use turnstone_ledger::{DAY_MS, IMPORT, sow, telling};
use turnstone_pagestore::{Each, Entry, Onward, Position, Store};

use self::graph::Graph;
use self::history::Past;
use self::plan::{Plan, Window};
use self::skipped::Skipped;
use self::source::Kind;
use self::spool::{InTime, Merge, Spool, Spooled};
use self::summary::Summary;
use super::crawl::config::{Config, ScopeConfig};
use super::live;
use crate::exit::{Exit, Usage};
use crate::output::Output;
use crate::progress::Progress;

/// Fetches between two notes of how far the import is.
const NOTE_EVERY: u64 = 1000;
/// Memory for sorting.
const SORT_BYTES: usize = 128 << 20;
/// Bytes that wait to be written at most, but for one fetch.
const WAITING_BYTES_MAX: usize = 4 << 20;

/// Bring an old crawl into a crawl directory
///
/// Pages, links and the outcome of each fetch, in the order of time: from WARC files, CDX or CDXJ
/// indexes, captures in Parquet (as `export captures` and Common Crawl write them), lists of URLs, edge lists, BV graphs and site histories, or folders of them. Several
/// crawls of the same sites become one history. An import that was killed goes on when the same
/// command is given again. The sources are only read, and pages are not copied: the facts of each
/// fetch say where it is.
#[derive(Debug, Args)]
pub(crate) struct Import {
    /// Files or folders; the command recognises their kind by their content
    #[arg(value_name = "SOURCE", required = true)]
    sources: Vec<PathBuf>,
    /// The crawl directory, made if it is not there
    #[arg(short, long, value_name = "DIR")]
    output: PathBuf,
    /// Keep links to any host [default: those to hosts that the sources hold pages of]
    #[arg(long)]
    everywhere: bool,
    /// Leave out what was fetched before this date, like 2019-03-10
    #[arg(long, value_name = "DATE")]
    since: Option<String>,
    /// Leave out what was fetched at this date or later
    #[arg(long, value_name = "DATE")]
    until: Option<String>,
    /// When pages of lists and graphs without dates were fetched [default: the date of the file]
    #[arg(long, value_name = "DATE")]
    date: Option<String>,
    /// Stop after so many fetches; the same command without it goes on
    #[arg(long, value_name = "N")]
    limit: Option<u64>,
    /// Memory for sorting, in bytes
    #[arg(long, value_name = "BYTES", default_value_t = SORT_BYTES)]
    sort_bytes: usize,
}

impl Import {
    /// One source into a directory, with everything else as by default.
    pub(crate) fn of(source: PathBuf, output: PathBuf) -> Self {
        Self {
            sources: vec![source],
            output,
            everywhere: false,
            since: None,
            until: None,
            date: None,
            limit: None,
            sort_bytes: SORT_BYTES,
        }
    }

    /// The first thing to be imported that is not as wanted. Lists are read for it, nothing else.
    pub(crate) fn look_for(&self, wanted: impl Fn(&Url) -> bool) -> anyhow::Result<Option<Other>> {
        for source in source::find(&self.sources)? {
            let found = match source.kind {
                Kind::UrlList => url_list::find(&source, &wanted)?.map(Other::Page),
                Kind::Warc | Kind::Cdx | Kind::Parquet | Kind::Graph | Kind::History => {
                    Some(Other::Unread(source.path))
                }
            };
            if found.is_some() {
                return Ok(found);
            }
        }
        Ok(None)
    }

    pub(crate) fn run(self, output: &Output) -> anyhow::Result<Exit> {
        let summary = self.carry_out()?;
        summary.print(output)?;
        if summary.is_whole() {
            Ok(Exit::Done)
        } else {
            output.note("turnstone: --limit ended the import early; the same command without it imports the rest");
            Ok(Exit::Limit)
        }
    }

    /// Imports; prints nothing but how far it is.
    pub(crate) fn carry_out(self) -> anyhow::Result<Summary> {
        let directory = self.output.as_path();
        let window = Window::read(self.since.as_deref(), self.until.as_deref())?;
        let date_ms = self.date.as_deref().map(|date| plan::date("--date", date));
        let sources = source::find(&self.sources)?;
        plan::refuse_inside(directory, &sources)?;
        let asked = plan::Asked {
            sources,
            everywhere: self.everywhere,
            window,
            date_ms: date_ms.transpose()?,
        };
        let existed = directory.exists();
        let mut store = live::open(directory)?;
        let plan = match Plan::begin(&mut store, asked)? {
            Some(plan) => plan,
            None => return Ok(Summary::nothing_new(directory, &store)),
        };
        let done = Work {
            plan: &plan,
            limit: self.limit.unwrap_or(u64::MAX),
            sort_bytes: self.sort_bytes,
        }
        .run(&mut store);
        match done {
            Err(error) if !existed && !plan.has_read() => {
                drop(store);
                plan::unmake(directory);
                Err(error)
            }
            other => other,
        }
    }
}

/// What was found before it was imported.
pub(crate) enum Other {
    /// A page that a list names.
    Page(Url),
    /// A file whose pages are known once it was read.
    Unread(PathBuf),
}

/// How far taking in has come, as the journal notes it.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Noted {
    /// Which import.
    begun_at: u64,
    /// Fetches merged.
    merged: u64,
    taken: Taken,
}

/// One import, from its plan to its summary.
struct Work<'a> {
    plan: &'a Plan,
    limit: u64,
    sort_bytes: usize,
}

impl Work<'_> {
    fn run(&self, store: &mut Store) -> anyhow::Result<Summary> {
        let started = std::time::Instant::now();
        let progress = Progress::share();
        let mut spooled = self.read(store, &progress)?;
        let (more, fetches) = self.streams(&mut spooled, &progress)?;
        let mut merge = Merge::new(&self.plan.folder, more)?;
        let Some(earliest) = merge.earliest() else {
            spool::remove(&self.plan.folder)?;
            return Err(nothing(&spooled.skipped));
        };
        let Spooled {
            homes,
            skipped,
            passed_over,
            ..
        } = spooled;
        let reach = if self.plan.asked.everywhere {
            Reach::Everywhere(homes)
        } else {
            Reach::Hosts(homes)
        };
        begin(store, self.plan, earliest, &reach)?;
        let (noted, written) = resume(store, self.plan)?;
        let (whole, taken) = self.take_in(
            TakeIn::new(store, &reach, (noted.taken, written)),
            (&mut merge, noted.merged, fetches),
            &progress,
        )?;
        drop(progress);
        if whole {
            self.plan.finish(store)?;
            configure(store.directory(), &reach)?;
            spool::remove(&self.plan.folder)?;
        }
        Ok(Summary::of(
            store,
            summary::Told {
                plan: self.plan,
                taken,
                skipped,
                passed_over,
                hosts: reach.homes().count() as u64,
                whole,
                seconds: started.elapsed().as_secs_f64(),
            },
        ))
    }

    /// Reads what must be sorted into the spool.
    fn read(&self, store: &Store, progress: &Progress) -> anyhow::Result<Spooled> {
        let mut spool = Spool::open(&self.plan.folder, self.sort_bytes)?;
        let answers = AnswerReader::new(store.keyer());
        let total: u64 = self.plan.sources.iter().map(|source| source.bytes).sum();
        let mut before = 0;
        for (index, source) in self.plan.sources.iter().enumerate() {
            if index >= spool.read().sources {
                let at_byte = |byte: u64| {
                    let share = (before + byte) as f64 / total.max(1) as f64;
                    progress.at("reading", share);
                };
                match source.kind {
                    Kind::Warc => warc::read(source, &answers, &mut spool, at_byte)?,
                    Kind::Cdx => cdx::read(source, &mut spool, at_byte)?,
                    Kind::Parquet => parquet::read(source, &mut spool, at_byte)?,
                    Kind::UrlList => {
                        url_list::read(source, self.plan.date_of(source)?, &mut spool, at_byte)?;
                    }
                    Kind::Graph | Kind::History => {}
                }
                spool.source_done();
            }
            before += source.bytes;
        }
        spool.finish()
    }

    /// What is in the order of time already; and how many fetches there are in all.
    fn streams(
        &self,
        spooled: &mut Spooled,
        progress: &Progress,
    ) -> anyhow::Result<(Vec<Box<dyn InTime>>, u64)> {
        let mut streams: Vec<Box<dyn InTime>> = Vec::new();
        let mut fetches = spooled.fetches;
        for source in &self.plan.sources {
            let notes = (&mut spooled.homes, &mut spooled.skipped);
            progress.at("opening graphs and histories", 0.0);
            match source.kind {
                Kind::Graph => {
                    let graph = Graph::open(source, self.plan.date_of(source)?, notes)?;
                    fetches += graph.len();
                    streams.push(Box::new(graph));
                }
                Kind::History => {
                    let past = Past::open(source, notes)?;
                    fetches += past.len();
                    streams.push(Box::new(past));
                }
                Kind::Warc | Kind::Cdx | Kind::Parquet | Kind::UrlList => {}
            }
        }
        Ok((streams, fetches))
    }

    /// Takes in what was not merged yet. Returns whether that was all.
    fn take_in(
        &self,
        mut into: TakeIn<'_>,
        (from, before, fetches): (&mut dyn InTime, u64, u64),
        progress: &Progress,
    ) -> anyhow::Result<(bool, Taken)> {
        let mut merged = 0;
        let mut whole = true;
        while let Some(fetch) = from.next()? {
            if merged >= self.limit {
                whole = false;
                break;
            }
            if let Came::WholeSite { snapshot } = fetch.came {
                // Said again where an import goes on: whoever reads it knows that.
                if merged >= before && self.plan.asked.window.has(fetch.at) {
                    let note = json!({
                        "site": fetch.url, "day": fetch.at / DAY_MS, "snapshot": snapshot,
                    });
                    into.note(fetch.at, WHOLE_SITE, note.to_string().as_bytes());
                }
                continue;
            }
            merged += 1;
            if merged <= before {
                continue;
            }
            if self.plan.asked.window.has(fetch.at) {
                into.take(fetch)?;
            } else {
                into.taken().undue += 1;
            }
            let waiting = into.store().waiting_bytes();
            if merged % NOTE_EVERY == 0 || waiting > WAITING_BYTES_MAX {
                progress.at("taking in", merged as f64 / fetches.max(1) as f64);
                self.note(&mut into, merged)?;
            }
        }
        self.note(&mut into, merged.max(before))?;
        into.store().syncer().sync()?;
        Ok((whole, *into.taken()))
    }

    /// Writes what waits, and how far that is.
    fn note(&self, into: &mut TakeIn<'_>, merged: u64) -> anyhow::Result<()> {
        let noted = Noted {
            begun_at: self.plan.begun_at,
            merged,
            taken: *into.taken(),
        };
        let bytes = serde_json::to_vec(&noted)?;
        into.note(0, IMPORT, &bytes);
        Ok(into.store().write()?)
    }
}

/// Gives the crawl its birth and its seeds, if it has none.
fn begin(store: &mut Store, plan: &Plan, earliest: u64, reach: &Reach) -> anyhow::Result<()> {
    if store.index().sessions().is_empty() {
        let Politeness { delay_ms, open_max } = Politeness::default();
        let session = Entry::Session {
            wall_ms: earliest,
            // The clock of a crawl that goes on from here is the wall clock.
            boot: "",
            boot_ms: 0,
            delay_ms,
            open_max,
            policy: IMPORT,
        };
        store.append(Tick(0), &session);
    }
    if Config::read(store.directory())?.is_none() {
        let seeds = reach.homes().seeds().into_iter().map(Url::parse);
        let seeds: Vec<Url> = seeds.filter_map(Result::ok).collect();
        let tick = store.index().latest();
        sow(store, &seeds, &KeyOptions::default(), tick);
    }
    let known = noted(store)?;
    if known.begun_at != plan.begun_at {
        let fresh = Noted {
            begun_at: plan.begun_at,
            ..Noted::default()
        };
        let bytes = serde_json::to_vec(&fresh)?;
        telling::note(store, store.index().latest(), IMPORT, &bytes);
    }
    store.write()?;
    Ok(())
}

fn noted(store: &Store) -> anyhow::Result<Noted> {
    let note = store.note(IMPORT)?;
    let read = note.map(|bytes| serde_json::from_slice(&bytes)).transpose();
    Ok(read
        .context("the journal's note of an import cannot be read")?
        .unwrap_or_default())
}

/// How far the import was, and what was written after the last note of it.
fn resume(store: &Store, plan: &Plan) -> anyhow::Result<(Noted, VecDeque<TakenBefore>)> {
    let noted = noted(store)?;
    debug_assert_eq!(noted.begun_at, plan.begun_at);
    let mut written = VecDeque::new();
    let since = store.index().note_at(IMPORT).unwrap_or(Position::NEVER);
    let mut outcomes = Each(|entry: &Entry<'_>| {
        if let Entry::Outcome(outcome) = entry {
            let mut links = 0;
            outcome.links.each(|_| links += 1);
            written.push_back(TakenBefore {
                page: outcome.page,
                at: outcome.facts.wall_ms,
                settled: outcome.settled,
                links,
            });
        }
    });
    store.fold(&mut Onward(since, &mut outcomes))?;
    Ok((noted, written))
}

/// Writes what a crawl would be asked to do here, where nothing was asked yet.
fn configure(directory: &Path, reach: &Reach) -> anyhow::Result<()> {
    if Config::read(directory)?.is_some() {
        return Ok(());
    }
    let homes = reach.homes();
    let seeds: Vec<String> = homes.seeds().into_iter().map(str::to_owned).collect();
    let everywhere = matches!(reach, Reach::Everywhere(_));
    let hosts = if everywhere || homes.count() == seeds.len() {
        Vec::new()
    } else {
        homes.hosts()
    };
    let config = Config {
        seeds,
        scope: ScopeConfig {
            hosts,
            everywhere: everywhere.then_some(true),
            ..ScopeConfig::default()
        },
        ..Config::default()
    };
    config.write(directory)
}

/// No source held a fetch.
fn nothing(skipped: &Skipped) -> anyhow::Error {
    match skipped.listed.first() {
        Some(first) => anyhow::anyhow!(
            "nothing could be imported: {} records or lines were skipped, the first: {first}",
            skipped.count
        ),
        None => anyhow::anyhow!("nothing could be imported: the sources hold no fetch of a page"),
    }
}

/// An option that is not right.
fn wrong(option: &str, what: impl std::fmt::Display) -> anyhow::Error {
    Usage::of(option, what).into()
}
