//! Webs full of what real ones are full of: redirects that lead nowhere, one page by many names,
//! copies, endless corners.

use std::fs;

use turnstone_lab::serve::{
    Answer, Delivery, Faults, GraphPages, Handle, Options, Politeness, Request, RobotsCheck, Web,
    start,
};
use turnstone_lab::web::GraphWeb;
use turnstone_linkgraph::LinkGraph;
use turnstone_pagestore::{PageState, Store, warc};

use super::archive_tools::{Wayback, warcio_check};
use super::audit;
use super::crawler::Crawler;

/// Serves what a function answers; nobody may be asked before its robots.txt was.
fn serve(hosts: u32, answer: impl Fn(&Request<'_>) -> Answer + Send + Sync + 'static) -> Handle {
    let options = Options {
        politeness: Politeness {
            robots: RobotsCheck::First,
            ..Politeness::default()
        },
        ..Options::default()
    };
    start(Web::custom(hosts, answer), options).unwrap()
}

fn crawl(server: &Handle, more: &str) -> Crawler {
    let crawler = Crawler::new(&format!(
        "{}/ --allow-private --everywhere --clock-scale 100 --policy breadth-first {more}",
        server.origin(0)
    ));
    crawler.finish();
    assert_eq!(server.violations(), []);
    crawler
}

fn asked(server: &Handle, path: &str) -> usize {
    let requests = server.requests();
    requests.iter().filter(|r| &*r.path == path).count()
}

fn state(crawler: &Crawler, url: &str) -> PageState {
    let store = Store::look(&crawler.directory()).unwrap();
    audit::pages(&store)[url]
}

#[test]
fn t13_t14_t15_r16_redirects_go_through_everything() {
    let server = serve(2, |request| {
        let other = &request.origins[1];
        let chain = request.path.strip_prefix("/chain/");
        match (request.host, request.path) {
            (_, "/robots.txt") => Answer::text("User-agent: *\nDisallow: /private\n"),
            (0, "/") => Answer::html(
                [
                    "loop/a", "chain/0", "self", "empty", "part", "file", "js", "secret", "other",
                ]
                .map(|path| format!("<a href=/{path}>{path}</a>\n"))
                .concat(),
            ),
            (0, "/loop/a") => Answer::redirect(301, "/loop/b"),
            (0, "/loop/b") => Answer::redirect(302, "/loop/a"),
            (0, "/self") => Answer::redirect(307, "/self").header("Set-Cookie", "a=b"),
            (0, "/empty") => Answer::redirect(301, ""),
            (0, "/part") => Answer::redirect(301, "../target#part"),
            (0, "/target") => Answer::html("<p>here"),
            (0, "/file") => Answer::redirect(301, "file:///etc/passwd"),
            (0, "/js") => Answer::redirect(301, "javascript:alert(1)"),
            (0, "/secret") => Answer::redirect(301, "/private/page"),
            (0, "/other") => Answer::redirect(301, &format!("{other}/there")),
            (1, "/there") => Answer::html("<p>there"),
            _ => match chain.and_then(|hop| hop.parse::<u32>().ok()) {
                Some(hop) => Answer::redirect(301, &format!("/chain/{}", hop + 1)),
                None => Answer::not_found(),
            },
        }
    });
    let crawler = crawl(&server, "--delay 0s");
    let url = |path: &str| format!("{}{path}", server.origin(0));
    for path in ["/loop/a", "/loop/b", "/self", "/empty", "/file", "/js"] {
        assert_eq!(asked(&server, path), 1, "{path}");
    }
    for path in ["/self", "/file", "/js", "/private/page"] {
        assert_eq!(state(&crawler, &url(path)), PageState::Refused, "{path}");
    }
    assert_eq!(asked(&server, "/private/page"), 0);
    assert_eq!(asked(&server, "/chain/10"), 1);
    assert_eq!(asked(&server, "/chain/11"), 0, "ten redirects in a row");
    assert_eq!(state(&crawler, &url("/target")), PageState::Fetched);
    let there = format!("{}/there", server.origin(1));
    assert_eq!(state(&crawler, &there), PageState::Fetched);
    audit::check(&crawler.directory());
}

/// Rules that cannot be read might forbid anything: nothing is asked for until they can.
#[test]
fn r4_robots_that_broke_off_or_cannot_be_decoded_is_unreachable() {
    let rules = "User-agent: *\nDisallow: /private\n";
    let gzip_of_nothing = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 0xff, 0xff, 0xff, 0xff];
    let gzip = Answer {
        body: gzip_of_nothing,
        ..Answer::text("").header("Content-Encoding", "gzip")
    };
    let half = Answer::text(rules).deliver(Delivery::Truncate { bytes: 20 });
    for (what, broken) in [("gzip", gzip), ("half", half)] {
        let server = serve(1, move |request| match request.path {
            "/robots.txt" if request.attempt < 2 => broken.clone(),
            "/robots.txt" => Answer::text(rules),
            _ => Answer::html("<a href=/private/page>secret</a>"),
        });
        // Twenty seconds until it is asked again, then forty; below they pass a hundred times faster.
        let crawler = Crawler::new(&format!(
            "{}/ --allow-private --everywhere --policy breadth-first --delay 0s --until time=1s",
            server.origin(0)
        ));
        crawler.finish();
        assert_eq!(
            asked(&server, "/robots.txt"),
            1,
            "{what}: it is let be for a while"
        );
        assert_eq!(asked(&server, "/"), 0, "{what}");
        let crawler = Crawler::resume(crawler, "--clock-scale 100 --until time=60s");
        crawler.finish();
        assert_eq!(asked(&server, "/robots.txt"), 3, "{what}");
        assert_eq!(asked(&server, "/"), 1, "{what}");
        assert_eq!(asked(&server, "/private/page"), 0, "{what}");
    }
}

