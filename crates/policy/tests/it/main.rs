//! Each policy against a slow, obvious reference on random small webs, its exact invariants, and
//! save/restore at any event.
#![allow(clippy::unwrap_used)]

mod certificate;
mod certified;
mod chances;
mod changes_invariants;
mod changes_reference;
mod changing_web;
mod coverage_invariants;
mod coverage_reference;
mod coverage_truth;
mod coverage_wide;
mod importance_invariants;
mod importance_reference;
mod keep_behaviour;
mod keep_invariants;
mod keep_reference;
mod keep_web;
mod known_web;
mod liveness_invariants;
mod liveness_reference;
mod local_push;
mod old_web;
mod shards;
mod store;
mod tree_estimate;
mod tree_reference;
mod tree_web;
mod web;
