//! `turnstone status DIR`

use std::path::PathBuf;

use clap::Args;
use serde_json::{Map, Value, json};
use turnstone_frontier::Coverage;
use turnstone_lab::number::{duration, whole};
use turnstone_ledger::SliceNote;
use turnstone_pagestore::PageState;

use crate::commands::crawl::summary::{self, Proven};
use crate::commands::directory::{Directory, Standing};
use crate::commands::keep::slice;
use crate::exit::Exit;
use crate::lines::aligned;
use crate::moment::utc;
use crate::output::Output;

/// Tell where a crawl stands, while it runs or after
#[derive(Debug, Args)]
pub(crate) struct Status {
    /// The crawl directory
    #[arg(value_name = "DIR")]
    directory: PathBuf,
}

impl Status {
    pub(crate) fn run(self, output: &Output) -> anyhow::Result<Exit> {
        let directory = Directory::look(&self.directory)?;
        let seen = Moment::of(&directory)?;
        output.result(&seen.json(), || seen.text())?;
        Ok(Exit::Done)
    }
}

/// A crawl at one moment.
struct Moment<'a> {
    directory: &'a Directory,
    standing: Standing,
    live: Option<Value>,
    proven: Option<Proven>,
    /// The same with dead links counted, where nobody works on it.
    with_dead: Option<Coverage>,
    /// The slice that runs, or ran last, where the store is kept current; and the one before.
    slices: [Option<Value>; 2],
}

impl<'a> Moment<'a> {
    fn of(directory: &'a Directory) -> anyhow::Result<Self> {
        let live = directory.live();
        let proven = match &live {
            // The running crawl knows, and what it knows costs nothing to read.
            Some(live) => live_proof(live, directory),
            None => {
                let folded = directory.fold()?;
                let coverage = folded.and_then(|folded| folded.scheduler.coverage());
                coverage.map(Proven::of)
            }
        };
        let note = |kind: &str| -> anyhow::Result<Option<Value>> {
            let note = directory.store.note(kind)?;
            let note = note.and_then(|bytes| SliceNote::read(&bytes));
            Ok(note.as_ref().map(slice::json))
        };
        let running = live.as_ref().map(|live| live["slice"].clone());
        let slices = [
            running
                .filter(Value::is_object)
                .map_or_else(|| note(SliceNote::KIND), |slice| Ok(Some(slice)))?,
            note(SliceNote::PAST)?,
        ];
        Ok(Self {
            standing: directory.standing()?,
            with_dead: match &live {
                Some(_) => None,
                None => directory.with_dead_links()?,
            },
            directory,
            live,
            proven,
            slices,
        })
    }

    fn json(&self) -> Value {
        let index = self.directory.store.index();
        let (state, stopped_by) = match &self.standing {
            Standing::Running => ("running", None),
            Standing::Stopped(why) => ("stopped", Some(why)),
            Standing::Interrupted => ("interrupted", None),
        };
        let states: Map<String, Value> = PageState::ALL
            .iter()
            .map(|state| (state.name().to_owned(), json!(index.count(*state))))
            .collect();
        let mut document = json!({
            "directory": self.directory.path.display().to_string(),
            "state": state,
            "holder": self.directory.holder,
            "stopped_by": stopped_by,
            "seconds": self.seconds(),
            "question": self.directory.asked.name(),
            "policy": self.directory.asked.spec.to_string(),
            "known": index.known_count(),
            "pages": index.had_count(),
            "states": states,
            "listed": summary::listed_json(index.listed_counts()),
            "hosts": index.host_count(),
            "sessions": index.sessions().len(),
            "started": index.sessions().first().map(|first| utc(first.wall_ms)),
            "last_change": self.directory.utc(index.latest()),
            "live": self.live,
            "slice": self.slices[0],
            "slice_before": self.slices[1],
        });
        summary::add_counts(&mut document, index.tally(), self.proven);
        summary::add_dead(&mut document, self.with_dead);
        document
    }

    /// How long the last process took, or has taken so far.
    fn seconds(&self) -> f64 {
        let index = self.directory.store.index();
        let live = self.live.as_ref();
        let said = live.and_then(|live| live["running_seconds"].as_f64());
        said.unwrap_or_else(|| {
            let began = index.sessions().last().map_or(0, |last| last.tick.0);
            index.latest().0.saturating_sub(began) as f64 / 1000.0
        })
    }

