//! A shard of a crawl, among others of the same process.
//!
//! Each shard is a crawl with a ledger, a loop and an owner of its own. What belongs to others leaves by
//! entries of its journal; once these are durable the loop puts the same bytes into the others' mailboxes,
//! where they are reports like any other. Budgets, the goal and the end are those of all together
//! ([`Joint`]); it is asked, never waited for, so an owner does not hold up another.
//!
//! Nothing that a kill must not lose is kept here: what was sent and received stands in the journals, and
//! [`join`] works out from both what is still to be carried.
//!
//! Hosts of several shards at one address are asked one at a time ([`Places`]); connections are shared too,
//! so that a crawl of many shards opens no more than one in one piece.

use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::mpsc;
use turnstone_cluster::Shard;
use turnstone_cluster::channel::Admission;
use turnstone_fetch::traps;
use turnstone_frontier::{Coverage, HostId, Policy, Tick};
use turnstone_ledger::{Allowance, CrossError, Joint, Ledger, LedgerError, Spent, Standing};
use turnstone_pagestore::{Position, StoreError};

use crate::asker::{AskError, Asker, Turned};
use crate::places::Places;
use crate::receive::Report;
use crate::run::{Crawl, CrawlError};

/// Less than this is not worth a transfer: about 10⁻⁹ of all mass.
const SENT_MIN: u128 = (Coverage::ONE >> 30) as u128;
/// How long mass is gathered before it is sent, while there is other work, or for so many fetches; so many pages
/// that hold some make it a millisecond longer, for each is looked at.
const GATHER_MS: u64 = 1_000;
const GATHER_FETCHES: u64 = 32;
const GATHER_PAGES: usize = 100;
/// What is less than one of so many parts of what pages are worth that are asked for now is gathered longer.
const SMALL_SHARE: u64 = 30;
/// How long that is, or for how many fetches.
const GATHER_SMALL_MS: u64 = 10_000;
const GATHER_SMALL_FETCHES: u64 = 320;
/// When a shard that waits for what others are allowed asks again.
const ASK_AGAIN_MS: u64 = 20;

/// The place of a shard among the others.
pub(crate) struct Member {
    pub(crate) shard: usize,
    joint: Arc<Mutex<Joint>>,
    /// When mass was last sent, and when all of it.
    sent: Tick,
    sent_all: Tick,
    /// How many fetches there were then, and then.
    sent_fetches: u64,
    sent_all_fetches: u64,
    /// What others are told that is no transfer, by shard.
    pub(crate) letters: Vec<(usize, Report)>,
    /// Who is where, if hosts at one address are asked as one.
    places: Option<Arc<Mutex<Places>>>,
    time: CommonTime,
    /// Whose requests ended, while it is worked out how long they rest.
    ended: Vec<HostId>,
    /// Where it stood at the end of its last turn.
    pub(crate) standing: Standing,
}

impl Member {
    pub(crate) fn new(
        shard: usize,
        joint: Arc<Mutex<Joint>>,
        places: Option<Arc<Mutex<Places>>>,
        time: CommonTime,
    ) -> Self {
        Self {
            shard,
            joint,
            sent: Tick(0),
            sent_all: Tick(0),
            sent_fetches: 0,
            sent_all_fetches: 0,
            letters: Vec::new(),
            places,
            time,
            ended: Vec::new(),
            standing: Standing::default(),
        }
    }

    /// Whether this process has a shard.
    pub(crate) fn is_here(&self, shard: u32) -> bool {
        self.joint().here(shard as usize)
    }

    /// Whether other processes have shards of the crawl too.
    pub(crate) fn is_of_cluster(&self) -> bool {
        self.joint().is_cluster()
    }

    fn joint(&self) -> MutexGuard<'_, Joint> {
        // Whatever panicked, the statements are whole.
        self.joint.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn places(&self) -> Option<MutexGuard<'_, Places>> {
        let places = self.places.as_ref()?;
        Some(places.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// From the ticks of a shard to those that all shards of the process count, and back: each clock goes on from
/// its own journal.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CommonTime {
    /// A tick of this shard, and the common time then.
    pub(crate) began: Tick,
    pub(crate) common: u64,
    /// How far two clocks may be apart, for they cannot be read at once.
    pub(crate) slack: u64,
}

impl CommonTime {
    fn of(self, tick: Tick) -> u64 {
        (self.common + tick.0).saturating_sub(self.began.0)
    }

    /// Others rest this long: never shorter.
    fn rest(self, until: Tick) -> u64 {
        self.of(until).saturating_add(self.slack)
    }

