//! `turnstone backtest keep WEB…`

mod figures;

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use serde_json::{Value, json};
use turnstone_frontier::Split;
use turnstone_lab::backtest::keep::{self, Announced, Compare, MovingWeb, Outcome, Rules, Total};
use turnstone_lab::number::{duration, percent, whole};
use turnstone_lab::table::Table;
use turnstone_lab::web;
use turnstone_policy::keep as policies;

use super::pictures::{Pictures, Shown};
use crate::caller;
use crate::exit::{Exit, Usage};
use crate::output::Output;
use crate::progress::Progress;
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
enum By {
    Text,
    Raw,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Every {
    Daily,
    Weekly,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Half {
    /// The first, third, fifth, … site
    Odd,
    /// The second, fourth, sixth, … site
    Even,
}

impl Keep {
    pub(crate) fn run(self, output: &Output) -> anyhow::Result<Exit> {
        let specs = caller::specs(&self.policies)?;
        specs.iter().try_for_each(policies::check)?;
        if specs.is_empty() {
            return Err(Usage::of("--policies", "name at least one policy").into());
        }
        let rules = Rules {
            days: self.days,
            round_days: if self.rounds == Every::Daily { 1 } else { 7 },
            share: share(&self.budget)?,
            hints: self
                .hints
                .as_deref()
                .map_or(Ok(Announced::default()), announced)?,
        };
        let progress = Progress::share();
        let web = self.read(&progress)?;
        let mut outcomes = Vec::new();
        for spec in &specs {
            let mut watch = |what: &str, share: f64| progress.at(what, share);
            outcomes.push(keep::try_policy(&web, spec, rules, self.seed, &mut watch)?);
        }
        drop(progress);
        self.show(&web, &outcomes, output)?;
        Ok(Exit::Done)
    }

    fn read(&self, progress: &Progress) -> anyhow::Result<MovingWeb> {
        progress.at("reading", 0.0);
        let mut files = Vec::new();
        for web in &self.webs {
            files.extend(web::history_files(web)?);
        }
        files.sort();
        files.dedup();
        if let Some(half) = self.half {
            let skip = usize::from(half == Half::Even);
            files = files.into_iter().skip(skip).step_by(2).collect();
        }
        let compare = match self.compare {
            By::Text => Compare::Text,
            By::Raw => Compare::Raw,
        };
        let watch = &mut |share| progress.at("reading", share);
        let web = MovingWeb::read(&files, self.days, compare, watch)?;
        if web.sites.is_empty() {
            let what = format!(
                "no site has a history of {} days; ask for fewer with --days",
                self.days
            );
            return Err(Usage::of("WEB", what).into());
        }
        Ok(web)
    }

    fn show(&self, web: &MovingWeb, outcomes: &[Outcome], output: &Output) -> anyhow::Result<()> {
        let webs: Vec<String> = self
            .webs
            .iter()
            .map(|web| web.display().to_string())
            .collect();
        let pages: usize = web.sites.iter().map(|site| site.first_pages()).sum();
        let json = json!({
            "question": "keep",
            "web": webs.join(" "),
            "sites": web.sites.len(),
            "too_short": web.too_short,
            "pages": pages,
            "days": self.days,
            "budget": self.budget,
            "hints": self.hints,
            "seed": self.seed,
            "results": outcomes.iter().map(as_json).collect::<Vec<_>>(),
        });
        let setting = format!(
            "{}: {} sites with {} days of history ({} have less), {} pages on the first day. {} \
             of a full weekly recrawl, {} rounds.",
            webs.join(" "),
            web.sites.len(),
            self.days,
            web.too_short.len(),
            whole(pages as u64),
            self.budget,
            if self.rounds == Every::Daily {
                "daily"
            } else {
                "weekly"
            },
        );
        let table = table(outcomes);
        output.result(&json, || {
            let mut text = format!("{setting}\n\n{}", table.text());
            for outcome in outcomes {
                if let Some(split) = &outcome.split {
                    text += &format!("\n{}, all sites as one crawl:\n", outcome.policy);
                    text += &split_table(split).text();
                }
            }
            if self.by_site {
                text += "\nEach site alone:\n";
                text += &site_table(outcomes).text();
            }
            text
        })?;
        if self.pictures.wanted() {
            let shown = Shown {
                title: "Keep: a store complete and current with one small budget".to_owned(),
                question: "I can make only so many requests a day, for ever. Which, so that my \
                           store stays current and new pages are found soon?"
                    .to_owned(),
                setting,
                figures: figures::figures(outcomes),
                table,
            };
            self.pictures.write(shown, output)?;
        }
        Ok(())
    }
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

fn as_json(outcome: &Outcome) -> Value {
    let split = outcome.split.as_ref().map(|split| {
        let arms = split.arms.iter();
        arms.map(|arm| {
            json!({
                "arm": arm.arm.name(),
                "requests": arm.spent,
                "gain": arm.gain,
                "gain_per_request": arm.gain_per_request,
                "marginal": arm.marginal,
                "floor": arm.floor,
                "reason": arm.reason.name(),
            })
        })
        .collect::<Vec<_>>()
    });
    json!({
        "policy": outcome.policy,
        "together": outcome.together,
        "alone": outcome.alone_total,
        "alone_mean_freshness": outcome.alone_mean_freshness,
        "sites": outcome.alone.iter().map(|(site, total)| {
            json!({"site": site, "measures": total})
        }).collect::<Vec<_>>(),
        "split": split,
        "days": outcome.days,
        "seconds": outcome.seconds,
    })
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
            let (name, total) = &outcome.alone[site];
            table.row([
                name.clone(),
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
