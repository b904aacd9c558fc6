//! A second look at pages that may not be what they were asked for: soft 404 in every live command.
//!
//! Many servers answer 200 for pages that are not there, with an apology, with their front page or by way of
//! a redirect. Taken for pages such answers fill a store with copies of one text, and a page that was
//! stored becomes "changed". A survey probes the directory of every page; a crawl cannot afford that. So a
//! page that came is first *doubted*, for nothing: by its title, its canonical link, a text that
//! was seen before or is what another directory shows to any name, a copy that had much more text, a redirect home. Only then one random sibling is asked
//! for, once for a directory and a day ([`crate::probe`]). Once a directory is known to answer any
//! name, every page that comes from it is held against that answer, again for nothing.
//!
//! A page in doubt is given back, its request counted and its capture acknowledged; when it is handed out again, its
//! slot is used for the sibling, and the third time for the page itself, which is then judged. So each hand-out
//! sends one request, as in a survey, and a process may die at any moment. Holding the answer until the sibling
//! came would save that one request; it was tried, and kills found three ways to lose count.
//!
//! Where a host shows nothing but one text, nobody can tell whether pages are gone or a wall in words of its own
//! stands before all of them. Then the page is blocked: neither gone, nor content, nor changed.
//!
//! Limits: a page is doubted once in a process; a host gets [`PROBES_FREE`] probes in a process, and one more for
//! each [`REQUESTS_A_PROBE`] requests; no probe once five directories told the truth. What cannot be
//! probed is taken for what it says it is. Cost: a comparison for each page.

use std::collections::{HashMap, HashSet, VecDeque};

use turnstone_fetch::html::{Fingerprint, simhash_distance};
use turnstone_fetch::soft404::{
    HostEvidence, PageFacts, SoftOptions, Verdict, is_root, judge, says_not_found,
};
use turnstone_fetch::urls::origin_of;
use turnstone_fetch::{Method, Url};
use turnstone_frontier::{Fault, HostId, PageId, Policy, Visit};
use turnstone_pagestore::{Facts, Settled};

use crate::asker::{AskError, Asker};
use crate::hand_out::Job;
use crate::page::{self, FoundLink};
use crate::probe::{Probe, note_kind};
use crate::robots::Permission;
use crate::survey::words;
use crate::verdict::Judged;

/// Links that a page in doubt may have: one with more is no apology.
const LINKS_MAX: usize = 2_000;
/// With fewer words a sibling tells nothing: pages are made by scripts there.
const WORDS_MIN: u64 = 8;
/// Probes of a host that cost it nothing to earn.
const PROBES_FREE: usize = 8;
/// Beyond them: requests for each probe.
const REQUESTS_A_PROBE: u32 = 20;
/// Answers in a row that are all alike after which nobody can tell gone pages from a wall.
const ALIKE_MAX: u32 = 30;
/// Short pages remembered of each host.
const RECENT_MAX: usize = 8;
/// Pages with more words are not remembered.
const RECENT_WORDS_MAX: u64 = 300;

/// The class of a page that is gone although the server says otherwise.
pub(crate) const SOFT: &str = "soft-404";
/// The class of a page of a host that shows the same whatever is asked for.
pub(crate) const UNSURE: &str = "blocked-unsure";

/// What is remembered while a process runs, to tell pages from what only looks like them.
#[derive(Debug)]
pub(crate) struct Doubts {
    pub(crate) options: SoftOptions,
    pub(crate) hosts: HashMap<HostId, HostEvidence>,
    /// By note: the probes that are under way, or were in vain.
    pub(crate) probes: HashMap<String, Probe>,
    /// Pages that are to be held against a sibling: what to ask for, and the directory it stands for.
    wanted: HashMap<PageId, (Url, String)>,
    /// Pages that were doubted once.
    doubted: HashSet<PageId>,
    shown: HashMap<HostId, Shown>,
    tokens: u64,
}

/// An answer that says it is its page, or that its page moved.
#[derive(Debug)]
pub(crate) struct Came {
    pub(crate) url: Url,
    pub(crate) judged: Judged,
    pub(crate) facts: Facts,
    pub(crate) links: Vec<FoundLink>,
}

/// What a host showed of late.
#[derive(Debug, Default)]
struct Shown {
    last: u64,
    /// So many answers in a row were alike.
    alike: u32,
    /// Whether it ever showed something else.
    varies: bool,
    recent: VecDeque<Short>,
}

/// A short page in a few bytes.
#[derive(Clone, Copy, Debug)]
struct Short {
    title: u64,
    text: Fingerprint,
}

impl Shown {
    fn add(&mut self, seen: &PageFacts) {
        let hash = sight(seen);
        if self.alike > 0 && hash != self.last {
            self.varies = true;
            self.alike = 0;
        }
        self.last = hash;
        self.alike = self.alike.saturating_add(1);
        if seen.fingerprint.words <= RECENT_WORDS_MAX && !seen.is_redirected() {
            self.recent.truncate(RECENT_MAX - 1);
            self.recent.push_front(short(seen));
        }
    }

