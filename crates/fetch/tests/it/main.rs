//! Tests of the crate through its public surface, as a crawler would use it.
//! Test names begin with the row of the fault matrix they stand for (`r9_`, `u5_`, `h1_`, …).

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should panic")]

mod html;
mod lists;
mod robots;
mod scope_and_traps;
mod soft404;
mod urls;
