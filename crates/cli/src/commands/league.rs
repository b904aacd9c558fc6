//! `turnstone league WEB…`
//!
//! What is played and how it counts is [`turnstone_lab::league`]'s; here are the tables as people read them.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::Args;
use turnstone_lab::league::{League as Game, SEEDS_MAX, Standing, Table as Played, Tables};
use turnstone_lab::number::{percent, short};

use crate::commands::backtest::{command_line, refusal};
use crate::exit::{Exit, Usage};
use crate::files::write_whole;
use crate::output::Output;
use crate::progress::Progress;
use crate::report::{Part, Report};
use crate::table::Table;

const TITLE: &str = "The league: every policy, every question, nothing but defaults";
const QUESTION: &str = "Which policy is the best for which question, if nobody tunes anything?";

/// Try every policy on every question that some recorded webs can answer, with nothing but defaults.
///
/// A graph is asked for coverage and importance, and for liveness if a list of alive pages lies beside it
/// (NAME.alive, NAME.alive.zst); the history of one site for all; a folder of histories for liveness,
/// discovery, changes and keep. Policies that draw at random are run with several seeds; their intervals
/// are those of the mean, at 95 %. Tables are ordered by place: 1 for the best on a web, the mean over webs.
#[derive(Debug, Args)]
pub(crate) struct League {
    /// Recorded webs; each argument is one web
    #[arg(required = true, value_name = "WEB")]
    webs: Vec<PathBuf>,
    /// Write the tables here: a page (.html) or Markdown (.md)
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// With how many seeds a policy that draws is run
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u64).range(1..=SEEDS_MAX))]
    seeds: u64,
    /// The first seed
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

/// How the tables are written.
#[derive(Clone, Copy)]
enum Form {
    Page,
    Markdown,
}

impl League {
    pub(crate) fn run(self, output: &Output) -> anyhow::Result<Exit> {
        // Before an hour of playing, not after it.
        let form = self.output.as_deref().map(form).transpose()?;
        let game = Game {
            seed: self.seed,
            seeds: self.seeds,
        };
        let progress = Progress::share();
        let mut watch = |what: &str, share: f64| progress.at(what, share);
        let tables = game.play(&self.webs, &mut watch).map_err(refusal)?;
        drop(progress);
        let parts = parts(&tables);
        output.result(&tables, || text(&parts))?;
        if let (Some(file), Some(form)) = (&self.output, form) {
            let written = match form {
                Form::Page => page(parts),
                Form::Markdown => markdown(&parts),
            };
            write_whole(file, |out| out.write_all(written.as_bytes()))
                .with_context(|| format!("{}: cannot be written", file.display()))?;
            output.note(&format!("tables written to {}", file.display()));
        }
        Ok(Exit::Done)
    }
}

fn form(file: &Path) -> Result<Form, Usage> {
    match file.extension().and_then(|ending| ending.to_str()) {
        Some("html") => Ok(Form::Page),
        Some("md") => Ok(Form::Markdown),
        _ => Err(Usage::of(
            "--output",
            "name a file that ends in .html or .md",
        )),
    }
}

/// What is to be read, whatever the form.
fn parts(tables: &Tables) -> Vec<Part> {
    let mut parts = Vec::new();
    for played in &tables.questions {
        parts.push(Part::Heading(heading(played.question)));
        parts.push(Part::Text(verdict(played)));
        parts.push(Part::Table(table(played)));
    }
    if !tables.left_out.is_empty() {
        parts.push(Part::Heading("Not asked".to_owned()));
        let rows = &tables.left_out;
        let left_out = Table::of(rows)
            .column("question", |row| row.question.to_owned())
            .column("web", |row| row.web.clone())
            .column("why", |row| row.why.clone());
        parts.push(Part::Table(left_out.table()));
    }
    parts.push(Part::Heading("How to read it".to_owned()));
    parts.push(Part::Text(format!(
        "Place: 1 for the best on a web, equal values share the mean of their places, and the mean is taken over \
         webs. Behind ± is half of the 95 % interval of the mean over {} seeds; without it, nothing is drawn. \
         A dash: the policy did not get there. µs: computing for each decision.",
        tables.seeds
    )));
    parts
}

fn heading(question: &str) -> String {
    let mut letters = question.chars();
    let first = letters.next().map(|first| first.to_ascii_uppercase());
    first.into_iter().chain(letters).collect()
}

