//! Made-up sites over time: pages are born, change and go, as on real ones.
//!
//! What the models share with the recorded sites is what policies live on: a few sites and a few
//! directories bring most births, changes and deaths; what happens to a page happens to the
//! pages it links to; new pages are linked from hub pages (the front page, the index of their directory,
//! the feed), which therefore change; now and then a site is redesigned whole, and pages move. What
//! they do not claim: any rate or degree distribution of the real web.
//!
//! A history file lists all pages before all versions before all events, so it cannot be written
//! while the site unfolds. It unfolds four times instead, each time the same: to count its pages, to list
//! them, to write their versions, to write the events. So memory holds the site as it is, never
//! the file, and a history may be of any size.
//!
//! Cost: four times O(snapshots · (directories + pages + links of changed pages)); about 100 bytes
//! and 4 bytes a link for each page that ever was. The same plan gives the same bytes.

mod content;
mod site;
mod write;

pub use write::{GenerateError, write_folder, write_site};

/// What to make up. Rates are shares of the present pages in one snapshot, on average; single
/// sites and directories differ widely.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HistoryPlan {
    /// How many pages a site starts with, on average over sites.
    pub pages: u32,
    /// How many snapshots, at least 1.
    pub snapshots: u32,
    /// New pages.
    pub births: f64,
    /// Pages whose text changes.
    pub changes: f64,
    /// Pages that go.
    pub deaths: f64,
    /// The chance that a snapshot shows a redesigned site.
    pub redesigns: f64,
    /// What everything hangs on.
    pub seed: u64,
}

impl HistoryPlan {
    /// The most pages a site may start with, so that ids last while it grows.
    pub const PAGES_MAX: u32 = 50_000_000;
    /// The most snapshots.
    pub const SNAPSHOTS_MAX: u32 = 10_000;
}

impl Default for HistoryPlan {
    fn default() -> Self {
        Self {
            pages: 500,
            snapshots: 60,
            births: 0.01,
            changes: 0.05,
            deaths: 0.008,
            redesigns: 0.008,
            seed: 1,
        }
    }
}
