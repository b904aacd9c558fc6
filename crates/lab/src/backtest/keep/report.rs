//! What `backtest keep` is asked with, and the document it answers with.

use serde::{Serialize, Serializer};
use turnstone_policy::{Spec, SpecError, keep};

use super::{Announced, Compare, MovingWeb, Outcome, Rules, try_policy};
use crate::backtest::Watch;
use crate::run::{Backtest, RunError};
use crate::web::{self, Half, RecordedWeb};

/// How long, with how much, and what sites say of themselves.
#[derive(Clone, Debug)]
pub struct Options {
    /// Days; sites with a shorter history are left out.
    pub days: u32,
    /// How many days a round is.
    pub round_days: u32,
    /// Requests, as a share of a full weekly recrawl.
    pub budget: Written<f64>,
    /// What sites announce of their changes.
    pub hints: Option<Written<Announced>>,
    /// What counts as the content of a page.
    pub compare: Compare,
    /// Only every other site in order of name.
    pub half: Option<Half>,
    /// Breaks ties.
    pub seed: u64,
}

/// Something as it was written, which is what the document says, and what it means.
#[derive(Clone, Debug, PartialEq)]
pub struct Written<T> {
    /// As it was written.
    pub text: String,
    /// What it means.
    pub means: T,
}

impl<T> Serialize for Written<T> {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        out.serialize_str(&self.text)
    }
}

/// How current and complete the store was.
#[derive(Clone, Debug, Serialize)]
#[expect(missing_docs, reason = "docs/schema/backtest-keep.json tells of each")]
pub struct Report {
    pub question: &'static str,
    pub web: String,
    pub sites: usize,
    pub too_short: Vec<String>,
    pub pages: usize,
    pub days: u32,
    pub budget: Written<f64>,
    pub hints: Option<Written<Announced>>,
    pub seed: u64,
    pub results: Vec<Outcome>,
}

impl Backtest for Options {
    type Report = Report;

    fn check(&self, spec: &Spec) -> Result<(), SpecError> {
        keep::check(spec)
    }

    fn ask(&self, web: &RecordedWeb, specs: &[Spec], watch: Watch<'_>) -> Result<Report, RunError> {
        let rules = Rules {
            days: self.days,
            round_days: self.round_days,
            share: self.budget.means,
            hints: self
                .hints
                .as_ref()
                .map_or_else(Announced::default, |hints| hints.means),
        };
        let moving = self.read(web, watch)?;
        let mut results = Vec::new();
        for spec in specs {
            results.push(try_policy(&moving, spec, rules, self.seed, watch)?);
        }
        Ok(Report {
            question: "keep",
            web: web.name(),
            sites: moving.sites.len(),
            pages: moving.sites.iter().map(|site| site.first_pages()).sum(),
            too_short: moving.too_short,
            days: self.days,
            budget: self.budget.clone(),
            hints: self.hints.clone(),
            seed: self.seed,
            results,
        })
    }
}

impl Options {
    fn read(&self, web: &RecordedWeb, watch: Watch<'_>) -> Result<MovingWeb, RunError> {
        watch("reading", 0.0);
        let mut files = Vec::new();
        for place in web.places() {
            files.extend(web::history_files(place)?);
        }
        files.sort();
        files.dedup();
        let files = Half::of(self.half, files);
        let watch = &mut |share| watch("reading", share);
        let moving = MovingWeb::read(&files, self.days, self.compare, watch)?;
        if moving.sites.is_empty() {
            let days = self.days;
            let what = format!("no site has a history of {days} days; ask for fewer with --days");
            return Err(RunError::wrong("web", what));
        }
        Ok(moving)
    }
}
