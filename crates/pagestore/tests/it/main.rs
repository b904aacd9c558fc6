//! What a crawl directory promises.
#![allow(clippy::unwrap_used)]

#[path = "../support/archive_tools.rs"]
mod archive_tools;
mod crawls;
mod faulty;
mod journal;
mod store;
mod warc_clients;
mod warc_index;
mod warc_reading;
mod warc_samples;
mod warc_writing;
