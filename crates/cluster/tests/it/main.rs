//! Whole clusters in virtual time, by seed.

mod named;
mod random;
mod sim;
