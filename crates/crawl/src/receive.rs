//! What a task brought back, turned into entries and events.

use std::net::IpAddr;
use std::time::{Duration, SystemTime};

use turnstone_fetch::robots::Answer as RobotsAnswer;
use turnstone_fetch::scope::OutOfScope;
use turnstone_fetch::urls::{canonical_key, host_of, surt};
use turnstone_fetch::{FetchError, Response, Url, retry_after, traps};
use turnstone_frontier::{Change, Fault, HostId, Links as _, PageId, Policy, Visit};
use turnstone_pagestore::{Capture, Entry, Facts, Key, NewPage, Settled, warc};

use crate::hand_out::Errand;
use crate::mood;
use crate::page;
use crate::run::{Crawl, CrawlError};
use crate::verdict::{self, Answered, Verdict};

/// What a task brought back.
#[derive(Debug)]
pub(crate) enum Report {
    /// The addresses of a page's host.
    Resolved {
        page: PageId,
        host: HostId,
        result: Result<Vec<IpAddr>, FetchError>,
    },
    /// A robots.txt.
    Robots {
        authority: String,
        slot: Option<HostId>,
        result: Box<Result<Response, FetchError>>,
    },
    /// A page.
    Page(page::Report),
}

impl<P: Policy> Crawl<P> {
    /// Takes in one report.
    pub(crate) async fn receive(&mut self, report: Report) -> Result<(), CrawlError> {
        self.now = self.clock.now().max(self.now);
        match report {
            Report::Resolved { page, host, result } => self.resolved(page, host, result),
            Report::Robots {
                authority,
                slot,
                result,
            } => self.robots_came(&authority, slot, *result),
            Report::Page(report) => self.page_came(report).await,
        }
    }

    /// The page is given back either way: its slot was for looking up only.
    fn resolved(
        &mut self,
        page: PageId,
        host: HostId,
        result: Result<Vec<IpAddr>, FetchError>,
    ) -> Result<(), CrawlError> {
        match result {
            Ok(addresses) => {
                self.visit(host, Visit::Spared);
                for other in self.addresses.found(host, &addresses) {
                    self.join(host, other);
                }
                self.give_back(page, "", String::new())
            }
            Err(error) => {
                self.visit(host, Visit::Spared);
                self.failed(page, &error)
            }
        }
    }

    fn robots_came(
        &mut self,
        authority: &str,
        slot: Option<HostId>,
        result: Result<Response, FetchError>,
    ) -> Result<(), CrawlError> {
        self.requests_open -= 1;
        if let Some(host) = slot {
            self.visit(host, Visit::Closed);
        }
        let now_s = self.clock.seconds(self.now);
        let (requests, body_bytes) = match &result {
            Ok(response) => (response.requests_sent, response.body.len() as u64),
            Err(error) => (error.requests_sent, 0),
        };
        let (record, next) = match &result {
            Ok(response) => {
                let decoded = response.decoded(self.context.client.limits());
                let header = |name: &str| response.headers.get(name).and_then(|v| v.to_str().ok());
                let wait = retry_after(&response.headers, SystemTime::now(), Duration::ZERO);
                let answer = RobotsAnswer::Response {
                    status: response.status,
                    location: header("location"),
                    body: &decoded.body,
                    cache_control: header("cache-control"),
                    retry_after_s: wait.map(|wait| wait.as_secs()),
                };
                self.robots.answered(authority, answer, now_s)
            }
            Err(error) => {
                let why = error.to_string();
                let answer = RobotsAnswer::Unreachable { why: &why };
                self.robots.answered(authority, answer, now_s)
            }
        };
        let entry = Entry::Robots {
            authority,
            record: &record,
            requests,
            body_bytes,
        };
        self.store.append(self.now, &entry);
        match next.map(|next| Url::parse(&next)) {
            Some(Ok(url)) => self.follow_robots(authority, url),
            Some(Err(_)) | None => {
                for page in self.robots.waited(authority) {
                    self.give_back(page, "", String::new())?;
                }
                Ok(())
            }
        }
    }

