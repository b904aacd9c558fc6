//! What is read of pages: those that are written well, and those that are meant to hurt.

use std::time::{Duration, Instant};

use turnstone_fetch::Url;
use turnstone_text::stored::Answer;
use turnstone_text::{Method, PageText, read};

fn page(head: &str, body: &str) -> Option<PageText> {
    let url = Url::parse("https://example.org/a/b").unwrap();
    let head = format!("HTTP/1.1 200 OK\r\n{head}\r\n\r\n");
    read(
        &url,
        &Answer::new(head.as_bytes(), body.as_bytes().to_vec()),
    )
}

const SENTENCE: &str = "The river rose during the night, and the lower road was closed before dawn, \
                        so that nobody could cross the bridge until the water had gone down again.";

#[test]
fn the_content_is_told_from_what_is_around_it() {
    let html = format!(
        "<html lang=en><head><title>The river rose and the lower road was closed | The Gazette</title><link rel=canonical href=/river>\
         <meta name=robots content=noai><meta property=article:published_time content=2024-05-01></head>\
         <body><nav><a href=/>Home</a><a href=/about>About the paper</a></nav><main><h1>The river rose and the lower road was closed</h1>\
         <p>{SENTENCE}</p><p>{SENTENCE}</p></main><aside><p>Subscribe today, and read every article there is, \
         for nothing but a little money.</p></aside><footer>All rights reserved</footer>"
    );
    let found = page("Content-Type: text/html\r\nTDM-Reservation: 1", &html).unwrap();
    assert_eq!(found.method, Method::Main);
    assert_eq!(found.text, format!("{SENTENCE}\n{SENTENCE}"));
    assert_eq!(found.title, "The river rose and the lower road was closed");
    assert_eq!(found.language.unwrap().code, "eng");
    assert_eq!(found.declared_language, "en");
    assert_eq!(found.published_ms, Some(1_714_521_600_000));
    assert_eq!(
        found.canonical.unwrap().as_str(),
        "https://example.org/river"
    );
    assert_eq!(found.preferences.robots, ["noai"]);
    assert_eq!(found.preferences.tdm_reserved, Some(true));
}

#[test]
fn plain_text_is_taken_as_it_is_and_an_image_not_at_all() {
    let found = page("Content-Type: text/plain; charset=utf-8", SENTENCE).unwrap();
    assert_eq!(
        (found.method, found.text.as_str()),
        (Method::Plain, SENTENCE)
    );
    assert!(page("Content-Type: application/pdf", "%PDF-1.4 1 0 obj").is_none());
}

#[test]
fn a_page_without_any_words_is_no_error() {
    for html in [
        "",
        "<html>",
        "<body><img src=a>",
        "\0\0\0",
        "<!doctype html><title>x</title>",
    ] {
        if let Some(found) = page("Content-Type: text/html", html) {
            assert_eq!(found.text.trim(), "", "{html}");
        }
    }
}

/// Each would cost a parser that trusts it minutes, or the stack.
#[test]
fn pages_that_are_meant_to_hurt_cost_little() {
    let end = format!("<p>{SENTENCE}</p>");
    for (name, html) in [
        ("deep", "<div>".repeat(500_000) + &end),
        (
            "deep formatting",
            "<b><i><a href=x><font>".repeat(100_000) + &end,
        ),
        ("deep tables", "<table><tr><td>".repeat(100_000) + &end),
        ("unclosed paragraphs", "<p a=b>".repeat(100_000) + &end),
        ("a wide page", format!("<div>{end}</div>").repeat(20_000)),
        ("many breaks", "<br>".repeat(200_000) + &end),
        (
            "a long comment",
            format!("{end}<!--{}", "<div>".repeat(400_000)),
        ),
        (
            "a head of tags",
            format!("<head>{}{end}", "<div>".repeat(13_000)),
        ),
    ] {
        let started = Instant::now();
        let found = page("Content-Type: text/html", &html).unwrap();
        let took = started.elapsed();
        assert!(took < Duration::from_secs(20), "{name}: {took:?}");
        assert!(found.text.contains("The river rose"), "{name}: no text");
    }
}
