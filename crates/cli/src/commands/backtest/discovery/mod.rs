//! `turnstone backtest discovery WEB…`

mod figures;
mod folds;

use std::path::{Path, PathBuf};
use std::time::Instant;

use clap::{Args, ValueEnum};
use serde_json::json;
use turnstone_lab::discovery::{Folds, Plan, Row, Summary, run_site};
use turnstone_lab::number::{duration, percent, whole};
use turnstone_lab::table::Table;
use turnstone_lab::web::{RecordedSite, Words};
use turnstone_policy::discovery::{Discovery as Asked, Target};
use turnstone_policy::{Question, Spec, catalog};

use super::pictures::{Pictures, Shown};
use super::unknown::between;
use crate::caller;
use crate::exit::{Exit, Usage};
use crate::output::Output;
use crate::progress::Progress;
use crate::units;

/// Recrawl periods that the papers' figures are drawn for.
const FIGURE_PERIODS: [u32; 2] = [1, 4];

/// Budgets between those asked for, so that a curve has points.
const CURVE: [u64; 16] = [
    1, 2, 3, 5, 7, 10, 20, 30, 50, 100, 200, 300, 500, 1000, 3000, 10_000,
];

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

/// What the sites brought.
struct Brought<'a> {
    summary: &'a Summary,
    sites: &'a [(String, Summary)],
    folds: Option<&'a Folds>,
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
        let started = Instant::now();
        sort(&mut self.budget);
        sort(&mut self.recrawl_every);
        let plan = self.plan()?;
        let mut recorded = Vec::new();
        for web in &self.webs {
            recorded.extend(RecordedSite::all(web)?);
        }
        let mut summary = Summary::new(&plan);
        let mut hosts = Summary::new(&self.hosts_plan(&plan));
        let mut sites = Vec::new();
        let mut folds = self.folds.map(|count| Folds::new(&plan, count as usize));
        let progress = Progress::share();
        for (index, site) in recorded.iter().enumerate() {
            progress.at("sites", index as f64 / recorded.len() as f64);
            let history = site.read(Words::Skip)?;
            if self.draws_hosts() {
                hosts.add(&run_site(history.clone(), &self.hosts_plan(&plan)));
            }
            let outcome = run_site(history, &plan);
            summary.add(&outcome);
            if let Some(folds) = &mut folds {
                folds.add(&outcome);
            }
            if self.by_site {
                let mut alone = Summary::new(&plan);
                alone.add(&outcome);
                sites.push((outcome.site, alone));
            }
        }
        drop(progress);
        let brought = Brought {
            summary: &summary,
            sites: &sites,
            folds: folds.as_ref(),
        };
        self.show(output, &brought, started.elapsed().as_secs_f64())?;
        if self.pictures.wanted() {
            let hosts = self.draws_hosts().then_some(&hosts);
            self.draw(output, &summary, hosts)?;
        }
        Ok(Exit::Done)
    }

    fn plan(&self) -> anyhow::Result<Plan> {
        if !(self.decay > 0.0 && self.decay <= 1.0) {
            return Err(Usage::of("--decay", "must be above 0 and at most 1").into());
        }
        let mut plan = Plan {
            policies: self.specs()?,
            budgets: self.budget.clone(),
            learners_at: self.budget.clone(),
            periods: self.recrawl_every.clone(),
            question: Asked {
                target: match self.find {
                    Find::Pages => Target::Pages,
                    Find::Hosts => Target::Hosts,
                },
                decay: self.decay,
                seed: self.seed,
            },
        };
        if self.pictures.wanted() {
            plan.budgets.extend(CURVE);
            sort(&mut plan.budgets);
            plan.periods.extend(FIGURE_PERIODS);
            sort(&mut plan.periods);
        }
        plan.check()?;
        Ok(plan)
    }

    fn specs(&self) -> anyhow::Result<Vec<Spec>> {
        let list = match self.policies.as_str() {
            "all" => {
                let fitting = catalog::policies().filter(|info| info.answers(Question::Discovery));
                let mut names: Vec<&str> = fitting.map(|info| info.name).collect();
                names.extend(["od-1:last=nonempty", "cliq-1:last=nonempty"]);
                names.extend(["cliq-win:last=nonempty", "cov:last=nonempty"]);
                names.extend(["bandit:rule=ucb", "bandit:rule=thompson"]);
                names.join(",")
            }
            list => list.to_owned(),
        };
        let specs = caller::specs(&list)?;
        if specs.is_empty() {
            return Err(Usage::of("--policies", "name at least one policy").into());
        }
        if self.folds.is_some() && specs.len() < 2 {
            let wanted = "with --folds, name a policy to compare with and at least one to choose";
            return Err(Usage::of("--policies", wanted).into());
        }
        Ok(specs)
    }

    /// Whether hosts are looked for beside pages, for their figure.
    fn draws_hosts(&self) -> bool {
        self.pictures.wanted() && self.find == Find::Pages
    }

    /// The same without policies, looking for hosts.
    fn hosts_plan(&self, plan: &Plan) -> Plan {
        Plan {
            policies: Vec::new(),
            question: Asked {
                target: Target::Hosts,
                ..plan.question
            },
            ..plan.clone()
        }
    }

    /// The rows that were asked for.
    fn rows(&self, summary: &Summary) -> Vec<Row> {
        let periods = self.recrawl_every.iter();
        let mut rows: Vec<Row> = periods.flat_map(|period| summary.rows(*period)).collect();
        if self.recrawl_every.len() > 1 {
            rows.extend(summary.rows_together(&self.recrawl_every));
        }
        rows.retain(|row| self.budget.contains(&row.budget));
        rows
    }

    fn show(&self, output: &Output, brought: &Brought<'_>, seconds: f64) -> anyhow::Result<()> {
        let Brought {
            summary,
            sites,
            folds,
        } = *brought;
        let by_site = sites.iter().map(|(site, alone)| {
            json!({
                "site": site,
                "pages": alone.pages,
                "snapshots": alone.snapshots,
                "cases": alone.covers.len(),
                "new": alone.new_pages(),
                "orphans": alone.orphans,
                "limits": alone.limits(),
                "results": self.rows(alone),
            })
        });
        let mut json = json!({
            "question": "discovery",
            "web": names(&self.webs),
            "pages": summary.pages,
            "links": summary.links,
            "seed": self.seed,
            "find": self.find.to_possible_value().map(|value| value.get_name().to_owned()),
            "decay": self.decay,
            "sites_count": summary.sites,
            "snapshots": summary.snapshots,
            "recrawls": summary.recrawls,
            "cases": summary.covers.len(),
            "new": summary.new_pages(),
            "orphans": summary.orphans,
            "seconds": seconds,
            "limits": summary.limits(),
            "results": self.rows(summary),
        });
        if self.by_site {
            json["sites"] = by_site.collect();
        }
        if let Some(folds) = folds {
            json["folds"] = json!(folds.choices());
            json["held_out"] = json!(folds.rows());
        }
        output.result(&json, || {
            let mut text = format!(
                "{}\n\n{}",
                self.setting(summary),
                self.table(summary).text()
            );
            text += &format!("\n{}", limits_table(summary).text());
            if let Some(folds) = folds {
                text += &format!("\n{}", folds::text(folds));
            }
            for (site, alone) in sites {
                text += &format!("\n{site}: {}\n", counts(alone));
                if !alone.covers.is_empty() {
                    text += &format!("\n{}", self.table(alone).text());
                }
            }
            text + &format!("\n{} of computing\n", duration(seconds))
        })
    }

    fn setting(&self, summary: &Summary) -> String {
        format!(
            "{}: {} sites, {} pages, {} snapshots; {}.",
            names(&self.webs),
            whole(summary.sites as u64),
            whole(summary.pages),
            whole(summary.snapshots),
            counts(summary),
        )
    }

    fn table(&self, summary: &Summary) -> Table {
        rows_table(self.rows(summary))
    }

    fn draw(
        &self,
        output: &Output,
        summary: &Summary,
        hosts: Option<&Summary>,
    ) -> anyhow::Result<()> {
        let first = self.recrawl_every.first().copied().unwrap_or(1);
        let figures = figures::all(summary, hosts, first);
        let shown = Shown {
            title: "Discovery: the new pages, with the fewest fetches of old ones".to_owned(),
            question: "Which known pages do I fetch again to find most of the new pages with the \
                       least overhead?"
                .to_owned(),
            setting: self.setting(summary),
            figures,
            table: self.table(summary),
        };
        self.pictures.write(shown, output)
    }
}

