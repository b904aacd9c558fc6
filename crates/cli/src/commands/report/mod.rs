//! `turnstone report DIR`, and what `turnstone crawl` leaves in `reports/crawl.html`.

mod curves;
mod keeping;
mod missing;
mod tables;

use std::fs;
use std::path::{Path, PathBuf};

use crate::figure::{Axis, Figure, Series};
use crate::report::{Part, Report as Page};
use anyhow::Context as _;
use clap::Args;
use serde_json::json;
use turnstone_frontier::Coverage;
use turnstone_lab::number::{at_least, at_most, percent, whole};
use turnstone_ledger::Stop;

use self::curves::Curves;
use self::keeping::Keeping;
use self::missing::Missing;
use crate::commands::cluster::looked_at;
use crate::commands::crawl::summary::{Proven, bytes, classes, dead_line};
use crate::commands::crawl::verdict::because;
use crate::commands::directory::Standing;
use crate::commands::shards::{Whole, WholeFolded};
use crate::exit::Exit;
use crate::files::write_whole;
use crate::moment::utc;
use crate::output::Output;
use crate::progress::Progress;

/// Write a page about a crawl: coverage, answers, hosts, and what is missing
#[derive(Debug, Args)]
pub(crate) struct Report {
    /// The crawl directory
    #[arg(value_name = "DIR")]
    directory: PathBuf,
    /// Where to write the page [default: DIR/reports/crawl.html]
    #[arg(short, long, value_name = "FILE.html")]
    output: Option<PathBuf>,
}

impl Report {
    pub(crate) fn run(self, output: &Output) -> anyhow::Result<Exit> {
        let progress = Progress::busy("reading the journal");
        let file = write(&self.directory, self.output)?;
        drop(progress);
        let name = file.display().to_string();
        output.result(&json!({"report": name}), || {
            format!("report written to {name}\n")
        })?;
        Ok(Exit::Done)
    }
}

/// Writes the page about a crawl, and says where.
pub(crate) fn write(directory: &Path, file: Option<PathBuf>) -> anyhow::Result<PathBuf> {
    let looked = Whole::look(&looked_at(directory)?)?;
    let file = match file {
        Some(file) => file,
        None => {
            let folder = directory.join("reports");
            fs::create_dir_all(&folder).with_context(|| folder.display().to_string())?;
            folder.join("crawl.html")
        }
    };
    let html = page(&looked)?.html();
    write_whole(&file, |out| out.write_all(html.as_bytes()))?;
    Ok(file)
}

/// The page about a crawl, for who shows it elsewhere.
pub(crate) fn html(directory: &Path) -> anyhow::Result<String> {
    Ok(page(&Whole::look(directory)?)?.html())
}

fn page(crawl: &Whole) -> anyhow::Result<Page> {
    let directory = crawl.first();
    let tally = &crawl.tally();
    let mut folds = vec![(Curves::default(), Keeping::default()); crawl.shards.len()];
    let folded = crawl.fold(&mut folds)?;
    let (curves, mut kept): (Vec<Curves>, Vec<Keeping>) = folds.into_iter().unzip();
    let curves = Curves::joined(curves);
    let coverage = folded.coverage;
    let mut parts = vec![Part::Text(setting(crawl, &folded)?)];
    if let Some(coverage) = coverage {
        parts.push(Part::Figure(coverage_figure(&curves, Proven::of(coverage))));
    }
    let shards = crawl.shards.iter().zip(folded.shards.iter().flatten());
    let missing = shards.map(|(shard, folded)| Missing::of(shard, folded));
    let missing = missing.collect::<anyhow::Result<Vec<_>>>()?;
    let missing = missing.into_iter().reduce(Missing::and);
    if let (Some(coverage), Some(missing)) = (coverage, missing) {
        parts.push(Part::Heading("What is missing".to_owned()));
        parts.push(Part::Text(missing.text(coverage)));
        parts.extend(missing.waiting_table().map(Part::Table));
        if let Some((text, table)) = missing.lost_table() {
            parts.push(Part::Heading("What cannot be fetched".to_owned()));
            parts.push(Part::Text(text));
            parts.push(Part::Table(table));
        }
    }
    if let Some(keeping) = kept.pop().filter(Keeping::is_there) {
        parts.push(Part::Heading("Kept current".to_owned()));
        parts.push(Part::Text(keeping.text()));
        parts.extend(keeping.figures().into_iter().map(Part::Figure));
        parts.push(Part::Table(keeping.table()));
    }
    parts.push(Part::Heading("Answers".to_owned()));
    parts.push(Part::Figure(time_figure(&curves)));
    parts.push(Part::Figure(answers_figure(&curves)));
    parts.push(Part::Table(tables::statuses(tally)));
    parts.push(Part::Heading("Outcomes".to_owned()));
    parts.push(Part::Table(classes(tally)));
    parts.push(Part::Heading("Hosts".to_owned()));
    parts.push(Part::Text(tables::hosts_text(crawl)));
    parts.push(Part::Table(tables::largest_hosts(crawl)));
    if crawl.host_count() > 1 {
        parts.push(Part::Heading("Slowest hosts".to_owned()));
        parts.push(Part::Table(tables::slowest_hosts(crawl)));
    }
    parts.push(Part::Heading("Go on".to_owned()));
    parts.push(Part::Text(provenance(crawl)));
    parts.push(Part::Command(format!(
        "turnstone crawl -o {0}\nturnstone status {0}\nturnstone why {0} URL",
        crawl.path.display()
    )));
    let index = directory.store.index();
    let first = index.seeds().first().map(|seed| directory.url(*seed));
    let more = match index.seeds().len() {
        0 | 1 => String::new(),
        count => format!(" and {} more seeds", whole(count as u64 - 1)),
    };
    Ok(Page {
        title: format!("Crawl of {}{more}", first.transpose()?.unwrap_or_default()),
        question: crawl.sentence(coverage)?,
        parts,
    })
}

