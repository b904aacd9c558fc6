//! Links as they stand in a page, each once, until the page ends and they can be resolved.
//!
//! They must wait, because the first `<base>` counts for links before it too. Addresses lie one
//! behind another in a single text, without their fragments: most links of a long page are repeated,
//! or lead to places within few pages, and are told to be so here, where that is cheap. Equal is
//! equal to the letter; a hash only finds the place to look. The hash is keyed, so that a page
//! cannot be written to make the search slow.
//!
//! Cost: one hash of each address, and one comparison where it is known; [`RAW_LINK_BYTES`] and the
//! text for each that is new.
//! Limit: `bytes_max`; what does not fit is counted.

use std::hash::{BuildHasher, RandomState};
use std::mem::size_of;

use hashbrown::HashTable;

use super::link::LinkKind;
use super::page::PageLimits;

/// What a link takes besides its text: its record and its place among the seen ones.
const RAW_LINK_BYTES: usize = size_of::<RawLink>() + 10;
/// Dropped links that are told apart; beyond them each occurrence counts.
const DROPPED_MAX: usize = 1 << 20;

#[derive(Clone, Copy)]
struct RawLink {
    start: u32,
    href_bytes: u32,
    rel_bytes: u16,
    kind: LinkKind,
}

/// A link as it stands in the page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Written<'a> {
    pub(super) kind: LinkKind,
    /// The address without its fragment.
    pub(super) href: &'a str,
    pub(super) rel: &'a str,
}

/// The links of a page.
pub(super) struct RawLinks {
    text: String,
    links: Vec<RawLink>,
    seen: HashTable<u32>,
    /// After how many seconds a refresh leads away, by the number of its link.
    seconds: Vec<(u32, u64)>,
    bytes_max: usize,
    url_bytes_max: usize,
    key: u64,
    /// Links for which there was no room.
    pub(super) dropped: Distinct,
    /// Addresses of the web that are too long.
    pub(super) too_long: Distinct,
    /// Other addresses that are too long.
    pub(super) refused: Distinct,
}

impl RawLinks {
    pub(super) fn new(limits: &PageLimits) -> RawLinks {
        RawLinks {
            text: String::new(),
            links: Vec::new(),
            seen: HashTable::new(),
            seconds: Vec::new(),
            // Places in the text are 32-bit numbers.
            bytes_max: limits.links_bytes_max.min(u32::MAX as usize),
            url_bytes_max: limits.urls.bytes_max,
            key: RandomState::new().hash_one(0),
            dropped: Distinct::default(),
            too_long: Distinct::default(),
            refused: Distinct::default(),
        }
    }

    /// Takes a link in, unless it is known.
    pub(super) fn push(&mut self, link: Written<'_>, seconds: u64) {
        let href = without_fragment(link.href);
        let hash = hash_link(self.key, link.kind, href, link.rel);
        if href.len() > self.url_bytes_max {
            match scheme(href) {
                Some(scheme) if !is_web(scheme) => self.refused.add(hash),
                _ => self.too_long.add(hash),
            }
            return;
        }
        let RawLinks {
            text, links, seen, ..
        } = self;
        let written = Written { href, ..link };
        let is_known = |number: &u32| written_at(text, links[*number as usize]) == written;
        if seen.find(hash, is_known).is_some() {
            return;
        }
        let taken = text.len() + links.len() * RAW_LINK_BYTES;
        if taken + href.len() + link.rel.len() + RAW_LINK_BYTES > self.bytes_max {
            self.dropped.add(hash);
            return;
        }
        let number = links.len() as u32;
        links.push(RawLink {
            start: text.len() as u32,
            href_bytes: href.len() as u32,
            rel_bytes: link.rel.len() as u16,
            kind: link.kind,
        });
        text.push_str(href);
        text.push_str(link.rel);
        let key = self.key;
        seen.insert_unique(hash, number, |number| {
            let known = written_at(text, links[*number as usize]);
            hash_link(key, known.kind, known.href, known.rel)
        });
        if link.kind == LinkKind::Refresh {
            self.seconds.push((number, seconds));
        }
    }

