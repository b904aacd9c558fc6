//! `turnstone backtest liveness WEB`

mod figures;
mod split;
mod tables;

use std::path::PathBuf;

use clap::Args;
use turnstone_lab::backtest::liveness::{Options, Report};
use turnstone_lab::number::{percent, whole};
use turnstone_lab::web::From;
use turnstone_policy::Spec;
use turnstone_policy::liveness::{SampleBy, SampleSize, is_dynamic};

use super::shown::{Pictures, Shown};
use super::{ask, specs};
use crate::exit::{Exit, Usage};
use crate::output::Output;
use crate::units;

/// The most seeds one command runs.
const SEEDS_MAX: u64 = 1000;

/// The most requests under way at once.
const OPEN_MAX: u64 = 100_000;

/// How many requests until a share of the pages of an old crawl that are still alive is found?
///
/// Each policy crawls the old web through the real scheduler. The cost of a share is the number of
/// requests for each alive page in it: 1 is ideal, and asking at random costs pages / alive pages.
///
/// Of a crawl directory the fate of a page is what the last fetch of it after --from told. The fate
/// of pages not fetched again is unknown: requests for them are counted, costs are those on the pages
/// of known fate, and beside them what they would be if all others were gone, or alive.
#[derive(Debug, Args)]
pub(crate) struct Liveness {
    /// A history, a folder of histories or a crawl directory, or a link graph with --alive
    web: PathBuf,
    /// Policies to compare, or `all` (see `turnstone policies liveness`)
    #[arg(
        long,
        default_value = "tree,random,indegree,pagerank,pa,pa-ratio,active-site-first,alive-bfs,alive-indegree"
    )]
    policies: String,
    /// Which pages are tested first: random, indegree, pagerank, or without neighbours of pages
    /// already chosen: indegree-apart, pagerank-apart
    #[arg(long, default_value = "random", value_parser = sample_by)]
    sample: SampleBy,
    /// How many pages are tested first: a number or a share
    #[arg(long, default_value = "1%")]
    sample_size: SampleSize,
    /// The old crawl of a history: a snapshot's number, `first`, or `all` (every page seen before
    /// --to, with the links last seen) [default: first]
    #[arg(long, value_parser = from_snapshot)]
    from: Option<From>,
    /// What tells the fate of its pages: a later snapshot's number, or `last` [default: last]
    #[arg(long, value_parser = to_snapshot)]
    to: Option<To>,
    /// The alive pages of a link graph: an id or URL a line, plain or compressed
    #[arg(long, value_name = "FILE")]
    alive: Option<PathBuf>,
    /// The pages of a link graph whose fate is known, in the same form; all others and their links
    /// are left out [default: all pages]
    #[arg(long, value_name = "FILE", requires = "alive")]
    among: Option<PathBuf>,
    /// The first seed
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Repeat policies that draw at random with so many seeds, and show mean and spread
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=SEEDS_MAX))]
    seeds: u64,
    /// Tell where each policy with a random sample would stop: when the alive pages found are, at
    /// the confidence asked for, at least this share of all alive pages
    #[arg(long, value_name = "SHARE", value_parser = units::real)]
    until_alive: Option<f64>,
    /// The confidence of stopping and of intervals
    #[arg(long, default_value_t = 0.95, value_parser = units::real)]
    confidence: f64,
    /// Also run the settings of the paper's figures 2 to 6, for the report
    #[arg(long)]
    paper: bool,
    /// Split the order of one static or sample-based policy among so many crawlers, a file each
    #[arg(long, value_name = "CRAWLERS", value_parser = clap::value_parser!(u32).range(1..=split::CRAWLERS_MAX))]
    split: Option<u32>,
    /// The folder for the files of --split
    #[arg(long, value_name = "FOLDER", default_value = ".")]
    split_into: PathBuf,
    /// Ask each host politely, this far apart, under a virtual clock, and tell how long it takes
    #[arg(long, value_parser = units::span_ms, value_name = "TIME")]
    delay: Option<u64>,
    /// Have so many requests under way at once, all answered in the order they were sent: how an
    /// order fares when it learns late
    #[arg(long, value_name = "REQUESTS", default_value_t = 1, conflicts_with = "delay",
          value_parser = clap::value_parser!(u64).range(1..=OPEN_MAX))]
    open: u64,
    #[command(flatten)]
    pictures: Pictures,
}

