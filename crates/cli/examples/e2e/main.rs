//! `make e2e DATA=PATH`: the live commands on recorded sites, against the record and the lab.
//!
//! Serves the histories below a path at a date, crawls them with the real binary, moves the date,
//! and runs `revive`, `discover` and `refresh`, each on a copy of the crawl directory: every site
//! alone, then all sites in one directory, with one connection and with the default. Prints what
//! each found and what it cost, predicted and live. Exit code 1 when a verdict is not what the record
//! says, or a figure is off by more than a share.
#![allow(clippy::print_stdout, clippy::print_stderr, missing_docs)]

mod rehearsal;
mod tables;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use clap::Parser;
use turnstone_frontier::PageId;
use turnstone_lab::history::{self, History};
use turnstone_lab::web::history_files;

use rehearsal::Command;
use rehearsal::live::Live;
use rehearsal::predict::DISCOVER;
use rehearsal::soft404::unmask;
use rehearsal::stage::{Row, Stage};

/// By how much live may be off what was predicted.
const OFF_MAX: f64 = 0.05;
/// The least share of vanished pages that must be called gone.
const RECALL_MIN: f64 = 0.9;

/// Compare the live commands with the record and the lab
#[derive(Debug, Parser)]
struct Arguments {
    /// A history, or a folder of histories
    #[arg(required_unless_present = "soft404")]
    data: Option<PathBuf>,
    /// The binary
    #[arg(long, default_value = "target/release/turnstone")]
    turnstone: PathBuf,
    /// When sites are crawled, as a share of their snapshots
    #[arg(long, default_value_t = 0.6)]
    from: f64,
    /// When the questions are asked
    #[arg(long, default_value_t = 0.9)]
    to: f64,
    /// Pages asked by a round of discovery
    #[arg(long, value_delimiter = ',', default_value = "10,100")]
    discover: Vec<u64>,
    /// How discovery chooses
    #[arg(long, default_value = DISCOVER, value_name = "SPEC")]
    discover_policy: String,
    /// Shares of the stored pages asked by a refresh
    #[arg(long, value_delimiter = ',', default_value = "0.05,0.2")]
    refresh: Vec<f64>,
    /// The share of the stored pages that a survey with a budget has requests for
    #[arg(long, default_value_t = 0.2)]
    revive: f64,
    /// Pages longer than this are served shorter: what is decided hangs on links and hashes alone
    #[arg(long, default_value_t = 8192)]
    page_bytes: u32,
    /// Only sites whose name contains this
    #[arg(long, default_value = "")]
    site: String,
    /// Leave out the runs on each site alone
    #[arg(long)]
    together: bool,
    /// Requests under way at most in the runs on all sites in one directory
    #[arg(long, value_delimiter = ',', default_value = "1,64")]
    connections: Vec<usize>,
    /// Only sites with at most so many pages when they are crawled
    #[arg(long)]
    pages_max: Option<usize>,
    /// Predict each round with so many further seeds, and say how far what is found spreads
    #[arg(long, default_value_t = 0)]
    seeds: u64,
    /// Leave out surveys
    #[arg(long)]
    no_revive: bool,
    /// Instead, a file of sites whose servers say 200 to anything
    #[arg(long, value_name = "FILE", conflicts_with = "data")]
    soft404: Option<PathBuf>,
}

/// What was run: on which sites, with how many connections.
pub(crate) struct Run {
    pub(crate) name: String,
    pub(crate) stored: [u64; 2],
    pub(crate) missed: Vec<String>,
    pub(crate) rows: Vec<Row>,
}