#[test]
fn a_page_found_before_becomes_a_seed() {
    for policy in ["rankmass", "breadth-first"] {
        let server = serve(1, |request| match request.path {
            "/" => Answer::html("<a href=/a>a</a><a href=/b>b</a><a href=/c>c</a>"),
            "/a" | "/b" | "/c" => Answer::html(format!("<p>{}</p>", request.path)),
            _ => Answer::not_found(),
        });
        let origin = server.origin(0);
        let arguments = format!("--allow-private --delay 0s --policy {policy}");
        let crawler = Crawler::new(&format!("{origin}/ {arguments} --until pages=1"));
        crawler.finish();
        let crawler = Crawler::resume(crawler, &format!("{origin}/c --until pages=2"));
        crawler.finish();
        let said = crawler.said();
        assert!(
            said.contains("/c was found before and is a seed from now on"),
            "{said}"
        );
        let store = Store::look(&crawler.directory()).unwrap();
        assert_eq!(store.index().seeds().len(), 2);
        if policy == "rankmass" {
            // Half of all trust is at it now.
            let third = format!("{origin}/c");
            assert_eq!(audit::pages(&store)[&third], PageState::Fetched);
        }
        drop(store);
        let crawler = Crawler::resume(crawler, "--until pages=100");
        crawler.finish();
        let store = Store::look(&crawler.directory()).unwrap();
        assert_eq!(store.index().count(PageState::Fetched), 4);
        assert_eq!(crawler.said().matches("was found before").count(), 1);
    }
}

#[test]
fn u6_one_page_by_many_names_is_fetched_once() {
    let server = serve(1, |request| match request.path {
        "/robots.txt" => Answer::not_found(),
        "/" => {
            let origin = request.origin();
            let upper = origin.replace("http", "HTTP");
            let names = [
                format!("{origin}/a/~b"),
                format!("{upper}/a/~b"),
                "/a/%7Eb".into(),
                "/a/%7eb".into(),
                "/a/./~b".into(),
                "/a/x/../~b".into(),
                "/a/~b#part".into(),
                "/a/~b?".into(),
                "/%61/~b".into(),
                " /a/~b ".into(),
                "a/~b".into(),
                "/a/~b?PHPSESSID=0123456789abcdef0123456789abcdef".into(),
            ];
            Answer::html(
                names
                    .map(|name| format!("<a href=\"{name}\">x</a>"))
                    .concat(),
            )
        }
        _ => Answer::html("<p>found"),
    });
    let crawler = crawl(&server, "--delay 0s");
    let store = Store::look(&crawler.directory()).unwrap();
    assert_eq!(store.index().page_count(), 2, "{:?}", audit::pages(&store));
    assert_eq!(server.request_count(), 3);
}

#[test]
fn t16_t17_a_host_that_asks_for_time_gets_it() {
    let server = serve(1, |request| match (request.path, request.attempt) {
        ("/robots.txt", _) => Answer::text(""),
        ("/", _) => Answer::html("<a href=/busy>1</a><a href=/same>2</a><a href=/next>3</a>"),
        // The crawl's clock runs a hundred times faster.
        ("/busy", 0) => Answer::status(429).header("Retry-After", "80"),
        ("/same", 0) => Answer::status(304),
        _ => Answer::html(format!("<p>{}", request.path)),
    });
    let crawler = crawl(&server, "--delay 0s");
    let requests = server.requests();
    let busy = requests.iter().position(|r| &*r.path == "/busy").unwrap();
    let gap = requests[busy + 1].arrived_us - requests[busy].arrived_us;
    assert!(gap >= 800_000, "{gap} us after it asked for 0.8 s");
    for path in ["/busy", "/same", "/next"] {
        let url = format!("{}{path}", server.origin(0));
        assert_eq!(state(&crawler, &url), PageState::Fetched, "{path}");
    }
    assert_eq!(
        asked(&server, "/same"),
        2,
        "a 304 that nobody asked for is no page"
    );
}

