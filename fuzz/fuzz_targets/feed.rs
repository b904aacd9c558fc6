//! Any feed: read within its limits.
#![no_main]

use libfuzzer_sys::fuzz_target;
use turnstone_fetch::feed::{FeedInput, FeedLimits, read_feed};

fuzz_target!(|data: &[u8]| {
    let url = url::Url::parse("https://h.example/feed").expect("a plain URL");
    let limits = FeedLimits { entries_max: 20, bytes_max: 1 << 16, ..FeedLimits::default() };
    let feed = read_feed(FeedInput { url: &url, content_type: None, body: data }, &limits);
    assert!(feed.entries.len() <= limits.entries_max);
    assert!(feed.entries.iter().all(|e| matches!(e.url.scheme(), "http" | "https")));
});
