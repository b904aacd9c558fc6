//! A web that misbehaves by seed, and hosts that remember when they were asked.
//!
//! What a page is depends on the seed and its URL alone, but for faults that pass: those end after
//! so many requests, fewer than the crawler's patience, so that every page that exists can be had.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::{Duration, Instant};

use turnstone_crawl::page::{self, Answer, Found};
use turnstone_crawl::{Job, Report};
use turnstone_fetch::urls::{KeyOptions, canonical_key};
use turnstone_fetch::{ErrorClass, FetchError, Protocol, Redirect, Response, Timings, Url};
use turnstone_frontier::Tick;
use turnstone_pagestore::{Facts, Keyer};

use super::dice::fate;

/// The least time between two requests to an address.
pub(super) const DELAY_MS: u64 = 1000;
/// Pages of a host, beside its calendar without end.
const PAGES: u64 = 9;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// It comes, after so many failures.
    There(u64),
    Gone,
    MovedTo(u64, u64),
    /// The server says that it is too much, so often.
    Busy(u64),
}

#[derive(Debug)]
pub(super) struct VirtualWeb {
    pub(super) seed: u64,
    pub(super) hosts: u64,
    /// By address: the tick of its last request, and those open.
    asked: BTreeMap<IpAddr, (Tick, u32)>,
    /// By URL: requests so far.
    tries: BTreeMap<String, u64>,
    pub(super) requests: u64,
}

impl VirtualWeb {
    pub(super) fn new(seed: u64) -> Self {
        Self {
            seed,
            hosts: 2 + fate(seed, "hosts").below(4),
            asked: BTreeMap::new(),
            tries: BTreeMap::new(),
            requests: 0,
        }
    }

    pub(super) fn url(&self, host: u64, page: u64) -> Url {
        let folder = if page % 3 == 2 { "x/" } else { "" };
        Url::parse(&format!("http://h{host}.example/{folder}p{page}.html")).unwrap()
    }

    fn place(&self, url: &Url) -> Option<(u64, u64)> {
        let host = url
            .host_str()?
            .strip_prefix('h')?
            .strip_suffix(".example")?;
        let name = url.path().rsplit('/').next()?;
        let page = name.strip_prefix('p')?.strip_suffix(".html")?;
        Some((host.parse().ok()?, page.parse().ok()?))
    }

    /// Some hosts share an address.
    pub(super) fn address(&self, host: &str) -> IpAddr {
        let own = fate(self.seed, host).below(self.hosts + 1) as u8;
        Ipv4Addr::new(192, 0, 2, own).into()
    }

    /// Hosts that never answer; the first does.
    pub(super) fn is_dead(&self, host: &str) -> bool {
        host != "h0.example" && fate(self.seed, &format!("dead {host}")).once_in(8)
    }

    /// What robots.txt of a host forbids.
    pub(super) fn forbids(&self, url: &Url) -> bool {
        let host = url.host_str().unwrap_or_default();
        fate(self.seed, &format!("robots {host}")).once_in(3) && url.path().contains("p4")
    }

    pub(super) fn kind(&self, host: u64, page: u64) -> Kind {
        let mut dice = fate(self.seed, &format!("kind {host} {page}"));
        if (host, page) == (0, 0) {
            return Kind::There(0);
        }
        match dice.below(12) {
            0 | 1 => Kind::Gone,
            2 => Kind::MovedTo(dice.below(self.hosts), dice.below(PAGES)),
            3 => Kind::There(1 + dice.below(2)),
            4 => Kind::Busy(1 + dice.below(2)),
            _ => Kind::There(0),
        }
    }

    /// The links of a page: within the web, out of it, and into a calendar without end.
    pub(super) fn links(&self, url: &Url) -> Vec<Url> {
        let mut dice = fate(self.seed, &format!("links {url}"));
        if let Some(day) = url.path().strip_prefix("/day/") {
            let next = day.parse::<u64>().unwrap_or(0) + 1;
            return vec![url.join(&format!("/day/{next}")).unwrap()];
        }
        let mut links: Vec<Url> = (0..1 + dice.below(6))
            .map(|_| self.url(dice.below(self.hosts), dice.below(PAGES)))
            .collect();
        if dice.once_in(4) {
            links.push(Url::parse(&format!("http://far{}.example/", dice.below(3))).unwrap());
        }
        if dice.once_in(6) {
            links.push(url.join("/day/1").unwrap());
        }
        links
    }

