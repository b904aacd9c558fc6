//! RSS and Atom on one reader: what differs is little more than the names.
//!
//! Of an entry's links the first of these that is usable counts: its plain link (RSS) or its
//! `alternate` link (Atom), then a permanent `guid`, then `rdf:about`. Of its dates, `updated`
//! counts before `published` and `pubDate`.

use url::Url;

use super::{Feed, FeedEntry, FeedKind, FeedLimits, folded};
use crate::dates::parse_date;
use crate::urls::{read_standard, resolve};
use crate::xml::{Element, Visitor, push_limited, walk};

/// Most nested `xml:base` attributes that count.
const BASES_MAX: usize = 32;
const TITLE_BYTES_MAX: usize = 1024;

pub(super) fn read(text: &str, url: &Url, limits: &FeedLimits) -> Feed {
    let mut reader = FeedReader {
        limits,
        feed: Feed::empty(FeedKind::Unknown),
        bases: vec![(0, url.clone())],
        entry_depth: None,
        top_depth: None,
        entry: Entry::default(),
        field: Field::None,
        text: String::new(),
    };
    let broken = walk(text, &mut reader);
    reader.feed.broken = broken;
    reader.feed
}

#[derive(Default)]
struct Entry {
    link: Option<Url>,
    fallback: Option<Url>,
    title: String,
    updated: Option<i64>,
    published: Option<i64>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Field {
    None,
    Link,
    Guid,
    Title,
    Updated,
    Published,
}

struct FeedReader<'a> {
    limits: &'a FeedLimits,
    feed: Feed,
    /// Bases in force, with the depth that set them.
    bases: Vec<(usize, Url)>,
    entry_depth: Option<usize>,
    /// Depth of `channel` or `feed`.
    top_depth: Option<usize>,
    entry: Entry,
    field: Field,
    text: String,
}

impl FeedReader<'_> {
    fn base(&self) -> &Url {
        let (_, url) = self
            .bases
            .last()
            .expect("the feed's own address is never popped");
        url
    }

    fn resolve(&self, text: &str) -> Option<Url> {
        let text = text.trim();
        if text.is_empty() {
            return None;
        }
        let mut url = resolve(self.base(), text, &self.limits.urls).ok()?;
        url.set_fragment(None);
        Some(url)
    }

    fn set_link(&mut self, url: Option<Url>) {
        if self.entry_depth.is_some() {
            if self.entry.link.is_none() {
                self.entry.link = url;
            }
        } else if self.feed.home.is_none() {
            self.feed.home = url;
        }
    }

    /// An Atom link, which RSS borrows too: the address is an attribute.
    fn atom_link(&mut self, element: &Element<'_>, href: &str) {
        let rel = element.attribute("rel").unwrap_or_default();
        if rel.is_empty() || rel.eq_ignore_ascii_case("alternate") {
            let url = self.resolve(href);
            self.set_link(url);
        }
    }

    fn child(&mut self, element: &Element<'_>) {
        let plain = element.prefix.is_empty()
            || self.feed.kind == FeedKind::Atom && element.prefix == "atom";
        self.field = match element.name {
            "link" => match element.attribute("href") {
                Some(href) => {
                    self.atom_link(element, &href);
                    Field::None
                }
                None => Field::Link,
            },
            "guid"
                if element
                    .attribute("isPermaLink")
                    .is_none_or(|p| !p.eq_ignore_ascii_case("false")) =>
            {
                Field::Guid
            }
            "title" if plain => Field::Title,
            "updated" | "modified" => Field::Updated,
            "pubDate" | "published" | "issued" | "date" => Field::Published,
            _ => Field::None,
        };
        self.text.clear();
    }

    fn finish_field(&mut self) {
        let text = std::mem::take(&mut self.text);
        match std::mem::replace(&mut self.field, Field::None) {
            Field::None => {}
            Field::Link => {
                let url = self.resolve(&text);
                self.set_link(url);
            }
            // A guid is only an address when it looks like one.
            Field::Guid if self.entry.fallback.is_none() && text.trim().starts_with("http") => {
                self.entry.fallback = self.resolve(&text);
            }
            Field::Guid => {}
            Field::Title if self.entry_depth.is_none() => {
                if self.feed.title.is_empty() {
                    self.feed.title = folded(&text);
                }
            }
            Field::Title => self.entry.title = folded(&text),
            Field::Updated => self.entry.updated = parse_date(&text),
            Field::Published => self.entry.published = parse_date(&text),
        }
    }

    fn finish_entry(&mut self) {
        let entry = std::mem::take(&mut self.entry);
        match entry.link.or(entry.fallback) {
            Some(url) => {
                let date_s = entry.updated.or(entry.published);
                self.feed.push(
                    FeedEntry {
                        url,
                        title: entry.title,
                        date_s,
                    },
                    self.limits,
                );
            }
            None => self.feed.refused += 1,
        }
    }
}

impl Visitor for FeedReader<'_> {
    fn start(&mut self, element: &Element<'_>, depth: usize) {
        if self.bases.len() <= BASES_MAX
            && let Some(base) = element.attribute("xml:base")
            && let Ok(url) = read_standard(Some(self.base()), base.trim())
        {
            self.bases.push((depth, url));
        }
        match element.name {
            "rss" if depth == 1 => self.feed.kind = FeedKind::Rss,
            "RDF" if depth == 1 => self.feed.kind = FeedKind::Rdf,
            "feed" if depth == 1 => {
                self.feed.kind = FeedKind::Atom;
                self.top_depth = Some(depth);
            }
            "channel" if self.entry_depth.is_none() => self.top_depth = Some(depth),
            "item" | "entry"
                if self.entry_depth.is_none() && self.feed.kind != FeedKind::Unknown =>
            {
                self.entry_depth = Some(depth);
                self.entry = Entry::default();
                self.entry.fallback = element
                    .attribute("rdf:about")
                    .and_then(|about| self.resolve(&about));
            }
            _ => {
                let parent = self.entry_depth.or(self.top_depth);
                if parent == Some(depth - 1) {
                    self.child(element);
                }
            }
        }
    }

    fn text(&mut self, text: &str) {
        match self.field {
            Field::None => {}
            Field::Title => push_limited(&mut self.text, text, TITLE_BYTES_MAX),
            Field::Updated | Field::Published => push_limited(&mut self.text, text, 64),
            Field::Link | Field::Guid => {
                push_limited(&mut self.text, text, self.limits.urls.bytes_max + 1);
            }
        }
    }

    fn end(&mut self, _name: &str, depth: usize) {
        let parent = self.entry_depth.or(self.top_depth);
        if parent == Some(depth.saturating_sub(1)) {
            self.finish_field();
        }
        if self.entry_depth == Some(depth) {
            self.entry_depth = None;
            self.finish_entry();
        } else if self.top_depth == Some(depth) {
            self.top_depth = None;
        }
        while self.bases.len() > 1
            && self
                .bases
                .last()
                .is_some_and(|(set_at, _)| *set_at >= depth)
        {
            self.bases.pop();
        }
    }

    fn is_done(&self) -> bool {
        self.feed.cut
    }
}
