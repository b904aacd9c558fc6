//! `turnstone backtest importance WEB`

mod figures;

use std::path::PathBuf;

use clap::Args;
use serde_json::json;
use turnstone_frontier::Politeness;
use turnstone_lab::backtest::importance::{
    self, Groups, LivingSite, LivingWeb, Outcome, Question, Stirred,
};
use turnstone_lab::history;
use turnstone_lab::number::{duration, short, whole};
use turnstone_lab::table::Table;
use turnstone_lab::web::{self, WebKind};
use turnstone_policy::Spec;
use turnstone_policy::importance::{self as importance_of, Bonus};

use super::pictures::{Pictures, Shown};
use crate::caller;
use crate::commands::bonus;
use crate::commands::groups::Belonging;
use crate::exit::{Exit, Usage};
use crate::output::Output;
use crate::progress::Progress;
use crate::units;

/// The policies compared unless others are named.
const DEFAULT: &str = "opic:select=random,opic:select=cycle,opic:select=greedy,\
                         opic:window=interpolation,local-push";

/// What `--policies all` compares: the paper's selections, window sizes and window types. A month
/// of the paper is two units of the clock for greedy.
const ALL: &str = "opic:select=random,opic:select=random,pay=eager,opic:select=cycle,\
    opic:select=greedy,opic:window=variable,k=4,opic:window=variable,k=8,\
    opic:window=variable,k=16,opic:window=fixed,span=16,opic:window=improved-fixed,span=8,\
    opic:window=interpolation,span=8,local-push";

/// The largest change rate: every page, twenty times per crawl.
const RATE_MAX: f64 = 20.0;

/// The longest run, in multiples of the page count.
const CRAWLS_MAX: f64 = 10_000.0;

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

/// What one change rate brought.
pub(super) struct Run {
    pub(super) change_rate: f64,
    pub(super) outcomes: Vec<Outcome>,
}

impl Importance {
    pub(crate) fn run(self, output: &Output) -> anyhow::Result<Exit> {
        let specs = self.specs()?;
        self.check_numbers()?;
        let progress = Progress::share();
        progress.at("reading", 0.0);
        let (pages, links, runs) = match web::recognise(&self.web)? {
            WebKind::History(_) => self.site(&specs, &progress)?,
            WebKind::Histories(_) => {
                let advice = "this question looks at one site at a time; name one of its files";
                return Err(Usage::of("WEB", advice).into());
            }
            WebKind::Bv(_) | WebKind::Edges(_) | WebKind::CrawlDirectory(_) => {
                self.graph(&specs, &progress)?
            }
        };
        drop(progress);
        self.show(pages, links, &runs, output)?;
        Ok(Exit::Done)
    }

    fn specs(&self) -> anyhow::Result<Vec<Spec>> {
        let list = if self.policies == "all" {
            ALL
        } else {
            &self.policies
        };
        let mut specs = caller::specs(list)?;
        if !self.bonus.is_empty() && [ALL, DEFAULT].contains(&list) {
            // Nobody named the others.
            specs.retain(|spec| spec.name() == "opic");
        }
        for spec in &specs {
            importance_of::chain(spec)?;
        }
        bonus::check(&self.bonus, &specs)?;
        if specs.is_empty() {
            return Err(Usage::of("--policies", "name at least one policy").into());
        }
        Ok(specs)
    }

    fn check_numbers(&self) -> Result<(), Usage> {
        if !(self.visits > 0.0 && self.visits <= CRAWLS_MAX) {
            let wanted = format!("must be above 0 and at most {CRAWLS_MAX}");
            return Err(Usage::of("--visits", wanted));
        }
        let fits = |rate: &f64| (0.0..=RATE_MAX).contains(rate);
        if !self.change_rate.iter().all(fits) {
            let wanted = format!("each rate must be from 0 to {RATE_MAX}");
            return Err(Usage::of("--change-rate", wanted));
        }
        Ok(())
    }

