//! The lab: recorded webs, replay under a virtual clock, measures and pictures.
//!
//! The truth about a recorded web lives here, where no policy can look it up. The lab drives the
//! same scheduler as the live crawl and answers from the record.

pub mod advise;
pub mod backtest;
pub mod cluster;
pub mod crawled;
pub mod driver;

pub mod freshness;
pub mod generate;
pub mod history;
pub mod info;
pub mod league;
pub mod number;
pub mod replay;
mod requests;
mod run;
pub mod serve;
pub mod web;

pub use run::{Backtest, RunError, Trial, run};
