//! Any answer to a request: its head within the limits, as it was on the wire, and every reader
//! of header lines content with it. What follows an answer is never taken for another.
#![no_main]

use std::time::{Duration, UNIX_EPOCH};

use libfuzzer_sys::fuzz_target;
use turnstone_fetch::media::media_of;
use turnstone_fetch::robots::{cache_control_lifetime_s, tags::PageWishes};
use turnstone_fetch::{
    Method, Protocol, RETRY_AFTER_MAX, Redirect, Response, Url, Validators, allowed, retry_after,
};
use turnstone_fuzz::{Script, limits, talk};

fuzz_target!(|data: &[u8]| {
    let Some((script, bytes)) = Script::split(data) else { return };
    let talk = talk(&script, bytes);
    assert!(talk.second.is_err(), "an answer that nobody gave: {:?}", talk.second);
    let Ok(response) = talk.first else { return };
    judge_head(&response, bytes);
    judge_body(&response, script.method);
    read_lines(&response);
});

fn judge_head(response: &Response, bytes: &[u8]) {
    let head = &response.head_bytes;
    assert!((200..=999).contains(&response.status));
    assert_eq!(response.requests_sent, 1);
    assert!(response.headers.len() <= limits().header_count_max);
    assert!(head.ends_with(b"\r\n\r\n"));
    if response.protocol != Protocol::Http2 {
        assert!(head.len() <= limits().header_bytes_max);
        assert!(bytes.windows(head.len()).any(|part| part == head.as_slice()), "not as it was on the wire");
        assert!(head.split(|&byte| byte == b'\n').all(|line| line.is_empty() || line.ends_with(b"\r")));
    }
}

fn judge_body(response: &Response, method: Method) {
    assert!(response.body.len() <= limits().body_bytes_max);
    let bodiless = method == Method::Head || matches!(response.status, 204 | 304);
    assert!(!bodiless || response.body.is_empty());
    let declared = response.headers.get("content-length").and_then(|length| length.to_str().ok());
    if let Some(length) = declared.and_then(|length| length.parse::<usize>().ok())
        && response.truncation.is_none()
        && !response.headers.contains_key("transfer-encoding")
        && !bodiless
    {
        assert_eq!(response.body.len(), length, "not marked as cut");
    }
    let decoded = response.decoded(&limits());
    assert!(decoded.body.len() <= allowed(response.body.len(), &limits()).max(response.body.len()));
}

fn read_lines(response: &Response) {
    let asked = Url::parse("http://h.example/a/b?c#d").expect("a plain URL");
    let headers = &response.headers;
    if let Redirect::To { url, .. } = Redirect::of(response.status, headers, &asked) {
        assert!(matches!(url.scheme(), "http" | "https"), "{url}");
    }
    if let Some(wait) = retry_after(headers, UNIX_EPOCH, Duration::from_secs(1)) {
        assert!((Duration::from_secs(1)..=RETRY_AFTER_MAX).contains(&wait));
    }
    if let Some(known) = Validators::of(headers) {
        assert_eq!(Validators::from_stored(known.etag(), known.last_modified()), Some(known.clone()));
    }
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let _ = media_of(text("content-type"), &response.body);
    if let Some(value) = text("cache-control") {
        let _ = cache_control_lifetime_s(value);
    }
    let mut wishes = PageWishes::default();
    for value in headers.get_all("x-robots-tag") {
        wishes.add_header(&String::from_utf8_lossy(value.as_bytes()), "turnstone");
    }
}
