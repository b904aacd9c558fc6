//! Certificates of coverage, many times over on one recorded web: what they cost, and how often they are wrong.
//!
//! Each repetition draws its surfers from another seed. Until the first is drawn all are the same crawl, so that
//! part is made once, saved, and gone on from. A repetition is *wrong* if what was certified was above what was
//! there at any moment, not only at the end: that is what a certificate claims.
//!
//! Cost: that of one crawl, and for each repetition that of its test.

use serde::Serialize;
use turnstone_frontier::{PageId, Politeness};
use turnstone_policy::coverage::{self, Confidence, CoveragePolicy, Goal, Tests};
use turnstone_policy::mass::Fraction;
use turnstone_policy::{Spec, SpecError};

use super::{Question, TRUTH_TOLERANCE, Truth};
use crate::backtest::Watch;
use crate::replay::{Replay, Start};
use crate::run::{Backtest, RunError, Trial};
use crate::web::{self, trusted};

/// How sure a certificate must be, and how often it is tried.
#[derive(Clone, Debug)]
pub struct Options {
    /// What is to be certified; hosts are not asked politely.
    pub coverage: super::Options,
    /// The confidence, above 0 and below 1.
    pub confidence: f64,
    /// How many times, each with other surfers.
    pub repetitions: u64,
}

/// What certificates took.
#[derive(Clone, Debug, Serialize)]
#[expect(missing_docs, reason = "backtest-coverage.json of docs/schema tells")]
pub struct Report {
    pub question: &'static str,
    pub web: String,
    pub pages: usize,
    pub links: u64,
    pub damping: f64,
    pub epsilon: f64,
    pub trusted: String,
    pub confidence: f64,
    pub results: Vec<Repeated>,
}

impl Backtest for Options {
    type Report = Report;

    fn check(&self, spec: &Spec) -> Result<(), SpecError> {
        self.coverage.check(spec)
    }

    fn preset(word: &str) -> Option<String> {
        super::Options::preset(word)
    }

    fn ask(&self, Trial { web, specs, watch }: Trial<'_>) -> Result<Report, RunError> {
        let asked = &self.coverage;
        let goal = asked.goal()?;
        let specs: Vec<&Spec> = specs.iter().filter(|s| s.name() == "rankmass").collect();
        if specs.is_empty() || self.repetitions == 0 || asked.delay_ms.is_some() {
            let what = "needs --policies rankmass, at least one repetition, and no --delay";
            return Err(RunError::wrong("confidence", what));
        }
        let level = Fraction::new(self.confidence);
        let level = level.ok_or_else(|| RunError::wrong("confidence", "too near to 0 or 1"))?;
        watch("reading", 0.0);
        let opened = web::open_graph(web.place()?)?;
        watch("PageRank", 0.0);
        let trust = trusted::parse(&asked.trusted, &opened)?;
        let question = Question {
            graph: &opened.graph,
            hosts: &[],
            unknown: &[],
            trust: &trust,
            goal,
            politeness: Politeness::OFF,
        };
        let truth = Truth::of(&question, &[]);
        let repeated = |spec| repeat(&question, &truth, spec, (level, self.repetitions), watch);
        let results: Result<_, SpecError> = specs.into_iter().map(repeated).collect();
        Ok(Report {
            question: "coverage",
            web: web.name(),
            pages: opened.graph.page_count(),
            links: opened.graph.link_count(),
            damping: asked.damping,
            epsilon: asked.epsilon,
            trusted: asked.trusted.clone(),
            confidence: self.confidence,
            results: results?,
        })
    }
}

/// How far a repetition came.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Repetition {
    /// What the surfers were drawn from.
    pub seed: u64,
    /// Downloads in all.
    pub downloads: u64,
    /// Of these, those made to test.
    pub test_requests: u64,
    /// Surfers drawn.
    pub surfers: u64,
    /// Whether the goal was certified or proven.
    pub reached: bool,
    /// The share certified at the end.
    pub certified: f64,
    /// The share that is there at the end.
    pub actual: f64,
    /// Whether more was certified than there was, at any moment.
    pub wrong: bool,
}

/// One policy, many times.
#[derive(Clone, Debug, Serialize)]
pub struct Repeated {
    /// The policy's spec.
    pub policy: String,
    /// Downloads before the first surfer was drawn.
    pub downloads_before: u64,
    /// Each repetition.
    pub repetitions: Vec<Repetition>,
}

impl Repeated {
    /// How many repetitions certified more than there was.
    pub fn wrong(&self) -> usize {
        self.repetitions.iter().filter(|each| each.wrong).count()
    }

