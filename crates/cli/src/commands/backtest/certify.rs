//! `turnstone backtest coverage --confidence 95%`: certificates instead of proofs, many times over.

use anyhow::Context as _;
use serde_json::json;
use turnstone_frontier::Politeness;
use turnstone_lab::backtest::certificate::{self, Repeated};
use turnstone_lab::backtest::coverage::{Question, Truth};
use turnstone_lab::number::{percent, whole};
use turnstone_lab::table::Table;
use turnstone_lab::web;
use turnstone_policy::Spec;
use turnstone_policy::mass::Fraction;

use super::coverage::Coverage;
use crate::commands::trusted;
use crate::exit::{Exit, Usage};
use crate::output::Output;
use crate::progress::Progress;

impl Coverage {
    /// Certifies with each policy that can be certified.
    pub(super) fn certify(
        &self,
        specs: &[Spec],
        confidence: f64,
        output: &Output,
    ) -> anyhow::Result<Exit> {
        let specs: Vec<&Spec> = specs.iter().filter(|s| s.name() == "rankmass").collect();
        if specs.is_empty() || self.repetitions == 0 || self.delay.is_some() {
            let what = "needs --policies rankmass, at least one repetition, and no --delay";
            return Err(Usage::of("--confidence", what).into());
        }
        let level = Fraction::new(confidence).context("--confidence: too near to 0 or 1")?;
        let progress = Progress::share();
        progress.at("reading", 0.0);
        let web = web::open_graph(&self.web)?;
        progress.at("PageRank", 0.0);
        let trust = trusted::parse(&self.trusted, &web)?;
        let question = Question {
            graph: &web.graph,
            hosts: &[],
            unknown: &[],
            trust: &trust,
            goal: self.goal()?,
            politeness: Politeness::OFF,
        };
        let truth = Truth::of(&question, &[]);
        let mut all = Vec::new();
        for spec in specs {
            let mut watch = |what: &str, share: f64| progress.at(what, share);
            let asked = (level, self.repetitions);
            all.push(certificate::repeat(
                &question, &truth, spec, asked, &mut watch,
            )?);
        }
        drop(progress);
        let json = json!({
            "question": "coverage",
            "web": self.web.display().to_string(),
            "pages": web.graph.page_count(),
            "links": web.graph.link_count(),
            "damping": self.damping,
            "epsilon": self.epsilon,
            "trusted": self.trusted,
            "confidence": confidence,
            "results": all,
        });
        let setting = format!(
            "{}: {} pages, {} links. Trusted: {}. Damping {}, goal {} with {} confidence, {} times.",
            self.web.display(),
            whole(web.graph.page_count() as u64),
            whole(web.graph.link_count()),
            self.trusted,
            self.damping,
            percent(1.0 - self.epsilon),
            percent(confidence),
            whole(self.repetitions),
        );
        output.result(&json, || format!("{setting}\n\n{}", table(&all).text()))?;
        let short = all
            .iter()
            .any(|each| each.reached() < each.repetitions.len());
        Ok(if short { Exit::Limit } else { Exit::Done })
    }
}

fn table(all: &[Repeated]) -> Table {
    let titles = [
        "policy", "of", "#least", "#mean", "#median", "#95 %", "#most", "#reached", "#wrong",
    ];
    let mut table = Table::new(&titles);
    for each in all {
        let mut row = |of: &str, spread: [u64; 5], ends: [String; 2]| {
            let mut cells = vec![each.policy.clone(), of.to_owned()];
            cells.extend(spread.map(whole));
            cells.extend(ends);
            table.row(cells);
        };
        let count = |count: usize| whole(count as u64);
        let ends = [count(each.reached()), count(each.wrong())];
        row(
            "downloads to certificate",
            each.spread(|r| r.downloads),
            ends,
        );
        let none = || [String::new(), String::new()];
        row("of these to test", each.spread(|r| r.test_requests), none());
        row("surfers", each.spread(|r| r.surfers), none());
    }
    table
}
