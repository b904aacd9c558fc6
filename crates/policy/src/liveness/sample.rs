//! The sample: the pages that are tested first, so that the rest can be ordered by what they tell.
//!
//! Z is the beginning of a static order. Pages of high PageRank or in-degree lie close together
//! and tell much about few places; the variants that keep them apart pass over the neighbours of
//! pages already chosen (section 4.2 of the paper), and come back to them only when nothing else
//! is left. For active-site-first every site gives the same number of random pages (section 4.5).

use std::fmt;
use std::str::FromStr;

use turnstone_frontier::{HostId, Links, PageId};

use super::OldCrawl;

/// How the sample is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SampleBy {
    /// At random: the only one from which the number of alive pages can be estimated.
    Random,
    /// Highest in-degree first.
    Indegree,
    /// Highest PageRank first.
    PageRank,
    /// Highest in-degree first, but no two linked to each other.
    IndegreeApart,
    /// Highest PageRank first, but no two linked to each other.
    PageRankApart,
    /// The same number of random pages in every site that has as many.
    PerSite,
}

impl SampleBy {
    /// The ways that fit every policy, by name.
    pub const COMMON: &[(&str, Self)] = &[
        ("random", Self::Random),
        ("indegree", Self::Indegree),
        ("pagerank", Self::PageRank),
        ("indegree-apart", Self::IndegreeApart),
        ("pagerank-apart", Self::PageRankApart),
    ];

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        let named = Self::COMMON.iter().find(|(_, by)| *by == self);
        named.map_or("per-site", |(name, _)| name)
    }
}

impl fmt::Display for SampleBy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// How large a sample was asked for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SampleSize {
    /// This many pages.
    Pages(u64),
    /// This share of all pages, above 0 and at most 1.
    Share(f64),
}

/// Why a sample cannot be drawn.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SampleError {
    /// Not a size.
    #[error("sample size '{0}' is not possible; give a number of pages (1000) or a share (2%)")]
    NotASize(String),
    /// More than there is.
    #[error("a sample of {wanted} pages is larger than the web, which has {pages}")]
    TooLarge {
        /// What was asked for.
        wanted: u64,
        /// What there is.
        pages: usize,
    },
}

impl FromStr for SampleSize {
    type Err = SampleError;

    fn from_str(text: &str) -> Result<Self, SampleError> {
        let size = match text.strip_suffix('%') {
            Some(percent) => percent
                .trim()
                .parse()
                .ok()
                .filter(|percent| *percent > 0.0 && *percent <= 100.0)
                .map(|percent: f64| Self::Share(percent / 100.0)),
            None => text
                .parse()
                .ok()
                .filter(|pages| *pages > 0)
                .map(Self::Pages),
        };
        size.ok_or_else(|| SampleError::NotASize(text.to_owned()))
    }
}

impl fmt::Display for SampleSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pages(pages) => write!(f, "{pages}"),
            Self::Share(share) => write!(f, "{}%", share * 100.0),
        }
    }
}

impl SampleSize {
    /// How many pages of a web that is; a share is rounded, and at least one page.
    pub fn of(self, pages: usize) -> Result<usize, SampleError> {
        let wanted = match self {
            Self::Pages(wanted) => wanted,
            Self::Share(share) => (share * pages as f64).round().max(1.0) as u64,
        };
        if wanted > pages as u64 {
            return Err(SampleError::TooLarge { wanted, pages });
        }
        Ok(wanted as usize)
    }
}

/// A sample to be drawn: how, and how many pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    /// How it is chosen.
    pub by: SampleBy,
    /// How many pages.
    pub size: usize,
}

impl Sample {
    /// The pages of the sample, in the order in which they are tested. `random` is the random
    /// order of the crawl's seed; `host_of` says which site a page belongs to.
    pub(super) fn draw(
        self,
        old: &OldCrawl,
        random: &[PageId],
        links: &dyn Links,
        host_of: impl Fn(PageId) -> HostId,
    ) -> Vec<PageId> {
        match self.by {
            SampleBy::Random => random[..self.size].to_vec(),
            SampleBy::Indegree => old.by_indegree()[..self.size].to_vec(),
            SampleBy::PageRank => old.by_pagerank()[..self.size].to_vec(),
            SampleBy::IndegreeApart => apart(old.by_indegree(), self.size, links),
            SampleBy::PageRankApart => apart(old.by_pagerank(), self.size, links),
            SampleBy::PerSite => per_site(random, self.size, host_of),
        }
    }
}

/// The first pages of an order of which none links to another; O(pages + links).
fn apart(order: &[PageId], size: usize, links: &dyn Links) -> Vec<PageId> {
    let mut chosen = vec![false; order.len()];
    let mut near = vec![false; order.len()];
    let (mut sample, mut passed_over) = (Vec::with_capacity(size), Vec::new());
    let mut buffer = Vec::new();
    for &page in order {
        if sample.len() == size {
            return sample;
        }
        let targets = links.links_of(page, &mut buffer);
        let is_chosen = |link: &PageId| chosen.get(link.index()) == Some(&true);
        if near[page.index()] || targets.iter().any(is_chosen) {
            passed_over.push(page);
            continue;
        }
        chosen[page.index()] = true;
        for link in targets.iter().filter(|link| link.index() < order.len()) {
            near[link.index()] = true;
        }
        sample.push(page);
    }
    sample.extend(passed_over.iter().take(size - sample.len()));
    sample
}

/// The same number q of random pages from every site that has as many; when there are more sites
/// than pages to spend, one page of each of the largest sites.
fn per_site(random: &[PageId], size: usize, host_of: impl Fn(PageId) -> HostId) -> Vec<PageId> {
    let mut pages_of: Vec<usize> = Vec::new();
    for &page in random {
        let site = host_of(page).index();
        if pages_of.len() <= site {
            pages_of.resize(site + 1, 0);
        }
        pages_of[site] += 1;
    }
    let mut sites: Vec<usize> = (0..pages_of.len())
        .filter(|site| pages_of[*site] > 0)
        .collect();
    let quota = (size / sites.len().max(1)).max(1);
    sites.sort_by_key(|site| (std::cmp::Reverse(pages_of[*site]), *site));
    sites.truncate(size);
    let mut open = vec![0; pages_of.len()];
    for site in sites.into_iter().filter(|site| pages_of[*site] >= quota) {
        open[site] = quota;
    }
    let take = |page: &&PageId| {
        let left = &mut open[host_of(**page).index()];
        *left = if *left == 0 { return false } else { *left - 1 };
        true
    };
    random.iter().filter(take).copied().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};

    fn check(text: &str, pages: usize, expected: Expect) {
        let size = text.parse::<SampleSize>().and_then(|size| size.of(pages));
        expected.assert_eq(&size.map_or_else(|error| error.to_string(), |size| size.to_string()));
    }

    #[test]
    fn sizes_are_pages_or_shares() {
        check("30", 100, expect!["30"]);
        check("2%", 150, expect!["3"]);
        check("0.001%", 150, expect!["1"]);
        check("100%", 150, expect!["150"]);
        check(
            "151",
            150,
            expect!["a sample of 151 pages is larger than the web, which has 150"],
        );
        for wrong in ["0", "0.5", "-1", "0%", "101%", "NaN%", "many", ""] {
            assert_eq!(
                wrong.parse::<SampleSize>(),
                Err(SampleError::NotASize(wrong.to_owned()))
            );
        }
        check(
            "many",
            150,
            expect![
                "sample size 'many' is not possible; give a number of pages (1000) or a share (2%)"
            ],
        );
    }
}
