//! What the lab measures against slow, obvious references on random small webs, and made-up webs
//! read back.
#![allow(clippy::unwrap_used)]

mod crawled;
mod discovery_folds;
mod discovery_guesses;
mod discovery_policies;
mod discovery_truth;
mod freshness;
mod generated_histories;
mod keep;
mod liveness_costs;
mod number;
mod old_webs;
mod partial_records;
mod run;
mod serve_client;
mod serve_faults;
mod serve_pages;
mod serve_polite;
mod serve_time;
mod sites;
mod write_a_policy;
