//! Where pages are: hosts, directories, and the navigation tree that makes every page reachable.
//!
//! Pages are numbered host by host. A host is its front page and then directories of equal size (the
//! last may be smaller), each an index page and its pages. Host sizes follow a power law. URLs are
//! padded with zeros so that page order is URL order.
//!
//! The navigation tree has three storeys, each a heap with [`FANOUT`] children a node: front pages
//! link to the front pages of later hosts, front page and index pages to later index pages of their
//! host, index pages to the pages of their directory. Every page but page 0 has exactly one parent
//! before it, so all are reachable from page 0.
//!
//! Cost: 4 bytes a host; a page is placed by a binary search over hosts.

use std::fmt::Write;

use super::dice::Dice;
use super::parameters::WebParameters;
use super::web::EXCESS;

/// Children of a node of the navigation tree.
const FANOUT: u32 = 8;
/// Child hosts of a front page.
const HOST_FANOUT: u32 = 8;
/// Pages of the largest directory.
const DIRECTORY_PAGES_MAX: u32 = 512;
/// No host holds more than one in so many pages.
const HOST_SHARE_MIN: usize = 20;

pub(super) struct Layout {
    pages: u32,
    /// First page of each host, and the page count behind them.
    host_starts: Vec<u32>,
    widths: Widths,
}

/// Digits of the numbers in URLs.
#[derive(Clone, Copy)]
struct Widths {
    host: usize,
    directory: usize,
    page: usize,
}

/// A host: its number, first page and size, and how many pages its directories have.
#[derive(Clone, Copy)]
pub(super) struct Host {
    pub(super) number: u32,
    pub(super) first: u32,
    pub(super) pages: u32,
    directory_pages: u32,
}

/// Where in its host a page is.
#[derive(Clone, Copy)]
enum Place {
    Front,
    /// Node `node` of the heap of directory `directory`; node 0 is the index page.
    Directory {
        directory: u32,
        node: u32,
    },
}

impl Layout {
    pub(super) fn new(parameters: &WebParameters) -> Self {
        let host_starts = host_starts(parameters);
        let pages = parameters.pages as u32;
        let mut layout = Self {
            pages,
            host_starts,
            widths: Widths {
                host: 1,
                directory: 1,
                page: 1,
            },
        };
        let (mut directories_max, mut pages_max) = (1, 1);
        for number in 0..layout.host_count() {
            let host = layout.host(number);
            directories_max = directories_max.max(host.pages.div_ceil(host.directory_pages));
            pages_max = pages_max.max(host.directory_pages);
        }
        layout.widths = Widths {
            host: digits(layout.host_count() - 1),
            directory: digits(directories_max),
            page: digits(pages_max),
        };
        layout
    }

    pub(super) fn host_count(&self) -> u32 {
        (self.host_starts.len() - 1) as u32
    }

    pub(super) fn host(&self, number: u32) -> Host {
        let first = self.host_starts[number as usize];
        let pages = self.host_starts[number as usize + 1] - first;
        let root = libm::sqrt(f64::from(pages)) as u32;
        Host {
            number,
            first,
            pages,
            directory_pages: root.clamp(4, DIRECTORY_PAGES_MAX),
        }
    }

    pub(super) fn host_of(&self, page: u32) -> Host {
        self.host(self.host_starts.partition_point(|&start| start <= page) as u32 - 1)
    }

    /// First page and size of the directory a page is in; a front page counts the host as its own.
    pub(super) fn directory_of(&self, host: Host, page: u32) -> (u32, u32) {
        match host.place(page) {
            Place::Front => (host.first, host.pages),
            Place::Directory { directory, .. } => {
                (host.index_page(directory), host.pages_of(directory))
            }
        }
    }

