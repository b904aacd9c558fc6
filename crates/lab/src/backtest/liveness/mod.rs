//! Liveness on a recorded web: how many requests until a share of the alive pages is found.
//!
//! Each policy crawls the old web through the scheduler; a page is answered for by its fate. The
//! cost of each share is set beside that of the ideal order, which asks for alive pages only. What
//! hangs on chance is run for several seeds. Stopping at an estimated share does not end a run: it
//! is noted where it would have stopped, and what had truly been found by then.
//!
//! On a web that does not know the fate of every page, costs are those on the pages it knows, and
//! beside them what they would be if all others were gone, or alive (see [`Doubts`]).
//!
//! Cost: that of the policies; one run is O((pages + links) log pages).

mod cost;
mod doubt;
pub mod paper;
mod report;

pub use cost::{Course, alphas, cost, need};
pub use doubt::{Doubts, EFFECTIVE_MIN, effective_pages};
pub use report::{Options, Ranked, Report};

use std::sync::Arc;
use std::time::Instant;

use serde::{Serialize, Serializer};
use turnstone_frontier::{PageId, Politeness};
use turnstone_policy::liveness::{
    self, AliveEstimate, Confidence, Enough, LivenessPolicy, OldCrawl, Sample, SampleBy, Start,
    Tally,
};
use turnstone_policy::{Spec, SpecError};

use self::doubt::Doubt;
use super::Watch;
use crate::replay::{self, Replay};
use crate::web::OldWeb;

/// How often the one who watches is told, in requests.
const WATCH_EVERY: u64 = 4096;

/// What is asked.
#[derive(Clone, Debug)]
pub struct Question<'a> {
    /// The old crawl and its fate.
    pub web: &'a OldWeb,
    /// What policies know of it.
    pub old: Arc<OldCrawl>,
    /// What is tested first, unless a spec says otherwise.
    pub sample: Sample,
    /// The confidence of intervals, and of stopping.
    pub confidence: Confidence,
    /// When a crawl would stop, if it should.
    pub enough: Option<Enough>,
    /// How gently; off counts requests as the paper does.
    pub politeness: Politeness,
    /// With politeness off, how many requests are under way at once: 1 as the paper has it.
    pub open: usize,
}

/// What came of one policy.
#[derive(Clone, Debug, Serialize)]
pub struct Outcome {
    /// The policy's spec.
    pub policy: String,
    /// How many pages are alive.
    pub alive: u64,
    /// How many requests the record could not answer: it does not know those pages' fate.
    pub unknown: u64,
    /// The cost of each share, over all runs.
    pub curve: Vec<Point>,
    /// How many pages the first run's sample lets expect to be alive, where it is random.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub alive_estimate: Option<f64>,
    /// Each run; one where nothing hangs on chance.
    pub runs: Vec<Run>,
    /// Seconds of computing, all runs.
    pub seconds: f64,
}

/// The cost of one share, over several runs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Point {
    /// The share of the alive pages.
    pub alpha: f64,
    /// Requests until it was found, on average.
    #[serde(serialize_with = "whole_if_possible")]
    pub requests: f64,
    /// Requests for each alive page wanted, on average.
    pub cost: f64,
    /// Standard deviation of the cost over runs; 0 for one run.
    pub cost_sd: f64,
    /// The cheapest run.
    pub cost_min: f64,
    /// The dearest run.
    pub cost_max: f64,
    /// What is not known.
    #[serde(flatten)]
    pub doubt: Option<DoubtPoint>,
}

/// What the cost of a share hangs on where the fate of some pages is unknown, over all runs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct DoubtPoint {
    /// Requests without an answer before the share was reached, on average.
    pub unknown: f64,
    /// The cost if all pages of unknown fate were gone.
    pub cost_if_gone: f64,
    /// The cost if they were alive.
    pub cost_if_alive: f64,
    /// The cost with each page counted for as many as it stands for, by its logged chance.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_weighted: Option<f64>,
}

/// One crawl.
#[derive(Clone, Debug, Serialize)]
pub struct Run {
    /// What its chances hung on.
    pub seed: u64,
    /// The sample, if one was tested first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sample: Option<SampleOutcome>,
    /// Where it would have stopped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stop: Option<Stop>,
    /// Seconds the crawl would have taken, where hosts are asked politely.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub crawl_seconds: Option<f64>,
    /// Requests by share, as in the curve.
    #[serde(skip)]
    pub reached: Vec<u64>,
    /// The same for what the web does not know.
    #[serde(skip)]
    pub doubts: Option<Doubts>,
}

