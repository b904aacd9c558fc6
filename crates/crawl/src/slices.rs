//! One slice of time after another: the owner's part of a crawl that runs for ever.
//!
//! A slice ends when its time has passed and nothing is in flight any more; then what came of it is
//! noted, and the next one begins with a round in the journal, of which the policy hears. Between
//! the end of a budget and the end of its slice the crawl waits.
//!
//! The last note of kind [`SliceNote::KIND`] tells how the budget is divided now and why: written
//! when a slice begins and when a process ends, so that it can be read at any time, also of a crawl
//! that was killed.

use turnstone_frontier::{Event, HostId, Policy, Tick};
use turnstone_pagestore::Entry;

use crate::budget::{Allowance, Stop};
use crate::notes::SliceNote;
use crate::run::{Crawl, CrawlError};

/// Slices that are kept for those who watch.
const PAST_SLICES_MAX: usize = 32;

impl<P: Policy> Crawl<P> {
    /// Ends the slice if it is over, and begins the next.
    pub(crate) fn turn_slice(&mut self) -> Result<(), CrawlError> {
        let Some(slices) = &self.slices else {
            return Ok(());
        };
        if self.stop.is_some() {
            return Ok(());
        }
        if slices.running {
            if !slices.is_over(self.now) {
                return Ok(());
            }
            // They might wait for a budget that is spent.
            self.drop_errands()?;
            if self.scheduler.ranking().in_flight_count() > 0 {
                return Ok(());
            }
            self.end_slice();
        }
        if self.slices.as_ref().is_some_and(|slices| slices.enough()) {
            self.stop = Some(Stop::Rounds);
            return Ok(());
        }
        self.begin_slice();
        Ok(())
    }

    fn end_slice(&mut self) {
        if let Some(note) = self.slice_note() {
            self.note(SliceNote::PAST, &note.to_bytes());
            if self.past_slices.len() == PAST_SLICES_MAX {
                self.past_slices.pop_front();
            }
            self.past_slices.push_back(note);
        }
        if let Some(slices) = &mut self.slices {
            slices.running = false;
            slices.ended += u64::from(slices.counts);
        }
    }

    fn begin_slice(&mut self) {
        let (Some(slices), Some(round)) = (&mut self.slices, &self.plan.round) else {
            return;
        };
        let number = self.store.index().rounds(&round.question);
        slices.begin(number, self.now);
        let budget = slices.now.budget;
        self.announce_round(budget);
        self.note_slice();
    }

    /// Writes down that a round begins, and tells the policy.
    pub(crate) fn announce_round(&mut self, budget: u64) {
        let Some(asked) = self.plan.round.clone() else {
            return;
        };
        let (question, round) = (
            asked.question.as_str(),
            self.store.index().rounds(&asked.question),
        );
        let entry = Entry::Round {
            question,
            round,
            budget,
        };
        self.entries += 1;
        self.store.append(self.now, &entry);
        let event = Event::Round { round, budget };
        self.scheduler.observe(&event, self.now, &self.store);
    }

    /// How the slice stands and how its budget is divided.
    pub(crate) fn slice_note(&self) -> Option<SliceNote> {
        let slices = self.slices.as_ref()?;
        Some(SliceNote {
            slice: slices.now,
            began_s: self.clock.seconds(slices.now.began),
            split: self.scheduler.split(),
        })
    }

    /// Writes the same down.
    pub(crate) fn note_slice(&mut self) {
        if let Some(note) = self.slice_note() {
            self.note(SliceNote::KIND, &note.to_bytes());
        }
    }

    /// What the slice leaves of what the budgets of the whole crawl allow.
    pub(crate) fn allows(&self, allowed: Allowance) -> Allowance {
        match &self.slices {
            Some(slices) => allowed.and(slices.allows(self.now)),
            None => allowed,
        }
    }

    /// Whether a host may be asked once more today; else when to look again.
    pub(crate) fn host_allows(&mut self, host: HostId) -> Result<(), Tick> {
        match &mut self.slices {
            Some(slices) => slices.host_allows(host, self.now),
            None => Ok(()),
        }
    }

    /// A request goes out.
    pub(crate) fn opens(&mut self, host: HostId) {
        self.requests_open += 1;
        if let Some(slices) = &mut self.slices {
            slices.opens(host, self.now);
        }
    }

    /// It came back, having cost so many.
    pub(crate) fn closes(&mut self, host: HostId, requests: u32) {
        self.requests_open -= 1;
        if let Some(slices) = &mut self.slices {
            slices.closes(host, requests);
        }
    }

    /// A tick, or the end of the slice if that is sooner.
    pub(crate) fn before_slice_ends(&self, tick: Tick) -> Tick {
        let end = self.slices.as_ref().map(|slices| slices.end());
        end.map_or(tick, |end| end.min(tick))
    }
}
