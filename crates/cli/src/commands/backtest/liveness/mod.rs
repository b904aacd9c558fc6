//! `turnstone backtest liveness WEB`

mod figures;
mod split;
mod tables;

use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use serde_json::json;
use turnstone_frontier::Politeness;
use turnstone_lab::backtest::liveness::{self, Outcome, Question};
use turnstone_lab::number::{percent, whole};
use turnstone_lab::web::{From, OldWeb, OldWebError, Times};
use turnstone_linkgraph::rank::{GraphRank, PageRank};
use turnstone_policy::liveness::{Confidence, Enough, Sample, SampleBy, SampleSize};
use turnstone_policy::{Question as Asked, Spec, catalog};

use super::pictures::{Pictures, Shown};
use crate::caller;
use crate::exit::{Exit, Usage};
use crate::output::Output;
use crate::progress::Progress;
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
        let specs = self.specs()?;
        let (confidence, enough) = self.stopping()?;
        self.check_split(&specs)?;
        let progress = Progress::share();
        progress.at("reading", 0.0);
        let web = self.open()?;
        let alive = web.alive_count();
        let sample = self.sample(&web)?;
        let pagerank = PageRank::default();
        progress.at("PageRank", 0.0);
        let question = Question {
            old: Arc::new(web.old_crawl(Arc::new(GraphRank::new(web.graph(), pagerank)))),
            web: &web,
            sample,
            confidence,
            enough,
            politeness: self.delay.map_or(Politeness::OFF, |delay_ms| Politeness {
                delay_ms,
                open_max: 1,
            }),
            open: self.open as usize,
        };
        let asked = specs.len();
        let specs = if self.paper {
            figures::with_paper(&specs, &question)?
        } else {
            specs
        };
        let mut outcomes = Vec::new();
        if alive > 0 {
            outcomes.push(liveness::ideal(&question));
            let seeds: Vec<u64> = (0..self.seeds)
                .map(|more| self.seed.wrapping_add(more))
                .collect();
            for spec in &specs {
                let mut watch = |what: &str, share: f64| progress.at(what, share);
                outcomes.push(liveness::run(&question, spec, &seeds, &mut watch)?);
            }
        }
        drop(progress);
        self.show(&question, &outcomes, asked + 1, output)?;
        if let (Some(crawlers), Some(spec)) = (self.split, specs.first()) {
            let order = liveness::order(&question, spec, self.seed)?;
            split::write(&order, &web, crawlers, &self.split_into, output)?;
        }
        Ok(Exit::Done)
    }

    fn show(
        &self,
        question: &Question<'_>,
        outcomes: &[Outcome],
        asked: usize,
        output: &Output,
    ) -> anyhow::Result<()> {
        let web = question.web;
        let (pages, alive) = (web.graph().page_count(), web.alive_count());
        let json = json!({
            "question": "liveness",
            "web": self.web.display().to_string(),
            "pages": pages,
            "links": web.graph().link_count(),
            "sites": web.site_count,
            "alive": alive,
            "unknown": web.unknown_count(),
            "effective_pages": liveness::effective_pages(web),
            "seed": self.seed,
            "seeds": self.seeds,
            "open": self.open,
            "sample": question.sample.by.name(),
            "sample_size": question.sample.size,
            "confidence": self.confidence,
            "until_alive": self.until_alive,
            "pagerank": {"damping": PageRank::default().damping, "tolerance": PageRank::default().tolerance},
            "results": outcomes,
        });
        let setting = self.setting(question);
        if alive == 0 {
            let answer =
                format!("{setting}\n\nNothing is alive: none of the pages is there any more.\n");
            return output.result(&json, || answer);
        }
        let table = tables::costs(outcomes, self.until_alive.is_some());
        output.result(&json, || format!("{setting}\n\n{}", table.text()))?;
        if self.pictures.wanted() {
            let figures = figures::all(question, outcomes, asked);
            let shown = Shown {
                title: "Liveness: what is still there of an old crawl".to_owned(),
                question: "Which pages of an old crawl do I ask for first, to find those that are \
                           still alive with the fewest requests?"
                    .to_owned(),
                setting,
                figures,
                table,
            };
            self.pictures.write(shown, output)?;
        }
        Ok(())
    }

    fn setting(&self, question: &Question<'_>) -> String {
        let web = question.web;
        let (all, alive) = (web.graph().page_count() as u64, web.alive_count());
        let pages = all - web.unknown_count();
        let blind = if alive == 0 {
            String::new()
        } else {
            format!(
                " Asking at random costs {:.2}.",
                pages as f64 / alive as f64
            )
        };
        let stop = self.until_alive.map_or_else(String::new, |share| {
            let (share, confidence) = (percent(share), percent(self.confidence));
            format!(
                " Stopping when {share} of all alive pages are found with confidence {confidence}."
            )
        });
        format!(
            "{}: {} pages of {} sites, {} links, {} alive ({}){}. Sample: {} {} pages. Seeds: {}.{blind}{stop}",
            self.web.display(),
            whole(all),
            whole(web.site_count as u64),
            whole(web.graph().link_count()),
            whole(alive),
            percent(alive as f64 / pages as f64),
            match web.unknown_count() {
                0 => String::new(),
                unknown => format!(
                    " of {} whose fate is known, the fate of {} is unknown",
                    whole(pages),
                    whole(unknown)
                ),
            },
            question.sample.by,
            whole(question.sample.size as u64),
            self.seeds,
        )
    }

    fn open(&self) -> anyhow::Result<OldWeb> {
        let Some(alive) = &self.alive else {
            let from = self.from.unwrap_or(From::Snapshot(0));
            let to = self.to.and_then(|to| to.0);
            return OldWeb::of_histories(&self.web, Times { from, to }).map_err(
                |error| match error {
                    OldWebError::NoAliveList { .. } => Usage::of("--alive", error).into(),
                    OldWebError::NotBefore { .. } => Usage::of("--from", error).into(),
                    error => error.into(),
                },
            );
        };
        if self.from.is_some() || self.to.is_some() {
            return Err(
                Usage::of("--from, --to", "a link graph with --alive has no snapshots").into(),
            );
        }
        Ok(OldWeb::of_graph(&self.web, alive, self.among.as_deref())?)
    }

    fn sample(&self, web: &OldWeb) -> Result<Sample, Usage> {
        let size = self.sample_size.of(web.graph().page_count());
        let size = size.map_err(|error| Usage::of("--sample-size", error))?;
        Ok(Sample {
            by: self.sample,
            size,
        })
    }

    fn stopping(&self) -> Result<(Confidence, Option<Enough>), Usage> {
        let confidence = Confidence::new(self.confidence)
            .ok_or_else(|| Usage::of("--confidence", "must be above 0.5 and below 1"))?;
        let enough = self.until_alive.map(|share| {
            let enough = Enough::new(share, confidence);
            enough.ok_or_else(|| Usage::of("--until-alive", "must be above 0 and at most 1"))
        });
        Ok((confidence, enough.transpose()?))
    }

    fn specs(&self) -> anyhow::Result<Vec<Spec>> {
        let list = match self.policies.as_str() {
            "all" => {
                let fitting = catalog::policies().filter(|info| info.answers(Asked::Liveness));
                fitting.map(|info| info.name).collect::<Vec<_>>().join(",")
            }
            list => list.to_owned(),
        };
        let specs = caller::specs(&list)?;
        for spec in &specs {
            turnstone_policy::liveness::check(spec)?;
        }
        if specs.is_empty() {
            return Err(Usage::of("--policies", "name at least one policy").into());
        }
        Ok(specs)
    }

    fn check_split(&self, specs: &[Spec]) -> anyhow::Result<()> {
        if self.split.is_none() {
            return Ok(());
        }
        let [spec] = specs else {
            return Err(Usage::of("--split", "name one policy whose order is to be split").into());
        };
        if turnstone_policy::liveness::is_dynamic(spec)? {
            let what = format!(
                "{spec} learns from every answer, so its order cannot be split beforehand; take a \
                 static or sample-based policy"
            );
            return Err(Usage::of("--split", what).into());
        }
        Ok(())
    }
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
