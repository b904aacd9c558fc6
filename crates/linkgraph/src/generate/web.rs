//! A web that looks like a crawl.
//!
//! A page links to its children in the navigation tree and then, until it has as many links as it
//! drew: to its directory, its host, or anywhere; in each group the popular more often than the
//! others (see `popularity`). Far links go half to front pages of popular hosts, half to popular
//! pages; which these are is spread evenly over all numbers. The number of links is exponentially
//! distributed. Pages without links are leaves of the tree, so every page is reachable from page 0.
//!
//! Each page follows from the parameters and its number alone: pages are made in parallel, in
//! batches, and handed out in order, so a web of any size can be streamed to disk.
//!
//! Cost: some 30 ns a link on one core; 4 bytes a host and one batch in memory.

use rayon::prelude::*;
use turnstone_frontier::{HostId, PageId};

use super::dice::Dice;
use super::layout::{Host, Layout};
use super::parameters::{ParameterError, WebParameters};
use super::popularity::Popularity;
use crate::error::WriteError;
use crate::graph::{GraphBuilder, LinkGraph};
use crate::stored::PageSink;
use crate::urls::UrlTable;

/// Pages one task makes, and tasks of a batch: enough to share, little enough to keep.
const TASK_PAGES: u32 = 1 << 12;
const BATCH_TASKS: u32 = 32;
/// Rounds of drawing links until enough are distinct; the later ones draw from the whole web.
const ROUNDS: u32 = 6;
const LOCAL_ROUNDS: u32 = 4;
/// A web has an end and a link counts once: both cut the tail of the in-degrees, so that a fit gives
/// a larger exponent than was drawn from, by about this much.
pub(super) const EXCESS: f64 = 0.15;
/// Near the tail is cut earlier still; without this, most pages would get several links and none few.
const NEAR_EXCESS: f64 = 0.3;
/// Quantiles of the exponential distribution kept.
const QUANTILES: usize = 1 << 12;

/// A generated web: any page's links and URL, on demand.
pub struct GeneratedWeb {
    parameters: WebParameters,
    layout: Layout,
    /// Popularity in the whole web, and in a host or directory.
    popularity: Popularity,
    near_popularity: Popularity,
    /// Popularity reaches of all pages and of all hosts.
    pages_reach: f64,
    hosts_reach: f64,
    /// Which page, and which host, has which popularity.
    page_order: Spread,
    host_order: Spread,
    /// Chance of a leaf to have no links.
    leaf_dangling: f64,
    /// Mean links of a page that has links.
    mean_links: f64,
    /// Quantiles of the exponential distribution with mean 1.
    exponential: Vec<f64>,
}

impl GeneratedWeb {
    /// Lays out hosts and directories. O(pages).
    pub fn new(parameters: &WebParameters) -> Result<Self, ParameterError> {
        parameters.check()?;
        let layout = Layout::new(parameters);
        let popularity = Popularity::new(parameters.exponent - EXCESS, parameters.pages);
        let quantile = |i| -libm::log(1.0 - (f64::from(i) + 0.5) / QUANTILES as f64);
        Ok(Self {
            parameters: *parameters,
            pages_reach: popularity.reach(parameters.pages),
            hosts_reach: popularity.reach(layout.host_count() as usize),
            page_order: Spread::over(parameters.pages as u32),
            host_order: Spread::over(layout.host_count()),
            leaf_dangling: parameters.dangling / layout.leaf_share().max(f64::MIN_POSITIVE),
            mean_links: parameters.links_per_page / (1.0 - parameters.dangling),
            exponential: (0..QUANTILES as u32).map(quantile).collect(),
            layout,
            popularity,
            near_popularity: Popularity::new(parameters.exponent - NEAR_EXCESS, parameters.pages),
        })
    }

    /// Number of pages.
    pub fn page_count(&self) -> usize {
        self.parameters.pages
    }

    /// Number of hosts.
    pub fn host_count(&self) -> usize {
        self.layout.host_count() as usize
    }

    /// The host of a page.
    pub fn host(&self, page: PageId) -> HostId {
        HostId(self.layout.host_of(page.0).number)
    }

    /// Writes the URL of a page over what is in `url`.
    pub fn url(&self, page: PageId, url: &mut String) {
        self.layout.url(page.0, url);
    }

    /// Writes the distinct links of a page, ascending, over what is in `links`.
    pub fn links(&self, page: PageId, links: &mut Vec<PageId>) {
        self.links_on(self.layout.host_of(page.0), page, links);
    }

    fn links_on(&self, host: Host, page: PageId, links: &mut Vec<PageId>) {
        links.clear();
        let mut dice = Dice::of(self.parameters.seed, u64::from(page.0));
        self.layout
            .for_each_child(host, page.0, |child| links.push(PageId(child)));
        if links.is_empty() && dice.chance(self.leaf_dangling) {
            return;
        }
        if dice.chance(self.parameters.self_links) {
            links.push(page);
        }
        let wanted = self.links_wanted(&mut dice).min(self.parameters.pages);
        let near = Near::of(self, host, page);
        for round in 0..ROUNDS {
            if links.len() >= wanted {
                break;
            }
            for _ in links.len()..wanted {
                let target = self.draw_target(&near, round < LOCAL_ROUNDS, &mut dice);
                if target != page.0 {
                    links.push(PageId(target));
                }
            }
            links.sort_unstable();
            links.dedup();
        }
        // The tree may have given more than wanted, and out of order.
        links.sort_unstable();
        links.dedup();
    }

