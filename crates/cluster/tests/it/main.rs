//! Whole clusters in virtual time, by seed.
#![allow(clippy::unwrap_used)]

mod formats;
mod named;
mod random;
mod sim;
mod tokens;
