//! Where each page of a served web is: its host and its path there, and back.
//!
//! Pages are found by their path with all percent-escapes undone, so that it does not matter how
//! a client writes them. Two recorded URLs that differ only in that, in the scheme or after a `#` are
//! one place; the first page has it, and the others are counted as shadowed.
//!
//! Cost: about 7 bytes a page for the index; nothing at all for a graph without URLs.

use std::borrow::Cow;

use hashbrown::HashTable;
use turnstone_frontier::PageId;
use turnstone_linkgraph::{Hosts, UrlTable};

use super::mix;

/// How the pages of a web are addressed.
#[derive(Debug)]
pub(super) enum Addresses {
    /// Page i at `/p/i` on host i modulo the number of hosts.
    Numbered {
        /// How many pages.
        pages: u32,
        /// How many hosts.
        hosts: u32,
    },
    /// As the URLs say.
    Listed {
        /// By page.
        urls: UrlTable,
        /// By page.
        hosts: Hosts,
    },
    /// Site after site, each with all its pages.
    Sites(Vec<SitePlace>),
}

/// Where the pages of one history are.
#[derive(Debug)]
pub(super) struct SitePlace {
    /// The first of its pages in the numbering of the whole web.
    pub(super) first: u32,
    /// Its host.
    pub(super) host: u32,
    /// What stands before each path, without a trailing slash.
    pub(super) prefix: String,
    /// By page: its path below that.
    pub(super) paths: Vec<String>,
}

/// The pages of a web by host and path.
#[derive(Debug)]
pub(super) struct Places {
    addresses: Addresses,
    index: HashTable<u32>,
    /// Pages that stand behind another with the same address.
    pub(super) shadowed: u64,
}

impl Places {
    pub(super) fn new(addresses: Addresses) -> Self {
        let mut places = Self {
            addresses,
            index: HashTable::new(),
            shadowed: 0,
        };
        if !matches!(places.addresses, Addresses::Numbered { .. }) {
            places.build();
        }
        places
    }

    fn build(&mut self) {
        let pages = self.page_count();
        let mut index = HashTable::with_capacity(pages as usize);
        for page in (0..pages).map(PageId) {
            let (host, path) = (self.host(page), self.path(page));
            let hash = place_hash(host, &path);
            let same = |other: &u32| self.is_at(PageId(*other), host, &path);
            if index.find(hash, same).is_some() {
                self.shadowed += 1;
                continue;
            }
            index.insert_unique(hash, page.0, |other| {
                let other = PageId(*other);
                place_hash(self.host(other), &self.path(other))
            });
        }
        self.index = index;
    }

    pub(super) fn page_count(&self) -> u32 {
        match &self.addresses {
            Addresses::Numbered { pages, .. } => *pages,
            Addresses::Listed { urls, .. } => urls.len() as u32,
            Addresses::Sites(sites) => sites
                .last()
                .map_or(0, |site| site.first + site.paths.len() as u32),
        }
    }

    /// The host of a page, by number.
    pub(super) fn host(&self, page: PageId) -> u32 {
        match &self.addresses {
            Addresses::Numbered { hosts, .. } => page.0 % hosts,
            Addresses::Listed { hosts, .. } => hosts.host(page).0,
            Addresses::Sites(_) => self.site(page).host,
        }
    }

    /// Path and query of a page, as recorded.
    pub(super) fn path(&self, page: PageId) -> Cow<'_, str> {
        match &self.addresses {
            Addresses::Numbered { .. } => Cow::Owned(format!("/p/{}", page.0)),
            Addresses::Listed { urls, .. } => path_of(urls.url(page)),
            Addresses::Sites(_) => {
                let site = self.site(page);
                let path = site.paths[(page.0 - site.first) as usize].as_str();
                if site.prefix.is_empty() && path.starts_with('/') {
                    Cow::Borrowed(path)
                } else {
                    Cow::Owned(format!("{}/{}", site.prefix, path.trim_start_matches('/')))
                }
            }
        }
    }

    /// The page at a path of a host, however the path is escaped.
    pub(super) fn find(&self, host: u32, path: &str) -> Option<PageId> {
        if let Addresses::Numbered { pages, hosts } = &self.addresses {
            let number = path.strip_prefix("/p/")?;
            let page: u32 = number.parse().ok()?;
            // `+7` and `007` are other paths.
            let written_so = number.bytes().all(|byte| byte.is_ascii_digit())
                && (number == "0" || !number.starts_with('0'));
            let is_there = written_so && page < *pages && page % hosts == host;
            return is_there.then_some(PageId(page));
        }
        let same = |other: &u32| self.is_at(PageId(*other), host, path);
        (self.index.find(place_hash(host, path), same)).map(|page| PageId(*page))
    }

    fn is_at(&self, page: PageId, host: u32, path: &str) -> bool {
        self.host(page) == host && unescaped(&self.path(page)).eq(unescaped(path))
    }

    fn site(&self, page: PageId) -> &SitePlace {
        let Addresses::Sites(sites) = &self.addresses else {
            unreachable!("only histories have sites")
        };
        &sites[sites.partition_point(|site| site.first <= page.0) - 1]
    }
}

