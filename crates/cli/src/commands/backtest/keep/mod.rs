//! `turnstone backtest keep WEB…`

mod figures;

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use turnstone_frontier::Split;
use turnstone_lab::backtest::keep::{Announced, Options, Outcome, Report, Total, Written};
use turnstone_lab::number::{duration, percent, whole};
use turnstone_lab::table::Table;

use super::shown::{Pictures, Shown};
use super::{By, Half, ask, specs};
use crate::exit::{Exit, Usage};
use crate::output::Output;
use crate::units;

/// How current and complete is a store kept for a year with a small part of a full recrawl?
///
/// Each site begins so many days before its last snapshot, fully crawled; then rounds are announced
/// with a budget, and what a policy asks for is answered from the record. Freshness: of the pages
/// that are there, the share that is stored as it is, averaged over days; weighted, each page counts by the
/// links to it. Found: of the pages
/// born since, the share that was stored. Delay: the median of days until a new page is stored,
/// one never stored being later than all others. All sites are kept by one budget as one crawl, and each
/// alone by its own.
#[derive(Debug, Args)]
pub(crate) struct Keep {
    /// Site histories, or folders of them
    #[arg(required = true, value_name = "WEB")]
    webs: Vec<PathBuf>,
    /// Policies to compare; see `turnstone policies keep`
    #[arg(long, default_value = "keep,uniform,interval")]
    policies: String,
    /// How many days; sites with a shorter history are left out
    #[arg(long, default_value_t = 364, value_parser = clap::value_parser!(u32).range(7..=3650))]
    days: u32,
    /// Requests, as a share of those that fetching all pages of the first day every week needs
    #[arg(long, default_value = "10%", value_name = "SHARE")]
    budget: String,
    /// How often the policy gets its part of the budget
    #[arg(long, value_enum, default_value_t = Every::Daily)]
    rounds: Every,
    /// What counts as a page's content: its visible text or its bytes
    #[arg(long, value_enum, default_value_t = By::Text)]
    compare: By,
    /// Only every other site in order of name, to choose parameters on one half and report the
    /// other
    #[arg(long, value_enum)]
    half: Option<Half>,
    /// What sites announce of their changes, as sitemaps do: the share of changes, and false announcements
    /// by page and day, as 80%,0.1%
    #[arg(long, value_name = "CHANGES,FALSE")]
    hints: Option<String>,
    /// Show every site too
    #[arg(long)]
    by_site: bool,
    /// Breaks ties
    #[arg(long, default_value_t = 1)]
    seed: u64,
    #[command(flatten)]
    pictures: Pictures,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Every {
    Daily,
    Weekly,
}

impl Keep {
    pub(crate) fn run(self, output: &Output) -> anyhow::Result<Exit> {
        let specs = specs::<Options>(&self.policies)?;
        let options = Options {
            days: self.days,
            round_days: if self.rounds == Every::Daily { 1 } else { 7 },
            budget: share(self.budget)?,
            hints: self.hints.map(announced).transpose()?,
            compare: self.compare.into(),
            half: self.half.map(Into::into),
            seed: self.seed,
        };
        let report = ask(&options, &self.webs, &specs)?;
        let shown = Shown {
            title: "Keep: a store complete and current with one small budget",
            question: "I can make only so many requests a day, for ever. Which, so that my \
                       store stays current and new pages are found soon?"
                .to_owned(),
            setting: setting(&report, self.rounds),
            table: table(&report.results),
            more: more(&report.results, self.by_site),
            figures: &|| figures::figures(&report.results),
        };
        self.pictures.show(&report, shown, output)?;
        Ok(Exit::Done)
    }
}

fn setting(report: &Report, rounds: Every) -> String {
    format!(
        "{}: {} sites with {} days of history ({} have less), {} pages on the first day. {} \
         of a full weekly recrawl, {} rounds.",
        report.web,
        report.sites,
        report.days,
        report.too_short.len(),
        whole(report.pages as u64),
        report.budget.text,
        if rounds == Every::Daily {
            "daily"
        } else {
            "weekly"
        },
    )
}

/// How budgets were split, and each site.
fn more(outcomes: &[Outcome], by_site: bool) -> String {
    let mut text = String::new();
    for outcome in outcomes {
        if let Some(split) = &outcome.split {
            text += &format!("\n{}, all sites as one crawl:\n", outcome.policy);
            text += &split_table(split).text();
        }
    }
    if by_site {
        text += "\nEach site alone:\n";
        text += &site_table(outcomes).text();
    }
    text
}

/// A share of a full recrawl.
fn share(text: String) -> Result<Written<f64>, Usage> {
    let means = units::part(&text).map_err(|error| Usage::of("--budget", error))?;
    if means > 0.0 {
        Ok(Written { text, means })
    } else {
        Err(Usage::of("--budget", "must be above 0"))
    }
}

/// What sites announce.
fn announced(text: String) -> Result<Written<Announced>, Usage> {
    let (changes, false_ones) = text.split_once(',').unwrap_or((&text, "0%"));
    let read = units::part(changes).ok().zip(units::part(false_ones).ok());
    let (changes, false_daily) = read.ok_or_else(|| {
        let what = format!("'{text}': give two shares up to 100%, as 80%,0.1%");
        Usage::of("--hints", what)
    })?;
    let means = Announced {
        changes,
        false_daily,
    };
    Ok(Written { text, means })
}

/// A median in words.
fn days(median: Option<u32>) -> String {
    median.map_or_else(|| "never".to_owned(), |days| format!("{days} d"))
}

fn row(kept: &str, outcome: &Outcome, total: &Total) -> [String; 10] {
    [
        kept.to_owned(),
        outcome.policy.clone(),
        percent(total.freshness),
        percent(total.weighted_freshness),
        percent(total.stored_freshness),
        percent(total.found_share),
        days(total.median_delay),
        percent(total.known_share),
        whole(total.requests),
        duration(outcome.seconds),
    ]
}

/// One row a policy: all sites as one crawl, then each alone.
fn table(outcomes: &[Outcome]) -> Table {
    let mut table = Table::new(&[
        "kept",
        "policy",
        "#freshness",
        "#weighted",
        "#of copies",
        "#new pages found",
        "#median delay",
        "#known",
        "#requests",
        "#computing",
    ]);
    for outcome in outcomes {
        table.row(row("together", outcome, &outcome.together));
    }
    for outcome in outcomes {
        table.row(row("each alone", outcome, &outcome.alone_total));
    }
    table
}

fn split_table(split: &Split) -> Table {
    let mut table = Table::new(&[
        "arm",
        "#requests",
        "#gain",
        "#gain per request lately",
        "#floor",
    ]);
    for arm in &split.arms {
        table.row([
            arm.arm.to_string(),
            whole(arm.spent),
            format!("{:.0}", arm.gain),
            format!("{:.3}", arm.gain_per_request),
            percent(arm.floor),
        ]);
    }
    table
}

fn site_table(outcomes: &[Outcome]) -> Table {
    let mut table = Table::new(&[
        "site",
        "policy",
        "#freshness",
        "#new pages",
        "#found",
        "#median delay",
        "#requests",
    ]);
    let sites = outcomes.first().map_or(0, |outcome| outcome.alone.len());
    for site in 0..sites {
        for outcome in outcomes {
            let of_site = &outcome.alone[site];
            let total = &of_site.measures;
            table.row([
                of_site.site.clone(),
                outcome.policy.clone(),
                percent(total.freshness),
                whole(total.new_pages),
                percent(total.found_share),
                days(total.median_delay),
                whole(total.requests),
            ]);
        }
    }
    table
}
