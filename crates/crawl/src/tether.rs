//! What ties a shard's loop to a node: one process among several that have the shards of a crawl.
//!
//! The loop is that of any crawl. What differs: a request is sent once its hand-out is *durable in the cluster*, not
//! once it is written here, and only while the node holds the shard's lease; transfers come from the node and leave by
//! it, read from the journal; what others stated is told by the node. So the loop says two things, how far its
//! journal is on this disk and where it stands ([`Word`]), and hears two, how far it is durable and which wave of
//! statements is asked for ([`Heard`]).
//!
//! [`Household`] is what all shards of a node have in common: the joint, the book of places, mailboxes, a clock.

use std::collections::VecDeque;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{mpsc, watch};
use turnstone_cluster::bus::Address;
use turnstone_fetch::Permit;
use turnstone_frontier::{Coverage, Policy};
use turnstone_ledger::{Joint, Limits, Spent, Standing};
use turnstone_pagestore::{Index, PageState, Position};

use crate::clock::Clock;
use crate::hand_out::Job;
use crate::places::Places;
use crate::receive::Report;
use crate::run::Crawl;
use crate::shard::{CommonTime, Member, remember_rests};

/// Where one shard stands, at a position of its journal.
#[derive(Clone, Debug)]
pub struct Said {
    /// The position.
    pub at: Position,
    /// The wave that had been asked for.
    pub wave: u64,
    /// Where it stands.
    pub standing: Standing,
    /// By shard: all mass sent there.
    pub sent: Vec<u128>,
    /// By shard: all mass received from there.
    pub received: Vec<u128>,
    /// What it has done, for people: see [`Figures`].
    pub figures: Figures,
}

/// What a shard has done, as it is told beyond its process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Figures {
    /// Pages stored.
    pub pages: u64,
    /// Pages known.
    pub known: u64,
    /// Pages that are still to be asked for.
    pub waiting: u64,
    /// Pages that are not there.
    pub gone: u64,
    /// Pages that may not be asked for, or were denied.
    pub refused: u64,
    /// Requests sent.
    pub requests: u64,
    /// Bytes of bodies received.
    pub bytes: u64,
    /// Pages that count for the budget.
    pub spent_pages: u64,
    /// What is left is at hosts that do not answer: 1.
    pub unreachable: u64,
    /// Bodies that are on no machine of the cluster any more.
    pub bodies_lost: u64,
    /// The wall clock when it was said, in milliseconds of 1970.
    pub wall_ms: u64,
}

impl Figures {
    fn of(index: &Index, standing: &Standing, wall_ms: u64) -> Self {
        let waiting = [PageState::Waiting, PageState::InFlight, PageState::Unknown];
        Self {
            pages: index.had_count(),
            known: index.known_count(),
            waiting: waiting.map(|state| index.count(state)).iter().sum(),
            gone: index.count(PageState::Gone),
            refused: index.count(PageState::Refused),
            requests: index.tally().requests,
            bytes: standing.spent.bytes,
            spent_pages: standing.spent.pages,
            unreachable: u64::from(standing.unreachable),
            bodies_lost: 0,
            wall_ms,
        }
    }

    /// As they travel.
    pub fn to_numbers(self) -> Vec<u64> {
        vec![
            self.pages,
            self.known,
            self.waiting,
            self.gone,
            self.refused,
            self.requests,
            self.bytes,
            self.spent_pages,
            self.unreachable,
            self.bodies_lost,
            self.wall_ms,
        ]
    }

    /// As they came; what an older release did not say is 0.
    pub fn of_numbers(numbers: &[u64]) -> Self {
        let number = |at: usize| numbers.get(at).copied().unwrap_or(0);
        Self {
            pages: number(0),
            known: number(1),
            waiting: number(2),
            gone: number(3),
            refused: number(4),
            requests: number(5),
            bytes: number(6),
            spent_pages: number(7),
            unreachable: number(8),
            bodies_lost: number(9),
            wall_ms: number(10),
        }
    }

    /// What was spent, for the joint.
    pub fn spent(&self) -> Spent {
        Spent {
            pages: self.spent_pages,
            requests: self.requests,
            bytes: self.bytes,
            ..Spent::default()
        }
    }
}

/// What a shard's loop tells its node.
#[derive(Debug)]
pub enum Word {
    /// Its journal is on this disk up to here.
    Synced(Position),
    /// Where it stands.
    Said(Box<Said>),
}

/// What a node tells a shard's loop.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Heard {
    /// The journal is durable in the cluster up to here.
    pub durable: Position,
    /// The wave that is asked for.
    pub wave: u64,
}

