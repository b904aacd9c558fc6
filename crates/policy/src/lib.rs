//! Which page next: the five lines of research, and keeping a store, as pure state machines on the seam.
//!
//! Each policy folds events and writes ranks; it never learns where links come from, what time it
//! is, or what the truth about a recorded web is. A policy is named by a [`Spec`] such as
//! `windowed-rankmass:window=0.1`; the [`catalog`] lists them all with their parameters.

pub mod breadth_first;
pub mod catalog;
pub mod changes;
pub mod coverage;
pub mod discovery;
pub mod explore;
mod guest;
pub mod importance;
pub mod keep;
pub mod liveness;
pub mod mass;
pub mod spec;

pub use catalog::{PolicyInfo, Question};
pub use guest::Make;
pub use spec::{Spec, SpecError};
