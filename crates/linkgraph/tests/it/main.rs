//! Tests of the whole crate through its public face: files in, graphs and ranks out.

// `check(input, expect![…])` reads better than a borrowed expectation.
#![allow(clippy::needless_pass_by_value)]

#[cfg(test)]
mod bv;
#[cfg(test)]
mod edges;
#[cfg(test)]
mod generate;
#[cfg(test)]
mod graph;
#[cfg(test)]
mod pagerank;
#[cfg(test)]
mod random;
#[cfg(test)]
mod urls;
