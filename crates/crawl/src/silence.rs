//! When nobody answers: which hosts the crawl waits for, and when waiting is of no use.
//!
//! Hosts that do not answer are tried again with growing pauses, for hours if need be, as long as
//! there is something else to do. A crawl that has nothing else to do ends after a few tries, and
//! says whom it waited for: the next run takes them up again. Waiting on was tried: a crawl of one
//! dead host ran for 46 minutes and would have gone on for 30 days.

use std::collections::HashMap;

use turnstone_frontier::{HostId, Policy, Tick};
use turnstone_ledger::Stop;
use turnstone_pagestore::Mood;

use crate::asker::Asker;

/// Tries of this process after which a host counts as one that does not answer, by default.
pub(crate) const TRIES: u32 = 3;
/// How far off the next try must be before it is asked whether waiting is of use.
const PATIENCE_MS: u64 = 2_000;
/// A host that struggles and rests longer than this is not waited for, when nothing else is left.
const LONG_REST_MS: u64 = 300_000;
/// Hosts that are told of.
pub(crate) const TOLD_MAX: usize = 5;

/// What this process met at a host that did not answer.
#[derive(Clone, Debug, Default)]
pub(crate) struct Silence {
    tries: u32,
    pub(crate) what: String,
}

/// A host that the crawl waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waited {
    /// Its name.
    pub host: String,
    /// When it may be asked again.
    pub until: Tick,
    /// What it said last, if it did not answer well.
    pub why: String,
    /// How often in a row it did not, in this process.
    pub tries: u32,
}

/// By host.
pub(crate) type Silences = HashMap<HostId, Silence>;

impl<P: Policy> Asker<P> {
    /// A host answered so; `what` says what was met if it was not well.
    pub(crate) fn heard(&mut self, host: HostId, mood: Mood, what: &str) {
        match mood {
            Mood::Good => {
                self.silences.remove(&host);
                return;
            }
            // It answers, and says when to come again: it is waited for.
            Mood::Busy => return,
            Mood::Error | Mood::Unreachable => {}
        }
        let silence = self.silences.entry(host).or_default();
        silence.tries = silence.tries.saturating_add(1);
        what.clone_into(&mut silence.what);
    }

    /// The hosts that have pages waiting, and may not be asked now: the last to be free first.
    pub fn waited(&self) -> Vec<Waited> {
        let scheduler = self.ledger.scheduler();
        let mut hosts: Vec<(Tick, HostId)> = self
            .hosts_with_pages()
            .map(|host| (scheduler.earliest(host), host))
            .filter(|(until, _)| *until > self.now.plus(PATIENCE_MS))
            .collect();
        hosts.sort_unstable_by(|a, b| b.cmp(a));
        hosts.truncate(TOLD_MAX);
        let tell = |(until, host): (Tick, HostId)| {
            let silence = self.silences.get(&host).cloned().unwrap_or_default();
            Waited {
                host: self.ledger.index().host_name(host).to_owned(),
                until,
                why: silence.what,
                tries: silence.tries,
            }
        };
        hosts.into_iter().map(tell).collect()
    }

    /// Whether whatever is left is at hosts that do not answer.
    pub(crate) fn nobody_answers(&self, wake: Tick) -> Option<Stop> {
        if self.pacing.is_some() || wake <= self.now.plus(PATIENCE_MS) {
            return None;
        }
        let ranking = self.ledger.scheduler().ranking();
        let deferred = ranking.deferred().map(|page| ranking.host(page));
        let mut left = self.hosts_with_pages().chain(deferred).peekable();
        left.peek()?;
        left.all(|host| self.is_silent(host))
            .then_some(Stop::Unreachable)
    }

    fn is_silent(&self, host: HostId) -> bool {
        let tries = self.silences.get(&host).map_or(0, |silence| silence.tries);
        let struggles = self.ledger.troubles().of(host) >= self.plan.tries;
        let earliest = self.ledger.scheduler().earliest(host);
        tries >= self.plan.tries || struggles && earliest > self.now.plus(LONG_REST_MS)
    }

    fn hosts_with_pages(&self) -> impl Iterator<Item = HostId> + '_ {
        let ranking = self.ledger.scheduler().ranking();
        (0..ranking.host_count())
            .map(HostId::from_index)
            .filter(|host| ranking.has_queued(*host))
    }
}
