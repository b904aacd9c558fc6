//! Pages that are not there although the server says so: told from pages in `crawl` and `refresh`, for few
//! requests, and never by asking what robots.txt forbids.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use turnstone_lab::serve::{Answer, Handle, Options, Politeness, Request, Web, start};
use turnstone_pagestore::{PageState, Store};

use super::audit;
use super::crawler::Crawler;

const DIRECTORIES: [&str; 6] = ["/a/", "/b/", "/c/", "/d/", "/e/", "/f/"];
const PAGES: u32 = 12;
/// Links in each directory to pages that are not there.
const DEAD: u32 = 6;

/// What a site says of pages that are not there.
#[derive(Clone, Copy, PartialEq)]
enum Manner {
    /// An honest 404.
    Honest,
    /// An apology with the address in it, and "not found" in the title.
    Apology,
    /// The same in words that no list knows.
    OwnWords,
    /// Off to the front page.
    Home,
}

fn is_page(path: &str) -> bool {
    let name = DIRECTORIES
        .iter()
        .find_map(|directory| path.strip_prefix(directory)?.strip_prefix("page-"));
    path == "/"
        || name
            .and_then(|name| name.parse().ok())
            .is_some_and(|page: u32| page < PAGES)
}

fn prose(salt: &str) -> String {
    let mut text = String::new();
    for at in 0..60usize {
        let word = salt.len() * 31 + at * 7 + usize::from(salt.as_bytes()[at % salt.len()]);
        let _ = write!(text, "word{} ", word % 97);
    }
    text
}

fn missing(manner: Manner, path: &str) -> Answer {
    match manner {
        Manner::Honest => Answer::not_found(),
        Manner::Apology => Answer::html(format!(
            "<title>Page not found</title><p>We are so sorry, but {path} is not a page of ours any more. Try the search."
        )),
        Manner::OwnWords => Answer::html(format!(
            "<title>Harbour News</title><p>Here be nothing: {path} sank with all its cargo, see the front page instead."
        )),
        Manner::Home => Answer::redirect(302, "/"),
    }
}

fn site(manner: Manner) -> impl Fn(&Request<'_>) -> Answer {
    move |request| match request.path {
        "/robots.txt" => Answer::not_found(),
        "/" => {
            let mut body = format!("<title>Front page</title><p>{}", prose("front"));
            for directory in DIRECTORIES {
                for page in 0..PAGES {
                    let _ = write!(body, "<a href={directory}page-{page}>on</a>");
                }
                for dead in 0..DEAD {
                    let _ = write!(body, "<a href={directory}lost-{dead}>on</a>");
                }
            }
            Answer::html(body)
        }
        path if is_page(path) => Answer::html(format!("<title>{path}</title><p>{}", prose(path))),
        path => missing(manner, path),
    }
}

fn crawl(server: &Handle, more: &str) -> Crawler {
    let crawler = Crawler::new(&format!(
        "{}/ --allow-private --delay 10ms --policy breadth-first --until all {more}",
        server.origin(0)
    ));
    crawler.finish();
    crawler
}

/// Names that nobody linked to and that were asked for.
fn probes(server: &Handle) -> BTreeSet<String> {
    let requests = server.requests();
    let asked = requests.iter().map(|request| request.path.to_string());
    asked
        .filter(|path| path != "/robots.txt" && !is_page(path) && !path.contains("/lost-"))
        .collect()
}

fn classes(crawler: &Crawler) -> (Store, u64, u64) {
    let store = Store::look(&crawler.directory()).unwrap();
    let count = |class: &str| {
        let classes = &store.index().tally().classes;
        classes.get(class).copied().unwrap_or(0)
    };
    let (soft, unsure) = (count("soft-404"), count("blocked-unsure"));
    (store, soft, unsure)
}

#[test]
fn a_crawl_takes_no_soft_404_for_a_page() {
    let all = 6 * u64::from(DEAD);
    for (manner, missed_max) in [
        (Manner::Honest, 0),
        (Manner::Apology, 0),
        // The first one looks like any page; the second one looks like the first.
        (Manner::OwnWords, 1),
        (Manner::Home, 0),
    ] {
        let options = Options {
            politeness: Politeness {
                delay_ms: Some(10),
                open: Some(1),
                ..Politeness::default()
            },
            ..Options::default()
        };
        let server = start(Web::custom(1, site(manner)), options).unwrap();
        let crawler = crawl(&server, "");
        let (store, soft, unsure) = classes(&crawler);
        let pages = audit::pages(&store);
        for (url, state) in &pages {
            let path = url.strip_prefix(server.origin(0)).unwrap();
            if is_page(path) {
                assert_eq!(*state, PageState::Fetched, "{url} is a page");
            }
        }
        assert_eq!(unsure, 0);
        let probed = probes(&server);
        let hard = manner == Manner::Honest;
        if hard {
            assert_eq!((soft, probed.len()), (0, 0), "nothing gave reason to doubt");
        } else {
            assert!(soft >= all - missed_max, "{soft} of {all}");
            let said = store.index().tally().probes;
            assert_eq!(said, probed.len() as u64, "what was asked is counted");
            assert!(
                (1..=DIRECTORIES.len()).contains(&probed.len()),
                "one a directory: {probed:?}"
            );
            assert!(
                crawler
                    .printed()
                    .contains("not there although the server said otherwise"),
                "{}",
                crawler.printed()
            );
        }
        let asked = server.requests().len() as u64;
        assert_eq!(
            store.index().tally().requests,
            asked,
            "every request is counted"
        );
        assert!(server.violations().is_empty(), "{:?}", server.violations());
    }
}

