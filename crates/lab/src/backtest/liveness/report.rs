//! What `backtest liveness` is asked with, and the document it answers with.

use std::path::PathBuf;
use std::sync::Arc;

use serde::Serialize;
use turnstone_frontier::PageId;
use turnstone_linkgraph::rank::{GraphRank, PageRank};
use turnstone_policy::liveness::{self, Confidence, Enough, Sample, SampleBy, SampleSize};
use turnstone_policy::{Question as Asked, Spec, SpecError};

use super::{Outcome, Question, effective_pages, ideal, order, paper, run};
use crate::backtest::politeness;
use crate::run::{Backtest, RunError, Trial, all};
use crate::web::{From, OldWeb, OldWebError, RecordedWeb, Times};

/// Which old crawl, what is tested first, and when it would stop.
#[derive(Clone, Debug)]
pub struct Options {
    /// Which pages are tested first.
    pub sample_by: SampleBy,
    /// How many of them.
    pub sample_size: SampleSize,
    /// The old crawl of a history; its first snapshot, if none is told.
    pub from: Option<From>,
    /// The snapshot that tells the fate of its pages; the last, if none is told.
    pub to: Option<usize>,
    /// The alive pages of a link graph.
    pub alive: Option<PathBuf>,
    /// The pages of a link graph whose fate is known.
    pub among: Option<PathBuf>,
    /// The first seed.
    pub seed: u64,
    /// How many, for policies that draw at random.
    pub seeds: u64,
    /// Stop when at least this share of all alive pages is found.
    pub until_alive: Option<f64>,
    /// The confidence of stopping and of intervals.
    pub confidence: f64,
    /// Also run the policies of the paper's figures.
    pub paper: bool,
    /// Also tell the order in which the first policy tests the pages.
    pub order: bool,
    /// Each host is asked politely, this far apart; none counts requests as the paper does.
    pub delay_ms: Option<u64>,
    /// How many requests are under way at once, where hosts are not asked politely.
    pub open: usize,
}

/// What finding the alive pages cost.
#[derive(Debug, Serialize)]
#[expect(missing_docs, reason = "backtest-liveness.json of docs/schema tells")]
pub struct Report {
    pub question: &'static str,
    pub web: String,
    pub pages: usize,
    pub links: u64,
    pub sites: usize,
    pub alive: u64,
    pub unknown: u64,
    pub effective_pages: Option<f64>,
    pub seed: u64,
    pub seeds: u64,
    pub open: usize,
    pub sample: &'static str,
    pub sample_size: usize,
    pub confidence: f64,
    pub until_alive: Option<f64>,
    pub pagerank: Ranked,
    /// The ideal order first; none if nothing is alive.
    pub results: Vec<Outcome>,
    /// How many of the results were asked for; the others are for the paper's figures.
    #[serde(skip)]
    pub asked: usize,
    /// The pages in the order of the first policy, if it was to be told.
    #[serde(skip)]
    pub order: Vec<PageId>,
    /// The old crawl and its fate.
    #[serde(skip)]
    pub old_web: OldWeb,
}

/// How PageRank was computed.
#[derive(Clone, Copy, Debug, Serialize)]
#[expect(missing_docs, reason = "backtest-liveness.json of docs/schema tells")]
pub struct Ranked {
    pub damping: f64,
    pub tolerance: f64,
}

/// As `backtest liveness` asks when nothing is said.
impl Default for Options {
    fn default() -> Self {
        Self {
            sample_by: SampleBy::Random,
            sample_size: SampleSize::Share(0.01),
            from: None,
            to: None,
            alive: None,
            among: None,
            seed: 1,
            seeds: 1,
            until_alive: None,
            confidence: 0.95,
            paper: false,
            order: false,
            delay_ms: None,
            open: 1,
        }
    }
}

impl Backtest for Options {
    type Report = Report;

    fn check(&self, spec: &Spec) -> Result<(), SpecError> {
        liveness::check(spec)
    }

    fn preset(word: &str) -> Option<String> {
        (word == "all").then(|| all(Asked::Liveness, &[]))
    }

    fn ask(&self, Trial { web, specs, watch }: Trial<'_>) -> Result<Report, RunError> {
        let (confidence, enough) = self.stopping()?;
        watch("reading", 0.0);
        let old_web = self.open(web)?;
        let (graph, alive) = (old_web.graph(), old_web.alive_count());
        let (pages, links) = (graph.page_count(), graph.link_count());
        let size = self.sample_size.of(pages);
        let size = size.map_err(|error| RunError::wrong("sample-size", error))?;
        let by = self.sample_by;
        let pagerank = PageRank::default();
        let PageRank {
            damping, tolerance, ..
        } = pagerank;
        watch("PageRank", 0.0);
        let question = Question {
            old: Arc::new(old_web.old_crawl(Arc::new(GraphRank::new(graph, pagerank)))),
            web: &old_web,
            sample: Sample { by, size },
            confidence,
            enough,
            politeness: politeness(self.delay_ms),
            open: self.open,
        };
        let mut results = Vec::new();
        if alive > 0 {
            results.push(ideal(&question));
            let seeds = (0..self.seeds).map(|more| self.seed.wrapping_add(more));
            let seeds: Vec<u64> = seeds.collect();
            let paper = match self.paper {
                true => paper::others(specs, size, pages)?,
                false => Vec::new(),
            };
            for spec in specs.iter().chain(&paper) {
                results.push(run(&question, spec, &seeds, watch)?);
            }
        }
        let order = match self.order {
            true => order(&question, &specs[0], self.seed)?,
            false => Vec::new(),
        };
        Ok(Report {
            question: "liveness",
            web: web.name(),
            pages,
            links,
            sites: old_web.site_count,
            alive,
            unknown: old_web.unknown_count(),
            effective_pages: effective_pages(&old_web),
            seed: self.seed,
            seeds: self.seeds,
            open: self.open,
            sample: by.name(),
            sample_size: size,
            confidence: self.confidence,
            until_alive: self.until_alive,
            pagerank: Ranked { damping, tolerance },
            results,
            asked: specs.len() + 1,
            order,
            old_web,
        })
    }
}

impl Options {
    fn open(&self, web: &RecordedWeb) -> Result<OldWeb, RunError> {
        let Some(alive) = &self.alive else {
            let times = Times {
                from: self.from.unwrap_or(From::Snapshot(0)),
                to: self.to,
            };
            let old = OldWeb::of_histories(web.place()?, times);
            return old.map_err(|error| match error {
                OldWebError::NoAliveList { .. } => RunError::wrong("alive", error),
                OldWebError::NotBefore { .. } => RunError::wrong("from", error),
                error => error.into(),
            });
        };
        if self.from.is_some() || self.to.is_some() {
            let what = "a link graph with --alive has no snapshots";
            return Err(RunError::wrong("from, to", what));
        }
        Ok(OldWeb::of_graph(
            web.place()?,
            alive,
            self.among.as_deref(),
        )?)
    }

    fn stopping(&self) -> Result<(Confidence, Option<Enough>), RunError> {
        let confidence = Confidence::new(self.confidence)
            .ok_or_else(|| RunError::wrong("confidence", "must be above 0.5 and below 1"))?;
        let enough = self.until_alive.map(|share| {
            let enough = Enough::new(share, confidence);
            enough.ok_or_else(|| RunError::wrong("until-alive", "must be above 0 and at most 1"))
        });
        Ok((confidence, enough.transpose()?))
    }
}
