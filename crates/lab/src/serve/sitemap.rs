//! A sitemap for each host that has none recorded: what is there now, and since when.
//!
//! `lastmod` is the moment at which this server first showed the page as it is, by the real clock: a web
//! that moves through its history does so in real time, and a client compares the date with its own. What was
//! there from the start has its recorded date. Moments are rounded up to a second, so that a date is never
//! earlier than the change it tells of. robots.txt names the sitemap.
//!
//! Cost: every page of the host at each request. Limit: [`ENTRIES_MAX`], the protocol's.

use std::io::Write as _;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::answer::Answer;
use super::mix::mix_bytes;
use super::places::push_escaped;
use super::request::Request;
use super::web::{Moment, Web};

/// Where a sitemap is.
pub(super) const PATH: &str = "/sitemap.xml";
/// Pages listed at most, by the sitemaps protocol.
const ENTRIES_MAX: usize = 50_000;

/// The sitemap of the host that was asked, as it is at a moment. `started` is when the server
/// began.
pub(super) fn answer(
    web: &Web,
    request: &Request<'_>,
    moment: Moment,
    started: SystemTime,
) -> Answer {
    let mut out = Vec::from(
        "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n\
         <urlset xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\">\n",
    );
    let listed = web.present(request.host, moment);
    let mut latest_s = 0;
    for (page, since) in listed.into_iter().take(ENTRIES_MAX) {
        out.extend_from_slice(b"<url><loc>");
        out.extend_from_slice(request.origin().as_bytes());
        push_escaped(&web.places.path(page), &mut out);
        out.extend_from_slice(b"</loc>");
        let since_s = match since {
            Since::Shown(us) => seconds(started + Duration::from_micros(us)),
            Since::Recorded(seconds) => seconds,
        };
        latest_s = since_s.max(latest_s);
        let date = humantime(since_s);
        writeln!(out, "<lastmod>{date}</lastmod></url>").expect("writing to memory does not fail");
    }
    out.extend_from_slice(b"</urlset>\n");
    let etag = format!("\"{:016x}\"", mix_bytes(out.iter().copied()));
    Answer::ok("application/xml; charset=utf-8", out).conditional(request, etag, latest_s)
}

/// Since when a page is as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Since {
    /// Since so many microseconds after the server started.
    Shown(u64),
    /// Since before that: the recorded date, in seconds of 1970.
    Recorded(u64),
}

/// Seconds of 1970, rounded up.
fn seconds(moment: SystemTime) -> u64 {
    let since = moment.duration_since(UNIX_EPOCH).unwrap_or_default();
    since.as_secs() + u64::from(since.subsec_nanos() > 0)
}

/// As the W3C writes moments.
fn humantime(seconds: u64) -> String {
    let day = crate::history::Date(i32::try_from(seconds / 86_400).unwrap_or(i32::MAX / 2));
    let second = seconds % 86_400;
    format!(
        "{day}T{:02}:{:02}:{:02}Z",
        second / 3600,
        second / 60 % 60,
        second % 60
    )
}