fn main() -> anyhow::Result<ExitCode> {
    let arguments = Arguments::parse();
    if let Some(file) = &arguments.soft404 {
        return arguments.unmask(file);
    }
    let mut histories: Vec<Arc<History>> = Vec::new();
    for file in history_files(arguments.data.as_deref().unwrap_or(Path::new(".")))? {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        if name.contains(&arguments.site) {
            let history = history::read(&file)?;
            if arguments.is_small(&history) {
                histories.push(Arc::new(arguments.slim(history)));
            }
        }
    }
    anyhow::ensure!(!histories.is_empty(), "no site is called so");
    let mut alone = Vec::new();
    if !arguments.together {
        for history in &histories {
            let sites = std::slice::from_ref(history);
            alone.push(arguments.run(&history.site, sites, None)?);
        }
        println!("{}", tables::by_site(&alone));
        println!("{}", tables::sums(&alone));
    }
    let mut together = Vec::new();
    if histories.len() > 1 {
        for &connections in &arguments.connections {
            let name = match connections {
                1 => "1 connection".to_owned(),
                _ => format!("{connections} connections"),
            };
            together.push(arguments.run(&name, &histories, Some(connections))?);
        }
        println!("{}", tables::together(&together));
    }
    let mut failed = false;
    for run in alone.iter().chain(&together) {
        if !run.missed.is_empty() {
            let [expected, stored] = run.stored;
            println!("{}: {stored} of {expected} pages were stored", run.name);
            run.missed.iter().for_each(|words| println!("  {words}"));
        }
        for row in &run.rows {
            let off = row.off();
            failed |= row.wrong > 0 || off > OFF_MAX;
            if row.wrong > 0 {
                println!("{} {:?}: {} wrong", run.name, row.command, row.wrong);
                row.wrong_words
                    .iter()
                    .for_each(|words| println!("  {words}"));
            }
            if off > OFF_MAX {
                println!(
                    "{} {:?}: off by {:.1} %",
                    run.name,
                    row.command,
                    off * 100.0
                );
            }
        }
    }
    Ok(ExitCode::from(u8::from(failed)))
}

impl Arguments {
    /// Pages that vanish behind servers that say 200 to anything.
    fn unmask(&self, file: &Path) -> anyhow::Result<ExitCode> {
        let sites = serde_json::from_str(&std::fs::read_to_string(file)?)?;
        let live = Live {
            turnstone: &self.turnstone,
            connections: None,
            clock_scale: 1,
            discover_policy: DISCOVER,
        };
        let found = unmask(&sites, live)?;
        let (recall, [real, called_gone]) = (found.recall(), found.real);
        println!(
            "{} of {} vanished pages called gone",
            found.gone[1], found.gone[0]
        );
        println!("{called_gone} of {real} real pages called gone");
        println!(
            "{} of {} undecidable pages called gone",
            found.unknown[1], found.unknown[0]
        );
        println!(
            "{} directories probed, at most {} times",
            found.probed[0], found.probed[1]
        );
        found.words.iter().for_each(|words| println!("  {words}"));
        let held = recall >= RECALL_MIN && called_gone == 0 && found.probed[1] <= 1;
        Ok(ExitCode::from(u8::from(!held)))
    }

    /// Whether a site is within the bounds asked for.
    fn is_small(&self, history: &History) -> bool {
        let last = history.snapshots.len().saturating_sub(1);
        let date = ((last as f64 * self.from).round() as usize).min(last);
        let walk = history.at(date);
        let pages = (0..history.page_count()).map(PageId::from_index);
        let there = pages.filter(|page| walk.version(*page).is_some()).count();
        self.pages_max.is_none_or(|most| there <= most)
    }

    /// A history whose pages take less time to send and to read.
    fn slim(&self, mut history: History) -> History {
        for version in &mut history.versions {
            version.bytes = version.bytes.min(self.page_bytes);
            version.words = version.words.min(self.page_bytes / 8);
        }
        history
    }

    fn run(
        &self,
        name: &str,
        histories: &[Arc<History>],
        connections: Option<usize>,
    ) -> anyhow::Result<Run> {
        eprint!("{name}: crawling\r");
        let live = Live {
            turnstone: &self.turnstone,
            connections,
            clock_scale: 1,
            discover_policy: &self.discover_policy,
        };
        let mut stage = Stage::set(histories, [self.from, self.to], live)?;
        stage.seeds = self.seeds;
        let stored = stage.stored;
        let share = |share: f64| ((stored[1] as f64 * share) as u64).max(1);
        let mut commands = Vec::new();
        if !self.no_revive {
            commands.push(Command::Revive(None));
            commands.push(Command::Revive(Some(share(self.revive).max(10))));
        }
        commands.extend(
            self.discover
                .iter()
                .map(|budget| Command::Discover(*budget)),
        );
        commands.extend(
            self.refresh
                .iter()
                .map(|part| Command::Refresh(share(*part))),
        );
        let mut rows = Vec::new();
        for command in commands {
            eprint!("\x1b[K{name}: {} stored, {command:?}\r", stored[1]);
            rows.push(stage.ask(command, live)?);
        }
        eprint!("\x1b[K");
        let name = name.to_owned();
        let missed = stage.missed;
        Ok(Run {
            name,
            stored,
            missed,
            rows,
        })
    }
}
