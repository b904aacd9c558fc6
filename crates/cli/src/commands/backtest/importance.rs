//! `turnstone backtest importance WEB`

mod figures;

use std::path::PathBuf;

use crate::table::Table;
use clap::Args;
use turnstone_lab::Backtest as _;
use turnstone_lab::backtest::importance::{Options, Outcome, Run};
use turnstone_lab::number::{duration, short, whole};

use super::shown::{Pictures, Shown};
use super::unknown::or_dash;
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
    let rows: Vec<(f64, &Outcome)> = runs
        .iter()
        .flat_map(|run| run.outcomes.iter().map(|it| (run.change_rate, it)))
        .collect();
    let unknown = rows.iter().any(|(_, it)| it.unknown > 0);
    let timed = rows.iter().any(|(_, it)| it.crawl_seconds.is_some());
    let error = |percent: f64| format!("{percent:.2} %");
    Table::of(&rows)
        .column("policy", |(_, it)| it.policy.clone())
        .column("#change rate", |(rate, _)| short(*rate))
        .column("#error, all", |(_, it)| {
            or_dash(it.points.last().map(|at| at.error_all), error)
        })
        .column("#error, top 10 %", |(_, it)| {
            or_dash(it.points.last().map(|at| at.error_top10), error)
        })
        .column("#1/G", |(_, it)| {
            or_dash(it.points.last().and_then(|at| at.error_factor), short)
        })
        .column("#G per crawl", |(_, it)| or_dash(it.clock_per_crawl, short))
        .column("#measures per page", |(_, it)| short(it.measures_per_page))
        .column("#computing", |(_, it)| duration(it.seconds))
        .columns(unknown, ["#unknown"], |(_, it)| [whole(it.unknown)])
        .columns(timed, ["#crawl takes"], |(_, it)| {
            [or_dash(it.crawl_seconds, duration)]
        })
        .table()
}
