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
use turnstone_fetch::{ErrorClass, FetchError, Kept, Method, Request, Spacing, Url, Validators};
use turnstone_frontier::{Fault, HostId, Next, PageId, Policy, Tick, Visit};
use turnstone_ledger::Allowance;
use turnstone_pagestore::{Facts, Settled};

use crate::archive::Copy;
use crate::asker::{AskError, Asker};
use crate::page::{self, Context};
use crate::receive::Report;
use crate::robots::Permission;
use crate::shard::Member;

/// The longest robots.txt that is received; what is read of it is less.
pub(crate) const ROBOTS_BYTES_MAX: usize = 1 << 20;

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

/// A robots.txt to be asked for at another host than its own, when that host is free.
#[derive(Debug)]
pub(crate) struct Errand {
    pub(crate) authority: String,
    pub(crate) url: Url,
    pub(crate) host: HostId,
    /// The shard that it is for, and the longest body that it permits; nothing for this one.
    pub(crate) of: Option<(usize, usize)>,
}

impl Errand {
    pub(crate) fn own(authority: String, url: Url, host: HostId) -> Self {
        Self {
            authority,
            url,
            host,
            of: None,
        }
    }
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
        if let Some(max) = self.plan.host_pages_max
            && !self.ledger.index().is_stored(page)
        {
            let stored = self.ledger.index().tally().hosts[host.index()].fetched;
            if stored >= max {
                let why = format!("{max} pages of this host are stored");
                self.refuse(page, host, "host-pages", why);
                return Ok(());
            }
            let quota = self.quotas.entry(host).or_default();
            if stored + quota.open >= max {
                // Those under way may be the last: it waits for what comes of them.
                quota.waiting.push(page);
                return Ok(());
            }
        }
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
                if let Err(until) = self.ask_place(host, self.due(delay)) {
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
                self.ask_page((page, host), url, body_bytes_max, delay_ms)?;
            }
        }
        Ok(())
    }

    /// How long a host rests between requests; one that wants more than we would give gets it.
    fn wanted_delay(&mut self, host: HostId, delay: Option<Duration>) -> u64 {
        let due = self.due(delay);
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
        }
        if self.plan.host_pages_max.is_some() {
            self.quotas.entry(host).or_default().open += 1;
        }
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

    /// Sends the errands whose hosts are free.
    pub(crate) fn run_errands(&mut self) -> Result<(), AskError> {
        let mut at = 0;
        while at < self.errands.len() {
            let Errand { host, of, .. } = self.errands[at];
            let allowed = match of {
                // Whoever lent it has what it needs.
                Some(_) => Allowance::Send { body_bytes_max: 0 },
                None => self.allows(self.may_send()),
            };
            let (Allowance::Send { body_bytes_max }, true) =
                (allowed, self.ledger.scheduler().is_free(host, self.now))
            else {
                at += 1;
                continue;
            };
            let owner = self.ledger.index().away(host);
            let is_lent = owner.is_some_and(|owner| {
                let member = self.member.as_ref();
                member.is_some_and(|member| member.is_here(owner))
            });
            if is_lent {
                let errand = self.errands.remove(at);
                self.lend(errand, robots_bytes_max(body_bytes_max));
                continue;
            }
            if owner.is_some() && !self.plan.per_address {
                let errand = self.errands.remove(at);
                self.cannot_ask(errand)?;
                continue;
            }
            let is_of_cluster = self.member.as_ref().is_some_and(Member::is_of_cluster);
            if is_of_cluster && self.plan.per_address && !self.is_looked_up(host) {
                // Which node may ask there hangs on its addresses.
                let url = self.errands[at].url.clone();
                self.looking_up(host, url);
                at += 1;
                continue;
            }
            let allowed = self.host_allows(host);
            let delay_ms = self.plan.politeness.delay_ms;
            if let Err(until) = allowed.and_then(|()| self.ask_place(host, delay_ms)) {
                self.hold(host, until);
                at += 1;
                continue;
            }
            if owner.is_some() {
                // Its own shard, at another node, knows how long it rests; here the longest rest will do.
                let rest = self.plan.crawl_delay_max.as_millis();
                let rest = u64::try_from(rest).unwrap_or(u64::MAX);
                self.hold(host, self.now.plus(rest));
            }
            let Errand { authority, url, .. } = self.errands.remove(at);
            self.visit(host, Visit::Opened);
            let spacing = self.spacing(host, self.plan.politeness.delay_ms);
            self.opens(host);
            self.jobs.push(Job::Robots {
                authority,
                url,
                host,
                slot: of.map_or(Slot::Own, |(shard, _)| Slot::Of { shard }),
                body_bytes_max: of.map_or(robots_bytes_max(body_bytes_max), |(_, max)| max),
                spacing,
            });
        }
        Ok(())
    }

    /// Looks the addresses of a host up that no page here waits for, unless that is under way.
    fn looking_up(&mut self, host: HostId, url: Url) {
        if self.being_looked_up.insert(host) {
            self.jobs.push(Job::Meet { host, url });
        }
    }

    /// A robots.txt is at a host of another node, and nothing says when that may be asked.
    fn cannot_ask(&mut self, errand: Errand) -> Result<(), AskError> {
        let error = FetchError {
            class: ErrorClass::ConnectFailed,
            subject: errand.url.to_string(),
            detail: "it is at a host of another machine, and addresses are ignored: who may ask there is not \
                     known"
                .to_owned(),
            requests_sent: 0,
        };
        self.robots_answered(&errand.authority, None, &Err(error))
    }

    /// Gives back the pages whose errands will not be run any more, since the crawl ends.
    pub(crate) fn drop_errands(&mut self) -> Result<(), AskError> {
        for Errand { authority, of, .. } in std::mem::take(&mut self.errands) {
            if let Some((shard, _)) = of {
                self.give_back_errand(shard, authority, None);
                continue;
            }
            self.robots.not_asking(&authority);
            for page in self.robots.waited(&authority) {
                self.give_back(page, "", String::new())?;
            }
        }
        Ok(())
    }

    fn errand_due(&self, errand: &Errand) -> Tick {
        self.ledger
            .scheduler()
            .earliest(errand.host)
            .max(self.now.plus(1))
    }

    fn first_errand(&self, tick: Tick) -> Tick {
        let dues = self.errands.iter().map(|errand| self.errand_due(errand));
        dues.min().map_or(tick, |due| due.min(tick))
    }
}

/// The longest robots.txt that the budget lets in.
fn robots_bytes_max(body_bytes_max: u64) -> usize {
    usize::try_from(body_bytes_max).map_or(ROBOTS_BYTES_MAX, |max| max.min(ROBOTS_BYTES_MAX))
}
