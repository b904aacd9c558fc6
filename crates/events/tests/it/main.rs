//! What is an event and what is not, through a journal on disk.
#![allow(clippy::unwrap_used)]

use std::path::Path;

use turnstone_events::{ChangeHistory, Filter, Kind, PAGE_BYTES, Since, SiteEvent, Stream, json};
use turnstone_frontier::{Change, Fault, PageId, Tick};
use turnstone_pagestore::{
    Entry, Facts, Links, NewPage, Outcome, Position, Settled, Store, StoreError,
};

const GONE: Settled = Settled::Failed(Fault::Gone);
const REFUSED: Settled = Settled::Failed(Fault::Refused);
const UNKNOWN: Settled = Settled::Failed(Fault::Unknown);
const LOST: Settled = Settled::Failed(Fault::Lost);
const CAME: Settled = Settled::Fetched(Change::New);
const CHANGED: Settled = Settled::Fetched(Change::Changed);
const SAME: Settled = Settled::Fetched(Change::Unchanged);

/// A journal with pages 0, 1, 2 … of one host, page 0 a seed.
fn store(folder: &Path, pages: u32) -> Store {
    let mut store = Store::create(folder, "test").unwrap();
    let session = Entry::Session {
        wall_ms: 1_000_000,
        boot: "",
        boot_ms: 0,
        delay_ms: 0,
        open_max: 1,
        policy: "",
    };
    store.append(Tick(0), &session);
    for page in 0..pages {
        add(&mut store, page);
    }
    store
}

fn add(store: &mut Store, page: u32) {
    let url = format!("http://a.example/{page}");
    let host = store.host(Tick(5), "a.example");
    let key = store.keyer().key(&url);
    let new = NewPage {
        key,
        url: &url,
        host,
        seed: page == 0,
        outside: false,
        listed: false,
        depth: 0,
        refused: ("", ""),
        metadata: &[],
    };
    store.add(Tick(5), new);
}

fn settle(store: &mut Store, page: u32, settled: Settled, links: &[PageId], facts: Facts) {
    let outcome = Outcome {
        page: PageId(page),
        settled,
        links: Links::Ids(links),
        before: Position(0),
        facts,
    };
    store.settle(Tick(9), outcome);
    store.write().unwrap();
}

fn events(stream: &mut Stream, from: Position) -> Vec<SiteEvent> {
    let mut told = Vec::new();
    let pulled = stream.pull(from, |event| -> Result<(), StoreError> {
        told.push(event);
        Ok(())
    });
    pulled.unwrap();
    told
}

fn check(course: &[(Settled, &str)], expected: &str) {
    let folder = tempfile::tempdir().unwrap();
    let mut store = store(folder.path(), 3);
    for (settled, class) in course {
        let facts = Facts {
            hearsay: *class == "hearsay",
            ..Facts::refused(class, "")
        };
        settle(&mut store, 0, *settled, &[], facts);
    }
    let told = events(&mut Stream::open(folder.path()).unwrap(), Position(0));
    let kinds: Vec<&str> = told.iter().map(|event| event.kind.name()).collect();
    assert_eq!(kinds.join(" "), expected, "{course:?}");
}

#[test]
fn an_event_is_a_change_of_standing() {
    let moved = |to| Settled::Moved(PageId(to));
    check(
        &[(CAME, "ok"), (SAME, "ok"), (CHANGED, "ok")],
        "new changed",
    );
    check(
        &[(GONE, "http-404"), (REFUSED, "robots"), (moved(1), "")],
        "",
    );
    check(&[(CAME, ""), (UNKNOWN, ""), (LOST, ""), (SAME, "")], "new");
    check(
        &[(CAME, ""), (GONE, "soft-404"), (GONE, ""), (REFUSED, "")],
        "new gone",
    );
    check(
        &[(CAME, ""), (GONE, ""), (SAME, ""), (SAME, "")],
        "new gone back",
    );
    check(
        &[(CAME, ""), (REFUSED, ""), (REFUSED, ""), (CHANGED, "")],
        "new refused back",
    );
    check(
        &[
            (CAME, ""),
            (moved(1), ""),
            (moved(1), ""),
            (moved(2), ""),
            (GONE, ""),
        ],
        "new moved moved gone",
    );
    // A survey that finds a page alive tells nothing, unless it was gone.
    check(
        &[(CAME, ""), (SAME, "alive"), (GONE, ""), (SAME, "alive")],
        "new gone back",
    );
    // What an old crawl only names is there by hearsay.
    check(&[(CAME, "hearsay"), (SAME, "alive"), (SAME, "ok")], "new");
    check(&[(CAME, "hearsay"), (GONE, "")], "gone");
    const { assert!(PAGE_BYTES <= 72) };
}

