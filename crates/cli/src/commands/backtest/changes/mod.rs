//! `turnstone backtest changes WEB…`

mod figures;

use std::path::PathBuf;

use crate::table::Table;
use clap::{Args, ValueEnum};
use turnstone_lab::backtest::changes::{
    Budget, Compare, Measures, Options, Outcome, Report, Since, Tried,
};
use turnstone_lab::number::{duration, percent, whole};

use super::shown::{Pictures, Shown};
use super::unknown::{between, or_dash};
use super::{By, Half, ask, specs};
use crate::exit::{Exit, Usage};
use crate::output::Output;
use crate::units::{self, Amount};

/// What is compared when nothing is said: the paper's figure 6, today's practice, and ours.
const USUAL: &str = "rns,round-robin,gsb,link-neighbours,directory-neighbours,cluster-neighbours,\
                     uniform,interval,crawl-value,azar,cohorts";

/// Of the stored pages a policy fetches again, how many have changed, and how fresh is the store?
///
/// All sites form one store: the pages of their first snapshots, fetched then. Each cycle a policy
/// may fetch so many of them again. ChangeRatio is the share of these that had changed; freshness
/// the share of the store that is current at the cycle's end. The bound knows the future and is
/// always reported too.
///
/// Of a crawl directory each round is a cycle, and a page is known in a round if it was fetched in
/// it, or found the same before and after. What a policy asks for and the record cannot answer is
/// unknown: it is counted, the measures are those of the answers, and their bounds are shown.
#[derive(Debug, Args)]
pub(crate) struct Changes {
    /// Site histories, folders of them, or crawl directories
    #[arg(required = true, value_name = "WEB")]
    webs: Vec<PathBuf>,
    /// Policies to compare, `all`, or `figures` (every one that the paper's figures show); see
    /// `turnstone policies changes`
    #[arg(long, default_value = USUAL)]
    policies: String,
    /// Fetches a cycle: numbers or shares of the store, such as `500` or `0.5%,2%,5%`
    #[arg(long, default_value = "2%", value_name = "R,…")]
    budget: String,
    /// How long a cycle is [default: 2; of a crawl directory, from one round to the next]
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=520))]
    cycle_weeks: Option<u32>,
    /// How many cycles; a site that ends earlier stands still from then on
    #[arg(long, default_value_t = 24, value_parser = clap::value_parser!(u32).range(1..=1000))]
    cycles: u32,
    /// What counts as a page's content: its visible text or its bytes
    #[arg(long, value_enum, default_value_t = By::Text)]
    compare: By,
    /// Changed compared with what: our copy, or what the page was a cycle ago
    #[arg(long, value_enum, default_value_t = Than::Copy)]
    since: Than,
    /// Let pages born later join the store
    #[arg(long)]
    grow: bool,
    /// Only every other site in order of name, to choose parameters on one half and report the
    /// other
    #[arg(long, value_enum)]
    half: Option<Half>,
    /// How many seeds to run each policy with
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u64).range(1..=1000))]
    seeds: u64,
    /// The first seed
    #[arg(long, default_value_t = 1)]
    seed: u64,
    #[command(flatten)]
    pictures: Pictures,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Than {
    Copy,
    LastCycle,
}

impl Changes {
    pub(crate) fn run(self, output: &Output) -> anyhow::Result<Exit> {
        let specs = specs::<Options>(&self.policies)?;
        let budgets: Result<_, Usage> = self.budget.split(',').map(budget).collect();
        let options = Options {
            budgets: budgets?,
            cycle_weeks: self.cycle_weeks,
            cycles: self.cycles,
            compare: self.compare.into(),
            since: match self.since {
                Than::Copy => Since::Copy,
                Than::LastCycle => Since::LastCycle,
            },
            grow: self.grow,
            half: self.half.map(Into::into),
            seed: self.seed,
            seeds: self.seeds,
        };
        let report = ask(&options, &self.webs, &specs)?;
        let shown = Shown {
            title: "Changes: which stored pages to fetch again",
            question: "I can fetch only a part of my store again each cycle. Which pages, so that \
                       most of what I fetch has changed, and the store stays fresh?"
                .to_owned(),
            setting: setting(&report),
            table: table(&report.results),
            more: String::new(),
            figures: &|| figures::figures(&report.results),
        };
        self.pictures.show(&report, shown, output)?;
        Ok(Exit::Done)
    }
}

fn budget(text: &str) -> Result<Budget, Usage> {
    match units::amount(text) {
        Ok(Amount::Count(pages)) => Ok(Budget::Pages(pages)),
        Ok(Amount::Share(share)) => Ok(Budget::Share(share)),
        Err(error) => Err(Usage::of("--budget", error)),
    }
}

