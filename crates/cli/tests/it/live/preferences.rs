//! What publishers say of how their pages may be used: kept as it was said, minded where somebody asks for it.

use std::fs;
use std::path::Path;

use turnstone_lab::serve::{Answer, Handle, Options, Web, start};
use turnstone_pagestore::Store;

use super::audit;
use super::crawler::Crawler;
use crate::run::{done, turnstone};

const ROBOTS: &str = "User-agent: *\nContent-Signal: search=yes, ai-input=no\nContent-Usage: /rule train-ai=n\n\
                      Allow: /\n\nLicense: https://rsl.example/license.xml\n";

fn site() -> Web {
    Web::custom(1, |request| {
        let page = |head: &str| Answer::html(format!("{head}<p>text of {}", request.path));
        match request.path {
            "/robots.txt" => Answer::text(ROBOTS),
            "/" => page(
                "<a href=/plain>1</a><a href=/header>2</a><a href=/noai>3</a><a href=/tdm>4</a><a href=/rule>5</a>",
            ),
            "/header" => {
                page("<a href=/behind>6</a>").header("Content-Usage", "train-ai=n, search=y")
            }
            "/noai" => page("<meta name=robots content='noai, noimageai'>"),
            "/tdm" => page("").header("TDM-Reservation", "1"),
            _ => page("<meta name=robots content='index, follow'>"),
        }
    })
}

fn crawl(server: &Handle, more: &str) -> Crawler {
    let crawler = Crawler::new(&format!(
        "{}/ --allow-private --delay 0 --policy breadth-first --until all {more}",
        server.origin(0)
    ));
    crawler.finish();
    crawler
}

/// The paths of a table of pages.
fn exported(crawler: &Crawler, more: &str) -> Vec<(String, String)> {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("pages.jsonl");
    let directory = crawler.directory();
    let asked = format!(
        "export pages {} -o {}{more}",
        directory.display(),
        file.display()
    );
    done(folder.path(), &asked);
    let rows = fs::read_to_string(file).unwrap();
    let rows = rows.lines().map(|line| {
        let row: serde_json::Value = serde_json::from_str(line).unwrap();
        let url = row["url"].as_str().unwrap();
        let path = url.splitn(4, '/').nth(3).unwrap_or_default();
        let said = row["preferences"].as_str().unwrap_or_default();
        (path.to_owned(), said.to_owned())
    });
    rows.collect()
}

#[test]
fn what_is_said_is_kept_and_can_be_left_out_of_tables() {
    let server = start(site(), Options::default()).unwrap();
    let crawler = crawl(&server, "");
    let all = exported(&crawler, "");
    let said = |path: &str| all.iter().find(|(of, _)| of == path).unwrap().1.clone();
    let rules = "robots.txt content-signal: search=yes, ai-input=no\n\
                 robots.txt license: https://rsl.example/license.xml";
    assert_eq!(said("plain"), rules, "\"index, follow\" says nothing");
    assert_eq!(
        said("header"),
        format!("content-usage: train-ai=n, search=y\n{rules}")
    );
    assert_eq!(
        said("noai"),
        format!("meta robots: noai, noimageai\n{rules}")
    );
    assert_eq!(said("tdm"), format!("tdm-reservation: 1\n{rules}"));
    assert_eq!(
        said("rule"),
        format!("robots.txt content-usage: /rule train-ai=n\n{rules}")
    );
    let left = |of: &str| {
        let mut paths: Vec<String> = exported(&crawler, &format!(" --respect {of}"))
            .into_iter()
            .map(|(path, _)| path)
            .collect();
        paths.sort();
        paths.join(" ")
    };
    assert_eq!(left("train-ai"), " behind plain");
    assert_eq!(left("search"), " behind header noai plain rule tdm");
    assert_eq!(left("ai-input"), "");
    assert_eq!(left("tdm,archive"), " behind header plain rule");
    let directory = crawler.directory().display().to_string();
    let why = done(
        Path::new("."),
        &format!("why {directory} {}/tdm", server.origin(0)),
    )
    .out;
    assert!(why.contains("tdm-reservation: 1"), "{why}");
    let wrong = turnstone(
        Path::new("."),
        &format!("export links {directory} -o l.jsonl --respect search"),
    );
    assert!(
        wrong.err.contains("know nothing of what publishers said"),
        "{}",
        wrong.err
    );
}

#[test]
fn who_crawls_for_a_use_keeps_nothing_that_is_reserved() {
    let server = start(site(), Options::default()).unwrap();
    let crawler = crawl(&server, "--respect train-ai");
    let asked = |path: &str| server.requests().iter().any(|it| &*it.path == path);
    assert!(
        !asked("/rule"),
        "robots.txt says so: it is not even asked for"
    );
    assert!(
        asked("/header") && !asked("/behind"),
        "nothing of a reserved page is kept"
    );
    let store = Store::look(&crawler.directory()).unwrap();
    let classes = &store.index().tally().classes;
    assert_eq!(classes.get("reserved"), Some(&4), "{classes:?}");
    assert_eq!(store.index().stored_count(), 2);
    let lines = audit::lines(&crawler.directory().join("warc"));
    for path in ["/header", "/noai", "/tdm"] {
        let url = format!("{}{path}", server.origin(0));
        assert!(
            lines.values().all(|line| line.url != url),
            "{path} is in the archive"
        );
        let directory = crawler.directory().display().to_string();
        let why = done(Path::new("."), &format!("why {directory} {url}")).out;
        assert!(why.contains("its publisher says no to train-ai"), "{why}");
    }
    // It holds for the next run, and a word that is none is told.
    assert!(
        fs::read_to_string(crawler.directory().join("turnstone.toml"))
            .unwrap()
            .contains("respect = [\"train-ai\"]")
    );
    let wrong = turnstone(
        Path::new("."),
        &format!("crawl {}/ -o x --respect everything", server.origin(0)),
    );
    assert!(
        wrong
            .err
            .contains("there are train-ai, ai-input, search, tdm, archive"),
        "{}",
        wrong.err
    );
}
