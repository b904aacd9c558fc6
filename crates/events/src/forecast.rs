//! What watching will cost and bring, from what the journal tells of the past.
//!
//! For each stored page: how often it was fetched again, how often it had changed then, and how far apart
//! the fetches were. Its rate of change is the estimator of Cho and Garcia-Molina (2003),
//! λ = −ln((n − x + ½) / (n + ½)) / gap, with n looks of which x saw a change: it counts in the changes
//! between two looks that nobody saw, and is finite when every look saw one. A page that was fetched
//! once is taken for the average of the others.
//!
//! The forecast is for an even turn: every stored page is asked for after the same time. `keep` does not go by
//! turns, so this is what anybody gets, not what a policy promises.
//!
//! Cost: one scan of the journal, 24 bytes a page.

use turnstone_frontier::{Change, Tick};
use turnstone_pagestore::{Entry, Fold, Settled, Store, StoreError, Written};

const DAY_MS: f64 = 86_400_000.0;

#[derive(Clone, Copy, Default)]
struct Looks {
    /// Milliseconds of 1970; 0 if it was never fetched.
    first_ms: u64,
    last_ms: u64,
    again: u32,
    changed: u32,
}

/// How stored pages changed, as far as anybody looked. A fold of the journal.
#[derive(Default)]
pub struct ChangeHistory {
    pages: Vec<Looks>,
    /// The wall clock and the tick when the last process took over.
    session: (u64, Tick),
}

/// What so many requests a day will bring, if every stored page is asked for in turn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Forecast {
    /// Pages stored.
    pub pages: u64,
    /// Those fetched more than once, from which everything else is known.
    pub looked_twice: u64,
    /// Requests a day.
    pub requests_per_day: f64,
    /// How many days it takes to ask for each stored page once.
    pub turn_days: f64,
    /// Changes that happen in a day; nothing if no page was fetched twice.
    pub changes_per_day: Option<f64>,
    /// Changes that are seen in a day: several between two looks are seen as one.
    pub seen_per_day: Option<f64>,
    /// How long after it happened a change is seen, on the average.
    pub delay_days: f64,
}

impl ChangeHistory {
    /// Reads the journal.
    pub fn of(store: &Store) -> Result<Self, StoreError> {
        let mut history = Self::default();
        store.fold(&mut history)?;
        Ok(history)
    }

    /// What so many requests a day will bring.
    pub fn forecast(&self, requests_per_day: f64) -> Forecast {
        let stored = self.pages.iter().filter(|looks| looks.first_ms > 0);
        let pages = stored.clone().count() as u64;
        let rates: Vec<f64> = stored.filter_map(Looks::per_day).collect();
        let turn_days = pages as f64 / requests_per_day;
        // Those of whom nothing is known are taken for the average.
        let scale = pages as f64 / rates.len().max(1) as f64;
        let known = |sum: f64| (!rates.is_empty()).then_some(sum * scale);
        let seen = |rate: &f64| (1.0 - (-rate * turn_days).exp()) / turn_days;
        Forecast {
            pages,
            looked_twice: rates.len() as u64,
            requests_per_day,
            turn_days,
            changes_per_day: known(rates.iter().sum()),
            seen_per_day: known(rates.iter().map(seen).sum()),
            delay_days: turn_days / 2.0,
        }
    }
}

impl<E> Fold<E> for ChangeHistory {
    fn see(&mut self, Written { tick, .. }: Written, entry: &Entry<'_>) -> Result<(), E> {
        match entry {
            Entry::Session { wall_ms, .. } => self.session = (*wall_ms, tick),
            Entry::Page { .. } => self.pages.push(Looks::default()),
            Entry::Outcome(outcome) if !outcome.facts.hearsay => {
                if let Settled::Fetched(change) = outcome.settled {
                    let (began_ms, began) = self.session;
                    let now_ms = match outcome.facts.wall_ms {
                        0 => began_ms + tick.0.saturating_sub(began.0),
                        wall_ms => wall_ms,
                    };
                    self.pages[outcome.page.index()].add(now_ms, change);
                }
            }
            _ => {}
        }
        Ok(())
    }
}

impl Looks {
    fn add(&mut self, now_ms: u64, change: Change) {
        if self.first_ms == 0 {
            self.first_ms = now_ms.max(1);
        } else {
            self.again += 1;
            self.changed += u32::from(change == Change::Changed);
        }
        self.last_ms = now_ms.max(self.last_ms);
    }

    /// Changes a day; nothing if nobody looked twice.
    fn per_day(&self) -> Option<f64> {
        let span_days = self.last_ms.saturating_sub(self.first_ms) as f64 / DAY_MS;
        if self.again == 0 || span_days <= 0.0 {
            return None;
        }
        let (again, changed) = (f64::from(self.again), f64::from(self.changed));
        let gap_days = span_days / again;
        Some(-((again - changed + 0.5) / (again + 0.5)).ln() / gap_days)
    }
}
