//! How each host is to us: waiting, held, slow or failing, and why. A fold of the journal.
//!
//! A crawl asks its hosts as gently as they want, so "why is it slow" is a question about hosts: one asked us
//! to wait, one takes long to answer, one does not answer at all. All that is said in the journal; here it is
//! kept by host, so that showing it reads nothing.
//!
//! Cost: [`HOST_BYTES`] a host and a byte a page; telling looks at every host once.

use serde::Serialize;
use turnstone_frontier::{PageId, Tick};
use turnstone_lab::number::duration;
use turnstone_pagestore::{Entry, Index, Mood, PageState};

/// What is kept of a host.
pub const HOST_BYTES: usize = size_of::<Known>();
/// An answer that takes longer, on average, is slow.
const SLOW_MS: f32 = 2000.0;
/// How much the last answer counts for the average.
const LAST_COUNTS: f32 = 0.25;
/// So many bad answers in a row, and a host is failing.
const FAILING: u32 = 3;
/// A rest that is over so soon is nothing to tell.
const HELD_MS: u64 = 2000;
/// The longest reason that is kept.
const WHY_CHARS_MAX: usize = 160;

/// What is known of one host.
#[derive(Clone, Debug, Default)]
struct Known {
    waiting: u32,
    held_until: u64,
    shut_until: u64,
    answers: u32,
    average_ms: f32,
    bad_in_a_row: u32,
    why: Option<Box<str>>,
}

/// How a host is to us.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Condition {
    /// It answered badly several times in a row.
    Failing,
    /// It is not asked before a moment.
    Held,
    /// It takes long to answer.
    Slow,
    /// Nothing is wrong: it has pages that wait for their turn.
    Waiting,
}

impl Condition {
    /// In one word.
    pub fn name(self) -> &'static str {
        match self {
            Self::Failing => "failing",
            Self::Held => "held",
            Self::Slow => "slow",
            Self::Waiting => "waiting",
        }
    }
}

/// A host as it is shown.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HostRow {
    /// Its name.
    pub host: String,
    /// How it is to us.
    pub condition: Condition,
    /// Why, in words.
    pub why: String,
    /// Its pages that wait.
    pub waiting: u64,
    /// Its pages in the store.
    pub stored: u64,
    /// Requests for its pages that brought none.
    pub failed: u64,
    /// How long an answer takes, on average over the last ones.
    pub milliseconds: u64,
    /// Seconds until it may be asked again.
    pub held_seconds: u64,
}

/// How many hosts are in which condition.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct HostCounts {
    /// Hosts known.
    pub known: u64,
    /// With pages that wait, whatever else they are.
    pub waiting: u64,
    /// Not asked before a moment.
    pub held: u64,
    /// That take long to answer.
    pub slow: u64,
    /// That do not answer well.
    pub failing: u64,
}

/// The fold.
#[derive(Debug, Default)]
pub(crate) struct Hosts {
    hosts: Vec<Known>,
    /// By page: its state when it was last looked at.
    states: Vec<PageState>,
}

impl Hosts {
    /// Takes in an entry; `index` knows of it already.
    pub(crate) fn apply(&mut self, index: &Index, tick: Tick, entry: &Entry<'_>) {
        match entry {
            Entry::Host { .. } | Entry::Away { .. } => self.hosts.push(Known::default()),
            Entry::Page { page, .. } | Entry::HandOut { page } => self.look(index, *page),
            Entry::Held { host, until } => self.hosts[host.index()].held_until = until.0,
            Entry::Shut { host, until } => self.hosts[host.index()].shut_until = until.0,
            Entry::Outcome(outcome) => {
                self.look(index, outcome.page);
                let facts = &outcome.facts;
                let host = &mut self.hosts[index.host(outcome.page).index()];
                if facts.requests > 0 && facts.milliseconds > 0 {
                    let took = facts.milliseconds as f32;
                    host.average_ms = match host.answers {
                        0 => took,
                        _ => host.average_ms + LAST_COUNTS * (took - host.average_ms),
                    };
                    host.answers = host.answers.saturating_add(1);
                }
                match facts.mood {
                    None => {}
                    Some(Mood::Good) => {
                        host.bad_in_a_row = 0;
                        host.why = None;
                    }
                    Some(Mood::Busy | Mood::Error | Mood::Unreachable) => {
                        host.bad_in_a_row = host.bad_in_a_row.saturating_add(1);
                        let said = if facts.detail.is_empty() {
                            &facts.class
                        } else {
                            &facts.detail
                        };
                        let said: String = said.chars().take(WHY_CHARS_MAX).collect();
                        host.why = Some(said.into());
                    }
                }
            }
            Entry::Plan {
                inside, outside, ..
            } => {
                inside.each(|page| self.look(index, page));
                outside.each(|page| self.look(index, page));
            }
            _ => {}
        }
        // Whoever takes a crawl over tries at once what could not be had.
        if let Entry::Session { .. } = entry {
            for host in &mut self.hosts {
                host.shut_until = host.shut_until.min(tick.0);
            }
        }
    }

