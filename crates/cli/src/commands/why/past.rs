//! What the journal tells of one page: who links to it, and what came of it, again and again.
//!
//! Cost: one scan of the journal.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use turnstone_fetch::urls::shown;
use turnstone_frontier::{Arm, Chance, PageId, Tick};
use turnstone_lab::number::whole;
use turnstone_pagestore::{Entry, Links, Outcome, Position, Settled, Store};

use super::TOLD_MAX;
use crate::commands::crawl::summary::bytes;
use crate::commands::directory::Directory;
use crate::moment::utc;

/// The past of one page.
pub(super) struct Past {
    /// Pages whose stored copy links to it; the first few.
    pub(super) linked_from: Vec<String>,
    pub(super) linked_from_count: u64,
    /// Pages that stand for it; the first few.
    pub(super) redirected_from: Vec<String>,
    /// The last outcomes, oldest first.
    pub(super) outcomes: Vec<(Tick, Outcome<'static>)>,
    outcome_count: u64,
}

impl Past {
    pub(super) fn of(store: &Store, page: PageId) -> anyhow::Result<Self> {
        let mut linking = BTreeSet::new();
        let mut moved = BTreeSet::new();
        let mut outcomes = Vec::new();
        let mut outcome_count = 0;
        let mut links = Vec::new();
        let mut scan = store.scan(Position::FIRST);
        while let Some((_, tick, entry)) = scan.next()? {
            let Entry::Outcome(outcome) = entry else {
                continue;
            };
            match outcome.settled {
                Settled::Fetched(_) => {
                    links.clear();
                    outcome.links.read(&mut links);
                    // Its copy may have lost the link since.
                    keep(&mut linking, outcome.page, links.contains(&page));
                    moved.remove(&outcome.page);
                }
                Settled::Moved(to) => {
                    keep(&mut moved, outcome.page, to == page);
                    linking.remove(&outcome.page);
                }
                Settled::Failed(_) => {}
            }
            if outcome.page == page {
                outcome_count += 1;
                if outcomes.len() == TOLD_MAX {
                    outcomes.remove(0);
                }
                outcomes.push((tick, without_links(outcome)));
            }
        }
        let urls = |pages: &BTreeSet<PageId>| -> anyhow::Result<Vec<String>> {
            let first = pages.iter().take(TOLD_MAX);
            first.map(|page| Ok(shown(&store.url(*page)?))).collect()
        };
        Ok(Self {
            linked_from: urls(&linking)?,
            linked_from_count: linking.len() as u64,
            redirected_from: urls(&moved)?,
            outcomes,
            outcome_count,
        })
    }

    /// The page is also linked from pages of another shard.
    pub(super) fn linked_from_others(&mut self, other: Self) {
        self.linked_from.extend(other.linked_from);
        self.linked_from.truncate(TOLD_MAX);
        self.linked_from_count += other.linked_from_count;
        self.redirected_from.extend(other.redirected_from);
        self.redirected_from.truncate(TOLD_MAX);
    }

    pub(super) fn json(&self, directory: &Directory) -> Value {
        let outcome = |(tick, outcome): &(Tick, Outcome<'_>)| {
            let facts = &outcome.facts;
            json!({
                "time": when(directory, *tick, outcome),
                "outcome": settled(outcome.settled),
                "class": facts.class,
                "detail": facts.detail,
                "status": (facts.status > 0).then_some(facts.status),
                "requests": facts.requests,
                "bytes": facts.body_bytes,
                "milliseconds": facts.milliseconds,
                "arm": facts.arm.map(Arm::name),
                "chance": Chance::from_units(facts.chance).number(),
            })
        };
        self.outcomes.iter().map(outcome).collect()
    }

    /// The last time a request was sent for it: for which arm, and with which chance.
    pub(super) fn last_asked(&self) -> Option<(Option<Arm>, Chance)> {
        let mut sent = self.outcomes.iter().map(|(_, outcome)| &outcome.facts);
        let last = sent.rfind(|facts| facts.requests > 0)?;
        Some((last.arm, Chance::from_units(last.chance)))
    }

    pub(super) fn links_text(&self) -> String {
        if self.linked_from_count == 0 {
            return "no stored page".to_owned();
        }
        let mut text = match self.linked_from_count {
            1 => "1 stored page".to_owned(),
            count => format!("{} stored pages", whole(count)),
        };
        for url in &self.linked_from {
            text += &format!("\n{url}");
        }
        if self.linked_from_count > self.linked_from.len() as u64 {
            text += "\n…";
        }
        text
    }

    pub(super) fn text(&self, directory: &Directory) -> String {
        if self.outcomes.is_empty() {
            return "never asked for".to_owned();
        }
        let mut lines = Vec::new();
        if self.outcome_count > self.outcomes.len() as u64 {
            let left_out = self.outcome_count - self.outcomes.len() as u64;
            lines.push(format!("{} earlier ones, then", whole(left_out)));
        }
        for (tick, outcome) in &self.outcomes {
            let facts = &outcome.facts;
            let mut line = format!(
                "{}  {}",
                when(directory, *tick, outcome),
                settled(outcome.settled)
            );
            if !facts.class.is_empty() {
                line += &format!(" ({})", facts.class);
            }
            if facts.status > 0 {
                line += &format!(
                    "  HTTP {}, {}, {} ms",
                    facts.status,
                    bytes(facts.body_bytes),
                    facts.milliseconds
                );
            }
            if !facts.detail.is_empty() {
                line += &format!("  {}", facts.detail);
            }
            if let Some(arm) = facts.arm {
                line += &format!("  for {arm}");
            }
            if facts.chance > 0 {
                line += &format!("  drawn with chance {}", Chance::from_units(facts.chance));
            }
            lines.push(line);
        }
        lines.join("\n")
    }
}

/// When a page was last found or put out of scope.
pub(super) fn outside_since(store: &Store, page: PageId) -> anyhow::Result<Tick> {
    let mut since = Tick(0);
    let mut scan = store.scan(store.index().page_at(page));
    while let Some((_, tick, entry)) = scan.next()? {
        match entry {
            Entry::Page { page: found, .. } if found == page => since = tick,
            Entry::Plan { outside, .. } => outside.each(|left| {
                if left == page {
                    since = tick;
                }
            }),
            _ => {}
        }
    }
    Ok(since)
}

fn keep(set: &mut BTreeSet<PageId>, page: PageId, belongs: bool) {
    if belongs {
        set.insert(page);
    } else {
        set.remove(&page);
    }
}

/// When it was asked for or, if it was not, when that was decided.
fn when(directory: &Directory, tick: Tick, outcome: &Outcome<'_>) -> String {
    match outcome.facts.wall_ms {
        0 => directory.utc(tick),
        wall_ms => utc(wall_ms),
    }
}

fn settled(settled: Settled) -> &'static str {
    use turnstone_frontier::{Change, Fault};
    match settled {
        Settled::Fetched(Change::New) => "new",
        Settled::Fetched(Change::Changed) => "changed",
        Settled::Fetched(Change::Unchanged) => "unchanged",
        Settled::Failed(Fault::Gone) => "gone",
        Settled::Failed(Fault::Unknown) => "no verdict",
        Settled::Failed(Fault::Refused) => "refused",
        Settled::Failed(Fault::Lost) => "put back into the queue",
        Settled::Moved(_) => "moved",
    }
}

fn without_links(outcome: Outcome<'_>) -> Outcome<'static> {
    Outcome {
        links: Links::Ids(&[]),
        page: outcome.page,
        settled: outcome.settled,
        before: outcome.before,
        facts: outcome.facts,
    }
}