    /// The pages that can be had from the first one, as far as `in_scope` reaches; without calendars.
    pub(super) fn reachable(&self, in_scope: impl Fn(&Url) -> bool) -> BTreeSet<String> {
        let mut there = BTreeSet::new();
        let mut met = BTreeSet::new();
        let mut next = vec![self.url(0, 0)];
        while let Some(url) = next.pop() {
            let host = url.host_str().unwrap_or_default().to_owned();
            let fits = in_scope(&url) && !self.is_dead(&host) && !self.forbids(&url);
            let Some((host, page)) = self.place(&url).filter(|_| fits) else {
                continue;
            };
            if !met.insert(url.to_string()) {
                continue;
            }
            match self.kind(host, page) {
                Kind::Gone => {}
                Kind::MovedTo(host, page) => next.push(self.url(host, page)),
                Kind::There(_) | Kind::Busy(_) => {
                    there.insert(url.to_string());
                    next.extend(self.links(&url));
                }
            }
        }
        there
    }

    /// A request reaches a host: it must not come too soon, nor beside another.
    fn asked(&mut self, url: &Url, now: Tick) {
        let address = self.address(url.host_str().unwrap());
        let (last, open) = self.asked.entry(address).or_insert((Tick(0), 0));
        let fresh = last.0 == 0;
        assert!(
            fresh || now.0 >= last.0 + DELAY_MS,
            "impolite: {url} at {} ms, the last request to {address} was at {} ms",
            now.0,
            last.0
        );
        assert_eq!(
            *open, 0,
            "impolite: {url} beside another request to {address}"
        );
        *last = Tick(now.0.max(1));
        *open += 1;
        // What never connected was no request, though it must not come too soon either.
        self.requests += u64::from(!self.is_dead(url.host_str().unwrap()));
    }

    /// A request is answered, or its process is gone.
    fn answered(&mut self, url: &Url) {
        let address = self.address(url.host_str().unwrap());
        if let Some((_, open)) = self.asked.get_mut(&address) {
            *open = open.saturating_sub(1);
        }
    }

    /// By host: how many days of its calendar were asked for.
    pub(super) fn days(&self) -> BTreeMap<String, u64> {
        let mut days = BTreeMap::new();
        for url in self.tries.keys().filter(|url| url.contains("/day/")) {
            let host = url.split('/').nth(2).unwrap_or_default().to_owned();
            *days.entry(host).or_default() += 1;
        }
        days
    }

    /// Every connection breaks.
    pub(super) fn hang_up(&mut self) {
        for (_, open) in self.asked.values_mut() {
            *open = 0;
        }
    }

    /// Takes a job: what comes back, and how many milliseconds later.
    pub(super) fn take(&mut self, job: Job, now: Tick, keyer: &Keyer) -> (u64, Flight) {
        match job {
            Job::Resolve { page, host, url } => {
                let name = url.host_str().unwrap();
                let address = self.address(name);
                let result = Ok(vec![address]);
                (5, Flight::free(Report::Resolved { page, host, result }))
            }
            Job::Robots {
                authority,
                url,
                host,
                slot,
                ..
            } => {
                self.asked(&url, now);
                let result = self.robots(&url);
                let sent = result.is_ok().then_some(now.plus(1));
                let report = Report::Robots {
                    authority,
                    host,
                    slot,
                    sent,
                    result: Box::new(result),
                };
                (40, Flight::asked(url, report))
            }
            Job::Page(job) => {
                self.asked(&job.url, now);
                let took = 20 + fate(self.seed, &format!("slow {}", job.url)).below(400);
                let url = job.url.clone();
                let report = Report::Page(self.page(job, now, keyer));
                (took, Flight::asked(url, report))
            }
            Job::Sibling { .. } => unreachable!("only surveys probe"),
        }
    }

    fn tried(&mut self, url: &Url) -> u64 {
        let tries = self.tries.entry(url.to_string()).or_default();
        *tries += 1;
        *tries
    }

