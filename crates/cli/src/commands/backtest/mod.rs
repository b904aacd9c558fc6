//! `turnstone backtest QUESTION WEB`
//!
//! Each question is a file or folder here: its options as the command line has them, and how its report
//! is shown. What is run, and what comes of it, is [`turnstone_lab::run`]'s.

mod certify;
mod changes;
mod coverage;
mod discovery;
mod importance;
mod keep;
mod liveness;
mod shown;
mod trap;
mod unknown;

pub(crate) use shown::{command_line, provenance};

use std::path::PathBuf;

use clap::{Subcommand, ValueEnum};
use turnstone_lab::backtest::changes::Compare;
use turnstone_lab::web::{self, RecordedWeb};
use turnstone_lab::{RunError, run};
use turnstone_policy::Spec;

use crate::caller;
use crate::exit::{Exit, Usage};
use crate::output::Output;
use crate::progress::Progress;

/// The question to ask of a recorded web.
#[derive(Debug, Subcommand)]
pub(crate) enum Backtest {
    /// How many downloads until most of the personalised PageRank is provably in the store?
    Coverage(coverage::Coverage),
    /// How far are estimates of importance from the truth, while crawling?
    Importance(importance::Importance),
    /// How much of a crawl does an endless calendar eat?
    Trap(trap::Trap),
    /// How many requests until the pages of an old crawl that are still alive are found?
    Liveness(liveness::Liveness),
    /// Which known pages lead to most of the new ones?
    Discovery(discovery::Discovery),
    /// Of the stored pages a policy fetches again, how many have changed, and how fresh is the store?
    Changes(Box<changes::Changes>),
    /// How current and complete is a store kept for a year with a small part of a full recrawl?
    Keep(Box<keep::Keep>),
}

impl Backtest {
    pub(crate) fn run(self, output: &Output) -> anyhow::Result<Exit> {
        match self {
            Self::Coverage(command) => command.run(output),
            Self::Importance(command) => command.run(output),
            Self::Trap(command) => command.run(output),
            Self::Liveness(command) => command.run(output),
            Self::Discovery(command) => command.run(output),
            Self::Changes(command) => command.run(output),
            Self::Keep(command) => command.run(output),
        }
    }
}

/// The policies that a list names, or a word that stands for one.
fn specs<B: turnstone_lab::Backtest>(list: &str) -> anyhow::Result<Vec<Spec>> {
    let preset = B::preset(list);
    Ok(caller::specs(preset.as_deref().unwrap_or(list))?)
}

/// Asks a question of a web and shows how far it has come.
fn ask<B: turnstone_lab::Backtest>(
    question: &B,
    webs: &[PathBuf],
    specs: &[Spec],
) -> anyhow::Result<B::Report> {
    let progress = Progress::share();
    let mut watch = |what: &str, share: f64| progress.at(what, share);
    let report = run(question, &RecordedWeb::at(webs), specs, &mut watch);
    report.map_err(refusal)
}

/// The error as the command line has it: options with their dashes.
pub(crate) fn refusal(error: RunError) -> anyhow::Error {
    match error {
        RunError::Wrong { option: "web", why } => Usage::of("WEB", why).into(),
        RunError::Wrong { option, why } => {
            let options: Vec<String> = option.split(", ").map(|one| format!("--{one}")).collect();
            Usage::of(&options.join(", "), why).into()
        }
        RunError::Spec(error) => error.into(),
        RunError::Trust(error) => error.into(),
        error => error.into(),
    }
}

/// What counts as a page's content.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum By {
    Text,
    Raw,
}

impl From<By> for Compare {
    fn from(by: By) -> Self {
        match by {
            By::Text => Self::Text,
            By::Raw => Self::Raw,
        }
    }
}

/// Every other site.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Half {
    /// The first, third, fifth, … site
    Odd,
    /// The second, fourth, sixth, … site
    Even,
}

impl From<Half> for web::Half {
    fn from(half: Half) -> Self {
        match half {
            Half::Odd => Self::Odd,
            Half::Even => Self::Even,
        }
    }
}
