//! Every fault as a raw client sees it, and that a run can be repeated.

use std::collections::HashSet;
use std::io::{ErrorKind, Read as _};
use std::time::{Duration, Instant};

use turnstone_frontier::PageId;
use turnstone_lab::serve::{Faults, GraphPages, Handle, Options, Web, start};
use turnstone_lab::web::GraphWeb;
use turnstone_linkgraph::LinkGraph;

use crate::serve_client::{Connection, Reply, get, links, path_of, try_get};

/// Pages in a ring, with faults.
fn ring(pages: u32, faults: &str, seed: u64) -> Handle {
    let links: Vec<(u32, u32)> = (0..pages).map(|page| (page, (page + 1) % pages)).collect();
    let web = GraphWeb {
        graph: LinkGraph::from_links(pages as usize, &links),
        urls: None,
    };
    let look = GraphPages {
        page_bytes: 2000,
        ..GraphPages::default()
    };
    let options = Options {
        faults: Faults::parse(faults, seed).unwrap(),
        ..Options::default()
    };
    start(Web::graph(web, look), options).unwrap()
}

fn page(handle: &Handle, number: u32) -> String {
    handle.url_of(PageId(number))
}

#[test]
fn a_late_answer_is_late_and_whole() {
    let handle = ring(3, "slow:ms=120,recover=0", 1);
    let began = Instant::now();
    let reply = get(&page(&handle, 0));
    assert!(began.elapsed() >= Duration::from_millis(120) && reply.whole);
    assert_eq!(reply.status, 200);
}

#[test]
fn errors_recover_as_told() {
    let handle = ring(3, "429:retry-after=7,recover=1", 1);
    let reply = get(&page(&handle, 0));
    assert_eq!(
        (reply.status, reply.header("retry-after")),
        (429, Some("7"))
    );
    assert_eq!(
        get(&page(&handle, 0)).status,
        200,
        "recover=1: the second attempt is well"
    );
    let handle = ring(3, "5xx:status=502,recover=0", 1);
    assert!(
        (0..5).all(|_| get(&page(&handle, 0)).status == 502),
        "recover=0: never"
    );
    assert_eq!(get(&format!("{}/robots.txt", handle.origin(0))).status, 200);
    let attempts: Vec<u32> = handle
        .requests()
        .iter()
        .map(|request| request.attempt)
        .collect();
    assert_eq!(attempts, [0, 1, 2, 3, 4, 0]);
}

#[test]
fn a_fault_of_one_host_leaves_the_others_alone() {
    let web = GraphWeb {
        graph: LinkGraph::from_links(4, &[(0, 1), (1, 2), (2, 3)]),
        urls: None,
    };
    let look = GraphPages {
        hosts: 2,
        ..GraphPages::default()
    };
    let options = Options {
        faults: Faults::parse("gone:host=1", 1).unwrap(),
        ..Options::default()
    };
    let handle = start(Web::graph(web, look), options).unwrap();
    let asked = [0, 1, 2, 3, 1].map(|number| get(&page(&handle, number)).status);
    assert_eq!(asked, [200, 404, 200, 404, 404], "what is gone stays gone");
}

#[test]
fn a_reset_is_a_reset() {
    let handle = ring(3, "reset:recover=0", 1);
    let fault = try_get(&page(&handle, 0)).unwrap_err();
    assert_eq!(fault.kind(), ErrorKind::ConnectionReset, "{fault}");
    assert_eq!(handle.requests()[0].status, 0);
}

#[test]
fn half_a_head_comes_and_then_silence() {
    let handle = ring(3, "half-head:ms=80,recover=0", 1);
    let mut connection = Connection::to(&page(&handle, 0));
    let began = Instant::now();
    connection.send("GET", "/p/0", "");
    let mut all = String::new();
    connection.stream.read_to_string(&mut all).unwrap();
    assert!(began.elapsed() >= Duration::from_millis(80));
    assert!(
        all.starts_with("HTTP/1.1 200 OK\r\n") && !all.contains("\r\n\r\n"),
        "{all}"
    );
}

#[test]
fn a_drip_comes_in_pieces_over_time() {
    let handle = ring(3, "drip:bytes=500,ms=25,recover=0", 1);
    let mut connection = Connection::to(&page(&handle, 0));
    let began = Instant::now();
    connection.send("GET", "/p/0", "");
    let reply = connection.reply("GET").unwrap();
    assert!(
        reply.whole && began.elapsed() >= Duration::from_millis(100),
        "{:?}",
        began.elapsed()
    );
    // The connection is as good as before.
    assert_eq!(connection.ask("GET", "/robots.txt", "").status, 200);
}

#[test]
fn a_truncated_body_is_shorter_than_announced() {
    let handle = ring(3, "truncate:share=0.25,recover=0", 1);
    let reply = get(&page(&handle, 0));
    let announced: usize = reply.header("content-length").unwrap().parse().unwrap();
    assert!(
        !reply.whole && reply.body.len() == announced / 4,
        "{}",
        reply.body.len()
    );
}

#[test]
fn redirects_lead_to_the_page_in_as_many_hops() {
    let handle = ring(3, "redirect:hops=3,status=308", 1);
    let mut url = page(&handle, 1);
    let mut hops = Vec::new();
    let landed: Reply = loop {
        let reply = get(&url);
        let Some(location) = reply.header("location") else {
            break reply;
        };
        url = format!("{}{location}", handle.origin(0));
        hops.push(reply.status);
    };
    assert_eq!(hops, [308, 301, 301]);
    assert_eq!(links(&url, &landed.text()), [page(&handle, 2)]);
}

