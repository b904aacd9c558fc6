//! Limits for hosts, sites and groups of hosts: pages, requests, bytes, depth, delay.
//!
//! A limit names hosts, or none for all of them, and says for whom it counts: for each host, for each site, or
//! for all of them together. Whoever a limit counts for is a *cell*. What a cell has spent is the sum of what the
//! journal says of its hosts, so a restart counts on from where it was, and nothing is kept beside it.
//!
//! Limits bind exactly: what is under way counts, and a page that may be the last one too many waits, in its
//! host's slot, for what comes of it. A limit that is used up refuses further pages, as a limit on pages of a host
//! always did; a longer delay holds for robots.txt and over restarts like that of the crawl.
//!
//! Requests for robots.txt are no pages of anybody: they are bounded by themselves, one a day and authority.
//! Cost: a look at each cell of a host for each hand-out and each answer.

use std::collections::HashMap;

use turnstone_fetch::Url;
use turnstone_fetch::list::UrlList;
use turnstone_fetch::urls::site_of;
use turnstone_frontier::{HostId, PageId};
use turnstone_pagestore::{HostTally, Index};

/// For whom a limit counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Each {
    /// Each host for itself.
    #[default]
    Host,
    /// Each registrable domain.
    Site,
    /// All its hosts as one.
    Together,
}

/// A limit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Limit {
    /// What it is called.
    pub name: String,
    /// The hosts it is for, with those below them; nothing for all.
    pub hosts: Option<UrlList>,
    /// For whom it counts.
    pub each: Each,
    /// The most pages stored.
    pub pages: Option<u64>,
    /// The most requests for pages.
    pub requests: Option<u64>,
    /// The most bytes of bodies.
    pub bytes: Option<u64>,
    /// The most links from a seed.
    pub depth: Option<u32>,
    /// The least time between two requests to a host.
    pub delay_ms: Option<u64>,
}

impl Limit {
    /// Whether it is for a host, by its name.
    pub fn is_for(&self, host: &str) -> bool {
        let Some(hosts) = &self.hosts else {
            return true;
        };
        let url = Url::parse(&format!("http://{host}/"));
        url.is_ok_and(|url| hosts.find(&url).is_some())
    }

    /// The cell of a host.
    pub fn cell_of(&self, host: &str) -> String {
        match self.each {
            Each::Host => host.to_owned(),
            Each::Site => Url::parse(&format!("http://{host}/"))
                .map_or_else(|_| host.to_owned(), |url| site_of(&url).to_owned()),
            Each::Together => String::new(),
        }
    }
}

/// What was spent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Used {
    /// Pages stored.
    pub pages: u64,
    /// Requests for pages.
    pub requests: u64,
    /// Bytes of bodies.
    pub bytes: u64,
}

impl Used {
    /// What a host has spent.
    pub fn of(tally: &HostTally) -> Self {
        Self {
            pages: tally.fetched.into(),
            requests: tally.requests.into(),
            bytes: tally.body_bytes,
        }
    }

    /// What two have spent.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            pages: self.pages + other.pages,
            requests: self.requests + other.requests,
            bytes: self.bytes + other.bytes,
        }
    }
}

/// Whether a page may be asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It may, with a body of at most this many bytes.
    May { body_bytes_max: u64 },
    /// Not before something comes back: a cell to wait for.
    Wait(usize),
    /// Never: in words.
    Never(String),
}

#[derive(Debug, Default)]
struct Cell {
    limit: usize,
    used: Used,
    open: u32,
    waiting: Vec<PageId>,
}

/// The limits of a crawl, and what was spent of them.
#[derive(Debug, Default)]
pub(crate) struct Limits {
    limits: Vec<Limit>,
    cells: Vec<Cell>,
    numbers: HashMap<(usize, String), usize>,
    /// By host: its cells, and what was counted of it.
    hosts: HashMap<HostId, (Vec<usize>, Used)>,
}

impl Limits {
    pub(crate) fn new(limits: Vec<Limit>, index: &Index) -> Self {
        let mut limits = Self {
            limits,
            ..Self::default()
        };
        if !limits.is_empty() {
            for host in (0..index.host_count()).map(HostId::from_index) {
                limits.count(host, index);
            }
        }
        limits
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.limits.is_empty()
    }

    /// Counts what a host has spent by now.
    pub(crate) fn count(&mut self, host: HostId, index: &Index) {
        if self.limits.is_empty() || index.away(host).is_some() {
            return;
        }
        let now = Used::of(&index.tally().hosts[host.index()]);
        let cells = match self.hosts.get(&host) {
            Some((cells, _)) => cells.clone(),
            None => self.join(host, index.host_name(host)),
        };
        let (_, before) = self.hosts.entry(host).or_default();
        let before = std::mem::replace(before, now);
        for cell in cells {
            let used = &mut self.cells[cell].used;
            used.pages += now.pages - before.pages;
            used.requests += now.requests - before.requests;
            used.bytes += now.bytes - before.bytes;
        }
    }

    fn join(&mut self, host: HostId, name: &str) -> Vec<usize> {
        let mut mine = Vec::new();
        for (at, limit) in self.limits.iter().enumerate() {
            if !limit.is_for(name) {
                continue;
            }
            let fresh = self.cells.len();
            let number = *self
                .numbers
                .entry((at, limit.cell_of(name)))
                .or_insert(fresh);
            if number == fresh {
                self.cells.push(Cell {
                    limit: at,
                    ..Cell::default()
                });
            }
            mine.push(number);
        }
        self.hosts.insert(host, (mine.clone(), Used::default()));
        mine
    }