    fn text(&self) -> String {
        let index = self.directory.store.index();
        let tally = index.tally();
        let mut facts = vec![
            ("state", self.state()),
            (
                "pages",
                format!(
                    "{} stored of {} known",
                    whole(index.had_count()),
                    whole(index.known_count())
                ),
            ),
            ("", self.states()),
            (
                "requests",
                format!(
                    "{} ({} for robots.txt), {} received",
                    whole(tally.requests),
                    whole(tally.robots_requests),
                    summary::bytes(tally.body_bytes)
                ),
            ),
            ("answers", self.answers()),
            (
                "hosts",
                whole(tally.hosts.iter().filter(|host| host.pages > 0).count() as u64),
            ),
        ];
        if let Some(proven) = &self.proven {
            facts.push(("coverage", proven.bar()));
            let confidence = self.directory.asked.confidence;
            let confidence = confidence.map(|level| level.number());
            facts.extend(proven.certificate(confidence).map(|line| ("", line)));
        }
        if let Some(with_dead) = self.with_dead {
            facts.push(("", summary::dead_line(with_dead)));
        }
        if let Some(slice) = &self.slices[0] {
            facts.push(("slice", slice::line(slice)));
            facts.push(("", slice::table(slice)));
        }
        let [last, before] = &self.slices;
        let same =
            |before: &&Value| last.as_ref().map(|last| &last["round"]) == Some(&before["round"]);
        if let Some(before) = before.as_ref().filter(|before| !same(before)) {
            facts.push(("slice before", slice::line(before)));
        }
        if let Some(listed) = summary::listed(index.listed_counts()) {
            facts.push(("sitemaps", listed));
        }
        let asked = &self.directory.asked;
        facts.push(("policy", format!("{} (for {})", asked.spec, asked.name())));
        facts.push(("sessions", self.sessions()));
        facts.push(("last change", self.directory.utc(index.latest())));
        format!(
            "{}\n{}\n{}",
            self.directory.path.display(),
            aligned(&facts),
            summary::classes(tally).text()
        )
    }

    fn state(&self) -> String {
        match &self.standing {
            Standing::Running => {
                let holder = self.directory.holder.as_deref().unwrap_or_default();
                let mut text = format!("running: {holder}");
                if let Some(live) = &self.live {
                    let number = |key: &str| live[key].as_f64().unwrap_or(0.0);
                    text += &format!(
                        "\n{:.0} pages/s, {}/s, {} open, {} queued",
                        number("pages_per_second"),
                        summary::bytes(number("bytes_per_second") as u64),
                        whole(number("in_flight") as u64),
                        whole(number("queued") as u64),
                    );
                    if let Some(why) = live["paused"].as_str() {
                        text += &format!("\nPAUSED: {why}");
                    }
                }
                text
            }
            Standing::Stopped(why) => {
                format!("stopped by {why} after {}", duration(self.seconds()))
            }
            Standing::Interrupted => "interrupted: the last process did not end by itself; \
                                      the same command goes on where it was"
                .to_owned(),
        }
    }

    /// How many pages are in which state, but for those stored.
    fn states(&self) -> String {
        let index = self.directory.store.index();
        let others = PageState::ALL
            .iter()
            .filter(|state| **state != PageState::Fetched && index.count(**state) > 0);
        let counts = others.map(|state| format!("{} {}", whole(index.count(*state)), state.name()));
        counts.collect::<Vec<_>>().join(", ")
    }

    fn answers(&self) -> String {
        let [other, informal, ok, moved, client, server] =
            self.directory.store.index().tally().statuses;
        format!(
            "2xx {}  3xx {}  4xx {}  5xx {}  other {}",
            whole(ok),
            whole(moved),
            whole(client),
            whole(server),
            whole(other + informal)
        )
    }

    fn sessions(&self) -> String {
        let sessions = self.directory.store.index().sessions();
        let first = sessions.first().map(|first| utc(first.wall_ms));
        format!(
            "{}, the first began {}",
            whole(sessions.len() as u64),
            first.unwrap_or_else(|| "never".to_owned())
        )
    }
}

fn live_proof(live: &Value, directory: &Directory) -> Option<Proven> {
    Some(Proven {
        guaranteed: live["guaranteed"].as_f64()?,
        certified: live["certified"].as_f64(),
        upper_bound: live["upper_bound"].as_f64()?,
        goal: directory.asked.goal_share(),
    })
}
