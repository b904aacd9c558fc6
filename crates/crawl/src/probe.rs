//! One probe a directory: what a server answers to a name that surely does not exist there.
//!
//! A server that answers 200 to anything is found out by asking for a random sibling of a page (Bar-Yossef,
//! Broder, Kumar, Tomkins 2004). The answer holds for the whole directory and for a day, and is a note in
//! the journal, so that it also holds over restarts. While a probe is under way the other pages of the
//! directory wait in their slots, and are judged when it comes back. A probe that brought no answer is
//! sent again, as a page would be and at most as often; then it says nothing, for a day.
//!
//! Cost: a note a directory. Invariant: one answered probe for each directory and day.

use turnstone_fetch::html::Fingerprint;
use turnstone_fetch::soft404::PageFacts;
use turnstone_fetch::{ErrorClass, FetchError, Redirect, Url};
use turnstone_frontier::{HostId, PageId, Policy};
use turnstone_pagestore::{Entry, Facts, PROBE_NOTE};

use crate::asker::{AskError, Asker};
use crate::page;
use crate::survey::Need;
use crate::verdict;

/// A probe of a directory that has not been answered yet.
#[derive(Debug, Default)]
pub(crate) struct Probe {
    under_way: bool,
    /// Pages handed out that wait for it.
    waiting: Vec<PageId>,
    /// How often it brought no answer.
    tries: u32,
}

impl Probe {
    /// Whether a page is the one to send it. If not, it waits for the one that does.
    pub(crate) fn begin(&mut self, page: PageId) -> bool {
        if self.under_way {
            self.waiting.push(page);
            return false;
        }
        self.under_way = true;
        true
    }
}

impl<P: Policy> Asker<P> {
    /// Whether a directory was probed within a day; looks in the journal too.
    pub(crate) fn knows_sibling(
        &mut self,
        host: HostId,
        url: &Url,
        directory: &str,
    ) -> Result<bool, AskError> {
        let now_s = self.now_s();
        let Some(doubts) = &mut self.doubts else {
            return Ok(false);
        };
        let age_max = doubts.options.probe_age_max_s;
        let evidence = doubts.hosts.entry(host).or_default();
        if evidence.probe(directory, now_s, age_max).is_some() {
            return Ok(true);
        }
        let Some(saved) = self.ledger.store().note(&note_kind(url, directory))? else {
            return Ok(false);
        };
        if let Some((at_s, facts)) = restore(&saved, url) {
            evidence.add_probe(directory, facts, at_s);
        }
        Ok(evidence.probe(directory, now_s, age_max).is_some())
    }

    /// Whether a page is the one to probe its directory. If not, it waits for the one that does.
    pub(crate) fn begin_probe(&mut self, page: PageId, kind: &str) -> bool {
        let Some(doubts) = &mut self.doubts else {
            unreachable!("only those who doubt probe");
        };
        doubts
            .probes
            .entry(kind.to_owned())
            .or_default()
            .begin(page)
    }

    /// A random sibling answered: remembered, and the page that needed it is judged.
    pub(crate) fn sibling_came(
        &mut self,
        host: HostId,
        directory: &str,
        report: page::Report,
    ) -> Result<(), AskError> {
        let survey = self.survey.is_some();
        if survey {
            self.requests_open -= 1;
        } else {
            self.closes(host);
            self.leave_quota(host)?;
        }
        let page::Report {
            page,
            url,
            delay_ms,
            sent,
            took,
            result,
            ..
        } = report;
        self.rest_since(host, sent, delay_ms);
        let answer = match result {
            Ok(answer) => answer,
            Err(error) if !survey => {
                let (_, mood) = verdict::of_error(&error);
                if let Some(mood) = mood {
                    self.rest(host, mood);
                    self.heard(host, mood.kind(), &error.detail);
                }
                let others = self.say_nothing((host, directory), &url);
                return self.sibling_told(page, others, (error.requests_sent, 0));
            }
            Err(error) => {
                self.probe_failed((host, directory), &url, &error)?;
                return self.survey_failed(page, host, &error);
            }
        };
        if !survey {
            let (_, _, _, mood) = verdict::of_answer(&verdict::Answered {
                status: answer.status,
                redirect: &answer.redirect,
                truncation: answer.truncation,
                conditional: false,
                retry_after: answer.retry_after,
                took,
            });
            self.rest(host, mood);
        }
        let sibling = match &answer.redirect {
            Redirect::To { url: to, .. } => PageFacts::of_status(&url, to, 200),
            Redirect::None | Redirect::Refused(_) => answer.soft.map_or_else(
                || PageFacts::of_status(&url, &url, answer.status),
                |soft| *soft,
            ),
        };
        let now_s = self.now_s();
        self.remember_probe((host, directory), &url, sibling, now_s);
        let spent = (answer.facts.requests, answer.facts.body_bytes);
        if !survey {
            let others = self.waited_for(&note_kind(&url, directory));
            return self.sibling_told(page, others, spent);
        }
        let facts = Facts {
            requests: spent.0,
            body_bytes: spent.1,
            ..Facts::default()
        };
        self.probed(page, host, facts)?;
        for page in self.waited_for(&note_kind(&url, directory)) {
            self.probed(page, host, Facts::default())?;
        }
        Ok(())
    }