/// What the sample told.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct SampleOutcome {
    /// How it was chosen.
    pub by: &'static str,
    /// How many pages were tested.
    pub tested: u64,
    /// How many of them are alive.
    pub alive: u64,
    /// How many pages drawn at random the estimate rests on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub looks: Option<u64>,
    /// How many pages of the whole are, as far as a random sample tells.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub alive_estimate: Option<f64>,
    /// The interval around it, at the confidence asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub alive_interval: Option<(u64, u64)>,
}

/// Where a crawl would have stopped, and how right that would have been.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Stop {
    /// Requests by then; all pages, when the bound was never met.
    pub requests: u64,
    /// Alive pages found by then.
    pub alive: u64,
    /// How many had to be found, by the estimate.
    pub needed: u64,
    /// The true share of the alive pages found.
    pub share: f64,
}

/// Runs one policy for several seeds. The web must have an alive page.
pub fn run(
    question: &Question<'_>,
    spec: &Spec,
    seeds: &[u64],
    watch: Watch<'_>,
) -> Result<Outcome, SpecError> {
    let started = Instant::now();
    let mut runs = Vec::new();
    for &seed in seeds {
        let policy = question.build(spec, seed)?;
        let by_chance = hangs_on_chance(spec, &*policy);
        runs.push(question.crawl(spec, policy, seed, &mut |_| {}, watch));
        if !by_chance {
            break;
        }
    }
    Ok(outcome(spec.to_string(), question.web, runs, started))
}

/// The pages in the order in which a policy tests them.
pub fn order(question: &Question<'_>, spec: &Spec, seed: u64) -> Result<Vec<PageId>, SpecError> {
    let policy = question.build(spec, seed)?;
    let mut pages = Vec::with_capacity(question.web.graph().page_count());
    question.crawl(
        spec,
        policy,
        seed,
        &mut |page| pages.push(page),
        &mut |_, _| {},
    );
    Ok(pages)
}

/// The bound: alive pages first.
pub fn ideal(question: &Question<'_>) -> Outcome {
    let started = Instant::now();
    let alive = question.web.alive_count();
    let mut course = Course::new(alive);
    (0..alive).for_each(|_| course.answered(true));
    let run = Run {
        seed: 0,
        sample: None,
        stop: None,
        crawl_seconds: None,
        reached: course.reached().to_vec(),
        doubts: None,
    };
    let mut ideal = outcome("ideal".to_owned(), question.web, vec![run], started);
    ideal.unknown = 0;
    ideal
}

impl Question<'_> {
    fn build(&self, spec: &Spec, seed: u64) -> Result<Box<dyn LivenessPolicy>, SpecError> {
        let start = Start {
            old: Arc::clone(&self.old),
            sample: self.sample,
            seed,
        };
        liveness::build(spec, &start)
    }

    /// Crawls the whole web.
    fn crawl(
        &self,
        spec: &Spec,
        policy: Box<dyn LivenessPolicy>,
        seed: u64,
        look: &mut dyn FnMut(PageId),
        watch: Watch<'_>,
    ) -> Run {
        let web = self.web;
        let start = replay::Start {
            graph: web.graph(),
            hosts: &web.sites,
            seeds: &[],
            politeness: self.politeness,
        };
        let mut replay = Replay::start(start, policy)
            .with_fates(&web.alive)
            .with_unknown(&web.unknown)
            .with_open(self.open);
        let mut course = Course::new(web.alive_count());
        let mut doubt = Doubt::of(web);
        let mut stop = None;
        while let Some(page) = replay.step() {
            look(page);
            let fate = (!web.is_unknown(page)).then(|| web.alive[page.index()]);
            if let Some(alive) = fate {
                course.answered(alive);
            }
            if let Some(doubt) = &mut doubt {
                let weight = web.weights.get(page.index()).copied().unwrap_or(1.0);
                doubt.answered(fate, weight, course.reached().len());
            }
            if stop.is_none() {
                stop = self.stop(&course, replay.scheduler().policy().estimate());
            }
            if replay.requests().is_multiple_of(WATCH_EVERY) {
                let share = replay.requests() as f64 / web.alive.len() as f64;
                watch(&spec.to_string(), share);
            }
        }
        let policy = replay.scheduler().policy();
        Run {
            seed,
            sample: self.sample_outcome(&**policy),
            stop,
            crawl_seconds: replay.seconds(),
            reached: course.reached().to_vec(),
            doubts: doubt.map(Doubt::finish),
        }
    }

    /// Whether the crawl would stop here.
    fn stop(&self, course: &Course, estimate: Option<AliveEstimate>) -> Option<Stop> {
        let (enough, estimate) = (self.enough?, estimate?);
        let known = self.web.alive.len() as u64 - self.web.unknown_count();
        let all_asked = course.requests() == known;
        if !enough.met(course.found(), &estimate) && !all_asked {
            return None;
        }
        Some(Stop {
            requests: course.requests(),
            alive: course.found(),
            needed: enough.needed(&estimate),
            share: course.found() as f64 / self.web.alive_count() as f64,
        })
    }

    fn sample_outcome(&self, policy: &dyn LivenessPolicy) -> Option<SampleOutcome> {
        let Sample { by, .. } = policy.sample()?;
        let tally: Tally = policy.sample_tally();
        let estimate = policy.estimate();
        Some(SampleOutcome {
            by: by.name(),
            tested: tally.tested(),
            alive: tally.alive,
            looks: estimate.as_ref().map(AliveEstimate::looks),
            alive_estimate: estimate.as_ref().map(AliveEstimate::alive),
            alive_interval: estimate.map(|estimate| estimate.interval(self.confidence)),
        })
    }
}

