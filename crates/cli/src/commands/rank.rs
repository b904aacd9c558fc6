//! `turnstone rank WEB`

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use crate::table::Table;
use clap::{Args, ValueEnum};
use serde_json::json;
use turnstone_frontier::{PageId, Politeness};
use turnstone_lab::backtest::importance::{self, Estimated, Groups, Question, bonus};
use turnstone_lab::number::whole;
use turnstone_lab::web::{self, GraphWeb, page_list};
use turnstone_linkgraph::rank::{Dangling, InLinks, PageRank, Teleport};
use turnstone_policy::Spec;
use turnstone_policy::importance::chain;

use super::backtest::refusal;
use crate::exit::{Exit, Usage};
use crate::files::write_whole;
use crate::output::Output;
use crate::progress::Progress;
use crate::units;

/// How many pages are shown when no file is asked for.
const SHOWN: usize = 20;

/// Score every page of a recorded web and write `page<TAB>score`, or show the best.
#[derive(Debug, Args)]
pub(crate) struct Rank {
    /// A recorded web; of a history, the site as it was at its last snapshot
    web: PathBuf,
    /// How to score
    #[arg(long, default_value = "pagerank")]
    method: Method,
    /// The chance to follow a link rather than to start afresh
    #[arg(long, default_value_t = 0.85, value_parser = units::real)]
    damping: f64,
    /// How far from the true scores the result may be, summed over all pages
    #[arg(long, default_value_t = 1e-9)]
    tolerance: f64,
    /// Where the score of pages without links goes: lost, or spread over the teleport pages
    #[arg(long, default_value = "leak")]
    dangling: DanglingChoice,
    /// Where readers start afresh: a file of `page<TAB>weight` lines (ids or URLs); all pages alike
    /// when not given
    #[arg(long)]
    teleport: Option<PathBuf>,
    /// Which policy estimates importance (method opic; see `turnstone policies importance`)
    #[arg(long, default_value = "opic", value_name = "SPEC")]
    policy: String,
    /// How many pages OPIC reads, in multiples of the page count (method opic)
    #[arg(long, default_value_t = 10.0)]
    visits: f64,
    /// Pages that earn more, out of the virtual page (method opic): TEXT=SCORE for addresses that
    /// contain the text, or a file with `page<TAB>score` lines; may be given several times
    #[arg(long, value_name = "TEXT=SCORE|FILE")]
    bonus: Vec<String>,
    /// Decides what is random (method opic)
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Threads; the result is the same for any number [default: one for each core]
    #[arg(long)]
    threads: Option<NonZeroUsize>,
    /// Write every page's score here, at full precision
    #[arg(short, long, value_name = "FILE.tsv")]
    output: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Method {
    Pagerank,
    Indegree,
    Opic,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum DanglingChoice {
    Leak,
    Spread,
}

impl Rank {
    pub(crate) fn run(self, output: &Output) -> anyhow::Result<Exit> {
        if !(0.0..1.0).contains(&self.damping) {
            return Err(Usage::of("--damping", "must be at least 0 and below 1").into());
        }
        if !(self.tolerance > 0.0 && self.tolerance.is_finite()) {
            return Err(Usage::of("--tolerance", "must be above 0").into());
        }
        if !(self.visits > 0.0 && self.visits <= 10_000.0) {
            return Err(Usage::of("--visits", "must be above 0 and at most 10000").into());
        }
        let progress = Progress::busy("reading");
        let web = web::open_graph(&self.web)?;
        let (scores, about) = match self.method {
            Method::Indegree => {
                let scores = web.graph.indegree().into_iter().map(f64::from).collect();
                (scores, json!({}))
            }
            Method::Pagerank => self.pagerank(&web, &progress)?,
            Method::Opic => self.opic(&web, &progress)?,
        };
        drop(progress);
        if let Some(file) = &self.output {
            write_whole(file, |out| {
                for (page, score) in scores.iter().enumerate() {
                    writeln!(out, "{page}\t{score}")?;
                }
                Ok(())
            })?;
        }
        self.show(output, &web, &scores, &about)?;
        Ok(Exit::Done)
    }

    fn pagerank(
        &self,
        web: &GraphWeb,
        progress: &Progress,
    ) -> anyhow::Result<(Vec<f64>, serde_json::Value)> {
        let weights = self
            .teleport
            .as_deref()
            .map(|file| read_teleport(file, web))
            .transpose()?;
        let mut pagerank = PageRank {
            damping: self.damping,
            tolerance: self.tolerance,
            dangling: match self.dangling {
                DanglingChoice::Leak => Dangling::Leak,
                DanglingChoice::Spread => Dangling::Spread,
            },
            ..PageRank::default()
        };
        if let Some(threads) = self.threads {
            pagerank.threads = threads;
        }
        let teleport = weights
            .as_deref()
            .map_or(Teleport::Uniform, Teleport::Weights);
        let mut watch = |at: &turnstone_linkgraph::rank::Progress| {
            let what = format!(
                "sweep {}, at most {:.1e} from the truth",
                at.sweeps, at.distance_max
            );
            progress.at(&what, 0.0);
        };
        let ranked = pagerank.rank(&InLinks::of(&web.graph), teleport, &mut watch);
        let about = json!({
            "sweeps": ranked.end.sweeps,
            "distance_max": ranked.end.distance_max,
            "converged": ranked.converged,
        });
        Ok((ranked.scores, about))
    }

    /// What OPIC estimates after a while, crawling the web as it is.
    fn opic(
        &self,
        web: &GraphWeb,
        progress: &Progress,
    ) -> anyhow::Result<(Vec<f64>, serde_json::Value)> {
        let spec: Spec = self.policy.parse()?;
        let options = [chain(&spec)?];
        bonus::check(&self.bonus, std::slice::from_ref(&spec)).map_err(refusal)?;
        let question = Question {
            groups: Groups::new(web, &options).map_err(refusal)?,
            unknown: &[],
            crawls: self.visits,
            bonus: bonus::parse(&self.bonus, web, &options).map_err(refusal)?,
            politeness: Politeness::OFF,
            seed: self.seed,
        };
        let mut watch = |what: &str, share: f64| progress.at(what, share);
        let Estimated { scores, outcome } =
            importance::estimate(&mut &web.graph, &question, &spec, &mut watch)?;
        let about = json!({
            "policy": outcome.policy,
            "visits": outcome.visits,
            "seconds": outcome.seconds,
            "clock_per_crawl": outcome.clock_per_crawl,
            "measures_per_page": outcome.measures_per_page,
            "bytes_per_page": outcome.bytes_per_page,
        });
        Ok((scores, about))
    }

    fn show(
        &self,
        output: &Output,
        web: &GraphWeb,
        scores: &[f64],
        about: &serde_json::Value,
    ) -> anyhow::Result<()> {
        let mut order: Vec<PageId> = web.graph.pages().collect();
        order.sort_by(|a, b| {
            scores[b.index()]
                .total_cmp(&scores[a.index()])
                .then(a.cmp(b))
        });
        order.truncate(SHOWN);
        let best = order.iter().map(
            |page| json!({"page": page.0, "name": web.name(*page), "score": scores[page.index()]}),
        );
        let method = self.method.to_possible_value();
        let json = json!({
            "web": self.web.display().to_string(),
            "method": method.map(|value| value.get_name().to_owned()),
            "pages": web.graph.page_count(),
            "links": web.graph.link_count(),
            "sum": scores.iter().sum::<f64>(),
            "about": about,
            "best": best.collect::<Vec<_>>(),
            "output": self.output.as_ref().map(|file| file.display().to_string()),
        });
        output.result(&json, || {
            let mut table = Table::new(&["page", "#score"]);
            for page in &order {
                table.row([web.name(*page), scores[page.index()].to_string()]);
            }
            let written = self.output.as_ref().map_or_else(String::new, |file| {
                format!(
                    "\n{} pages written to {}\n",
                    whole(scores.len() as u64),
                    file.display()
                )
            });
            table.text() + &written
        })
    }
}

/// Weights by page; pages that are not named get none. They are scaled to sum to 1.
fn read_teleport(file: &Path, web: &GraphWeb) -> anyhow::Result<Vec<f64>> {
    let weight = |text: &str| {
        let weight: Option<f64> = text.parse().ok();
        weight.filter(|weight| weight.is_finite() && *weight >= 0.0)
    };
    let wanted = "is not a weight; give a number of at least 0";
    let mut weights = vec![0.0; web.graph.page_count()];
    for (page, weight) in page_list::read(file, web, weight, wanted)? {
        weights[page.index()] += weight;
    }
    let name = file.display();
    let sum: f64 = weights.iter().sum();
    anyhow::ensure!(sum > 0.0, "{name}: no page has a weight above 0");
    weights.iter_mut().for_each(|weight| *weight /= sum);
    Ok(weights)
}