    /// The links in the order of the page.
    pub(super) fn iter(&self) -> impl ExactSizeIterator<Item = Written<'_>> {
        self.links.iter().map(|link| written_at(&self.text, *link))
    }

    /// After how many seconds the refresh leads away that is the link of this number.
    pub(super) fn seconds(&self, number: usize) -> Option<u64> {
        let found = self.seconds.iter().find(|(n, _)| *n as usize == number);
        found.map(|(_, seconds)| *seconds)
    }

    /// A key for further hashes of this page.
    pub(super) fn key(&self) -> u64 {
        self.key
    }
}

fn written_at(text: &str, link: RawLink) -> Written<'_> {
    let rel = link.start as usize + link.href_bytes as usize;
    Written {
        kind: link.kind,
        href: &text[link.start as usize..rel],
        rel: &text[rel..rel + usize::from(link.rel_bytes)],
    }
}

/// Where a fragment begins, an address ends: in every kind of URL.
fn without_fragment(href: &str) -> &str {
    match memchr::memchr(b'#', href.as_bytes()) {
        Some(at) => &href[..at],
        None => href,
    }
}

/// The scheme that an address begins with, if it does. Tabs and line ends in it are not minded:
/// then it counts as an address of the web, which errs to the safe side.
fn scheme(href: &str) -> Option<&str> {
    let href = href.trim_start_matches(|c: char| c <= ' ');
    let is_of_scheme = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.');
    let end = href.find(|c| !is_of_scheme(c))?;
    let begins_right = href.starts_with(|c: char| c.is_ascii_alphabetic());
    (begins_right && href[end..].starts_with(':')).then_some(&href[..end])
}

fn is_web(scheme: &str) -> bool {
    scheme.eq_ignore_ascii_case("http") || scheme.eq_ignore_ascii_case("https")
}

/// Counts different things by their hashes.
#[derive(Default)]
pub(super) struct Distinct {
    seen: HashTable<u64>,
    count: u64,
}

impl Distinct {
    pub(super) fn add(&mut self, hash: u64) {
        let is_known = self.seen.find(hash, |other| *other == hash).is_some();
        self.count += u64::from(!is_known);
        if !is_known && self.seen.len() < DROPPED_MAX {
            self.seen.insert_unique(hash, hash, |hash| *hash);
        }
    }

    pub(super) fn count(&self) -> u64 {
        self.count
    }
}

/// A hash of a link, resolved or not.
pub(super) fn hash_link(key: u64, kind: LinkKind, href: &str, rel: &str) -> u64 {
    let hash = hash_bytes(key ^ kind as u64, href.as_bytes());
    if rel.is_empty() {
        return hash;
    }
    hash_bytes(hash, rel.as_bytes())
}

/// Folded products of eight bytes at a time, the length last.
#[inline]
fn hash_bytes(key: u64, bytes: &[u8]) -> u64 {
    const MULTIPLIER: u64 = 0x9E37_79B9_7F4A_7C15;
    let fold = |hash: u64, block: u64| {
        let product = u128::from(hash ^ block) * u128::from(MULTIPLIER);
        product as u64 ^ (product >> 64) as u64
    };
    let (blocks, rest) = bytes.as_chunks::<8>();
    let hash = blocks
        .iter()
        .fold(key, |hash, block| fold(hash, u64::from_le_bytes(*block)));
    let last = match bytes.last_chunk::<8>() {
        // What stands before the rest counts twice, which does no harm.
        Some(last) => u64::from_le_bytes(*last),
        None => rest
            .iter()
            .rev()
            .fold(0, |last, byte| last << 8 | u64::from(*byte)),
    };
    fold(fold(hash, last), bytes.len() as u64 ^ MULTIPLIER)
}