fn setting(report: &Report) -> String {
    let cycle = match report.cycle_weeks {
        Some(weeks) => format!("{weeks} weeks"),
        None => "a round each".to_owned(),
    };
    let content = match report.compare {
        Compare::Text => "visible text",
        Compare::Raw => "bytes",
    };
    let since = match report.since {
        Since::Copy => "in our copy",
        Since::LastCycle => "a cycle ago",
    };
    let mut setting = format!(
        "{}: {} sites, {} pages, {} links. {} cycles of {cycle}, {} seeds. Changed: {content} not as {since}.",
        report.web,
        report.sites,
        whole(report.pages as u64),
        whole(report.links),
        report.cycles,
        report.seeds,
    );
    if report.grow {
        setting += &format!(" Grows to {} pages.", whole(report.pages_at_end as u64));
    }
    if report.results.iter().any(|tried| tried.bound.is_none()) {
        let share = report.known_page_cycles as f64 / report.page_cycles.max(1) as f64;
        let share = percent(share);
        setting += &format!(" Known: {share} of what each page was in each cycle.");
    }
    setting
}

/// A row: the bound of a budget, or a policy.
enum Line<'a> {
    Bound(u64, Measures),
    Tried(&'a Outcome),
}

impl Line<'_> {
    /// A cell that both have.
    fn both(
        &self,
        bound: impl Fn(&Measures) -> String,
        tried: impl Fn(&Outcome) -> String,
    ) -> String {
        match self {
            Self::Bound(_, measures) => bound(measures),
            Self::Tried(outcome) => tried(outcome),
        }
    }

    /// A cell that only a policy has.
    fn tried(&self, cell: impl Fn(&Outcome) -> String) -> String {
        self.both(|_| String::new(), cell)
    }
}

/// One row a policy and budget, the bound first.
fn table(results: &[Tried]) -> Table {
    let mut lines = Vec::new();
    for of_budget in results.chunk_by(|a, b| a.outcome.budget == b.outcome.budget) {
        let first = &of_budget[0];
        lines.extend(
            first
                .bound
                .map(|bound| Line::Bound(first.outcome.budget, bound)),
        );
        lines.extend(of_budget.iter().map(|tried| Line::Tried(&tried.outcome)));
    }
    let doubt = results.iter().any(|tried| tried.outcome.doubt.is_some());
    let titles = [
        "#unknown",
        "#ChangeRatio from to",
        "#by chance",
        "#freshness from to",
    ];
    let weighted = |ratio: f64| format!("{ratio:.3}");
    Table::of(&lines)
        .column("policy", |line| {
            line.both(|_| "bound".to_owned(), |it| it.policy.clone())
        })
        .column("#fetches a cycle", |line| match line {
            Line::Bound(budget, _) => whole(*budget),
            Line::Tried(it) => whole(it.budget),
        })
        .column("#ChangeRatio", |line| {
            line.both(
                |it| percent(it.change_ratio),
                |it| percent(it.mean_change_ratio),
            )
        })
        .column("#±", |line| {
            line.tried(|it| percent(it.spread.change_ratio))
        })
        .column("#weighted", |line| {
            line.both(
                |it| weighted(it.weighted_change_ratio),
                |it| weighted(it.mean_weighted_change_ratio),
            )
        })
        .column("#freshness", |line| {
            line.both(|it| percent(it.freshness), |it| percent(it.mean_freshness))
        })
        .column("#± ", |line| line.tried(|it| percent(it.spread.freshness)))
        .column("#weighted ", |line| {
            line.both(
                |it| percent(it.weighted_freshness),
                |it| percent(it.mean_weighted_freshness),
            )
        })
        .column("#computing", |line| line.tried(|it| duration(it.seconds)))
        .columns(doubt, titles, |line| match line {
            Line::Bound(..) => [const { String::new() }; 4],
            Line::Tried(it) => doubt_cells(it),
        })
        .table()
}

/// What unknown answers make unsure.
fn doubt_cells(outcome: &Outcome) -> [String; 4] {
    let Some(doubt) = outcome.doubt else {
        return ["0 %", "-", "-", "-"].map(str::to_owned);
    };
    [
        percent(doubt.unknown_share),
        between(doubt.change_ratio_low, doubt.change_ratio_high),
        or_dash(doubt.change_ratio_weighted, percent),
        between(doubt.freshness_low, doubt.freshness_high),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn budgets_are_numbers_or_shares() {
        assert_eq!(budget("500").unwrap(), Budget::Pages(500));
        assert_eq!(budget("0.5%").unwrap(), Budget::Share(0.005));
        for wrong in ["", "0", "-1", "0%", "101%", "x", "5 %%", "NaN%"] {
            assert!(budget(wrong).is_err(), "{wrong}");
        }
    }
}