/// The table of some rows.
fn rows_table(rows: Vec<Row>) -> Table {
    let mut titles = vec![
        "policy",
        "#recrawl every",
        "#budget",
        "#depth",
        "#overhead mean",
        "#overhead pooled",
        "#coverage",
        "#coverage mean",
        "#of all new",
        "#overhead of all",
        "#with idle rounds",
        "#guesses",
        "#hits",
    ];
    let doubt = rows.iter().any(|row| row.unknown > 0);
    if doubt {
        titles.extend(["#unknown", "#overhead from to", "#coverage up to"]);
    }
    let mut table = Table::new(&titles);
    let share = |share: Option<f64>| share.map_or_else(|| "-".to_owned(), percent);
    for row in rows {
        let every = row.recrawl_every.map(|every| every.to_string());
        let unknown = doubt.then(|| doubt_cells(&row));
        let mut cells = vec![
            row.policy,
            every.unwrap_or_else(|| "all these".to_owned()),
            whole(row.budget),
            row.depth
                .map_or_else(|| "-".to_owned(), |d| format!("{d:.2}")),
            share(row.overhead_mean),
            share(row.overhead_pooled),
            share(row.coverage),
            share(row.coverage_mean),
            share(row.coverage_all),
            share(row.overhead_all),
            share(row.overhead_idle),
            whole(row.guesses),
            whole(row.guess_hits),
        ];
        cells.extend(unknown.into_iter().flatten());
        table.row(cells);
    }
    table
}

