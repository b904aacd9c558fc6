//! The scheduler: policies rank, the calendar permits, and this hands out pages.
//!
//! It owns a policy, its ranking and the host calendar, and offers drivers two methods: `next`
//! and `observe`. No page is handed out twice before it comes back, and no host is asked before
//! its time or more often at once than allowed, whatever the policy ranks.
//!
//! Cost: `next` O(log pages + log hosts); `observe` that of the policy. State: the policy's, the
//! ranking's, 24 bytes a host, one bit a page.

use std::io;

use crate::calendar::{Calendar, Politeness, Tick, Visit};
use crate::chance::Chance;
use crate::event::{Crossing, Event, Fault};
use crate::id::{HostId, PageId};
use crate::policy::{Coverage, Links, Policy, Proof, Shard};
use crate::ranking::{Rank, Ranking};
use crate::saved::{Restore, Save, corrupt};
use crate::split::{Arm, Split};

/// First bytes of a saved scheduler: name and version of the format.
const MAGIC: [u8; 8] = *b"TSSCHED6";

/// What to do now. `WaitUntil` lets the lab jump its clock and the crawler sleep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Ask for this page; report what came of it by `observe`.
    Fetch(PageId),
    /// Nothing before this tick, unless something is observed first; perhaps nothing then, either.
    WaitUntil(Tick),
    /// Nothing until something is observed: no page is ranked, or all wait for open requests.
    Empty,
}

/// Hands out the best page among the hosts that may be contacted now.
#[derive(Debug)]
pub struct Scheduler<P> {
    policy: P,
    ranking: Ranking,
    calendar: Calendar,
    /// The latest tick seen. A clock that runs backwards is read as standing still.
    latest: Tick,
    /// By page, a bit each: what became of it is known.
    settled: Vec<u64>,
}

/// How many pages share a word.
const WORD: usize = u64::BITS as usize;

impl<P: Policy> Scheduler<P> {
    /// A scheduler that knows no page yet.
    pub fn new(policy: P, politeness: Politeness) -> Self {
        Self {
            policy,
            ranking: Ranking::default(),
            calendar: Calendar::new(politeness),
            latest: Tick(0),
            settled: Vec::new(),
        }
    }

    /// The best page among hosts that may be contacted at `now`: O(log pages).
    pub fn next(&mut self, now: Tick) -> Next {
        let now = self.tick(now);
        self.wake(now);
        if let Some((page, host)) = self.ranking.best_ready() {
            self.ranking.hand_out(page);
            self.calendar.start(host, now);
            self.refresh(host, now);
            return Next::Fetch(page);
        }
        // Whether the host that wakes first has a page to ask for is not looked at: others would have to
        // be searched for one that has. Whoever waits in vain asks again, once for each host at most.
        let host_wakes = self.calendar.next_wake();
        let host_wakes = host_wakes.filter(|_| self.ranking.is_any_queued());
        let wakes = host_wakes.into_iter().chain(self.ranking.next_wake());
        wakes.min().map_or(Next::Empty, Next::WaitUntil)
    }

    /// Lets time pass: hosts and pages whose time has come are there again. It changes no decision, for
    /// both other methods begin with it; it makes states comparable that were asked at different times.
    pub fn pass(&mut self, now: Tick) {
        let now = self.tick(now);
        self.wake(now);
    }

    /// The rank of the page that [`Scheduler::next`] would give now, if it gives one. Like it, this lets time pass.
    pub fn best_ready(&mut self, now: Tick) -> Option<Rank> {
        self.pass(now);
        let (page, _) = self.ranking.best_ready()?;
        Some(self.ranking.rank(page))
    }

