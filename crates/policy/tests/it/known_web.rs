//! A web as a crawl knows it, the truth about it, and a driver that may also undo the past.
//!
//! The truth is personalised PageRank by plain power iteration over the known graph: dead pages
//! taken out, redirects contracted, and two things that nobody knows decided by the test: where
//! pages not yet fetched link to, and where unseen links lead.

use turnstone_frontier::{
    Change, Coverage, Event, Fault, HostId, Links, Next, PageId, Policy, Politeness, Scheduler,
    Tick,
};
use turnstone_policy::coverage::{Gone, Trust};
use turnstone_policy::mass::as_fraction;

/// Enough for twelve digits at a damping of 0.85.
const ITERATIONS: usize = 180;

/// What is known of a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Known {
    Open,
    Stored { links: Vec<PageId>, unseen: u64 },
    Moved(PageId),
    Dead,
}

/// What a page does when it is asked for.
#[derive(Clone, Debug)]
pub(crate) enum Reply {
    Page { links: Vec<PageId>, unseen: u64 },
    Gone,
    Refused,
    Unknown,
    Moved(PageId),
}

/// Pages by number.
#[derive(Clone, Debug)]
pub(crate) struct KnownWeb(pub(crate) Vec<Known>);

impl Links for KnownWeb {
    fn links_of<'a>(&'a self, page: PageId, _: &'a mut Vec<PageId>) -> &'a [PageId] {
        match &self.0[page.index()] {
            Known::Stored { links, .. } => links,
            other => panic!("links of page {page}, which is {other:?}"),
        }
    }
}

/// Where links lead of which nobody knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unknown {
    /// Out of the store and never back.
    Away,
    /// To the first page that is stored, if any is.
    Back,
}

impl KnownWeb {
    pub(crate) fn state(&self, page: PageId) -> &Known {
        &self.0[page.index()]
    }

    /// The end of a chain of redirects; none where it is dead and does not count.
    fn end(&self, page: PageId, gone: Gone) -> Option<PageId> {
        let mut end = page;
        for _ in 0..=self.0.len() {
            match *self.state(end) {
                Known::Moved(to) => end = to,
                Known::Dead if gone == Gone::Skip => return None,
                _ => return Some(end),
            }
        }
        panic!("a circle of redirects at page {page}")
    }

    /// Whether the page stands for one that is dead, or is dead.
    pub(crate) fn ends_dead(&self, page: PageId) -> bool {
        self.end(page, Gone::Skip).is_none()
    }

    /// Whether the end of a page's chain is the page itself, should it lead to another.
    fn closes_a_circle(&self, page: PageId, to: PageId) -> bool {
        let mut at = to;
        while at != page {
            match *self.state(at) {
                Known::Moved(next) => at = next,
                _ => return false,
            }
        }
        true
    }

    /// What each page links to, one page more for what lies outside, and where the surfer starts.
    /// None if no trusted page can be had.
    fn graph(&self, trust: &Trust, gone: Gone, open: Unknown, unseen: Unknown) -> Option<Graph> {
        let outside = self.0.len();
        let stored = (0..outside).find(|index| matches!(self.0[*index], Known::Stored { .. }));
        let back = stored.unwrap_or(outside);
        let target = |unknown| {
            if unknown == Unknown::Back {
                back
            } else {
                outside
            }
        };
        let mut links: Vec<Vec<(usize, f64)>> = vec![Vec::new(); outside + 1];
        for (index, known) in self.0.iter().enumerate() {
            match known {
                Known::Stored {
                    links: own,
                    unseen: count,
                } => {
                    let ends = own.iter().filter_map(|link| self.end(*link, gone));
                    links[index].extend(ends.map(|end| (end.index(), 1.0)));
                    if *count > 0 {
                        links[index].push((target(unseen), *count as f64));
                    }
                }
                Known::Open | Known::Dead => links[index].push((target(open), 1.0)),
                Known::Moved(_) => {}
            }
        }
        links[outside].push((outside, 1.0));
        let mut start = vec![0.0; outside + 1];
        for &(page, mass) in trust.masses() {
            if let Some(end) = self.end(page, gone) {
                start[end.index()] += as_fraction(mass);
            }
        }
        let whole: f64 = start.iter().sum();
        (whole > 0.0).then(|| Graph {
            links,
            start: start.iter().map(|share| share / whole).collect(),
        })
    }

    /// The true share that is stored.
    pub(crate) fn stored_share(
        &self,
        trust: &Trust,
        (damping, gone, leak): (f64, Gone, bool),
        (open, unseen): (Unknown, Unknown),
    ) -> f64 {
        let Some(graph) = self.graph(trust, gone, open, unseen) else {
            return 0.0;
        };
        let ranks = graph.ranks(damping, leak);
        let pages = self.0.iter().zip(ranks);
        pages
            .filter(|(known, _)| matches!(known, Known::Stored { .. }))
            .map(|(_, rank)| rank)
            .sum()
    }

