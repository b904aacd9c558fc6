//! Requests that are right, wrong, too large, too slow or from elsewhere.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use turnstone_server::{Order, STREAMS_MAX};

use crate::stand::Stand;

const ORDERS: &str = "/c/-b-crawl/orders";
const API: &str = "/api/v1/crawls/-b-crawl/orders";

#[test]
fn every_answer_forbids_what_is_not_ours() {
    let stand = Stand::open(None);
    for (path, status) in [
        ("/", 200),
        ("/c/-b-crawl", 200),
        ("/c/none", 404),
        ("/c/none/why?url=http://a/", 404),
        ("/nowhere", 404),
        ("/healthz", 200),
        ("/metrics", 200),
        ("/api/v1/crawls", 200),
        ("/api/v1/crawls/none", 404),
        ("/api/v1/crawls/-b-crawl/why", 400),
        ("/why?crawl=..%2F..%0D%0Aset-cookie:a&url=x%0D%0Ay", 303),
        (ORDERS, 405),
    ] {
        let answer = stand.get(path);
        assert_eq!(answer.status, status, "{path}");
        let policy = "content-security-policy: default-src 'none'; script-src 'self'";
        assert!(answer.head.contains(policy), "{path}: {}", answer.head);
        for line in ["nosniff", "x-frame-options: deny", "no-store"] {
            assert!(answer.head.contains(line), "{path}: {}", answer.head);
        }
        assert!(!answer.head.contains("\r\nset-cookie"), "{}", answer.head);
    }
    let report = stand.get("/c/-b-crawl/report");
    assert!(report.head.contains("sandbox") && !report.head.contains("script-src"));
}

#[test]
fn orders_come_from_our_own_pages_and_from_programs_alone() {
    let stand = Stand::open(None);
    let page = stand.get("/c/-b-crawl").body;
    let (_, rest) = page.split_once("name=\"token\" value=\"").unwrap();
    let (token, _) = rest.split_once('"').unwrap();
    let form = "content-type: application/x-www-form-urlencoded\r\n";
    let json = "content-type: application/json\r\n";
    let own = format!("origin: http://{}\r\n", stand.address);
    let evil = "origin: http://evil.example\r\n";
    let right = format!("order=pause&token={token}");
    let orders = |count: usize| assert_eq!(stand.orders.lock().unwrap().len(), count);
    for (more, body, status) in [
        (form.to_owned(), "order=pause", 403),
        (form.to_owned(), "order=pause&token=0", 403),
        (format!("{form}{evil}"), &right, 403),
        (format!("{form}origin: null\r\n"), &right, 403),
        (json.to_owned(), r#"{"order":"pause"}"#, 415),
    ] {
        assert_eq!(
            stand.ask("POST", ORDERS, &more, body).status,
            status,
            "{more}{body}"
        );
    }
    for (more, body, status) in [
        (form.to_owned(), r#"{"order":"pause"}"#, 415),
        (format!("{json}{evil}"), r#"{"order":"pause"}"#, 403),
        (json.to_owned(), r#"{"order":"dance"}"#, 400),
        (json.to_owned(), r#"{"order":"pause","more":1}"#, 400),
        (json.to_owned(), "", 400),
        (
            json.to_owned(),
            r#"{"order":"seeds","add":["nowhere"]}"#,
            409,
        ),
    ] {
        assert_eq!(
            stand.ask("POST", API, &more, body).status,
            status,
            "{more}{body}"
        );
    }
    orders(0);
    let answer = stand.ask("POST", ORDERS, &format!("{form}{own}"), &right);
    assert_eq!(answer.status, 303, "{}", answer.body);
    orders(1);
    let answer = stand.ask("POST", API, json, r#"{"order":"resume"}"#);
    assert_eq!(
        (answer.status, &answer.json()["done"]),
        (200, &"done".into())
    );
    let wrong = format!("order=budgets&requests=many&token={token}");
    let answer = stand.ask("POST", ORDERS, form, &wrong);
    assert_eq!(answer.status, 409);
    assert!(
        answer
            .body
            .contains("requests: &#39;many&#39; is no whole number")
            || answer.body.contains("requests: 'many' is no whole number"),
        "{}",
        answer.body
    );
    orders(2);
}

#[test]
fn a_token_is_asked_for() {
    let stand = Stand::open(Some("correct-horse-battery"));
    for path in [
        "/",
        "/metrics",
        "/api/v1/crawls",
        "/live",
        "/static/live.js",
    ] {
        let answer = stand.get(path);
        assert_eq!(answer.status, 401, "{path}");
        assert!(
            answer.head.contains("www-authenticate: basic"),
            "{}",
            answer.head
        );
    }
    assert_eq!(stand.get("/healthz").status, 200);
    let bearer = "authorization: Bearer correct-horse-battery\r\n";
    assert_eq!(stand.ask("GET", "/", bearer, "").status, 200);
}

#[test]
fn what_is_too_large_is_refused() {
    let stand = Stand::open(None);
    let json = "content-type: application/json\r\n";
    let large = "x".repeat(10 << 20);
    assert_eq!(stand.ask("POST", API, json, &large).status, 413);
    let head = format!("x-large: {}\r\n", "y".repeat(200 << 10));
    assert_eq!(stand.ask("GET", "/", &head, "").status, 431);
    let url = format!("/c/-b-crawl/why?url={}", "z".repeat(30_000));
    assert!(
        stand
            .get(&url)
            .body
            .contains("a URL has at most 20000 bytes")
    );
    assert_eq!(stand.raw(b"\x16\x03\x01 what is this\r\n\r\n").status, 400);
    // It answers as before.
    assert_eq!(stand.get("/healthz").status, 200);
}

#[test]
fn who_sits_in_silence_is_dropped() {
    let stand = Stand::open(None);
    let mut silent = TcpStream::connect(stand.address).unwrap();
    silent.write_all(b"GET / HTTP/1.1\r\nhost: ").unwrap();
    silent
        .set_read_timeout(Some(Duration::from_secs(25)))
        .unwrap();
    let mut said = Vec::new();
    // Closed by the server, perhaps with a word, before our patience ends.
    let read = silent.read_to_end(&mut said);
    assert!(
        read.is_ok()
            || read.is_err_and(|error| error.kind() == std::io::ErrorKind::ConnectionReset)
    );
}

#[test]
fn live_streams_have_a_limit_and_are_freed() {
    let stand = Stand::open(None);
    let request = format!("GET /live HTTP/1.1\r\nhost: {}\r\n\r\n", stand.address);
    let begin = || {
        let mut stream = TcpStream::connect(stand.address).unwrap();
        stream
            .set_read_timeout(Some(Duration::from_secs(30)))
            .unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        let mut status = [0; 12];
        stream.read_exact(&mut status).unwrap();
        (status[9] == b'2').then_some(stream)
    };
    let mut open: Vec<TcpStream> = (0..STREAMS_MAX).map(|_| begin().expect("room")).collect();
    assert!(begin().is_none(), "there is no room for another");
    assert_eq!(
        stand.get("/healthz").status,
        200,
        "others are answered meanwhile"
    );
    open.truncate(STREAMS_MAX - 20);
    // Who has gone is noticed when something is sent.
    let mut page = 0;
    let again = loop {
        page += 1;
        stand.comes(&format!("http://news.example/{page}"), "News");
        if let Some(stream) = begin() {
            break stream;
        }
        assert!(page < 600, "their room is never free again");
        std::thread::sleep(Duration::from_millis(100));
    };
    drop(again);
    assert_eq!(*stand.orders.lock().unwrap(), Vec::<Order>::new());
}
