//! Sitemap and feed files. They carry no expectations, so an independent count by regular
//! expression stands against ours.

use std::io::Read;

use regex::bytes::Regex;
use turnstone_fetch::feed::{FeedInput, FeedKind, FeedLimits, read_feed};
use turnstone_fetch::sitemap::{SitemapInput, SitemapKind, SitemapLimits, read_sitemap};
use url::Url;

use crate::report::{Error, Report};

pub(crate) fn run(report: &mut Report) -> Result<(), Error> {
    sitemaps(report)?;
    feeds(report)
}

fn count(expression: &str, bytes: &[u8]) -> usize {
    Regex::new(expression)
        .expect("our own expression")
        .find_iter(bytes)
        .count()
}

fn sitemaps(report: &mut Report) -> Result<(), Error> {
    report.suite("sitemaps");
    for file in report.files("sitemaps")? {
        let body = report.bytes(&format!("sitemaps/{file}"))?;
        let mut plain = Vec::new();
        if flate2::read::GzDecoder::new(&body[..])
            .read_to_end(&mut plain)
            .is_err()
        {
            plain.clone_from(&body);
        }
        let expected = match file.as_str() {
            name if name.contains(".txt") => count(r"(?m-u)^(\xEF\xBB\xBF)?https?://", &plain),
            "sitemap.index.xml" => count(r"<sitemap>", &plain),
            "atom.xml" => count(r"<entry>", &plain),
            "feed.rss" | "xmlRss_pubDate.xml" => count(r"<item>", &plain),
            _ => count(r"<(?:sit:)?url>\s*(?:<[^>]*>[^<]*)*?<(?:sit:)?loc>", &plain)
                .max(count(r"<(?:sit:)?loc>", &plain)),
        };
        // The files speak of several hosts; the question here is whether they are read.
        let first = String::from_utf8_lossy(&plain);
        let hosts: Vec<&str> = first
            .split("://")
            .skip(1)
            .filter_map(|rest| rest.split(['/', '<', '"', '\n', '\r', ' ']).next())
            .collect();
        let url = Url::parse("http://www.example.com/sitemap.xml").expect("a plain URL");
        let map = read_sitemap(
            SitemapInput {
                url: &url,
                content_type: None,
                body: &body,
                vouching_hosts: &hosts,
            },
            &SitemapLimits::default(),
        );
        let found = map.entries.len() + usize::try_from(map.refused).unwrap_or(0);
        let same = found == expected && map.broken.is_none() && map.kind != SitemapKind::Unknown;
        report.vector(same, || {
            format!(
                "{file}: {:?}, {} entries, {} foreign, {} refused, should be {expected}; {:?}",
                map.kind,
                map.entries.len(),
                map.foreign,
                map.refused,
                map.broken
            )
        });
    }
    Ok(())
}

fn feeds(report: &mut Report) -> Result<(), Error> {
    report.suite("feeds");
    for file in report.files("feeds")? {
        let body = report.bytes(&format!("feeds/{file}"))?;
        let url = Url::parse("http://www.example.com/blog/feed").expect("a plain URL");
        let feed = read_feed(
            FeedInput {
                url: &url,
                content_type: None,
                body: &body,
            },
            &FeedLimits::default(),
        );
        let (kind, entries) = match file.split('_').next() {
            // An Atom feed, whatever its name says.
            _ if file == "rss_2.0_reddit.xml" => (FeedKind::Atom, count(r"<entry[ >]", &body)),
            Some("atom") => (FeedKind::Atom, count(r"<(?:atom:)?entry[ >]", &body)),
            Some("jsonfeed") => (
                FeedKind::Json,
                serde_json::from_slice::<serde_json::Value>(&body)
                    .ok()
                    .and_then(|v| v["items"].as_array().map(Vec::len))
                    .unwrap_or(0),
            ),
            Some("rss") if file.starts_with("rss_1.0") => {
                (FeedKind::Rdf, count(r"<item[ >]", &body))
            }
            Some("rss") => (FeedKind::Rss, count(r"<item[ >]", &body)),
            _ => (FeedKind::Unknown, 0),
        };
        let found = feed.entries.len() + usize::try_from(feed.refused).unwrap_or(0);
        let same = feed.kind == kind && found == entries && feed.broken.is_none();
        report.vector(same, || {
            format!(
                "{file}: {:?} {found} entries, should be {kind:?} {entries}; {:?}",
                feed.kind, feed.broken
            )
        });
    }
    Ok(())
}
