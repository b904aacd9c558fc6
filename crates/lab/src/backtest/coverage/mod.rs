//! Coverage on a recorded web: how many downloads until 1−ε is proven, and until it is there.
//!
//! Each policy crawls the web through the scheduler; after each download its proven mass is set
//! beside the true personalised PageRank of what it has fetched. The optimum takes pages by true
//! rank, best first, wherever they are: no crawler can do better.
//!
//! A page of a crawl directory that was never fetched is one of which nothing is known: it counts as
//! a page without links, and how often a policy asked for such a page is told.
//!
//! Cost: one PageRank run, then that of the policies.

pub mod certificate;
mod report;

pub use report::{Options, Report};

use std::time::Instant;

use serde::Serialize;
use turnstone_frontier::{Coverage, HostId, PageId, Politeness};
use turnstone_linkgraph::LinkGraph;
use turnstone_linkgraph::rank::{self, InLinks, PageRank, Teleport};
use turnstone_policy::coverage::{self, Dangling, Goal, Trust};
use turnstone_policy::mass::as_fraction;
use turnstone_policy::{Spec, SpecError};

use super::{LogSpaced, Watch};
use crate::replay::{Replay, Start};

/// How exactly the truth is known: far finer than any share that is reported.
pub(super) const TRUTH_TOLERANCE: f64 = 1e-10;

/// How often the one who watches is told, in downloads.
const WATCH_EVERY: u64 = 4096;

/// What is asked.
#[derive(Clone, Debug)]
pub struct Question<'a> {
    /// Who links to whom.
    pub graph: &'a LinkGraph,
    /// The host of each page; empty when not known.
    pub hosts: &'a [HostId],
    /// By page: whether the record does not know its links. Empty where it knows all.
    pub unknown: &'a [bool],
    /// Where the surfer starts.
    pub trust: &'a Trust,
    /// What must be proven.
    pub goal: Goal,
    /// How gently; off counts requests as the papers do.
    pub politeness: Politeness,
}

/// Where a crawl stood after some downloads.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Point {
    /// Pages downloaded.
    pub downloads: u64,
    /// The share proven to be in the store.
    pub guaranteed: f64,
    /// The share that is.
    pub actual: f64,
}

/// What came of one policy.
#[derive(Clone, Debug, Serialize)]
pub struct Outcome {
    /// The policy's spec.
    pub policy: String,
    /// The curve, log-spaced, and the end.
    pub points: Vec<Point>,
    /// Downloads until 1−ε was proven; none if it never was.
    pub downloads_to_guarantee: Option<u64>,
    /// Downloads until 1−ε was certified or proven; none if it never was, or no confidence was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub downloads_to_certificate: Option<u64>,
    /// Of all downloads, those that were made to test.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub test_requests: Option<u64>,
    /// Downloads until 1−ε was there; none if it never was.
    pub downloads_to_actual: Option<u64>,
    /// Downloads in all.
    pub downloads: u64,
    /// Of these, pages of which the record does not know what they link to.
    pub unknown: u64,
    /// What was proven at the end.
    pub guaranteed: f64,
    /// Mass pushed along the links of a page, so many times.
    pub pushes: u64,
    /// Seconds of computing.
    pub seconds: f64,
    /// Seconds the crawl would have taken, where hosts are asked politely.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub crawl_seconds: Option<f64>,
    /// What ended it.
    pub stopped_by: StoppedBy,
}

/// Why a crawl ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum StoppedBy {
    /// What was asked for is proven or, for a policy that proves nothing, there.
    Goal,
    /// Too much mass is out of reach.
    OutOfReach,
    /// No page is left to ask for.
    NothingLeft,
}

/// The true rank of every page, for both fates of pages without links.
#[derive(Debug)]
pub struct Truth {
    jump: Vec<f64>,
    leak: Option<Vec<f64>>,
}

impl Truth {
    /// Computes what the policies in question will be measured against.
    pub fn of(question: &Question<'_>, specs: &[Spec]) -> Self {
        let in_links = InLinks::of(question.graph);
        let mut teleport = vec![0.0; question.graph.page_count()];
        for &(page, mass) in question.trust.masses() {
            teleport[page.index()] = as_fraction(mass);
        }
        let ranks = |dangling| {
            let pagerank = PageRank {
                damping: question.goal.damping.number(),
                tolerance: TRUTH_TOLERANCE,
                dangling,
                ..PageRank::default()
            };
            pagerank
                .rank(&in_links, Teleport::Weights(&teleport), &mut |_| {})
                .scores
        };
        let leaks = specs.iter().any(|spec| dangling_of(spec) == Dangling::Leak);
        Self {
            jump: ranks(rank::Dangling::Spread),
            leak: leaks.then(|| ranks(rank::Dangling::Leak)),
        }
    }

    /// The ranks a policy with this spec works towards.
    pub(super) fn for_spec(&self, spec: &Spec) -> &[f64] {
        match (dangling_of(spec), &self.leak) {
            (Dangling::Leak, Some(ranks)) => ranks,
            _ => &self.jump,
        }
    }
}

fn dangling_of(spec: &Spec) -> Dangling {
    if spec.get("dangling") == Some("leak") {
        Dangling::Leak
    } else {
        Dangling::Jump
    }
}

