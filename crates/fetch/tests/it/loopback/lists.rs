//! Rows M1 to M4: sitemaps and feeds as a server sends them, read.

use turnstone_fetch::feed::{Feed, FeedInput, FeedLimits, read_feed};
use turnstone_fetch::robots::Rules;
use turnstone_fetch::sitemap::{
    Sitemap, SitemapInput, SitemapLimits, SitemapWalk, WalkLimits, read_sitemap,
};
use turnstone_fetch::{Client, Request, Response, Url};

use super::site::{AGENT, Reply, Site, gone, ok, reply, wide_client};
use crate::decoding::ENCODERS;

fn content_type(response: &Response) -> Option<&str> {
    response.headers.get("content-type")?.to_str().ok()
}

async fn read(client: &Client, url: &Url, vouching_hosts: &[&str]) -> Sitemap {
    let response = client.fetch(Request::get(url.clone())).await.unwrap();
    let decoded = response.decoded(client.limits());
    let input = SitemapInput {
        url,
        content_type: content_type(&response),
        body: &decoded.body,
        vouching_hosts,
    };
    read_sitemap(input, &SitemapLimits::default())
}

/// The one sitemap of a site.
async fn sitemap(answer: impl Fn() -> Reply + Send + Sync + 'static) -> Sitemap {
    let site = Site::start(move |_| answer()).await;
    read(&wide_client(), &site.url("/sitemap.xml"), &[]).await
}

fn paths(map: &Sitemap) -> Vec<&str> {
    map.entries.iter().map(|entry| entry.url.path()).collect()
}

/// Walks the sitemaps that robots.txt names; what was asked for, and how many were left out.
async fn walk(answer: impl Fn(&str) -> Reply + Send + Sync + 'static) -> (String, u64) {
    let site = Site::start(answer).await;
    let client = wide_client();
    let file = client.fetch(Request::get(site.url("/robots.txt"))).await;
    let rules = Rules::parse(&file.unwrap().body, AGENT);
    let base = site.url("/");
    let first: Vec<Url> = rules
        .sitemaps()
        .map(|map| base.join(map).unwrap())
        .collect();
    let mut walk = SitemapWalk::new(first, WalkLimits::default());
    while let Some((url, level)) = walk.next_sitemap() {
        walk.found(level, &read(&client, &url, &[]).await);
    }
    let asked = site.asked();
    let asked = asked.strip_prefix("0/robots.txt").unwrap().trim();
    (asked.to_owned(), walk.left_out())
}

fn index(of: &[&str]) -> Reply {
    let maps: String = of
        .iter()
        .map(|loc| format!("<sitemap><loc>{loc}</loc></sitemap>"))
        .collect();
    ok(format!("<sitemapindex>{maps}</sitemapindex>"))
}

#[tokio::test]
async fn m1_loops_and_depth() {
    let (asked, left_out) = walk(|path| match path {
        "/robots.txt" => ok("Sitemap: /own.xml\nSitemap: /a.xml"),
        "/own.xml" => index(&["/own.xml", "/OWN/../own.xml", "/a.xml"]),
        "/a.xml" => index(&["/b.xml", "/own.xml"]),
        _ => ok("<urlset/>"),
    })
    .await;
    assert_eq!((asked.as_str(), left_out), ("0/own.xml 0/a.xml 0/b.xml", 0));
    // Indexes without end: three levels, and what the last of them names.
    let (asked, left_out) = walk(|path| match path {
        "/robots.txt" => ok("Sitemap: /1"),
        _ => index(&[&format!("{path}1")]),
    })
    .await;
    assert_eq!((asked.as_str(), left_out), ("0/1 0/11 0/111 0/1111", 1));
}

