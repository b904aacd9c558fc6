//! What a task brought back, turned into entries and events.

use std::net::IpAddr;
use std::time::{Duration, Instant};

use turnstone_fetch::scope::OutOfScope;
use turnstone_fetch::urls::{canonical_key, host_of, surt};
use turnstone_fetch::{ErrorClass, FetchError, Response, TruncationMark, Url, traps};
use turnstone_frontier::{Change, Fault, HostId, Links as _, PageId, Policy, Visit};
use turnstone_pagestore::{Capture, Entry, Facts, Key, NewPage, Settled, warc};

use crate::hand_out::{Errand, ROBOTS_BYTES_MAX, Slot};
use crate::mood;
use crate::page;
use crate::run::{Crawl, CrawlError};
use crate::verdict::{self, Answered, Verdict};

/// How long a host waits when this process may open no further file.
const OUT_OF_FILES_MS: u64 = 1000;

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
        /// The host that was asked.
        host: HostId,
        slot: Slot,
        result: Box<Result<Response, FetchError>>,
    },
    /// A page.
    Page(page::Report),
    /// A random sibling of a page.
    Sibling {
        host: HostId,
        directory: String,
        report: page::Report,
    },
}

impl<P: Policy> Crawl<P> {
    /// Takes in one report.
    pub(crate) async fn receive(&mut self, report: Report) -> Result<(), CrawlError> {
        self.now = self.clock.now().max(self.now);
        match report {
            Report::Resolved { page, host, result } => self.resolved(page, host, result),
            Report::Robots {
                authority,
                host,
                slot,
                result,
            } => self.robots_came(&authority, (host, slot), *result),
            Report::Page(report) if self.survey.is_some() => {
                self.requests_open -= 1;
                self.survey_came(report)
            }
            Report::Page(report) => self.page_came(report).await,
            Report::Sibling {
                host,
                directory,
                report,
            } => self.sibling_came(host, &directory, report),
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
                for other in self.addresses.found(host, &addresses) {
                    self.join(host, other);
                }
                self.give_back(page, "", String::new())
            }
            Err(error) if self.survey.is_some() => self.survey_failed(page, host, &error),
            Err(error) => self.failed(page, &error),
        }
    }

    fn robots_came(
        &mut self,
        authority: &str,
        (host, slot): (HostId, Slot),
        result: Result<Response, FetchError>,
    ) -> Result<(), CrawlError> {
        let requests = match &result {
            Ok(response) => response.requests_sent,
            Err(error) => error.requests_sent,
        };
        self.closes(host, requests);
        let sent_at = result.as_ref().map(|response| response.sent_at).ok();
        self.rest_since(host, sent_at, self.plan.politeness.delay_ms);
        if slot == Slot::Own {
            self.visit(host, Visit::Closed);
        }
        self.trouble = result.as_ref().err().map(ToString::to_string);
        let now_s = self.clock.seconds(self.now);
        let body_bytes = match &result {
            Ok(response) => response.body.len() as u64,
            Err(_) => 0,
        };
        if let Err(error) = &result
            && let (Verdict::Failed(Fault::Refused), None) = verdict::of_error(error)
            && self.robots.is_at_home(authority)
        {
            // That authority is not to be asked at all: not for a page either.
            self.robots.not_asking(authority);
            for page in self.robots.waited(authority) {
                self.failed(page, error)?;
            }
            return Ok(());
        }
        let (record, next) = if result.as_ref().is_ok_and(is_cut_short) {
            (self.robots.unanswered(authority), None)
        } else {
            let limits = self.context.client.limits();
            self.robots.answered(authority, &result, limits, now_s)
        };
        // The page that waited is the next request: what the rules want holds for it already.
        if self.store.index().find_host(&host_of_authority(authority)) == Some(host) {
            let due = self.due(self.robots.crawl_delay(authority, now_s));
            self.rest_since(host, sent_at, due);
        }
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
                self.announce_sitemaps(authority);
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
        let page::Report {
            page,
            url,
            conditional,
            took,
            delay_ms,
            result,
            ..
        } = report;
        let host = self.store.index().host(page);
        let requests = match &result {
            Ok(answer) => answer.facts.requests,
            Err(error) => error.requests_sent,
        };
        self.closes(host, requests);
        let sent_at = result.as_ref().map(|answer| answer.sent_at);
        self.rest_since(host, sent_at.ok(), delay_ms);
        self.leave_quota(host)?;
        self.trouble = result.as_ref().err().map(ToString::to_string);
        let mut answer = match result {
            Ok(answer) => answer,
            Err(error) => return self.failed(page, &error),
        };
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
        self.take_hints(page, found)
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
    pub(crate) fn failed(&mut self, page: PageId, error: &FetchError) -> Result<(), CrawlError> {
        let host = self.store.index().host(page);
        let (verdict, mood) = verdict::of_error(error);
        if let Some(mood) = mood {
            self.rest(host, mood);
        }
        let mut facts = Facts {
            class: error.class.as_str().to_owned(),
            detail: error.detail.clone(),
            requests: error.requests_sent,
            wall_ms: self.clock.wall_ms(),
            ..Facts::default()
        };
        if error.class == ErrorClass::StaleConnection {
            // Says nothing of the page. The host may have seen the request, so the next one is a
            // hand-out of its own, in its own time; and on a fresh connection, so it is the last.
            facts.class.clear();
            facts.attempts = self.attempts(page)?;
            self.stale.insert(page);
            self.lose(page, facts);
            return Ok(());
        }
        if error.class == ErrorClass::OutOfFiles {
            // Says nothing of the page nor of its host: both are let be until others are done.
            self.hold(host, self.now.plus(OUT_OF_FILES_MS));
            return self.give_back(page, "", error.detail.clone());
        }
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
    pub(crate) fn try_again(&mut self, page: PageId, mut facts: Facts) -> Result<(), CrawlError> {
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

    /// The host rests from when its request was written, which is some time after the page was
    /// handed out: connections take time. When that is not known, from now.
    pub(crate) fn rest_since(&mut self, host: HostId, sent_at: Option<Instant>, delay_ms: u64) {
        if delay_ms == 0 {
            return;
        }
        // Rounded up: by the tick of this turn, which is rounded down, it would be asked early.
        let from = self.clock.tick_at(sent_at.unwrap_or_else(Instant::now));
        let until = from.plus(delay_ms);
        if until > self.scheduler.earliest(host) {
            self.hold(host, until);
        }
    }

    /// A page of a host came back: those that waited to learn whether one more may be stored are
    /// handed out again.
    fn leave_quota(&mut self, host: HostId) -> Result<(), CrawlError> {
        let Some(quota) = self.quotas.get_mut(&host) else {
            return Ok(());
        };
        quota.open -= 1;
        for page in std::mem::take(&mut quota.waiting) {
            self.give_back(page, "", String::new())?;
        }
        Ok(())
    }

    /// Lets a host rest as its answer asks for.
    pub(crate) fn rest(&mut self, host: HostId, mood: mood::Answer) {
        let delay = Duration::from_millis(self.plan.politeness.delay_ms);
        let rest = self.moods.rest(host, mood, delay);
        if !rest.is_zero() {
            let rest = u64::try_from(rest.as_millis()).unwrap_or(u64::MAX);
            self.hold(host, self.now.plus(rest));
        }
    }

    /// The page of a URL, numbered and announced now if it is new. What is out of scope does not
    /// belong to the web that is crawled: it is no page, and links to it do not count.
    pub(crate) fn page_of(&mut self, key: Key, url: &Url, depth: u8) -> Result<PageId, OutOfScope> {
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
        if let Some(onlooker) = &self.onlooker {
            onlooker.found(page, url.as_str());
        }
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
                Err(error) if error.is_disk_full() => self.pause(error.into()).await?,
                Err(error) => return Err(error.into()),
            }
        }
    }
}

fn shown(url: &Url) -> String {
    turnstone_fetch::urls::shown(url.as_str())
}

/// Whether our own byte budget cut a robots.txt: rules that end too early would permit too much.
fn is_cut_short(response: &Response) -> bool {
    let mark = response.truncation.map(|truncation| truncation.mark);
    mark == Some(TruncationMark::Length)
        && response.body.len() < ROBOTS_BYTES_MAX
        && (200..300).contains(&response.status)
}

/// The name of the host of an authority.
pub(crate) fn host_of_authority(authority: &str) -> String {
    Url::parse(authority).map_or_else(|_| String::new(), |url| host_of(&url).to_owned())
}
