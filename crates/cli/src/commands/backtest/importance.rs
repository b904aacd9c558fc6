//! `turnstone backtest importance WEB`

mod figures;

use std::path::PathBuf;

use clap::Args;
use turnstone_lab::Backtest as _;
use turnstone_lab::backtest::importance::{Options, Run};
use turnstone_lab::number::{duration, short, whole};
use turnstone_lab::table::Table;

use super::shown::{Pictures, Shown};
use super::{ask, specs};
use crate::exit::Exit;
use crate::output::Output;
use crate::units;

/// The policies compared unless others are named.
const DEFAULT: &str = "opic:select=random,opic:select=cycle,opic:select=greedy,\
                         opic:window=interpolation,local-push";

/// How far are estimates of importance from the truth, while crawling?
///
/// All policies crawl the same web side by side; their estimates are compared with the fixpoint of
/// the web as it is at that moment. Of a history the snapshots pass by during the crawl. The
/// off-line algorithm is always reported too: one of its iterations counts as one crawl.
#[derive(Debug, Args)]
pub(crate) struct Importance {
    /// A recorded web: a graph, or the history of one site
    web: PathBuf,
    /// Policies to compare, or `all` (see `turnstone policies importance`)
    #[arg(
        long,
        default_value = DEFAULT
    )]
    policies: String,
    /// How many pages to read, in multiples of the page count
    #[arg(long, default_value_t = 10.0)]
    visits: f64,
    /// Shares of all pages whose in-links change while the crawl reads as many pages as the web has;
    /// several rates, separated by commas, run one after the other
    #[arg(
        long,
        default_value = "0",
        value_delimiter = ',',
        value_name = "RATE,…"
    )]
    change_rate: Vec<f64>,
    /// Pages that earn more, out of the virtual page: TEXT=SCORE for addresses that contain the
    /// text, or a file with `page<TAB>score` lines; may be given several times
    #[arg(long, value_name = "TEXT=SCORE|FILE")]
    bonus: Vec<String>,
    /// Ask each host politely, this far apart, under a virtual clock, and tell how long it takes
    #[arg(long, value_parser = units::span_ms, value_name = "TIME")]
    delay: Option<u64>,
    /// Decides what is random
    #[arg(long, default_value_t = 1)]
    seed: u64,
    #[command(flatten)]
    pictures: Pictures,
}

impl Importance {
    pub(crate) fn run(self, output: &Output) -> anyhow::Result<Exit> {
        let mut specs = specs::<Options>(&self.policies)?;
        let is_named = self.policies != DEFAULT && Options::preset(&self.policies).is_none();
        if !self.bonus.is_empty() && !is_named {
            // Nobody named the others.
            specs.retain(|spec| spec.name() == "opic");
        }
        let options = Options {
            visits: self.visits,
            change_rates: self.change_rate,
            bonus: self.bonus,
            delay_ms: self.delay,
            seed: self.seed,
        };
        let report = ask(&options, &[self.web], &specs)?;
        let shown = Shown {
            title: "Importance: how much each page matters, while crawling",
            question: "How important is each page, while I crawl, without storing the link \
                       matrix, and as the web changes?"
                .to_owned(),
            setting: format!(
                "{}: {} pages, {} links. Each policy reads {} times as many pages. Errors are mean \
                 relative errors against the fixpoint at the end; G is the share of all cash read.",
                report.web,
                whole(report.pages),
                whole(report.links),
                short(report.visits),
            ),
            table: table(&report.runs),
            more: String::new(),
            figures: &|| figures::all(&report.runs),
        };
        self.pictures.show(&report, shown, output)?;
        Ok(Exit::Done)
    }
}

fn table(runs: &[Run]) -> Table {
    let is_timed = |run: &Run| run.outcomes.iter().any(|it| it.crawl_seconds.is_some());
    let timed = runs.iter().any(is_timed);
    let mut heads = vec![
        "policy",
        "#change rate",
        "#error, all",
        "#error, top 10 %",
        "#1/G",
        "#G per crawl",
        "#measures per page",
        "#computing",
    ];
    let is_unknown = |run: &Run| run.outcomes.iter().any(|it| it.unknown > 0);
    let unknown = runs.iter().any(is_unknown);
    if unknown {
        heads.push("#unknown");
    }
    if timed {
        heads.push("#crawl takes");
    }
    let mut table = Table::new(&heads);
    let or_dash = |number: Option<f64>| number.map_or_else(|| "-".to_owned(), short);
    for run in runs {
        for outcome in &run.outcomes {
            let last = outcome.points.last();
            let error = |error: Option<f64>| {
                error.map_or_else(|| "-".to_owned(), |percent| format!("{percent:.2} %"))
            };
            let mut row = vec![
                outcome.policy.clone(),
                short(run.change_rate),
                error(last.map(|point| point.error_all)),
                error(last.map(|point| point.error_top10)),
                or_dash(last.and_then(|point| point.error_factor)),
                or_dash(outcome.clock_per_crawl),
                short(outcome.measures_per_page),
                duration(outcome.seconds),
            ];
            if unknown {
                row.push(whole(outcome.unknown));
            }
            if timed {
                let takes = outcome.crawl_seconds;
                row.push(takes.map_or_else(|| "-".to_owned(), duration));
            }
            table.row(row);
        }
    }
    table
}
