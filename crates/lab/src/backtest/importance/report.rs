//! What `backtest importance` is asked with, and the document it answers with.

use serde::{Serialize, Serializer};
use turnstone_policy::importance::{self, Bonus, OpicOptions};
use turnstone_policy::{Spec, SpecError};

use super::{Groups, LivingSite, LivingWeb as _, Outcome, Question, Stirred, bonus, run};
use crate::backtest::{Watch, politeness};
use crate::history;
use crate::run::{Backtest, RunError, Trial};
use crate::web::{self, RecordedWeb, WebKind};

/// What `all` compares: the paper's selections, window sizes and window types. A month of the paper is
/// two units of the clock for greedy.
const ALL: &str = "opic:select=random,opic:select=random,pay=eager,opic:select=cycle,\
    opic:select=greedy,opic:window=variable,k=4,opic:window=variable,k=8,\
    opic:window=variable,k=16,opic:window=fixed,span=16,opic:window=improved-fixed,span=8,\
    opic:window=interpolation,span=8,local-push";

/// The largest change rate: every page, twenty times per crawl.
const RATE_MAX: f64 = 20.0;

/// The longest run, in multiples of the page count.
const CRAWLS_MAX: f64 = 10_000.0;

/// How long, and through how much change.
#[derive(Clone, Debug)]
pub struct Options {
    /// Pages to read, in multiples of the page count.
    pub visits: f64,
    /// Shares of all pages whose in-links change while as many are read as there are, a run each.
    pub change_rates: Vec<f64>,
    /// Pages that earn more: see [`bonus::parse`].
    pub bonus: Vec<String>,
    /// Each host is asked politely, this far apart; none counts requests alone.
    pub delay_ms: Option<u64>,
    /// Decides what is random.
    pub seed: u64,
}

/// How far estimates were from the truth.
#[derive(Clone, Debug, Serialize)]
#[expect(missing_docs, reason = "backtest-importance.json of docs/schema tells")]
pub struct Report {
    pub question: &'static str,
    pub web: String,
    pub pages: u64,
    pub links: u64,
    pub seed: u64,
    pub visits: f64,
    pub delay_ms: Option<u64>,
    /// By change rate; in the document the outcomes stand one after the other, each with its rate.
    #[serde(rename = "results", serialize_with = "one_after_the_other")]
    pub runs: Vec<Run>,
}

/// What one change rate brought.
#[derive(Clone, Debug)]
pub struct Run {
    /// The rate.
    pub change_rate: f64,
    /// The off-line algorithm first.
    pub outcomes: Vec<Outcome>,
}

fn one_after_the_other<S: Serializer>(runs: &[Run], out: S) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct Rated<'a> {
        change_rate: f64,
        #[serde(flatten)]
        outcome: &'a Outcome,
    }
    out.collect_seq(runs.iter().flat_map(|run| {
        let change_rate = run.change_rate;
        let outcomes = run.outcomes.iter();
        outcomes.map(move |outcome| Rated {
            change_rate,
            outcome,
        })
    }))
}

/// As `backtest importance` asks when nothing is said.
impl Default for Options {
    fn default() -> Self {
        Self {
            visits: 10.0,
            change_rates: vec![0.0],
            bonus: Vec::new(),
            delay_ms: None,
            seed: 1,
        }
    }
}

impl Backtest for Options {
    type Report = Report;

    fn check(&self, spec: &Spec) -> Result<(), SpecError> {
        importance::chain(spec).map(drop)
    }

    fn preset(word: &str) -> Option<String> {
        (word == "all").then(|| ALL.to_owned())
    }

    fn ask(&self, Trial { web, specs, watch }: Trial<'_>) -> Result<Report, RunError> {
        bonus::check(&self.bonus, specs)?;
        self.check_numbers()?;
        watch("reading", 0.0);
        let (pages, links, runs) = match web::recognise(web.place()?)? {
            WebKind::History(_) => self.site(web, specs, watch)?,
            WebKind::Histories(_) => {
                let advice = "this question looks at one site at a time; name one of its files";
                return Err(RunError::wrong("web", advice));
            }
            WebKind::Bv(_) | WebKind::Edges(_) | WebKind::CrawlDirectory(_) => {
                self.graph(web, specs, watch)?
            }
        };
        Ok(Report {
            question: "importance",
            web: web.name(),
            pages,
            links,
            seed: self.seed,
            visits: self.visits,
            delay_ms: self.delay_ms,
            runs,
        })
    }
}

/// Pages, links, and what each change rate brought.
type Found = (u64, u64, Vec<Run>);

impl Options {
    fn check_numbers(&self) -> Result<(), RunError> {
        if !(self.visits > 0.0 && self.visits <= CRAWLS_MAX) {
            let wanted = format!("must be above 0 and at most {CRAWLS_MAX}");
            return Err(RunError::wrong("visits", wanted));
        }
        let fits = |rate: &f64| (0.0..=RATE_MAX).contains(rate);
        if !self.change_rates.iter().all(fits) {
            let wanted = format!("each rate must be from 0 to {RATE_MAX}");
            return Err(RunError::wrong("change-rate", wanted));
        }
        Ok(())
    }

    fn question<'a>(&self, groups: Groups, unknown: &'a [bool], bonus: Bonus) -> Question<'a> {
        Question {
            groups,
            unknown,
            crawls: self.visits,
            bonus,
            politeness: politeness(self.delay_ms),
            seed: self.seed,
        }
    }

    fn graph(
        &self,
        web: &RecordedWeb,
        specs: &[Spec],
        watch: Watch<'_>,
    ) -> Result<Found, RunError> {
        let opened = web::open_graph(web.place()?)?;
        let unknown = web::unknown_pages(web.place()?)?;
        let chains = specs.iter().map(importance::chain);
        let chains: Vec<OpicOptions> = chains.collect::<Result<_, _>>()?;
        let bonus = bonus::parse(&self.bonus, &opened, &chains)?;
        let question = self.question(Groups::new(&opened, &chains)?, &unknown, bonus);
        let graph = &opened.graph;
        let mut runs = Vec::new();
        for &change_rate in &self.change_rates {
            let outcomes = if change_rate > 0.0 {
                let mut stirred = Stirred::new(graph, change_rate, self.seed);
                run(&mut stirred, &question, specs, watch)?
            } else {
                run(&mut &*graph, &question, specs, watch)?
            };
            runs.push(Run {
                change_rate,
                outcomes,
            });
        }
        Ok((graph.page_count() as u64, graph.link_count(), runs))
    }

    fn site(&self, web: &RecordedWeb, specs: &[Spec], watch: Watch<'_>) -> Result<Found, RunError> {
        if self.change_rates.iter().any(|rate| *rate > 0.0) {
            let why = "a history changes by itself; leave the rate out";
            return Err(RunError::wrong("change-rate", why));
        }
        if !self.bonus.is_empty() {
            let why = "not for histories, whose pages come and go; export a snapshot as a graph";
            return Err(RunError::wrong("bonus", why));
        }
        let file = web::history_files(web.place()?)?.remove(0);
        let history = history::read(&file)?;
        let question = self.question(Groups::default(), &[], Bonus::none());
        let mut site = LivingSite::new(&history);
        let outcomes = run(&mut site, &question, specs, watch)?;
        let run = Run {
            change_rate: 0.0,
            outcomes,
        };
        Ok((site.size() as u64, site.link_count(), vec![run]))
    }
}
