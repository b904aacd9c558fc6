//! From addresses as they are written to links that can be followed, each once.
//!
//! Different spellings may lead to one place, so links are told apart again once they are resolved.
//! Two links are the same if they lead to one URL from the same kind of place with the same `rel`.
//!
//! Cost: linear. Limit: [`PageLimits::links_bytes_max`]; what does not fit is counted, each once.

use encoding_rs::Encoding;
use hashbrown::HashTable;
use url::Url;

use super::cuts::Cuts;
use super::link::{Link, LinkKind, Refresh};
use super::page::PageLimits;
use super::raw_links::{Distinct, RawLinks, hash_link};
use crate::urls::{UrlError, read_standard, resolve_in};

/// What a link takes in memory besides its text: the struct and its place among the seen ones.
pub const LINK_BYTES: usize = std::mem::size_of::<Link>() + 16;

/// What a page's links are relative to, and in which encoding their queries are.
pub(super) struct Ground<'a> {
    pub(super) base: &'a Url,
    pub(super) encoding: &'static Encoding,
}

pub(super) struct Resolved {
    pub(super) links: Vec<Link>,
    pub(super) refresh: Option<Refresh>,
}

/// The first `<base>` that names an address, unless it is of a kind that cannot be one.
pub(super) fn base_url(page: &Url, base: Option<&str>) -> Url {
    match base.map(|href| read_standard(Some(page), href)) {
        Some(Ok(url)) if !matches!(url.scheme(), "data" | "javascript") => url,
        _ => page.clone(),
    }
}

/// Resolves what can be, keeps what fits, and notes the rest in `cuts`.
pub(super) fn resolve_all(
    raw: &RawLinks,
    ground: &Ground<'_>,
    limits: &PageLimits,
    cuts: &mut Cuts,
) -> Resolved {
    // Nearly all of them differ once resolved, too: their fragments are gone already.
    let room = raw.iter().len().min(limits.links_bytes_max / LINK_BYTES);
    let mut kept = Kept {
        links: Vec::with_capacity(room),
        seen: HashTable::with_capacity(room),
        bytes: 0,
        bytes_max: limits.links_bytes_max,
        key: raw.key(),
        dropped: Distinct::default(),
    };
    let mut refresh = None;
    for (number, written) in raw.iter().enumerate() {
        let resolved = resolve_in(ground.base, written.href, ground.encoding, &limits.urls);
        let url = match resolved {
            Ok(url) => url,
            Err(UrlError::TooLong { .. } | UrlError::TooManyParams { .. }) => {
                cuts.urls_too_long += 1;
                continue;
            }
            Err(_) => {
                cuts.links_refused += 1;
                continue;
            }
        };
        if written.kind == LinkKind::Refresh && refresh.is_none() {
            refresh = Some(Refresh {
                seconds: raw.seconds(number).unwrap_or(0),
                url: url.clone(),
            });
        }
        kept.add(url, written.kind, written.rel);
    }
    cuts.links += raw.dropped.count() + kept.dropped.count();
    cuts.urls_too_long += raw.too_long.count();
    cuts.links_refused += raw.refused.count();
    Resolved {
        links: kept.links,
        refresh,
    }
}

struct Kept {
    links: Vec<Link>,
    seen: HashTable<u32>,
    bytes: usize,
    bytes_max: usize,
    key: u64,
    dropped: Distinct,
}

impl Kept {
    fn add(&mut self, url: Url, kind: LinkKind, rel: &str) {
        let hash = hash_link(self.key, kind, url.as_str(), rel);
        let Kept { links, seen, .. } = self;
        let is_known = |number: &u32| {
            let link = &links[*number as usize];
            link.kind == kind && link.url == url && link.rel == rel
        };
        if seen.find(hash, is_known).is_some() {
            return;
        }
        let bytes = LINK_BYTES + url.as_str().len() + rel.len();
        if self.bytes + bytes > self.bytes_max {
            self.dropped.add(hash);
            return;
        }
        self.bytes += bytes;
        let number = links.len() as u32;
        links.push(Link {
            url,
            kind,
            rel: rel.to_owned(),
        });
        let key = self.key;
        seen.insert_unique(hash, number, |number| {
            let link = &links[*number as usize];
            hash_link(key, link.kind, link.url.as_str(), &link.rel)
        });
    }
}
