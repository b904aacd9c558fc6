//! What the lab measures against slow, obvious references on random small webs.
#![allow(clippy::unwrap_used)]

mod discovery_policies;
mod discovery_truth;
mod sites;