/// A later snapshot.
#[derive(Clone, Copy, Debug)]
struct To(Option<usize>);

impl Liveness {
    pub(crate) fn run(self, output: &Output) -> anyhow::Result<Exit> {
        let specs = specs::<Options>(&self.policies)?;
        if self.split.is_some() {
            check_split(&specs)?;
        }
        let options = Options {
            sample_by: self.sample,
            sample_size: self.sample_size,
            from: self.from,
            to: self.to.and_then(|to| to.0),
            alive: self.alive,
            among: self.among,
            seed: self.seed,
            seeds: self.seeds,
            until_alive: self.until_alive,
            confidence: self.confidence,
            paper: self.paper,
            order: self.split.is_some(),
            delay_ms: self.delay,
            open: self.open as usize,
        };
        let report = ask(&options, &[self.web], &specs)?;
        let setting = setting(&report);
        if report.alive == 0 {
            let answer = "Nothing is alive: none of the pages is there any more.";
            output.result(&report, || format!("{setting}\n\n{answer}\n"))?;
        } else {
            let shown = Shown {
                title: "Liveness: what is still there of an old crawl",
                question: "Which pages of an old crawl do I ask for first, to find those that are \
                           still alive with the fewest requests?"
                    .to_owned(),
                setting,
                table: tables::costs(&report.results, report.until_alive.is_some()),
                more: String::new(),
                figures: &|| figures::all(&report),
            };
            self.pictures.show(&report, shown, output)?;
        }
        if let Some(crawlers) = self.split {
            let (order, web) = (&report.order, &report.old_web);
            split::write(order, web, crawlers, &self.split_into, output)?;
        }
        Ok(Exit::Done)
    }
}

fn setting(report: &Report) -> String {
    let known = report.pages as u64 - report.unknown;
    let alive = report.alive;
    let of_known = match report.unknown {
        0 => String::new(),
        unknown => format!(
            " of {} whose fate is known, the fate of {} is unknown",
            whole(known),
            whole(unknown)
        ),
    };
    let mut setting = format!(
        "{}: {} pages of {} sites, {} links, {} alive ({}){of_known}. Sample: {} {} pages. Seeds: {}.",
        report.web,
        whole(report.pages as u64),
        whole(report.sites as u64),
        whole(report.links),
        whole(alive),
        percent(alive as f64 / known as f64),
        report.sample,
        whole(report.sample_size as u64),
        report.seeds,
    );
    if alive > 0 {
        let blind = known as f64 / alive as f64;
        setting += &format!(" Asking at random costs {blind:.2}.");
    }
    if let Some(share) = report.until_alive {
        let (share, confidence) = (percent(share), percent(report.confidence));
        setting += &format!(
            " Stopping when {share} of all alive pages are found with confidence {confidence}."
        );
    }
    setting
}

fn check_split(specs: &[Spec]) -> anyhow::Result<()> {
    let [spec] = specs else {
        return Err(Usage::of("--split", "name one policy whose order is to be split").into());
    };
    if is_dynamic(spec)? {
        let what = format!(
            "{spec} learns from every answer, so its order cannot be split beforehand; take a \
             static or sample-based policy"
        );
        return Err(Usage::of("--split", what).into());
    }
    Ok(())
}

fn sample_by(text: &str) -> Result<SampleBy, String> {
    let found = SampleBy::COMMON.iter().find(|(name, _)| *name == text);
    let names = || {
        SampleBy::COMMON
            .iter()
            .map(|(name, _)| *name)
            .collect::<Vec<_>>()
            .join(", ")
    };
    found
        .map(|(_, by)| *by)
        .ok_or_else(|| format!("give one of {}", names()))
}

fn from_snapshot(text: &str) -> Result<From, String> {
    match text {
        "first" => Ok(From::Snapshot(0)),
        "all" => Ok(From::All),
        number => number
            .parse()
            .map(From::Snapshot)
            .map_err(|_| "give a snapshot's number, first or all".to_owned()),
    }
}

fn to_snapshot(text: &str) -> Result<To, String> {
    match text {
        "last" => Ok(To(None)),
        number => number
            .parse()
            .map(|number| To(Some(number)))
            .map_err(|_| "give a snapshot's number or last".to_owned()),
    }
}
