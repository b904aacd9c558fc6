//! Rows Q1 and Q2: sites that answer 200 for everything, and what a visitor makes of them.

use turnstone_fetch::Url;
use turnstone_fetch::html::{PageInput, PageLimits, read_page};
use turnstone_fetch::soft404::{HostEvidence, PageFacts, SoftOptions, Verdict, judge};

use super::site::{AGENT, Reply, Site, client, land, ok, redirect, reply};

/// A page of its own, by its path.
fn article(path: &str) -> String {
    let seed = path.bytes().fold(7_u32, |sum, byte| {
        sum.wrapping_mul(31).wrapping_add(byte.into())
    });
    let words: Vec<String> = (0..120_u32)
        .map(|n| format!("w{}", seed.wrapping_mul(n + 1) >> 22))
        .collect();
    format!("<title>On {path}</title><p>{}", words.join(" "))
}

const ERROR: &str = "<title>Our shop</title><p>We looked everywhere for what you wanted, and it \
                     is nowhere to be found in this house; perhaps the search above helps you on.";

async fn facts(url: &Url) -> PageFacts {
    let client = client();
    let (landed, response) = land(&client, url.clone()).await;
    let input = PageInput {
        url: &landed,
        content_type: None,
        body: &response.decoded(client.limits()).body,
        agent: AGENT,
    };
    let page = read_page(input, &PageLimits::default());
    PageFacts::of_page(url, &landed, response.status, &page)
}

/// Judges pages as a crawl does; a word for each, and how many probes the site saw.
async fn check(
    answer: impl Fn(&str) -> Reply + Send + Sync + 'static,
    pages: &[(&str, &str)],
    probes: usize,
) {
    let site = Site::start(answer).await;
    let mut host = HostEvidence::default();
    let mut token = 0x0123_4567_89ab_cdef;
    let mut probed = Vec::new();
    for (path, want) in pages {
        let page = facts(&site.url(path)).await;
        host.add_page(&page);
        let verdict = loop {
            token += 77_777;
            match judge(&page, &host, 100, token, &SoftOptions::default()) {
                Verdict::Probe { url, directory } => {
                    probed.push(url.path().to_owned());
                    host.add_probe(&directory, facts(&url).await, 100);
                }
                verdict => break verdict,
            }
        };
        let word = match &verdict {
            Verdict::Alive(_) => "alive",
            Verdict::HardGone(_) => "gone, and says so",
            Verdict::SoftGone(_) => "gone",
            Verdict::Unknown(_) => "unknown",
            Verdict::Probe { .. } => unreachable!("the loop goes on"),
        };
        assert_eq!(word, *want, "{path}: {verdict:?}");
    }
    let asked = site.asked();
    for path in &probed {
        assert_eq!(asked.matches(path.as_str()).count(), 1, "{path} in {asked}");
    }
    assert_eq!(probed.len(), probes);
}

#[tokio::test]
async fn q1_sites_that_do_not_say_gone() {
    let real = |path: &str| path.starts_with("/shop/item") || path == "/";
    // Twelve pages of one directory, every third of them gone: one probe.
    let paths: Vec<(String, &str)> = (0..12)
        .map(|n| match n % 3 {
            0 => (format!("/shop/was{n}"), "gone"),
            _ => (format!("/shop/item{n}"), "alive"),
        })
        .collect();
    let pages: Vec<(&str, &str)> = paths.iter().map(|(p, want)| (p.as_str(), *want)).collect();
    check(
        move |path| {
            if real(path) {
                ok(article(path))
            } else {
                ok(ERROR)
            }
        },
        &pages,
        1,
    )
    .await;
    let home = move |path: &str| {
        if real(path) {
            ok(article(path))
        } else {
            redirect("/")
        }
    };
    check(home, &pages, 1).await;
    let error_page = move |path: &str| match path {
        "/error" => ok(ERROR),
        _ if real(path) => ok(article(path)),
        _ => redirect("/error"),
    };
    check(error_page, &pages, 1).await;
    // One that is honest is believed; each directory has its own probe.
    let honest = move |path: &str| match path {
        "/other/page" => ok(article(path)),
        _ if real(path) => ok(article(path)),
        _ => reply(404, &[], ERROR),
    };
    let pages = [
        ("/shop/item1", "alive"),
        ("/shop/was", "gone, and says so"),
        ("/other/page", "alive"),
        ("/", "alive"),
    ];
    check(honest, &pages, 2).await;
}

#[tokio::test]
async fn q2_a_login_wall() {
    let wall = "<title>Sign in</title>Please sign in to go on reading.<input type=password>";
    let pages = [("/a/one", "unknown"), ("/a/two", "unknown")];
    check(move |_| ok(wall), &pages, 1).await;
    let to_wall = move |path: &str| match path.split('?').next() {
        Some("/login") => ok(wall),
        _ => redirect(format!("/login?next={path}")),
    };
    check(to_wall, &pages, 0).await;
}