    /// How many reached the goal.
    pub fn reached(&self) -> usize {
        self.repetitions.iter().filter(|each| each.reached).count()
    }

    /// A number of each repetition: the smallest, the mean, the middle, that of nineteen in twenty, the largest.
    pub fn spread(&self, of: impl Fn(&Repetition) -> u64) -> [u64; 5] {
        let mut numbers: Vec<u64> = self.repetitions.iter().map(of).collect();
        numbers.sort_unstable();
        let count = numbers.len();
        let at = |share: f64| numbers[((count as f64 * share) as usize).min(count - 1)];
        let mean = numbers.iter().sum::<u64>() as f64 / count as f64;
        [at(0.0), mean.round() as u64, at(0.5), at(0.95), at(1.0)]
    }
}

/// Runs one policy with seeds 1, 2, 3 …; `times` is at least 1.
pub fn repeat(
    question: &Question<'_>,
    truth: &Truth,
    spec: &Spec,
    (level, times): (Fraction, u64),
    watch: Watch<'_>,
) -> Result<Repeated, SpecError> {
    let seeds: Vec<PageId> = question
        .trust
        .masses()
        .iter()
        .map(|(page, _)| *page)
        .collect();
    let start = Start {
        graph: question.graph,
        hosts: question.hosts,
        seeds: &seeds,
        politeness: question.politeness,
    };
    let policy = |seed| {
        let confidence = Some(Confidence { level, seed });
        let goal = Goal {
            confidence,
            ..question.goal
        };
        coverage::build(spec, question.trust, goal)
    };
    let ranks = truth.for_spec(spec);
    // How far all are the same, found by one that is thrown away.
    let mut run = Run::of(Replay::start(start, policy(1)?), ranks);
    while !run.has_drawn() && run.step() {}
    let before = run.downloads.saturating_sub(1);
    let mut common = Run::of(Replay::start(start, policy(1)?), ranks);
    while common.downloads < before && common.step() {}
    let mut saved = Vec::new();
    let saving = common.replay.scheduler().save(&mut saved);
    saving.expect("memory can be written");
    let (downloads, actual) = (common.downloads, common.actual);
    let mut repetitions = Vec::new();
    for seed in 1..=times {
        watch(&spec.to_string(), seed as f64 / times as f64);
        let resumed = Replay::resume(start, policy(seed)?, &mut saved.as_slice());
        let mut run = Run {
            replay: resumed.expect("what was saved can be restored"),
            downloads,
            actual,
            ranks,
            wrong: false,
        };
        while !run.is_met() && run.step() {}
        repetitions.push(run.end(seed));
    }
    Ok(Repeated {
        policy: spec.to_string(),
        downloads_before: before,
        repetitions,
    })
}

/// A crawl beside the truth.
struct Run<'a> {
    replay: Replay<'a, Box<dyn CoveragePolicy>>,
    ranks: &'a [f64],
    downloads: u64,
    actual: f64,
    wrong: bool,
}

impl<'a> Run<'a> {
    fn of(replay: Replay<'a, Box<dyn CoveragePolicy>>, ranks: &'a [f64]) -> Self {
        Self {
            replay,
            ranks,
            downloads: 0,
            actual: 0.0,
            wrong: false,
        }
    }

    /// One more download; whether there was one.
    fn step(&mut self) -> bool {
        let Some(page) = self.replay.step() else {
            return false;
        };
        self.downloads += 1;
        self.actual += self.ranks[page.index()];
        let certified = self.replay.scheduler().coverage().unwrap_or_default();
        let certified = certified.certified_fraction().unwrap_or(0.0);
        self.wrong |= certified > self.actual + TRUTH_TOLERANCE;
        true
    }

    fn has_drawn(&self) -> bool {
        self.tests().surfers > 0 || self.is_met()
    }

    fn is_met(&self) -> bool {
        let coverage = self.replay.scheduler().coverage();
        coverage.is_some_and(|coverage| coverage.met())
    }

    fn tests(&self) -> Tests {
        let policy = self.replay.scheduler().policy();
        policy.tests().unwrap_or_default()
    }

    fn end(&self, seed: u64) -> Repetition {
        let coverage = self.replay.scheduler().coverage().unwrap_or_default();
        let tests = self.tests();
        Repetition {
            seed,
            downloads: self.downloads,
            test_requests: tests.requests,
            surfers: tests.surfers,
            reached: self.is_met(),
            certified: coverage.certified_fraction().unwrap_or(0.0),
            actual: self.actual,
            wrong: self.wrong,
        }
    }
}