    /// Calls `child` for each page the navigation tree makes `page` link to.
    pub(super) fn for_each_child(&self, host: Host, page: u32, mut child: impl FnMut(u32)) {
        // Directories are nodes 1, 2, … of their heap; the front page is node 0.
        let directories = |node: u32, child: &mut dyn FnMut(u32)| {
            for next in children(node, FANOUT, host.directories() + 1) {
                child(host.index_page(next - 1));
            }
        };
        match host.place(page) {
            Place::Front => {
                directories(0, &mut child);
                for next in children(host.number, HOST_FANOUT, self.host_count()) {
                    child(self.host_starts[next as usize]);
                }
            }
            Place::Directory { directory, node } => {
                if node == 0 {
                    directories(directory + 1, &mut child);
                }
                for next in children(node, FANOUT, host.pages_of(directory)) {
                    child(host.index_page(directory) + next);
                }
            }
        }
    }

    /// Whether the navigation tree ends at this page, so that it may have no links at all.
    pub(super) fn is_leaf(&self, host: Host, page: u32) -> bool {
        let mut leaf = true;
        self.for_each_child(host, page, |_| leaf = false);
        leaf
    }

    /// Share of pages at which the navigation tree ends. O(pages).
    pub(super) fn leaf_share(&self) -> f64 {
        let mut leaves = 0u64;
        for number in 0..self.host_count() {
            let host = self.host(number);
            let pages = host.first..host.first + host.pages;
            leaves += pages.filter(|&page| self.is_leaf(host, page)).count() as u64;
        }
        leaves as f64 / f64::from(self.pages)
    }

    /// Writes the URL of a page over what is in `url`.
    pub(super) fn url(&self, page: u32, url: &mut String) {
        let host = self.host_of(page);
        let Widths {
            host: h,
            directory: d,
            page: p,
        } = self.widths;
        url.clear();
        let written = match host.place(page) {
            Place::Front => write!(url, "https://h{:0h$}.example/", host.number),
            Place::Directory { directory, node: 0 } => {
                write!(
                    url,
                    "https://h{:0h$}.example/dir{directory:0d$}/",
                    host.number
                )
            }
            Place::Directory { directory, node } => {
                write!(
                    url,
                    "https://h{:0h$}.example/dir{directory:0d$}/p{node:0p$}.html",
                    host.number
                )
            }
        };
        written.expect("writing into a string does not fail");
    }
}

impl Host {
    fn place(self, page: u32) -> Place {
        match page - self.first {
            0 => Place::Front,
            at => Place::Directory {
                directory: (at - 1) / self.directory_pages,
                node: (at - 1) % self.directory_pages,
            },
        }
    }

    fn directories(self) -> u32 {
        (self.pages - 1).div_ceil(self.directory_pages)
    }

    fn index_page(self, directory: u32) -> u32 {
        self.first + 1 + directory * self.directory_pages
    }

    fn pages_of(self, directory: u32) -> u32 {
        self.directory_pages
            .min(self.pages - 1 - directory * self.directory_pages)
    }
}

/// The children of a node of a heap of `nodes` nodes.
fn children(node: u32, fanout: u32, nodes: u32) -> std::ops::Range<u32> {
    let end = |from: u64| from.min(u64::from(nodes)) as u32;
    let first = u64::from(node) * u64::from(fanout) + 1;
    end(first)..end(first + u64::from(fanout))
}

/// Hosts of random size until all pages have one.
fn host_starts(parameters: &WebParameters) -> Vec<u32> {
    // Hosts have dice of their own, far from those of the pages.
    let mut dice = Dice::of(parameters.seed, u64::MAX);
    let least = parameters.host_pages_min.min(parameters.pages);
    let most = (parameters.pages / HOST_SHARE_MIN).max(least);
    let power = -1.0 / (parameters.exponent - EXCESS - 1.0);
    let mut starts = vec![0u32];
    let mut placed = 0;
    while placed < parameters.pages {
        let size = least as f64 * libm::pow(1.0 - dice.unit(), power);
        placed += (size.min(most as f64) as usize).min(parameters.pages - placed);
        starts.push(placed as u32);
    }
    starts
}

fn digits(mut number: u32) -> usize {
    let mut digits = 1;
    while number >= 10 {
        number /= 10;
        digits += 1;
    }
    digits
}