/// When this was, by which release, and of which journals.
fn provenance(crawl: &Whole) -> String {
    let mut text = format!(
        "Made {} by turnstone {}.",
        utc(crate::moment::now_ms()),
        env!("CARGO_PKG_VERSION")
    );
    for shard in &crawl.shards {
        let journal = shard.store.directory().join("store/journal");
        if let Some(digest) = crate::digest::of_file(&journal, shard.store.end().0) {
            text += &format!(
                " The first {} bytes of {}: SHA-256 {digest}.",
                whole(shard.store.end().0),
                journal.display()
            );
        }
    }
    text
}

/// The crawl in a paragraph.
fn setting(crawl: &Whole, folded: &WholeFolded) -> anyhow::Result<String> {
    let directory = crawl.first();
    let tally = crawl.tally();
    let state = match crawl.standing()? {
        Standing::Running => "it is still running".to_owned(),
        Standing::Stopped(why) => match Stop::named(&why) {
            Some(stop) => format!("it ended because {}", because(stop)),
            None => format!("it ended ({why})"),
        },
        Standing::Interrupted => "it was interrupted".to_owned(),
        Standing::Untouched => "nobody has asked for a page".to_owned(),
    };
    let mut text = format!(
        "{} pages stored of {} known on {} hosts, with {} requests ({} for robots.txt) and {} \
         received; {state}. Policy {}. Last change {}.",
        whole(crawl.had_count()),
        whole(crawl.known_count()),
        whole(crawl.hosts_met()),
        whole(tally.requests),
        whole(tally.robots_requests),
        bytes(tally.body_bytes),
        directory.asked.spec,
        utc(crawl.latest_ms()),
    );
    if crawl.is_cut() {
        text += &format!(" It is cut into shards: {}.", crawl.shards_text());
    }
    if let Some(coverage) = folded.coverage {
        let proven = Proven::of(coverage);
        text += &format!(
            " At least {} and at most {} of the personalised PageRank of all pages that can be fetched is in \
             the store; the goal is {}.",
            at_least(proven.guaranteed),
            at_most(proven.upper_bound),
            percent(proven.goal),
        );
        if let Some(with_dead) = folded.with_dead {
            text += &format!(" It is {}.", dead_line(with_dead));
        }
        let confidence = directory.asked.confidence.map(|level| level.number());
        if let Some(line) = proven.certificate(confidence) {
            text += &format!(" Not proven, but {line}.");
        }
    }
    Ok(text)
}

fn coverage_figure(curves: &Curves, proven: Proven) -> Figure {
    let share = |mass: u64| mass as f64 / Coverage::ONE as f64;
    let notes = || curves.coverage.iter();
    let guaranteed = notes().map(|note| (note.requests as f64, share(note.guaranteed)));
    let bound = notes().map(|note| (note.requests as f64, 1.0 - share(note.stuck)));
    let last = curves
        .coverage
        .last()
        .map_or(0.0, |note| note.requests as f64);
    let goal = vec![(0.0, proven.goal), (last, proven.goal)];
    Figure {
        title: "Coverage over requests".to_owned(),
        caption: "At least as much as the lower line is in the store, proven from the pages \
                  fetched alone. The upper line is what can still be proven: what left through links \
                  that a limit cut is lost to it."
            .to_owned(),
        x: Axis::linear("requests"),
        y: Axis::share("share of personalised PageRank"),
        series: vec![
            Series::line(
                "guaranteed",
                std::iter::once((0.0, 0.0)).chain(guaranteed).collect(),
            ),
            Series::line(
                "can still be proven",
                std::iter::once((0.0, 1.0)).chain(bound).collect(),
            ),
            Series::line("goal", goal).muted(),
        ],
    }
}

/// How fast it went.
fn time_figure(curves: &Curves) -> Figure {
    let points = curves.answers.iter();
    let began = points
        .clone()
        .find(|it| it.requests > 0)
        .map_or(0, |it| it.tick.0);
    let at = |tick: u64| tick.saturating_sub(began) as f64 / 1000.0;
    let line = |name: &str, of: &dyn Fn(&curves::Answers) -> u64| {
        let points = curves
            .answers
            .iter()
            .map(|it| (at(it.tick.0), of(it) as f64));
        Series::line(name, points.collect())
    };
    Figure {
        title: "Requests over time".to_owned(),
        caption: "By the crawl's clock, which stands still while no process runs.".to_owned(),
        x: Axis::time("time"),
        y: Axis::linear("requests"),
        series: vec![
            line("requests", &|it| it.requests),
            line("pages that came", &|it| it.classes[2]),
        ],
    }
}

fn answers_figure(curves: &Curves) -> Figure {
    let line = |name: &str, class: usize| {
        let points = curves.answers.iter();
        let points = points.map(|it| (it.requests as f64, it.classes[class] as f64));
        Series::line(name, points.collect())
    };
    let classes = [("2xx", 2), ("3xx", 3), ("4xx", 4), ("5xx", 5)];
    let last = curves
        .answers
        .last()
        .map(|answers| answers.classes)
        .unwrap_or_default();
    Figure {
        title: "Answers over requests".to_owned(),
        caption: "Answers to requests for pages, by HTTP status class, added up.".to_owned(),
        x: Axis::linear("requests"),
        y: Axis::linear("answers"),
        series: classes
            .iter()
            .filter(|(_, class)| last[*class] > 0)
            .map(|(name, class)| line(name, *class))
            .collect(),
    }
}
