//! `turnstone advise DIR`

mod words;

use std::path::PathBuf;

use crate::report::{Part, Report};
use clap::{Args, ValueEnum};
use serde_json::{Value, json};
use turnstone_lab::advise::{self, Advice, Holding, Options, QUESTIONS, Time};
use turnstone_lab::number::{plural, whole};
use turnstone_policy::Question;

use crate::exit::{Exit, Usage};
use crate::files::write_whole;
use crate::output::Output;
use crate::progress::Progress;

/// Which policy suits this crawl, by backtest on its own history
///
/// For every question the fitting policies are tried on what the directory recorded, and one is
/// recommended: the default, unless another is better by more than noise and whatever is unknown. What the record cannot answer is unknown, counted and shown; where it tells too little, it
/// says so, and what to do.
#[derive(Debug, Args)]
pub(crate) struct Advise {
    /// A crawl directory
    #[arg(value_name = "DIR")]
    directory: PathBuf,
    /// Only these questions [default: all]
    #[arg(long, value_enum, value_delimiter = ',', value_name = "QUESTION,…")]
    question: Vec<Asked>,
    /// Begin no more policies after so many seconds; what was not tried is named
    #[arg(long, default_value_t = 300.0, value_name = "SECONDS")]
    seconds_max: f64,
    /// How many seeds to run each policy with
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u64).range(1..=1000))]
    seeds: u64,
    /// The first seed
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Write a self-contained page with all figures here
    #[arg(long, value_name = "FILE.html")]
    report: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Asked {
    /// How to crawl what matters to the seeds
    Coverage,
    /// How to learn what matters while crawling
    Importance,
    /// How to find what is still there
    Liveness,
    /// How to find what is new
    Discovery,
    /// How to find what changed
    Changes,
}

impl From<Asked> for Question {
    fn from(asked: Asked) -> Self {
        match asked {
            Asked::Coverage => Self::Coverage,
            Asked::Importance => Self::Importance,
            Asked::Liveness => Self::Liveness,
            Asked::Discovery => Self::Discovery,
            Asked::Changes => Self::Changes,
        }
    }
}

impl Advise {
    pub(crate) fn run(self, output: &Output) -> anyhow::Result<Exit> {
        super::shards::refuse(&self.directory, "advise")?;
        if !(self.seconds_max >= 0.0 && self.seconds_max.is_finite()) {
            return Err(
                Usage::of("--seconds-max", "must be a number of seconds, at least 0").into(),
            );
        }
        let options = Options {
            directory: self.directory.clone(),
            seeds: (self.seed, self.seeds),
            seconds_max: self.seconds_max,
        };
        let progress = Progress::share();
        progress.at("reading", 0.0);
        let holding = advise::holding(&self.directory)?;
        anyhow::ensure!(
            holding.stored > 0,
            "{}: no page was fetched yet, so there is no history to advise by; crawl or import \
             first",
            self.directory.display()
        );
        let time = Time::new(&options);
        let mut all = Vec::new();
        for question in self.questions() {
            let mut watch = |what: &str, share: f64| progress.at(what, share);
            all.push(advise::advise(question, &options, &time, &mut watch)?);
        }
        drop(progress);
        self.show(&holding, &all, output)?;
        if let Some(file) = &self.report {
            let page = self.page(&holding, &all).html();
            write_whole(file, |out| out.write_all(page.as_bytes()))?;
            output.note(&format!("report written to {}", file.display()));
        }
        Ok(Exit::Done)
    }

    fn questions(&self) -> Vec<Question> {
        let asked: Vec<Question> = self.question.iter().copied().map(Question::from).collect();
        let wanted = |question: &Question| asked.is_empty() || asked.contains(question);
        QUESTIONS.into_iter().filter(wanted).collect()
    }

    fn show(&self, holding: &Holding, all: &[Advice], output: &Output) -> anyhow::Result<()> {
        let mut results = Vec::new();
        for advice in all {
            let mut result: Value = serde_json::to_value(advice)?;
            result["policy"] = json!(advice.policy());
            result["command"] = json!(words::command(advice, &self.directory));
            result["says"] = json!(words::says(advice));
            results.push(result);
        }
        let document = json!({
            "directory": self.directory.display().to_string(),
            "pages": holding.pages,
            "stored": holding.stored,
            "never_fetched": holding.never_fetched,
            "rounds": holding.rounds,
            "seed": self.seed,
            "seeds": self.seeds,
            "results": results,
        });
        output.result(&document, || {
            let mut text = format!("{}\n", self.setting(holding));
            for advice in all {
                text += &format!("\n{}: {}\n", advice.question, words::says(advice));
                if let Some(command) = words::command(advice, &self.directory) {
                    text += &format!("  {command}\n");
                }
                if !advice.tried.is_empty() {
                    text += &format!("\n{}", indented(&words::table(advice).text()));
                }
            }
            text
        })
    }

    fn setting(&self, holding: &Holding) -> String {
        format!(
            "{}: {} stored of {} known, {}. {} each.",
            self.directory.display(),
            plural(holding.stored, "page"),
            whole(holding.pages),
            plural(holding.rounds, "round"),
            plural(self.seeds, "seed"),
        )
    }

    fn page(&self, holding: &Holding, all: &[Advice]) -> Report {
        let mut parts = vec![Part::Text(self.setting(holding))];
        for advice in all {
            parts.push(Part::Heading(words::title(advice.question).to_owned()));
            parts.push(Part::Text(words::says(advice)));
            if let Some(command) = words::command(advice, &self.directory) {
                parts.push(Part::Command(command));
            }
            if !advice.tried.is_empty() {
                parts.push(Part::Text(format!("The figure is {}.", advice.measure)));
                parts.push(Part::Table(words::table(advice)));
            }
        }
        parts.push(Part::Heading("How it is decided".to_owned()));
        parts.push(Part::Text(words::rule()));
        parts.push(Part::Heading("Run it again".to_owned()));
        parts.push(Part::Text(super::backtest::provenance()));
        parts.push(Part::Command(super::backtest::command_line()));
        Report {
            title: "Which policies suit this crawl".to_owned(),
            question: "By its own history: how should this crawl go on?".to_owned(),
            parts,
        }
    }
}

fn indented(text: &str) -> String {
    let lines = text.lines().map(|line| format!("  {line}\n"));
    lines.collect()
}
