//! Backtests: policies tried on a recorded web, measured against what it knows.
//!
//! One file a question; each gives plain results that the command line prints, draws and writes as
//! JSON.

pub mod certificate;
pub mod changes;
pub mod coverage;
pub mod importance;
pub mod keep;
pub mod liveness;
mod log_spaced;
pub mod trap;

pub use log_spaced::LogSpaced;

/// Told how far a long run has come: what is being done, and which share of it is.
pub type Watch<'a> = &'a mut dyn FnMut(&str, f64);