    fn tick(self, common: u64) -> Tick {
        Tick((self.began.0 + common).saturating_sub(self.common))
    }
}

/// Where the loop of a shard puts what is for others.
pub(crate) struct Post {
    /// By shard.
    mailboxes: Vec<mpsc::UnboundedSender<Report>>,
    /// By shard: the number of the last transfer that was put there.
    carried: Vec<u64>,
    me: usize,
}

impl Post {
    /// Carries every transfer that is durable.
    pub(crate) fn carry<P: Policy>(
        &mut self,
        ledger: &Ledger<P>,
        durable: Position,
    ) -> Result<(), StoreError> {
        for (to, mailbox) in self.mailboxes.iter().enumerate() {
            let lane = ledger.lane_of(shard(to));
            while to != self.me
                && let Some(bytes) = ledger.transfer(lane, self.carried[to] + 1, durable)?
            {
                self.carried[to] += 1;
                // When nobody listens any more it is carried by the next process.
                let _ = mailbox.send(Report::Transfer(bytes));
            }
        }
        Ok(())
    }

    /// Puts letters into the others' mailboxes.
    pub(crate) fn put(&self, letters: Vec<(usize, Report)>) {
        for (to, letter) in letters {
            // Whoever listens no more has ended, and so will this one.
            if let Err(unread) = self.mailboxes[to].send(letter)
                && let Report::Lent(lent) = unread.0
            {
                let _ = self.mailboxes[self.me].send(lent.undone());
            }
        }
    }

    /// Whether something was sent that is not durable yet.
    pub(crate) fn has_more<P: Policy>(&self, ledger: &Ledger<P>) -> bool {
        let Some(crossings) = ledger.crossings() else {
            return false;
        };
        let others = (0..self.carried.len()).filter(|to| *to != self.me);
        others
            .into_iter()
            .any(|to| crossings.outbox().number(ledger.lane_of(shard(to))) > self.carried[to])
    }
}

pub(crate) fn shard(index: usize) -> Shard {
    Shard(u32::try_from(index).expect("there are few shards"))
}

/// Joins the shards of one crawl, all of them, in order: from now on they exchange mass and share budgets, goal
/// and end. Refused where their journals do not fit each other.
pub fn join<P: Policy>(crawls: &mut [Crawl<P>]) -> Result<(), CrawlError> {
    let refused = |error: LedgerError| CrawlError::from(AskError::from(error));
    let count = crawls.len();
    for (index, crawl) in crawls.iter().enumerate() {
        let crossings = crawl.asker.ledger.crossings();
        let fits =
            crossings.is_some_and(|it| it.me() == shard(index) && it.shards() as usize == count);
        if !fits {
            return Err(refused(CrossError::Whole.into()));
        }
        for (_, other) in crawls.iter().enumerate().filter(|(to, _)| *to != index) {
            crawl
                .asker
                .ledger
                .check_pair(&other.asker.ledger)
                .map_err(refused)?;
        }
    }
    let Some(first) = crawls.first() else {
        return Ok(());
    };
    let joint = Joint::new(count, first.asker.plan.connections);
    let joint = Arc::new(Mutex::new(joint));
    let before = first.clock.now();
    let began: Vec<Tick> = crawls.iter().map(|crawl| crawl.clock.now()).collect();
    // A tick for each of the two that are rounded.
    let slack = first.clock.now().0 - before.0 + 2;
    let times = began.into_iter().map(|began| CommonTime {
        began,
        common: 0,
        slack,
    });
    let times: Vec<CommonTime> = times.collect();
    let mut places = Places::default();
    for (shard, (crawl, time)) in crawls.iter().zip(&times).enumerate() {
        remember_rests(&crawl.asker, shard, *time, &mut places);
    }
    let places = first
        .asker
        .plan
        .per_address
        .then(|| Arc::new(Mutex::new(places)));
    let mailboxes: Vec<_> = crawls.iter().map(Crawl::mailbox).collect();
    let applied = |crawl: &Crawl<P>, from: usize| {
        let crossings = crawl.asker.ledger.crossings();
        crossings.map_or(0, |it| it.inbox().known(shard(from)).number)
    };
    let carried: Vec<Vec<u64>> = (0..count)
        .map(|from| crawls.iter().map(|to| applied(to, from)).collect())
        .collect();
    for ((index, crawl), carried) in crawls.iter_mut().enumerate().zip(carried) {
        crawl.post = Some(Post {
            mailboxes: mailboxes.clone(),
            carried,
            me: index,
        });
        let member = Member::new(index, joint.clone(), places.clone(), times[index]);
        crawl.asker.member = Some(member);
        crawl.asker.stand(false, false);
    }
    Ok(())
}

/// How long the addresses rest yet where this shard asked before this process.
pub(crate) fn remember_rests<P: Policy>(
    asker: &Asker<P>,
    shard: usize,
    time: CommonTime,
    places: &mut Places,
) {
    for (address, host) in asker.ledger.addresses() {
        let until = asker.ledger.scheduler().rests_until(host);
        if until > time.began
            && let Some(address) = ip(address)
        {
            places.rests(shard, address, time.rest(until));
        }
    }
}

/// An address as the journal has it.
fn ip(bytes: &[u8]) -> Option<IpAddr> {
    match bytes.len() {
        4 => <[u8; 4]>::try_from(bytes).ok().map(IpAddr::from),
        _ => <[u8; 16]>::try_from(bytes).ok().map(IpAddr::from),
    }
}

impl<P: Policy> Asker<P> {
    /// Whether a request may be sent to a host, for all that other shards do at its address; else when to ask
    /// again. From then on it counts as open.
    pub(crate) fn ask_place(&mut self, host: HostId, delay_ms: u64) -> Result<(), Tick> {
        let Some(member) = &self.member else {
            return Ok(());
        };
        let Some(mut places) = member.places() else {
            return Ok(());
        };
        let now = member.time.of(self.now);
        let asked = places.ask(member.shard, host, now, delay_ms);
        asked.map_err(|until| member.time.tick(until).max(self.now.plus(1)))
    }