    /// Whether a page is much like one that came before it.
    fn has_like(&self, seen: &PageFacts, distance_max: u32) -> bool {
        // Where a title is nothing but the address, little is left to tell pages by.
        if seen.title.is_empty() {
            return false;
        }
        let new = short(seen);
        self.recent.iter().any(|old| {
            old.title == new.title
                && simhash_distance(old.text.simhash, new.text.simhash) <= distance_max
        })
    }

    /// Whether what it shows says nothing of single pages.
    fn is_one_face(&self) -> bool {
        !self.varies || self.alike > ALIKE_MAX
    }
}

fn short(seen: &PageFacts) -> Short {
    Short {
        title: Fingerprint::of(&seen.title).text_hash,
        text: seen.fingerprint,
    }
}

/// What was seen, in a number: the text, or where it led.
fn sight(seen: &PageFacts) -> u64 {
    if seen.is_redirected() {
        let target = format!("{}{}", origin_of(&seen.landed), seen.landed.path());
        Fingerprint::of(&target).text_hash
    } else {
        seen.fingerprint.text_hash
    }
}

impl Doubts {
    pub(crate) fn new(options: SoftOptions, token: u64) -> Self {
        Self {
            options,
            hosts: HashMap::new(),
            probes: HashMap::new(),
            wanted: HashMap::new(),
            doubted: HashSet::new(),
            shown: HashMap::new(),
            tokens: token,
        }
    }

    pub(crate) fn token(&mut self) -> u64 {
        self.tokens = self
            .tokens
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        self.tokens
    }
}

impl<P: Policy> Asker<P> {
    /// A page came, or a redirect: it is what it says unless there is reason to doubt.
    pub(crate) fn look_twice(
        &mut self,
        page: PageId,
        came: Came,
        soft: Option<Box<PageFacts>>,
    ) -> Result<(), AskError> {
        let seen = match (&came.judged, soft) {
            (Judged::Moved(to), _) => PageFacts::of_status(&came.url, to, 200),
            (Judged::Fetched, Some(soft)) => *soft,
            _ => return self.accept(page, came),
        };
        let host = self.ledger.index().host(page);
        let doubted = self.is_doubtful(page, host, &came, &seen)?;
        let Some(doubts) = &mut self.doubts else {
            return self.accept(page, came);
        };
        doubts.shown.entry(host).or_default().add(&seen);
        let evidence = doubts.hosts.entry(host).or_default();
        evidence.add_page(&seen);
        let known = !evidence.is_empty();
        if (doubted || known) && !is_root(&came.url) {
            let directory = turnstone_fetch::soft404::directory_of(&came.url);
            self.knows_sibling(host, &came.url, &directory)?;
            return self.compare(page, host, (came, seen), doubted);
        }
        self.accept(page, came)
    }

    /// Whether anything about an answer is reason to ask for a sibling.
    fn is_doubtful(
        &self,
        page: PageId,
        host: HostId,
        came: &Came,
        seen: &PageFacts,
    ) -> Result<bool, AskError> {
        let Some(doubts) = self.doubts.as_ref().filter(|_| !is_root(&came.url)) else {
            return Ok(false);
        };
        let scripted = !seen.is_redirected() && seen.fingerprint.words < WORDS_MIN;
        if came.links.len() > LINKS_MAX || scripted || self.stop.is_some() {
            return Ok(false);
        }
        if seen.is_redirected() {
            let evidence = doubts.hosts.get(&host);
            let common = evidence.map_or(0, |evidence| evidence.redirects_to(&seen.landed));
            let home = is_root(&seen.landed) && origin_of(&seen.landed) == origin_of(&came.url);
            return Ok(home || common + 1 >= doubts.options.common_target_min);
        }
        if came.judged != Judged::Fetched {
            return Ok(false);
        }
        if says_not_found(&seen.full_title) || seen.canonical.as_ref().is_some_and(is_root) {
            return Ok(true);
        }
        let distance = doubts.options.distance_same;
        let evidence = doubts.hosts.get(&host);
        if evidence.is_some_and(|evidence| evidence.resembles(seen, distance)) {
            return Ok(true);
        }
        let shown = doubts.shown.get(&host);
        let index = self.ledger.index();
        if !index.is_stored(page) {
            return Ok(index.has_text(came.facts.text_hash)
                || shown.is_some_and(|shown| shown.has_like(seen, distance)));
        }
        let copy = self.ledger.store().copy(page)?;
        Ok(copy.is_some_and(|copy| {
            copy.text_hash != came.facts.text_hash
                && (index.has_text(came.facts.text_hash)
                    || copy.title != came.facts.title && copy.words > 2 * came.facts.words)
        }))
    }

