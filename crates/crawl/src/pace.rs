//! How fast requests may be spent when a crawl runs for ever: what a process adds to the ledger.
//!
//! What a slice and each host have spent is a fold of the journal (`turnstone_ledger::Spending`);
//! here is what only a process knows: what is under way, and when the last request went out.
//!
//! Three limits, each exact: so many requests in a slice; so far apart (a rate); so many to a host in
//! a day of the crawl's clock. What is under way counts as sent. A slice ends after its time, once
//! everything that was asked for in it has come back: so a request belongs to the slice whose
//! budget it was taken from.

use std::collections::HashMap;

use turnstone_frontier::{HostId, Policy, Tick};
use turnstone_ledger::{Allowance, DAY_MS, Ledger, Pace, Slice};

use crate::plan::Round;

/// How soon a host is looked at again whose last request of the day may be under way.
pub(crate) const HOST_LOOK_MS: u64 = 1000;

/// The slices of a crawl under way.
#[derive(Debug)]
pub(crate) struct Pacing {
    pub(crate) pace: Pace,
    /// Whether a slice runs.
    pub(crate) running: bool,
    /// How many ended in this process, and whether this one will count: not if it was spent already
    /// when the process began.
    pub(crate) ended: u64,
    pub(crate) counts: bool,
    /// Requests under way, and those of each host where hosts are counted.
    open: u64,
    /// Those of them that nobody sent yet: what permits them is still to be written.
    unsent: u64,
    hosts: HashMap<HostId, u64>,
    /// Before this moment no request may be sent, in microseconds of the crawl's clock.
    due_us: u64,
}

impl Pacing {
    /// Goes on where the journal ends.
    pub(crate) fn resume<P: Policy>(
        pace: Pace,
        round: &Round,
        ledger: &Ledger<P>,
        now: Tick,
    ) -> Self {
        let slice = ledger.spending().slice();
        let begun = ledger.index().rounds(&round.question) > 0;
        // The last request may have been sent just now.
        let due_us = now.0.saturating_mul(1000) + pace.gap_us().unwrap_or(0);
        Self {
            running: begun && now < slice.began.plus(pace.slice_ms),
            counts: slice.requests < slice.budget,
            ended: 0,
            open: 0,
            unsent: 0,
            hosts: HashMap::new(),
            due_us,
            pace,
        }
    }

    /// When a slice ends.
    pub(crate) fn end(&self, slice: &Slice) -> Tick {
        slice.began.plus(self.pace.slice_ms)
    }

    /// A slice begins.
    pub(crate) fn begins(&mut self) {
        self.running = true;
        self.counts = true;
    }

    /// Whether the slice is over: its time has passed, or all it may spend is spent and no more
    /// slices are to come.
    pub(crate) fn is_over(&self, slice: &Slice, now: Tick) -> bool {
        now >= self.end(slice) || self.is_last(slice)
    }

    /// Whether all that a slice may spend is spent, and no more slices are to come.
    pub(crate) fn is_last(&self, slice: &Slice) -> bool {
        let last = self.counts && self.pace.rounds == Some(self.ended + 1);
        last && slice.requests >= slice.budget
    }

    /// Whether enough slices have ended.
    pub(crate) fn enough(&self) -> bool {
        self.pace.rounds.is_some_and(|rounds| self.ended >= rounds)
    }

    /// Whether one more request may be sent within the slice and the rate.
    pub(crate) fn allows(&self, slice: &Slice, now: Tick) -> Allowance {
        if !self.running || self.is_over(slice, now) {
            // The next one begins when all has come back.
            return Allowance::Wait;
        }
        if slice.requests >= slice.budget {
            return Allowance::WaitUntil(self.end(slice));
        }
        let due_us = self.due_us(now);
        if due_us > now.0.saturating_mul(1000) {
            return Allowance::WaitUntil(Tick(due_us.div_ceil(1000)));
        }
        if slice.requests + self.open >= slice.budget {
            return Allowance::Wait;
        }
        Allowance::Send {
            body_bytes_max: u64::MAX,
        }
    }

    /// Whether a host that got `spent` requests today may be asked once more; else when to look again.
    pub(crate) fn host_allows(&self, host: HostId, spent: u64, now: Tick) -> Result<(), Tick> {
        let Some(max) = self.pace.host_per_day else {
            return Ok(());
        };
        let open = self.hosts.get(&host).copied().unwrap_or(0);
        if spent >= max {
            Err(Tick((now.0 / DAY_MS + 1) * DAY_MS))
        } else if spent + open >= max {
            // Those under way may never have been sent.
            Err(now.plus(HOST_LOOK_MS))
        } else {
            Ok(())
        }
    }

    /// When the next request may be sent. A full disk can hold up what is to be sent now, for hours, so
    /// one that is not sent yet counts from this moment on.
    fn due_us(&self, now: Tick) -> u64 {
        match self.pace.gap_us() {
            Some(gap) if self.unsent > 0 => now.0.saturating_mul(1000) + gap,
            _ => self.due_us,
        }
    }

