//! The asker and its ledger, driven by hand.
#![allow(clippy::unwrap_used, clippy::print_stdout, clippy::print_stderr)]

mod sim;
