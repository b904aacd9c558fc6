//! What does not count as a change: a site whose pages have clocks and counters, proposed and ignored.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::Value;
use turnstone_lab::serve::{Answer, Options, Web, start};

use crate::run::{done, turnstone};

const PAGES: u64 = 6;

/// Pages with a counter, the date and an advertisement; one of them gets news when it is told to.
fn site(news: Arc<AtomicU64>) -> Web {
    let times = AtomicU64::new(0);
    let links: String = (1..PAGES)
        .map(|page| format!("<a href=/{page}>{page}</a> "))
        .collect();
    Web::custom(1, move |request| {
        let number = times.fetch_add(1, Ordering::Relaxed);
        let news = match request.path {
            "/3" => news.load(Ordering::Relaxed),
            _ => 0,
        };
        let body = format!(
            "<title>page</title><h1>Page {}</h1>{links}<p>Generated in {number} ms</p>\
             <div class=\"ad top\"><p>Buy {} now!</div><p>Seen by <b>{}</b> people</p><p>story number {}",
            request.path,
            // Other words each time, and no number.
            [number / 26 % 26, number % 26]
                .map(|at| char::from(b'a' + at as u8))
                .iter()
                .collect::<String>(),
            number * 17,
            ["one", "two", "three"][news as usize]
        );
        Answer::html(body)
    })
}

fn changed(folder: &std::path::Path) -> u64 {
    let live = "--allow-private --delay 0s --clock-scale 1000 --json";
    let ran = done(folder, &format!("refresh c --budget 100% {live}"));
    let events = ran.events();
    events
        .iter()
        .filter(|event| event["kind"] == "changed")
        .count() as u64
}

#[test]
fn clocks_and_counters_are_proposed_and_do_not_count() {
    let news = Arc::new(AtomicU64::new(0));
    let server = start(site(news.clone()), Options::default()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    let origin = server.origin(0);
    done(
        here,
        &format!("crawl {origin}/ -o c --allow-private --delay 0s --clock-scale 1000 --until all"),
    );
    let none = turnstone(here, "ignore c");
    assert!(none.out.contains("3 copies"), "{}", none.out);
    assert_eq!(changed(here), PAGES, "every page has a clock");
    assert_eq!(changed(here), PAGES);

    // What is another every time and differs in numbers alone is proposed; the advertisement is not.
    let proposed = done(here, "ignore c --json").json();
    assert_eq!(proposed["pages"], PAGES);
    let host = &proposed["hosts"][0];
    let expressions: Vec<&str> = host["text"]
        .as_array()
        .unwrap()
        .iter()
        .map(|text| text["expression"].as_str().unwrap())
        .collect();
    assert_eq!(
        expressions,
        [r"^Seen by \d+ people$", r"^Generated in \d+ ms$"]
    );
    assert_eq!(
        (&host["changes"], &host["explained"]),
        (&Value::from(2 * PAGES), &Value::from(0))
    );

    // As it is printed it can be put into the file.
    let asked = fs::read_to_string(here.join("c/turnstone.toml")).unwrap();
    let rules = done(here, "ignore c").out;
    let advertisement = "[[ignore]]\nselectors = ['div.ad']\n";
    fs::write(
        here.join("c/turnstone.toml"),
        format!("{asked}\n{rules}\n{advertisement}"),
    )
    .unwrap();
    let diff = done(here, &format!("diff c {origin}/1 --json")).json();
    assert_eq!(diff["differs"], false, "{diff}");
    let notes = diff["notes"].to_string();
    assert!(notes.contains("1 element and 2 pieces of text"), "{notes}");
    // The stored fingerprints are of texts with clocks: once more, and never again.
    assert_eq!(changed(here), PAGES);
    assert_eq!(changed(here), 0);
    news.store(1, Ordering::Relaxed);
    assert_eq!(changed(here), 1, "news are news");
    let diff = done(here, &format!("diff c {origin}/3 --json")).json();
    let hunks = diff["hunks"].to_string();
    assert!(
        hunks.contains("two") && !hunks.contains("Generated"),
        "{hunks}"
    );
    assert!(
        done(here, &format!("show c {origin}/3 --text"))
            .out
            .contains("Generated in")
    );

    // Rules that cannot be are refused, by name.
    for (rule, named) in [
        ("selectors = ['div > a']", "'div > a'"),
        ("text = ['(']", "'('"),
        ("hosts = ['x']", "ignores nothing"),
        ("elements = ['x']", "elements"),
    ] {
        fs::write(
            here.join("c/turnstone.toml"),
            format!("{asked}\n[[ignore]]\n{rule}\n"),
        )
        .unwrap();
        let ran = turnstone(here, "status c");
        assert_eq!(ran.code, 2, "{rule}: {}", ran.err);
        assert!(
            ran.err.contains(named) && ran.err.lines().count() == 1,
            "{}",
            ran.err
        );
    }
}