/// The first line of a table, for everybody.
fn verdict(played: &Played) -> String {
    let better = if played.less_is_better {
        "less"
    } else {
        "more"
    };
    let measured = format!("Measured: {}; {better} is better.", played.measure);
    let Some(best) = played.policies.first() else {
        return measured;
    };
    let ahead = played.policies.iter().filter(|it| it.place == best.place);
    let names: Vec<&str> = ahead.map(|it| it.policy.as_str()).collect();
    let webs = played.webs.len();
    let verdict = match names.as_slice() {
        [first, second @ ..] if !second.is_empty() => {
            format!(
                "{first} and {} share the first place.",
                second.join(" and ")
            )
        }
        [name] if best.place == 1.0 && webs == 1 => format!("{name} is the best."),
        [name] if best.place == 1.0 => format!("{name} is the best on each of {webs} webs."),
        _ => {
            let place = short(best.place);
            format!(
                "{} is ahead: its mean place over {webs} webs is {place}.",
                best.policy
            )
        }
    };
    format!("{verdict} {measured}")
}

fn table(played: &Played) -> Table {
    let shown = |value: f64| match played.is_share {
        true => percent(value),
        false => format!("{value:.3}"),
    };
    let webs = played.webs.iter().map(|web| format!("#{}", web.web));
    let titles: Vec<String> = ["policy".to_owned(), "#place".to_owned()]
        .into_iter()
        .chain(webs)
        .chain(["#µs".to_owned()])
        .collect();
    let titles: Vec<&str> = titles.iter().map(String::as_str).collect();
    let mut table = Table::new(&titles);
    for standing in &played.policies {
        table.row(row(standing, shown));
    }
    if played.webs.iter().any(|web| web.bound.is_some()) {
        let bounds = played
            .webs
            .iter()
            .map(|web| web.bound.map_or_else(dash, shown));
        let name = ["nobody can beat".to_owned(), String::new()];
        table.row(name.into_iter().chain(bounds).chain([String::new()]));
    }
    table
}

fn row(standing: &Standing, shown: impl Fn(f64) -> String) -> Vec<String> {
    let results = standing.results.iter().map(|reached| {
        let value = reached.value.map_or_else(dash, &shown);
        match reached.half_width {
            Some(half) => format!("{value} ± {}", shown(half)),
            None => value,
        }
    });
    let cost = standing
        .microseconds
        .map_or_else(dash, |it| format!("{it:.1}"));
    [standing.policy.clone(), format!("{:.1}", standing.place)]
        .into_iter()
        .chain(results)
        .chain([cost])
        .collect()
}

fn dash() -> String {
    "–".to_owned()
}

fn text(parts: &[Part]) -> String {
    let shown = parts.iter().map(|part| match part {
        Part::Heading(text) => format!("{text}\n"),
        Part::Table(table) => table.text() + "\n",
        Part::Text(text) | Part::Command(text) => format!("{text}\n\n"),
        Part::Figure(_) => String::new(),
    });
    shown.collect()
}

fn markdown(parts: &[Part]) -> String {
    let mut out = format!("# {TITLE}\n\n{QUESTION}\n");
    for part in parts {
        out.push('\n');
        match part {
            Part::Heading(text) => out.push_str(&format!("## {text}\n")),
            Part::Text(text) => out.push_str(&format!("{text}\n")),
            Part::Table(table) => out.push_str(&markdown_table(table)),
            Part::Command(text) => out.push_str(&format!("```sh\n{text}\n```\n")),
            Part::Figure(_) => {}
        }
    }
    out + &format!("\n## Run it again\n\n```sh\n{}\n```\n", command_line())
}

fn markdown_table(table: &Table) -> String {
    let line = |cells: &mut dyn Iterator<Item = String>| {
        let cells: Vec<String> = cells.map(|cell| cell.replace('|', "\\|")).collect();
        format!("| {} |\n", cells.join(" | "))
    };
    let columns = table.columns();
    let mut out = line(&mut columns.iter().map(|column| column.title.clone()));
    let rule = |numbers| if numbers { "---:" } else { "---" };
    out += &line(&mut columns.iter().map(|column| rule(column.numbers).to_owned()));
    for row in table.rows() {
        out += &line(&mut row.iter().cloned());
    }
    out
}

fn page(mut parts: Vec<Part>) -> String {
    parts.push(Part::Heading("Run it again".to_owned()));
    parts.push(Part::Command(command_line()));
    let page = Report {
        title: TITLE.to_owned(),
        question: QUESTION.to_owned(),
        parts,
    };
    page.html()
}
