//! What a task brought back, turned into entries and events.

use std::net::IpAddr;
use std::time::Duration;

use turnstone_fetch::preferences::Sayings;
use turnstone_fetch::urls::{canonical_key, host_of};
use turnstone_fetch::wall::Wall;
use turnstone_fetch::{ErrorClass, FetchError, Response, Url, traps};
use turnstone_frontier::{Change, Fault, HostId, Links as _, PageId, Policy, Tick};
use turnstone_ledger::{WALLS_MIN, Walls};
use turnstone_pagestore::{Facts, Key, NewPage, Settled};

use crate::asker::{AskError, Asker};
use crate::doubt::Came;
use crate::hand_out::Slot;
use crate::lent::Lent;
use crate::mood;
use crate::page::{self, By};
use crate::twins::TWIN;
use crate::verdict::{self, Answered, Judged};

/// How long a host waits when this process may open no further file.
const OUT_OF_FILES_MS: u64 = 1000;

/// What a task brought back.
#[derive(Debug)]
pub enum Report {
    /// The addresses of a page's host.
    Resolved {
        /// The page.
        page: PageId,
        /// Its host.
        host: HostId,
        /// The addresses.
        result: Result<Vec<IpAddr>, FetchError>,
    },
    /// The addresses of a host that no page waits for.
    Met {
        /// The host.
        host: HostId,
        /// The addresses.
        result: Result<Vec<IpAddr>, FetchError>,
    },
    /// A robots.txt.
    Robots {
        /// Whose it is.
        authority: String,
        /// The host that was asked.
        host: HostId,
        /// Whose slot it took.
        slot: Slot,
        /// The first tick after its request was written, where that is known.
        sent: Option<Tick>,
        /// What came.
        result: Box<Result<Response, FetchError>>,
    },
    /// A page.
    Page(page::Report),
    /// A transfer of another shard.
    Transfer(Vec<u8>),
    /// A robots.txt of another shard's authority, at a host of this one.
    Lent(Lent),
    /// What came of one that was lent to another shard; nothing if it was not asked for.
    Returned {
        /// Whose it is.
        authority: String,
        /// What came.
        result: Option<Box<Result<Response, FetchError>>>,
    },
    /// A random sibling of a page.
    Sibling {
        /// The host that was asked.
        host: HostId,
        /// The directory that was probed.
        directory: String,
        /// What came.
        report: page::Report,
    },
}

impl<P: Policy> Asker<P> {
    /// Takes in one report.
    pub fn receive(&mut self, report: Report) -> Result<(), AskError> {
        let taken = self.take_in(report);
        // How long its host rests is known now.
        self.free_places();
        taken
    }

