//! What is told of a live crawl afterwards: its events, its copies, and what differs between them, of
//! a site that changes under the crawl and whose pages try to get at the reader.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::Value;
use turnstone_lab::serve::{Answer, Options, Web, start};

use super::crawler::Crawler;
use crate::run::{done, turnstone};

const HOSTILE: &str = "<title>\u{202e}&lt;script&gt;alert(1)&lt;/script&gt;&#27;[2J</title>";

#[test]
fn events_copies_and_diffs_of_a_site_that_changes() {
    let round = Arc::new(AtomicUsize::new(0));
    let told = round.clone();
    let web = Web::custom(1, move |request| {
        let round = told.load(Ordering::SeqCst);
        match (request.path, round) {
            ("/", _) => Answer::html("<a href=/a>a</a> <a href=/b>b</a> <a href=/c>c</a>"),
            ("/a", 0) => Answer::html(format!("{HOSTILE}<p>the price is 10 today</p><p>same</p>")),
            ("/a", _) => Answer::html(format!("{HOSTILE}<p>the price is 12 today</p><p>same</p>")),
            // The same bytes at another address: stored once, shown for both.
            ("/b", 0 | 2) | ("/c", _) => Answer::html("<title>twin</title><p>twin text</p>"),
            _ => Answer::not_found(),
        }
    });
    let server = start(web, Options::default()).unwrap();
    let origin = server.origin(0).to_owned();
    let crawler = Crawler::new(&format!(
        "{} --allow-private --delay 0s --policy breadth-first",
        server.seeds().join(" ")
    ));
    crawler.finish();
    let directory = crawler.directory();
    let parent = directory.parent().unwrap();
    for next in [1, 2] {
        round.store(next, Ordering::SeqCst);
        done(parent, "refresh crawl --budget 100% --delay 0s");
    }
    let events = |more: &str| -> Vec<Value> {
        let said = done(parent, &format!("events crawl --json {more}")).out;
        said.lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    };
    let course = |path: &str| -> Vec<String> {
        let url = format!("{origin}{path}");
        let all = events("");
        let of_page = all.iter().filter(|event| event["url"] == url.as_str());
        of_page
            .map(|event| event["kind"].as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(course("/a"), ["new", "changed"]);
    assert_eq!(course("/b"), ["new", "gone", "back"]);
    assert_eq!(course("/c"), ["new"]);
    // Who goes on from the place after an event misses nothing and sees nothing twice.
    let all = events("");
    let rest = events(&format!("--since {}", all[2]["next"]));
    assert_eq!(rest, all[3..]);
    assert_eq!(events("--kind back")[0]["why"]["question"], "refresh");

    // Nothing of a page reaches the terminal or the feed as a command.
    let shown = done(parent, "events crawl").out;
    let is_safe = |text: &str| !text.contains(['\u{1b}', '\u{202e}']);
    assert!(is_safe(&shown) && shown.contains("\\u{202e}"), "{shown}");
    let feed = done(parent, "events crawl --atom").out;
    assert!(is_safe(&feed) && !feed.contains("<script"), "{feed}");
    assert_eq!(feed.matches("<entry>").count(), all.len());

    let text = done(parent, &format!("show crawl {origin}/c --text")).out;
    assert_eq!(text.trim(), "twin text");
    let raw = done(parent, &format!("show crawl {origin}/b --raw")).out;
    assert_eq!(raw, "<title>twin</title><p>twin text</p>");
    let diff = done(parent, &format!("diff crawl {origin}/a --html d.html")).out;
    assert!(diff.contains("-the price is [-10-] today"), "{diff}");
    assert!(diff.contains("+the price is {+12+} today"), "{diff}");
    assert!(is_safe(&diff) && diff.contains("ignored: "), "{diff}");
    let page = fs::read_to_string(parent.join("d.html")).unwrap();
    assert!(
        page.contains("<del>10</del>") && !page.contains("<script"),
        "{page}"
    );
    assert!(is_safe(&page), "{page}");
    let never = turnstone(parent, &format!("show crawl {origin}/none"));
    assert_eq!(never.code, 1);
    assert!(never.err.contains("never met"), "{}", never.err);
}
