//! From a hand-out to a request, or to the decision not to make one.
//!
//! A page that was handed out has its host's slot. Its one request is the page itself if all is
//! known; else what must be known first: the host's addresses (no request at all) or the
//! authority's robots.txt. Then the page is given back, to be handed out again at its rank when
//! the host may be asked again. So no request is ever sent outside the calendar.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use turnstone_fetch::urls::{host_of, origin_of};
use turnstone_fetch::{Kept, Method, Request, Spacing, Url, Validators};
use turnstone_frontier::{Fault, HostId, Next, PageId, Policy, Tick, Visit};
use turnstone_ledger::Allowance;
use turnstone_pagestore::{Facts, Settled};

use crate::archive::Copy;
use crate::asker::{AskError, Asker};
use crate::errands::Errand;
use crate::limits::Verdict;
use crate::page::{self, Context, RESERVED, reserved};
use crate::receive::Report;
use crate::robots::Permission;
use crate::twins::TWIN;

/// The longest robots.txt that is received; what is read of it is less.
pub(crate) const ROBOTS_BYTES_MAX: usize = 1 << 20;

/// The class of a page that a limit keeps out.
const LIMIT: &str = "limit";

/// Something for a task to do.
#[derive(Debug)]
pub enum Job {
    /// Look up the addresses of a page's host.
    Resolve {
        /// The page.
        page: PageId,
        /// Its host.
        host: HostId,
        /// Its URL.
        url: Url,
    },
    /// Look up the addresses of a host that no page waits for.
    Meet {
        /// The host.
        host: HostId,
        /// A URL of it.
        url: Url,
    },
    /// Ask for a robots.txt.
    Robots {
        /// Whose it is.
        authority: String,
        /// Where it is.
        url: Url,
        /// The host that is asked.
        host: HostId,
        /// Whose slot it takes.
        slot: Slot,
        /// The longest body.
        body_bytes_max: usize,
        /// How far from the host's other requests it must be.
        spacing: Option<Spacing>,
    },
    /// Ask for a page.
    Page(page::Job),
    /// Ask for a random sibling of a page, which is handed out for it.
    Sibling {
        /// The page.
        page: PageId,
        /// Its host.
        host: HostId,
        /// Its directory.
        directory: String,
        /// What to ask for.
        job: page::Job,
    },
}

impl Job {
    pub(crate) async fn run(self, context: Arc<Context>) -> Report {
        match self {
            Self::Resolve { page, host, url } => Report::Resolved {
                page,
                host,
                result: context.client.addresses(&url).await,
            },
            Self::Meet { host, url } => Report::Met {
                host,
                result: context.client.addresses(&url).await,
            },
            Self::Robots {
                authority,
                url,
                host,
                slot,
                body_bytes_max,
                spacing,
            } => {
                let mut request = Request::get(url);
                request.body_bytes_max = Some(body_bytes_max);
                // Once a day: not worth the doubt whether a kept one is still open.
                request.kept = Kept::Avoid;
                request.spacing = spacing;
                request.permit.clone_from(&context.permit);
                let result = context.client.fetch(request).await;
                Report::Robots {
                    authority,
                    host,
                    slot,
                    sent: result
                        .as_ref()
                        .ok()
                        .map(|it| context.clock.tick_at(it.sent_at)),
                    result: Box::new(result),
                }
            }
            Self::Page(job) => Report::Page(page::fetch(context, job).await),
            Self::Sibling {
                page,
                host,
                directory,
                job,
            } => Report::Sibling {
                host,
                directory,
                report: page::Report {
                    page,
                    ..page::fetch(context, job).await
                },
            },
        }
    }
}

/// Whose slot of the calendar a request for a robots.txt takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Slot {
    /// That of a page which waits for it.
    Page,
    /// Its own, to be closed afterwards.
    Own,
    /// The same, for another shard.
    Of {
        /// Which.
        shard: usize,
    },
}

