//! What `backtest trap` is asked with, and the document it answers with.

use serde::Serialize;
use turnstone_policy::{Spec, SpecError};

use super::{Outcome, Shape, build, run};
use crate::number::whole;
use crate::run::{Backtest, RunError, Trial};

/// The most pages of the site, and the most fetches.
const MANY: u64 = 100_000_000;

/// The site, which is made up, and how much is fetched of it.
#[derive(Clone, Debug)]
pub struct Options {
    /// The site proper.
    pub shape: Shape,
    /// Fetches per policy; none is as many as the site has pages without the calendar.
    pub fetches: Option<u64>,
    /// Decides what is random.
    pub seed: u64,
}

/// What the calendar ate.
#[derive(Clone, Debug, Serialize)]
#[expect(missing_docs, reason = "backtest-trap.json of docs/schema tells")]
pub struct Report {
    pub question: &'static str,
    pub pages: u64,
    pub seed: u64,
    pub results: Vec<Outcome>,
}

impl Backtest for Options {
    type Report = Report;

    fn check(&self, spec: &Spec) -> Result<(), SpecError> {
        build(spec, self.seed).map(drop)
    }

    fn ask(&self, Trial { specs, watch, .. }: Trial<'_>) -> Result<Report, RunError> {
        let Shape {
            sections,
            lists,
            articles,
        } = self.shape;
        let pages = self.shape.pages();
        let fetches = self.fetches.unwrap_or(pages);
        if sections == 0 || lists == 0 || articles == 0 || pages > MANY {
            let wanted = format!("the site must have 2 to {} pages", whole(MANY));
            return Err(RunError::wrong("sections, lists, articles", wanted));
        }
        if fetches == 0 || fetches > MANY {
            let wanted = format!("must be from 1 to {}", whole(MANY));
            return Err(RunError::wrong("fetches", wanted));
        }
        let mut results = Vec::new();
        for (index, spec) in specs.iter().enumerate() {
            watch(&spec.to_string(), index as f64 / specs.len() as f64);
            results.push(run(spec, self.shape, fetches, self.seed)?);
        }
        Ok(Report {
            question: "trap",
            pages,
            seed: self.seed,
            results,
        })
    }
}