#[test]
fn who_asks_is_told_what_a_survey_found_alive() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = store(folder.path(), 1);
    for (settled, class) in [(CAME, ""), (SAME, "alive"), (SAME, "ok"), (GONE, "")] {
        settle(&mut store, 0, settled, &[], Facts::refused(class, ""));
    }
    let stream = Stream::open(folder.path()).unwrap();
    let told = events(&mut stream.with_alive(), Position(0));
    let kinds: Vec<&str> = told.iter().map(|event| event.kind.name()).collect();
    assert_eq!(kinds, ["new", "alive", "gone"]);
    let wanted = |filter: Filter| told.iter().filter(|event| filter.wants(event)).count();
    assert_eq!(wanted(Filter::default()), 2);
    let kinds = vec![Kind::Alive];
    assert_eq!(
        wanted(Filter {
            kinds,
            ..Filter::default()
        }),
        1
    );
}

#[test]
fn an_event_tells_where_from_since_when_and_what_was_there_before() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = store(folder.path(), 1);
    let facts = |digest: u8, title: &str| Facts {
        digest: Some([digest; 20]),
        title: title.to_owned(),
        wall_ms: 2_000_000,
        ..Facts::default()
    };
    add(&mut store, 1);
    settle(&mut store, 0, CAME, &[PageId(1)], facts(1, "front"));
    settle(&mut store, 1, CAME, &[], facts(2, "one"));
    settle(&mut store, 1, CHANGED, &[], facts(3, "two"));
    let mut stream = Stream::open(folder.path()).unwrap();
    let told = events(&mut stream, Position(0));
    assert_eq!(told[1].found_by.as_deref(), Some("http://a.example/0"));
    assert_eq!((told[1].seed, told[0].seed), (false, true));
    assert_eq!(told[1].first_seen_ms, 1_000_005);
    assert_eq!(told[2].old_digest, Some([2; 20]));
    assert_eq!(told[2].new_digest, Some([3; 20]));
    assert_eq!(json(&told[2])["title"], "two");
    // Who looks again sees the same ids; who follows sees only what is new.
    let again = events(&mut Stream::open(folder.path()).unwrap(), Position(0));
    assert_eq!(again, told);
    settle(&mut store, 1, GONE, &[], Facts::default());
    let more = events(&mut stream, Position(0));
    assert_eq!(
        more.iter().map(|event| event.kind).collect::<Vec<_>>(),
        [Kind::Gone]
    );
    // Who goes on from a position misses nothing and sees nothing twice.
    let rest = events(&mut Stream::open(folder.path()).unwrap(), told[1].next);
    assert_eq!(rest[0], told[2]);
    assert_eq!(rest[1], more[0]);
    let mut ids: Vec<String> = told
        .iter()
        .chain(&more)
        .map(|event| event.id.clone())
        .collect();
    ids.dedup();
    assert_eq!(ids.len(), 4);
}