    fn robots(&mut self, url: &Url) -> Result<Response, FetchError> {
        let host = url.host_str().unwrap().to_owned();
        if self.is_dead(&host) {
            return Err(failure(url, ErrorClass::ConnectTimeout, 0));
        }
        let sick = fate(self.seed, &format!("sick {host}")).below(3);
        let status = if self.tried(url) <= sick { 503 } else { 200 };
        let forbids = fate(self.seed, &format!("robots {host}")).once_in(3);
        let body = if forbids {
            "User-agent: *\nDisallow: /p4\nDisallow: /x/p4\n"
        } else {
            ""
        };
        Ok(response(status, body))
    }

    fn page(&mut self, job: page::Job, now: Tick, keyer: &Keyer) -> page::Report {
        let url = job.url.clone();
        let result = self.answer(&url, keyer);
        page::Report {
            page: job.page,
            url: job.url,
            method: job.method,
            conditional: job.validators.is_some(),
            took: Duration::from_millis(20),
            sent: result.is_ok().then_some(now.plus(1)),
            delay_ms: job.delay_ms,
            result,
        }
    }

    fn answer(&mut self, url: &Url, keyer: &Keyer) -> Result<Box<Answer>, FetchError> {
        if self.is_dead(url.host_str().unwrap()) {
            return Err(failure(url, ErrorClass::ConnectTimeout, 0));
        }
        assert!(!self.forbids(url), "{url} was asked for against robots.txt");
        let tries = self.tried(url);
        let kind = match self.place(url) {
            Some((host, page)) => self.kind(host, page),
            None => Kind::There(0),
        };
        let mut answer = Answer {
            status: 200,
            redirect: Redirect::None,
            retry_after: None,
            truncation: None,
            facts: Facts {
                requests: 1,
                wall_ms: 1,
                ..Facts::default()
            },
            links: Vec::new(),
            capture: None,
            room: None,
            soft: None,
        };
        match kind {
            Kind::There(faults) if tries <= faults => {
                return Err(failure(url, ErrorClass::TimeoutFirstByte, 1));
            }
            Kind::Busy(faults) if tries <= faults => {
                answer.status = 503;
                answer.retry_after = Some(Duration::from_secs(7));
            }
            Kind::Gone => answer.status = 404,
            Kind::MovedTo(host, page) => {
                answer.status = 301;
                answer.redirect = Redirect::To {
                    url: self.url(host, page),
                    downgrade: false,
                };
            }
            Kind::There(_) | Kind::Busy(_) => {
                let keys = KeyOptions::default();
                let found = self.links(url).into_iter().map(|url| Found {
                    key: keyer.key(&canonical_key(&url, &keys)),
                    url,
                    changed_s: None,
                });
                let mut seen = BTreeSet::new();
                answer.links = found.filter(|it| seen.insert(it.url.to_string())).collect();
                // A calendar says the same every day.
                answer.facts.text_hash = match url.path().starts_with("/day/") {
                    true => 77,
                    false => fate(self.seed, url.as_str()).bits(),
                };
            }
        }
        answer.facts.status = answer.status;
        Ok(Box::new(answer))
    }

    /// A report arrives where it was asked for.
    pub(super) fn deliver(&mut self, flight: Flight) -> Report {
        if let Some(url) = &flight.asked {
            self.answered(url);
        }
        flight.report
    }
}

/// What is on its way back.
#[derive(Debug)]
pub(super) struct Flight {
    asked: Option<Url>,
    report: Report,
}

impl Flight {
    fn free(report: Report) -> Self {
        Self {
            asked: None,
            report,
        }
    }

    fn asked(url: Url, report: Report) -> Self {
        Self {
            asked: Some(url),
            report,
        }
    }
}

fn failure(url: &Url, class: ErrorClass, requests_sent: u32) -> FetchError {
    FetchError {
        class,
        subject: url.to_string(),
        detail: "simulated".into(),
        requests_sent,
    }
}

fn response(status: u16, body: &str) -> Response {
    Response {
        status,
        protocol: Protocol::Http11,
        headers: http::HeaderMap::new(),
        request_bytes: Vec::new(),
        head_bytes: Vec::new(),
        body: body.as_bytes().to_vec(),
        room: None,
        truncation: None,
        notes: Vec::new(),
        remote: SocketAddr::new(Ipv4Addr::LOCALHOST.into(), 80),
        tls: None,
        sent_at: Instant::now(),
        timings: Timings {
            dns: None,
            connect: None,
            tls: None,
            first_byte: Duration::ZERO,
            total: Duration::ZERO,
        },
        reused: false,
        requests_sent: 1,
    }
}
