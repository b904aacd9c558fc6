//! The judge accuses who is impolite, and nobody else; and every limit holds.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use turnstone_lab::serve::{
    Answer, Delivery, Faults, Handle, Naming, Options, Politeness, RobotsCheck, Rule, Web, start,
};

use crate::serve_client::{Connection, get, try_get};

/// Two hosts that answer everything, some of it late; `/robots.txt` disallows `/private`.
fn strict(politeness: Politeness) -> Handle {
    let web = Web::custom(2, |request| match request.path {
        "/robots.txt" => Answer::text("User-agent: *\nDisallow: /private\n"),
        "/late" => Answer::text("late").deliver(Delivery::Late { wait_ms: 150 }),
        "/large" => Answer::text(vec![b'x'; 3 << 20]),
        _ => Answer::text("fine"),
    });
    let options = Options {
        politeness,
        threads: 2,
        ..Options::default()
    };
    start(web, options).unwrap()
}

fn rules(handle: &Handle) -> Vec<Rule> {
    handle
        .violations()
        .into_iter()
        .map(|violation| violation.rule)
        .collect()
}

#[test]
fn requests_too_close_together_are_told_with_both() {
    let handle = strict(Politeness {
        delay_ms: Some(10_000),
        ..Politeness::default()
    });
    let [a, b] = [0, 1].map(|host| handle.origin(host).to_owned());
    get(&format!("{a}/robots.txt"));
    get(&format!("{b}/1"));
    assert_eq!(
        handle.summary().violations,
        0,
        "two hosts do not disturb each other"
    );
    get(&format!("{a}/2"));
    let violations = handle.violations();
    assert_eq!(violations.len(), 1);
    assert!(matches!(
        violations[0].rule,
        Rule::TooSoon {
            delay_ms: 10_000,
            ..
        }
    ));
    let before = violations[0].before.as_ref().unwrap();
    assert_eq!(
        (&*before.path, &*violations[0].request.path),
        ("/robots.txt", "/2")
    );
    let told = violations[0].to_string();
    assert!(
        told.contains("GET host-0.test /2: ") && told.contains("10000 ms are due; before it"),
        "{told}"
    );
}

#[test]
fn a_client_that_keeps_the_delay_is_never_accused() {
    const DELAY_MS: u64 = 20;
    let handle = strict(Politeness {
        delay_ms: Some(DELAY_MS),
        open: Some(1),
        ..Politeness::default()
    });
    let mut connection = Connection::to(handle.origin(0));
    for number in 0..25 {
        connection.send("GET", &format!("/{number}"), "");
        // From when it was sent, as a crawler counts; the server may read it later than that.
        let sent = Instant::now();
        connection.reply("GET").unwrap();
        std::thread::sleep(Duration::from_millis(DELAY_MS).saturating_sub(sent.elapsed()));
    }
    assert_eq!(rules(&handle), []);
    assert_eq!(handle.summary().requests, 25);
}

/// The earlier of two requests is read late, because the server is busy: they were still far apart.
#[test]
#[cfg(target_os = "linux")]
fn a_busy_server_does_not_accuse_a_polite_client() {
    let busy = Duration::from_millis(60);
    let web = Web::custom(2, move |request| {
        if request.path == "/busy" {
            std::thread::sleep(busy);
        }
        Answer::text("fine")
    });
    let delay = Duration::from_millis(80);
    let options = Options {
        politeness: Politeness {
            delay_ms: Some(80),
            ..Politeness::default()
        },
        ..Options::default()
    };
    let handle = start(web, options).unwrap();
    let mut polite = [0, 0].map(|host| Connection::to(handle.origin(host)));
    let mut other = Connection::to(handle.origin(1));
    other.send("GET", "/busy", "");
    // By now the server sleeps over the other request.
    std::thread::sleep(busy / 6);
    polite[0].send("GET", "/first", "");
    let sent = Instant::now();
    std::thread::sleep(delay.saturating_sub(sent.elapsed()));
    polite[1].send("GET", "/second", "");
    polite
        .iter_mut()
        .for_each(|connection| assert!(connection.reply("GET").unwrap().whole));
    assert_eq!(rules(&handle), []);
}