#[test]
fn no_name_is_tried_that_robots_txt_forbids() {
    let server = start(
        Web::custom(1, |request| match request.path {
            "/robots.txt" => Answer::text(
                "User-agent: *\nAllow: /$\nAllow: /*/page-\nAllow: /*/lost-\nDisallow: /\n",
            ),
            _ => site(Manner::Apology)(request),
        }),
        Options::default(),
    )
    .unwrap();
    let crawler = crawl(&server, "");
    let (store, soft, _) = classes(&crawler);
    assert_eq!(probes(&server), BTreeSet::new());
    assert_eq!((soft, store.index().tally().probes), (0, 0));
    assert!(server.violations().is_empty(), "{:?}", server.violations());
}

#[test]
fn who_takes_what_comes_pays_nothing() {
    let server = start(Web::custom(1, site(Manner::Apology)), Options::default()).unwrap();
    let crawler = crawl(&server, "--no-soft-404");
    let (store, soft, _) = classes(&crawler);
    assert_eq!(probes(&server), BTreeSet::new());
    assert_eq!(soft, 0);
    assert_eq!(
        store.index().stored_count(),
        6 * u64::from(PAGES + DEAD) + 1
    );
}

fn refresh(crawler: &Crawler) -> serde_json::Value {
    let directory = crawler.directory().display().to_string();
    let asked = format!(
        "refresh {directory} --budget 60% --allow-private --delay 1ms --clock-scale 1000 --json"
    );
    crate::run::turnstone(std::path::Path::new("."), &asked).json()
}

/// How many pages of the store are in a state after everything happened.
fn count(crawler: &Crawler, state: PageState) -> u64 {
    Store::look(&crawler.directory())
        .unwrap()
        .index()
        .count(state)
}

#[test]
fn a_page_that_became_an_apology_is_gone_and_one_behind_a_puzzle_is_not() {
    for puzzle in [false, true] {
        let phase = Arc::new(AtomicU32::new(0));
        let told = phase.clone();
        let web = Web::custom(1, move |request| {
            let late = told.load(Ordering::Relaxed) > 0;
            match request.path {
                "/robots.txt" => Answer::not_found(),
                // A wall in words of its own, before everything.
                _ if late && puzzle => Answer::html(
                    "<title>Harbour</title><p>Which of these nine ships has a blue funnel? Choose all of them, please.",
                ),
                path if late && path.starts_with("/a/") => Answer::html(
                    "<title>Harbour</title><p>Here be nothing: it sank with all of its cargo, long ago.",
                ),
                _ => site(Manner::Honest)(request),
            }
        });
        let server = start(web, Options::default()).unwrap();
        let crawler = crawl(&server, "");
        let before = count(&crawler, PageState::Gone);
        phase.store(1, Ordering::Relaxed);
        let mut changed = 0;
        for _ in 0..2 {
            let told = refresh(&crawler);
            let pages = told["pages"].as_array().unwrap();
            changed += pages
                .iter()
                .filter(|page| page["what"] == "changed")
                .count();
        }
        let (_, soft, unsure) = classes(&crawler);
        let gone = count(&crawler, PageState::Gone) - before;
        if puzzle {
            // The front page is never judged: it alone may count as changed.
            assert!(changed <= 1, "{changed} changed behind a wall");
            assert_eq!((soft, gone), (0, 0), "blocked is not dead");
            assert!(unsure >= 3, "{unsure}");
        } else {
            assert_eq!(changed, 0);
            // As long as its host showed nothing else nobody can tell.
            let refused = count(&crawler, PageState::Refused);
            // Some are asked for again in the second round, and are gone as before.
            assert_eq!(gone + refused, u64::from(PAGES), "{soft} {unsure}");
            assert!(gone > 0 && soft >= gone, "{soft} {gone} {unsure}");
        }
    }
}
