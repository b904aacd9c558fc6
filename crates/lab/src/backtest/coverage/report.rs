//! What `backtest coverage` is asked with, and the document it answers with.

use serde::Serialize;
use turnstone_policy::coverage::{self, Goal};
use turnstone_policy::mass::Fraction;
use turnstone_policy::{Question as Asked, Spec, SpecError};

use super::{Outcome, Question, Truth, optimal, run};
use crate::backtest::{count_unknown, politeness};
use crate::run::{Backtest, RunError, Trial, all};
use crate::web::{self, trusted};

/// How much must provably be stored, and of what.
#[derive(Clone, Debug)]
pub struct Options {
    /// Where the surfer starts: see [`trusted::parse`].
    pub trusted: String,
    /// The chance to follow a link rather than to return to a trusted page.
    pub damping: f64,
    /// The share that may be missing.
    pub epsilon: f64,
    /// Each host is asked politely, this far apart; none counts requests as the papers do.
    pub delay_ms: Option<u64>,
}

/// What each policy needed.
#[derive(Clone, Debug, Serialize)]
#[expect(missing_docs, reason = "backtest-coverage.json of docs/schema tells")]
pub struct Report {
    pub question: &'static str,
    pub web: String,
    pub pages: usize,
    pub links: u64,
    pub unknown_pages: usize,
    pub seed: Option<u64>,
    pub damping: f64,
    pub epsilon: f64,
    pub trusted: String,
    /// The optimum first.
    pub results: Vec<Outcome>,
}

impl Options {
    pub(super) fn goal(&self) -> Result<Goal, RunError> {
        let between = |option, number| {
            let within = "must be above 0 and below 1";
            Fraction::new(number).ok_or_else(|| RunError::wrong(option, within))
        };
        Ok(Goal {
            damping: between("damping", self.damping)?,
            epsilon: between("epsilon", self.epsilon)?,
            confidence: None,
        })
    }
}

/// As `backtest coverage` asks when nothing is said.
impl Default for Options {
    fn default() -> Self {
        Self {
            trusted: "top:1".to_owned(),
            damping: 0.85,
            epsilon: 0.02,
            delay_ms: None,
        }
    }
}

impl Backtest for Options {
    type Report = Report;

    fn check(&self, spec: &Spec) -> Result<(), SpecError> {
        coverage::check(spec)
    }

    fn preset(word: &str) -> Option<String> {
        (word == "all").then(|| all(Asked::Coverage, &["rankmass:push=exact"]))
    }

    fn ask(&self, Trial { web, specs, watch }: Trial<'_>) -> Result<Report, RunError> {
        let goal = self.goal()?;
        let place = web.place()?;
        watch("reading", 0.0);
        let opened = web::open_graph(place)?;
        let unknown = web::unknown_pages(place)?;
        watch("PageRank", 0.0);
        let trust = trusted::parse(&self.trusted, &opened)?;
        let hosts = match self.delay_ms {
            Some(_) => opened.host_ids(),
            None => Vec::new(),
        };
        let question = Question {
            graph: &opened.graph,
            hosts: &hosts,
            unknown: &unknown,
            trust: &trust,
            goal,
            politeness: politeness(self.delay_ms),
        };
        let truth = Truth::of(&question, specs);
        let mut results = vec![optimal(&question, &truth)];
        for spec in specs {
            results.push(run(&question, &truth, spec, watch)?);
        }
        Ok(Report {
            question: "coverage",
            web: web.name(),
            pages: opened.graph.page_count(),
            links: opened.graph.link_count(),
            unknown_pages: count_unknown(&unknown),
            seed: None,
            damping: self.damping,
            epsilon: self.epsilon,
            trusted: self.trusted.clone(),
            results,
        })
    }
}
