//! From one sitemap to all of a site's: through indexes, without loops and with an end.
//!
//! The protocol forbids an index inside an index, but sites do it; we go a few levels. Each
//! sitemap is asked for once. Nothing here fetches: the caller takes [`SitemapWalk::next`],
//! fetches, reads, and tells [`SitemapWalk::found`].

use std::collections::{HashSet, VecDeque};

use url::Url;

use super::read::{Sitemap, SitemapKind};
use crate::urls::{KeyOptions, canonical_key};

/// Where a walk ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WalkLimits {
    /// Levels of indexes, the first included.
    pub depth_max: u32,
    /// Sitemaps asked for in all.
    pub sitemaps_max: usize,
}

impl Default for WalkLimits {
    fn default() -> Self {
        WalkLimits {
            depth_max: 3,
            sitemaps_max: 10_000,
        }
    }
}

/// The sitemaps of one site still to be read.
#[derive(Debug, Clone)]
pub struct SitemapWalk {
    limits: WalkLimits,
    waiting: VecDeque<(Url, u32)>,
    seen: HashSet<String>,
    left_out: u64,
}

impl SitemapWalk {
    /// Begins with the sitemaps that robots.txt names, or the usual address.
    pub fn new(first: impl IntoIterator<Item = Url>, limits: WalkLimits) -> SitemapWalk {
        let mut walk = SitemapWalk {
            limits,
            waiting: VecDeque::new(),
            seen: HashSet::new(),
            left_out: 0,
        };
        first.into_iter().for_each(|url| walk.add(url, 1));
        walk
    }

    /// The next sitemap to fetch, and its level (1 for the first ones).
    pub fn next_sitemap(&mut self) -> Option<(Url, u32)> {
        self.waiting.pop_front()
    }

    /// Tells what the sitemap of this level held; an index adds to the walk.
    pub fn found(&mut self, level: u32, sitemap: &Sitemap) {
        if sitemap.kind == SitemapKind::Index {
            sitemap
                .entries
                .iter()
                .for_each(|entry| self.add(entry.url.clone(), level + 1));
        }
    }

    /// Sitemaps not asked for because of a limit.
    pub fn left_out(&self) -> u64 {
        self.left_out
    }

    fn add(&mut self, url: Url, level: u32) {
        let key = canonical_key(&url, &KeyOptions::default());
        if self.seen.contains(&key) {
            return;
        }
        // Level n is reached through n - 1 indexes.
        if level > self.limits.depth_max + 1 || self.seen.len() >= self.limits.sitemaps_max {
            self.left_out += 1;
            return;
        }
        self.seen.insert(key);
        self.waiting.push_back((url, level));
    }
}
