//! Importance on a recorded web: how far estimates are from the fixpoint while it crawls.
//!
//! All policies crawl the same web side by side, each through its own scheduler, in slices; between
//! slices the web may change, for all alike. Now and then the estimates of each are compared with
//! the fixpoint of the web as it is then. The off-line algorithm is always reported too: one of its
//! iterations counts as many pages as the web has.
//!
//! Cost: that of the policies, and one fixpoint per point where the web changes.

pub mod bonus;
mod crawler;
mod error;
mod fixpoint;
mod groups;
mod living_web;
mod report;
mod stirred;

pub use fixpoint::{Chain, ChainKind};
pub use groups::Groups;
pub use living_web::{LivingSite, LivingWeb, Moment};
pub use report::{Options, Report, Run};
pub use stirred::Stirred;

use serde::Serialize;
use turnstone_frontier::{PageId, Politeness};
use turnstone_policy::importance::{Bonus, OpicOptions};
use turnstone_policy::{Spec, SpecError};

use self::crawler::Crawler;
use self::error::Truth;
use super::Watch;

/// Slices per crawl of as many pages as the web has.
pub const SLICES_PER_CRAWL: u32 = 20;

/// Runs up to so many crawls show quarters of a crawl.
const SHORT_CRAWLS: f64 = 2.0;

/// The name of the off-line algorithm among the results.
pub const OFF_LINE: &str = "off-line";

/// What is asked.
#[derive(Clone, Debug)]
pub struct Question<'a> {
    /// Which pages belong together.
    pub groups: Groups,
    /// By page: whether the record does not know its links. Empty where it knows all.
    pub unknown: &'a [bool],
    /// How many pages to read, in multiples of the web's size.
    pub crawls: f64,
    /// Pages that earn more.
    pub bonus: Bonus,
    /// How gently hosts are asked; off to count requests alone.
    pub politeness: Politeness,
    /// Decides what is random.
    pub seed: u64,
}

/// Where the estimates stood after some visits.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Point {
    /// Pages read.
    pub visits: u64,
    /// The same, in multiples of the web's size.
    pub crawls: f64,
    /// Mean relative error over all pages, in per cent.
    pub error_all: f64,
    /// Mean relative error over the tenth of all pages that is most important, in per cent.
    pub error_top10: f64,
    /// 1/G, the paper's bound on the error; none for the off-line algorithm.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error_factor: Option<f64>,
}

/// What came of one policy.
#[derive(Clone, Debug, Serialize)]
pub struct Outcome {
    /// The policy's spec, or `off-line`.
    pub policy: String,
    /// The curve.
    pub points: Vec<Point>,
    /// Measures kept per page at the end.
    pub measures_per_page: f64,
    /// Bytes per page for cash, histories and ranking, as allocated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes_per_page: Option<f64>,
    /// How much G grew per visit, times the number of pages: 1 where cash is read at random.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clock_per_crawl: Option<f64>,
    /// Pages read.
    pub visits: u64,
    /// Visits that found the page gone.
    pub gone: u64,
    /// Visits to pages of which the record does not know what they link to.
    pub unknown: u64,
    /// Seconds the crawl takes under the virtual clock, if hosts are asked politely.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub crawl_seconds: Option<f64>,
    /// Seconds of computing, without the fixpoints.
    pub seconds: f64,
}

/// Runs all policies side by side. The first outcome is the off-line algorithm's.
pub fn run(
    web: &mut dyn LivingWeb,
    question: &Question<'_>,
    specs: &[Spec],
    watch: Watch<'_>,
) -> Result<Vec<Outcome>, SpecError> {
    let size = web.size();
    let mut crawlers = Vec::new();
    for spec in specs {
        crawlers.push(Crawler::new(spec, question, web)?);
    }
    let options = OpicOptions::default();
    let mut truths = Truths::default();
    let mut off_line = OffLine::default();
    let slices = (question.crawls * f64::from(SLICES_PER_CRAWL))
        .ceil()
        .max(1.0) as u32;
    // Half crawls where the truth stays, quarters in short runs, whole ones where it must be computed anew.
    let points_per_crawl = match web.changes() {
        true => 1,
        false if question.crawls <= SHORT_CRAWLS => 4,
        false => 2,
    };
    let slices_per_point = SLICES_PER_CRAWL / points_per_crawl;
    let visits_by = |slice: u32| {
        let crawls = f64::from(slice) / f64::from(SLICES_PER_CRAWL);
        (crawls.min(question.crawls) * size as f64).round() as u64
    };
    for slice in 0..slices {
        let returned = web.advance(Moment { slice, of: slices });
        for crawler in &mut crawlers {
            watch(crawler.name(), f64::from(slice) / f64::from(slices));
            crawler.crawl(web, question, &returned, visits_by(slice + 1));
        }
        let is_crawl = (slice + 1).is_multiple_of(SLICES_PER_CRAWL);
        let is_point = (slice + 1).is_multiple_of(slices_per_point) || slice + 1 == slices;
        if !is_crawl && !is_point {
            continue;
        }
        watch("fixpoint", f64::from(slice + 1) / f64::from(slices));
        truths.refresh(web, &question.groups);
        if is_crawl {
            let (chain, truth) = truths.get(web, &question.groups, ChainKind::of(&options));
            off_line.iterate(chain, truth, size);
        }
        if is_point {
            for crawler in &mut crawlers {
                let (_, truth) = truths.get(web, &question.groups, crawler.chain());
                crawler.measure(truth, size);
            }
        }
    }
    let mut outcomes = vec![off_line.outcome()];
    outcomes.extend(crawlers.into_iter().map(|crawler| crawler.outcome(size)));
    Ok(outcomes)
}

