//! What `backtest keep` is asked with, and the document it answers with.

use serde::Serialize;
use turnstone_policy::{Spec, SpecError, keep};

use super::{Announced, Compare, MovingWeb, Outcome, Rules, try_policy};
use crate::backtest::Watch;
use crate::run::{Backtest, RunError, Trial};
use crate::web::{self, Half, RecordedWeb};

/// How long, with how much, and what sites say of themselves.
#[derive(Clone, Debug)]
pub struct Options {
    /// How long, how often, and with how much.
    pub rules: Rules,
    /// The share of [`Rules::share`] as it was written, for the document.
    pub budget: String,
    /// The same of [`Rules::hints`], if sites announce anything.
    pub hints: Option<String>,
    /// What counts as the content of a page.
    pub compare: Compare,
    /// Only every other site in order of name.
    pub half: Option<Half>,
    /// Breaks ties.
    pub seed: u64,
}

/// How current and complete the store was.
#[derive(Clone, Debug, Serialize)]
#[expect(missing_docs, reason = "backtest-keep.json of docs/schema tells")]
pub struct Report {
    pub question: &'static str,
    pub web: String,
    pub sites: usize,
    pub too_short: Vec<String>,
    pub pages: usize,
    pub days: u32,
    pub budget: String,
    pub hints: Option<String>,
    pub seed: u64,
    pub results: Vec<Outcome>,
}

/// As `backtest keep` asks when nothing is said.
impl Default for Options {
    fn default() -> Self {
        Self {
            rules: Rules {
                days: 364,
                round_days: 1,
                share: 0.1,
                hints: Announced::default(),
            },
            budget: "10%".to_owned(),
            hints: None,
            compare: Compare::Text,
            half: None,
            seed: 1,
        }
    }
}

impl Backtest for Options {
    type Report = Report;

    fn check(&self, spec: &Spec) -> Result<(), SpecError> {
        keep::check(spec)
    }

    fn ask(&self, Trial { web, specs, watch }: Trial<'_>) -> Result<Report, RunError> {
        let moving = self.read(web, watch)?;
        let mut results = Vec::new();
        for spec in specs {
            results.push(try_policy(&moving, spec, self.rules, self.seed, watch)?);
        }
        Ok(Report {
            question: "keep",
            web: web.name(),
            sites: moving.sites.len(),
            pages: moving.sites.iter().map(|site| site.first_pages()).sum(),
            too_short: moving.too_short,
            days: self.rules.days,
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
        let moving = MovingWeb::read(&files, self.rules.days, self.compare, watch)?;
        if moving.sites.is_empty() {
            let days = self.rules.days;
            let what = format!("no site has a history of {days} days; ask for fewer with --days");
            return Err(RunError::wrong("web", what));
        }
        Ok(moving)
    }
}
