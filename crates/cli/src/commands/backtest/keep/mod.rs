//! `turnstone backtest keep WEB…`

mod figures;

use std::path::PathBuf;

use crate::table::Table;
use clap::{Args, ValueEnum};
use turnstone_frontier::Split;
use turnstone_lab::backtest::keep::{Announced, Options, Outcome, Report, Rules, SiteTotal, Total};
use turnstone_lab::number::{duration, percent, whole};

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
            rules: Rules {
                days: self.days,
                round_days: if self.rounds == Every::Daily { 1 } else { 7 },
                share: share(&self.budget)?,
                hints: match &self.hints {
                    Some(hints) => announced(hints)?,
                    None => Announced::default(),
                },
            },
            budget: self.budget,
            hints: self.hints,
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
        report.budget,
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
fn share(text: &str) -> Result<f64, Usage> {
    let share = units::part(text).map_err(|error| Usage::of("--budget", error))?;
    if share > 0.0 {
        Ok(share)
    } else {
        Err(Usage::of("--budget", "must be above 0"))
    }
}

/// What sites announce.
fn announced(text: &str) -> Result<Announced, Usage> {
    let (changes, false_ones) = text.split_once(',').unwrap_or((text, "0%"));
    let read = units::part(changes).ok().zip(units::part(false_ones).ok());
    let (changes, false_daily) = read.ok_or_else(|| {
        let what = format!("'{text}': give two shares up to 100%, as 80%,0.1%");
        Usage::of("--hints", what)
    })?;
    Ok(Announced {
        changes,
        false_daily,
    })
}

/// A median in words.
fn days(median: Option<u32>) -> String {
    median.map_or_else(|| "never".to_owned(), |days| format!("{days} d"))
}

/// One row a policy: all sites as one crawl, then each alone.
fn table(outcomes: &[Outcome]) -> Table {
    let together = outcomes.iter().map(|it| ("together", it, &it.together));
    let alone = outcomes
        .iter()
        .map(|it| ("each alone", it, &it.alone_total));
    let rows: Vec<(&str, &Outcome, &Total)> = together.chain(alone).collect();
    Table::of(&rows)
        .column("kept", |(kept, ..)| (*kept).to_owned())
        .column("policy", |(_, it, _)| it.policy.clone())
        .column("#freshness", |(.., of)| percent(of.freshness))
        .column("#weighted", |(.., of)| percent(of.weighted_freshness))
        .column("#of copies", |(.., of)| percent(of.stored_freshness))
        .column("#new pages found", |(.., of)| percent(of.found_share))
        .column("#median delay", |(.., of)| days(of.median_delay))
        .column("#known", |(.., of)| percent(of.known_share))
        .column("#requests", |(.., of)| whole(of.requests))
        .column("#computing", |(_, it, _)| duration(it.seconds))
        .table()
}

fn split_table(split: &Split) -> Table {
    Table::of(&split.arms)
        .column("arm", |it| it.arm.to_string())
        .column("#requests", |it| whole(it.spent))
        .column("#gain", |it| format!("{:.0}", it.gain))
        .column("#gain per request lately", |it| {
            format!("{:.3}", it.gain_per_request)
        })
        .column("#floor", |it| percent(it.floor))
        .table()
}

fn site_table(outcomes: &[Outcome]) -> Table {
    let sites = outcomes.first().map_or(0, |outcome| outcome.alone.len());
    let rows: Vec<(&str, &SiteTotal)> = (0..sites)
        .flat_map(|site| {
            outcomes
                .iter()
                .map(move |it| (it.policy.as_str(), &it.alone[site]))
        })
        .collect();
    Table::of(&rows)
        .column("site", |(_, of)| of.site.clone())
        .column("policy", |(policy, _)| (*policy).to_owned())
        .column("#freshness", |(_, of)| percent(of.measures.freshness))
        .column("#new pages", |(_, of)| whole(of.measures.new_pages))
        .column("#found", |(_, of)| percent(of.measures.found_share))
        .column("#median delay", |(_, of)| days(of.measures.median_delay))
        .column("#requests", |(_, of)| whole(of.measures.requests))
        .table()
}
