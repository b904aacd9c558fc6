//! How fast requests may be spent when a crawl runs for ever: slices of time, a budget for each.
//!
//! A slice begins with a round in the journal and ends after its time, once everything that was
//! asked for in it has come back: so a request belongs to the slice whose budget it was taken from.
//! What a slice did not spend is gone with it; nothing is saved up. All budgets count what hosts
//! see: requests, robots.txt included, tries on a connection that turned out closed included.
//!
//! Three limits, each exact: so many requests in a slice; so far apart (a rate); so many to a host in
//! a day of the crawl's clock. What is under way counts as sent.
//!
//! After a kill the slice goes on with what is left. What was handed out and never came back may
//! have been sent: it is counted as a request, for nobody can know. (A power loss may forget the
//! requests of the moment before it that had not reached the disk.)
//!
//! Cost: two numbers a host that was asked today; one scan of the current slice when a process
//! begins, or of the journal where hosts have budgets.

use std::collections::{BTreeSet, HashMap};

use turnstone_fetch::Url;
use turnstone_fetch::urls::host_of;
use turnstone_frontier::{Change, Fault, HostId, PageId, Tick, Visit};
use turnstone_pagestore::{Entry, Position, Settled, Store, StoreError};

use crate::budget::Allowance;
use crate::plan::Round;

/// Milliseconds in a day.
pub const DAY_MS: u64 = 86_400_000;
/// How soon a host is looked at again whose last request of the day may be under way.
pub(crate) const HOST_LOOK_MS: u64 = 1000;

/// How fast a crawl may go that runs for ever.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pace {
    /// How long a slice is, in ticks.
    pub slice_ms: u64,
    /// The most requests in a second.
    pub per_second: Option<f64>,
    /// The most requests in a day.
    pub per_day: Option<u64>,
    /// The most requests to one host in a day.
    pub host_per_day: Option<u64>,
    /// How many slices to run in this process; for ever if none.
    pub rounds: Option<u64>,
}

impl Pace {
    /// The budget of a slice. The shares of a day that are no whole numbers come out even over
    /// slices: in every row of slices that begins with number 0 no day gets more than it may. A rate
    /// is kept by the time between requests; its budget is rounded up, so that the slowest gets on.
    pub fn budget(&self, round: u32) -> u64 {
        let by_rate = self
            .per_second
            .map(|rate| (rate * self.slice_ms as f64 / 1000.0).ceil() as u64);
        let by_day = self.per_day.map(|per_day| {
            let until = |rounds: u64| {
                let part = u128::from(per_day) * u128::from(self.slice_ms) * u128::from(rounds);
                part / u128::from(DAY_MS)
            };
            let share = until(u64::from(round) + 1) - until(u64::from(round));
            u64::try_from(share).unwrap_or(u64::MAX)
        });
        let limits = [by_rate, by_day];
        limits.into_iter().flatten().min().unwrap_or(u64::MAX)
    }

    /// Microseconds between two requests.
    fn gap_us(&self) -> Option<u64> {
        self.per_second.map(|rate| (1e6 / rate).ceil() as u64)
    }
}

/// What came of a slice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Slice {
    /// Its number.
    pub round: u32,
    /// When it began.
    pub began: Tick,
    /// How many requests it may spend.
    pub budget: u64,
    /// How many it spent; those that never came back may have been sent, and count.
    pub requests: u64,
    /// Pages fetched for the first time.
    pub new: u64,
    /// Stored pages that had changed.
    pub changed: u64,
    /// Stored pages that had not.
    pub unchanged: u64,
    /// Pages that were not there.
    pub gone: u64,
    /// Sayings that a stored page had changed.
    pub hints: u64,
}

impl Slice {
    /// Counts what an entry of the journal speaks of.
    pub fn count(&mut self, entry: &Entry<'_>) {
        match entry {
            Entry::Outcome(outcome) => {
                self.requests += u64::from(outcome.facts.requests);
                self.settled(outcome.settled);
            }
            Entry::Robots { requests, .. } => self.requests += u64::from(*requests),
            Entry::Hint(_) => self.hints += 1,
            _ => {}
        }
    }

