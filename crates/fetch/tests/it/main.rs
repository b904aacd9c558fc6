//! Tests of the crate through its public surface, as a crawler would use it.
//! Test names begin with the row of the fault matrix they stand for (`r9_`, `u5_`, `h1_`, …).

mod robots;
mod urls;
