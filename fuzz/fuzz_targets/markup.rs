//! Any page: read as html5ever's tokenizer alone reads it.
#![no_main]

use libfuzzer_sys::fuzz_target;
use turnstone_fetch::html::{PageInput, PageLimits, read_page, read_page_by_tokenizer};

fuzz_target!(|data: &[u8]| {
    let url = url::Url::parse("https://site.example/dir/page.html?x=1").expect("a plain URL");
    let input = PageInput { url: &url, content_type: Some("text/html; charset=utf-8"), body: data, agent: "turnstone" };
    let limits = PageLimits { tag_bytes_max: usize::MAX, tag_attributes_max: usize::MAX, ..PageLimits::default() };
    assert_eq!(read_page(input, &limits), read_page_by_tokenizer(input, &limits));
});
