//! How the crawl shows itself: to those who watch it run, and in its journal for later.

use std::time::{Duration, Instant};

use turnstone_frontier::Policy;
use turnstone_pagestore::{Entry, PageState};

use crate::notes::CoverageNote;
use crate::progress::Progress;
use crate::run::Crawl;

/// How often the crawl shows itself.
pub(crate) const SHOW_EVERY: Duration = Duration::from_millis(200);
/// Coverage is noted whenever requests grew by this share.
const NOTE_GROWTH: f64 = 1.05;

impl<P: Policy> Crawl<P> {
    /// Shows how far the crawl is, now and then.
    pub(crate) fn show(&mut self, now: bool) {
        let due = self
            .last_shown
            .is_none_or(|last| last.elapsed() >= SHOW_EVERY);
        if !due && !now {
            return;
        }
        self.last_shown = Some(Instant::now());
        let index = self.store.index();
        let tally = index.tally();
        let ranking = self.scheduler.ranking();
        self.shown.send_replace(Progress {
            tick: self.now,
            running: self.started.elapsed(),
            pages: index.stored_count(),
            known: index.page_count() as u64,
            requests: tally.requests,
            bytes: tally.body_bytes,
            in_flight: ranking.in_flight_count() as u64,
            queued: ranking.queued_count() as u64,
            hosts: index.host_count() as u64,
            statuses: tally.statuses,
            failed: index.count(PageState::Gone) + index.count(PageState::Refused),
            coverage: self.scheduler.coverage(),
            durable_fetches: self.durable_fetches,
            slice: self.slice_note(),
            past_slices: self.past_slices.iter().copied().collect(),
            paused: self.paused.clone(),
            warning: self.warning.clone(),
            trouble: self.trouble.clone(),
            ending: self.stop.is_some(),
        });
        if tally.requests as f64 > self.noted_requests as f64 * NOTE_GROWTH {
            self.note_coverage();
        }
    }

    /// Notes what is proven after how many requests, for the report.
    pub(crate) fn note_coverage(&mut self) {
        let Some(coverage) = self.scheduler.coverage() else {
            return;
        };
        let requests = self.store.index().tally().requests;
        self.noted_requests = requests;
        let note = CoverageNote {
            requests,
            guaranteed: coverage.guaranteed,
            stuck: coverage.stuck,
        };
        self.note(CoverageNote::KIND, &note.to_bytes());
    }

    /// Writes something down for those who look at the crawl later.
    pub(crate) fn note(&mut self, kind: &str, bytes: &[u8]) {
        self.store.append(self.now, &Entry::Note { kind, bytes });
    }
}