    /// By page: what a surfer who starts there leaves in the store before he first meets a page
    /// that is not stored; and that for one who starts where all start.
    pub(crate) fn worth(&self, trust: &Trust, damping: f64) -> Option<(Vec<f64>, f64)> {
        let graph = self.graph(trust, Gone::Skip, Unknown::Away, Unknown::Away)?;
        let is_stored = |index: usize| matches!(self.0.get(index), Some(Known::Stored { .. }));
        let mut worth = vec![0.0; graph.links.len()];
        let mut from_start = 0.0;
        for _ in 0..ITERATIONS {
            let next: Vec<f64> = (0..worth.len())
                .map(|index| match &graph.links[index] {
                    _ if !is_stored(index) => 0.0,
                    links if links.is_empty() => 1.0 - damping + damping * from_start,
                    links => {
                        let whole: f64 = links.iter().map(|(_, weight)| weight).sum();
                        let sum: f64 = links.iter().map(|(to, weight)| worth[*to] * weight).sum();
                        1.0 - damping + damping * sum / whole
                    }
                })
                .collect();
            worth = next;
            from_start = graph.start.iter().zip(&worth).map(|(s, w)| s * w).sum();
        }
        for (index, known) in self.0.iter().enumerate() {
            if let Known::Moved(_) = known {
                let end = self.end(PageId::from_index(index), Gone::Count);
                worth[index] = worth[end.expect("dead pages count").index()];
            }
        }
        Some((worth, from_start))
    }
}

struct Graph {
    /// By page: where its links lead, with how many each.
    links: Vec<Vec<(usize, f64)>>,
    start: Vec<f64>,
}

impl Graph {
    fn ranks(&self, damping: f64, leak: bool) -> Vec<f64> {
        let mut ranks = self.start.clone();
        for _ in 0..ITERATIONS {
            let mut next: Vec<f64> = self.start.iter().map(|s| (1.0 - damping) * s).collect();
            for (rank, links) in ranks.iter().zip(&self.links) {
                if links.is_empty() && !leak {
                    for (target, share) in next.iter_mut().zip(&self.start) {
                        *target += damping * rank * share;
                    }
                }
                let whole: f64 = links.iter().map(|(_, weight)| weight).sum();
                for (to, weight) in links {
                    next[*to] += damping * rank * weight / whole;
                }
            }
            ranks = next;
        }
        ranks
    }
}

/// A crawl of such a web.
pub(crate) struct KnownCrawl<P> {
    pub(crate) scheduler: Scheduler<P>,
    pub(crate) web: KnownWeb,
    pub(crate) asked: usize,
    now: Tick,
}

impl<P: Policy> KnownCrawl<P> {
    pub(crate) fn start(policy: P, pages: usize) -> Self {
        let mut crawl = Self {
            scheduler: Scheduler::new(policy, Politeness::OFF),
            web: KnownWeb(vec![Known::Open; pages]),
            asked: 0,
            now: Tick(0),
        };
        for page in (0..pages).map(PageId::from_index) {
            crawl.tell(&Event::Discovered {
                page,
                host: HostId(0),
                seed: false,
            });
        }
        crawl
    }

    fn tell(&mut self, event: &Event<'_>) {
        self.scheduler.observe(event, self.now, &self.web);
    }

    pub(crate) fn coverage(&self) -> Coverage {
        self.scheduler.coverage().expect("the policy proves")
    }

    /// The page to ask for now, if the goal is not met and one is left.
    pub(crate) fn next(&mut self) -> Option<PageId> {
        loop {
            assert!(self.asked < 10_000, "the crawl does not end");
            if self.coverage().met() {
                return None;
            }
            match self.scheduler.next(self.now) {
                Next::Fetch(page) => {
                    self.asked += 1;
                    return Some(page);
                }
                Next::WaitUntil(tick) => self.now = tick,
                Next::Empty => return None,
            }
        }
    }

    /// A page answered, asked or not.
    pub(crate) fn reply(&mut self, page: PageId, reply: Reply, unchanged: bool) {
        let before = self.web.state(page).clone();
        match reply {
            Reply::Page { links, unseen } => {
                let known = Known::Stored {
                    links: links.clone(),
                    unseen,
                };
                let change = match before {
                    Known::Stored { .. } if unchanged => Change::Unchanged,
                    Known::Stored { .. } => Change::Changed,
                    _ => Change::New,
                };
                if unseen > 0 {
                    self.tell(&Event::Unseen {
                        page,
                        links: unseen,
                    });
                }
                self.web.0[page.index()] = known;
                self.tell(&Event::Fetched {
                    page,
                    change,
                    links: &links,
                });
            }
            Reply::Gone | Reply::Refused => {
                if !matches!(before, Known::Stored { .. }) {
                    self.web.0[page.index()] = Known::Dead;
                }
                let fault = match reply {
                    Reply::Gone => Fault::Gone,
                    _ => Fault::Refused,
                };
                self.tell(&Event::Failed { page, fault });
            }
            Reply::Unknown => self.tell(&Event::Failed {
                page,
                fault: Fault::Unknown,
            }),
            Reply::Moved(to) => {
                if !self.web.closes_a_circle(page, to) {
                    self.web.0[page.index()] = Known::Moved(to);
                } else if !matches!(before, Known::Stored { .. }) {
                    self.web.0[page.index()] = Known::Dead;
                }
                self.tell(&Event::Moved { page, to });
            }
        }
    }
}
