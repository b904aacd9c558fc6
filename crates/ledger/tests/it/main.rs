//! What the ledger promises, on small crawls told by hand.
#![allow(clippy::unwrap_used)]

mod loans;
mod plans;
mod shards;
mod spending;
mod teller;
