//! Row T21: a server that closes a kept connection just when it is used again.
//!
//! The request may have been seen, so the next one is a request like any other: it is counted, it has
//! a hand-out of its own, and it keeps the host's delay, also where several requests may be open.

use std::fmt::Write as _;

use turnstone_lab::serve::{Answer, Delivery, Options, Politeness, Web, start};
use turnstone_pagestore::{Entry, PageState, Position, Store};

use super::audit;
use super::crawler::Crawler;

const PAGES: u32 = 24;
const DELAY_MS: u64 = 40;
/// How much faster than time the crawl's clock runs: a reset on a fresh connection is the host's fault,
/// and tried again much later.
const SCALE: u64 = 100;

/// Every third page resets the connection it is first asked for on; all take their time, so that the
/// connections of a host are several and most requests go out on a kept one.
fn check(open: u32) {
    let web = Web::custom(1, |request| {
        if request.path == "/robots.txt" {
            return Answer::not_found();
        }
        let number = match request.path {
            "/" => Some(0),
            path => path.strip_prefix("/p/").and_then(|text| text.parse().ok()),
        };
        match number {
            Some(page) if page % 3 == 1 && request.attempt == 0 => {
                Answer::status(200).deliver(Delivery::Reset)
            }
            Some(page) if page < PAGES => {
                let links = (1..PAGES).fold(String::new(), |mut links, to| {
                    let _ = write!(links, "<a href=/p/{to}>{to}</a>");
                    links
                });
                let wait_ms = DELAY_MS * 2;
                Answer::html(format!("<p>page {page}</p>{links}"))
                    .deliver(Delivery::Late { wait_ms })
            }
            _ => Answer::not_found(),
        }
    });
    let politeness = Politeness {
        delay_ms: Some(DELAY_MS),
        open: Some(open),
        ..Politeness::default()
    };
    let server = start(
        web,
        Options {
            politeness,
            ..Options::default()
        },
    )
    .unwrap();
    let crawler = Crawler::new(&format!(
        "{}/ --allow-private --delay {}ms --clock-scale {SCALE} --open {open} --policy breadth-first",
        server.origin(0),
        DELAY_MS * SCALE,
    ));
    crawler.finish();
    let violations = server.violations();
    assert!(violations.is_empty(), "open {open}: {}", violations[0]);
    let store = Store::look(&crawler.directory()).unwrap();
    assert_eq!(store.index().count(PageState::Fetched), u64::from(PAGES));
    assert_eq!(store.index().tally().requests, server.request_count());
    let mut most = 0;
    for (requests, hand_outs) in asked(&store) {
        assert!(requests <= hand_outs, "open {open}: one request a hand-out");
        most = most.max(requests);
    }
    assert_eq!(most, 2, "open {open}: the resets were met");
    audit::check(&crawler.directory());
}

/// By page: requests that its outcomes speak of, and hand-outs.
fn asked(store: &Store) -> Vec<(u64, u64)> {
    let mut asked = vec![(0, 0); store.index().page_count()];
    let mut scan = store.scan(Position::FIRST);
    while let Some((_, _, entry)) = scan.next().unwrap() {
        match entry {
            Entry::Outcome(outcome) => {
                asked[outcome.page.index()].0 += u64::from(outcome.facts.requests);
            }
            Entry::HandOut { page } => asked[page.index()].1 += 1,
            _ => {}
        }
    }
    asked
}

#[test]
fn t21_a_request_sent_again_waits_its_turn() {
    check(1);
}

#[test]
fn t21_also_beside_others_of_its_host() {
    check(4);
}