/// What unknown answers make unsure.
fn doubt_cells(row: &Row) -> [String; 3] {
    let Some(doubt) = row.doubt else {
        return ["0 %", "-", "-"].map(str::to_owned);
    };
    let share = |share: Option<f64>| share.map_or_else(|| "-".to_owned(), percent);
    let overhead = doubt.overhead_low.zip(doubt.overhead_high);
    [
        share(doubt.unknown_share),
        overhead.map_or_else(|| "-".to_owned(), |(low, high)| between(low, high)),
        share(doubt.coverage_high),
    ]
}

fn sort<T: Ord>(numbers: &mut Vec<T>) {
    numbers.sort_unstable();
    numbers.dedup();
}

fn names(webs: &[PathBuf]) -> String {
    let names = webs.iter().map(|web| Path::display(web).to_string());
    names.collect::<Vec<_>>().join(" ")
}

/// What there was to find.
fn counts(summary: &Summary) -> String {
    format!(
        "{} cases with {} new to find, {} more that no old page leads to",
        whole(summary.covers.len() as u64),
        whole(summary.new_pages()),
        whole(summary.orphans),
    )
}

fn limits_table(summary: &Summary) -> Table {
    let mut table = Table::new(&[
        "history limit, recrawl every",
        "#coverage",
        "#coverage mean",
    ]);
    let share = |share: Option<f64>| share.map_or_else(|| "-".to_owned(), percent);
    for limit in summary.limits() {
        table.row([
            limit.recrawl_every.to_string(),
            share(limit.coverage),
            share(limit.coverage_mean),
        ]);
    }
    table
}
