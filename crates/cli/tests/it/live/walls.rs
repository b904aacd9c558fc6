//! What stands before a page is not the page, and a body that is not what it says is said to be so.

use std::io::Write as _;
use std::process::Command;

use turnstone_lab::serve::{Answer, Faults, Options, Web, start};
use turnstone_pagestore::{PageState, Store};

use super::audit;
use super::crawler::Crawler;

fn crawl(seeds: &str) -> Crawler {
    let crawler = Crawler::new(&format!(
        "{seeds} --allow-private --delay 0s --clock-scale 100 --policy breadth-first --until pages=100"
    ));
    crawler.finish();
    crawler
}

fn why(crawler: &Crawler, url: &str) -> String {
    let directory = crawler.directory().display().to_string();
    let mut command = Command::new(env!("CARGO_BIN_EXE_turnstone"));
    let output = command.args(["why", &directory, url]).output().unwrap();
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn walls_are_neither_gone_nor_content() {
    for (kind, sign) in [
        (
            "challenge",
            "a test for being human stands before the page (_cf_chl_opt, Cloudflare)",
        ),
        (
            "login",
            "a login stands before the page (redirects to /~wall/login)",
        ),
        ("consent", "a consent form stands before the page"),
        (
            "payment",
            "the page has a price, and nothing is paid (402, crawler-price: usd 0.01)",
        ),
        ("region", "the page is not shown in this region"),
        ("denied", "a firewall refuses us (403 by Akamai"),
    ] {
        let web = Web::custom(1, |request| match request.path {
            "/robots.txt" => Answer::not_found(),
            path => Answer::html(format!("<p>{path} is an ordinary page")),
        });
        let faults = Faults::parse(&format!("wall:as={kind},rate=0.4"), 7).unwrap();
        let server = start(
            web,
            Options {
                faults,
                ..Options::default()
            },
        )
        .unwrap();
        // As seeds: a page with links to them might be behind a wall itself.
        let seeds = (0..40).map(|page| format!("{}/p/{page} ", server.origin(0)));
        let crawler = crawl(&seeds.collect::<String>());
        let store = Store::look(&crawler.directory()).unwrap();
        let class = format!("blocked-{kind}");
        let count = store
            .index()
            .tally()
            .classes
            .get(&class)
            .copied()
            .unwrap_or(0);
        assert!(
            (5..=30).contains(&count),
            "{kind}: {:?}",
            store.index().tally().classes
        );
        assert_eq!(store.index().count(PageState::Gone), 0, "{kind}");
        assert_eq!(store.index().count(PageState::Refused), count, "{kind}");
        assert_eq!(store.index().stored_count(), 40 - count, "{kind}");
        assert_eq!(
            store.index().page_count(),
            40,
            "{kind}: nothing of a wall is followed"
        );
        let lines = audit::lines(&crawler.directory().join("warc"));
        let pages = audit::pages(&store);
        let (refused, _) = pages
            .iter()
            .find(|(_, state)| **state == PageState::Refused)
            .unwrap();
        assert!(
            !lines
                .values()
                .any(|line| line.url == *refused && line.status == Some(200)),
            "{kind}: a wall must not be replayed as the page"
        );
        let told = why(&crawler, refused);
        assert!(
            told.contains(sign) && told.contains(&class),
            "{kind}: {told}"
        );
    }
}

fn gzip(text: &str) -> Vec<u8> {
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    packed.write_all(text.as_bytes()).unwrap();
    packed.finish().unwrap()
}

#[test]
fn bodies_that_are_not_what_they_say_are_flagged() {
    let coded = |body: Vec<u8>| Answer::html(body).header("Content-Encoding", "gzip");
    let server = start(
        Web::custom(1, move |request| match request.path {
            "/robots.txt" => Answer::not_found(),
            "/" => Answer::html("<a href=/good>1</a><a href=/plain>2</a><a href=/cut>3</a><a href=/bomb>4</a><a href=/text>5</a><a href=/wide>6</a><a href=/odd>7</a>"),
            "/good" => coded(gzip("<p>good <a href=/good/1>x</a>")),
            "/plain" => coded(b"<p>plain <a href=/plain/1>x</a>".to_vec()),
            "/cut" => {
                let noise: String = (0..4000u32).map(|n| format!("{} ", n.wrapping_mul(2_654_435_761))).collect();
                let mut body = gzip(&format!("<p>cut <a href=/cut/1>x</a>{noise}"));
                body.truncate(body.len() / 2);
                coded(body)
            }
            "/bomb" => coded(gzip(&format!("<p>bomb <a href=/bomb/1>x</a>{}", " ".repeat(60 << 20)))),
            "/text" => Answer::text("<html><a href=/text/1>not a link</a>"),
            "/wide" => {
                let text = "<p>wide</p><a href=/wide/1>x</a>";
                let wide: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
                Answer::ok("text/html; charset=utf-16le", wide)
            }
            "/odd" => Answer::html("<p>odd").header("Refresh", "5; url=/odd/1"),
            path => Answer::html(format!("<p>{path}")),
        }),
        Options::default(),
    )
    .unwrap();
    let crawler = crawl(&format!("{}/", server.origin(0)));
    let url = |path: &str| format!("{}{path}", server.origin(0));
    let store = Store::look(&crawler.directory()).unwrap();
    let pages = audit::pages(&store);
    for path in [
        "/good/1", "/plain/1", "/cut/1", "/bomb/1", "/wide/1", "/odd/1",
    ] {
        assert_eq!(
            pages.get(&url(path)),
            Some(&PageState::Fetched),
            "{path}: {pages:?}"
        );
    }
    assert!(
        !pages.contains_key(&url("/text/1")),
        "plain text has no links"
    );
    let classes = &store.index().tally().classes;
    for class in ["ok-mislabelled", "ok-cut", "ok-bomb"] {
        assert_eq!(classes.get(class), Some(&1), "{classes:?}");
    }
    for (path, said) in [
        ("/plain", "its body is declared as gzip, but is not"),
        (
            "/cut",
            "its body cannot be decoded to its end: gzip data ends early",
        ),
        ("/bomb", "its body decodes to more than"),
    ] {
        let told = why(&crawler, &url(path));
        assert!(told.contains(said), "{path}: {told}");
    }
    let mut cut_marks = 0;
    for file in audit::warc_files(&crawler.directory().join("warc")) {
        let mut text = Vec::new();
        let mut unpacked = flate2::read::MultiGzDecoder::new(std::fs::File::open(file).unwrap());
        std::io::Read::read_to_end(&mut unpacked, &mut text).unwrap();
        cut_marks += String::from_utf8_lossy(&text)
            .matches("WARC-Truncated: unspecified")
            .count();
    }
    assert_eq!(cut_marks, 1);
}
