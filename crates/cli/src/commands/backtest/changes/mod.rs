//! `turnstone backtest changes WEB…`

mod figures;
mod specs;

use std::path::PathBuf;
use std::str::FromStr;

use clap::{Args, ValueEnum};
use serde_json::json;
use turnstone_lab::backtest::changes::{
    self, Calendar, Compare, Measures, Outcome, Pace, Question, Since, SiteStore,
};
use turnstone_lab::number::{duration, percent, whole};
use turnstone_lab::table::Table;
use turnstone_lab::web::RecordedSite;

use super::pictures::{Pictures, Shown};
use super::unknown::between;
use crate::exit::{Exit, Usage};
use crate::output::Output;
use crate::progress::Progress;
use crate::units::{self, Amount};

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
    #[arg(long, default_value = specs::USUAL)]
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
enum By {
    Text,
    Raw,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Than {
    Copy,
    LastCycle,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Half {
    /// The first, third, fifth, … site
    Odd,
    /// The second, fourth, sixth, … site
    Even,
}

/// How long a cycle is, if nothing is said.
const WEEKS: u32 = 2;

/// Fetches a cycle.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Budget {
    Pages(u64),
    Share(f64),
}

impl FromStr for Budget {
    type Err = Usage;

    fn from_str(text: &str) -> Result<Self, Usage> {
        match units::amount(text) {
            Ok(Amount::Count(pages)) => Ok(Self::Pages(pages)),
            Ok(Amount::Share(share)) => Ok(Self::Share(share)),
            Err(error) => Err(Usage::of("--budget", error)),
        }
    }
}

impl Budget {
    fn pages(self, store: usize) -> u64 {
        match self {
            Self::Pages(pages) => pages,
            Self::Share(share) => ((share * store as f64).round() as u64).max(1),
        }
    }
}

impl Changes {
    pub(crate) fn run(self, output: &Output) -> anyhow::Result<Exit> {
        let specs = specs::parse(&self.policies)?;
        let budgets: Result<Vec<Budget>, Usage> = self.budget.split(',').map(str::parse).collect();
        let budgets = budgets?;
        let progress = Progress::share();
        let store = self.read(&progress)?;
        let budgets: Vec<u64> = budgets
            .iter()
            .map(|budget| budget.pages(store.first_pages()))
            .collect();
        let since = match self.since {
            Than::Copy => Since::Copy,
            Than::LastCycle => Since::LastCycle,
        };
        let mut bounds: Vec<(u64, Option<Measures>)> = Vec::new();
        let mut outcomes: Vec<Outcome> = Vec::new();
        for &budget in &budgets {
            // What is best cannot be told where not all is known.
            let bound = (!store.has_unknown()).then(|| changes::bound(&store, budget, since));
            bounds.push((budget, bound));
            let question = Question {
                store: &store,
                budget,
                since,
                seeds: (self.seed, self.seeds),
            };
            for spec in &specs {
                let mut watch = |what: &str, share: f64| progress.at(what, share);
                outcomes.push(changes::try_policy(&question, spec, &mut watch)?);
            }
        }
        drop(progress);
        self.show(&store, &bounds, &outcomes, output)?;
        Ok(Exit::Done)
    }

    fn read(&self, progress: &Progress) -> anyhow::Result<SiteStore> {
        progress.at("reading", 0.0);
        let mut sites = Vec::new();
        for web in &self.webs {
            sites.extend(RecordedSite::all(web)?);
        }
        sites.sort_by_key(RecordedSite::name);
        sites.dedup_by_key(|site| site.name());
        if let Some(half) = self.half {
            let skip = usize::from(half == Half::Even);
            sites = sites.into_iter().skip(skip).step_by(2).collect();
        }
        let crawled = sites.iter().any(RecordedSite::is_crawled);
        let calendar = Calendar {
            cycles: self.cycles,
            pace: match self.cycle_weeks {
                None if crawled => Pace::Snapshots,
                weeks => Pace::Weeks(weeks.unwrap_or(WEEKS)),
            },
            compare: match self.compare {
                By::Text => Compare::Text,
                By::Raw => Compare::Raw,
            },
            grow: self.grow,
        };
        let store = SiteStore::read(&sites, calendar, &mut |share| progress.at("reading", share))?;
        if store.first_pages() == 0 {
            return Err(Usage::of("WEB", "no site has a page in its first snapshot").into());
        }
        if store.cycles() == 0 {
            let what = "the crawl has one round only, so nothing is known of changes; fetch some \
                        pages again with `turnstone refresh`";
            return Err(Usage::of("WEB", what).into());
        }
        Ok(store)
    }

