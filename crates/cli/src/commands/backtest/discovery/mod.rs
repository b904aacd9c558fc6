//! `turnstone backtest discovery WEB…`

mod figures;
mod folds;

use std::path::PathBuf;

use crate::table::Table;
use clap::{Args, ValueEnum};
use turnstone_lab::backtest::discovery::{Limit, Options, Report, Row};
use turnstone_lab::number::{duration, percent, whole};
use turnstone_policy::discovery::Target;

use super::shown::{Pictures, Shown};
use super::unknown::{between, or_dash};
use super::{ask, specs};
use crate::exit::Exit;
use crate::output::Output;
use crate::units;

/// Which known pages do I fetch again to find most of the new pages with the least overhead?
///
/// Each policy is asked at every snapshot of every site, through the real scheduler, and learns
/// from full recrawls (or, the bandit, from what it fetched). `greedy-cover` knows the future; the
/// history limit is what all pages that ever led to a new page in a recrawl lead to together.
///
/// Coverage is that of the new pages that some old page leads to; `of all new` counts the others too, which
/// only `guess` can find: it asks for addresses that the site's own suggest. A guess that misses costs a request, one that
/// hits is a new page. `overhead of all` is requests per new page found in all rounds that brought one.
///
/// Of a crawl directory each round is a snapshot, and one that fetched every known page is a recrawl.
/// What a page linked to is known in a round if it was fetched in it, or found the same before and
/// after; other requests are unknown and counted, and what they could change is shown.
#[derive(Debug, Args)]
pub(crate) struct Discovery {
    /// Site histories, folders of them, or crawl directories
    #[arg(required = true, value_name = "WEB")]
    webs: Vec<PathBuf>,
    /// Policies to compare, or `all` (see `turnstone policies discovery`)
    #[arg(
        long,
        default_value = "od-1,od-win,od-all,cliq-1,cliq-win,cov,cov-win,bandit,hubs,guess"
    )]
    policies: String,
    /// Pages to fetch per site and snapshot
    #[arg(
        long,
        value_delimiter = ',',
        default_value = "1,10,100,1000,10000",
        value_parser = clap::value_parser!(u64).range(1..=1_000_000_000)
    )]
    budget: Vec<u64>,
    /// Full recrawls lie so many snapshots apart; several are run one after the other
    #[arg(
        long,
        value_delimiter = ',',
        default_value = "1",
        value_parser = clap::value_parser!(u32).range(1..=1000)
    )]
    recrawl_every: Vec<u32>,
    /// What a recrawl weighs against one a snapshot later, above 0 and at most 1
    #[arg(long, default_value_t = 1.0, value_parser = units::real)]
    decay: f64,
    /// What counts as found
    #[arg(long, value_enum, default_value_t = Find::Pages)]
    find: Find,
    /// Show every site on its own too
    #[arg(long)]
    by_site: bool,
    /// Choose among all policies but the first on some sites and report the choice on the others,
    /// beside the first: sites fall into so many folds by a hash of their names and the seed
    #[arg(long, value_parser = clap::value_parser!(u64).range(2..=1000))]
    folds: Option<u64>,
    /// Where random choices start
    #[arg(long, default_value_t = 1)]
    seed: u64,
    #[command(flatten)]
    pictures: Pictures,
}

/// What counts as found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Find {
    /// New pages of the site
    Pages,
    /// Off-site hosts that the site never linked to before
    Hosts,
}

