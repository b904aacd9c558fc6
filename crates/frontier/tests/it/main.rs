//! What the seam promises, tried on random crawls.
#![allow(clippy::unwrap_used)]

mod model;
mod random_crawls;
mod ranking;
mod restore;
mod visits;