/// One shard's tie to its node.
pub struct Tie {
    /// Which shard.
    pub shard: usize,
    /// What it hears.
    pub heard: watch::Receiver<Heard>,
    /// Where it tells.
    pub tell: mpsc::UnboundedSender<(usize, Word)>,
    /// Whether requests may be sent.
    pub permit: Permit,
}

/// Where the loop of a shard waits for its node.
pub(crate) struct Tether {
    tie: Tie,
    household: Household,
    held: VecDeque<(Position, Job)>,
    said: Option<(std::time::Instant, bool, u64)>,
}

/// How often a shard says where it stands, at most.
const SAY_EVERY: std::time::Duration = std::time::Duration::from_millis(100);

impl Tether {
    /// Keeps jobs until their hand-outs are durable.
    pub(crate) fn hold(&mut self, at: Position, jobs: Vec<Job>) {
        self.held.extend(jobs.into_iter().map(|job| (at, job)));
    }

    /// The jobs whose hand-outs are durable now.
    pub(crate) fn release(&mut self) -> Vec<Job> {
        let durable = self.tie.heard.borrow_and_update().durable;
        let count = self.held.partition_point(|(at, _)| *at <= durable);
        self.held.drain(..count).map(|(_, job)| job).collect()
    }

    /// Returns when the node has said something.
    pub(crate) async fn changed(&mut self) {
        if self.tie.heard.changed().await.is_err() {
            // The node has ended: so will this.
            std::future::pending::<()>().await;
        }
    }

    pub(crate) fn synced(&self, until: Position) {
        let _ = self.tie.tell.send((self.tie.shard, Word::Synced(until)));
    }

    /// Puts letters into the mailboxes of shards that are here; what is for others comes back undone.
    pub(crate) fn put(&self, letters: Vec<(usize, Report)>, own: &mpsc::UnboundedSender<Report>) {
        let mailboxes = self.household.mailboxes();
        for (to, letter) in letters {
            let unread = match mailboxes.get(to) {
                Some(Some(mailbox)) => match mailbox.send(letter) {
                    Ok(()) => continue,
                    Err(unread) => unread.0,
                },
                _ => letter,
            };
            if let Report::Lent(lent) = unread {
                let _ = own.send(lent.undone());
            }
        }
    }
}

/// What all shards of a node have in common.
#[derive(Clone)]
pub struct Household {
    joint: Arc<Mutex<Joint>>,
    places: Option<Arc<Mutex<Places>>>,
    mailboxes: Arc<Mutex<Vec<Option<mpsc::UnboundedSender<Report>>>>>,
    clock: Clock,
    delay_ms: u64,
}

impl Household {
    /// Of a crawl of so many shards. `per_address` is whether hosts at one address are asked as one; the clock runs
    /// `scale` times as fast as time.
    pub fn new(
        shards: usize,
        connections: usize,
        per_address: bool,
        (scale, delay_ms): (u32, u64),
    ) -> Self {
        let places = per_address.then(|| Arc::new(Mutex::new(Places::with_tokens())));
        Self {
            joint: Arc::new(Mutex::new(Joint::of_cluster(shards, connections))),
            places,
            mailboxes: Arc::new(Mutex::new(vec![None; shards])),
            clock: Clock::resume(&Index::default(), scale),
            delay_ms,
        }
    }

    fn joint(&self) -> MutexGuard<'_, Joint> {
        self.joint.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn places(&self) -> Option<MutexGuard<'_, Places>> {
        let places = self.places.as_ref()?;
        Some(places.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn mailboxes(&self) -> MutexGuard<'_, Vec<Option<mpsc::UnboundedSender<Report>>>> {
        let mailboxes = self.mailboxes.lock();
        mailboxes.unwrap_or_else(PoisonError::into_inner)
    }

    fn now(&self) -> u64 {
        self.clock.now().0
    }

    /// What a shard of another process stated.
    pub fn heard(&self, shard: usize, standing: Standing) {
        self.joint().heard(shard, standing);
    }

    /// What a shard may spend, and whether nothing is left for anybody.
    pub fn grant(&self, shard: usize, limits: Limits, dry: bool) {
        self.joint().grant(shard, limits, dry);
    }

    /// Whether a shard has more to ask for than it was granted.
    pub fn is_short(&self, shard: usize) -> bool {
        self.joint().is_short(shard)
    }

    /// What a shard has spent and has under way; from now on it may spend no more than that.
    pub fn lower(&self, shard: usize, body_bytes_max: u64) -> Limits {
        self.joint().lower(shard, body_bytes_max)
    }

    /// The level that the lead told.
    pub fn level(&self, level: u64) {
        self.joint().tell_level(level);
    }

