//! A year of keeping: how current and how complete does a policy hold recorded sites with a small
//! part of the requests that fetching everything every week would need?
//!
//! See [`MovingWeb`] for what is recorded, [`run`] for the rules and [`Outcome`] for the measures.

mod outcome;
mod report;
mod web;
mod year;

pub use outcome::{Day, Found, Outcome, SiteTotal, Total, try_policy};
pub use report::{Options, Report};
pub use web::{Compare, MovingSite, MovingWeb};
pub use year::{Announced, Ran, Rules, run};
