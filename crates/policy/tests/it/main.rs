//! Each policy against a slow, obvious reference on random small webs, its exact invariants, and
//! save/restore at any event.
#![allow(clippy::unwrap_used)]

mod changes_invariants;
mod changes_reference;
mod coverage_invariants;
mod coverage_reference;
mod store;
mod web;