    /// Tells the calendar and the policy what happened. `links` answers for pages already fetched,
    /// and for the page of a `Fetched` event too.
    pub fn observe(&mut self, event: &Event<'_>, now: Tick, links: &dyn Links) {
        let now = self.tick(now);
        // So that nothing depends on how often `next` was asked in vain before.
        self.wake(now);
        match *event {
            Event::Discovered { page, host, .. } => {
                self.calendar.know(host);
                self.ranking.know(page, host);
                if page.index() / WORD == self.settled.len() {
                    self.settled.push(0);
                }
            }
            // Nothing was learnt of the page: it is as if it had never been handed out.
            Event::Failed {
                page,
                fault: Fault::Lost,
            } => {
                if self.ranking.give_back(page) {
                    let host = self.ranking.host(page);
                    self.calendar.end(host);
                    self.refresh(host, now);
                }
                return;
            }
            Event::Failed {
                page,
                fault: Fault::Unknown,
            } => self.land(page, now),
            Event::Fetched { page, .. }
            | Event::Failed { page, .. }
            | Event::Moved { page, .. } => {
                self.land(page, now);
                self.settled[page.index() / WORD] |= 1 << (page.index() % WORD);
            }
            Event::Held { host, until } => {
                self.know_host(host);
                self.calendar.hold(host, until);
                self.refresh(host, now);
            }
            Event::Crossed(Crossing::Away { page }) => self.ranking.send_away(page),
            Event::Unseen { .. }
            | Event::Hinted { .. }
            | Event::Crossed(_)
            | Event::Guessed { .. }
            | Event::Round { .. } => {}
        }
        self.policy.observe(event, now, links, &mut self.ranking);
    }

    /// Tells the calendar alone what happened at a host beside its pages.
    pub fn visit(&mut self, host: HostId, visit: Visit, now: Tick) {
        let now = self.tick(now);
        self.know_host(host);
        match visit {
            Visit::Spared => self.calendar.spare(host, now),
            Visit::Opened => self.calendar.start(host, now),
            Visit::Closed => self.calendar.end(host),
        }
        self.refresh(host, now);
    }

    /// Two hosts are served by one address: they are asked as one from now on.
    pub fn join(&mut self, host: HostId, with: HostId, now: Tick) {
        let now = self.tick(now);
        self.know_host(host);
        self.know_host(with);
        self.calendar.join(host, with);
        self.refresh(host, now);
    }

    /// Pages of one host are not handed out before a tick; other hosts at its address are as they
    /// were. For a host whose robots.txt cannot be had: to hold its address would starve the others.
    pub fn shut(&mut self, host: HostId, until: Tick, now: Tick) {
        let now = self.tick(now);
        self.know_host(host);
        self.calendar.shut(host, until);
        self.refresh(host, now);
    }

    /// Every page that no policy ever ranked, and of which nothing is known yet, is queued behind all others,
    /// at rank 0: O(pages). To a policy that moves mass such a page is one without mass, and stays so.
    pub fn queue_rest(&mut self) {
        for page in (0..self.ranking.page_count()).map(PageId::from_index) {
            let settled = self.settled[page.index() / WORD] >> (page.index() % WORD) & 1;
            if settled == 0 && self.ranking.is_unranked(page) {
                self.ranking.queue(page);
            }
        }
    }

    /// Every host that was shut is open again.
    pub fn open_all(&mut self, now: Tick) {
        let now = self.tick(now);
        while let Some(host) = self.calendar.unshut(Tick(u64::MAX)) {
            self.refresh(host, now);
        }
    }

    /// From now on hosts are asked this gently.
    pub fn set_politeness(&mut self, politeness: Politeness) {
        self.calendar.set_politeness(politeness);
    }

    /// The first tick at which a host may be asked, should no request be open.
    pub fn earliest(&self, host: HostId) -> Tick {
        self.calendar.earliest(host)
    }

    /// How long a host and those joined with it rest, whether or not its pages are shut.
    pub fn rests_until(&self, host: HostId) -> Tick {
        self.calendar.rests_until(host)
    }

    /// Whether a host may be asked at `now`.
    pub fn is_free(&self, host: HostId, now: Tick) -> bool {
        self.calendar.free(host, now.max(self.latest))
    }

    /// How many requests are open at a host and those joined with it, pages and others.
    pub fn open_count(&self, host: HostId) -> u32 {
        self.calendar.open_count(host)
    }

    /// The host that stands for a host and those joined with it.
    pub fn unit(&self, host: HostId) -> HostId {
        self.calendar.unit(host)
    }

