//! Is a page still there? A survey asks for heads, and for bodies only where a verdict needs one.
//!
//! Each hand-out sends one request at most, so politeness stays the scheduler's alone. A page that
//! needs another (its body, because HEAD was refused; a random sibling, because the server may
//! answer 200 to anything) is given back, and the request is sent when it is handed out again.
//!
//! A name that does not exist settles all pages of its host, once a second look-up a while later
//! has confirmed it. Probes are notes in the journal: one for each directory and day, also over
//! restarts (`probe`).

use std::collections::HashMap;

use turnstone_fetch::soft404::{PageFacts, Verdict, judge};
use turnstone_fetch::{ErrorClass, FetchError, Method, Redirect, Url};
use turnstone_frontier::{Change, Fault, HostId, Links as _, PageId, Policy, Visit};
use turnstone_pagestore::{Facts, Settled};

use crate::asker::{AskError, Asker};
use crate::doubt::SOFT;
use crate::hand_out::Job;
use crate::page;
use crate::probe::note_kind;
use crate::verdict;

/// How long after a name was not found it is looked up again, to confirm.
const CONFIRM_MS: u64 = 60_000;
/// Times a name must not be found before its host is gone.
const NOT_FOUND_MIN: u32 = 2;

/// What a survey remembers while it runs, beside its doubts.
#[derive(Debug, Default)]
pub(crate) struct Survey {
    /// Pages that need another request.
    pub(crate) needs: HashMap<PageId, Need>,
    not_found: HashMap<HostId, u32>,
}

/// What a page needs before it can be judged.
#[derive(Clone, Debug)]
pub(crate) enum Need {
    /// Its body.
    Body,
    /// What a random sibling answers.
    Sibling {
        facts: Box<PageFacts>,
        has_body: bool,
        url: Url,
        directory: String,
    },
}

impl<P: Policy> Asker<P> {
    /// A page of a survey may be asked for now: asks what is to be known next.
    pub(crate) fn survey_ask(
        &mut self,
        (page, host): (PageId, HostId),
        url: Url,
        delay_ms: u64,
    ) -> Result<(), AskError> {
        let Some(survey) = &mut self.survey else {
            unreachable!("only a survey asks so");
        };
        if survey
            .not_found
            .get(&host)
            .is_some_and(|times| *times >= NOT_FOUND_MIN)
        {
            self.visit(host, Visit::Spared);
            let facts = Facts::refused("dns-nxdomain", "its host does not exist any more");
            self.settle(page, Settled::Failed(Fault::Gone), &[], facts);
            return Ok(());
        }
        let job = match survey.needs.get(&page).cloned() {
            None => Job::Page(self.survey_job(page, url, Method::Head, delay_ms)),
            Some(Need::Body) => Job::Page(self.survey_job(page, url, Method::Get, delay_ms)),
            Some(Need::Sibling {
                facts,
                has_body,
                url: sibling,
                directory,
            }) => {
                if self.knows_sibling(host, &sibling, &directory)? {
                    self.visit(host, Visit::Spared);
                    return self.weigh(page, host, *facts, has_body, Facts::default());
                }
                if !self.permits(&sibling) {
                    let nothing = PageFacts::of_status(&sibling, &sibling, 0);
                    let now_s = self.now_s();
                    self.remember_probe((host, &directory), &sibling, nothing, now_s);
                    self.visit(host, Visit::Spared);
                    return self.weigh(page, host, *facts, has_body, Facts::default());
                }
                if !self.begin_probe(page, &note_kind(&sibling, &directory)) {
                    // Told at once: later it might give back the rest that another request is due.
                    self.visit(host, Visit::Spared);
                    return Ok(());
                }
                Job::Sibling {
                    page,
                    host,
                    directory,
                    job: self.survey_job(page, sibling, Method::Get, delay_ms),
                }
            }
        };
        self.requests_open += 1;
        self.jobs.push(job);
        Ok(())
    }

    fn survey_job(&mut self, page: PageId, url: Url, method: Method, delay_ms: u64) -> page::Job {
        let host = self.ledger.index().host(page);
        page::Job {
            page,
            url,
            method,
            validators: None,
            copy: None,
            body_bytes_max: self.plan.body_bytes_max,
            delay_ms,
            kept: self.kept(page),
            spacing: self.spacing(host, delay_ms),
        }
    }

    /// The head or body of a surveyed page came.
    pub(crate) fn survey_came(&mut self, report: page::Report) -> Result<(), AskError> {
        let page::Report {
            page,
            url,
            method,
            took,
            delay_ms,
            sent,
            result,
            ..
        } = report;
        let host = self.ledger.index().host(page);
        self.rest_since(host, sent, delay_ms);
        let answer = match result {
            Ok(answer) => answer,
            Err(error) => return self.survey_failed(page, host, &error),
        };
        if let Some(survey) = &mut self.survey {
            survey.not_found.remove(&host);
        }
        let (verdict, class, detail, mood) = verdict::of_answer(&verdict::Answered {
            status: answer.status,
            redirect: &answer.redirect,
            truncation: answer.truncation,
            conditional: false,
            retry_after: answer.retry_after,
            took,
        });
        self.rest(host, mood);
        let mut facts = answer.facts;
        facts.class = class;
        facts.mood = Some(mood.kind());
        self.heard(host, mood.kind(), &format!("answers {}", answer.status));
        if !detail.is_empty() {
            facts.detail = detail;
        }
        let head = method == Method::Head;
        let seen = match (&verdict, &answer.redirect) {
            (verdict::Judged::Moved(_), Redirect::To { url: to, .. }) => {
                facts.detail = to.as_str().to_owned();
                PageFacts::of_status(&url, to, 200)
            }
            (verdict::Judged::Fetched, _) => answer.soft.map_or_else(
                || PageFacts::of_status(&url, &url, answer.status),
                |soft| *soft,
            ),
            (verdict::Judged::Failed(Fault::Gone), _) => {
                self.settle(page, Settled::Failed(Fault::Gone), &[], facts);
                return Ok(());
            }
            // Many servers refuse HEAD in many ways: a body is the better question.
            _ if head => return self.needs(page, Need::Body, facts),
            (verdict::Judged::Retry, _) => return self.try_again(page, facts),
            _ => {
                self.settle(page, Settled::Failed(Fault::Refused), &[], facts);
                return Ok(());
            }
        };
        if let Some(doubts) = &mut self.doubts {
            doubts.hosts.entry(host).or_default().add_page(&seen);
        }
        self.weigh(page, host, seen, !head, facts)
    }