/// The fixpoints of the web as it is, one for each kind of chain asked for.
#[derive(Default)]
struct Truths {
    known: Vec<(ChainKind, Option<Chain>, Truth)>,
}

impl Truths {
    /// The web may have changed: fixpoints are to be computed anew, from where they were.
    fn refresh(&mut self, web: &dyn LivingWeb, groups: &Groups) {
        if !web.changes() {
            return;
        }
        for (kind, chain, truth) in &mut self.known {
            let fresh = Chain::of(web, groups.of(kind.nodes()), *kind);
            let guess = std::mem::take(&mut truth.importance);
            *truth = Truth::new(fresh.importance(Some(&guess)), fresh.present());
            *chain = Some(fresh);
        }
    }

    fn get(&mut self, web: &dyn LivingWeb, groups: &Groups, kind: ChainKind) -> (&Chain, &Truth) {
        let at = match self.known.iter().position(|(known, ..)| *known == kind) {
            Some(at) => at,
            None => {
                let chain = Chain::of(web, groups.of(kind.nodes()), kind);
                let truth = Truth::new(chain.importance(None), chain.present());
                self.known.push((kind, Some(chain), truth));
                self.known.len() - 1
            }
        };
        let (_, chain, truth) = &self.known[at];
        (chain.as_ref().expect("chains are kept"), truth)
    }
}

/// The off-line algorithm, one iteration per crawl.
#[derive(Default)]
struct OffLine {
    scores: Vec<f64>,
    points: Vec<Point>,
    seconds: f64,
}

impl OffLine {
    fn iterate(&mut self, chain: &Chain, truth: &Truth, size: usize) {
        let started = std::time::Instant::now();
        let present = chain.present();
        let count = present.iter().filter(|here| **here).count().max(1);
        // Pages that came later begin like all others did.
        self.scores.resize(present.len(), 1.0 / count as f64);
        self.scores = chain.iterate(&self.scores);
        self.seconds += started.elapsed().as_secs_f64();
        let errors = truth.errors(|node| self.scores[node as usize]);
        let crawls = self.points.len() as u64 + 1;
        self.points.push(Point {
            visits: crawls * size as u64,
            crawls: crawls as f64,
            error_all: errors.all,
            error_top10: errors.top10,
            error_factor: None,
        });
    }

    fn outcome(self) -> Outcome {
        Outcome {
            policy: OFF_LINE.to_owned(),
            measures_per_page: 1.0,
            bytes_per_page: None,
            clock_per_crawl: None,
            visits: self.points.last().map_or(0, |point| point.visits),
            gone: 0,
            unknown: 0,
            points: self.points,
            crawl_seconds: None,
            seconds: self.seconds,
        }
    }
}

/// What a policy makes of a web.
#[derive(Clone, Debug)]
pub struct Estimated {
    /// The importance of every page.
    pub scores: Vec<f64>,
    /// What it took; its points are empty.
    pub outcome: Outcome,
}

/// The importance of every page by a policy after reading so many times as many pages as there are.
pub fn estimate(
    web: &mut dyn LivingWeb,
    question: &Question<'_>,
    spec: &Spec,
    watch: Watch<'_>,
) -> Result<Estimated, SpecError> {
    let size = web.size();
    let mut crawler = Crawler::new(spec, question, web)?;
    let slices = (question.crawls * f64::from(SLICES_PER_CRAWL))
        .ceil()
        .max(1.0) as u32;
    for slice in 0..slices {
        watch(crawler.name(), f64::from(slice) / f64::from(slices));
        let returned = web.advance(Moment { slice, of: slices });
        let share = f64::from(slice + 1) / f64::from(slices);
        let visits = (share * question.crawls * size as f64).round() as u64;
        crawler.crawl(web, question, &returned, visits);
    }
    let pages = (0..web.known()).map(PageId::from_index);
    Ok(Estimated {
        scores: pages.map(|page| crawler.importance(page)).collect(),
        outcome: crawler.outcome(size),
    })
}
