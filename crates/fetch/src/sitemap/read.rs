//! Reading one sitemap file.
//!
//! Only the structure counts: a `loc` and a `lastmod` directly inside a `url` or `sitemap` element,
//! whatever their namespace, so that `image:loc` is not taken for a page. Text directly inside
//! `sitemap` or `url` is taken where `loc` is missing. URLs of other hosts are dropped unless the
//! caller vouches for the host (its robots.txt names this sitemap).
//!
//! Cost: linear, at most [`SitemapLimits::bytes_max`] unpacked bytes in memory.

use url::Url;

use crate::dates::parse_date;
use crate::feed::{FeedInput, FeedLimits, read_feed};
use crate::html::Unseen;
use crate::html::encoding::charset_of;
use crate::urls::{UrlLimits, host_of, resolve};
use crate::xml::{Element, Unpacked, Visitor, decode, push_limited, unpack, walk};

/// What is read at most. The defaults are the protocol's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SitemapLimits {
    /// Unpacked bytes.
    pub bytes_max: usize,
    /// Entries kept.
    pub entries_max: usize,
    /// Limits on each URL.
    pub urls: UrlLimits,
}

impl Default for SitemapLimits {
    fn default() -> Self {
        SitemapLimits {
            bytes_max: 50 << 20,
            entries_max: 50_000,
            urls: UrlLimits::default(),
        }
    }
}

/// A fetched sitemap and what is known about it.
#[derive(Debug, Clone, Copy)]
pub struct SitemapInput<'a> {
    /// Where it came from.
    pub url: &'a Url,
    /// Its `Content-Type`, if any.
    pub content_type: Option<&'a str>,
    /// Its body.
    pub body: &'a [u8],
    /// Hosts other than its own whose robots.txt names it: their URLs are kept.
    pub vouching_hosts: &'a [&'a str],
}

/// The form a sitemap came in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SitemapKind {
    /// A list of pages.
    Pages,
    /// A list of sitemaps.
    Index,
    /// One URL a line.
    Text,
    /// An RSS, Atom or JSON feed.
    Feed,
    /// Nothing we know.
    Unknown,
}

/// One entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SitemapEntry {
    /// The page, or the sitemap in an index.
    pub url: Url,
    /// When it last changed, in seconds since 1970, if a date can be read.
    pub lastmod_s: Option<i64>,
}

/// A sitemap, read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sitemap {
    /// Its form.
    pub kind: SitemapKind,
    /// Its entries, in order.
    pub entries: Vec<SitemapEntry>,
    /// Entries of hosts that nobody vouches for, dropped.
    pub foreign: u64,
    /// Entries whose address is no usable URL, dropped.
    pub refused: u64,
    /// A limit cut the file or the list.
    pub cut: bool,
    /// Where and why it broke off, if it did. Entries before are kept.
    pub broken: Option<String>,
}

impl Sitemap {
    /// How many entries may be in the file and are not in [`Sitemap::entries`]. Entries of other
    /// hosts and addresses that are none were seen, and refused. A file that is broken and was not recognised as a
    /// list holds none.
    pub fn unseen_links(&self) -> Unseen {
        if self.cut || self.broken.is_some() && self.kind != SitemapKind::Unknown {
            Unseen::Unbounded
        } else {
            Unseen::None
        }
    }
}

/// Reads a sitemap. Never fails; see [`Sitemap::broken`].
pub fn read_sitemap(input: SitemapInput<'_>, limits: &SitemapLimits) -> Sitemap {
    let Unpacked { bytes, cut, broken } = unpack(input.body, limits.bytes_max);
    let text = decode(&bytes, input.content_type.and_then(charset_of));
    let mut reader = ListReader::new(input, limits);
    reader.out.cut = cut;
    let start = text.trim_start();
    let trouble = if start.starts_with('<') {
        walk(&text, &mut reader)
    } else if start.starts_with('{') {
        reader.out.kind = SitemapKind::Feed;
        None
    } else {
        reader.text_list(&text);
        None
    };
    if reader.out.kind == SitemapKind::Feed {
        reader.take_feed(input, &text, limits);
        // What only begins like JSON, a program's settings say, is no feed that breaks off.
        let is_no_feed = start.starts_with('{') && !text.contains("jsonfeed.org");
        if is_no_feed && reader.out.broken.is_some() {
            reader.out.kind = SitemapKind::Unknown;
        }
    } else {
        // A file cut short breaks off by our doing, which `cut` says.
        reader.out.broken = if cut { None } else { trouble };
    }
    reader.out.broken = broken.or(reader.out.broken.take());
    reader.out
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Field {
    None,
    Loc,
    Lastmod,
}

struct ListReader<'a> {
    input: SitemapInput<'a>,
    limits: &'a SitemapLimits,
    out: Sitemap,
    /// Depth of the `url` or `sitemap` element we are in.
    entry_depth: Option<usize>,
    depth: usize,
    field: Field,
    loc: String,
    bare: String,
    lastmod: String,
}

