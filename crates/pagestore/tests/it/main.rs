//! What a crawl directory promises.
#![allow(clippy::unwrap_used)]

mod crawls;
mod faulty;
mod journal;
mod store;