    fn take_in(&mut self, report: Report) -> Result<(), AskError> {
        match report {
            Report::Resolved { page, host, result } => self.resolved(page, host, result),
            Report::Met { host, result } => {
                self.being_looked_up.remove(&host);
                // Where there are none the request will say so.
                self.found_at(host, &result.unwrap_or_default());
                Ok(())
            }
            Report::Robots {
                authority,
                host,
                slot,
                sent,
                result,
            } => self.robots_came(&authority, (host, slot, sent), *result),
            Report::Page(report) if self.survey.is_some() => {
                self.requests_open -= 1;
                self.survey_came(report)
            }
            Report::Page(report) => self.page_came(report),
            Report::Transfer(bytes) => self.transferred(&bytes),
            Report::Lent(lent) => {
                self.borrow(lent);
                Ok(())
            }
            Report::Returned { authority, result } => self.returned(&authority, result),
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
    ) -> Result<(), AskError> {
        match result {
            Ok(addresses) => {
                self.found_at(host, &addresses);
                self.give_back(page, "", String::new())
            }
            Err(error) if self.survey.is_some() => self.survey_failed(page, host, &error),
            Err(error) => self.failed(page, &error),
        }
    }

    fn page_came(&mut self, report: page::Report) -> Result<(), AskError> {
        let page::Report {
            page,
            url,
            conditional,
            took,
            delay_ms,
            sent,
            result,
            ..
        } = report;
        let host = self.ledger.index().host(page);
        self.closes(host);
        self.rest_since(host, sent, delay_ms);
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
        let mut facts = std::mem::take(&mut answer.facts);
        let mood = self.at_wall(host, &facts, mood);
        facts.mood = Some(mood.kind());
        self.rest(host, mood);
        self.heard(host, mood.kind(), &format!("answers {}", answer.status));
        let mut verdict = verdict;
        let blocked = facts.class.starts_with(Wall::CLASS);
        if blocked || facts.class == page::RESERVED {
            verdict = verdict::behind_wall(verdict);
        } else if verdict != Judged::Fetched || facts.class.is_empty() {
            facts.class = class;
        }
        if matches!(verdict, Judged::Fetched | Judged::NotModified) {
            self.add_sayings(&url, &mut facts);
        }
        facts.detail = match (detail.is_empty(), facts.detail.is_empty()) {
            (true, _) => facts.detail,
            (false, true) => detail,
            (false, false) => format!("{detail}; {}", facts.detail),
        };
        match verdict {
            judged @ (Judged::Fetched | Judged::Moved(_)) => {
                let came = Came {
                    url,
                    judged,
                    facts,
                    links: answer.links,
                };
                self.look_twice(page, came, answer.soft)
            }
            Judged::NotModified => self.not_modified(page, facts),
            Judged::Failed(fault) => {
                self.settle(page, Settled::Failed(fault), &[], facts);
                Ok(())
            }
            Judged::Retry => self.try_again(page, facts),
        }
    }

    /// What the robots.txt in force says of how a page may be used stands beside what the page says itself.
    fn add_sayings(&self, url: &Url, facts: &mut Facts) {
        let now_s = self.now_s();
        let rules = self
            .robots
            .sayings(&turnstone_fetch::urls::origin_of(url), url, now_s);
        if !rules.is_empty() {
            let mut all = Sayings::read(&facts.preferences);
            all.extend(&rules);
            facts.preferences = all.to_string();
        }
    }

    pub(crate) fn fetched(
        &mut self,
        page: PageId,
        mut facts: Facts,
        found: &[page::FoundLink],
    ) -> Result<(), AskError> {
        let change = verdict::change(self.ledger.store().copy(page)?.as_ref(), &facts);
        facts.novel = !self.ledger.index().has_text(facts.text_hash);
        let depth = self.ledger.index().depth(page).saturating_add(1);
        let mut links = Vec::with_capacity(found.len());
        for found in found {
            let listed = found.by == By::Head || self.ledger.index().is_listed(page);
            let link = self.page_of(found.key, &found.url, (depth, listed));
            if found.by == By::Link {
                links.push(link);
            }
        }
        self.settle(page, Settled::Fetched(change), &links, facts);
        self.take_hints(page, found)
    }

    /// The copy is still current: so are its links and its text.
    fn not_modified(&mut self, page: PageId, mut facts: Facts) -> Result<(), AskError> {
        if let Some(copy) = self.ledger.store().copy(page)? {
            verdict::still_current(&mut facts, copy);
            facts.duplicate_of = Some(page);
        }
        let mut buffer = Vec::new();
        let links = self.ledger.store().links_of(page, &mut buffer).to_vec();
        self.settle(page, Settled::Fetched(Change::Unchanged), &links, facts);
        Ok(())
    }

    pub(crate) fn moved(
        &mut self,
        page: PageId,
        from: &Url,
        to: &Url,
        mut facts: Facts,
    ) -> Result<(), AskError> {
        let mut to = to.clone();
        to.set_fragment(None);
        let key = self.keyer.key(&canonical_key(&to, &self.plan.keys));
        facts.redirects = self.ledger.index().redirects(page) + 1;
        let refusal = if self.ledger.index().find(key) == Some(page) {
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
        let depth = self.ledger.index().depth(page);
        let listed = self.ledger.index().is_listed(page);
        let target = self.page_of(key, &to, (depth, listed));
        if self.ledger.index().is_outside(target) {
            facts.class = "redirect-outside".into();
            facts.detail = format!("{} (out of scope)", shown(&to));
        }
        self.settle(page, Settled::Moved(target), &[], facts);
        Ok(())
    }

    /// A fetch that brought no answer.
    pub(crate) fn failed(&mut self, page: PageId, error: &FetchError) -> Result<(), AskError> {
        let host = self.ledger.index().host(page);
        let (verdict, mood) = verdict::of_error(error);
        if let Some(mood) = mood {
            self.rest(host, mood);
            self.heard(host, mood.kind(), &error.detail);
        }
        let mut facts = Facts {
            mood: mood.map(mood::Answer::kind),
            class: error.class.as_str().to_owned(),
            detail: error.detail.clone(),
            requests: error.requests_sent,
            wall_ms: self.wall_ms,
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
        if error.class == ErrorClass::NotPermitted {
            // It was never sent.
            return self.give_back(page, "", String::new());
        }
        if error.class == ErrorClass::OutOfFiles {
            // Says nothing of the page nor of its host: both are let be until others are done.
            self.hold(host, self.now.plus(OUT_OF_FILES_MS));
            return self.give_back(page, "", error.detail.clone());
        }
        match verdict {
            Judged::Failed(fault) => {
                self.settle(page, Settled::Failed(fault), &[], facts);
                Ok(())
            }
            Judged::Retry | Judged::Fetched | Judged::NotModified | Judged::Moved(_) => {
                self.try_again(page, facts)
            }
        }
    }

    /// No verdict: again later, unless it was tried often enough.
    pub(crate) fn try_again(&mut self, page: PageId, mut facts: Facts) -> Result<(), AskError> {
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
    pub(crate) fn rest_since(&mut self, host: HostId, sent: Option<Tick>, delay_ms: u64) {
        if delay_ms == 0 {
            return;
        }
        // Rounded up: by the tick of this turn, which is rounded down, it would be asked early.
        let until = sent.unwrap_or(self.now.plus(1)).plus(delay_ms);
        if until > self.ledger.scheduler().earliest(host) {
            self.hold(host, until);
        }
    }

    /// A page of a host came back: those that waited to learn whether one more may be stored are
    /// handed out again.
    pub(crate) fn leave_quota(&mut self, host: HostId) -> Result<(), AskError> {
        for page in self.quotas.closes(host) {
            self.give_back(page, "", String::new())?;
        }
        Ok(())
    }

    /// How an answer speaks of its host when it may be one more wall in a row: a host that lets nobody in is as
    /// one that says it is too much.
    pub(crate) fn at_wall(
        &mut self,
        host: HostId,
        facts: &Facts,
        mood: mood::Answer,
    ) -> mood::Answer {
        let in_a_row = self.ledger.walls().of(host) + 1;
        if !Walls::is_before_host(&facts.class) || in_a_row < WALLS_MIN {
            return mood;
        }
        let what = format!("{in_a_row} answers in a row were walls: {}", facts.detail);
        self.silences.entry(host).or_default().what = what;
        match mood {
            mood::Answer::Good(_) => mood::Answer::Busy(None),
            other => other,
        }
    }

    /// Lets a host rest as its answer asks for.
    pub(crate) fn rest(&mut self, host: HostId, mood: mood::Answer) {
        let delay = Duration::from_millis(self.plan.politeness.delay_ms);
        let rest = mood::rest(self.ledger.troubles().of(host), mood, delay);
        if !rest.is_zero() {
            let rest = u64::try_from(rest.as_millis()).unwrap_or(u64::MAX);
            self.hold(host, self.now.plus(rest));
        }
    }

    /// The page of a URL, numbered now if it is new. What is out of scope is remembered, and never
    /// asked for: links to it do not count, until the scope is widened.
    /// `listed` says that only a list leads there, as far as is known.
    pub(crate) fn page_of(&mut self, key: Key, url: &Url, (depth, listed): (u8, bool)) -> PageId {
        if let Some(page) = self.ledger.index().find(key) {
            return page;
        }
        let outside = self.plan.scope.check(url, u32::from(depth)).is_err();
        let host = self.ledger.host(self.now, host_of(url));
        // What is away is for its own shard to judge.
        let away = self.ledger.index().away(host).is_some();
        let refusal = if outside || away {
            None
        } else {
            let twin = match self.plan.pattern_trust {
                Some(_) => self.twin_of(host, url, key),
                None => None,
            };
            self.judge(url).or(twin.map(|twin| (TWIN, twin)))
        };
        let (class, detail) = refusal
            .as_ref()
            .map_or(("", ""), |(class, detail)| (*class, detail.as_str()));
        let new = NewPage {
            key,
            url: url.as_str(),
            host,
            seed: false,
            outside,
            listed,
            depth,
            refused: (class, detail),
            metadata: &[],
        };
        self.ledger.add(self.now, new)
    }

    /// Why a new URL is not going to be asked for, if it is not.
    pub(crate) fn judge(&self, url: &Url) -> Option<(&'static str, String)> {
        let now_s = self.now_s();
        let finding = traps::judge(url, now_s, &self.plan.traps)?;
        (finding.class == traps::TrapClass::Trap)
            .then(|| ("trap", format!("trap: {}", finding.rule)))
    }
}

fn shown(url: &Url) -> String {
    turnstone_fetch::urls::shown(url.as_str())
}