    /// A robots.txt that is elsewhere: asked for at that host, when it is free.
    fn follow_robots(&mut self, authority: &str, url: Url) -> Result<(), CrawlError> {
        let host = self.store.host(self.now, host_of(&url));
        // Within its own host the slots of waiting pages would never become free: they go back,
        // and the next one handed out asks where the redirect points.
        let own = Url::parse(authority).is_ok_and(|own| host_of(&own) == host_of(&url));
        if own {
            self.robots.not_asking(authority);
            for page in self.robots.waited(authority) {
                self.give_back(page, "", String::new())?;
            }
            return Ok(());
        }
        self.errands.push(Errand {
            authority: authority.to_owned(),
            url,
            host,
        });
        Ok(())
    }

    async fn page_came(&mut self, report: page::Report) -> Result<(), CrawlError> {
        self.requests_open -= 1;
        let page::Report {
            page,
            url,
            conditional,
            took,
            result,
        } = report;
        let mut answer = match result {
            Ok(answer) => answer,
            Err(error) => return self.failed(page, &error),
        };
        let host = self.store.index().host(page);
        if answer.facts.requests > 1 {
            // A kept connection had been closed: the host may have seen both requests.
            self.hold(host, self.now.plus(self.plan.politeness.delay_ms));
        }
        let (verdict, class, detail, mood) = verdict::of_answer(&Answered {
            status: answer.status,
            redirect: &answer.redirect,
            truncation: answer.truncation,
            conditional,
            retry_after: answer.retry_after,
            took,
        });
        self.rest(host, mood);
        if let Some(capture) = answer.capture.take() {
            answer.facts.capture = Some(self.archive(&capture, &url).await?);
        }
        let mut facts = std::mem::take(&mut answer.facts);
        facts.class = class;
        if !detail.is_empty() {
            facts.detail = detail;
        }
        match verdict {
            Verdict::Fetched => self.fetched(page, &url, facts, &answer.links),
            Verdict::NotModified => self.not_modified(page, facts),
            Verdict::Moved(to) => self.moved(page, &url, &to, facts),
            Verdict::Failed(fault) => {
                self.settle(page, Settled::Failed(fault), &[], facts);
                Ok(())
            }
            Verdict::Retry => self.try_again(page, facts),
        }
    }

    fn fetched(
        &mut self,
        page: PageId,
        url: &Url,
        mut facts: Facts,
        found: &[page::Found],
    ) -> Result<(), CrawlError> {
        let change = verdict::change(self.store.copy(page)?.as_ref(), &facts);
        facts.novel = !self.store.index().has_text(facts.text_hash);
        if let (true, Some(budgets)) = (facts.novel, &self.plan.patterns) {
            let host = self.store.index().host(page);
            self.patterns.brought_new(host, url, budgets);
        }
        let depth = self.store.index().depth(page).saturating_add(1);
        let links: Vec<PageId> = found
            .iter()
            .filter_map(|found| self.page_of(found.key, &found.url, depth).ok())
            .collect();
        self.settle(page, Settled::Fetched(change), &links, facts);
        Ok(())
    }

    /// The copy is still current: so are its links and its text.
    fn not_modified(&mut self, page: PageId, mut facts: Facts) -> Result<(), CrawlError> {
        if let Some(copy) = self.store.copy(page)? {
            verdict::still_current(&mut facts, copy);
            facts.duplicate_of = Some(page);
        }
        let mut buffer = Vec::new();
        let links = self.store.links_of(page, &mut buffer).to_vec();
        self.settle(page, Settled::Fetched(Change::Unchanged), &links, facts);
        Ok(())
    }

    fn moved(
        &mut self,
        page: PageId,
        from: &Url,
        to: &Url,
        mut facts: Facts,
    ) -> Result<(), CrawlError> {
        let mut to = to.clone();
        to.set_fragment(None);
        let key = self.context.keyer.key(&canonical_key(&to, &self.plan.keys));
        facts.redirects = self.store.index().redirects(page) + 1;
        let refusal = if self.store.index().find(key) == Some(page) {
            Some(format!("redirects to itself: {}", shown(&to)))
        } else if facts.redirects > self.plan.redirects_max {
            Some(format!(
                "more than {} redirects in a row",
                self.plan.redirects_max
            ))
        } else {
            None
        };
        if let Some(refusal) = refusal {
            facts.class = "redirect-refused".into();
            facts.detail = refusal;
            self.settle(page, Settled::Failed(Fault::Refused), &[], facts);
            return Ok(());
        }
        if from.scheme() == "https" && to.scheme() == "http" {
            facts.detail = "from https to http".into();
        }
        let depth = self.store.index().depth(page);
        match self.page_of(key, &to, depth) {
            Ok(target) => self.settle(page, Settled::Moved(target), &[], facts),
            Err(outside) => {
                facts.class = "redirect-outside".into();
                facts.detail = format!("{} ({outside})", shown(&to));
                self.settle(page, Settled::Failed(Fault::Refused), &[], facts);
            }
        }
        Ok(())
    }

