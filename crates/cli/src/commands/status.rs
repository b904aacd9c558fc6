//! `turnstone status DIR`

use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::{Map, Value, json};
use turnstone_frontier::Coverage;
use turnstone_lab::number::{duration, whole};
use turnstone_ledger::{SliceNote, Stop};
use turnstone_pagestore::PageState;

use crate::commands::crawl::spent::Spent;
use crate::commands::crawl::summary::{self, Proven};
use crate::commands::crawl::verdict::because;
use crate::commands::directory::{Directory, Standing};
use crate::commands::keep::slice;
use crate::commands::shards::{Whole, WholeFolded};
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
        let seen = Moment::of(&super::cluster::looked_at(&self.directory)?)?;
        output.result(&seen.json(), || seen.text())?;
        Ok(Exit::Done)
    }
}

/// A crawl at one moment.
struct Moment {
    /// Of which there are several where it is cut into shards.
    whole: Whole,
    standing: Standing,
    live: Option<Value>,
    proven: Option<Proven>,
    /// Where it stands, for everybody.
    sentence: String,
    /// The same with dead links counted, where nobody works on it.
    with_dead: Option<Coverage>,
    /// What was spent of each limit.
    limits: Vec<Spent>,
    /// The slice that runs, or ran last, where the store is kept current; and the one before.
    slices: [Option<Value>; 2],
}

impl Moment {
    fn of(path: &Path) -> anyhow::Result<Self> {
        let whole = Whole::look(path)?;
        let live = whole.live();
        let directory = whole.first();
        let WholeFolded {
            coverage,
            with_dead,
            ..
        } = match &live {
            Some(_) => WholeFolded::default(),
            None => whole.fold(std::iter::repeat(()))?,
        };
        let proven = match &live {
            // The running crawl knows, and what it knows costs nothing to read.
            Some(live) => live_proof(live, directory),
            None => coverage.map(Proven::of),
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
        let limits = &directory.plan.limits;
        let limits = Spent::of(limits, whole.shards.iter().map(|shard| &shard.store));
        Ok(Self {
            limits,
            standing: whole.standing()?,
            sentence: whole.sentence(coverage)?,
            with_dead,
            whole,
            live,
            proven,
            slices,
        })
    }

    fn json(&self) -> Value {
        let sessions = self.whole.first().store.index().sessions();
        let (state, stopped_by) = match &self.standing {
            Standing::Running => ("running", None),
            Standing::Stopped(why) => ("stopped", Some(why)),
            Standing::Interrupted => ("interrupted", None),
            Standing::Untouched => ("untouched", None),
        };
        let states: Map<String, Value> = PageState::ALL
            .iter()
            .map(|state| (state.name().to_owned(), json!(self.whole.count(*state))))
            .collect();
        let mut document = json!({
            "directory": self.whole.path.display().to_string(),
            "shards": self.whole.is_cut().then_some(self.whole.shards.len()),
            "state": state,
            "holder": self.whole.holder(),
            "stopped_by": stopped_by,
            "verdict": self.sentence,
            "seconds": self.seconds(),
            "question": self.whole.first().asked.name(),
            "policy": self.whole.first().asked.spec.to_string(),
            "known": self.whole.known_count(),
            "pages": self.whole.had_count(),
            "states": states,
            "listed": summary::listed_json(self.whole.listed_counts()),
            "hosts": self.whole.host_count(),
            "sessions": sessions.len(),
            "started": sessions.first().map(|first| utc(first.wall_ms)),
            "last_change": utc(self.whole.latest_ms()),
            "limits": self.limits.iter().map(Spent::json).collect::<Vec<_>>(),
            "live": self.live,
            "slice": self.slices[0],
            "slice_before": self.slices[1],
        });
        summary::add_counts(&mut document, &self.whole.tally(), self.proven);
        summary::add_dead(&mut document, self.with_dead);
        document
    }

    /// How long the last process took, or has taken so far.
    fn seconds(&self) -> f64 {
        let index = self.whole.first().store.index();
        let live = self.live.as_ref();
        let said = live.and_then(|live| live["running_seconds"].as_f64());
        said.unwrap_or_else(|| {
            let began = index.sessions().last().map_or(0, |last| last.tick.0);
            index.latest().0.saturating_sub(began) as f64 / 1000.0
        })
    }

    fn text(&self) -> String {
        let tally = &self.whole.tally();
        let mut facts = vec![
            ("directory", self.whole.path.display().to_string()),
            ("state", self.state()),
            (
                "pages",
                format!(
                    "{} stored of {} known",
                    whole(self.whole.had_count()),
                    whole(self.whole.known_count())
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
            ("hosts", whole(self.whole.hosts_met())),
        ];
        if let Some(proven) = &self.proven {
            facts.push(("coverage", proven.bar()));
            let confidence = self.whole.first().asked.confidence;
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
        if let Some(listed) = summary::listed(self.whole.listed_counts()) {
            facts.push(("sitemaps", listed));
        }
        facts.extend(summary::soft(tally));
        facts.extend(self.limits.iter().map(|limit| ("limit", limit.line())));
        let asked = &self.whole.first().asked;
        facts.push(("policy", format!("{} (for {})", asked.spec, asked.name())));
        facts.push(("sessions", self.sessions()));
        if self.whole.is_cut() {
            facts.push(("shards", self.whole.shards_text()));
        }
        facts.push(("last change", utc(self.whole.latest_ms())));
        format!(
            "{}\n\n{}\n{}",
            self.sentence,
            aligned(&facts),
            summary::classes(tally).text()
        )
    }

    fn state(&self) -> String {
        match &self.standing {
            Standing::Running => {
                let holder = self.whole.holder().unwrap_or_default();
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
                let after = duration(self.seconds());
                match Stop::named(why) {
                    Some(stop) => format!("ended after {after} because {}", because(stop)),
                    None => format!("ended after {after} ({why})"),
                }
            }
            Standing::Untouched => "imported; nobody has asked for a page".to_owned(),
            Standing::Interrupted => "interrupted: the last process did not end by itself; \
                                      the same command goes on where it was"
                .to_owned(),
        }
    }

    /// How many pages are in which state, but for those stored.
    fn states(&self) -> String {
        let others = PageState::ALL
            .iter()
            .map(|state| (*state, self.whole.count(*state)))
            .filter(|(state, count)| *state != PageState::Fetched && *count > 0);
        let counts = others.map(|(state, count)| format!("{} {}", whole(count), state.name()));
        counts.collect::<Vec<_>>().join(", ")
    }

    fn answers(&self) -> String {
        let [other, informal, ok, moved, client, server] = self.whole.tally().statuses;
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
        let sessions = self.whole.first().store.index().sessions();
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