    /// All are to end.
    pub fn end(&self, why: turnstone_ledger::Stop) {
        self.joint().end(why);
    }

    /// What all prove together, of what was stated.
    pub fn coverage(&self, goal: u64) -> Option<Coverage> {
        self.joint().coverage(goal)
    }

    /// A shard is no more of this process.
    pub fn left(&self, shard: usize) {
        self.joint().seat(shard, false);
        self.mailboxes()[shard] = None;
        let rest = self.now() + self.delay_ms;
        if let Some(mut places) = self.places() {
            places.forget(shard, rest);
        }
    }

    /// The addresses whose tokens shards wait for.
    pub fn tokens_needed(&self) -> Vec<Address> {
        let needed = self.places().map(|mut places| places.needed());
        needed.into_iter().flatten().map(address_of).collect()
    }

    /// The token of an address is ours, or is no more; `taken` if its last holder died with it.
    pub fn has_token(&self, address: Address, ours: bool, taken: bool) {
        let rest = if taken { self.now() + self.delay_ms } else { 0 };
        if let Some(mut places) = self.places() {
            places.has_token(ip_of(address), ours, rest);
        }
    }

    /// Whether the token of an address may be given away now. Then nobody here asks there any more.
    pub fn let_go(&self, address: Address) -> bool {
        let now = self.now();
        self.places()
            .is_none_or(|mut places| places.let_go(ip_of(address), now))
    }
}

fn address_of(ip: IpAddr) -> Address {
    match ip {
        IpAddr::V4(ip) => ip.to_ipv6_mapped().octets(),
        IpAddr::V6(ip) => ip.octets(),
    }
}

fn ip_of(address: Address) -> IpAddr {
    let ip = std::net::Ipv6Addr::from(address);
    ip.to_ipv4_mapped().map_or(IpAddr::V6(ip), IpAddr::V4)
}

impl<P: Policy> Crawl<P> {
    /// Makes this the loop of one shard of a node. Returns its mailbox, for transfers.
    pub fn tie(&mut self, tie: Tie, household: &Household) -> Mailbox {
        let shard = tie.shard;
        let before = self.clock.now();
        let common = household.now();
        let began = self.clock.now();
        let time = CommonTime {
            began,
            common,
            slack: began.0 - before.0 + 2,
        };
        if let Some(mut places) = household.places() {
            remember_rests(&self.asker, shard, time, &mut places);
        }
        household.joint().seat(shard, true);
        let mailbox = self.mailbox();
        household.mailboxes()[shard] = Some(mailbox.clone());
        self.allow_by(tie.permit.clone());
        self.asker.member = Some(Member::new(
            shard,
            household.joint.clone(),
            household.places.clone(),
            time,
        ));
        self.asker.stand(false, false);
        self.tether = Some(Tether {
            tie,
            household: household.clone(),
            held: VecDeque::new(),
            said: None,
        });
        Mailbox(mailbox)
    }

    /// Says where the shard stands, now and then and when it comes to rest. To be called when all entries are written
    /// that the standing rests on.
    pub(crate) fn say(&mut self) {
        let (Some(tether), Some(member)) = (&mut self.tether, &self.asker.member) else {
            return;
        };
        let standing = &member.standing;
        let wave = tether.tie.heard.borrow().wave;
        let now = std::time::Instant::now();
        let due = tether.said.is_none_or(|(at, idle, said)| {
            at + SAY_EVERY <= now || idle != standing.idle || wave != said
        });
        let Some(crossings) = self.asker.ledger.crossings().filter(|_| due) else {
            return;
        };
        tether.said = Some((now, standing.idle, wave));
        let others = || (0..crossings.shards()).map(turnstone_cluster::Shard);
        let index = self.asker.ledger.index();
        let said = Said {
            at: self.asker.ledger.store().end(),
            wave,
            sent: others().map(|to| crossings.outbox().mass(to)).collect(),
            received: others()
                .map(|from| crossings.inbox().known(from).mass)
                .collect(),
            figures: Figures::of(index, standing, self.clock.wall_ms()),
            standing: standing.clone(),
        };
        let word = Word::Said(Box::new(said));
        let _ = tether.tie.tell.send((tether.tie.shard, word));
    }
}

/// Where transfers for a shard are put.
#[derive(Clone, Debug)]
pub struct Mailbox(mpsc::UnboundedSender<Report>);

impl Mailbox {
    /// Puts a transfer there. Whoever has ended takes none.
    pub fn transfer(&self, bytes: Vec<u8>) {
        let _ = self.0.send(Report::Transfer(bytes));
    }
}
