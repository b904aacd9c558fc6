//! `canon`, `robots`, `links` and `inspect`, the last against a small server on loopback.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpListener;

use crate::run::{done, turnstone};

#[test]
fn canon_shows_key_and_surt() {
    let folder = tempfile::tempdir().unwrap();
    let json = done(
        folder.path(),
        "canon http://EXAMPLE.org:80/a/../b;jsessionid=0123456789ABCDEF0123?x=%7e --json",
    )
    .json();
    assert_eq!(json[0]["site"], "example.org");
    assert_eq!(json[0]["key"], "http://example.org/b?x=~");
    assert_eq!(
        json[0]["surt"].as_str().unwrap().split(')').next(),
        Some("org,example")
    );
    let bad = turnstone(folder.path(), "canon http://");
    assert_eq!(bad.code, 1);
    assert!(bad.out.contains("error"), "{}", bad.out);
    assert!(
        !done(folder.path(), "canon http://user:secret@a.example/")
            .out
            .contains("secret")
    );
}

#[test]
fn robots_names_the_deciding_line() {
    let folder = tempfile::tempdir().unwrap();
    let rules = "User-agent: *\nDisallow: /a\nAllow: /a/b\nCrawl-delay: 2\n";
    fs::write(folder.path().join("robots.txt"), rules).unwrap();
    let ran = done(
        folder.path(),
        "robots robots.txt /a/b http://x.example/a/c /z",
    );
    assert!(
        ran.out.contains("/a/b: allowed by line 3: Allow: /a/b"),
        "{}",
        ran.out
    );
    assert!(
        ran.out
            .contains("http://x.example/a/c: disallowed by line 2"),
        "{}",
        ran.out
    );
    assert!(
        ran.out.contains("/z: allowed: no rule matches"),
        "{}",
        ran.out
    );
    assert!(ran.out.contains("crawl-delay 2 s"), "{}", ran.out);
    assert_eq!(turnstone(folder.path(), "robots none.txt /").code, 1);
}

#[test]
fn links_reads_a_file_against_its_base() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(
        folder.path().join("p.html"),
        "<base href=/d/><a href=x rel=next>x</a>",
    )
    .unwrap();
    let json = done(
        folder.path(),
        "links p.html --base https://e.example/q/ --json",
    )
    .json();
    assert_eq!(json["links"][0]["url"], "https://e.example/d/x");
    assert_eq!(json["links"][0]["rel"], "next");
    let ran = turnstone(folder.path(), "links p.html --json");
    assert_eq!(ran.json()["base_assumed"], true);
    assert!(
        ran.err.contains("p.html: 1 relative links") && ran.err.contains("--base"),
        "{}",
        ran.err
    );
    fs::write(
        folder.path().join("q.html"),
        "<a href=https://e.example/>x</a>",
    )
    .unwrap();
    let ran = turnstone(folder.path(), "links q.html --json");
    assert_eq!(
        (&ran.json()["base_assumed"], ran.err.as_str()),
        (&false.into(), "")
    );
    assert_eq!(
        turnstone(folder.path(), "links p.html --base ftp://x/").code,
        2
    );
}

/// A site on loopback that knows four answers and ends by itself after `requests`.
fn serve(requests: usize) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming().take(requests) {
            let mut stream = stream.unwrap();
            let mut head = [0; 4096];
            let read = stream.read(&mut head).unwrap();
            let head = String::from_utf8_lossy(&head[..read]).into_owned();
            let (status, more, body) = match head.split(' ').nth(1) {
                Some("/robots.txt") => ("200 OK", "", "User-agent: *\nDisallow: /no\n"),
                Some("/old") => ("301 Moved", "Location: /new/page\r\n", ""),
                Some("/new/page") => (
                    "200 OK",
                    "Content-Type: text/html; charset=utf-8\r\n",
                    "<title>A page\u{1b}[31m</title><p>Words that are only here, quite a few of them.<a href=/x>x</a>",
                ),
                _ => ("404 Not Found", "", "nothing"),
            };
            let length = body.len();
            let _ = write!(
                stream,
                "HTTP/1.1 {status}\r\n{more}Content-Length: {length}\r\nConnection: close\r\n\r\n{body}"
            );
        }
    });
    format!("http://{address}")
}

#[test]
fn inspect_shows_every_hop_and_judges_the_page() {
    let folder = tempfile::tempdir().unwrap();
    let site = serve(20);
    let json = done(
        folder.path(),
        &format!("inspect {site}/old --allow-private --json"),
    )
    .json();
    assert_eq!(json["allowed"], true);
    assert_eq!(json["hops"][0]["status"], 301);
    assert_eq!(json["hops"][1]["status"], 200);
    assert_eq!(json["page"]["encoding"], "UTF-8");
    assert_eq!(json["page"]["links"][0]["url"], format!("{site}/x"));
    assert_eq!(json["soft404"]["verdict"], "alive", "{json}");
    let text = done(
        folder.path(),
        &format!("inspect {site}/old --allow-private"),
    )
    .out;
    assert!(
        text.contains("A page") && !text.contains('\u{1b}'),
        "{text}"
    );
    let refused = turnstone(
        folder.path(),
        &format!("inspect {site}/no/page --allow-private"),
    );
    assert_eq!(refused.code, 1);
    assert!(
        refused.out.contains("disallowed by line 2: Disallow: /no"),
        "{}",
        refused.out
    );
}

#[test]
fn odd_ports_are_refused_unless_allowed() {
    let folder = tempfile::tempdir().unwrap();
    // Nobody listens there: what matters is who says so.
    let ask = "inspect http://127.0.0.1:1/ --allow-private --ignore-robots";
    let ran = turnstone(folder.path(), ask);
    assert!(ran.out.contains("guard-refused"), "{}", ran.out);
    assert!(!ran.out.contains("robots.txt: http"), "{}", ran.out);
    let ran = turnstone(folder.path(), &format!("{ask} --allow-ports 1,81"));
    assert!(ran.out.contains("connect-refused"), "{}", ran.out);
    let ran = turnstone(folder.path(), &format!("{ask} --allow-ports 70000"));
    assert_eq!(ran.code, 2);
}

#[test]
fn private_addresses_are_refused_unless_allowed() {
    let folder = tempfile::tempdir().unwrap();
    let ran = turnstone(folder.path(), "inspect http://127.0.0.1:9/ --ignore-robots");
    assert_eq!(ran.code, 1);
    assert!(ran.out.contains("127.0.0.1"), "{}{}", ran.out, ran.err);
    assert_eq!(turnstone(folder.path(), "inspect ftp://x.example/").code, 2);
    assert_eq!(
        turnstone(folder.path(), "inspect http://a.example/ --contact nobody").code,
        2
    );
}

#[test]
fn a_page_without_links_says_so() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("empty.html"), "").unwrap();
    assert_eq!(
        done(folder.path(), "links empty.html").out,
        "empty.html: no links\n"
    );
    let json = done(folder.path(), "links empty.html --json").json();
    assert_eq!(json["links"].as_array().unwrap().len(), 0);
}
