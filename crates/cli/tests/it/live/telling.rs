//! What is told of a live crawl afterwards: its events, its copies, and what differs between them, of
//! a site that changes under the crawl and whose pages try to get at the reader.

use std::fs;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::Value;
use turnstone_lab::serve::{Answer, Options, Web, start};

use super::crawler::{Crawler, until};
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
    // All of it happened within the hour, and nothing within the last 0 s.
    assert_eq!(events("--since 1h"), all);
    assert_eq!(events("--since 0s"), [Value::Null; 0]);
    let wrong = turnstone(parent, "events crawl --since 2x");
    assert_eq!(wrong.code, 2, "{}", wrong.err);

    // A forecast asks for nothing.
    let requests = server.request_count();
    let forecast = "keep crawl --budget 8/day --forecast";
    let told = done(parent, &format!("{forecast} --json")).json();
    assert_eq!(
        (&told["pages"], &told["looked_twice"]),
        (&4.into(), &4.into())
    );
    assert_eq!(
        (&told["turn_days"], &told["delay_days"]),
        (&0.5.into(), &0.25.into())
    );
    assert!(told["changes_per_day"].as_f64().unwrap() > 0.0, "{told}");
    let text = done(parent, forecast).out;
    assert!(text.contains("8 a day at most"), "{text}");
    assert_eq!(server.request_count(), requests);

    // Nothing of a page reaches the terminal or the feed as a command.
    let shown = done(parent, "events crawl").out;
    let is_safe = |text: &str| !text.contains(['\u{1b}', '\u{202e}']);
    assert!(is_safe(&shown) && shown.contains("\\u{202e}"), "{shown}");
    let feed = done(parent, "events crawl --atom").out;
    assert!(is_safe(&feed) && !feed.contains("<script"), "{feed}");
    assert_eq!(feed.matches("<entry>").count(), all.len());

    let text = done(parent, &format!("show crawl {origin}/c --text")).out;
    assert_eq!(text.trim(), "twin text");
    let text = done(parent, &format!("show crawl {origin}/c --text --json")).json();
    assert_eq!(text["text"].as_str().unwrap().trim(), "twin text");
    let head = done(parent, &format!("show crawl {origin}/c --headers --json")).json();
    let fields = head["headers"].as_array().unwrap();
    let is_html = |field: &Value| {
        field[0]
            .as_str()
            .unwrap()
            .eq_ignore_ascii_case("content-type")
            && field[1].as_str().unwrap().starts_with("text/html")
    };
    assert!(fields.iter().any(is_html), "{head}");
    let raw = turnstone(parent, &format!("show crawl {origin}/b --raw --json"));
    assert_eq!(raw.code, 2, "{}", raw.err);
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

/// Who follows a crawl from its first moments on, while it runs and is killed and goes on, is told what
/// somebody is told who asks afterwards; who stops reading ends it.
#[test]
fn a_live_crawl_is_followed() {
    let links: String = (0..60)
        .map(|page| format!("<a href=/{page}>p</a> "))
        .collect();
    let web = Web::custom(1, move |request| match request.path {
        "/" => Answer::html(links.clone()),
        path => Answer::html(format!("<title>{path}</title><p>page {path}</p>")),
    });
    let server = start(web, Options::default()).unwrap();
    let crawler = Crawler::new(&format!(
        "{} --allow-private --delay 25ms --policy breadth-first",
        server.seeds().join(" ")
    ));
    let directory = crawler.directory();
    let parent = directory.parent().unwrap();
    let running = crawler.start();
    until("the journal is there", || {
        directory.join("store/journal").exists()
    });
    let out = fs::File::create(parent.join("followed")).unwrap();
    let mut follower = Command::new(env!("CARGO_BIN_EXE_turnstone"))
        .args(["events", "crawl", "--follow", "--json"])
        .current_dir(parent)
        .stdout(out)
        .spawn()
        .unwrap();
    let followed = || fs::read_to_string(parent.join("followed")).unwrap();
    until("the first events", || followed().lines().count() >= 10);
    let before = followed().lines().count();
    assert!(before < 61, "nothing is left to follow");
    running.kill();
    crawler.finish();
    let all = done(parent, "events crawl --json").out;
    assert_eq!(all.lines().count(), 61);
    until("all of them", || followed().len() >= all.len());
    assert_eq!(followed(), all);
    assert!(follower.try_wait().unwrap().is_none(), "it goes on");
    follower.kill().unwrap();
    follower.wait().unwrap();
    // A reader that goes away after the first line.
    let mut follower = Command::new(env!("CARGO_BIN_EXE_turnstone"))
        .args(["events", "crawl", "--follow"])
        .current_dir(parent)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    drop(follower.stdout.take());
    until("it ends", || follower.try_wait().unwrap().is_some());
}