    fn question<'a>(&self, groups: Groups<'a>, unknown: &'a [bool], bonus: Bonus) -> Question<'a> {
        Question {
            groups,
            unknown,
            crawls: self.visits,
            bonus,
            politeness: self.delay.map_or(Politeness::OFF, |delay_ms| Politeness {
                delay_ms,
                open_max: 1,
            }),
            seed: self.seed,
        }
    }

    fn graph(&self, specs: &[Spec], progress: &Progress) -> anyhow::Result<(u64, u64, Vec<Run>)> {
        let web = web::open_graph(&self.web)?;
        let unknown = web::unknown_pages(&self.web)?;
        let options: Vec<_> = specs
            .iter()
            .map(importance_of::chain)
            .collect::<Result<_, _>>()?;
        let belonging = Belonging::of(&web, &options)?;
        let graph = &web.graph;
        let question = self.question(
            belonging.groups(),
            &unknown,
            bonus::parse(&self.bonus, &web, &options)?,
        );
        let mut runs = Vec::new();
        for &change_rate in &self.change_rate {
            let mut watch = |what: &str, share: f64| progress.at(what, share);
            let outcomes = if change_rate > 0.0 {
                let mut stirred = Stirred::new(graph, change_rate, self.seed);
                importance::run(&mut stirred, &question, specs, &mut watch)?
            } else {
                importance::run(&mut &*graph, &question, specs, &mut watch)?
            };
            runs.push(Run {
                change_rate,
                outcomes,
            });
        }
        Ok((graph.page_count() as u64, graph.link_count(), runs))
    }

    fn site(&self, specs: &[Spec], progress: &Progress) -> anyhow::Result<(u64, u64, Vec<Run>)> {
        if self.change_rate.iter().any(|rate| *rate > 0.0) {
            let why = "a history changes by itself; leave the rate out";
            return Err(Usage::of("--change-rate", why).into());
        }
        if !self.bonus.is_empty() {
            let why = "not for histories, whose pages come and go; export a snapshot as a graph";
            return Err(Usage::of("--bonus", why).into());
        }
        let file = web::history_files(&self.web)?.remove(0);
        let history = history::read(&file)?;
        let question = self.question(Groups::default(), &[], Bonus::none());
        let mut site = LivingSite::new(&history);
        let mut watch = |what: &str, share: f64| progress.at(what, share);
        let outcomes = importance::run(&mut site, &question, specs, &mut watch)?;
        let run = Run {
            change_rate: 0.0,
            outcomes,
        };
        Ok((site.size() as u64, site.link_count(), vec![run]))
    }

    fn show(&self, pages: u64, links: u64, runs: &[Run], output: &Output) -> anyhow::Result<()> {
        let with_rate = |run: &Run| -> anyhow::Result<Vec<serde_json::Value>> {
            let outcomes = run.outcomes.iter().map(|outcome| {
                let mut value = serde_json::to_value(outcome)?;
                value["change_rate"] = json!(run.change_rate);
                Ok(value)
            });
            outcomes.collect()
        };
        let results: Vec<Vec<serde_json::Value>> =
            runs.iter().map(with_rate).collect::<anyhow::Result<_>>()?;
        let json = json!({
            "question": "importance",
            "web": self.web.display().to_string(),
            "pages": pages,
            "links": links,
            "seed": self.seed,
            "visits": self.visits,
            "delay_ms": self.delay,
            "results": results.into_iter().flatten().collect::<Vec<_>>(),
        });
        let table = table(runs);
        let setting = format!(
            "{}: {} pages, {} links. Each policy reads {} times as many pages. Errors are mean \
             relative errors against the fixpoint at the end; G is the share of all cash read.",
            self.web.display(),
            whole(pages),
            whole(links),
            short(self.visits),
        );
        output.result(&json, || format!("{setting}\n\n{}", table.text()))?;
        if self.pictures.wanted() {
            let shown = Shown {
                title: "Importance: how much each page matters, while crawling".to_owned(),
                question: "How important is each page, while I crawl, without storing the link \
                           matrix, and as the web changes?"
                    .to_owned(),
                setting,
                figures: figures::all(runs),
                table,
            };
            self.pictures.write(shown, output)?;
        }
        Ok(())
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
