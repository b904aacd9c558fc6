//! The lender: pages lent to other crawlers, which fetch them.
//!
//! Beside the [`Scheduler`](crate::Scheduler), which hands out one page at a time and learns what came of each.
//! Another crawler takes several pages of a host at once, says when it wants a page again, and may vanish. So
//! a page is lent *until a time*: a loan that is not settled by then ends, and the page is where it was. No
//! entry is needed for that, because time passes for whoever folds the journal too.
//!
//! Who is next: without a policy the page that is due longest, whatever its host. That needs no memory beyond the
//! ranking, because the date *is* the rank. With a policy its ranks decide among the pages that are due;
//! dates of pages that are not due are kept beside, 40 bytes each. A policy is told what the crawlers told.
//!
//! A host is lent from when it has rested since it was lent from last, is not blocked, and has fewer completed pages
//! than its limit and fewer loans than the caller asks for. Rests are whole seconds, and strict, as the
//! URLFrontier protocol wants them: never shorter than asked, up to a second longer.
//!
//! Cost: O(log pages + log hosts) a page lent or settled; the ranking's 20 bytes a page, 1 bit, 64 bytes a host.
//! Invariant: no page is lent twice at a time, and no host before it has rested, whatever the policy ranks.

use std::collections::{BTreeMap, BTreeSet};

use crate::calendar::Tick;
use crate::event::{Event, Fault};
use crate::id::{HostId, PageId};
use crate::policy::{Links, Policy};
use crate::ranking::{Place, Ranking};

const WORD: usize = u64::BITS as usize;

/// What is known of one host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Queue {
    /// When it was lent from last.
    served: Option<Tick>,
    /// How many seconds it rests, if not as long as others.
    delay_s: Option<u32>,
    /// Nothing of it is lent before this.
    blocked_until: Tick,
    /// When it was put to sleep until, if it sleeps.
    wakes: Option<Tick>,
    /// Nothing is lent once so many pages are completed; 0 for no limit.
    limit: u32,
    /// Pages that are to be fetched now or later, those that are lent included.
    pub scheduled: u32,
    /// Pages that are not to be fetched again.
    pub completed: u32,
    /// Pages that are lent now.
    pub lent: u32,
    /// As many are lent as the last caller wanted.
    full: bool,
    /// It has pages, or had some and was not deleted since.
    is_there: bool,
}

impl Queue {
    /// Whether nothing of it is lent for a while because somebody said so.
    pub fn is_blocked(&self, now: Tick) -> bool {
        self.blocked_until > now
    }
}

/// What a caller wants.
#[derive(Clone, Copy, Debug)]
pub struct Wish {
    /// Now.
    pub now: Tick,
    /// When the loan ends.
    pub until: Tick,
    /// The most pages.
    pub pages_max: u32,
    /// The most pages of one host, and one more than may be lent of it before.
    pub loans_max: u32,
    /// Only this host.
    pub only: Option<HostId>,
}

/// Lends pages.
#[derive(Debug)]
pub struct Lender<P> {
    policy: Option<P>,
    ranking: Ranking,
    queues: Vec<Queue>,
    delay_s: u32,
    /// The wall clock at tick 0, in milliseconds of 1970: pages are due by dates.
    epoch_ms: u64,
    asleep: BTreeSet<(Tick, HostId)>,
    /// Hosts with as many loans as the last caller wanted, by their number.
    full: BTreeSet<(u32, HostId)>,
    loans: BTreeMap<PageId, Tick>,
    ends: BTreeSet<(Tick, PageId)>,
    /// By page, a bit each: it is not to be lent again.
    done: Vec<u64>,
    /// With a policy: the pages that are not due yet, by date, and the dates.
    later: BTreeSet<(u64, PageId)>,
    dates: BTreeMap<PageId, u64>,
    latest: Tick,
}

impl<P: Policy> Lender<P> {
    /// A lender that knows no page yet. Hosts rest so many seconds; tick 0 was at `epoch_ms` of 1970.
    pub fn new(policy: Option<P>, delay_s: u32, epoch_ms: u64) -> Self {
        Self {
            policy,
            ranking: Ranking::default(),
            queues: Vec::new(),
            delay_s,
            epoch_ms,
            asleep: BTreeSet::new(),
            full: BTreeSet::new(),
            loans: BTreeMap::new(),
            ends: BTreeSet::new(),
            done: Vec::new(),
            later: BTreeSet::new(),
            dates: BTreeMap::new(),
            latest: Tick(0),
        }
    }

