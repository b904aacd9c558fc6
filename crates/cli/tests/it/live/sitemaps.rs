//! Sitemaps and feeds beside the links of a crawl: what they name is fetched, and proves nothing.

use std::process::Command;

use serde_json::Value;
use turnstone_lab::serve::{Answer, Handle, Options, Request, Web, start};
use turnstone_pagestore::{PageState, Store};

use super::audit;
use super::crawler::Crawler;

/// Pages that links lead to from the front page.
const LINKED: [&str; 6] = ["/", "/a", "/b", "/c", "/linked.xml", "/x/1"];
/// Pages that only a sitemap, a feed, or a page named so leads to; and the lists themselves.
const LISTED: [&str; 9] = [
    "/index.xml",
    "/s1.xml",
    "/feed.xml",
    "/only/1",
    "/only/2",
    "/deep/1",
    "/deep/2",
    "/post/1",
    "/only/target",
];

fn answer(request: &Request<'_>) -> Answer {
    let list = |paths: &[&str]| {
        let origin = &request.origins[request.host];
        let entry = |path: &&str| format!("<url><loc>{origin}{path}</loc></url>");
        let entries: String = paths.iter().map(entry).collect();
        let head = "<urlset xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\">";
        Answer::ok("application/xml", format!("{head}{entries}</urlset>"))
    };
    match request.path {
        "/robots.txt" => Answer::text("User-agent: *\nDisallow: /closed/\nSitemap: /index.xml\n"),
        "/" => Answer::html(
            "<link rel=alternate type=application/rss+xml href=/feed.xml><p>front \
             <a href=/a>a</a> <a href=/b>b</a> <a href=/dead>dead</a>",
        ),
        "/a" => Answer::html("<p>page a <a href=/c>c</a> <a href=/>up</a>"),
        "/b" => Answer::html("<p>page b <a href=/linked.xml>a sitemap that is linked</a>"),
        "/c" => Answer::html("<p>page c <a href=/a>a</a>"),
        "/linked.xml" => list(&["/x/1", "/a"]),
        "/index.xml" => Answer::ok(
            "application/xml",
            format!(
                "<sitemapindex xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\"><sitemap><loc>{}/s1.xml\
                 </loc></sitemap></sitemapindex>",
                request.origins[request.host]
            ),
        ),
        "/s1.xml" => list(&[
            "/a",
            "/only/1",
            "/only/2",
            "/only/moved",
            "/only/gone",
            "/closed/1",
        ]),
        "/feed.xml" => Answer::ok(
            "application/rss+xml",
            format!(
                "<rss version=\"2.0\"><channel><item><link>{}/post/1</link></item></channel></rss>",
                request.origins[request.host]
            ),
        ),
        "/only/1" => Answer::html("<p>only 1 <a href=/deep/1>deep</a> <a href=/c>c</a>"),
        "/deep/1" => Answer::html("<p>deep 1 <a href=/deep/2>deeper</a>"),
        "/only/moved" => Answer::redirect(301, "/only/target"),
        "/dead" | "/only/gone" => Answer::not_found(),
        path => Answer::html(format!("<p>{path} is an ordinary page")),
    }
}

fn site() -> Handle {
    start(Web::custom(1, answer), Options::default()).unwrap()
}

fn crawl(server: &Handle, more: &str) -> (Crawler, Value) {
    let crawler = Crawler::new(&format!(
        "{}/ --json --allow-private --delay 0s --connections 1 {more}",
        server.origin(0)
    ));
    crawler.finish();
    let summary = serde_json::from_str(&crawler.printed()).unwrap();
    (crawler, summary)
}

/// The paths of the pages that are stored.
fn stored(crawler: &Crawler, server: &Handle) -> Vec<String> {
    let store = Store::look(&crawler.directory()).unwrap();
    let pages = audit::pages(&store);
    let stored = pages
        .iter()
        .filter(|(_, state)| **state == PageState::Fetched);
    let path = |url: &String| url.strip_prefix(server.origin(0)).unwrap().to_owned();
    let mut paths: Vec<String> = stored.map(|(url, _)| path(url)).collect();
    paths.sort();
    paths
}

fn sorted(paths: &[&[&str]]) -> Vec<String> {
    let mut all: Vec<String> = paths.concat().into_iter().map(str::to_owned).collect();
    all.sort();
    all
}

#[test]
fn sitemaps_complete_a_crawl_and_prove_nothing() {
    let server = site();
    let (with, told) = crawl(&server, "--until all");
    let (without, told_without) = crawl(&server, "--until all --no-sitemaps");
    assert_eq!(stored(&with, &server), sorted(&[&LINKED, &LISTED]));
    assert_eq!(stored(&without, &server), sorted(&[&LINKED]));
    for what in ["guaranteed", "upper_bound", "provable"] {
        assert!(told[what].is_f64(), "{told}");
        assert_eq!(told[what], told_without[what], "{what}");
    }
    // The nine, the redirect, the dead and the closed page.
    assert_eq!(told["listed"]["known"], 12);
    assert_eq!(told["listed"]["stored"], 9);
    assert_eq!(told_without["listed"]["known"], 0);
    assert!(
        !server
            .requests()
            .iter()
            .any(|request| request.path.starts_with("/closed/")),
        "robots.txt holds for what sitemaps name"
    );
    // Links of pages come before everything that only lists name.
    let requests = server.requests();
    let first = requests.iter().position(|it| &*it.path == "/index.xml");
    let linked_after = requests.iter().skip(first.unwrap()).take(9);
    assert!(
        linked_after
            .into_iter()
            .all(|it| !LINKED.contains(&&*it.path))
    );

    let why = |path: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_turnstone"));
        let url = format!("{}{path}", server.origin(0));
        let directory = with.directory();
        let output = command.arg("why").arg(directory).arg(url).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    let told = why("/only/1");
    assert!(told.contains("by way of a sitemap"), "{told}");
    assert!(told.contains("/s1.xml"), "{told}");
    assert!(!why("/c").contains("by way of a sitemap"));
}

#[test]
fn a_proof_does_not_wait_for_sitemaps_and_they_can_be_read_later() {
    let server = site();
    let (crawler, told) = crawl(&server, "--until coverage=90%");
    assert_eq!(told["stopped_by"], "coverage");
    assert_eq!(told["listed"]["stored"], 0);
    let rest = Crawler::resume(crawler, "--until all --json");
    rest.finish();
    assert_eq!(stored(&rest, &server), sorted(&[&LINKED, &LISTED]));
    let asked: Vec<String> = server
        .requests()
        .iter()
        .map(|it| it.path.to_string())
        .collect();
    for path in LINKED.iter().chain(&LISTED) {
        assert_eq!(
            asked.iter().filter(|it| it == path).count(),
            1,
            "{path}: {asked:?}"
        );
    }
}

#[test]
fn every_policy_comes_to_what_only_sitemaps_name() {
    for policy in [
        "rankmass:push=exact",
        "windowed-rankmass",
        "l-neighbor",
        "breadth-first",
    ] {
        let server = site();
        let (crawler, _) = crawl(&server, &format!("--policy {policy} --until all"));
        assert_eq!(
            stored(&crawler, &server),
            sorted(&[&LINKED, &LISTED]),
            "{policy}"
        );
        assert!(server.violations().is_empty());
    }
}
