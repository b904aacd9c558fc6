//! Any sitemap: read within its limits, only hosts that may be there.
#![no_main]

use libfuzzer_sys::fuzz_target;
use turnstone_fetch::sitemap::{SitemapInput, SitemapLimits, read_sitemap};

fuzz_target!(|data: &[u8]| {
    let url = url::Url::parse("https://h.example/sitemap.xml").expect("a plain URL");
    let limits = SitemapLimits { entries_max: 20, bytes_max: 1 << 16, ..SitemapLimits::default() };
    let map = read_sitemap(SitemapInput { url: &url, content_type: None, body: data, vouching_hosts: &[] }, &limits);
    assert!(map.entries.len() <= limits.entries_max);
    assert!(map.entries.iter().all(|e| e.url.host_str().is_some_and(|h| h.trim_end_matches('.') == "h.example")));
});