    /// The probe of a directory is over: the pages that waited for it.
    fn waited_for(&mut self, kind: &str) -> Vec<PageId> {
        let probes = self.doubts.as_mut().map(|doubts| &mut doubts.probes);
        let probe = probes.and_then(|probes| probes.remove(kind));
        probe.unwrap_or_default().waiting
    }

    /// A directory tells nothing for a day; the pages that waited to learn of it.
    fn say_nothing(&mut self, (host, directory): (HostId, &str), url: &Url) -> Vec<PageId> {
        let (nothing, now_s) = (PageFacts::of_status(url, url, 0), self.now_s());
        self.remember_probe((host, directory), url, nothing, now_s);
        self.waited_for(&note_kind(url, directory))
    }

    /// What a page needed to know of its directory is known.
    fn probed(&mut self, page: PageId, host: HostId, facts: Facts) -> Result<(), AskError> {
        let survey = self.survey.as_ref();
        match survey.and_then(|survey| survey.needs.get(&page)).cloned() {
            Some(Need::Sibling {
                facts: seen,
                has_body,
                ..
            }) => self.weigh(page, host, *seen, has_body, facts),
            Some(Need::Body) | None => {
                self.lose(page, facts);
                Ok(())
            }
        }
    }

    /// A probe came back without an answer: those that waited for it are handed out again, and one of
    /// them probes, unless that was tried often enough. Then the probe says nothing for a day.
    fn probe_failed(
        &mut self,
        (host, directory): (HostId, &str),
        url: &Url,
        error: &FetchError,
    ) -> Result<(), AskError> {
        let (now_s, kind) = (self.now_s(), note_kind(url, directory));
        let Some(doubts) = &mut self.doubts else {
            unreachable!("only those who doubt probe");
        };
        let probe = doubts.probes.entry(kind.clone()).or_default();
        probe.under_way = false;
        probe.tries += u32::from(error.class != ErrorClass::StaleConnection);
        let waiting = std::mem::take(&mut probe.waiting);
        if probe.tries >= self.plan.attempts_max {
            doubts.probes.remove(&kind);
            self.remember_probe(
                (host, directory),
                url,
                PageFacts::of_status(url, url, 0),
                now_s,
            );
        }
        for page in waiting {
            self.give_back(page, "", String::new())?;
        }
        Ok(())
    }

    pub(crate) fn remember_probe(
        &mut self,
        (host, directory): (HostId, &str),
        url: &Url,
        sibling: PageFacts,
        now_s: u64,
    ) {
        let entry = Entry::Note {
            kind: &note_kind(url, directory),
            bytes: &save(now_s, &sibling),
        };
        self.ledger.tell(self.now, &entry);
        if let Some(doubts) = &mut self.doubts {
            let evidence = doubts.hosts.entry(host).or_default();
            evidence.add_probe(directory, sibling, now_s);
        }
    }
}

/// The kind of the note of a directory's probe.
pub(crate) fn note_kind(url: &Url, directory: &str) -> String {
    let origin = turnstone_fetch::urls::origin_of(url);
    format!("{PROBE_NOTE}{origin}{directory}")
}

/// What is remembered of a probe: when, status, where it landed, title, fingerprint.
fn save(now_s: u64, facts: &PageFacts) -> Vec<u8> {
    let fingerprint = facts.fingerprint;
    let text = format!(
        "{now_s}\n{}\n{}\n{} {} {}\n{}\n{}",
        facts.status,
        facts.landed,
        fingerprint.text_hash,
        fingerprint.simhash,
        fingerprint.words,
        u8::from(facts.password_field),
        facts.title.replace('\n', " "),
    );
    text.into_bytes()
}

fn restore(saved: &[u8], requested: &Url) -> Option<(u64, PageFacts)> {
    let text = str::from_utf8(saved).ok()?;
    let mut lines = text.splitn(6, '\n');
    let at_s = lines.next()?.parse().ok()?;
    let status = lines.next()?.parse().ok()?;
    let landed = Url::parse(lines.next()?).ok()?;
    let mut numbers = lines.next()?.split(' ').map(str::parse);
    let mut number = || numbers.next()?.ok();
    let fingerprint = Fingerprint {
        text_hash: number()?,
        simhash: number()?,
        words: number()?,
    };
    let password_field = lines.next()? == "1";
    let title = lines.next()?.to_owned();
    let mut facts = PageFacts::of_status(requested, &landed, status);
    facts.fingerprint = fingerprint;
    facts.password_field = password_field;
    facts.full_title.clone_from(&title);
    facts.title = title;
    Some((at_s, facts))
}