    /// A request ended, or is not sent after all: its place is free once the report is taken in.
    pub(crate) fn leave_place(&mut self, host: HostId) {
        if let Some(member) = self.member.as_mut().filter(|it| it.places.is_some()) {
            member.ended.push(host);
        }
    }

    /// Frees the places of requests that ended, for when their hosts have rested.
    pub(crate) fn free_places(&mut self) {
        let Some(member) = &mut self.member else {
            return;
        };
        for host in std::mem::take(&mut member.ended) {
            let until = self.ledger.scheduler().rests_until(host);
            let until = member.time.rest(until);
            if let Some(mut places) = member.places() {
                places.closed(member.shard, host, until);
            }
        }
    }

    /// A host was met at addresses.
    pub(crate) fn found_place(&self, host: HostId, addresses: &[IpAddr]) {
        if let Some(member) = &self.member
            && let Some(mut places) = member.places()
        {
            places.found(member.shard, host, addresses);
        }
    }

    /// Whether one more page may be handed out.
    pub(crate) fn may_hand_out(&mut self) -> Allowance {
        let best = match self.member {
            Some(_) => self.ledger.best_ready(self.now),
            None => None,
        };
        let (own, budget) = (self.spent(), &self.budget);
        self.allowed(
            own,
            |joint, shard| joint.page(shard, own, best, budget),
            |own| budget.page(own),
        )
    }

    /// Whether one more request may be sent.
    pub(crate) fn may_send(&self) -> Allowance {
        let (own, budget) = (self.spent(), &self.budget);
        self.allowed(
            own,
            |joint, shard| joint.request(shard, own, budget),
            |own| budget.request(own),
        )
    }

    fn allowed(
        &self,
        own: Spent,
        all: impl FnOnce(&mut Joint, usize) -> Allowance,
        alone: impl FnOnce(Spent) -> Allowance,
    ) -> Allowance {
        let Some(member) = &self.member else {
            return alone(own);
        };
        match all(&mut member.joint(), member.shard) {
            // What others have under way wakes nobody here.
            Allowance::Wait => Allowance::WaitUntil(self.now.plus(ASK_AGAIN_MS)),
            other => other,
        }
    }

    /// What is proven: by all shards together, where this is one.
    pub(crate) fn coverage(&self) -> Option<Coverage> {
        let own = self.ledger.coverage()?;
        match &self.member {
            None => Some(own),
            Some(member) => Some(member.joint().coverage(own.goal).unwrap_or(Coverage {
                goal: own.goal,
                ..Coverage::default()
            })),
        }
    }

    /// Requests sent: by all shards together, where this is one.
    pub(crate) fn requests_of_all(&self) -> u64 {
        let own = self.spent().requests;
        let all = self.member.as_ref().and_then(|it| it.joint().spent());
        all.map_or(own, |all| all.requests)
    }

