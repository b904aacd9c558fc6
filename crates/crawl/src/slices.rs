//! One slice of time after another: the owner's part of a crawl that runs for ever.
//!
//! A slice ends when its time has passed and nothing is in flight any more; then what came of it is
//! noted, and the next one begins with a round in the journal, of which the policy hears. Between
//! the end of a budget and the end of its slice the crawl waits.
//!
//! The last note of kind [`SliceNote::KIND`] tells how the budget is divided now and why: written
//! when a slice begins and when a process ends, so that it can be read at any time, also of a crawl
//! that was killed.

use turnstone_frontier::{HostId, Policy, Tick};
use turnstone_ledger::{Allowance, SliceNote, Stop};
use turnstone_pagestore::Entry;

use crate::asker::{AskError, Asker};

/// Slices that are kept for those who watch.
const PAST_SLICES_MAX: usize = 32;

impl<P: Policy> Asker<P> {
    /// Ends the slice if it is over, and begins the next.
    pub(crate) fn turn_slice(&mut self) -> Result<(), AskError> {
        let Some(pacing) = &self.pacing else {
            return Ok(());
        };
        if self.stop.is_some() {
            return Ok(());
        }
        if pacing.running {
            if !pacing.is_over(self.ledger.spending().slice(), self.now) {
                return Ok(());
            }
            // They might wait for a budget that is spent.
            self.drop_errands()?;
            if self.open() > 0 {
                return Ok(());
            }
            self.end_slice();
        }
        if self.pacing.as_ref().is_some_and(|pacing| pacing.enough()) {
            self.stop = Some(Stop::Rounds);
            return Ok(());
        }
        self.begin_slice();
        // A last slice without anything to spend is over at once: nothing would wake the crawl to end
        // it, and it would seem that nothing is left to do.
        let slice = self.ledger.spending().slice();
        if self.pacing.as_ref().is_some_and(|it| it.is_last(slice)) {
            self.end_slice();
            self.stop = Some(Stop::Rounds);
        }
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
        if let Some(pacing) = &mut self.pacing {
            pacing.running = false;
            pacing.ended += u64::from(pacing.counts);
        }
    }

    fn begin_slice(&mut self) {
        let (Some(pacing), Some(round)) = (&mut self.pacing, &self.plan.round) else {
            return;
        };
        pacing.begins();
        let number = self.ledger.index().rounds(&round.question);
        let budget = pacing.pace.budget(number);
        self.announce_round(budget);
        self.note_slice();
    }

    /// Writes down that a round begins, and tells the policy.
    pub(crate) fn announce_round(&mut self, budget: u64) {
        let Some(asked) = self.plan.round.clone() else {
            return;
        };
        let entry = Entry::Round {
            question: asked.question.as_str(),
            round: self.ledger.index().rounds(&asked.question),
            budget,
        };
        self.ledger.tell(self.now, &entry);
    }

    /// How the slice stands and how its budget is divided.
    pub(crate) fn slice_note(&self) -> Option<SliceNote> {
        self.pacing.as_ref()?;
        let slice = *self.ledger.spending().slice();
        Some(SliceNote {
            slice,
            began_s: self.epoch.seconds(slice.began),
            split: self.ledger.scheduler().split(),
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
        match &self.pacing {
            Some(pacing) => allowed.and(pacing.allows(self.ledger.spending().slice(), self.now)),
            None => allowed,
        }
    }

    /// Whether a host may be asked once more today; else when to look again.
    pub(crate) fn host_allows(&self, host: HostId) -> Result<(), Tick> {
        match &self.pacing {
            Some(pacing) => {
                let spent = self.ledger.spending().of_host(host, self.now);
                pacing.host_allows(host, spent, self.now)
            }
            None => Ok(()),
        }
    }

    /// A request is to go out.
    pub(crate) fn opens(&mut self, host: HostId) {
        self.requests_open += 1;
        if let Some(pacing) = &mut self.pacing {
            pacing.opens(host);
        }
    }

    /// It came back.
    pub(crate) fn closes(&mut self, host: HostId) {
        self.requests_open -= 1;
        self.leave_place(host);
        if let Some(pacing) = &mut self.pacing {
            pacing.closes(host);
        }
    }

    /// A tick, or the end of the slice if that is sooner.
    pub(crate) fn before_slice_ends(&self, tick: Tick) -> Tick {
        self.slice_end().map_or(tick, |end| end.min(tick))
    }

    /// When the slice under way ends.
    pub(crate) fn slice_end(&self) -> Option<Tick> {
        let pacing = self.pacing.as_ref()?;
        Some(pacing.end(self.ledger.spending().slice()))
    }
}
