//! A node as people see it: while it runs, and how it ended.

use std::path::Path;
use std::time::Duration;

use serde_json::json;
use tokio::sync::watch;
use turnstone_crawl::Progress;
use turnstone_lab::number::{at_least, at_most, duration, plural, whole};
use turnstone_ledger::Stop;
use turnstone_node::{Outcome, Seen};

use crate::commands::crawl::config::ClusterConfig;
use crate::commands::crawl::summary::Proven;
use crate::commands::crawl::verdict;
use crate::exit::Exit;
use crate::lines::aligned;
use crate::output::Output;

/// How often what is seen is shown.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// Shows the whole crawl: what the loops of this node do, and what all shards have stated.
pub(super) async fn add_up(mut seen: watch::Receiver<Seen>, show: watch::Sender<Progress>) {
    let mut told = 0;
    loop {
        let is_over = seen.has_changed().is_err();
        let now = seen.borrow_and_update().clone();
        for line in now.said.iter().skip(told) {
            crate::log::warning(&format!("turnstone: {line}"));
        }
        told = now.said.len();
        show.send_replace(as_progress(now));
        if is_over {
            return;
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
}

fn as_progress(seen: Seen) -> Progress {
    let figures = seen.figures();
    let own = seen.progress;
    Progress {
        pages: figures.pages.max(own.pages),
        known: figures.known.max(own.known),
        requests: figures.requests.max(own.requests),
        bytes: figures.bytes.max(own.bytes),
        coverage: seen.coverage,
        warning: own.warning.or_else(|| match seen.on_the_way.first() {
            Some((shard, how)) if seen.here.is_empty() => Some(format!("shard {shard}: {how}")),
            _ => None,
        }),
        ..own
    }
}

/// Says how it ended.
pub(super) fn print(
    outcome: &Outcome,
    (directory, cluster): (&Path, &ClusterConfig),
    output: &Output,
) -> anyhow::Result<()> {
    let figures = outcome.seen.figures();
    let proven = outcome.seen.coverage.map(Proven::of);
    let own: u64 = outcome.summaries.iter().map(|it| it.tally.requests).sum();
    let json = json!({
        "directory": directory.display().to_string(),
        "name": cluster.name,
        "stopped_by": outcome.stop.map_or("left", Stop::name),
        "seconds": outcome.running.as_secs_f64(),
        "pages": figures.pages,
        "known": figures.known,
        "waiting": figures.waiting,
        "gone": figures.gone,
        "refused": figures.refused,
        "requests": figures.requests,
        "bytes": figures.bytes,
        "guaranteed": proven.map(|it| it.guaranteed),
        "upper_bound": proven.map(|it| it.upper_bound),
        "goal": proven.map(|it| it.goal),
        "shards_ended_here": outcome.summaries.len(),
    });
    output.named("cluster-node").result(&json, || {
        let why = match outcome.stop {
            None => "This machine has left; the others go on.".to_owned(),
            Some(stop) => format!("The crawl has ended: {}.", verdict::because(stop)),
        };
        let mut facts = vec![
            (
                "stored",
                format!(
                    "{}, by all machines together; {} known",
                    plural(figures.pages, "page"),
                    whole(figures.known)
                ),
            ),
            ("requests", whole(figures.requests)),
        ];
        if let Some(proven) = proven {
            facts.push((
                "proven",
                format!(
                    "at least {}, at most {}",
                    at_least(proven.guaranteed),
                    at_most(proven.upper_bound)
                ),
            ));
        }
        facts.push((
            "here",
            format!(
                "{} ended on this machine, after {} and {}",
                plural(outcome.summaries.len() as u64, "shard"),
                plural(own, "request"),
                duration(outcome.running.as_secs_f64())
            ),
        ));
        let next = format!(
            "turnstone status {}, cluster audit {}",
            directory.display(),
            directory.display()
        );
        facts.push(("more", next));
        format!("{why}\n{}", aligned(&facts))
    })
}

pub(super) fn exit(outcome: &Outcome, goal: bool, output: &Output) -> Exit {
    match outcome.stop {
        None | Some(Stop::Coverage | Stop::Told) => Exit::Done,
        Some(Stop::Unreachable) => Exit::Limit,
        Some(_) if goal && outcome.seen.coverage.is_some_and(|it| it.met()) => Exit::Done,
        Some(stop) if goal => {
            output.note(&format!(
                "turnstone: the goal is not proven: {}",
                verdict::because(stop)
            ));
            Exit::Limit
        }
        Some(_) => Exit::Done,
    }
}