impl<P: Policy> Asker<P> {
    /// Hands out pages as long as budgets, connections and hosts allow. Returns when to look
    /// again; `None` if only an event can change anything.
    pub(crate) fn hand_out(&mut self) -> Result<Option<Tick>, AskError> {
        while self.stop.is_none() {
            if self.ledger.scheduler().ranking().in_flight_count() >= self.plan.connections {
                return Ok(None);
            }
            let may = self.may_hand_out();
            let body_bytes_max = match self.allows(may) {
                Allowance::Send { body_bytes_max } => body_bytes_max,
                Allowance::Wait => return Ok(None),
                Allowance::WaitUntil(tick) => return Ok(Some(self.first_errand(tick))),
                Allowance::Spent(stop) => {
                    self.stop = Some(stop);
                    break;
                }
            };
            if self.plan.until.coverage && self.coverage().is_some_and(|c| c.met()) {
                break;
            }
            match self.ledger.next(self.now) {
                Next::Fetch(page) => self.consider(page, body_bytes_max)?,
                Next::WaitUntil(tick) => {
                    return Ok(Some(self.first_errand(self.before_slice_ends(tick))));
                }
                Next::Empty => break,
            }
        }
        let errand = self
            .errands
            .iter()
            .map(|errand| self.errand_due(errand))
            .min();
        Ok(errand.into_iter().chain(self.slice_end()).min())
    }

    /// What is to be done about a page that was just handed out.
    fn consider(&mut self, page: PageId, body_bytes_max: u64) -> Result<(), AskError> {
        let host = self.ledger.index().host(page);
        if self.ledger.index().is_forgotten(page) {
            self.refuse(page, host, "forgotten", "forgotten on request".into());
            return Ok(());
        }
        let Ok(url) = Url::parse(&self.ledger.store().url(page)?) else {
            self.refuse(page, host, "url", "not a URL any more".into());
            return Ok(());
        };
        if self.plan.per_address && !self.is_looked_up(host) && !self.look_up(page, host, &url) {
            return Ok(());
        }
        if let Err(until) = self.host_allows(host) {
            return self.postpone(page, host, until);
        }
        let (depth, stored) = (
            self.ledger.index().depth(page),
            self.ledger.index().is_stored(page),
        );
        self.quotas.count(host, self.ledger.index());
        let body_bytes_max = match self.quotas.judge(host, depth, stored, body_bytes_max) {
            Verdict::May { body_bytes_max } => body_bytes_max,
            Verdict::Never(why) => {
                self.refuse(page, host, LIMIT, why);
                return Ok(());
            }
            // Those under way may be the last: it waits for what comes of them.
            Verdict::Wait(cell) => {
                self.quotas.wait(cell, page);
                return Ok(());
            }
        };
        let authority = origin_of(&url);
        self.meet(&authority)?;
        let now_s = self.now_s();
        match self.robots.permission(&authority, &url, now_s) {
            Permission::Refused { line } => self.refuse(page, host, "robots", line),
            Permission::Closed { why, until_s } => {
                self.visit(host, Visit::Spared);
                let until = self.epoch.tick_of_seconds(until_s.max(now_s + 1));
                self.shut(host, until);
                self.give_back(page, "robots-unreachable", why)?;
            }
            Permission::Asking => self.robots.wait(&authority, page),
            Permission::Ask(first) => {
                let body_bytes_max = robots_bytes_max(body_bytes_max);
                self.ask_robots((page, host), authority, &first, body_bytes_max)?;
            }
            Permission::Granted { delay } => {
                let sayings = self.robots.sayings(&authority, &url, now_s);
                if let Some(said) = reserved(&sayings, &self.plan.respect, &self.plan.agent) {
                    self.refuse(page, host, RESERVED, said);
                    return Ok(());
                }
                if let Err(until) = self.ask_place(host, self.due_at(host, delay)) {
                    return self.postpone(page, host, until);
                }
                let delay_ms = self.wanted_delay(host, delay);
                if self.survey.is_some() {
                    return self.survey_ask((page, host), url, delay_ms);
                }
                // A page that is stored has shown what it is worth: it may be asked for again.
                if !self.ledger.index().is_stored(page)
                    && let Some(refusal) = self.trap(host, &url, now_s)
                {
                    self.leave_place(host);
                    self.refuse(page, host, "trap", refusal);
                    return Ok(());
                }
                if let Some(twin) = self.late_twin(page, host, &url) {
                    self.leave_place(host);
                    self.refuse(page, host, TWIN, twin);
                    return Ok(());
                }
                if self.ask_sibling((page, host), body_bytes_max, delay_ms)? {
                    return Ok(());
                }
                self.ask_page((page, host), url, body_bytes_max, delay_ms)?;
            }
        }
        Ok(())
    }