    /// The end of one shard is that of all, and the other way round.
    pub(crate) fn share_end(&mut self) {
        if let Some(member) = &self.member {
            let mut joint = member.joint();
            if joint.is_cluster() {
                // One shard may be given to another process, and the others go on.
                self.stop = self.stop.or(joint.stopped());
                return;
            }
            if let Some(why) = self.stop {
                joint.end(why);
            }
            self.stop = joint.stopped();
        }
    }

    /// Ends a turn of a shard: sends what belongs to others and says where it stands. `wake` and `idle` are
    /// what they are to a crawl by itself.
    pub(crate) fn turn_shard(&mut self, turned: Turned, idle: bool) -> Result<Turned, AskError> {
        let unreachable = match turned.wake {
            Some(wake) if idle => self.nobody_answers(wake).is_some(),
            _ => false,
        };
        let done = idle && (turned.wake.is_none() || unreachable);
        if done && unreachable && self.rank_more() {
            let wake = Some(self.now.plus(1));
            return Ok(Turned { wake, ..turned });
        }
        if self.has_to_send()
            && let Some(least) = self.worth_sending(done)
        {
            self.ledger.send(self.now, least)?;
            let fetches = self.ledger.index().tally().fetches;
            if let Some(member) = &mut self.member {
                member.sent = self.now;
                member.sent_fetches = fetches;
                if least == 0 {
                    member.sent_all = self.now;
                    member.sent_all_fetches = fetches;
                }
            }
        }
        self.stand(done, unreachable);
        if let Some(member) = &self.member {
            let mut joint = member.joint();
            if let Some(why) = joint.exhausted() {
                joint.end(why);
            }
        }
        self.share_end();
        Ok(turned)
    }

    /// What a page must hold to be sent now, if it is time to send.
    fn worth_sending(&self, done: bool) -> Option<u64> {
        let member = self.member.as_ref()?;
        let fetches = self.ledger.index().tally().fetches;
        let passed = |since: Tick, ms: u64| since.plus(ms) <= self.now;
        let all = if done {
            // What goes round between those who are done need not be gathered once all are.
            passed(member.sent_all, GATHER_MS) || member.joint().others_done(member.shard)
        } else {
            passed(member.sent_all, GATHER_SMALL_MS)
                || fetches - member.sent_all_fetches >= GATHER_SMALL_FETCHES
        };
        if all {
            return Some(0);
        }
        let pages = self.ledger.scheduler().ranking().away().size_hint().0;
        let longer = (pages / GATHER_PAGES) as u64;
        let many = fetches - member.sent_fetches >= GATHER_FETCHES;
        let wait = if many || done {
            longer
        } else {
            GATHER_MS + longer
        };
        let due = passed(member.sent, wait);
        due.then(|| (member.joint().worth() / SMALL_SHARE).max(1))
    }

    fn has_to_send(&self) -> bool {
        let news = self.ledger.crossings().is_some_and(|it| it.has_news());
        news || self.ledger.scheduler().ranking().away_total() > SENT_MIN
    }

    /// Says where this shard stands.
    pub(crate) fn stand(&mut self, done: bool, unreachable: bool) {
        let idle = done && !self.has_to_send();
        let best = self.ledger.best_ready(self.now);
        let (Some(_), Some(crossings)) = (&self.member, self.ledger.crossings()) else {
            return;
        };
        let others = 0..crossings.shards();
        let sent = |to: u32| crossings.outbox().number(self.ledger.lane_of(Shard(to)));
        let received = |from: u32| crossings.inbox().known(Shard(from)).number;
        let standing = Standing {
            spent: self.spent(),
            masses: self.ledger.masses().unwrap_or_default(),
            best,
            done,
            idle,
            unreachable,
            sent: others.clone().map(sent).collect(),
            received: others.map(received).collect(),
        };
        let Some(member) = &mut self.member else {
            return;
        };
        member.standing = standing.clone();
        member.joint().state(member.shard, standing);
    }

    /// A transfer of another shard came.
    pub(crate) fn transferred(&mut self, bytes: &[u8]) -> Result<(), AskError> {
        let (now_s, options) = (self.now_s(), self.plan.traps.clone());
        let judge = |url: &turnstone_fetch::Url| {
            let finding = traps::judge(url, now_s, &options)?;
            let trap = finding.class == traps::TrapClass::Trap;
            trap.then(|| ("trap".to_owned(), format!("trap: {}", finding.rule)))
        };
        let admission = self.ledger.receive(self.now, bytes, judge)?;
        let refused = match admission {
            Admission::Apply(_) | Admission::Skip => return Ok(()),
            Admission::Gap { need } => CrossError::Missing { need },
            Admission::Alarm(alarm) => alarm.into(),
        };
        Err(LedgerError::from(refused).into())
    }
}