    /// The account of a shard, where the policy keeps one.
    pub fn shard(&self) -> Option<&dyn Shard> {
        self.policy.report().proof?.shard()
    }

    /// How much of what is not proven lies at a page, where the policy proves.
    pub fn residual(&self, page: PageId) -> Option<u64> {
        self.policy.report().proof?.residual(page, &self.ranking)
    }

    /// What the policy proves of the pages fetched so far.
    pub fn coverage(&self) -> Option<Coverage> {
        self.policy.report().proof.map(Proof::coverage)
    }

    /// The chance with which the policy chose a page that was just handed out.
    pub fn chance(&self, page: PageId) -> Chance {
        self.policy.chance(page, &self.ranking)
    }

    /// How the policy divides its budget, if it does.
    pub fn split(&self) -> Option<Split> {
        self.policy.report().ends?.split()
    }

    /// To which end a page is, or would be, asked for now, where the policy has several.
    pub fn arm(&self, page: PageId) -> Option<Arm> {
        self.policy.report().ends?.arm(page)
    }

    /// The policy, to be asked for its estimates.
    pub fn policy(&self) -> &P {
        &self.policy
    }

    /// The ranks, to be looked at.
    pub fn ranking(&self) -> &Ranking {
        &self.ranking
    }

    /// Pages handed out and not yet come back. After a restart the driver reports each of them as
    /// [`Fault::Lost`](crate::Fault::Lost).
    pub fn in_flight(&self) -> impl Iterator<Item = PageId> + '_ {
        self.ranking.in_flight()
    }

    /// Writes everything that decides: policy, ranks, calendar, pages in flight.
    pub fn save(&self, out: &mut dyn io::Write) -> io::Result<()> {
        out.write_all(&MAGIC)?;
        self.latest.save(out)?;
        self.calendar.save(out)?;
        self.ranking.save(out)?;
        self.settled.save(out)?;
        self.policy.save(out)
    }

    /// Becomes the saved scheduler; the policy must have been made with the same parameters.
    pub fn restore(policy: P, saved: &mut dyn io::Read) -> io::Result<Self> {
        let mut magic = [0; MAGIC.len()];
        saved.read_exact(&mut magic)?;
        if magic != MAGIC {
            return Err(corrupt("not a scheduler of this version"));
        }
        let latest = Restore::restore(saved)?;
        let calendar = Calendar::restore(saved)?;
        let ranking = Ranking::restore(saved)?;
        let settled: Vec<u64> = Restore::restore(saved)?;
        if settled.len() != ranking.page_count().div_ceil(WORD) {
            return Err(corrupt("pages that nobody knows are settled"));
        }
        let mut scheduler = Self {
            policy,
            ranking,
            calendar,
            latest,
            settled,
        };
        for index in 0..scheduler.ranking.host_count() {
            scheduler.calendar.know(HostId::from_index(index));
        }
        scheduler.policy.restore(saved)?;
        Ok(scheduler)
    }

    /// Hosts and pages whose time has come are there again.
    fn wake(&mut self, now: Tick) {
        while let Some(host) = self.calendar.wake(now) {
            self.refresh(host, now);
        }
        while let Some(host) = self.calendar.unshut(now) {
            self.refresh(host, now);
        }
        self.ranking.wake(now);
    }

    fn land(&mut self, page: PageId, now: Tick) {
        if self.ranking.land(page) {
            let host = self.ranking.host(page);
            self.calendar.end(host);
            self.refresh(host, now);
        }
    }

    fn know_host(&mut self, host: HostId) {
        self.calendar.know(host);
        self.ranking.know_host(host);
    }

    /// Tells the ranking whether a host, and those joined with it, may be contacted.
    fn refresh(&mut self, host: HostId, now: Tick) {
        let free = self.calendar.free(host, now);
        for host in self.calendar.group(host) {
            let open = free && !self.calendar.is_shut(host, now);
            self.ranking.set_open(host, open);
        }
    }

    fn tick(&mut self, now: Tick) -> Tick {
        self.latest = self.latest.max(now);
        self.latest
    }
}