    /// Counts a page where it is now.
    fn look(&mut self, index: &Index, page: PageId) {
        let waits = |state| matches!(state, PageState::Waiting | PageState::Unknown);
        let now = index.state(page);
        let host = &mut self.hosts[index.host(page).index()];
        match self.states.get_mut(page.index()) {
            Some(state) => {
                host.waiting = host.waiting.saturating_sub(u32::from(waits(*state)));
                *state = now;
            }
            None => self.states.push(now),
        }
        host.waiting += u32::from(waits(now));
    }

    /// How many hosts are in which condition, and the most troubled of them: those that fail first, then by how
    /// many pages wait.
    pub(crate) fn tell(
        &self,
        index: &Index,
        now: Tick,
        rows_max: usize,
    ) -> (HostCounts, Vec<HostRow>) {
        let mut counts = HostCounts {
            known: self.hosts.len() as u64,
            ..HostCounts::default()
        };
        let mut found: Vec<(Condition, u32, usize)> = Vec::new();
        for (number, host) in self.hosts.iter().enumerate() {
            let held = host.waiting > 0 && host.rest_ms(now) > HELD_MS;
            let failing = host.bad_in_a_row >= FAILING;
            let slow = host.answers >= FAILING && host.average_ms > SLOW_MS;
            counts.waiting += u64::from(host.waiting > 0);
            counts.held += u64::from(held);
            counts.slow += u64::from(slow);
            counts.failing += u64::from(failing);
            let condition = match (failing, held, slow, host.waiting) {
                (true, ..) => Condition::Failing,
                (_, true, ..) => Condition::Held,
                (_, _, true, _) => Condition::Slow,
                (.., 0) => continue,
                _ => Condition::Waiting,
            };
            found.push((condition, u32::MAX - host.waiting, number));
        }
        found.sort_unstable();
        found.truncate(rows_max);
        let row = |(condition, _, number): (Condition, u32, usize)| {
            self.row(index, now, condition, number)
        };
        (counts, found.into_iter().map(row).collect())
    }

    fn row(&self, index: &Index, now: Tick, condition: Condition, number: usize) -> HostRow {
        let host = &self.hosts[number];
        let rest_s = host.rest_ms(now).div_ceil(1000);
        let tally = index.tally().hosts.get(number).copied().unwrap_or_default();
        let said = host.why.as_deref().unwrap_or("it asked us to wait");
        let why = match condition {
            Condition::Failing => format!("{} times in a row: {said}", host.bad_in_a_row),
            Condition::Held => format!("not asked for another {}: {said}", duration(rest_s as f64)),
            Condition::Slow => format!("an answer takes {:.1} s", host.average_ms / 1000.0),
            Condition::Waiting => "its pages wait for their turn".to_owned(),
        };
        HostRow {
            host: index
                .host_name(turnstone_frontier::HostId::from_index(number))
                .to_owned(),
            condition,
            why,
            waiting: u64::from(host.waiting),
            stored: u64::from(tally.fetched),
            failed: u64::from(tally.failed),
            milliseconds: host.average_ms as u64,
            held_seconds: rest_s,
        }
    }
}

impl Known {
    fn rest_ms(&self, now: Tick) -> u64 {
        self.held_until.max(self.shut_until).saturating_sub(now.0)
    }
}
