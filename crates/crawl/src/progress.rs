//! What can be seen of a crawl while it runs.

use std::time::Duration;

use turnstone_frontier::{Coverage, Tick};
use turnstone_ledger::SliceNote;

use crate::asker::Done;
use crate::silence::Waited;

/// A crawl at one moment.
#[derive(Clone, Debug, Default)]
pub struct Progress {
    /// The crawl's time.
    pub tick: Tick,
    /// How long this process has been at it.
    pub running: Duration,
    /// Pages in the store.
    pub pages: u64,
    /// Pages known.
    pub known: u64,
    /// Requests sent, robots.txt included.
    pub requests: u64,
    /// Bytes of bodies received.
    pub bytes: u64,
    /// Pages handed out.
    pub in_flight: u64,
    /// Pages that may be asked for.
    pub queued: u64,
    /// Hosts known.
    pub hosts: u64,
    /// Answers by status class; other at 0.
    pub statuses: [u64; 6],
    /// Pages that will not come.
    pub failed: u64,
    /// What the policy proves.
    pub coverage: Option<Coverage>,
    /// Fetches made durable.
    pub durable_fetches: u64,
    /// The slice that runs, where the crawl goes on in slices.
    pub slice: Option<SliceNote>,
    /// The last slices that ended, the last one last.
    pub past_slices: Vec<SliceNote>,
    /// Why the crawl stands still, if it does.
    pub paused: Option<String>,
    /// What went wrong last and is no reason to stop.
    pub warning: Option<String>,
    /// What the last request without an answer met; nothing once an answer came.
    pub trouble: Option<String>,
    /// Hosts that have pages left and may not be asked now, when nothing is under way.
    pub waited: Vec<Waited>,
    /// What was done since this process began.
    pub since_start: Done,
    /// It is about to end.
    pub ending: bool,
}
