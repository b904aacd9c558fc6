//! The hosts of the web: they answer, they fail, and they remember when they were asked.
//!
//! A host sees real time only. It must not be asked too soon after its last request, nor beside
//! another, nor sooner than it said. What it said counts once the crawler has written it down: a process
//! that is killed before that cannot know.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::{Duration, Instant};

use turnstone_crawl::page::{self, Answer, By, FoundLink};
use turnstone_crawl::{Job, Reading, Report};
use turnstone_fetch::html::Fingerprint;
use turnstone_fetch::soft404::PageFacts;
use turnstone_fetch::urls::{KeyOptions, canonical_key};
use turnstone_fetch::{
    ErrorClass, FetchError, Method, Protocol, Redirect, Response, Timings, Url, Validators,
};
use turnstone_frontier::Tick;
use turnstone_pagestore::{Facts, Keyer};

use super::dice::fate;
use super::machine::BIRTH_MS;
use super::web::{Kind, VirtualWeb};

/// The least time between two requests to an address.
pub(super) const DELAY_MS: u64 = 1000;
/// How long a host that is busy wants to be left alone.
const BUSY_MS: u64 = 7000;
/// How long an age of the web is, for those who date it.
const AGE_S: u64 = 86_400;

/// How far what a host said has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Heard {
    Delivered,
    Written,
    Durable,
}

#[derive(Debug)]
pub(super) struct Hosts {
    pub(super) web: VirtualWeb,
    /// By address: when its last request was, and those open.
    asked: BTreeMap<IpAddr, (u64, u32)>,
    /// By host: when its last request was.
    last: BTreeMap<String, u64>,
    /// By host: until when it wants to be left alone.
    busy: BTreeMap<String, (u64, Heard)>,
    /// By URL: requests so far.
    tries: BTreeMap<String, u64>,
    pub(super) requests: u64,
    /// When the last request went out, whoever got it.
    pub(super) last_ms: Option<u64>,
}

/// When a job is taken.
#[derive(Clone, Copy)]
pub(super) struct When<'a> {
    pub(super) real_ms: u64,
    pub(super) reading: Reading,
    pub(super) keyer: &'a Keyer,
}

/// What is on its way back.
#[derive(Debug)]
pub(super) struct Flight {
    asked: Option<Url>,
    /// When it was sent, by a clock that does not count sleep.
    pub(super) awake: Duration,
    busy: bool,
    pub(super) report: Report,
}

impl Hosts {
    pub(super) fn new(web: VirtualWeb) -> Self {
        Self {
            web,
            asked: BTreeMap::new(),
            last: BTreeMap::new(),
            busy: BTreeMap::new(),
            tries: BTreeMap::new(),
            requests: 0,
            last_ms: None,
        }
    }

    /// A request reaches a host: it must not come too soon, nor beside another. Rules of a host hold for
    /// its pages; who asks for its robots.txt may not know them.
    fn asked(&mut self, url: &Url, now_ms: u64, is_page: bool) {
        let host = url.host_str().unwrap().to_owned();
        let address = self.web.address(&host);
        let (last, open) = self.asked.entry(address).or_insert((0, 0));
        assert!(
            *last == 0 || now_ms >= *last + DELAY_MS,
            "impolite: {url} at {now_ms} ms, the last request to {address} was at {last} ms"
        );
        assert_eq!(
            *open, 0,
            "impolite: {url} beside another request to {address}"
        );
        (*last, *open) = (now_ms.max(1), 1);
        if is_page {
            let wanted = self.web.crawl_delay_ms(&host);
            let last = self.last.get(&host).copied();
            assert!(
                last.is_none_or(|last| now_ms >= last + wanted),
                "impolite: {url} at {now_ms} ms, {host} wants {wanted} ms and was asked at {last:?} ms"
            );
            let busy = self.busy.get(&host).map_or(0, |(until, _)| *until);
            assert!(
                now_ms >= busy,
                "impolite: {url} at {now_ms} ms, {host} wanted to be left alone until {busy} ms"
            );
        }
        // What never connected was no request, though it must not come too soon either.
        self.requests += u64::from(!self.web.is_dead(&host));
        self.last_ms = Some(now_ms);
        self.last.insert(host, now_ms);
    }

    /// What hosts said has come so far.
    pub(super) fn heard(&mut self, how: Heard) {
        for (_, heard) in self.busy.values_mut() {
            *heard = how.max(*heard);
        }
    }

    /// Every connection breaks; what hosts said is forgotten unless it came so far.
    pub(super) fn hang_up(&mut self, unless: Heard) {
        for (_, open) in self.asked.values_mut() {
            *open = 0;
        }
        self.busy.retain(|_, (_, heard)| *heard >= unless);
    }

