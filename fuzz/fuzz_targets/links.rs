//! Any page: read within its limits, the same whatever lies behind the body.
#![no_main]

use libfuzzer_sys::fuzz_target;
use turnstone_fetch::html::{LINK_BYTES, PageInput, PageLimits, read_page};

fuzz_target!(|data: &[u8]| {
    let url = url::Url::parse("https://site.example/dir/page.html?x=1").expect("a plain URL");
    let limits = PageLimits { links_bytes_max: 50 * LINK_BYTES, text_bytes_max: 500, title_bytes_max: 50, tag_attributes_max: 8, tag_bytes_max: 300, ..PageLimits::default() };
    for content_type in [None, Some("text/html; charset=iso-2022-jp"), Some("text/html; charset=utf-8")] {
        let page = read_page(PageInput { url: &url, content_type, body: data, agent: "turnstone" }, &limits);
        assert!(page.links.len() < 50);
        assert!(page.text.len() <= limits.text_bytes_max);
        assert!(page.title.as_ref().is_none_or(|t| t.len() <= limits.title_bytes_max));
        assert!(page.links.iter().all(|l| matches!(l.url.scheme(), "http" | "https") && l.url.fragment().is_none()));
    }
});