#[tokio::test]
async fn m1_too_many_too_long_and_bombs() {
    let entry = "<url><loc>/x</loc></url>";
    let map = sitemap(move || ok(format!("<urlset>{}</urlset>", entry.repeat(50_001)))).await;
    assert_eq!((map.entries.len(), map.cut), (50_000, true));
    // 60 MiB, packed: cut at 50. As a file, and as a coding, which has its own limits.
    let long = || {
        let (_, encode) = ENCODERS.iter().find(|(name, _)| *name == "gzip").unwrap();
        let start = encode(b"<urlset><url><loc>/kept</loc></url><!--");
        [start, encode(&vec![b' '; 1 << 20]).repeat(60)].concat()
    };
    let map = sitemap(move || reply(200, &["Content-Type: application/gzip"], long())).await;
    assert_eq!((paths(&map), map.cut), (vec!["/kept"], true));
    let map = sitemap(move || reply(200, &["Content-Encoding: gzip"], long())).await;
    assert_eq!(paths(&map), ["/kept"]);
    // 60 MiB as they are: the client takes 10 of them.
    let body = "<urlset><url><loc>/kept</loc></url><!--".to_owned() + &" ".repeat(60 << 20);
    let map = sitemap(move || ok(&body)).await;
    assert_eq!(paths(&map), ["/kept"]);
}

#[tokio::test]
async fn m2_other_hosts() {
    let body = "<urlset><url><loc>/own</loc></url>\
                <url><loc>http://other.example/theirs</loc></url></urlset>";
    let site = Site::start(move |path| if path == "/map" { ok(body) } else { gone() }).await;
    let client = wide_client();
    let map = read(&client, &site.url("/map"), &[]).await;
    assert_eq!((paths(&map), map.foreign), (vec!["/own"], 1));
    let map = read(&client, &site.url("/map"), &["other.example"]).await;
    assert_eq!((paths(&map), map.foreign), (vec!["/own", "/theirs"], 0));
}

#[tokio::test]
async fn m3_broken_lists() {
    let broken = "<urlset xmlns='urn:wrong'><url><loc>/a</loc><lastmod>2024-01-02</lastmod></url>\
                  <url><loc>/b</loc><lastmod>yesterday</lastmod></url><url><loc>/c</lo";
    for mark in ["", "\u{feff}"] {
        let map = sitemap(move || ok(format!("{mark}{broken}"))).await;
        assert_eq!(paths(&map), ["/a", "/b"]);
        let dates: Vec<_> = map.entries.iter().map(|entry| entry.lastmod_s).collect();
        assert_eq!(dates, [Some(1_704_153_600), None]);
        assert!(map.broken.is_some());
    }
    // The connection breaks instead of the file.
    let head = "HTTP/1.1 200 OK\r\nContent-Length: 9999\r\n\r\n";
    let map = sitemap(move || Reply::Bytes(format!("{head}{broken}").into_bytes())).await;
    assert_eq!(paths(&map), ["/a", "/b"]);
}

async fn feed(line: &'static str, body: impl AsRef<[u8]>) -> Feed {
    let body = body.as_ref().to_vec();
    let site = Site::start(move |_| reply(200, &[line], &body)).await;
    let client = wide_client();
    let url = site.url("/feeds/feed.xml");
    let response = client.fetch(Request::get(url.clone())).await.unwrap();
    let input = FeedInput {
        url: &url,
        content_type: content_type(&response),
        body: &response.decoded(client.limits()).body,
    };
    read_feed(input, &FeedLimits::default())
}

#[tokio::test]
async fn m4_feeds() {
    let check = |feed: &Feed, want: &[(&str, &str)]| {
        let got: Vec<_> = feed
            .entries
            .iter()
            .map(|entry| (entry.url.path(), entry.title.as_str()))
            .collect();
        assert_eq!(got, want);
    };
    let rss = "<rss><channel><item><title><![CDATA[Caf\u{e9}]]></title><link>a?b</link></item>\
               <item><title>x</title><link><![CDATA[/c]]></link></item></channel></rss>";
    let latin: Vec<u8> = rss.chars().map(|c| u8::try_from(c).unwrap()).collect();
    let named = [&b"<?xml version='1.0' encoding='iso-8859-1'?>"[..], &latin].concat();
    let want = [("/feeds/a", "Café"), ("/c", "x")];
    check(&feed("Content-Type: text/xml", &named).await, &want);
    check(
        &feed("Content-Type: text/xml; charset=latin1", &latin).await,
        &want,
    );
    let atom = "<feed xml:base='/base/'><entry xml:base='e/'><title>x</title>\
                <link href='p'/></entry><entry><link href='q'/></entry></feed>";
    let want = [("/base/e/p", "x"), ("/base/q", "")];
    check(
        &feed("Content-Type: application/atom+xml", atom).await,
        &want,
    );
}
