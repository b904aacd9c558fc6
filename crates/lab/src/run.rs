//! One call for every question: `run(question with its options, recorded web, policies) -> report`.
//!
//! A question is a type of its own, because what it is asked with and what it answers differ: coverage
//! wants trusted pages and answers with curves, changes wants a budget and answers by cycle. What they
//! have in common is here: which policies a word stands for, that each of them fits, where the web is,
//! and what may be wrong. A report serialises to the document that `turnstone --json backtest` prints,
//! so that whoever calls this needs no terminal, and whoever prints computes nothing.
//!
//! To add a question: a type that implements [`Backtest`] and a report beside it, under
//! [`backtest`](crate::backtest); then a command of the binary that reads its options and shows the
//! report.

use serde::Serialize;
use turnstone_pagestore::StoreError;
use turnstone_policy::coverage::TrustError;
use turnstone_policy::{Question, Spec, SpecError, catalog};

use crate::backtest::Watch;
use crate::history::HistoryError;
use crate::web::{OldWebError, RecordedWeb, WebError};

/// A question with everything it is asked with.
pub trait Backtest {
    /// What comes of it; serialises to the document of `--json`.
    type Report: Serialize;

    /// Whether a policy can be asked, before any web is read.
    fn check(&self, spec: &Spec) -> Result<(), SpecError>;

    /// The list of policies that a word like `all` stands for.
    fn preset(word: &str) -> Option<String> {
        let _ = word;
        None
    }

    /// Asks.
    fn ask(&self, trial: Trial<'_>) -> Result<Self::Report, RunError>;
}

/// What a question is asked of.
pub struct Trial<'a> {
    /// The web.
    pub web: &'a RecordedWeb,
    /// The policies, at least one; each was checked.
    pub specs: &'a [Spec],
    /// Who is told how far it has come.
    pub watch: Watch<'a>,
}

/// Why there is no report.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// An option does not make sense, by itself or for this web.
    #[error("{option}: {why}")]
    Wrong {
        /// The option, as the command line writes it without dashes; `web` for the web itself.
        option: &'static str,
        /// What would be right.
        why: String,
    },
    /// A file that an option names cannot be read.
    #[error("{place}: {why}")]
    File {
        /// The file, and perhaps the line.
        place: String,
        /// What is wrong there.
        why: String,
    },
    /// A policy does not fit.
    #[error(transparent)]
    Spec(#[from] SpecError),
    /// The trusted pages cannot be.
    #[error(transparent)]
    Trust(#[from] TrustError),
    /// The web cannot be opened.
    #[error(transparent)]
    Web(#[from] WebError),
    /// A history cannot be read.
    #[error(transparent)]
    History(#[from] HistoryError),
    /// There is no old crawl.
    #[error(transparent)]
    OldWeb(#[from] OldWebError),
    /// The crawl directory cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl RunError {
    /// An option that does not make sense.
    pub(crate) fn wrong(option: &'static str, why: impl std::fmt::Display) -> Self {
        let why = why.to_string();
        Self::Wrong { option, why }
    }
}

/// Asks a question of a recorded web, once for each policy.
pub fn run<B: Backtest>(
    question: &B,
    web: &RecordedWeb,
    specs: &[Spec],
    watch: Watch<'_>,
) -> Result<B::Report, RunError> {
    specs.iter().try_for_each(|spec| question.check(spec))?;
    if specs.is_empty() {
        return Err(RunError::wrong("policies", "name at least one policy"));
    }
    question.ask(Trial { web, specs, watch })
}

/// Every policy of the catalogue that answers a question, and some settings more, as a list.
pub(crate) fn all(question: Question, more: &[&str]) -> String {
    let fitting = catalog::policies().filter(|info| info.answers(question));
    let names = fitting.map(|info| info.name).chain(more.iter().copied());
    names.collect::<Vec<_>>().join(",")
}