#[test]
fn what_is_missing_can_pretend_not_to_be() {
    let missing = |faults: &str| {
        let handle = ring(3, faults, 1);
        let reply = get(&format!("{}/nowhere", handle.origin(0)));
        (
            reply.status,
            reply.header("location").map(str::to_owned),
            reply.body,
        )
    };
    assert_eq!(missing("").0, 404);
    let (status, _, apology) = missing("soft404");
    assert_eq!((status, &apology), (200, &missing("soft404:as=page").2));
    let (status, location, _) = missing("soft404:as=home");
    assert_eq!((status, location.as_deref()), (302, Some("/")));
}

#[test]
fn every_trap_is_linked_from_the_entry_and_goes_on_and_on() {
    let handle = ring(4, "trap=calendar|session|facets|depth", 1);
    let entry = page(&handle, 0);
    let found = links(&entry, &get(&entry).text());
    assert_eq!(
        found.len(),
        5,
        "one recorded link and four traps: {found:?}"
    );
    assert_eq!(links(&entry, &get(&page(&handle, 1)).text()).len(), 1);
    for start in &found[1..] {
        let mut seen = HashSet::new();
        let mut url = start.clone();
        for _ in 0..5 {
            assert!(seen.insert(url.clone()), "{url} comes again");
            let reply = get(&url);
            assert_eq!(reply.status, 200, "{url}");
            let next = links(&url, &reply.text());
            let next = if url.contains("calendar") {
                &next[1]
            } else {
                &next[0]
            };
            url = if next.starts_with("http") {
                next.clone()
            } else {
                format!("{url}{next}")
            };
        }
    }
    for wrong in [
        "/~trap/calendar/2026/13",
        "/~trap/none/",
        "/~trap/calendar/2026/11/31",
    ] {
        assert_eq!(
            get(&format!("{}{wrong}", handle.origin(0))).status,
            404,
            "{wrong}"
        );
    }
}

#[test]
fn faults_hit_their_share_and_the_same_paths_again_with_the_same_seed() {
    let statuses = |seed: u64, order: &[u32]| {
        let handle = ring(
            400,
            "5xx:rate=0.1,recover=0.5;429:rate=0.2;truncate:rate=0.1",
            seed,
        );
        let mut statuses = vec![Vec::new(); 400];
        for _ in 0..3 {
            let mut connection = Connection::to(handle.origin(0));
            for &number in order {
                let path = page(&handle, number);
                let mut reply = connection.ask("GET", path_of(&path), "");
                if !reply.whole {
                    reply.status = 0;
                    connection = Connection::to(handle.origin(0));
                }
                statuses[number as usize].push(reply.status);
            }
        }
        statuses
    };
    let forward: Vec<u32> = (0..400).collect();
    let backward: Vec<u32> = (0..400).rev().collect();
    let seen = statuses(1, &forward);
    assert_eq!(
        seen,
        statuses(1, &backward),
        "whatever the order of requests"
    );
    assert_ne!(seen, statuses(2, &forward));
    let count = |attempt: usize, status: u16| seen.iter().filter(|s| s[attempt] == status).count();
    assert!((20..=60).contains(&count(0, 503)), "{}", count(0, 503));
    assert!((45..=100).contains(&count(0, 429)), "{}", count(0, 429));
    assert!((10..=55).contains(&count(0, 0)), "{}", count(0, 0));
    assert!(count(2, 503) * 2 < count(0, 503), "they recover");
    for statuses in &seen {
        let well = statuses
            .iter()
            .position(|status| *status == 200)
            .unwrap_or(3);
        assert!(
            statuses[well..].iter().all(|status| *status == 200),
            "for good: {statuses:?}"
        );
    }
}

#[test]
fn robots_txt_fails_as_told() {
    let robots = |faults: &str| {
        let handle = ring(3, faults, 1);
        let mut url = format!("{}/robots.txt", handle.origin(0));
        let mut hops = 0;
        loop {
            let reply = get(&url);
            let Some(location) = reply.header("location") else {
                return (hops, reply.status, reply.text());
            };
            url = format!("{}{location}", handle.origin(0));
            hops += 1;
        }
    };
    assert_eq!(
        robots(""),
        (0, 200, "User-agent: *\nDisallow:\n".to_owned())
    );
    let (_, _, text) = robots("robots=disallow:/private;robots=crawl-delay:2");
    assert_eq!(text, "User-agent: *\nDisallow: /private\nCrawl-delay: 2\n");
    for status in [404, 429, 500] {
        assert_eq!(robots(&format!("robots={status}")).1, status);
    }
    assert_eq!(robots("robots=redirect-chain").0, 5);
    assert!(robots("robots=huge").2.len() > 600 << 10);
}

#[test]
fn a_fault_that_is_not_one_is_refused_with_what_there_is() {
    let says = |text: &str| Faults::parse(text, 1).unwrap_err().to_string();
    assert!(says("slwo:rate=1").contains("there is no fault 'slwo'; there are reset"));
    assert!(says("slow:rate=2").contains("rate must be between 0 and 1"));
    assert!(says("slow:speed=2").contains("there is no parameter 'speed'; there are rate"));
    assert!(says("slow:ms").contains("not key=value"));
    assert!(says("slow:ms=1,ms=2").contains("stands twice"));
    assert!(says("trap=door").contains("there is no trap 'door'"));
    assert!(says("robots=nowhere.txt").contains("nor a file that can be read"));
    assert!(says("drip:ms=99999999999").contains("from 1 to 3600000"));
}