    /// Counts what came of a page.
    pub(crate) fn settled(&mut self, settled: Settled) {
        match settled {
            Settled::Fetched(Change::New) => self.new += 1,
            Settled::Fetched(Change::Changed) => self.changed += 1,
            Settled::Fetched(Change::Unchanged) => self.unchanged += 1,
            Settled::Failed(Fault::Gone) => self.gone += 1,
            Settled::Failed(_) | Settled::Moved(_) => {}
        }
    }
}

/// What a host was asked today.
#[derive(Clone, Copy, Debug, Default)]
struct HostDay {
    spent: u64,
    open: u64,
}

/// The slices of a crawl under way.
#[derive(Debug)]
pub(crate) struct Slices {
    pub(crate) pace: Pace,
    /// The slice that runs, or ran last.
    pub(crate) now: Slice,
    /// Whether a slice runs.
    pub(crate) running: bool,
    /// How many ended in this process, and whether this one will count: not if it was spent already
    /// when the process began.
    pub(crate) ended: u64,
    pub(crate) counts: bool,
    /// Requests under way.
    open: u64,
    /// The day that hosts are counted for.
    day: u64,
    hosts: HashMap<HostId, HostDay>,
    /// Before this moment no request may be sent, in microseconds of the crawl's clock.
    due_us: u64,
}

impl Slices {
    /// Goes on where the journal ends.
    pub(crate) fn resume(
        store: &Store,
        (pace, round): (Pace, &Round),
        now: Tick,
    ) -> Result<Self, StoreError> {
        let mut slices = Self {
            pace,
            now: Slice::default(),
            running: false,
            ended: 0,
            counts: false,
            open: 0,
            day: now.0 / DAY_MS,
            hosts: HashMap::new(),
            due_us: now.0.saturating_mul(1000) + pace.gap_us().unwrap_or(0),
        };
        let last = store.index().round_at(&round.question);
        let from = match pace.host_per_day {
            Some(_) => Some(Position::FIRST),
            None => last,
        };
        if let Some(from) = from {
            slices.read(store, &round.question, from)?;
        }
        slices.running = last.is_some() && now < slices.end();
        slices.counts = slices.now.requests < slices.now.budget;
        Ok(slices)
    }

    /// Reads what was spent from a place in the journal on.
    fn read(&mut self, store: &Store, question: &str, from: Position) -> Result<(), StoreError> {
        // What was handed out and may have been sent: by page, and requests for no page by host.
        let mut out: BTreeSet<PageId> = BTreeSet::new();
        let mut visits: HashMap<HostId, u64> = HashMap::new();
        let mut last = None;
        let mut errand = None;
        let mut scan = store.scan(from);
        while let Some((_, tick, entry)) = scan.next()? {
            // A robots.txt that was asked for elsewhere stands behind the end of that visit.
            let elsewhere = errand.take();
            match entry {
                Entry::Round {
                    question: of,
                    round,
                    budget,
                } if of == question => {
                    self.now = Slice {
                        round,
                        began: tick,
                        budget,
                        ..Slice::default()
                    };
                }
                Entry::HandOut { page } => {
                    out.insert(page);
                    last = Some(page);
                }
                Entry::Visit { host, visit } => match visit {
                    // Nothing is sent for the page just handed out.
                    Visit::Spared => {
                        if let Some(page) = last.take() {
                            out.remove(&page);
                        }
                    }
                    Visit::Opened => *visits.entry(host).or_default() += 1,
                    Visit::Closed => {
                        let open = visits.entry(host).or_default();
                        *open = open.saturating_sub(1);
                        errand = Some(host);
                    }
                },
                Entry::Outcome(outcome) => {
                    out.remove(&outcome.page);
                    self.now.settled(outcome.settled);
                    let host = store.index().host(outcome.page);
                    self.spend(host, u64::from(outcome.facts.requests), tick);
                }
                Entry::Robots {
                    authority,
                    requests,
                    ..
                } => {
                    let own = || {
                        let url = Url::parse(authority).ok()?;
                        store.index().find_host(host_of(&url))
                    };
                    let host = elsewhere.or_else(own).unwrap_or(HostId(0));
                    self.spend(host, u64::from(requests), tick);
                }
                Entry::Hint(_) => self.now.hints += 1,
                Entry::Session { .. } => {
                    for page in std::mem::take(&mut out) {
                        self.spend(store.index().host(page), 1, tick);
                    }
                    for (host, open) in std::mem::take(&mut visits) {
                        self.spend(host, open, tick);
                    }
                }
                _ => {}
            }
        }
        // The session of this process is not in the journal yet.
        let latest = store.index().latest();
        for page in out {
            self.spend(store.index().host(page), 1, latest);
        }
        for (host, open) in visits {
            self.spend(host, open, latest);
        }
        Ok(())
    }