#[test]
fn one_at_a_time_over_many_connections_is_one_at_a_time() {
    let handle = strict(Politeness {
        open: Some(1),
        ..Politeness::default()
    });
    let origin = handle.origin(0).to_owned();
    let mut connections: Vec<Connection> = (0..4).map(|_| Connection::to(&origin)).collect();
    for round in 0..400 {
        let path = if round % 50 == 0 { "/large" } else { "/small" };
        connections[round % 4].ask("GET", path, "");
    }
    assert_eq!(rules(&handle), []);
}

#[test]
fn too_many_at_once_are_found() {
    let handle = strict(Politeness {
        open: Some(2),
        ..Politeness::default()
    });
    let origin = handle.origin(0).to_owned();
    let mut connections: Vec<Connection> = (0..3).map(|_| Connection::to(&origin)).collect();
    connections
        .iter_mut()
        .take(2)
        .for_each(|connection| connection.send("GET", "/late", ""));
    get(&format!("{}/other-host", handle.origin(1)));
    while handle.requests().len() < 3 {
        std::thread::yield_now();
    }
    assert_eq!(rules(&handle), []);
    connections[2].ask("GET", "/third", "");
    let violations = handle.violations();
    assert_eq!(violations.len(), 1);
    assert_eq!(
        violations[0].rule,
        Rule::TooManyOpen {
            open: 3,
            allowed: 2
        }
    );
}

#[test]
fn a_client_that_hung_up_has_nothing_open() {
    let handle = strict(Politeness {
        open: Some(1),
        ..Politeness::default()
    });
    let origin = handle.origin(0).to_owned();
    for _ in 0..5 {
        let mut connection = Connection::to(&origin);
        connection.send("GET", "/late", "");
        drop(connection);
        get(&format!("{origin}/next"));
    }
    assert_eq!(rules(&handle), []);
}

#[test]
fn robots_txt_is_kept_to() {
    let handle = strict(Politeness {
        robots: RobotsCheck::First,
        ..Politeness::default()
    });
    let origin = handle.origin(0).to_owned();
    get(&format!("{origin}/early"));
    get(&format!("{origin}/robots.txt"));
    get(&format!("{origin}/fine"));
    get(&format!("{origin}/private/x"));
    let rules = rules(&handle);
    let why = "robots.txt says Disallow: /private".to_owned();
    assert_eq!(rules, [Rule::BeforeRobots, Rule::Disallowed { why }]);
}

#[test]
fn a_crawl_delay_is_part_of_the_delay_once_it_was_read() {
    let options = Options {
        faults: Faults::parse("robots=crawl-delay:5", 1).unwrap(),
        politeness: Politeness {
            delay_ms: Some(0),
            ..Politeness::default()
        },
        ..Options::default()
    };
    let handle = start(Web::custom(1, |_| Answer::text("fine")), options).unwrap();
    let origin = handle.origin(0).to_owned();
    get(&format!("{origin}/before"));
    get(&format!("{origin}/robots.txt"));
    assert_eq!(rules(&handle), []);
    get(&format!("{origin}/after"));
    assert!(matches!(
        rules(&handle)[..],
        [Rule::TooSoon { delay_ms: 5000, .. }]
    ));
}

#[test]
fn hosts_that_share_an_address_can_be_judged_together() {
    // More hosts than addresses: host 64 is where host 0 is.
    let options = Options {
        naming: Naming::ByName,
        politeness: Politeness {
            delay_per_address_ms: Some(10_000),
            ..Politeness::default()
        },
        ..Options::default()
    };
    let handle = start(Web::custom(65, |_| Answer::text("fine")), options).unwrap();
    let hosts = handle.hosts();
    assert_eq!(hosts[0].1, hosts[64].1);
    for host in [0, 1, 64] {
        let (name, address) = &hosts[host];
        Connection::to(&format!("http://{address}")).ask("GET", &format!("http://{name}/"), "");
    }
    assert!(matches!(
        rules(&handle)[..],
        [Rule::TooSoonForAddress { .. }]
    ));
}

#[test]
fn an_impolite_request_can_end_it_all() {
    let told = Arc::new(Mutex::new(Vec::new()));
    let tell = told.clone();
    let options = Options {
        politeness: Politeness {
            delay_ms: Some(10_000),
            ..Politeness::default()
        },
        fail_fast: true,
        on_violation: Some(Arc::new(move |violation| {
            tell.lock().unwrap().push(violation.to_string());
        })),
        ..Options::default()
    };
    let handle = start(Web::custom(1, |_| Answer::text("fine")), options).unwrap();
    let url = format!("{}/", handle.origin(0));
    assert_eq!(get(&url).status, 200);
    assert!(try_get(&url).is_err() && try_get(&url).is_err());
    assert!(handle.is_halted());
    assert_eq!(told.lock().unwrap().len(), 1);
}

