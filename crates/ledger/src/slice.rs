//! Slices of time, and what each may spend and brought.
//!
//! A crawl that runs for ever goes on in slices: rounds of one length, each with a budget of
//! requests. What a slice did not spend is gone with it; nothing is saved up. All budgets count what
//! hosts see: requests, robots.txt included.

use turnstone_frontier::{Change, Fault, Tick};
use turnstone_pagestore::{Entry, Settled};

/// Milliseconds in a day.
pub const DAY_MS: u64 = 86_400_000;

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
    pub fn gap_us(&self) -> Option<u64> {
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

    fn settled(&mut self, settled: Settled) {
        match settled {
            Settled::Fetched(Change::New) => self.new += 1,
            Settled::Fetched(Change::Changed) => self.changed += 1,
            Settled::Fetched(Change::Unchanged) => self.unchanged += 1,
            Settled::Failed(Fault::Gone) => self.gone += 1,
            Settled::Failed(_) | Settled::Moved(_) => {}
        }
    }
}

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
}
