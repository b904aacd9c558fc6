//! Discovery in recorded sites: what arrived when, who led to it, and how policies find it.
//!
//! [`Steps`] walks through a site's snapshots and works out which old pages lead to which new
//! ones; [`Truth`] says what could be found at all; [`Replay`] takes one policy along, through the
//! same scheduler as a live crawl; [`run_site`] does all of it for one site; [`Folds`] choose
//! parameters on some sites and report them on others. The truth stays here:
//! policies see events only.

mod folds;
mod guessing;
mod ids;
mod overlap;
mod replay;
mod report;
mod run;
mod steps;
mod summary;
mod tally;
mod truth;
mod web;

pub use folds::{Choice, Folds};
pub use replay::{Replay, Round, Then};
pub use report::{FIGURE_PERIODS, Options, Report, SiteReport};
pub use run::{Plan, SiteOutcome, run_site};
pub use steps::{Step, Steps};
pub use summary::{Doubt, Limit, Row, Summary};
pub use tally::{Tally, judge};
pub use truth::{Case, LIMIT_PERIODS, OVERLAP_BINS, Truth, is_judged, is_recrawl};
pub use web::{DiscoveryWeb, OWN_HOST};