    /// How long a host rests between requests; one that wants more than we would give gets it.
    fn wanted_delay(&mut self, host: HostId, delay: Option<Duration>) -> u64 {
        let due = self.due_at(host, delay);
        if due > self.plan.politeness.delay_ms {
            self.hold(host, self.now.plus(due));
        }
        due
    }

    /// The longer of our own delay and the one that a host wants.
    pub(crate) fn due(&self, wanted: Option<Duration>) -> u64 {
        let wanted = wanted.map_or(0, |delay| {
            u64::try_from(delay.as_millis()).unwrap_or(u64::MAX)
        });
        wanted.max(self.plan.politeness.delay_ms)
    }

    /// The same for a host, with what limits want for it.
    pub(crate) fn due_at(&self, host: HostId, wanted: Option<Duration>) -> u64 {
        self.due(wanted).max(self.quotas.delay_ms(host))
    }

    /// Looks up what the journal has of an authority, unless that was done before.
    pub(crate) fn meet(&mut self, authority: &str) -> Result<(), AskError> {
        if !self.robots.knows(authority) {
            let saved = self.ledger.store().robots(authority)?;
            let now_s = self.now_s();
            self.robots.load(authority, saved.as_deref(), now_s);
            self.announce_sitemaps(authority);
        }
        Ok(())
    }

    /// Learns the addresses of a page's host. Whether they are known now.
    fn look_up(&mut self, page: PageId, host: HostId, url: &Url) -> bool {
        let literal: Option<IpAddr> = match url.host() {
            Some(url::Host::Ipv4(address)) => Some(address.into()),
            Some(url::Host::Ipv6(address)) => Some(address.into()),
            _ => None,
        };
        let Some(address) = literal else {
            // Told at once: later it might give back the rest that another request is due.
            self.visit(host, Visit::Spared);
            let url = url.clone();
            self.jobs.push(Job::Resolve { page, host, url });
            return false;
        };
        let before = self.ledger.scheduler().unit(host);
        self.found_at(host, &[address]);
        if self.ledger.scheduler().unit(host) == before {
            return true;
        }
        self.visit(host, Visit::Spared);
        self.lose(page, Facts::default());
        false
    }

    /// Uses the slot of a page for the robots.txt it needs.
    fn ask_robots(
        &mut self,
        (page, host): (PageId, HostId),
        authority: String,
        first: &str,
        body_bytes_max: usize,
    ) -> Result<(), AskError> {
        let Ok(url) = Url::parse(first) else {
            self.refuse(page, host, "url", "its robots.txt has no URL".into());
            return Ok(());
        };
        let of = self.ledger.host(self.now, host_of(&url));
        let scheduler = self.ledger.scheduler();
        let here = scheduler.unit(of) == scheduler.unit(host);
        // A robots.txt may be at another host of the same address, which has a budget of its own.
        let delay_ms = self.plan.politeness.delay_ms;
        if here
            && let Err(until) = self
                .host_allows(of)
                .and_then(|()| self.ask_place(of, delay_ms))
        {
            return self.postpone(page, host, until);
        }
        self.robots.asking(&authority);
        if here {
            let slot = if of == host {
                self.robots.wait(&authority, page);
                Slot::Page
            } else {
                // The journal must say which host is asked: a visit does, the slot of this page does not.
                self.visit(host, Visit::Spared);
                self.give_back(page, "", String::new())?;
                self.visit(of, Visit::Opened);
                Slot::Own
            };
            let spacing = self.spacing(of, self.plan.politeness.delay_ms);
            self.opens(of);
            self.jobs.push(Job::Robots {
                authority,
                url,
                host: of,
                slot,
                body_bytes_max,
                spacing,
            });
        } else {
            self.robots.wait(&authority, page);
            self.errands.push(Errand::own(authority, url, of));
        }
        Ok(())
    }

    /// Why a page is not to be asked for although it waits: it leads nowhere by its URL alone, or
    /// the pattern of its URL has used up its budget.
    fn trap(&self, host: HostId, url: &Url, now_s: u64) -> Option<String> {
        if let Some((_, detail)) = self.judge(url) {
            return Some(detail);
        }
        let admitted = self.ledger.admits(host, url, now_s);
        admitted.err().map(|over| over.to_string())
    }

