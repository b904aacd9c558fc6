//! The server as browsers, scrapers and programs meet it, before a crawl that the test itself writes.
#![allow(clippy::unwrap_used)]

#[path = "../../../pagestore/tests/support/archive_tools.rs"]
mod archive_tools;
mod browser;
mod chromium;
mod followed;
mod programs;
mod requests;
mod stand;
