//! Backtests: policies tried on a recorded web, measured against what it knows.
//!
//! One module a question: how a policy is run through it, what is measured, and, in `report.rs`, what the
//! question is asked with and the document that it answers with. See [`run`](crate::run()) for the one way
//! in.

pub mod changes;
pub mod coverage;
pub mod discovery;
pub mod importance;
pub mod keep;
pub mod liveness;
mod log_spaced;
pub mod trap;

pub use log_spaced::LogSpaced;

use turnstone_frontier::Politeness;

/// Told how far a long run has come: what is being done, and which share of it is.
pub type Watch<'a> = &'a mut dyn FnMut(&str, f64);

/// How gently hosts are asked: so far apart, one request at a time; or not gently at all, to count
/// requests alone.
fn politeness(delay_ms: Option<u64>) -> Politeness {
    delay_ms.map_or(Politeness::OFF, |delay_ms| Politeness {
        delay_ms,
        open_max: 1,
    })
}

/// How many pages are unknown.
fn count_unknown(unknown: &[bool]) -> usize {
    unknown.iter().filter(|unknown| **unknown).count()
}