    /// A request is to go out.
    pub(crate) fn opens(&mut self, host: HostId) {
        self.open += 1;
        self.unsent += 1;
        if self.pace.host_per_day.is_some() {
            *self.hosts.entry(host).or_default() += 1;
        }
    }

    /// All that was to go out is sent.
    pub(crate) fn sends(&mut self, now: Tick) {
        self.due_us = self.due_us(now).max(self.due_us);
        self.unsent = 0;
    }

    /// It came back.
    pub(crate) fn closes(&mut self, host: HostId) {
        self.open -= 1;
        if let Some(open) = self.hosts.get_mut(&host) {
            *open -= 1;
            if *open == 0 {
                self.hosts.remove(&host);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR_MS: u64 = 3_600_000;
    const SEND: Allowance = Allowance::Send {
        body_bytes_max: u64::MAX,
    };

    fn pacing(per_second: Option<f64>, host_per_day: Option<u64>) -> Pacing {
        Pacing {
            pace: Pace {
                slice_ms: HOUR_MS,
                per_second,
                per_day: None,
                host_per_day,
                rounds: None,
            },
            running: true,
            ended: 0,
            counts: true,
            open: 0,
            unsent: 0,
            hosts: HashMap::new(),
            due_us: 0,
        }
    }

    fn slice(budget: u64, requests: u64) -> Slice {
        Slice {
            budget,
            requests,
            ..Slice::default()
        }
    }

    #[test]
    fn what_is_under_way_counts() {
        let mut pacing = pacing(None, None);
        let host = HostId(0);
        for _ in 0..2 {
            assert_eq!(pacing.allows(&slice(2, 0), Tick(1)), SEND);
            pacing.opens(host);
        }
        assert_eq!(pacing.allows(&slice(2, 0), Tick(1)), Allowance::Wait);
        pacing.closes(host);
        assert_eq!(pacing.allows(&slice(2, 1), Tick(2)), Allowance::Wait);
        // It was never sent.
        pacing.closes(host);
        assert_eq!(pacing.allows(&slice(2, 1), Tick(3)), SEND);
        let end = Allowance::WaitUntil(Tick(HOUR_MS));
        assert_eq!(pacing.allows(&slice(2, 2), Tick(4)), end);
        pacing.running = false;
        assert_eq!(pacing.allows(&slice(2, 0), Tick(4)), Allowance::Wait);
    }

    #[test]
    fn a_last_slice_without_a_budget_is_over_when_it_begins() {
        let mut pacing = pacing(None, None);
        pacing.pace.rounds = Some(2);
        assert!(
            !pacing.is_over(&slice(0, 0), Tick(1)),
            "one more is to come"
        );
        pacing.ended = 1;
        assert!(pacing.is_last(&slice(0, 0)) && pacing.is_over(&slice(0, 0), Tick(1)));
        assert!(!pacing.is_last(&slice(1, 0)));
    }

    #[test]
    fn requests_are_as_far_apart_as_the_rate_wants() {
        let mut pacing = pacing(Some(4.0), None);
        let slice = slice(u64::MAX, 0);
        pacing.opens(HostId(0));
        pacing.sends(Tick(100));
        let allows = |pacing: &Pacing, tick| pacing.allows(&slice, Tick(tick));
        assert_eq!(allows(&pacing, 349), Allowance::WaitUntil(Tick(350)));
        assert_eq!(allows(&pacing, 350), SEND);
        // What was not used is not saved up.
        pacing.opens(HostId(0));
        pacing.sends(Tick(5_000));
        assert_eq!(allows(&pacing, 5_000), Allowance::WaitUntil(Tick(5_250)));
        // What a full disk holds up is as if it were sent whenever one looks.
        pacing.opens(HostId(0));
        assert_eq!(allows(&pacing, 9_000), Allowance::WaitUntil(Tick(9_250)));
        pacing.sends(Tick(9_100));
        assert_eq!(allows(&pacing, 9_349), Allowance::WaitUntil(Tick(9_350)));
        assert_eq!(allows(&pacing, 9_350), SEND);
    }

    #[test]
    fn a_host_has_its_own_day() {
        let mut pacing = pacing(None, Some(2));
        let (one, other, now) = (HostId(0), HostId(1), Tick(5));
        assert_eq!(pacing.host_allows(one, 1, now), Ok(()));
        pacing.opens(one);
        let soon = Err(Tick(5 + HOST_LOOK_MS));
        assert_eq!(pacing.host_allows(one, 1, now), soon, "one is under way");
        assert_eq!(pacing.host_allows(other, 0, now), Ok(()));
        pacing.closes(one);
        assert_eq!(pacing.host_allows(one, 2, now), Err(Tick(DAY_MS)));
    }
}