    fn ask_page(
        &mut self,
        (page, host): (PageId, HostId),
        url: Url,
        body_bytes_max: u64,
        delay_ms: u64,
    ) -> Result<(), AskError> {
        let (mut validators, mut copy) = (None, None);
        if self.ledger.index().is_stored(page)
            && let Some(facts) = self.ledger.store().copy(page)?
        {
            let (etag, date) = (&facts.etag, &facts.last_modified);
            let some = |bytes: &Vec<u8>| (!bytes.is_empty()).then(|| bytes.clone());
            validators = Validators::from_stored(some(etag).as_deref(), some(date).as_deref());
            copy = facts.digest.map(|digest| Copy {
                digest,
                wall_ms: facts.wall_ms,
            });
            // Its body was that of a page that was forgotten since: it is fetched whole again.
            let lost = |of| self.ledger.index().is_forgotten(of);
            if facts.duplicate_of.is_some_and(lost) {
                (validators, copy) = (None, None);
            }
        }
        self.quotas.opens(host);
        let (kept, spacing) = (self.kept(page), self.spacing(host, delay_ms));
        self.opens(host);
        self.jobs.push(Job::Page(page::Job {
            page,
            url,
            method: Method::Get,
            validators,
            copy,
            body_bytes_max: usize::try_from(body_bytes_max).unwrap_or(usize::MAX),
            delay_ms,
            kept,
            spacing,
        }));
        Ok(())
    }

    /// Whether a page may be asked for on a kept connection: not if the last one turned out closed.
    pub(crate) fn kept(&mut self, page: PageId) -> Kept {
        if self.stale.remove(&page) {
            Kept::Avoid
        } else {
            Kept::AskOnce
        }
    }

    /// How far apart the next request must be from others of its host. With one open at a time the
    /// calendar sees to it, for it knows when that one was written before it permits the next.
    pub(crate) fn spacing(&mut self, host: HostId, delay_ms: u64) -> Option<Spacing> {
        if self.plan.politeness.open_max == 1 || delay_ms == 0 {
            return None;
        }
        let turn = self
            .turns
            .entry(self.ledger.scheduler().unit(host))
            .or_default();
        Some(Spacing {
            turn: turn.clone(),
            delay: Duration::from_micros(self.plan.tick_us.saturating_mul(delay_ms)),
        })
    }

    /// The page just handed out is not asked for: its host need not rest for it.
    fn refuse(&mut self, page: PageId, host: HostId, class: &str, detail: String) {
        self.visit(host, Visit::Spared);
        let facts = Facts::refused(class, detail);
        self.settle(page, Settled::Failed(Fault::Refused), &[], facts);
    }

    /// The page just handed out is not asked for now: its host may be asked again at a tick.
    fn postpone(&mut self, page: PageId, host: HostId, until: Tick) -> Result<(), AskError> {
        self.visit(host, Visit::Spared);
        self.hold(host, until);
        self.give_back(page, "", String::new())
    }

    /// The page will be handed out again, at the rank it has.
    pub(crate) fn give_back(
        &mut self,
        page: PageId,
        class: &str,
        detail: String,
    ) -> Result<(), AskError> {
        let mut facts = Facts::refused(class, detail);
        facts.attempts = self.attempts(page)?;
        self.lose(page, facts);
        Ok(())
    }

    pub(crate) fn lose(&mut self, page: PageId, facts: Facts) {
        self.settle(page, Settled::Failed(Fault::Lost), &[], facts);
    }

    /// How often a page was tried in a row without a verdict.
    pub(crate) fn attempts(&self, page: PageId) -> Result<u32, AskError> {
        let last = self.ledger.store().outcome(page)?;
        Ok(last.map_or(0, |outcome| outcome.facts.attempts))
    }
}

/// The longest robots.txt that the budget lets in.
pub(crate) fn robots_bytes_max(body_bytes_max: u64) -> usize {
    usize::try_from(body_bytes_max).map_or(ROBOTS_BYTES_MAX, |max| max.min(ROBOTS_BYTES_MAX))
}
