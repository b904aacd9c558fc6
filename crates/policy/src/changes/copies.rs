//! What is known of our copies: when each was fetched, and whether it says "not there".
//!
//! Turns answers into verdicts. A page that vanished counts as changed once; as long as it stays
//! away our copy is current, and its return is a change again. A request without a verdict (time
//! out, refusal) says nothing about the page.
//!
//! Cost: 9 bytes a page.

use turnstone_frontier::{Change, Event, Fault, PageId, Tick};

/// Milliseconds of a day, the unit of time of change rates.
pub(super) const DAY_MS: f64 = 86_400_000.0;

/// What an answer said about a page.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Said {
    pub(super) page: PageId,
    /// Whether our copy was out of date; unknown when no answer came.
    pub(super) changed: Option<bool>,
    /// The age of our copy when the answer came.
    pub(super) age_days: f64,
}

/// By page: when our copy was made, and whether it is the copy of an absent page.
#[derive(Debug, Default)]
pub(super) struct Copies {
    fetched: Vec<Tick>,
    absent: Vec<bool>,
}

impl Copies {
    /// A page is in the store from now on, with a copy of now.
    pub(super) fn know(&mut self, now: Tick) {
        self.fetched.push(now);
        self.absent.push(false);
    }

    /// How old our copy is.
    pub(super) fn age_days(&self, page: PageId, now: Tick) -> f64 {
        self.age_ms(page, now) as f64 / DAY_MS
    }

    /// The same in milliseconds.
    pub(super) fn age_ms(&self, page: PageId, now: Tick) -> u64 {
        now.0.saturating_sub(self.fetched[page.index()].0)
    }

    /// When our copy was made.
    pub(super) fn fetched(&self, page: PageId) -> Tick {
        self.fetched[page.index()]
    }

    /// What an event says about our copy, if it answers a request. The copy is then of now.
    pub(super) fn answer(&mut self, event: &Event<'_>, now: Tick) -> Option<Said> {
        let (page, changed) = match *event {
            Event::Fetched { page, change, .. } => {
                let was_absent = std::mem::replace(&mut self.absent[page.index()], false);
                (page, Some(was_absent || change != Change::Unchanged))
            }
            // A page that stands for another is no longer there itself.
            Event::Moved { page, .. }
            | Event::Failed {
                page,
                fault: Fault::Gone,
            } => {
                let was_absent = std::mem::replace(&mut self.absent[page.index()], true);
                (page, Some(!was_absent))
            }
            Event::Failed {
                page,
                fault: Fault::Unknown | Fault::Refused | Fault::Lost,
            } => (page, None),
            Event::Discovered { .. }
            | Event::Held { .. }
            | Event::Unseen { .. }
            | Event::Hinted { .. }
            | Event::Crossed(_)
            | Event::Guessed { .. }
            | Event::Round { .. } => return None,
        };
        let age_days = self.age_days(page, now);
        if changed.is_some() {
            self.fetched[page.index()] = now;
        }
        Some(Said {
            page,
            changed,
            age_days,
        })
    }
}

turnstone_frontier::saved!(Copies: fetched, absent;
    |copies| copies.fetched.len() != copies.absent.len() => "copies that were counted wrongly");