    /// Nobody can know how long hosts have rested.
    pub(super) fn forgive(&mut self) {
        self.busy.clear();
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

    /// Takes a job: what comes back, and how many milliseconds later.
    pub(super) fn take(&mut self, job: Job, when: When<'_>) -> (u64, Flight) {
        let now_ms = when.real_ms;
        let flight = |asked: Option<Url>, report: Report, busy: bool| Flight {
            asked,
            awake: when.reading.awake,
            busy,
            report,
        };
        match job {
            Job::Resolve { page, host, url } => {
                let result = Ok(vec![self.web.address(url.host_str().unwrap())]);
                let report = Report::Resolved { page, host, result };
                (5, flight(None, report, false))
            }
            Job::Meet { .. } => unreachable!("only a process among others looks up their hosts"),
            Job::Robots {
                authority,
                url,
                host,
                slot,
                ..
            } => {
                self.asked(&url, now_ms, false);
                let report = Report::Robots {
                    authority,
                    host,
                    slot,
                    sent: None,
                    result: Box::new(self.robots(&url)),
                };
                (40, flight(Some(url), report, false))
            }
            Job::Page(job) => {
                let (took, url, report) = self.page(job, when);
                let busy = report.result.as_ref().is_ok_and(|it| it.status == 503);
                (took, flight(Some(url), Report::Page(report), busy))
            }
            Job::Sibling {
                host,
                directory,
                job,
                ..
            } => {
                let (took, url, report) = self.page(job, when);
                let report = Report::Sibling {
                    host,
                    directory,
                    report,
                };
                (took, flight(Some(url), report, false))
            }
        }
    }

    /// A report arrives where it was asked for. `sent` says when a request was, in ticks, to those who
    /// had an answer.
    pub(super) fn deliver(&mut self, flight: Flight, now_ms: u64, sent: Tick) -> Report {
        let Flight {
            asked,
            busy,
            mut report,
            ..
        } = flight;
        if let Some(url) = &asked {
            let host = url.host_str().unwrap();
            let address = self.web.address(host);
            if let Some((_, open)) = self.asked.get_mut(&address) {
                *open = open.saturating_sub(1);
            }
            if busy {
                let until = (now_ms + BUSY_MS, Heard::Delivered);
                self.busy.insert(host.to_owned(), until);
            }
        }
        match &mut report {
            Report::Robots {
                sent: when, result, ..
            } => *when = result.is_ok().then_some(sent),
            Report::Page(report) | Report::Sibling { report, .. } => {
                report.sent = report.result.is_ok().then_some(sent);
            }
            Report::Resolved { .. } => {}
            Report::Met { .. }
            | Report::Transfer(_)
            | Report::Lent(_)
            | Report::Returned { .. } => {
                unreachable!("a crawl alone has no other shards")
            }
        }
        report
    }

    fn tried(&mut self, url: &Url) -> u64 {
        let tries = self.tries.entry(url.to_string()).or_default();
        *tries += 1;
        *tries
    }

    fn robots(&mut self, url: &Url) -> Result<Response, FetchError> {
        let host = url.host_str().unwrap().to_owned();
        if self.web.is_dead(&host) {
            return Err(failure(url, ErrorClass::ConnectTimeout, 0));
        }
        let sick = fate(self.web.seed, &format!("sick {host}")).below(3);
        if self.tried(url) <= sick && url.path() == "/robots.txt" {
            return Ok(response(503, "", None));
        }
        // The rules of a host elsewhere are named after it.
        let of = url.path().strip_prefix("/rules-of-");
        if of.is_none() && self.web.is_ruled_elsewhere(&host) {
            let to = format!("http://h0.example/rules-of-{host}");
            return Ok(response(301, "", Some(&to)));
        }
        Ok(response(200, &self.web.rules(of.unwrap_or(&host)), None))
    }

    fn page(&mut self, job: page::Job, when: When<'_>) -> (u64, Url, page::Report) {
        self.asked(&job.url, when.real_ms, true);
        let took = 20 + fate(self.web.seed, &format!("slow {}", job.url)).below(400);
        let url = job.url.clone();
        let conditional = job.validators.is_some();
        let result = self.answer(&url, (job.method, job.validators), when);
        let report = page::Report {
            page: job.page,
            url: job.url,
            method: job.method,
            conditional,
            took: Duration::from_millis(20),
            sent: None,
            delay_ms: job.delay_ms,
            result,
        };
        (took, url, report)
    }

    fn answer(
        &mut self,
        url: &Url,
        (method, validators): (Method, Option<Validators>),
        when: When<'_>,
    ) -> Result<Box<Answer>, FetchError> {
        let host = url.host_str().unwrap().to_owned();
        if self.web.is_dead(&host) {
            return Err(failure(url, ErrorClass::ConnectTimeout, 0));
        }
        assert!(
            !self.web.forbids(url),
            "{url} was asked for against robots.txt"
        );
        let tries = self.tried(url);
        let known = ["/day/", "/map.xml"];
        let kind = match self.web.place(url) {
            Some((host, page)) => self.web.kind(host, page),
            None if url.path() == "/" || known.iter().any(|it| url.path().starts_with(it)) => {
                Kind::There(0)
            }
            // A name that nobody has: a probe.
            None => Kind::Gone,
        };
        let mut answer = empty(when.reading.wall_ms);
        match kind {
            Kind::There(faults) if tries <= faults => {
                return Err(failure(url, ErrorClass::TimeoutFirstByte, 1));
            }
            Kind::Busy(faults) if tries <= faults => {
                answer.status = 503;
                answer.retry_after = Some(Duration::from_millis(BUSY_MS));
            }
            Kind::MovedTo(host, page) => {
                answer.status = 301;
                answer.redirect = Redirect::To {
                    url: self.web.url(host, page),
                    downgrade: false,
                };
            }
            _ if method == Method::Head && self.web.refuses_heads(&host) => answer.status = 405,
            Kind::Gone if !self.web.is_liar(&host) => answer.status = 404,
            Kind::Gone if method == Method::Get => sorry(&mut answer, url),
            Kind::There(_) | Kind::Busy(_) if method == Method::Get => {
                let etag = format!("\"{}\"", self.web.version(url));
                let asked = validators.and_then(|it| it.etag().map(<[u8]>::to_vec));
                if asked.as_deref() == Some(etag.as_bytes()) {
                    answer.status = 304;
                } else {
                    self.body(&mut answer, url, when.keyer);
                    answer.facts.etag = etag.into_bytes();
                }
            }
            Kind::Gone | Kind::There(_) | Kind::Busy(_) => {}
        }
        answer.facts.status = answer.status;
        Ok(Box::new(answer))
    }

    /// A page that came, with its links.
    fn body(&self, answer: &mut Answer, url: &Url, keyer: &Keyer) {
        let keys = KeyOptions::default();
        let links = self.web.links(url);
        let found = links.into_iter().map(|(url, age)| FoundLink {
            key: keyer.key(&canonical_key(&url, &keys)),
            url,
            by: By::Link,
            changed_s: age.map(|age| BIRTH_MS / 1000 + age * AGE_S),
        });
        let mut seen = BTreeSet::new();
        answer.links = found.filter(|it| seen.insert(it.url.to_string())).collect();
        // A calendar says the same every day.
        let text = match url.path().starts_with("/day/") {
            true => "no events today".to_owned(),
            false => format!("{url} {}", self.web.version(url)),
        };
        say(answer, url, &text);
    }
}

/// What a host that lies says of pages that are not there.
fn sorry(answer: &mut Answer, url: &Url) {
    say(answer, url, "sorry");
}

fn say(answer: &mut Answer, url: &Url, text: &str) {
    let mut dice = fate(0, text);
    let mut digest = [0; 20];
    digest.fill_with(|| dice.bits() as u8);
    answer.facts.text_hash = dice.bits() | 1;
    answer.facts.simhash = dice.bits();
    answer.facts.words = 40;
    answer.facts.digest = Some(digest);
    answer.facts.body_bytes = text.len() as u64;
    let mut soft = PageFacts::of_status(url, url, 200);
    soft.title = text.to_owned();
    soft.full_title = text.to_owned();
    soft.fingerprint = Fingerprint {
        text_hash: answer.facts.text_hash,
        simhash: answer.facts.simhash,
        words: 40,
    };
    answer.soft = Some(Box::new(soft));
}

fn empty(wall_ms: u64) -> Answer {
    Answer {
        status: 200,
        redirect: Redirect::None,
        retry_after: None,
        truncation: None,
        facts: Facts {
            requests: 1,
            wall_ms,
            ..Facts::default()
        },
        links: Vec::new(),
        capture: None,
        room: None,
        soft: None,
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

fn response(status: u16, body: &str, location: Option<&str>) -> Response {
    let mut headers = http::HeaderMap::new();
    if let Some(to) = location {
        headers.insert(http::header::LOCATION, to.parse().unwrap());
    }
    Response {
        status,
        protocol: Protocol::Http11,
        headers,
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