    /// A page is known from now on, and due at a date.
    pub fn discover(
        &mut self,
        (page, host, seed): (PageId, HostId, bool),
        due_s: u64,
        now: Tick,
        links: &dyn Links,
    ) {
        self.pass(now);
        self.ranking.know(page, host);
        if self.queues.len() <= host.index() {
            self.queues.resize(host.index() + 1, Queue::default());
        }
        if page.index() / WORD == self.done.len() {
            self.done.push(0);
        }
        let queue = &mut self.queues[host.index()];
        queue.scheduled += 1;
        queue.is_there = true;
        match &mut self.policy {
            None => self.ranking.set(page, rank_of(due_s)),
            Some(policy) => {
                let event = Event::Discovered { page, host, seed };
                policy.observe(&event, now, links, &mut self.ranking);
                // A page that the policy does not rank is lent behind all others.
                if self.ranking.place(page) == Place::Absent {
                    self.ranking.queue(page);
                }
            }
        }
    }

    /// A crawler told what came of a page (the policy hears the events), and when it wants the page again; never, if
    /// it does not say. If the page was lent, it is not any more.
    pub fn settle(
        &mut self,
        page: PageId,
        due_s: Option<u64>,
        events: [Option<&Event<'_>>; 2],
        now: Tick,
        links: &dyn Links,
    ) {
        self.pass(now);
        self.end_loan(page);
        let was_done = self.is_done(page);
        self.set_done(page, due_s.is_none());
        let host = self.ranking.host(page);
        let queue = &mut self.queues[host.index()];
        match (was_done, due_s) {
            (false, None) => {
                queue.scheduled -= 1;
                queue.completed += 1;
            }
            (true, Some(_)) => {
                queue.completed -= 1;
                queue.scheduled += 1;
            }
            (true, None) | (false, Some(_)) => {}
        }
        if queue.limit > 0 {
            self.refresh(host);
        }
        if self.policy.is_none() {
            self.ranking.take(page);
            if let Some(due_s) = due_s {
                self.ranking.set(page, rank_of(due_s));
            }
            return;
        }
        self.ranking.land(page);
        for event in events.into_iter().flatten() {
            if let Some(policy) = &mut self.policy {
                policy.observe(event, now, links, &mut self.ranking);
            }
        }
        // When it is lent again is for the crawler to say, and what it is worth then for the policy.
        if self.ranking.place(page) == Place::Queued {
            self.ranking.park(page);
        }
        self.undate(page);
        if let Some(due_s) = due_s {
            self.dates.insert(page, due_s);
            self.later.insert((due_s, page));
        }
    }

    /// A page is as if it had never been known.
    pub fn forget(&mut self, page: PageId, now: Tick, links: &dyn Links) {
        self.pass(now);
        self.end_loan(page);
        let queue = &mut self.queues[self.ranking.host(page).index()];
        match self.done[page.index() / WORD] >> (page.index() % WORD) & 1 {
            0 => queue.scheduled -= 1,
            _ => queue.completed -= 1,
        }
        self.set_done(page, true);
        self.undate(page);
        let Some(policy) = &mut self.policy else {
            self.ranking.take(page);
            return;
        };
        self.ranking.land(page);
        let fault = Fault::Gone;
        let event = Event::Failed { page, fault };
        policy.observe(&event, now, links, &mut self.ranking);
    }

    /// Lends from the host whose page is next, of those that may be lent from. The pages are appended; what
    /// was lent must be written down before anybody is given it.
    pub fn lend(&mut self, wish: &Wish, pages: &mut Vec<PageId>) -> Option<HostId> {
        self.pass(wish.now);
        self.reopen(wish.loans_max);
        let host = match wish.only {
            Some(host) => Some(host).filter(|host| self.may_be_lent(*host, wish)),
            None => self.next_host(wish),
        }?;
        let now_s = self.now_s();
        let from = pages.len();
        let most = wish.pages_max.min(wish.loans_max) as usize;
        while pages.len() - from < most {
            let Some((page, rank)) = self.ranking.best_of(host) else {
                break;
            };
            if self.is_done(page) {
                self.ranking.shelve(page);
                continue;
            }
            if self.policy.is_none() && date_of(rank) > now_s {
                break;
            }
            self.begin_loan(page, wish.until);
            pages.push(page);
        }
        if pages.len() == from {
            return None;
        }
        self.served(host, wish.now);
        Some(host)
    }

    /// Lends again what the journal says was lent.
    pub fn lend_again(&mut self, now: Tick, until: Tick, pages: &[PageId]) {
        self.pass(now);
        for page in pages {
            if !self.loans.contains_key(page) {
                self.undate(*page);
                self.ranking.queue(*page);
                self.begin_loan(*page, until);
            }
        }
        if let Some(page) = pages.first() {
            self.served(self.ranking.host(*page), now);
        }
    }

    /// Loans end whose time has come, and hosts wake that have rested.
    pub fn pass(&mut self, now: Tick) {
        self.latest = self.latest.max(now);
        let (now, now_s) = (self.latest, self.now_s());
        while let Some(&(_, page)) = self.later.first().filter(|(date, _)| *date <= now_s) {
            self.undate(page);
            self.ranking.queue(page);
        }
        while let Some(&(until, page)) = self.ends.first().filter(|(until, _)| *until <= now) {
            self.ends.remove(&(until, page));
            self.end_loan(page);
            if !self.is_done(page) {
                self.ranking.queue(page);
            }
        }
        while let Some(&(wakes, host)) = self.asleep.first().filter(|(wakes, _)| *wakes <= now) {
            self.asleep.remove(&(wakes, host));
            self.queues[host.index()].wakes = None;
            self.refresh(host);
        }
    }

    /// Every host rests as if it had been lent from now.
    pub fn rest_all(&mut self, now: Tick) {
        self.pass(now);
        for host in (0..self.queues.len()).map(HostId::from_index) {
            self.served(host, now);
        }
    }

    /// How long hosts rest that have no rest of their own.
    pub fn set_delay(&mut self, delay_s: u32) {
        self.delay_s = delay_s;
        for index in 0..self.queues.len() {
            let Queue {
                served, delay_s, ..
            } = self.queues[index];
            if served.is_some() && delay_s.is_none() {
                self.refresh(HostId::from_index(index));
            }
        }
    }

    /// How long one host rests.
    pub fn set_delay_of(&mut self, host: HostId, delay_s: u32) {
        self.queues[host.index()].delay_s = Some(delay_s);
        self.refresh(host);
    }

    /// Nothing of a host is lent before a tick; what was said before is taken back.
    pub fn block(&mut self, host: HostId, until: Tick) {
        self.queues[host.index()].blocked_until = until;
        self.refresh(host);
    }

    /// Nothing of a host is lent once so many pages are completed; 0 for no limit.
    pub fn limit(&mut self, host: HostId, pages: u32) {
        self.queues[host.index()].limit = pages;
        self.refresh(host);
    }

    /// A host was deleted with all its pages, which were forgotten before.
    pub fn delete(&mut self, host: HostId) {
        let Queue {
            wakes, lent, full, ..
        } = self.queues[host.index()];
        if full {
            self.full.remove(&(lent, host));
        }
        self.queues[host.index()] = Queue {
            wakes,
            ..Queue::default()
        };
        self.refresh(host);
    }

    /// What is known of a host; nothing before its first page.
    pub fn queue(&self, host: HostId) -> Option<&Queue> {
        let queue = self.queues.get(host.index());
        queue.filter(|queue| queue.is_there)
    }

    /// Every host that has pages, or had some and was not deleted.
    pub fn queues(&self) -> impl Iterator<Item = (HostId, &Queue)> + '_ {
        let queues = self.queues.iter().enumerate();
        let all = queues.map(|(index, queue)| (HostId::from_index(index), queue));
        all.filter(|(_, queue)| queue.is_there)
    }

