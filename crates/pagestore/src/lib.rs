//! What a crawl directory remembers.
//!
//! Invariant: what was acknowledged is on disk. Not here: policies, HTTP.

pub mod warc;