/// Runs one policy.
pub fn run(
    question: &Question<'_>,
    truth: &Truth,
    spec: &Spec,
    watch: Watch<'_>,
) -> Result<Outcome, SpecError> {
    let policy = coverage::build(spec, question.trust, question.goal)?;
    let started = Instant::now();
    let seeds: Vec<PageId> = question
        .trust
        .masses()
        .iter()
        .map(|(page, _)| *page)
        .collect();
    let Question {
        graph,
        hosts,
        politeness,
        ..
    } = *question;
    let mut replay = Replay::start(
        Start {
            graph,
            hosts,
            seeds: &seeds,
            politeness,
        },
        policy,
    );
    let mut tally = Tally::new(truth.for_spec(spec), question);
    let stopped_by = loop {
        let coverage = replay.scheduler().coverage();
        let proves = coverage.is_some();
        let coverage = coverage.unwrap_or_default();
        tally.look(&coverage);
        if proves && coverage.met() || !proves && tally.downloads_to_actual.is_some() {
            break StoppedBy::Goal;
        }
        if coverage.out_of_reach() && proves {
            break StoppedBy::OutOfReach;
        }
        if tally.downloads.is_multiple_of(WATCH_EVERY) {
            let done = if proves {
                as_fraction(coverage.guaranteed)
            } else {
                tally.actual
            };
            watch(&spec.to_string(), done / tally.goal);
        }
        match replay.step() {
            Some(page) => tally.download(page),
            None => break StoppedBy::NothingLeft,
        }
    };
    let coverage = replay.scheduler().coverage().unwrap_or_default();
    tally.end(&coverage);
    let tests = replay.scheduler().policy().tests();
    let certified = coverage.certified.is_some() && coverage.met();
    Ok(Outcome {
        policy: spec.to_string(),
        downloads_to_certificate: certified.then_some(tally.downloads),
        test_requests: tests.map(|tests| tests.requests),
        downloads_to_guarantee: tally.downloads_to_guarantee,
        downloads_to_actual: tally.downloads_to_actual,
        downloads: tally.downloads,
        unknown: tally.unknown,
        guaranteed: coverage.guaranteed_fraction(),
        points: tally.points,
        pushes: replay.scheduler().policy().pushes(),
        seconds: started.elapsed().as_secs_f64(),
        crawl_seconds: replay.seconds(),
        stopped_by,
    })
}

/// The bound: pages by true rank, best first, ties by id.
pub fn optimal(question: &Question<'_>, truth: &Truth) -> Outcome {
    let started = Instant::now();
    let ranks = &truth.jump;
    let mut order: Vec<PageId> = question.graph.pages().collect();
    order.sort_by(|a, b| ranks[b.index()].total_cmp(&ranks[a.index()]).then(a.cmp(b)));
    let mut tally = Tally::new(ranks, question);
    for page in order {
        tally.download(page);
        tally.look(&Coverage::default());
        if tally.downloads_to_actual.is_some() {
            break;
        }
    }
    tally.end(&Coverage::default());
    for point in &mut tally.points {
        point.guaranteed = point.actual;
    }
    Outcome {
        policy: "optimal".to_owned(),
        downloads_to_certificate: None,
        test_requests: None,
        // It knows the truth, so what is there is proven.
        downloads_to_guarantee: tally.downloads_to_actual,
        downloads_to_actual: tally.downloads_to_actual,
        downloads: tally.downloads,
        unknown: tally.unknown,
        guaranteed: tally.actual,
        points: tally.points,
        pushes: 0,
        seconds: started.elapsed().as_secs_f64(),
        crawl_seconds: None,
        stopped_by: StoppedBy::Goal,
    }
}

/// The curve of a crawl as it grows.
struct Tally<'a> {
    ranks: &'a [f64],
    unknown_pages: &'a [bool],
    /// The share that is asked for.
    goal: f64,
    goal_mass: u64,
    downloads: u64,
    unknown: u64,
    actual: f64,
    /// What rounding took from `actual` so far (Kahan).
    missed: f64,
    points: Vec<Point>,
    due: LogSpaced,
    downloads_to_guarantee: Option<u64>,
    downloads_to_actual: Option<u64>,
}

impl<'a> Tally<'a> {
    fn new(ranks: &'a [f64], question: &Question<'a>) -> Self {
        let goal = question.goal;
        Self {
            ranks,
            unknown_pages: question.unknown,
            unknown: 0,
            goal: as_fraction(goal.mass()),
            goal_mass: goal.mass(),
            downloads: 0,
            actual: 0.0,
            missed: 0.0,
            points: Vec::new(),
            due: LogSpaced::new(),
            downloads_to_guarantee: None,
            downloads_to_actual: None,
        }
    }

    fn download(&mut self, page: PageId) {
        self.downloads += 1;
        self.unknown += u64::from(self.unknown_pages.get(page.index()) == Some(&true));
        let add = self.ranks[page.index()] - self.missed;
        let sum = self.actual + add;
        self.missed = (sum - self.actual) - add;
        self.actual = sum;
        // The truth is known to a tolerance, and so is whether the goal is reached.
        if self.downloads_to_actual.is_none() && self.actual >= self.goal - TRUTH_TOLERANCE {
            self.downloads_to_actual = Some(self.downloads);
        }
    }

    fn look(&mut self, coverage: &Coverage) {
        if self.downloads_to_guarantee.is_none() && coverage.guaranteed >= self.goal_mass {
            self.downloads_to_guarantee = Some(self.downloads);
        }
        if self.downloads > 0 && self.due.is_due(self.downloads) {
            self.points.push(self.point(coverage));
        }
    }

    fn end(&mut self, coverage: &Coverage) {
        let last = self.points.last().map(|point| point.downloads);
        if self.downloads > 0 && last != Some(self.downloads) {
            self.points.push(self.point(coverage));
        }
    }

    fn point(&self, coverage: &Coverage) -> Point {
        Point {
            downloads: self.downloads,
            guaranteed: coverage.guaranteed_fraction(),
            actual: self.actual,
        }
    }
}