/// Only pages announced since the outcome before are found by an outcome: the first of them too, and
/// nothing that was known before it.
#[test]
fn what_found_a_page_is_the_outcome_that_announced_it() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = store(folder.path(), 2);
    // Page 1 is announced and linked by nobody, as a sitemap that robots.txt names.
    settle(&mut store, 0, CAME, &[], Facts::default());
    add(&mut store, 2);
    add(&mut store, 3);
    let links = [PageId(0), PageId(1), PageId(2), PageId(3)];
    settle(&mut store, 0, CHANGED, &links, Facts::default());
    add(&mut store, 4);
    settle(
        &mut store,
        2,
        CAME,
        &[PageId(3), PageId(4)],
        Facts::default(),
    );
    for page in [1, 3, 4] {
        settle(&mut store, page, CAME, &[], Facts::default());
    }
    let told = events(&mut Stream::open(folder.path()).unwrap(), Position(0));
    let found_by = |page: u32| {
        let event = told.iter().find(|event| event.page == PageId(page));
        event.unwrap().found_by.clone()
    };
    let url = |page: u32| Some(format!("http://a.example/{page}"));
    assert_eq!([0, 1].map(found_by), [None, None]);
    assert_eq!([2, 3, 4].map(found_by), [url(0), url(0), url(2)]);
}

#[test]
fn filters_leave_out_what_is_not_wanted() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = store(folder.path(), 1);
    settle(
        &mut store,
        0,
        CAME,
        &[],
        Facts {
            wall_ms: 2_000_000,
            ..Facts::default()
        },
    );
    let told = events(&mut Stream::open(folder.path()).unwrap(), Position(0));
    let wants = |filter: Filter| filter.wants(&told[0]);
    let hosts = |host: &str| Filter {
        hosts: vec![host.to_owned()],
        ..Filter::default()
    };
    let since = |text: &str| Filter {
        since: Since::parse(text),
        ..Filter::default()
    };
    assert!(wants(Filter::default()));
    assert!(wants(Filter {
        kinds: vec![Kind::Back, Kind::New],
        ..Filter::default()
    }));
    assert!(!wants(Filter {
        kinds: vec![Kind::Gone],
        ..Filter::default()
    }));
    assert!(wants(hosts("a.example")) && wants(hosts("example")));
    assert!(!wants(hosts("b.example")) && !wants(hosts("ample")));
    assert!(wants(since("1970-01-01T00:33:20Z")) && !wants(since("1970-01-01T00:33:21Z")));
    assert!(wants(since("32")) && !wants(since("99999")));
    let position = Since::Position(Position(1070));
    assert_eq!(Since::parse("1070"), Some(position));
    assert_eq!(Since::parse("yesterday"), None);
}

#[test]
fn a_forecast_is_made_of_what_was_seen() {
    const DAY_MS: u64 = 86_400_000;
    let folder = tempfile::tempdir().unwrap();
    let mut store = store(folder.path(), 4);
    let none = ChangeHistory::of(&store).unwrap().forecast(2.0);
    assert_eq!((none.pages, none.changes_per_day), (0, None));
    // Page 0 changes every day, page 1 never; page 2 was fetched once, page 3 never.
    for day in 0..=10 {
        for (page, settled) in [(0, CHANGED), (1, SAME)] {
            let settled = if day == 0 { CAME } else { settled };
            let facts = Facts {
                wall_ms: (1 + day) * DAY_MS,
                ..Facts::refused("", "")
            };
            settle(&mut store, page, settled, &[], facts);
        }
    }
    settle(&mut store, 2, CAME, &[], Facts::refused("", ""));
    let forecast = ChangeHistory::of(&store).unwrap().forecast(3.0);
    assert_eq!((forecast.pages, forecast.looked_twice), (3, 2));
    assert_eq!((forecast.turn_days, forecast.delay_days), (1.0, 0.5));
    // -ln(0.5 / 10.5) = 3.0445 for one of two, so half as much again for three.
    let is = |value: Option<f64>, wanted: f64| (value.unwrap() - wanted).abs() < 1e-3;
    assert!(is(forecast.changes_per_day, 4.5668), "{forecast:?}");
    assert!(
        is(forecast.seen_per_day, 1.5 * (1.0 - 0.5 / 10.5)),
        "{forecast:?}"
    );
}