    /// Whether a page of a host may be asked for.
    pub(crate) fn judge(
        &self,
        host: HostId,
        depth: u8,
        stored: bool,
        body_bytes_max: u64,
    ) -> Verdict {
        let Some((cells, _)) = self.hosts.get(&host) else {
            return Verdict::May { body_bytes_max };
        };
        let mut body_bytes_max = body_bytes_max;
        let mut wait = None;
        for &number in cells {
            let cell = &self.cells[number];
            let limit = &self.limits[cell.limit];
            let open = u64::from(cell.open);
            if let Some(max) = limit.depth.filter(|max| u32::from(depth) > *max) {
                return Verdict::Never(format!(
                    "limit {}: more than {max} links from a seed",
                    limit.name
                ));
            }
            for (what, max, used, counts) in [
                ("pages stored", limit.pages, cell.used.pages, !stored),
                ("requests", limit.requests, cell.used.requests, true),
            ] {
                let Some(max) = max.filter(|_| counts) else {
                    continue;
                };
                if used >= max {
                    return Verdict::Never(format!("limit {}: {max} {what}", limit.name));
                }
                if used + open >= max {
                    wait = wait.or(Some(number));
                }
            }
            if let Some(max) = limit.bytes {
                let left = max.saturating_sub(cell.used.bytes);
                if left == 0 {
                    return Verdict::Never(format!("limit {}: {max} bytes", limit.name));
                }
                if left < body_bytes_max.saturating_mul(open + 1) && open > 0 {
                    wait = wait.or(Some(number));
                }
                body_bytes_max = body_bytes_max.min(left);
            }
        }
        match wait {
            Some(cell) => Verdict::Wait(cell),
            None => Verdict::May { body_bytes_max },
        }
    }

    /// A page waits for what is under way in a cell.
    pub(crate) fn wait(&mut self, cell: usize, page: PageId) {
        self.cells[cell].waiting.push(page);
    }

    /// A page of a host is asked for.
    pub(crate) fn opens(&mut self, host: HostId) {
        for cell in self.hosts.get(&host).map_or(&[][..], |(cells, _)| cells) {
            self.cells[*cell].open += 1;
        }
    }

    /// It came back: the pages that waited for it.
    pub(crate) fn closes(&mut self, host: HostId) -> Vec<PageId> {
        let mut free = Vec::new();
        for cell in self.hosts.get(&host).map_or(&[][..], |(cells, _)| cells) {
            let cell = &mut self.cells[*cell];
            cell.open -= 1;
            free.append(&mut cell.waiting);
        }
        free
    }

    /// The longest delay that limits want of a host.
    pub(crate) fn delay_ms(&self, host: HostId) -> u64 {
        let cells = self.hosts.get(&host).map_or(&[][..], |(cells, _)| cells);
        let delays = cells
            .iter()
            .map(|cell| self.limits[self.cells[*cell].limit].delay_ms);
        delays.flatten().max().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use turnstone_fetch::list::ListLine;

    fn limit(each: Each, hosts: &[&str]) -> Limit {
        let lines = hosts.iter().map(|host| ListLine::Host((*host).to_owned()));
        Limit {
            name: "test".into(),
            hosts: (!hosts.is_empty()).then(|| lines.collect()),
            each,
            ..Limit::default()
        }
    }

    #[test]
    fn hosts_belong_to_cells() {
        let all = limit(Each::Site, &[]);
        assert!(all.is_for("a.example.org"));
        assert_eq!(all.cell_of("a.example.org"), all.cell_of("b.example.org"));
        let one = limit(Each::Host, &["example.org"]);
        assert!(one.is_for("a.example.org") && one.is_for("example.org:8080"));
        assert!(!one.is_for("example.com"));
        assert_ne!(one.cell_of("a.example.org"), one.cell_of("b.example.org"));
    }

    #[test]
    fn what_is_under_way_counts() {
        let mut limits = Limits {
            limits: vec![Limit {
                pages: Some(3),
                bytes: Some(250),
                depth: Some(2),
                delay_ms: Some(70),
                ..limit(Each::Together, &[])
            }],
            ..Limits::default()
        };
        let (a, b) = (HostId(0), HostId(1));
        limits.join(a, "a.example");
        limits.join(b, "b.example");
        let may = |body_bytes_max| Verdict::May { body_bytes_max };
        assert_eq!(limits.judge(a, 2, false, 100), may(100));
        assert!(matches!(limits.judge(a, 3, false, 100), Verdict::Never(_)));
        assert_eq!(limits.delay_ms(b), 70);
        limits.opens(a);
        limits.opens(b);
        assert_eq!(
            limits.judge(a, 0, false, 100),
            Verdict::Wait(0),
            "bytes of three"
        );
        assert_eq!(limits.judge(a, 0, false, 50), may(50));
        limits.opens(a);
        assert_eq!(
            limits.judge(b, 0, false, 1),
            Verdict::Wait(0),
            "the third page"
        );
        assert_eq!(limits.judge(b, 0, true, 1), may(1), "it is stored already");
        limits.wait(0, PageId(9));
        assert_eq!(limits.closes(a), [PageId(9)]);
        limits.cells[0].used = Used {
            pages: 3,
            requests: 3,
            bytes: 200,
        };
        assert_eq!(limits.judge(b, 0, true, 100), Verdict::Wait(0));
        limits.closes(a);
        limits.closes(b);
        assert_eq!(limits.judge(b, 0, true, 100), may(50), "what is left");
        assert!(matches!(limits.judge(b, 0, false, 100), Verdict::Never(_)));
    }
}