/// Whether another seed may give another order.
fn hangs_on_chance(spec: &Spec, policy: &dyn LivenessPolicy) -> bool {
    let random = |sample: Sample| matches!(sample.by, SampleBy::Random | SampleBy::PerSite);
    policy.sample().is_some_and(random) || spec.name() == "active-site-first"
}

fn outcome(policy: String, web: &OldWeb, runs: Vec<Run>, started: Instant) -> Outcome {
    let alive = web.alive_count();
    let point = |(place, alpha): (usize, f64)| {
        let requests: Vec<u64> = runs.iter().map(|run| run.reached[place]).collect();
        let costs: Vec<f64> = requests
            .iter()
            .map(|requests| cost(*requests, alpha, alive))
            .collect();
        let count = runs.len() as f64;
        let mean = costs.iter().sum::<f64>() / count;
        let squares: f64 = costs.iter().map(|cost| (cost - mean).powi(2)).sum();
        Point {
            alpha,
            requests: requests.iter().sum::<u64>() as f64 / count,
            cost: mean,
            cost_sd: (squares / (count - 1.0).max(1.0)).sqrt(),
            cost_min: costs.iter().copied().fold(f64::INFINITY, f64::min),
            cost_max: costs.iter().copied().fold(0.0, f64::max),
            doubt: doubt_point((place, alpha), web, &runs),
        }
    };
    Outcome {
        policy,
        alive,
        unknown: web.unknown_count(),
        curve: alphas().enumerate().map(point).collect(),
        alive_estimate: runs.first().and_then(|run| run.sample?.alive_estimate),
        runs,
        seconds: started.elapsed().as_secs_f64(),
    }
}

/// What a share hangs on, over all runs.
fn doubt_point((place, alpha): (usize, f64), web: &OldWeb, runs: &[Run]) -> Option<DoubtPoint> {
    let doubts: Option<Vec<&Doubts>> = runs.iter().map(|run| run.doubts.as_ref()).collect();
    let doubts = doubts?;
    let mean = |of: &dyn Fn(&Doubts) -> f64| {
        doubts.iter().map(|doubts| of(doubts)).sum::<f64>() / doubts.len() as f64
    };
    let (alive, all) = (web.alive_count(), web.alive_count() + web.unknown_count());
    let weighted = doubts.iter().all(|doubts| doubts.weighted.is_some());
    let cost_weighted = |doubts: &Doubts| {
        let costs = doubts.weighted.as_ref();
        costs
            .and_then(|costs| costs.get(place))
            .copied()
            .unwrap_or(f64::NAN)
    };
    Some(DoubtPoint {
        unknown: mean(&|doubts| doubts.unknown_by[place] as f64),
        cost_if_gone: mean(&|doubts| cost(doubts.if_gone[place], alpha, alive)),
        cost_if_alive: mean(&|doubts| cost(doubts.if_alive[place], alpha, all)),
        cost_weighted: weighted.then(|| mean(&cost_weighted)),
    })
}

/// A mean of one is a count: written without a decimal point.
fn whole_if_possible<S: Serializer>(number: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    if number.fract() == 0.0 {
        serializer.serialize_u64(*number as u64)
    } else {
        serializer.serialize_f64(*number)
    }
}