    fn show(
        &self,
        store: &SiteStore,
        bounds: &[(u64, Option<Measures>)],
        outcomes: &[Outcome],
        output: &Output,
    ) -> anyhow::Result<()> {
        let bound_of = |budget: u64| {
            let (_, bound) = bounds
                .iter()
                .find(|(other, _)| *other == budget)
                .expect("each has one");
            bound
        };
        let results: Vec<serde_json::Value> = outcomes
            .iter()
            .map(|outcome| {
                let mut result = json!(outcome);
                let bound = bound_of(outcome.budget);
                let of = |measure: fn(&Measures) -> f64| json!(bound.as_ref().map(measure));
                result["bound_change_ratio"] = of(|bound| bound.change_ratio);
                result["bound_weighted_change_ratio"] = of(|bound| bound.weighted_change_ratio);
                result["bound_freshness"] = of(|bound| bound.freshness);
                result["bound_weighted_freshness"] = of(|bound| bound.weighted_freshness);
                result
            })
            .collect();
        let webs: Vec<String> = self
            .webs
            .iter()
            .map(|web| web.display().to_string())
            .collect();
        let json = json!({
            "question": "changes",
            "web": webs.join(" "),
            "sites": store.sites.len(),
            "pages": store.first_pages(),
            "pages_at_end": store.page_count(),
            "links": store.link_count(),
            "seed": self.seed,
            "seeds": self.seeds,
            "cycles": store.cycles(),
            "cycle_weeks": self.weeks(store),
            "known_page_cycles": store.known_share().0,
            "page_cycles": store.known_share().1,
            "compare": format!("{:?}", self.compare).to_lowercase(),
            "since": if self.since == Than::Copy { "copy" } else { "last-cycle" },
            "results": results,
        });
        let setting = self.setting(&webs, store);
        let table = table(bounds, outcomes);
        output.result(&json, || format!("{setting}\n\n{}", table.text()))?;
        if self.pictures.wanted() {
            let shown = Shown {
                title: "Changes: which stored pages to fetch again".to_owned(),
                question:
                    "I can fetch only a part of my store again each cycle. Which pages, so that \
                           most of what I fetch has changed, and the store stays fresh?"
                        .to_owned(),
                setting,
                figures: figures::figures(outcomes, bounds),
                table,
            };
            self.pictures.write(shown, output)?;
        }
        Ok(())
    }

    /// How long a cycle is, if it is not a round.
    fn weeks(&self, store: &SiteStore) -> Option<u32> {
        match store.pace() {
            Pace::Weeks(weeks) => Some(weeks),
            Pace::Snapshots => None,
        }
    }

    fn setting(&self, webs: &[String], store: &SiteStore) -> String {
        format!(
            "{}: {} sites, {} pages, {} links. {} cycles of {}, {} seeds. Changed: {} not as {}.{}{}",
            webs.join(" "),
            store.sites.len(),
            whole(store.first_pages() as u64),
            whole(store.link_count()),
            store.cycles(),
            match self.weeks(store) {
                Some(weeks) => format!("{weeks} weeks"),
                None => "a round each".to_owned(),
            },
            self.seeds,
            if self.compare == By::Text {
                "visible text"
            } else {
                "bytes"
            },
            if self.since == Than::Copy {
                "in our copy"
            } else {
                "a cycle ago"
            },
            if self.grow {
                format!(" Grows to {} pages.", whole(store.page_count() as u64))
            } else {
                String::new()
            },
            if store.has_unknown() {
                let (known, all) = store.known_share();
                let share = percent(known as f64 / all.max(1) as f64);
                format!(" Known: {share} of what each page was in each cycle.")
            } else {
                String::new()
            },
        )
    }
}

/// One row a policy and budget, the bound first.
fn table(bounds: &[(u64, Option<Measures>)], outcomes: &[Outcome]) -> Table {
    let doubt = outcomes.iter().any(|outcome| outcome.doubt.is_some());
    let mut titles = vec![
        "policy",
        "#fetches a cycle",
        "#ChangeRatio",
        "#±",
        "#weighted",
        "#freshness",
        "#± ",
        "#weighted ",
        "#computing",
    ];
    if doubt {
        titles.extend([
            "#unknown",
            "#ChangeRatio from to",
            "#by chance",
            "#freshness from to",
        ]);
    }
    let mut table = Table::new(&titles);
    for &(budget, bound) in bounds {
        if let Some(bound) = bound {
            table.row(bound_row(budget, &bound, titles.len()));
        }
        for outcome in outcomes.iter().filter(|outcome| outcome.budget == budget) {
            let mut row = vec![
                outcome.policy.clone(),
                whole(budget),
                percent(outcome.mean_change_ratio),
                percent(outcome.spread.change_ratio),
                format!("{:.3}", outcome.mean_weighted_change_ratio),
                percent(outcome.mean_freshness),
                percent(outcome.spread.freshness),
                percent(outcome.mean_weighted_freshness),
                duration(outcome.seconds),
            ];
            if doubt {
                row.extend(doubt_cells(outcome));
            }
            table.row(row);
        }
    }
    table
}

fn bound_row(budget: u64, bound: &Measures, columns: usize) -> Vec<String> {
    let mut row = vec![
        "bound".to_owned(),
        whole(budget),
        percent(bound.change_ratio),
        String::new(),
        format!("{:.3}", bound.weighted_change_ratio),
        percent(bound.freshness),
        String::new(),
        percent(bound.weighted_freshness),
    ];
    row.resize(columns, String::new());
    row
}

/// What unknown answers make unsure.
fn doubt_cells(outcome: &Outcome) -> [String; 4] {
    let Some(doubt) = outcome.doubt else {
        return ["0 %", "-", "-", "-"].map(str::to_owned);
    };
    let weighted = doubt.change_ratio_weighted;
    [
        percent(doubt.unknown_share),
        between(doubt.change_ratio_low, doubt.change_ratio_high),
        weighted.map_or_else(|| "-".to_owned(), percent),
        between(doubt.freshness_low, doubt.freshness_high),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn budgets_are_numbers_or_shares() {
        assert_eq!("500".parse::<Budget>().unwrap(), Budget::Pages(500));
        assert_eq!("0.5%".parse::<Budget>().unwrap().pages(1000), 5);
        assert_eq!("0.001%".parse::<Budget>().unwrap().pages(10), 1);
        for wrong in ["", "0", "-1", "0%", "101%", "x", "5 %%", "NaN%"] {
            assert!(wrong.parse::<Budget>().is_err(), "{wrong}");
        }
    }
}
