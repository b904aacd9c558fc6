//! How the crawl shows itself: to those who watch it run, and in its journal for later.

use std::time::{Duration, Instant};

use turnstone_frontier::Policy;
use turnstone_ledger::CoverageNote;
use turnstone_pagestore::PageState;

use crate::asker::Asker;
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
        let mut progress = self.asker.progress();
        progress.running = self.started.elapsed();
        progress.durable_fetches = self.durable_fetches;
        progress.paused.clone_from(&self.paused);
        progress.warning.clone_from(&self.warning);
        self.shown.send_replace(progress);
        let requests = self.asker.ledger().index().tally().requests;
        if requests as f64 > self.asker.noted_requests as f64 * NOTE_GROWTH {
            self.asker.note_coverage();
        }
    }
}

impl<P: Policy> Asker<P> {
    /// How far the crawl is.
    pub fn progress(&self) -> Progress {
        let index = self.ledger.index();
        let (tally, ranking) = (index.tally(), self.ledger.scheduler().ranking());
        let open = ranking.in_flight_count() as u64;
        Progress {
            tick: self.now,
            pages: index.had_count(),
            known: index.known_count(),
            requests: tally.requests,
            bytes: tally.body_bytes,
            in_flight: open,
            queued: ranking.queued_count() as u64,
            hosts: index.hosts_met().count() as u64,
            statuses: tally.statuses,
            failed: index.count(PageState::Gone) + index.count(PageState::Refused),
            coverage: self.coverage(),
            slice: self.slice_note(),
            past_slices: self.past_slices.iter().copied().collect(),
            trouble: self.trouble.clone(),
            waited: if open == 0 { self.waited() } else { Vec::new() },
            ending: self.stop.is_some(),
            since_start: self.since_start(),
            ..Progress::default()
        }
    }

    /// Notes what is proven after how many requests, for the report.
    pub(crate) fn note_coverage(&mut self) {
        // Of several shards each tells of all.
        let Some(coverage) = self.coverage() else {
            return;
        };
        let requests = self.ledger.index().tally().requests;
        self.noted_requests = requests;
        let note = CoverageNote {
            requests: self.requests_of_all(),
            guaranteed: coverage.guaranteed,
            stuck: coverage.stuck,
        };
        self.note(CoverageNote::KIND, &note.to_bytes());
    }
}