    /// The host of a page.
    pub fn host(&self, page: PageId) -> HostId {
        self.ranking.host(page)
    }

    /// Whether a page is not to be lent again: it is completed or forgotten.
    pub fn is_done(&self, page: PageId) -> bool {
        self.done[page.index() / WORD] >> (page.index() % WORD) & 1 == 1
    }

    /// How many pages are lent now.
    pub fn loan_count(&self) -> usize {
        self.loans.len()
    }

    /// The wall clock at tick 0, in milliseconds of 1970.
    pub fn epoch_ms(&self) -> u64 {
        self.epoch_ms
    }

    /// A tick in seconds of 1970.
    pub fn seconds(&self, tick: Tick) -> u64 {
        (self.epoch_ms + tick.0) / 1000
    }

    /// The latest tick it was told.
    pub fn latest(&self) -> Tick {
        self.latest
    }

    /// The bytes that all this takes for pages, as allocated.
    pub fn allocated_bytes(&self) -> usize {
        self.ranking.allocated_bytes() + self.done.capacity() * size_of::<u64>()
    }

    /// The host whose best page is best, of those that may be lent from.
    fn next_host(&mut self, wish: &Wish) -> Option<HostId> {
        loop {
            let (page, host) = self.ranking.best_ready()?;
            if self.is_done(page) {
                self.ranking.shelve(page);
                continue;
            }
            // Dates are ranks: if the best page is not due, none is.
            if self.policy.is_none() && date_of(self.ranking.rank(page)) > self.now_s() {
                return None;
            }
            let queue = &mut self.queues[host.index()];
            if queue.lent < wish.loans_max {
                return Some(host);
            }
            queue.full = true;
            self.full.insert((queue.lent, host));
            self.ranking.set_open(host, false);
        }
    }

