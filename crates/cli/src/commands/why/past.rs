//! What the journal tells of one page: who links to it, and what came of it, again and again.
//!
//! Cost: one scan of the journal.

use std::collections::{BTreeSet, VecDeque};

use serde_json::{Value, json};
use turnstone_fetch::urls::shown;
use turnstone_frontier::{Arm, Chance, PageId, Tick};
use turnstone_lab::number::whole;
use turnstone_pagestore::{Entry, Fold, Outcome, Settled, Store, Written};

use super::TOLD_MAX;
use crate::commands::crawl::summary::bytes;
use crate::commands::directory::Directory;
use crate::moment::utc;

/// What is looked for in the journal while it is read.
pub(super) struct Search {
    page: PageId,
    linking: BTreeSet<PageId>,
    moved: BTreeSet<PageId>,
    outcomes: VecDeque<(Tick, Outcome<'static>)>,
    outcome_count: u64,
    outside_since: Tick,
}

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
    /// When it was last found or put out of scope.
    pub(super) outside_since: Tick,
}

impl Search {
    pub(super) fn new(page: PageId) -> Self {
        Self {
            page,
            linking: BTreeSet::new(),
            moved: BTreeSet::new(),
            outcomes: VecDeque::new(),
            outcome_count: 0,
            outside_since: Tick(0),
        }
    }

    fn settled(&mut self, tick: Tick, outcome: &Outcome<'_>) {
        match outcome.settled {
            Settled::Fetched(_) => {
                let mut links = false;
                outcome.links.each(|link| links |= link == self.page);
                // Its copy may have lost the link since.
                keep(&mut self.linking, outcome.page, links);
                self.moved.remove(&outcome.page);
            }
            Settled::Moved(to) => {
                keep(&mut self.moved, outcome.page, to == self.page);
                self.linking.remove(&outcome.page);
            }
            Settled::Failed(_) => {}
        }
        if outcome.page == self.page {
            self.outcome_count += 1;
            if self.outcomes.len() == TOLD_MAX {
                self.outcomes.pop_front();
            }
            let told = outcome.clone().without_links();
            self.outcomes.push_back((tick, told));
        }
    }
}

impl<E> Fold<E> for Search {
    fn see(&mut self, Written { tick, .. }: Written, entry: &Entry<'_>) -> Result<(), E> {
        match entry {
            Entry::Outcome(outcome) => self.settled(tick, outcome),
            Entry::Page { page, .. } if *page == self.page => self.outside_since = tick,
            Entry::Plan { outside, .. } => outside.each(|left| {
                if left == self.page {
                    self.outside_since = tick;
                }
            }),
            _ => {}
        }
        Ok(())
    }
}

impl Past {
    /// What was found, once the journal was read.
    pub(super) fn found(store: &Store, search: Search) -> anyhow::Result<Self> {
        let urls = |pages: &BTreeSet<PageId>| -> anyhow::Result<Vec<String>> {
            let first = pages.iter().take(TOLD_MAX);
            first.map(|page| Ok(shown(&store.url(*page)?))).collect()
        };
        Ok(Self {
            linked_from: urls(&search.linking)?,
            linked_from_count: search.linking.len() as u64,
            redirected_from: urls(&search.moved)?,
            outcomes: search.outcomes.into(),
            outcome_count: search.outcome_count,
            outside_since: search.outside_since,
        })
    }

    /// What its publisher said of how it may be used, when it last came.
    pub(super) fn preferences(&self) -> Vec<String> {
        let facts = self
            .outcomes
            .iter()
            .rev()
            .map(|(_, outcome)| &outcome.facts);
        let said = facts
            .map(|facts| &facts.preferences)
            .find(|it| !it.is_empty());
        let said = said.map(String::as_str).unwrap_or_default();
        said.lines().map(shown).collect()
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