    fn spend(&mut self, host: HostId, requests: u64, tick: Tick) {
        self.now.requests += requests;
        if self.pace.host_per_day.is_some() && tick.0 / DAY_MS == self.day {
            self.hosts.entry(host).or_default().spent += requests;
        }
    }

    /// When the slice ends.
    pub(crate) fn end(&self) -> Tick {
        self.now.began.plus(self.pace.slice_ms)
    }

    /// Begins a slice.
    pub(crate) fn begin(&mut self, round: u32, now: Tick) {
        self.running = true;
        self.counts = true;
        self.now = Slice {
            round,
            began: now,
            budget: self.pace.budget(round),
            ..Slice::default()
        };
    }

    /// Whether the slice is over: its time has passed, or all it may spend is spent and no more
    /// slices are to come.
    pub(crate) fn is_over(&self, now: Tick) -> bool {
        let last = self.counts && self.pace.rounds == Some(self.ended + 1);
        now >= self.end() || (last && self.now.requests >= self.now.budget)
    }

    /// Whether enough slices have ended.
    pub(crate) fn enough(&self) -> bool {
        self.pace.rounds.is_some_and(|rounds| self.ended >= rounds)
    }

    /// Whether one more request may be sent within the slice and the rate.
    pub(crate) fn allows(&self, now: Tick) -> Allowance {
        if !self.running || self.is_over(now) {
            // The next one begins when all has come back.
            return Allowance::Wait;
        }
        if self.now.requests >= self.now.budget {
            return Allowance::WaitUntil(self.end());
        }
        if self.due_us > now.0.saturating_mul(1000) {
            return Allowance::WaitUntil(Tick(self.due_us.div_ceil(1000)));
        }
        if self.now.requests + self.open >= self.now.budget {
            return Allowance::Wait;
        }
        Allowance::Send {
            body_bytes_max: u64::MAX,
        }
    }

    /// Whether a host may be asked once more today; else when to look again.
    pub(crate) fn host_allows(&mut self, host: HostId, now: Tick) -> Result<(), Tick> {
        let Some(max) = self.pace.host_per_day else {
            return Ok(());
        };
        let day = now.0 / DAY_MS;
        if day != self.day {
            self.day = day;
            self.hosts.retain(|_, host| host.open > 0);
            for host in self.hosts.values_mut() {
                host.spent = 0;
            }
        }
        let HostDay { spent, open } = self.hosts.get(&host).copied().unwrap_or_default();
        match spent {
            _ if spent >= max => Err(Tick((day + 1) * DAY_MS)),
            // Those under way may never have been sent.
            _ if spent + open >= max => Err(now.plus(HOST_LOOK_MS)),
            _ => Ok(()),
        }
    }

    /// A request goes out.
    pub(crate) fn opens(&mut self, host: HostId, now: Tick) {
        self.open += 1;
        if let Some(gap) = self.pace.gap_us() {
            self.due_us = self.due_us.max(now.0.saturating_mul(1000)) + gap;
        }
        if self.pace.host_per_day.is_some() {
            self.hosts.entry(host).or_default().open += 1;
        }
    }

    /// It came back, having cost so many.
    pub(crate) fn closes(&mut self, host: HostId, requests: u32) {
        self.open -= 1;
        self.now.requests += u64::from(requests);
        if let Some(host) = self.hosts.get_mut(&host) {
            host.open -= 1;
            host.spent += u64::from(requests);
        }
    }
}

