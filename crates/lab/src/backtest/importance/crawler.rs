//! One policy crawling a living web.

use std::time::Instant;

use turnstone_frontier::{Change, Event, Fault, HostId, Links, PageId, Politeness, Scheduler};
use turnstone_policy::importance::{self, Estimator, NodeKind, OpicOptions};
use turnstone_policy::{Spec, SpecError};

use super::error::Truth;
use super::fixpoint::ChainKind;
use super::living_web::LivingWeb;
use super::{Groups, Outcome, Point, Question};
use crate::requests::Requests;

/// A crawl and what was measured of it.
pub(super) struct Crawler {
    name: String,
    options: OpicOptions,
    scheduler: Scheduler<Box<dyn Estimator>>,
    /// What was fetched, where the web changes.
    copies: Copies,
    requests: Requests,
    /// Whether the scheduler must know hosts; else there is one, and it keeps one queue.
    needs_hosts: bool,
    /// A page of each host, where hosts are the nodes.
    page_of_host: Vec<PageId>,
    known: usize,
    visits: u64,
    gone: u64,
    /// Visits to pages whose links nobody knows.
    unknown: u64,
    points: Vec<Point>,
    seconds: f64,
}

/// The links of the last two copies of pages, for policies that look back. Nothing is kept of a web that
/// stays as it is: there the web itself is what was fetched.
#[derive(Debug, Default)]
struct Copies {
    now: Vec<Vec<PageId>>,
    before: Vec<Vec<PageId>>,
}

impl Copies {
    fn keep(&mut self, page: PageId, links: &[PageId]) {
        if self.now.len() <= page.index() {
            self.now.resize_with(page.index() + 1, Vec::new);
            self.before.resize_with(page.index() + 1, Vec::new);
        }
        let (now, before) = (&mut self.now[page.index()], &mut self.before[page.index()]);
        std::mem::swap(now, before);
        now.clear();
        now.extend_from_slice(links);
    }
}

/// What a policy is lent.
struct LinksOf<'a> {
    web: &'a dyn LivingWeb,
    copies: &'a Copies,
}

impl Links for LinksOf<'_> {
    fn links_of<'a>(&'a self, page: PageId, _: &'a mut Vec<PageId>) -> &'a [PageId] {
        if self.web.changes() {
            return self.copies.now.get(page.index()).map_or(&[], Vec::as_slice);
        }
        self.web.links(page)
    }

    fn old_links_of<'a>(&'a self, page: PageId, _: &'a mut Vec<PageId>) -> &'a [PageId] {
        if self.web.changes() {
            return self
                .copies
                .before
                .get(page.index())
                .map_or(&[], Vec::as_slice);
        }
        self.web.links(page)
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
            scheduler: Scheduler::new(policy, question.politeness),
            requests: Requests::new(question.politeness),
            copies: Copies::default(),
            needs_hosts: options.nodes != NodeKind::Page
                || options.internal.number() != 1.0
                || question.politeness != Politeness::OFF,
            page_of_host: Vec::new(),
            known: 0,
            visits: 0,
            gone: 0,
            unknown: 0,
            points: Vec::new(),
            seconds: 0.0,
        };
        crawler.discover(web, &question.groups);
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
        self.discover(web, &question.groups);
        for &page in returned {
            self.answer(web, page);
        }
        while self.visits < until {
            let Some(page) = self.requests.next(&mut self.scheduler) else {
                break;
            };
            self.unknown += u64::from(question.unknown.get(page.index()) == Some(&true));
            self.answer(web, page);
        }
        self.seconds += started.elapsed().as_secs_f64();
    }

    pub(super) fn measure(&mut self, truth: &Truth, size: usize) {
        let (policy, ranking) = (self.scheduler.policy(), self.scheduler.ranking());
        let errors = truth.errors(|node| {
            let page = match self.options.nodes {
                NodeKind::Page => PageId(node),
                NodeKind::Host | NodeKind::Site => self.page_of_host[node as usize],
            };
            policy.importance(page, ranking)
        });
        self.points.push(Point {
            visits: self.visits,
            crawls: self.visits as f64 / size as f64,
            error_all: errors.all,
            error_top10: errors.top10,
            error_factor: policy.gauges().clock.map(|clock| 1.0 / clock),
        });
    }

    pub(super) fn importance(&self, page: PageId) -> f64 {
        self.scheduler
            .policy()
            .importance(page, self.scheduler.ranking())
    }

    pub(super) fn outcome(self, size: usize) -> Outcome {
        let (policy, ranking) = (self.scheduler.policy(), self.scheduler.ranking());
        policy.audit(ranking);
        let gauges = policy.gauges();
        let bytes = gauges.allocated_bytes + ranking.allocated_bytes();
        let per_crawl = |clock| clock / self.visits.max(1) as f64 * size as f64;
        Outcome {
            measures_per_page: gauges.measures_per_node,
            bytes_per_page: Some(bytes as f64 / self.known.max(1) as f64),
            clock_per_crawl: gauges.clock.map(per_crawl),
            visits: self.visits,
            gone: self.gone,
            unknown: self.unknown,
            crawl_seconds: self.requests.seconds(),
            seconds: self.seconds,
            policy: self.name,
            points: self.points,
        }
    }

    fn discover(&mut self, web: &dyn LivingWeb, groups: &Groups) {
        let hosts = groups.of(self.options.nodes);
        while self.known < web.known() {
            let page = PageId::from_index(self.known);
            let host = hosts.get(page.index()).copied().unwrap_or_default();
            let host = if self.needs_hosts { host } else { HostId(0) };
            if self.page_of_host.len() <= host.index() {
                self.page_of_host.resize(host.index() + 1, page);
            }
            let event = Event::Discovered {
                page,
                host,
                seed: false,
            };
            let copies = &self.copies;
            self.scheduler
                .observe(&event, self.requests.now(), &LinksOf { web, copies });
            self.known += 1;
        }
    }

    fn answer(&mut self, web: &dyn LivingWeb, page: PageId) {
        self.visits += 1;
        let event = if web.is_present(page) {
            Event::Fetched {
                page,
                change: Change::New,
                links: web.links(page),
            }
        } else {
            self.gone += 1;
            Event::Failed {
                page,
                fault: Fault::Gone,
            }
        };
        if let Event::Fetched { links, .. } = event
            && web.changes()
        {
            self.copies.keep(page, links);
        }
        let copies = &self.copies;
        self.scheduler
            .observe(&event, self.requests.now(), &LinksOf { web, copies });
    }
}