    fn may_be_lent(&self, host: HostId, wish: &Wish) -> bool {
        let queue = &self.queues[host.index()];
        queue.lent < wish.loans_max && self.wakes_at(queue) <= self.latest && !is_at_limit(queue)
    }

    /// Hosts are open again that have fewer loans than this caller wants.
    fn reopen(&mut self, loans_max: u32) {
        while let Some(&(lent, host)) = self.full.first().filter(|(lent, _)| *lent < loans_max) {
            self.full.remove(&(lent, host));
            self.queues[host.index()].full = false;
            self.refresh(host);
        }
    }

    fn begin_loan(&mut self, page: PageId, until: Tick) {
        self.ranking.hand_out(page);
        self.loans.insert(page, until);
        self.ends.insert((until, page));
        self.count_loans(page, 1);
    }

    /// If a page is lent, it is not any more; where it goes is for the caller to say.
    fn end_loan(&mut self, page: PageId) {
        if let Some(until) = self.loans.remove(&page) {
            self.ends.remove(&(until, page));
            self.count_loans(page, -1);
        }
    }

    fn count_loans(&mut self, page: PageId, by: i32) {
        let host = self.ranking.host(page);
        let queue = &mut self.queues[host.index()];
        let before = queue.lent;
        queue.lent = before.checked_add_signed(by).expect("what ends was lent");
        if queue.full {
            self.full.remove(&(before, host));
            self.full.insert((queue.lent, host));
        }
    }

    fn served(&mut self, host: HostId, now: Tick) {
        self.queues[host.index()].served = Some(now);
        self.refresh(host);
    }

    /// The first tick at which a host may be lent from, limits and loans apart.
    fn wakes_at(&self, queue: &Queue) -> Tick {
        let delay_s = u64::from(queue.delay_s.unwrap_or(self.delay_s));
        let rested = queue.served.map_or(Tick(0), |served| {
            Tick((served.0 / 1000 + delay_s + 1).saturating_mul(1000))
        });
        rested.max(queue.blocked_until)
    }

    /// Tells the ranking whether a host may be lent from.
    fn refresh(&mut self, host: HostId) {
        self.ranking.know_host(host);
        let wakes_at = self.wakes_at(&self.queues[host.index()]);
        let queue = &mut self.queues[host.index()];
        if let Some(before) = queue.wakes.take() {
            self.asleep.remove(&(before, host));
        }
        if wakes_at > self.latest {
            queue.wakes = Some(wakes_at);
            self.asleep.insert((wakes_at, host));
        }
        let open = queue.wakes.is_none() && !queue.full && !is_at_limit(queue);
        self.ranking.set_open(host, open);
    }

    /// Forgets when a page is due.
    fn undate(&mut self, page: PageId) {
        if let Some(before) = self.dates.remove(&page) {
            self.later.remove(&(before, page));
        }
    }

    fn now_s(&self) -> u64 {
        self.seconds(self.latest)
    }

    fn set_done(&mut self, page: PageId, done: bool) {
        let (word, bit) = (&mut self.done[page.index() / WORD], page.index() % WORD);
        *word = *word & !(1 << bit) | u64::from(done) << bit;
    }
}

fn is_at_limit(queue: &Queue) -> bool {
    queue.limit > 0 && queue.completed >= queue.limit
}

/// Older is sooner.
fn rank_of(due_s: u64) -> u64 {
    u64::MAX - due_s
}

fn date_of(rank: u64) -> u64 {
    u64::MAX - rank
}