/// Path and query of a URL, without fragment; `/` where there is none.
pub(super) fn path_of(url: &str) -> Cow<'_, str> {
    let url = &url[..url.find('#').unwrap_or(url.len())];
    let rest = match url.find("://") {
        Some(at) if !url[..at].contains(['/', '?']) => &url[at + 3..],
        _ => url.strip_prefix("//").unwrap_or(url),
    };
    match rest.find(['/', '?']) {
        None => Cow::Borrowed("/"),
        Some(at) if rest.as_bytes()[at] == b'/' => Cow::Borrowed(&rest[at..]),
        Some(at) => Cow::Owned(format!("/{}", &rest[at..])),
    }
}

fn place_hash(host: u32, path: &str) -> u64 {
    mix::mix(&[u64::from(host), mix::mix_bytes(unescaped(path))])
}

/// The bytes a path means.
fn unescaped(path: &str) -> impl Iterator<Item = u8> + '_ {
    let bytes = path.as_bytes();
    let mut at = 0;
    std::iter::from_fn(move || {
        let byte = *bytes.get(at)?;
        let hex = |at: usize| bytes.get(at).and_then(|b| char::from(*b).to_digit(16));
        if byte == b'%'
            && let (Some(high), Some(low)) = (hex(at + 1), hex(at + 2))
        {
            at += 3;
            return Some((high * 16 + low) as u8);
        }
        at += 1;
        Some(byte)
    })
}

/// Writes a path so that it can stand in a URL and in an attribute: what browsers would escape is
/// escaped, and `&` is an entity.
pub(super) fn push_escaped(path: &str, out: &mut Vec<u8>) {
    const HEX: &[u8; 16] = b"0123456789ABCDEF";
    for &byte in path.as_bytes() {
        match byte {
            b'&' => out.extend_from_slice(b"&amp;"),
            0..=b' ' | 0x7f.. | b'"' | b'\'' | b'<' | b'>' | b'`' | b'\\' | b'{' | b'}' => {
                out.extend_from_slice(&[
                    b'%',
                    HEX[usize::from(byte >> 4)],
                    HEX[usize::from(byte & 15)],
                ]);
            }
            _ => out.push(byte),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_found_however_they_are_written() {
        let mut urls = UrlTable::new();
        for url in [
            "https://a.example",
            "http://b.example/x%20y?q=1&r=2",
            "http://a.example/#top",
            "http://b.example/ü",
            "http://b.example?q",
        ] {
            urls.push(url);
        }
        let hosts = urls.hosts();
        let places = Places::new(Addresses::Listed { urls, hosts });
        assert_eq!(places.shadowed, 1);
        assert_eq!(places.find(0, "/"), Some(PageId(0)));
        assert_eq!(places.find(1, "/x%20y?q=1&r=2"), Some(PageId(1)));
        assert_eq!(places.find(1, "/%78 y?q=1&r=2"), Some(PageId(1)));
        assert_eq!(places.find(0, "/x%20y?q=1&r=2"), None);
        assert_eq!(places.find(1, "/%C3%BC"), Some(PageId(3)));
        assert_eq!(places.find(1, "/?q"), Some(PageId(4)));
        let mut out = Vec::new();
        push_escaped("/ü x?a&b=\"%20", &mut out);
        assert_eq!(
            String::from_utf8(out).unwrap(),
            "/%C3%BC%20x?a&amp;b=%22%20"
        );
    }
}