#[test]
fn every_request_is_in_the_log_before_its_answer() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("log.tsv");
    let options = Options {
        log: Some(file.clone()),
        requests_kept: 2,
        ..Options::default()
    };
    let handle = start(Web::custom(1, |_| Answer::text("fine")), options).unwrap();
    for number in 0..5 {
        get(&format!("{}/{number}", handle.origin(0)));
        let lines = std::fs::read_to_string(&file).unwrap();
        assert_eq!(lines.lines().count(), number + 2, "{lines}");
        let last: Vec<&str> = lines.lines().last().unwrap().split('\t').collect();
        let path = format!("/{number}");
        assert_eq!(
            last[1..],
            ["host-0.test", "0", "GET", &path, "200", "1", "0"]
        );
    }
    assert_eq!(handle.requests().len(), 2, "memory is bounded");
    assert_eq!(handle.summary().requests, 5);
}

#[test]
fn heads_have_a_limit_and_nonsense_is_refused() {
    let handle = start(Web::custom(1, |_| Answer::text("fine")), Options::default()).unwrap();
    let says = |head: &[u8]| {
        let mut stream =
            TcpStream::connect(handle.origin(0).strip_prefix("http://").unwrap()).unwrap();
        stream.write_all(head).unwrap();
        let mut all = String::new();
        stream.read_to_string(&mut all).unwrap();
        all.split(' ').nth(1).unwrap_or("").to_owned()
    };
    let large = format!("GET / HTTP/1.1\r\nX: {}\r\n\r\n", "x".repeat(16 << 10));
    assert_eq!(says(large.as_bytes()), "431");
    assert_eq!(says(b"\x16\x03\x01 nonsense\r\n\r\n"), "400");
    assert_eq!(says(b"GET x HTTP/1.1\r\n\r\n"), "400");
    assert_eq!(
        says(b"POST / HTTP/1.1\r\nContent-Length: 99999999\r\n\r\n"),
        "413"
    );
    let body = b"POST / HTTP/1.1\r\nContent-Length: 2\r\n\r\nabGET /x HTTP/1.0\r\n\r\n";
    assert_eq!(says(body), "405", "a small body is read and thrown away");
    let paths: Vec<String> = handle
        .requests()
        .iter()
        .map(|r| r.path.to_string())
        .collect();
    assert_eq!(paths, ["/", "/x"]);
}

#[test]
fn connections_have_a_limit() {
    let options = Options {
        connections_max: 2,
        ..Options::default()
    };
    let handle = start(Web::custom(1, |_| Answer::text("fine")), options).unwrap();
    let mut two = [0, 0].map(|host| Connection::to(handle.origin(host)));
    two.iter_mut()
        .for_each(|connection| assert!(connection.ask("GET", "/", "").whole));
    let third = try_get(&format!("{}/", handle.origin(0)));
    assert!(third.is_err(), "a third is closed");
    assert_eq!(two[0].ask("GET", "/", "").status, 200, "the others go on");
}

#[test]
fn silent_connections_are_closed() {
    let options = Options {
        idle_ms: 50,
        ..Options::default()
    };
    let handle = start(Web::custom(1, |_| Answer::text("fine")), options).unwrap();
    let mut silent = Connection::to(handle.origin(0));
    let mut rest = Vec::new();
    silent.stream.read_to_end(&mut rest).unwrap();
    assert!(rest.is_empty(), "closed without a word");
}

#[test]
fn dropping_the_handle_frees_the_port() {
    let handle = start(Web::custom(3, |_| Answer::text("fine")), Options::default()).unwrap();
    let port = handle.port();
    let mut idle = Connection::to(handle.origin(1));
    idle.ask("GET", "/", "");
    drop(handle);
    let options = || Options {
        port,
        ..Options::default()
    };
    let again = start(Web::custom(3, |_| Answer::text("again")), options()).unwrap();
    assert_eq!(again.port(), port);
    assert_eq!(get(&format!("{}/", again.origin(2))).text(), "again");
    let taken = start(Web::custom(1, |_| Answer::text("fine")), options()).unwrap_err();
    assert!(taken.to_string().contains("choose another port"), "{taken}");
}