    /// How many links a page that has links should have.
    fn links_wanted(&self, dice: &mut Dice) -> usize {
        let quantile = self.exponential[dice.below(QUANTILES as u32) as usize];
        // Rounding up or down at random keeps the mean.
        1 + (quantile * (self.mean_links - 1.0).max(0.0) + dice.unit()) as usize
    }

    #[inline]
    fn draw_target(&self, near: &Near, may_be_local: bool, dice: &mut Dice) -> u32 {
        let draw =
            |dice: &mut Dice, reach, members| self.popularity.draw(dice.unit(), reach, members);
        if may_be_local && dice.chance(self.parameters.local) {
            let group = if dice.chance(self.parameters.same_directory) {
                &near.directory
            } else {
                &near.host
            };
            return group.first
                + self
                    .near_popularity
                    .draw(dice.unit(), group.reach, group.pages);
        }
        if dice.chance(0.5) {
            let rank = draw(dice, self.hosts_reach, self.layout.host_count());
            self.layout.host(self.host_order.at(rank)).first
        } else {
            self.page_order
                .at(draw(dice, self.pages_reach, self.parameters.pages as u32))
        }
    }

    /// Calls `each` for every page in order, with its links; stops at the first error.
    pub fn for_each_page<E>(
        &self,
        mut each: impl FnMut(PageId, &[PageId]) -> Result<(), E>,
    ) -> Result<(), E> {
        let pages = self.parameters.pages as u32;
        let batch_pages = TASK_PAGES * BATCH_TASKS;
        for batch in (0..pages).step_by(batch_pages as usize) {
            let batch_end = pages.min(batch.saturating_add(batch_pages));
            let tasks: Vec<u32> = (batch..batch_end).step_by(TASK_PAGES as usize).collect();
            let made: Vec<Rows> = tasks
                .par_iter()
                .map(|&first| self.rows(first..batch_end.min(first.saturating_add(TASK_PAGES))))
                .collect();
            for rows in &made {
                let mut start = 0;
                for (i, &end) in rows.ends.iter().enumerate() {
                    each(PageId(rows.first + i as u32), &rows.links[start..end])?;
                    start = end;
                }
            }
        }
        Ok(())
    }

    fn rows(&self, pages: std::ops::Range<u32>) -> Rows {
        let mut rows = Rows {
            first: pages.start,
            ends: Vec::with_capacity(pages.len()),
            links: Vec::new(),
        };
        let mut links = Vec::new();
        let mut host = self.layout.host_of(pages.start);
        for page in pages {
            if page - host.first == host.pages {
                host = self.layout.host(host.number + 1);
            }
            self.links_on(host, PageId(page), &mut links);
            rows.links.extend_from_slice(&links);
            rows.ends.push(rows.links.len());
        }
        rows
    }

    /// The whole web in memory.
    pub fn graph(&self) -> LinkGraph {
        let links = self.parameters.links_per_page * self.parameters.pages as f64 * 1.05;
        let mut builder = GraphBuilder::with_capacity(self.parameters.pages, links as usize);
        let each = |_, links: &[PageId]| {
            builder.push(links);
            Ok::<(), std::convert::Infallible>(())
        };
        match self.for_each_page(each) {
            Ok(()) => builder.finish(),
            Err(never) => match never {},
        }
    }

    /// The URLs of all pages.
    pub fn urls(&self) -> UrlTable {
        let mut urls = UrlTable::new();
        let mut url = String::new();
        for page in 0..self.parameters.pages as u32 {
            self.url(PageId(page), &mut url);
            urls.push(&url);
        }
        urls
    }

    /// Streams the web into files; `watch` is told now and then how many pages are done. Returns how
    /// many links there are.
    pub fn write(
        &self,
        mut sink: Box<dyn PageSink>,
        watch: &mut dyn FnMut(u64),
    ) -> Result<u64, WriteError> {
        let mut url = String::new();
        let mut link_count = 0;
        self.for_each_page(|page, links| {
            link_count += links.len() as u64;
            self.url(page, &mut url);
            if page.0 % TASK_PAGES == 0 {
                watch(u64::from(page.0));
            }
            sink.page(links, Some(&url))
        })?;
        sink.finish()?;
        Ok(link_count)
    }
}

/// The links of some pages, one after the other.
struct Rows {
    first: u32,
    ends: Vec<usize>,
    links: Vec<PageId>,
}

/// The groups near a page.
struct Near {
    directory: Group,
    host: Group,
}

struct Group {
    first: u32,
    pages: u32,
    reach: f64,
}

impl Near {
    fn of(web: &GeneratedWeb, host: Host, page: PageId) -> Self {
        let (first, pages) = web.layout.directory_of(host, page.0);
        let group = |first, pages: u32| Group {
            first,
            pages,
            reach: web.near_popularity.reach(pages as usize),
        };
        Self {
            directory: group(first, pages),
            host: group(host.first, host.pages),
        }
    }
}

/// A fixed permutation of `0..n` that puts neighbours far apart: multiples of a step near the golden
/// section that has no divisor in common with n.
struct Spread {
    n: u64,
    step: u64,
}

impl Spread {
    fn over(n: u32) -> Self {
        let n = u64::from(n);
        let golden = (n as f64 * 0.618_033_988_749_895) as u64;
        let step = (golden.max(1)..)
            .find(|&step| gcd(step, n) == 1)
            .expect("n + 1 has none");
        Self { n, step }
    }

    #[inline]
    fn at(&self, i: u32) -> u32 {
        // Half-way round, so that the first page is not the most popular too.
        ((u64::from(i) * self.step + self.n / 2) % self.n) as u32
    }
}

fn gcd(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}