#[test]
fn r12_rules_that_change_are_obeyed() {
    let server = serve(1, |request| match (request.path, request.attempt) {
        ("/robots.txt", 0) => Answer::text("").header("Cache-Control", "max-age=300"),
        ("/robots.txt", _) => Answer::text("User-agent: *\nDisallow: /late/\n"),
        ("/", _) => {
            let links = (0..60).map(|page| format!("<a href=/late/{page}>x</a>"));
            Answer::html(links.collect::<String>())
        }
        (path, _) => Answer::html(format!("<p>{path}")),
    });
    // Rules live 300 s at least: 3 s at this pace, in which about half of the pages come.
    let crawler = crawl(&server, "--delay 10s");
    assert_eq!(asked(&server, "/robots.txt"), 2);
    let store = Store::look(&crawler.directory()).unwrap();
    let refused = store.index().count(PageState::Refused);
    assert!((5..58).contains(&refused), "{refused}");
    assert_eq!(store.index().stored_count() + refused, 61);
}

#[test]
fn p2_w4_the_same_body_again_is_a_revisit() {
    let server = serve(2, |request| match request.path {
        "/robots.txt" => Answer::not_found(),
        "/" => {
            let links = (0..40).map(|page| {
                let origin = &request.origins[page % 2];
                format!("<a href={origin}/copy/{page}>x</a>")
            });
            Answer::html(links.collect::<String>())
        }
        path => match path.strip_prefix("/copy/").map(str::parse::<u32>) {
            Some(Ok(_)) => {
                Answer::html("<p>The same everywhere. The same everywhere. The same everywhere.")
            }
            _ => Answer::not_found(),
        },
    });
    let crawler = crawl(&server, "--delay 4s");
    let lines = audit::lines(&crawler.directory().join("warc"));
    let copies: Vec<_> = lines
        .values()
        .filter(|line| line.url.contains("/copy/"))
        .collect();
    let urls: std::collections::BTreeSet<_> = copies.iter().map(|line| &line.url).collect();
    assert_eq!(urls.len(), 40, "all are recorded");
    let revisits = copies
        .iter()
        .filter(|line| line.mime.as_deref() == Some("warc/revisit"))
        .count();
    assert!((10..40).contains(&revisits), "{revisits}");
    audit::check(&crawler.directory());
}

/// What other tools make of a crawled town: all of it, byte for byte.
#[test]
fn w1_warcio_and_pywb_read_a_crawl() {
    let body = |page: usize| format!("<p>{}</p>", "ünïcödé and more ".repeat(1 + page * 7));
    let server = serve(1, move |request| match request.path {
        "/robots.txt" => Answer::not_found(),
        "/" => {
            let links = (1..12).map(|page| format!("<a href=/p/{page}>x</a>"));
            Answer::html(links.collect::<String>())
        }
        path => match path.strip_prefix("/p/").and_then(|page| page.parse().ok()) {
            Some(page) => Answer::html(body(page)),
            None => Answer::not_found(),
        },
    });
    let crawler = crawl(&server, "--delay 0s");
    let directory = crawler.directory();
    warcio_check(&audit::warc_files(&directory.join("warc")));
    fs::write(
        directory.join("config.yaml"),
        "collections:\n  ours:\n    index_paths: ./warc/index.cdxj\n    archive_paths: ./warc/\n",
    )
    .unwrap();
    let wayback = Wayback::start(&directory);
    for line in audit::lines(&directory.join("warc")).values() {
        let time = warc::index_time(line.date_ms);
        let answer = wayback.get(&format!("/ours/{time}id_/{}", line.url));
        assert_eq!(answer.status, 200, "{}: {}", line.url, answer.head);
        if let Some((_, page)) = line.url.split_once("/p/") {
            let expected = body(page.parse().unwrap());
            assert!(answer.body == expected.as_bytes(), "{}", line.url);
        }
    }
}

#[test]
fn p1_traps_take_no_more_than_their_share() {
    let links: Vec<(u32, u32)> = (0..80).map(|page| (page / 2, page)).collect();
    let web = GraphWeb {
        graph: LinkGraph::from_links(80, &links),
        urls: None,
    };
    let options = Options {
        faults: Faults::parse("trap=calendar|session|facets|depth", 1).unwrap(),
        ..Options::default()
    };
    let pages = GraphPages {
        page_bytes: 400,
        ..GraphPages::default()
    };
    let server = start(Web::graph(web, pages), options).unwrap();
    let crawler = Crawler::new(&format!(
        "{} --allow-private --delay 0s --policy breadth-first --pattern-trust 40 --until requests=6000",
        server.url_of(turnstone_frontier::PageId(0))
    ));
    crawler.finish();
    let real = server.requests();
    let real = real.iter().filter(|r| r.path.starts_with("/p/")).count();
    assert_eq!(real, 80, "every real page is fetched");
    let all = server.request_count();
    assert!(all < 2_000, "{all} requests, the most of them into traps");
}
