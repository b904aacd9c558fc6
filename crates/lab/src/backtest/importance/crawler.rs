//! One policy crawling a living web.

use std::time::Instant;

use turnstone_frontier::{Change, Fault, HostId, Links, PageId, Politeness};
use turnstone_policy::importance::{self, Estimator, NodeKind, OpicOptions};
use turnstone_policy::{Spec, SpecError};

use super::error::Truth;
use super::fixpoint::ChainKind;
use super::living_web::LivingWeb;
use super::{Outcome, Point, Question};
use crate::driver::{Answer, Answers, Driver, Newcomer};

/// A crawl and what was measured of it.
pub(super) struct Crawler {
    name: String,
    options: OpicOptions,
    driver: Driver<Box<dyn Estimator>>,
    seen: Seen,
    points: Vec<Point>,
    seconds: f64,
}

/// What one crawl has seen of the web.
#[derive(Debug, Default)]
struct Seen {
    /// Pages announced.
    known: usize,
    /// A page of each host, where hosts are the nodes.
    page_of_host: Vec<PageId>,
    visits: u64,
    gone: u64,
    /// Visits to pages whose links nobody knows.
    unknown: u64,
    /// The links of the last two copies of pages, for policies that look back. Nothing is kept of a
    /// web that stays as it is: there the web itself is what was fetched.
    copies: Vec<[Vec<PageId>; 2]>,
}

impl Seen {
    fn keep(&mut self, page: PageId, links: &[PageId]) {
        if self.copies.len() <= page.index() {
            self.copies.resize_with(page.index() + 1, Default::default);
        }
        let [now, before] = &mut self.copies[page.index()];
        std::mem::swap(now, before);
        now.clear();
        now.extend_from_slice(links);
    }
}

/// The web as one crawl sees it.
struct Sight<'a> {
    web: &'a dyn LivingWeb,
    /// By page; empty means one for all.
    hosts: &'a [HostId],
    unknown: &'a [bool],
    seen: &'a mut Seen,
}

impl Sight<'_> {
    fn copy(&self, page: PageId, copy: usize) -> &[PageId] {
        if !self.web.changes() {
            return self.web.links(page);
        }
        let copies = self.seen.copies.get(page.index());
        copies.map_or(&[], |copies| copies[copy].as_slice())
    }
}

impl Answers for Sight<'_> {
    fn asked(&mut self, page: PageId) {
        self.seen.visits += 1;
        self.seen.unknown += u64::from(self.unknown.get(page.index()) == Some(&true));
        if !self.web.is_present(page) {
            self.seen.gone += 1;
        } else if self.web.changes() {
            self.seen.keep(page, self.web.links(page));
        }
    }

    fn newcomer(&mut self) -> Option<Newcomer> {
        if self.seen.known == self.web.known() {
            return None;
        }
        let page = PageId::from_index(self.seen.known);
        self.seen.known += 1;
        let host = self.hosts.get(page.index()).copied().unwrap_or_default();
        if self.seen.page_of_host.len() <= host.index() {
            self.seen.page_of_host.resize(host.index() + 1, page);
        }
        let seed = false;
        Some(Newcomer { page, host, seed })
    }

    fn answer(&self, page: PageId) -> Answer<'_> {
        if self.web.is_present(page) {
            Answer::Fetched(Change::New, self.web.links(page))
        } else {
            Answer::Failed(Fault::Gone)
        }
    }

    fn lent(&self) -> &dyn Links {
        self
    }
}

impl Links for Sight<'_> {
    fn links_of<'a>(&'a self, page: PageId, _: &'a mut Vec<PageId>) -> &'a [PageId] {
        self.copy(page, 0)
    }

    fn old_links_of<'a>(&'a self, page: PageId, _: &'a mut Vec<PageId>) -> &'a [PageId] {
        self.copy(page, 1)
    }
}

impl Crawler {
    pub(super) fn new(
        spec: &Spec,
        question: &Question<'_>,
        web: &dyn LivingWeb,
    ) -> Result<Self, SpecError> {
        let policy = importance::build(spec, &question.bonus, question.seed)?;
        let options = importance::chain(spec)?;
        let mut crawler = Self {
            name: spec.to_string(),
            options,
            driver: Driver::new(policy, question.politeness),
            seen: Seen::default(),
            points: Vec::new(),
            seconds: 0.0,
        };
        crawler.crawl(web, question, &[], 0);
        crawler.seconds = 0.0;
        Ok(crawler)
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn chain(&self) -> ChainKind {
        ChainKind::of(&self.options)
    }

    /// Crawls until so many pages were asked for. Pages that are there again are asked for first.
    pub(super) fn crawl(
        &mut self,
        web: &dyn LivingWeb,
        question: &Question<'_>,
        returned: &[PageId],
        until: u64,
    ) {
        let started = Instant::now();
        // Hosts are told only where they matter; else there is one, and the scheduler keeps one queue.
        let needs_hosts = self.options.nodes != NodeKind::Page
            || self.options.internal.number() != 1.0
            || question.politeness != Politeness::OFF;
        let mut sight = Sight {
            web,
            hosts: match needs_hosts {
                true => question.groups.of(self.options.nodes),
                false => &[],
            },
            unknown: question.unknown,
            seen: &mut self.seen,
        };
        self.driver.announce(&mut sight);
        for &page in returned {
            self.driver.fetch(&mut sight, page);
        }
        while sight.seen.visits < until && self.driver.step(&mut sight).is_some() {}
        self.seconds += started.elapsed().as_secs_f64();
    }

    pub(super) fn measure(&mut self, truth: &Truth, size: usize) {
        let scheduler = self.driver.scheduler();
        let (policy, ranking) = (scheduler.policy(), scheduler.ranking());
        let errors = truth.errors(|node| {
            let page = match self.options.nodes {
                NodeKind::Page => PageId(node),
                NodeKind::Host | NodeKind::Site => self.seen.page_of_host[node as usize],
            };
            policy.importance(page, ranking)
        });
        self.points.push(Point {
            visits: self.seen.visits,
            crawls: self.seen.visits as f64 / size as f64,
            error_all: errors.all,
            error_top10: errors.top10,
            error_factor: policy.gauges().clock.map(|clock| 1.0 / clock),
        });
    }

    pub(super) fn importance(&self, page: PageId) -> f64 {
        let scheduler = self.driver.scheduler();
        scheduler.policy().importance(page, scheduler.ranking())
    }

    pub(super) fn outcome(self, size: usize) -> Outcome {
        let scheduler = self.driver.scheduler();
        let (policy, ranking) = (scheduler.policy(), scheduler.ranking());
        policy.audit(ranking);
        let gauges = policy.gauges();
        let bytes = gauges.allocated_bytes + ranking.allocated_bytes();
        let per_crawl = |clock| clock / self.seen.visits.max(1) as f64 * size as f64;
        Outcome {
            measures_per_page: gauges.measures_per_node,
            bytes_per_page: Some(bytes as f64 / self.seen.known.max(1) as f64),
            clock_per_crawl: gauges.clock.map(per_crawl),
            visits: self.seen.visits,
            gone: self.seen.gone,
            unknown: self.seen.unknown,
            crawl_seconds: self.driver.seconds(),
            seconds: self.seconds,
            policy: self.name,
            points: self.points,
        }
    }
}