    /// Holds a page against what its directory shows to any name, or has it wait until that is known.
    fn compare(
        &mut self,
        page: PageId,
        host: HostId,
        (came, seen): (Came, PageFacts),
        doubted: bool,
    ) -> Result<(), AskError> {
        let now_s = self.now_s();
        let requests = self.ledger.index().tally().hosts[host.index()].requests;
        let Some(doubts) = &mut self.doubts else {
            return self.accept(page, came);
        };
        let token = doubts.token();
        let evidence = doubts.hosts.entry(host).or_default();
        match judge(&seen, evidence, now_s, token, &doubts.options) {
            Verdict::SoftGone(why) => {
                let one_face = doubts.shown.get(&host).is_none_or(Shown::is_one_face);
                self.unmask(page, came, words(&why), one_face);
                Ok(())
            }
            Verdict::Probe { url, directory } => {
                let earned = PROBES_FREE + (requests / REQUESTS_A_PROBE) as usize;
                let may = doubted
                    && !doubts.doubted.contains(&page)
                    && evidence.probe_count() < earned
                    && self.permits(&url);
                if !may {
                    return self.accept(page, came);
                }
                if let Some(doubts) = &mut self.doubts {
                    doubts.wanted.insert(page, (url, directory));
                    doubts.doubted.insert(page);
                }
                let facts = Facts {
                    requests: came.facts.requests,
                    body_bytes: came.facts.body_bytes,
                    milliseconds: came.facts.milliseconds,
                    wall_ms: came.facts.wall_ms,
                    capture: came.facts.capture,
                    mood: came.facts.mood,
                    attempts: self.attempts(page)?,
                    ..Facts::default()
                };
                self.lose(page, facts);
                Ok(())
            }
            Verdict::Alive(_) | Verdict::HardGone(_) | Verdict::Unknown(_) => {
                self.accept(page, came)
            }
        }
    }

    /// Whether robots.txt lets us ask for a name that nobody linked to.
    pub(crate) fn permits(&self, url: &Url) -> bool {
        let authority = origin_of(url);
        self.robots.knows(&authority)
            && matches!(
                self.robots.permission(&authority, url, self.now_s()),
                Permission::Granted { .. }
            )
    }

    /// It is what it says.
    fn accept(&mut self, page: PageId, came: Came) -> Result<(), AskError> {
        let Came {
            url,
            judged,
            facts,
            links,
            ..
        } = came;
        match judged {
            Judged::Moved(to) => self.moved(page, &url, &to, facts),
            _ => {
                self.look_for_twins(page, &url, (facts.text_hash, facts.words))?;
                self.fetched(page, facts, &links)
            }
        }
    }

    /// It is not what it says. Nothing of it is the page's.
    fn unmask(&mut self, page: PageId, came: Came, why: String, one_face: bool) {
        let mut facts = came.facts;
        facts.digest = None;
        facts.etag.clear();
        facts.last_modified.clear();
        let fault = if one_face {
            facts.class = UNSURE.into();
            facts.detail = format!(
                "its host shows the same whatever is asked for: a wall, or pages that are not there ({why})"
            );
            Fault::Refused
        } else {
            facts.class = SOFT.into();
            facts.detail = why;
            Fault::Gone
        };
        self.settle(page, Settled::Failed(fault), &[], facts);
    }

    /// Uses the slot of a page for the sibling that it is to be held against, if there is one to be asked for.
    /// Whether that was done, or another page does it.
    pub(crate) fn ask_sibling(
        &mut self,
        (page, host): (PageId, HostId),
        body_bytes_max: u64,
        delay_ms: u64,
    ) -> Result<bool, AskError> {
        let doubts = self.doubts.as_ref();
        let wanted = doubts.and_then(|doubts| doubts.wanted.get(&page)).cloned();
        let Some((url, directory)) = wanted else {
            return Ok(false);
        };
        if self.knows_sibling(host, &url, &directory)? || !self.permits(&url) {
            self.is_told(page);
            return Ok(false);
        }
        if !self.begin_probe(page, &note_kind(&url, &directory)) {
            self.leave_place(host);
            // Told at once: later it might give back the rest that another request is due.
            self.visit(host, Visit::Spared);
            return Ok(true);
        }
        let (kept, spacing) = (self.kept(page), self.spacing(host, delay_ms));
        self.opens(host);
        self.quotas.opens(host);
        let job = page::Job {
            page,
            url,
            method: Method::Get,
            validators: None,
            copy: None,
            body_bytes_max: usize::try_from(body_bytes_max).unwrap_or(usize::MAX),
            delay_ms,
            kept,
            spacing,
        };
        self.jobs.push(Job::Sibling {
            page,
            host,
            directory,
            job,
        });
        Ok(true)
    }

    /// A sibling answered, or did not: the pages that waited for it are asked for again.
    pub(crate) fn sibling_told(
        &mut self,
        page: PageId,
        others: Vec<PageId>,
        (requests, body_bytes): (u32, u64),
    ) -> Result<(), AskError> {
        let facts = Facts {
            requests,
            body_bytes,
            attempts: self.attempts(page)?,
            ..Facts::default()
        };
        self.is_told(page);
        self.lose(page, facts);
        for other in others {
            self.is_told(other);
            self.give_back(other, "", String::new())?;
        }
        Ok(())
    }

    fn is_told(&mut self, page: PageId) {
        if let Some(doubts) = &mut self.doubts {
            doubts.wanted.remove(&page);
        }
    }
}