impl<'a> ListReader<'a> {
    fn new(input: SitemapInput<'a>, limits: &'a SitemapLimits) -> ListReader<'a> {
        ListReader {
            input,
            limits,
            out: Sitemap {
                kind: SitemapKind::Unknown,
                entries: Vec::new(),
                foreign: 0,
                refused: 0,
                cut: false,
                broken: None,
            },
            entry_depth: None,
            depth: 0,
            field: Field::None,
            loc: String::new(),
            bare: String::new(),
            lastmod: String::new(),
        }
    }

    fn text_list(&mut self, text: &str) {
        for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
            if line.starts_with("http://") || line.starts_with("https://") {
                self.out.kind = SitemapKind::Text;
                self.add(line, None);
            } else {
                self.out.refused += 1;
            }
        }
    }

    fn take_feed(&mut self, input: SitemapInput<'_>, text: &str, limits: &SitemapLimits) {
        let feed_limits = FeedLimits {
            bytes_max: usize::MAX,
            entries_max: limits.entries_max,
            urls: limits.urls.clone(),
        };
        // Already text: a label would decode it a second time.
        let input = FeedInput {
            url: input.url,
            content_type: Some("text/xml; charset=utf-8"),
            body: text.as_bytes(),
        };
        let feed = read_feed(input, &feed_limits);
        for entry in feed.entries {
            self.keep(entry.url, entry.date_s);
        }
        self.out.cut |= feed.cut;
        self.out.refused += feed.refused;
        self.out.broken = feed.broken;
    }

    fn add(&mut self, loc: &str, lastmod_s: Option<i64>) {
        match resolve(self.input.url, loc, &self.limits.urls) {
            Ok(url) => self.keep(url, lastmod_s),
            Err(_) => self.out.refused += 1,
        }
    }

    fn keep(&mut self, mut url: Url, lastmod_s: Option<i64>) {
        let host = host_of(&url);
        if host != host_of(self.input.url) && !self.input.vouching_hosts.contains(&host) {
            self.out.foreign += 1;
        } else if self.out.entries.len() >= self.limits.entries_max {
            self.out.cut = true;
        } else {
            url.set_fragment(None);
            self.out.entries.push(SitemapEntry { url, lastmod_s });
        }
    }
}

impl Visitor for ListReader<'_> {
    fn start(&mut self, element: &Element<'_>, depth: usize) {
        self.depth = depth;
        match element.name {
            "rss" | "feed" | "RDF" if depth == 1 => self.out.kind = SitemapKind::Feed,
            "sitemapindex" if depth == 1 => self.out.kind = SitemapKind::Index,
            "urlset" if depth == 1 => self.out.kind = SitemapKind::Pages,
            name @ ("url" | "sitemap") if self.entry_depth.is_none() => {
                if self.out.kind == SitemapKind::Unknown {
                    self.out.kind = if name == "url" {
                        SitemapKind::Pages
                    } else {
                        SitemapKind::Index
                    };
                }
                self.entry_depth = Some(depth);
                self.loc.clear();
                self.bare.clear();
                self.lastmod.clear();
            }
            "loc" if self.entry_depth == Some(depth - 1) => self.field = Field::Loc,
            "lastmod" if self.entry_depth == Some(depth - 1) => self.field = Field::Lastmod,
            _ => {}
        }
    }

    fn text(&mut self, text: &str) {
        // One byte more than allowed, so that too long is seen as such and not cut to fit.
        let bytes_max = self.limits.urls.bytes_max + 1;
        match self.field {
            Field::Loc => push_address(&mut self.loc, text, bytes_max),
            Field::Lastmod => push_limited(&mut self.lastmod, text, 64),
            Field::None if self.entry_depth == Some(self.depth) => {
                push_address(&mut self.bare, text, bytes_max);
            }
            Field::None => {}
        }
    }

    fn end(&mut self, _name: &str, depth: usize) {
        self.depth = depth.saturating_sub(1);
        self.field = Field::None;
        if self.entry_depth == Some(depth) {
            self.entry_depth = None;
            let loc = if self.loc.is_empty() {
                std::mem::take(&mut self.bare)
            } else {
                std::mem::take(&mut self.loc)
            };
            let loc = loc.trim_end();
            if !loc.is_empty() {
                self.add(loc, parse_date(&self.lastmod));
            }
        }
    }

    fn is_done(&self) -> bool {
        self.out.kind == SitemapKind::Feed
            || self.out.entries.len() >= self.limits.entries_max && self.out.cut
    }
}

/// Adds to an address, without the space before it.
fn push_address(address: &mut String, text: &str, bytes_max: usize) {
    let text = if address.is_empty() {
        text.trim_start()
    } else {
        text
    };
    push_limited(address, text, bytes_max);
}
