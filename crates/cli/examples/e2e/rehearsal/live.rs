//! A round by the binary: run as a user would, and read back from the journal it left.

use std::path::Path;
use std::process::Command as Process;

use anyhow::Context as _;
use serde_json::Value;
use turnstone_crawl::ALIVE;
use turnstone_frontier::{Change, Fault};
use turnstone_pagestore::{Entry, Position, Settled, Store};

use super::{Command, Round, What};

/// How the binary is run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Live<'a> {
    /// The binary.
    pub(crate) turnstone: &'a Path,
    /// Requests under way at most; the default if none.
    pub(crate) connections: Option<usize>,
    /// How many times faster than time the clock of a crawl runs.
    pub(crate) clock_scale: u32,
    /// How discovery chooses.
    pub(crate) discover_policy: &'a str,
}

impl Live<'_> {
    /// Crawls what `turnstone.toml` in a folder names.
    pub(crate) fn crawl(self, directory: &Path) -> anyhow::Result<Value> {
        let directory = directory.to_str().context("the folder has no plain name")?;
        self.run(&["crawl", "-o", directory, "--policy", "breadth-first"])
    }

    /// Asks a question of a crawl directory; what it printed, and what its journal says.
    pub(crate) fn ask(self, directory: &Path, command: Command) -> anyhow::Result<(Value, Round)> {
        let began = Store::look(directory)?.end();
        let folder = directory.to_str().context("the folder has no plain name")?;
        let (verb, option, value) = match command {
            Command::Revive(None) => ("revive", "", String::new()),
            Command::Revive(Some(requests)) => {
                ("revive", "--until", format!("requests={requests}"))
            }
            Command::Discover(budget) => ("discover", "--budget", budget.to_string()),
            Command::Refresh(budget) => ("refresh", "--budget", budget.to_string()),
        };
        let mut arguments = vec![verb, folder];
        if !option.is_empty() {
            arguments.extend([option, &value]);
        }
        if let Command::Discover(_) = command {
            arguments.extend(["--policy", self.discover_policy]);
        }
        let printed = self.run(&arguments)?;
        let surveys = matches!(command, Command::Revive(_));
        Ok((printed, read(&Store::look(directory)?, began, surveys)?))
    }

    fn run(self, arguments: &[&str]) -> anyhow::Result<Value> {
        let mut process = Process::new(self.turnstone);
        process.args(arguments);
        process.args(["--delay", "0s", "--allow-private", "--no-warc", "--json"]);
        process.args(["--clock-scale", &self.clock_scale.to_string()]);
        if let Some(connections) = self.connections {
            process.args(["--connections", &connections.to_string()]);
        }
        let output = process
            .output()
            .with_context(|| self.turnstone.display().to_string())?;
        anyhow::ensure!(
            output.status.success(),
            "turnstone {}: {}\n{}",
            arguments.join(" "),
            output.status,
            String::from_utf8_lossy(&output.stderr)
        );
        // Events come first, the round stands last.
        let documents = serde_json::Deserializer::from_slice(&output.stdout).into_iter();
        let last = documents.last().context("nothing was printed")?;
        Ok(last?)
    }
}

/// What a journal says of the round that began at a place.
pub(crate) fn read(store: &Store, began: Position, surveys: bool) -> anyhow::Result<Round> {
    let mut round = Round::default();
    let mut scan = store.scan(began);
    while let Some((_, tick, entry)) = scan.next()? {
        let outcome = match entry {
            Entry::Outcome(outcome) => outcome,
            Entry::Note { kind, .. } => {
                round.probes += u64::from(kind.starts_with("probe "));
                continue;
            }
            Entry::Round { .. } => {
                round.began = tick;
                continue;
            }
            Entry::Robots { requests, .. } => {
                round.robots += u64::from(requests);
                continue;
            }
            _ => continue,
        };
        round.requests += u64::from(outcome.facts.requests);
        let what = match outcome.settled {
            Settled::Failed(Fault::Lost) => continue,
            Settled::Fetched(_) if surveys && outcome.facts.class == ALIVE => What::Unchanged,
            Settled::Fetched(_) if surveys => What::Undecided,
            Settled::Fetched(Change::New) => What::New,
            Settled::Fetched(Change::Changed) => What::Changed,
            Settled::Fetched(Change::Unchanged) => What::Unchanged,
            Settled::Failed(Fault::Gone) => What::Gone,
            Settled::Failed(Fault::Refused | Fault::Unknown) | Settled::Moved(_) => What::Undecided,
        };
        round.pages.push((outcome.page, what));
    }
    // A probe is sent in the name of a page.
    round.requests -= round.probes.min(round.requests);
    Ok(round)
}
