//! Feeds: RSS 0.9x, 1.0 and 2.0, Atom, and JSON Feed, as lists of pages with dates.
//!
//! A crawler wants three things of a feed: which pages, when they changed, and the title. Links
//! are resolved against `xml:base` and the feed's own address, and in any encoding. Entries before
//! a break are kept, but for JSON, which is read whole or not at all.
//!
//! Cost: linear; at most [`FeedLimits::bytes_max`] unpacked bytes in memory.

mod json;
mod xml_feed;

use url::Url;

use crate::html::encoding::charset_of;
use crate::urls::UrlLimits;
use crate::xml::{Unpacked, decode, unpack};

/// What is read at most.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FeedLimits {
    /// Unpacked bytes.
    pub bytes_max: usize,
    /// Entries kept.
    pub entries_max: usize,
    /// Limits on each URL.
    pub urls: UrlLimits,
}

impl Default for FeedLimits {
    fn default() -> Self {
        FeedLimits {
            bytes_max: 10 << 20,
            entries_max: 10_000,
            urls: UrlLimits::default(),
        }
    }
}

/// A fetched feed and what is known about it.
#[derive(Debug, Clone, Copy)]
pub struct FeedInput<'a> {
    /// Where it came from.
    pub url: &'a Url,
    /// Its `Content-Type`, if any.
    pub content_type: Option<&'a str>,
    /// Its body.
    pub body: &'a [u8],
}

/// The family of a feed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FeedKind {
    /// RSS 0.9x or 2.0.
    Rss,
    /// RSS 1.0 or 0.90, on RDF.
    Rdf,
    /// Atom.
    Atom,
    /// JSON Feed.
    Json,
    /// Nothing we know.
    Unknown,
}

/// One entry that leads to a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FeedEntry {
    /// The page, without a fragment.
    pub url: Url,
    /// Its title, spaces folded, markup as it is.
    pub title: String,
    /// When it changed or appeared, in seconds since 1970, if a date can be read.
    pub date_s: Option<i64>,
}

/// A feed, read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Feed {
    /// Its family.
    pub kind: FeedKind,
    /// Its title.
    pub title: String,
    /// The page it belongs to.
    pub home: Option<Url>,
    /// Entries with a usable link, in order.
    pub entries: Vec<FeedEntry>,
    /// Entries without a usable link.
    pub refused: u64,
    /// A limit cut the file or the list.
    pub cut: bool,
    /// Where and why it broke off, if it did.
    pub broken: Option<String>,
}

/// Reads a feed. Never fails; see [`Feed::broken`].
pub fn read_feed(input: FeedInput<'_>, limits: &FeedLimits) -> Feed {
    let Unpacked { bytes, cut, broken } = unpack(input.body, limits.bytes_max);
    let text = decode(&bytes, input.content_type.and_then(charset_of));
    let mut feed = if text.trim_start().starts_with('{') {
        json::read(&text, input.url, limits)
    } else {
        xml_feed::read(&text, input.url, limits)
    };
    if cut {
        feed.cut = true;
        feed.broken = None;
    }
    feed.broken = broken.or(feed.broken);
    feed
}

impl Feed {
    fn empty(kind: FeedKind) -> Feed {
        Feed {
            kind,
            title: String::new(),
            home: None,
            entries: Vec::new(),
            refused: 0,
            cut: false,
            broken: None,
        }
    }

    /// Keeps an entry if there is room.
    fn push(&mut self, entry: FeedEntry, limits: &FeedLimits) {
        if self.entries.len() < limits.entries_max {
            self.entries.push(entry);
        } else {
            self.cut = true;
        }
    }
}

/// Text with runs of space folded.
fn folded(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
