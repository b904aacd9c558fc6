//! Snapshots, validators and the clock: a client sees the date it is shown, and 304 only when true.

use std::time::{Duration, Instant};

use turnstone_frontier::PageId;
use turnstone_lab::history::Date;
use turnstone_lab::serve::{At, Naming, Options, Web, start};

use crate::serve_client::{Connection, get, path_of};
use crate::serve_pages::made;

#[test]
fn a_conditional_request_is_answered_304_exactly_when_the_version_is_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let history = made(folder.path(), "one.example", 5);
    let handle = start(Web::histories([history.clone()]), Options::default()).unwrap();
    let mut connection = Connection::to(handle.origin(0));
    let (mut same, mut other) = (0, 0);
    for (from, to) in [(0, 1), (1, 4), (4, 11), (11, 11)] {
        let (before, after) = (history.at(from), history.at(to));
        for page in (0..history.page_count() as u32).map(PageId) {
            let (Some(old), Some(new)) = (before.version(page), after.version(page)) else {
                continue;
            };
            let path = path_of(&handle.url_of(page)).to_owned();
            handle.set_snapshots(At::Number(from));
            let first = connection.ask("GET", &path, "");
            let etag = first.header("etag").unwrap().to_owned();
            let modified = first.header("last-modified").unwrap().to_owned();
            handle.set_snapshots(At::Number(to));
            let by_tag =
                connection.ask("GET", &path, &format!("If-None-Match: \"x\", W/{etag}\r\n"));
            let by_date =
                connection.ask("GET", &path, &format!("If-Modified-Since: {modified}\r\n"));
            assert_eq!(by_tag.status, if old == new { 304 } else { 200 }, "{path}");
            // A page that changed and changed back has a new date and an old tag.
            let unchanged_since = (from + 1..=to).all(|s| {
                !history.snapshots[s]
                    .set
                    .iter()
                    .any(|(changed, _)| *changed == page)
            });
            assert_eq!(
                by_date.status,
                if unchanged_since { 304 } else { 200 },
                "{path}"
            );
            if old == new {
                same += 1;
                assert!(by_tag.body.is_empty() && by_tag.header("content-length").is_none());
                assert_eq!(by_tag.header("etag"), Some(etag.as_str()));
            } else {
                other += 1;
                assert_ne!(by_tag.body, first.body, "a version differs in its bytes");
            }
        }
    }
    assert!(same > 50 && other > 10, "{same} {other}");
}

#[test]
fn a_head_request_gets_the_same_head_and_no_body() {
    let folder = tempfile::tempdir().unwrap();
    let handle = start(
        Web::histories([made(folder.path(), "one.example", 6)]),
        Options::default(),
    )
    .unwrap();
    let mut connection = Connection::to(handle.origin(0));
    let got = connection.ask("GET", "/", "");
    let head = connection.ask("HEAD", "/", "");
    assert_eq!(head.status, 200);
    assert_eq!(
        head.header("content-length").unwrap(),
        got.body.len().to_string()
    );
    assert_eq!(
        (head.header("etag"), head.body.len()),
        (got.header("etag"), 0)
    );
    // What follows on the connection is the next answer, so no body was sent.
    assert_eq!(connection.ask("GET", "/", "").body, got.body);
    assert!(head.header("date").unwrap().ends_with(" GMT"));
}

#[test]
fn the_clock_walks_through_the_snapshots_and_stops_at_the_last() {
    let folder = tempfile::tempdir().unwrap();
    let history = made(folder.path(), "one.example", 7);
    let days = f64::from(history.dates[11].days_since(history.dates[0]));
    let options = Options {
        at: At::First,
        // All of it in a fifth of a second.
        clock: days * 86_400.0 * 5.0,
        ..Options::default()
    };
    let scale = options.clock;
    // What is shown must lie between what the earliest and the latest start would show.
    let told = |from: usize, passed: Duration| {
        let virtual_s = f64::from(history.dates[from].0) * 86_400.0 + passed.as_secs_f64() * scale;
        let reached = |date: &Date| f64::from(date.0) * 86_400.0 <= virtual_s;
        history.dates.partition_point(reached).max(1) - 1
    };
    let (slack, before) = (Duration::from_millis(1), Instant::now());
    let handle = start(Web::histories([history.clone()]), options).unwrap();
    let watch = |from: usize, before: Instant, after: Instant| {
        let mut seen = vec![from];
        while seen.last() != Some(&11) {
            assert!(before.elapsed().as_secs() < 30, "{seen:?}");
            let least = told(from, after.elapsed().saturating_sub(slack));
            let (snapshot, date) = handle.sites(1)[0].snapshot.clone().unwrap();
            let most = told(from, before.elapsed() + slack);
            assert!(
                (least..=most).contains(&snapshot),
                "{least} {snapshot} {most}"
            );
            assert_eq!(date, history.dates[snapshot].to_string());
            seen.push(snapshot);
        }
        assert!(seen.is_sorted(), "{seen:?}");
    };
    watch(0, before, Instant::now());
    let before = Instant::now();
    handle.set_snapshots(At::Number(3));
    watch(3, before, Instant::now());
}

#[test]
fn a_day_shows_each_site_as_it_was_and_nothing_before_its_first() {
    let folder = tempfile::tempdir().unwrap();
    let history = made(folder.path(), "one.example", 8);
    let handle = start(Web::histories([history.clone()]), Options::default()).unwrap();
    let seed = handle.seeds()[0].clone();
    handle.set_snapshots(At::Day(history.dates[2].plus_days(1)));
    assert_eq!(handle.sites(1)[0].snapshot.as_ref().unwrap().0, 2);
    assert_eq!(get(&seed).status, 200);
    handle.set_snapshots(At::Day(history.dates[0].plus_days(-1)));
    assert_eq!(handle.sites(1)[0].snapshot, None);
    assert_eq!(get(&seed).status, 404);
    assert!(handle.seeds().is_empty());
}

#[test]
fn orders_move_the_date_and_are_checked() {
    let folder = tempfile::tempdir().unwrap();
    let histories = [
        made(folder.path(), "one.example", 9),
        made(folder.path(), "two.example", 10),
    ];
    for naming in [Naming::ByAddress, Naming::ByName] {
        let options = Options {
            control: true,
            naming,
            ..Options::default()
        };
        let handle = start(Web::histories(histories.clone()), options).unwrap();
        let control = format!("http://127.0.0.1:{}", handle.control_port().unwrap());
        let order = |method: &str, path: &str| Connection::to(&control).ask(method, path, "");
        let shown = || [0, 1].map(|site| handle.sites(2)[site].snapshot.clone().unwrap().0);
        assert_eq!(shown(), [11, 11]);
        assert_eq!(order("POST", "/at/4").status, 200);
        assert_eq!(shown(), [4, 4]);
        let date = histories[1].dates[6];
        assert_eq!(
            order("POST", &format!("/at/{date}?site=two.example")).status,
            200
        );
        assert_eq!(shown(), [4, 6]);
        for (method, path, status) in [
            ("POST", "/at/12", 400),
            ("POST", "/at/yesterday", 400),
            ("POST", "/at/first?site=three", 404),
            ("GET", "/at/1", 404),
        ] {
            assert_eq!(order(method, path).status, status, "{path}");
        }
        assert_eq!(shown(), [4, 6]);
        let sites: serde_json::Value =
            serde_json::from_str(&order("GET", "/sites").text()).unwrap();
        assert_eq!(sites[1]["snapshot"], 6);
        let summary: serde_json::Value =
            serde_json::from_str(&order("GET", "/summary").text()).unwrap();
        assert_eq!(summary["requests"], 0);
    }
}
