//! robots.txt: what a site asks of crawlers (RFC 9309).
//!
//! [`Rules::parse`] reads a file for one crawler, [`Rules::check`] says whether a path may be
//! fetched and which line decided, and [`Record`] keeps the file fresh: when to ask for it, what
//! an answer means, and what holds while the site cannot be reached. Page-level wishes
//! (`X-Robots-Tag`, `<meta name=robots>`) are in [`tags`].
//!
//! Cost: parsing is linear in the file, a check linear in our rules and the path.
//! Not here: asking over the network. The caller fetches what [`Record::request`] names and
//! reports to [`Record::observe_fetch`].

mod fetched;
mod line;
mod pattern;
mod record;
mod rules;
mod saved;
pub mod tags;

pub use line::BYTES_MAX;
pub use record::{
    Access, AfterLongSilence, Answer, Next, REDIRECTS_MAX, Record, RefreshOptions, Standing,
    cache_control_lifetime_s,
};
pub use rules::{CrawlDelay, Line, Permission, Rules};
pub use saved::RestoreError;
