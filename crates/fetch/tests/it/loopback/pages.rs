//! Rows H1 to H8, and U3 to U6: pages as a server sends them, and the addresses in them, read.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use turnstone_fetch::Request;
use turnstone_fetch::html::{Link, Page, PageInput, PageLimits, read_page};
use turnstone_fetch::media::{Media, media_of};
use turnstone_fetch::urls::{KeyOptions, canonical_key};

use super::site::{AGENT, Reply, Site, ok, reply, wide_client};

/// Fetches the one page of a site and reads it.
async fn read(answer: impl Fn() -> Reply + Send + Sync + 'static) -> Page {
    let site = Site::start(move |_| answer()).await;
    let client = wide_client();
    let url = site.url("/dir/page");
    let response = client.fetch(Request::get(url.clone())).await.unwrap();
    let decoded = response.decoded(client.limits());
    let input = PageInput {
        url: &url,
        content_type: response
            .headers
            .get("content-type")
            .and_then(|value| value.to_str().ok()),
        body: &decoded.body,
        agent: AGENT,
    };
    read_page(input, &PageLimits::default())
}

fn links(page: &Page) -> Vec<&str> {
    page.links.iter().map(|link| link.url.path()).collect()
}

#[tokio::test]
async fn h1_a_tag_without_end() {
    let started = Instant::now();
    let page = read(|| ok("<a href=".repeat((100 << 20) / 8))).await;
    assert_eq!((page.links.len(), page.cuts.tags), (0, 0));
    // Optimised it takes well under two seconds; the room is for busy test machines.
    assert!(started.elapsed() < Duration::from_secs(20));
}

#[tokio::test]
async fn h2_a_million_nested_elements() {
    let page = read(|| ok("<div>".repeat(1_000_000) + "<a href=/deep>")).await;
    assert_eq!(links(&page), ["/deep"]);
}

#[tokio::test]
async fn h3_half_a_million_links() {
    let repeated = read(|| ok("<a href=/x>".repeat(500_000))).await;
    assert_eq!((repeated.links.len(), repeated.cuts.links), (1, 0));
    let link = |number| format!("<a href=/{number}>");
    let distinct = read(move || ok((0..500_000).map(link).collect::<String>())).await;
    assert_eq!((distinct.links.len(), distinct.cuts.links), (500_000, 0));
}

#[tokio::test]
async fn h4_bases() {
    let page = read(|| ok("<a href=x></a><base href=/late/><base href=/second/>")).await;
    assert_eq!(links(&page), ["/late/x"]);
    let page = read(|| ok("<base href=data:text/html,x><a href=x></a>")).await;
    assert_eq!(links(&page), ["/dir/x"]);
}

#[tokio::test]
async fn h5_encodings_that_disagree() {
    let meta = "<meta charset=iso-8859-2><title>";
    for (mark, header, want) in [
        (&b"\xef\xbb\xbf"[..], "; charset=windows-1251", "UTF-8"),
        (b"", "; charset=windows-1251", "windows-1251"),
        (b"", "", "ISO-8859-2"),
    ] {
        let body = [mark, meta.as_bytes(), b"\xc3\xa9"].concat();
        let line = format!("Content-Type: text/html{header}");
        let page = read(move || reply(200, &[&line], &body)).await;
        assert_eq!(page.encoding, want);
        let title = match want {
            "UTF-8" => "é",
            "windows-1251" => "Г©",
            _ => "ĂŠ",
        };
        assert_eq!(page.title.as_deref(), Some(title));
    }
}

#[tokio::test]
async fn h7_pictures_and_documents_called_html() {
    let noise: Vec<u8> = (0..200_000_u32)
        .map(|n| n.wrapping_mul(2_654_435_761).to_le_bytes()[3])
        .collect();
    for (start, media) in [
        (&b"%PDF-1.7\n<a href=/x>"[..], Media::Pdf),
        (b"\xff\xd8\xff\xe0\0\x10JFIF\0<a href=/x>", Media::Image),
    ] {
        let body = [start, &noise].concat();
        assert_eq!(media_of(Some("text/html"), &body), media);
        let page = read(move || reply(200, &["Content-Type: text/html"], &body)).await;
        assert!(page.binary && page.links.is_empty(), "{media:?}");
    }
}

#[tokio::test]
async fn h8_a_billion_laughs() {
    let mut dtd = String::from("<!ENTITY l0 \"<a href='/ha'>ha</a>\">");
    for level in 1..10 {
        let before = format!("&l{};", level - 1).repeat(10);
        dtd += &format!("<!ENTITY l{level} \"{before}\">");
    }
    let body = format!(
        "<?xml version=\"1.0\"?><!DOCTYPE html [{dtd}]><html><body>&l9;<a href=\"/own\"/></body></html>"
    );
    let line = "Content-Type: application/xhtml+xml";
    let page = read(move || reply(200, &[line], &body)).await;
    assert!(page.text.len() < 2000, "{}", page.text.len());
    assert!(links(&page).ends_with(&["/own"]) && page.links.len() < 4);
}

#[tokio::test]
async fn u3_u4_u5_u6_addresses_in_a_page() {
    let long = format!("/{}", "x".repeat(100 << 10));
    let params = format!("/?{}", "a=1&".repeat(2000));
    let label = format!("http://{}.example/", "x".repeat(300));
    let too_long = [long.as_str(), &params];
    let refused = [
        label.as_str(),
        "http://xn--/",
        "http://a..example/",
        "javascript:1",
    ];
    let spellings = [
        "http://H.example/~a/b",
        "HTTP://h.example:80/~a/b",
        "http://h.example./~a/b",
        "http://h.example/%7Ea/b",
        "http://h.example/%7ea/b#part",
        "http://h.example/x/../~a/b",
        "http://h.example/./~a/b",
        "http:\\\\h.example\\~a\\b",
        "http://%68.example/~a/b",
        "http://h.example/~a/%62",
        "http://user:secret@h.example/~a/b",
        " http://h.example/~a/b\t",
    ];
    let all = too_long.iter().chain(&refused).chain(&spellings);
    let body: String = all
        .map(|href| format!("<a href=\"{href}\">x</a>"))
        .collect();
    let page = read(move || ok(&body)).await;
    assert_eq!(page.cuts.urls_too_long, too_long.len() as u64);
    assert_eq!(page.cuts.links_refused, refused.len() as u64);
    assert_eq!(
        links(&page),
        ["/~a/b", "/~a/b", "/%7Ea/b", "/%7ea/b", "/~a/%62"]
    );
    let key = |link: &Link| canonical_key(&link.url, &KeyOptions::default());
    let keys: BTreeSet<String> = page.links.iter().map(key).collect();
    assert_eq!(keys, BTreeSet::from(["http://h.example/~a/b".to_owned()]));
    assert!(!format!("{page:?}").contains("secret"));
}