impl Discovery {
    pub(crate) fn run(mut self, output: &Output) -> anyhow::Result<Exit> {
        sort(&mut self.budget);
        sort(&mut self.recrawl_every);
        let specs = specs::<Options>(&self.policies)?;
        let first = self.recrawl_every.first().copied().unwrap_or(1);
        let options = Options {
            budgets: self.budget,
            recrawl_every: self.recrawl_every,
            decay: self.decay,
            target: match self.find {
                Find::Pages => Target::Pages,
                Find::Hosts => Target::Hosts,
            },
            by_site: self.by_site,
            folds: self.folds.map(|folds| folds as usize),
            figures: self.pictures.wanted(),
            seed: self.seed,
        };
        let report = ask(&options, &self.webs, &specs)?;
        let shown = Shown {
            title: "Discovery: the new pages, with the fewest fetches of old ones",
            question: "Which known pages do I fetch again to find most of the new pages with the \
                       least overhead?"
                .to_owned(),
            setting: format!(
                "{}: {} sites, {} pages, {} snapshots; {}.",
                report.web,
                whole(report.sites_count as u64),
                whole(report.pages),
                whole(report.snapshots),
                counts(report.cases, report.new, report.orphans),
            ),
            table: rows_table(&report.results),
            more: more(&report),
            figures: &|| figures::all(&report, first),
        };
        self.pictures.show(&report, shown, output)?;
        Ok(Exit::Done)
    }
}

/// Limits, what was chosen on other sites, each site, and the time it took.
fn more(report: &Report) -> String {
    let mut text = format!("\n{}", limits_table(&report.limits).text());
    if let (Some(choices), Some(held_out)) = (&report.choices, &report.held_out) {
        text += &format!("\n{}", folds::text(choices, held_out));
    }
    for site in report.sites.iter().flatten() {
        let brought = counts(site.cases, site.new, site.orphans);
        text += &format!("\n{}: {brought}\n", site.site);
        if site.cases > 0 {
            text += &format!("\n{}", rows_table(&site.results).text());
        }
    }
    text + &format!("\n{} of computing\n", duration(report.seconds))
}

/// The table of some rows.
fn rows_table(rows: &[Row]) -> Table {
    let doubt = rows.iter().any(|row| row.unknown > 0);
    Table::of(rows)
        .column("policy", |row| row.policy.clone())
        .column("#recrawl every", |row| {
            let every = row.recrawl_every.map(|every| every.to_string());
            every.unwrap_or_else(|| "all these".to_owned())
        })
        .column("#budget", |row| whole(row.budget))
        .column("#depth", |row| {
            or_dash(row.depth, |depth| format!("{depth:.2}"))
        })
        .column("#overhead mean", |row| or_dash(row.overhead_mean, percent))
        .column("#overhead pooled", |row| {
            or_dash(row.overhead_pooled, percent)
        })
        .column("#coverage", |row| or_dash(row.coverage, percent))
        .column("#coverage mean", |row| or_dash(row.coverage_mean, percent))
        .column("#of all new", |row| or_dash(row.coverage_all, percent))
        .column("#overhead of all", |row| or_dash(row.overhead_all, percent))
        .column("#with idle rounds", |row| {
            or_dash(row.overhead_idle, percent)
        })
        .column("#guesses", |row| whole(row.guesses))
        .column("#hits", |row| whole(row.guess_hits))
        .columns(
            doubt,
            ["#unknown", "#overhead from to", "#coverage up to"],
            doubt_cells,
        )
        .table()
}

/// What unknown answers make unsure.
fn doubt_cells(row: &Row) -> [String; 3] {
    let Some(doubt) = row.doubt else {
        return ["0 %", "-", "-"].map(str::to_owned);
    };
    let overhead = doubt.overhead_low.zip(doubt.overhead_high);
    [
        or_dash(doubt.unknown_share, percent),
        or_dash(overhead, |(low, high)| between(low, high)),
        or_dash(doubt.coverage_high, percent),
    ]
}

fn sort<T: Ord>(numbers: &mut Vec<T>) {
    numbers.sort_unstable();
    numbers.dedup();
}

/// What there was to find.
fn counts(cases: usize, new: u64, orphans: u64) -> String {
    format!(
        "{} cases with {} new to find, {} more that no old page leads to",
        whole(cases as u64),
        whole(new),
        whole(orphans),
    )
}

fn limits_table(limits: &[Limit]) -> Table {
    Table::of(limits)
        .column("history limit, recrawl every", |it| {
            it.recrawl_every.to_string()
        })
        .column("#coverage", |it| or_dash(it.coverage, percent))
        .column("#coverage mean", |it| or_dash(it.coverage_mean, percent))
        .table()
}