    /// Judges a page by what was seen of it, or asks for more.
    pub(crate) fn weigh(
        &mut self,
        page: PageId,
        host: HostId,
        seen: PageFacts,
        has_body: bool,
        facts: Facts,
    ) -> Result<(), AskError> {
        let now_s = self.now_s();
        let (Some(survey), Some(doubts)) = (&mut self.survey, &mut self.doubts) else {
            unreachable!("only a survey weighs");
        };
        let token = doubts.token();
        let evidence = doubts.hosts.entry(host).or_default();
        let verdict = judge(&seen, evidence, now_s, token, &doubts.options);
        // A head says nothing about text: where the server answers 200 to anything, only the body
        // can tell.
        let redirected = seen.is_redirected();
        let probed =
            |directory: &str| evidence.probe(directory, now_s, doubts.options.probe_age_max_s);
        let directory = turnstone_fetch::soft404::directory_of(&seen.requested);
        let liar = probed(&directory).is_some_and(|sibling| !sibling.is_hard_gone());
        if liar && !has_body && !redirected {
            return self.needs(page, Need::Body, facts);
        }
        let (alive, evidence) = match verdict {
            Verdict::Probe { url, directory } => {
                let need = Need::Sibling {
                    facts: Box::new(seen),
                    has_body,
                    url,
                    directory,
                };
                return self.needs(page, need, facts);
            }
            Verdict::Alive(evidence) => (true, evidence),
            Verdict::HardGone(evidence) | Verdict::SoftGone(evidence) => (false, evidence),
            Verdict::Unknown(evidence) => {
                let mut facts = facts;
                facts.detail = words(&evidence);
                return self.try_again(page, facts);
            }
        };
        survey.needs.remove(&page);
        self.conclude(page, alive, words(&evidence), seen, facts)
    }

    /// Settles a page with its verdict. What was stored of it stays what it was.
    fn conclude(
        &mut self,
        page: PageId,
        alive: bool,
        evidence: String,
        seen: PageFacts,
        mut facts: Facts,
    ) -> Result<(), AskError> {
        let landed = seen
            .is_redirected()
            .then(|| seen.landed.as_str().to_owned());
        facts.detail = match landed {
            Some(landed) => format!("{evidence}; at {landed}"),
            None => evidence,
        };
        facts.status = seen.status;
        facts.wall_ms = self.wall_ms;
        if !alive {
            facts.class = SOFT.into();
            self.settle(page, Settled::Failed(Fault::Gone), &[], facts);
            return Ok(());
        }
        facts.class = ALIVE.into();
        if let Some(copy) = self.ledger.store().copy(page)? {
            facts.text_hash = copy.text_hash;
            facts.simhash = copy.simhash;
            facts.words = copy.words;
            facts.title = copy.title;
            facts.mime = copy.mime;
            facts.digest = copy.digest;
            facts.etag = copy.etag;
            facts.last_modified = copy.last_modified;
        }
        let mut buffer = Vec::new();
        let links = self.ledger.store().links_of(page, &mut buffer).to_vec();
        self.settle(page, Settled::Fetched(Change::Unchanged), &links, facts);
        Ok(())
    }

    /// Gives a page back until it is handed out for its next request.
    fn needs(&mut self, page: PageId, need: Need, mut facts: Facts) -> Result<(), AskError> {
        if let Some(survey) = &mut self.survey {
            survey.needs.insert(page, need);
        }
        facts.class = String::new();
        facts.attempts = self.attempts(page)?;
        self.lose(page, facts);
        Ok(())
    }

    /// No answer. A name that is not found is looked up once more before its host is given up.
    pub(crate) fn survey_failed(
        &mut self,
        page: PageId,
        host: HostId,
        error: &FetchError,
    ) -> Result<(), AskError> {
        if error.class != ErrorClass::DnsNxdomain {
            return self.failed(page, error);
        }
        let Some(survey) = &mut self.survey else {
            unreachable!("only a survey asks so");
        };
        let times = survey.not_found.entry(host).or_default();
        *times += 1;
        if *times >= NOT_FOUND_MIN {
            return self.failed(page, error);
        }
        self.hold(host, self.now.plus(CONFIRM_MS));
        self.give_back(page, "dns-nxdomain", "to be confirmed".into())
    }
}

/// The class of a page that a survey found alive.
pub const ALIVE: &str = "alive";

pub(crate) fn words(evidence: &[turnstone_fetch::soft404::Evidence]) -> String {
    let words: Vec<String> = evidence.iter().map(ToString::to_string).collect();
    words.join("; ")
}