/// Each of the commands that go on with a crawl says which pages it found, not only how many: in a table,
/// and in lines of JSON that are those of `turnstone events`.
#[test]
fn rounds_list_what_they_found() {
    let round = Arc::new(AtomicUsize::new(0));
    let told = round.clone();
    let web = Web::custom(1, move |request| {
        let round = told.load(Ordering::SeqCst);
        match (request.path, round) {
            ("/", 0) => Answer::html("<a href=/a>a</a> <a href=/b>b</a>"),
            ("/", _) => Answer::html("<a href=/a>a</a> <a href=/b>b</a> <a href=/new>n</a>"),
            ("/a", round) => Answer::html(format!("<p>the price is {round} today</p>")),
            ("/b", 0 | 1) => Answer::html("<title>a page</title><p>b</p>"),
            ("/new", 1..) => Answer::html(format!("{HOSTILE}<p>n</p>")),
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
    let listed = |command: &str, next: usize| {
        round.store(next, Ordering::SeqCst);
        done(parent, &format!("{command} --delay 0s"))
    };
    let kinds = |events: &[Value]| -> Vec<(String, String)> {
        let text = |event: &Value, key: &str| event[key].as_str().unwrap().to_owned();
        let mut kinds: Vec<_> = events
            .iter()
            .map(|event| (text(event, "kind"), text(event, "url").replace(&origin, "")))
            .collect();
        kinds.sort();
        kinds
    };
    let pair = |kind: &str, path: &str| (kind.to_owned(), path.to_owned());

    let found = listed("discover crawl --budget 100% --json", 1);
    let all = done(parent, "events crawl --json").out;
    assert_eq!(
        kinds(&found.events()),
        [
            pair("changed", "/"),
            pair("changed", "/a"),
            pair("new", "/new")
        ]
    );
    assert!(
        found
            .out
            .lines()
            .all(|line| all.contains(line) || line == found.out.lines().last().unwrap())
    );
    assert_eq!(found.json()["new"], 1);

    let text = listed("refresh crawl --budget 100% --diff", 2).out;
    assert!(text.contains(&format!("gone     {origin}/b")), "{text}");
    assert!(text.contains(&format!("changed  {origin}/a")), "{text}");
    assert!(text.contains("-the price is [-1-] today"), "{text}");
    assert!(text.contains("+the price is {+2+} today"), "{text}");
    let found = listed("refresh crawl --budget 100% --diff --json", 3);
    assert_eq!(kinds(&found.events()), [pair("changed", "/a")]);
    let hunks = &found.json()["pages"][0]["hunks"];
    assert!(
        hunks
            .to_string()
            .contains("\"differs\":true,\"text\":\"3\""),
        "{hunks}"
    );

    let found = listed("revive crawl --json", 3);
    assert_eq!(
        kinds(&found.events()),
        [
            pair("alive", "/"),
            pair("alive", "/a"),
            pair("alive", "/new")
        ]
    );
    let text = listed("revive crawl", 3).out;
    assert!(text.contains(&format!("alive  {origin}/a")), "{text}");
    assert!(!done(parent, "events crawl").out.contains("alive"));
    assert_eq!(
        done(parent, "events crawl --kind alive")
            .out
            .lines()
            .count(),
        6
    );

    let keep = "keep crawl --slice 1s --until rounds=1 --rate 100/s";
    let text = listed(keep, 1).out;
    assert!(text.contains(&format!("back     {origin}/b")), "{text}");
    assert!(text.contains("a page"), "{text}");
    let found = listed(&format!("{keep} --json"), 2);
    assert_eq!(found.json()["slices"], 1);
    assert!(
        kinds(&found.events()).contains(&pair("gone", "/b")),
        "{}",
        found.out
    );
}
