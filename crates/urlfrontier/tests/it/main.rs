//! The frontier for other crawlers, as its clients see it.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

mod bad_input;
mod clients;
mod generated;
mod kills;
mod protocol;
mod stand;
