//! Synthetic webs of any size, from a seed.
//!
//! [`GeneratedWeb`] looks like a crawl: hosts of very different size, directories, URLs, a few very
//! popular pages, most links staying near. [`power_law`] is the plain graph of the OPIC experiments.
//! Both give the same web for the same parameters on every machine: random numbers come from a named
//! generator (xoshiro256++), and powers from `libm`, not from the system's mathematics.

mod dice;
mod layout;
mod parameters;
mod popularity;
mod power_law;
mod web;

pub use parameters::{ParameterError, WebParameters};
pub use power_law::power_law;
pub use web::GeneratedWeb;