#[cfg(test)]
#[path = "pace_resumed.rs"]
mod resumed;

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR_MS: u64 = 3_600_000;

    fn pace(per_second: Option<f64>, per_day: Option<u64>) -> Pace {
        Pace {
            slice_ms: HOUR_MS,
            per_second,
            per_day,
            host_per_day: None,
            rounds: None,
        }
    }

    #[test]
    fn a_day_is_dealt_out_to_its_slices_and_no_request_is_lost_or_made() {
        for per_day in [0, 1, 23, 24, 1000, 86_400] {
            let pace = pace(None, Some(per_day));
            for day in 0..3 {
                let slices = day * 24..(day + 1) * 24;
                let budgets: Vec<u64> = slices.map(|round| pace.budget(round)).collect();
                assert_eq!(budgets.iter().sum::<u64>(), per_day, "{budgets:?}");
                let (least, most) = (budgets.iter().min(), budgets.iter().max());
                assert!(most.unwrap() - least.unwrap() <= 1, "{budgets:?}");
            }
        }
    }

    #[test]
    fn the_stricter_limit_binds() {
        assert_eq!(pace(Some(0.5), None).budget(0), 1800);
        assert_eq!(pace(Some(0.5), Some(24_000)).budget(0), 1000);
        assert_eq!(pace(Some(0.1), Some(24_000)).budget(0), 360);
        assert_eq!(pace(None, None).budget(0), u64::MAX);
    }

    fn slices(pace: Pace) -> Slices {
        Slices {
            pace,
            now: Slice::default(),
            running: false,
            ended: 0,
            counts: false,
            open: 0,
            day: 0,
            hosts: HashMap::new(),
            due_us: 0,
        }
    }

    const SEND: Allowance = Allowance::Send {
        body_bytes_max: u64::MAX,
    };

    #[test]
    fn what_is_under_way_counts() {
        let mut slices = slices(pace(None, Some(2 * 24)));
        let host = HostId(0);
        assert_eq!(slices.allows(Tick(0)), Allowance::Wait);
        slices.begin(0, Tick(0));
        for _ in 0..2 {
            assert_eq!(slices.allows(Tick(1)), SEND);
            slices.opens(host, Tick(1));
        }
        assert_eq!(slices.allows(Tick(1)), Allowance::Wait);
        slices.closes(host, 1);
        assert_eq!(slices.allows(Tick(2)), Allowance::Wait);
        // It was never sent.
        slices.closes(host, 0);
        assert_eq!(slices.allows(Tick(3)), SEND);
        slices.opens(host, Tick(3));
        slices.closes(host, 1);
        let end = Allowance::WaitUntil(Tick(HOUR_MS));
        assert_eq!(slices.allows(Tick(4)), end);
        assert_eq!(slices.now.requests, 2);
        slices.begin(1, Tick(HOUR_MS));
        assert_eq!(slices.allows(Tick(HOUR_MS)), SEND);
    }

    #[test]
    fn the_slowest_rate_gets_on() {
        let pace = Pace {
            slice_ms: 3_600_000,
            per_second: Some(0.0001),
            per_day: None,
            host_per_day: None,
            rounds: None,
        };
        assert_eq!(pace.budget(0), 1);
    }

    #[test]
    fn requests_are_as_far_apart_as_the_rate_wants() {
        let mut slices = slices(pace(Some(4.0), None));
        slices.begin(0, Tick(0));
        slices.opens(HostId(0), Tick(100));
        assert_eq!(slices.allows(Tick(349)), Allowance::WaitUntil(Tick(350)));
        assert_eq!(slices.allows(Tick(350)), SEND);
        // What was not used is not saved up.
        slices.opens(HostId(0), Tick(5_000));
        assert_eq!(
            slices.allows(Tick(5_000)),
            Allowance::WaitUntil(Tick(5_250))
        );
    }

    #[test]
    fn a_host_has_its_own_day() {
        let mut slices = slices(Pace {
            host_per_day: Some(2),
            ..pace(None, None)
        });
        slices.begin(0, Tick(0));
        let (one, other, now) = (HostId(0), HostId(1), Tick(5));
        assert_eq!(slices.host_allows(one, now), Ok(()));
        slices.opens(one, now);
        slices.closes(one, 1);
        assert_eq!(slices.host_allows(one, now), Ok(()));
        slices.opens(one, now);
        let soon = Err(Tick(5 + HOST_LOOK_MS));
        assert_eq!(slices.host_allows(one, now), soon, "one is under way");
        assert_eq!(slices.host_allows(other, now), Ok(()));
        slices.closes(one, 1);
        assert_eq!(slices.host_allows(one, now), Err(Tick(DAY_MS)));
        assert_eq!(slices.host_allows(one, Tick(DAY_MS)), Ok(()));
    }
}