    /// A fetch that brought no answer.
    fn failed(&mut self, page: PageId, error: &FetchError) -> Result<(), CrawlError> {
        let host = self.store.index().host(page);
        let (verdict, mood) = verdict::of_error(error);
        if let Some(mood) = mood {
            self.rest(host, mood);
        }
        let facts = Facts {
            class: error.class.as_str().to_owned(),
            detail: error.detail.clone(),
            requests: error.requests_sent,
            wall_ms: self.clock.wall_ms(),
            ..Facts::default()
        };
        match verdict {
            Verdict::Failed(fault) => {
                self.settle(page, Settled::Failed(fault), &[], facts);
                Ok(())
            }
            Verdict::Retry | Verdict::Fetched | Verdict::NotModified | Verdict::Moved(_) => {
                self.try_again(page, facts)
            }
        }
    }

    /// No verdict: again later, unless it was tried often enough.
    fn try_again(&mut self, page: PageId, mut facts: Facts) -> Result<(), CrawlError> {
        facts.attempts = self.attempts(page)? + 1;
        let fault = if facts.attempts < self.plan.attempts_max {
            Fault::Unknown
        } else {
            facts.detail = format!("{} (given up after {} tries)", facts.detail, facts.attempts);
            Fault::Refused
        };
        self.settle(page, Settled::Failed(fault), &[], facts);
        Ok(())
    }

    /// Lets a host rest as its answer asks for.
    fn rest(&mut self, host: HostId, mood: mood::Answer) {
        let delay = Duration::from_millis(self.plan.politeness.delay_ms);
        let rest = self.moods.rest(host, mood, delay);
        if !rest.is_zero() {
            let rest = u64::try_from(rest.as_millis()).unwrap_or(u64::MAX);
            self.hold(host, self.now.plus(rest));
        }
    }

    /// The page of a URL, numbered and announced now if it is new. What is out of scope does not
    /// belong to the web that is crawled: it is no page, and links to it do not count.
    fn page_of(&mut self, key: Key, url: &Url, depth: u8) -> Result<PageId, OutOfScope> {
        if let Some(page) = self.store.index().find(key) {
            return Ok(page);
        }
        self.plan.scope.check(url, u32::from(depth))?;
        let host = self.store.host(self.now, host_of(url));
        let refusal = self.judge(url);
        let (class, detail) = refusal
            .as_ref()
            .map_or(("", ""), |(class, detail)| (*class, detail.as_str()));
        let page = self.store.add(
            self.now,
            NewPage {
                key,
                url: url.as_str(),
                host,
                seed: false,
                depth,
                refused: (class, detail),
            },
        );
        self.announced(page, host, refusal.is_some());
        Ok(page)
    }

    /// Why a new URL is not going to be asked for, if it is not.
    fn judge(&self, url: &Url) -> Option<(&'static str, String)> {
        let now_s = self.clock.seconds(self.now);
        let finding = traps::judge(url, now_s, &self.plan.traps)?;
        (finding.class == traps::TrapClass::Trap)
            .then(|| ("trap", format!("trap: {}", finding.rule)))
    }

    /// Appends a capture to the WARC files. A full disk stops the crawl until there is room.
    async fn archive(&mut self, capture: &warc::Capture, url: &Url) -> Result<Capture, CrawlError> {
        let key = surt(url);
        loop {
            let Some(archive) = &mut self.archive else {
                unreachable!("captures are made only for an archive");
            };
            match archive.append(capture, &key) {
                Ok(at) => {
                    let ends = archive.ends();
                    return Ok(Capture {
                        file: at.file,
                        offset: at.offset,
                        length: at.length,
                        file_end: ends.warc_len,
                        index_end: ends.index_len,
                    });
                }
                Err(error) if error.is_disk_full() => self.pause(error.to_string()).await,
                Err(error) => return Err(error.into()),
            }
        }
    }
}

fn shown(url: &Url) -> String {
    turnstone_fetch::urls::shown(url.as_str())
}
