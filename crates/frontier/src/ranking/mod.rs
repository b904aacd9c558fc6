//! The ranks of all pages: the one structure that policies write and the scheduler reads.
//!
//! A rank lives here and nowhere else: the policies that move mass or cash from page to page keep
//! it in the ranking, so a page costs one place (4 bytes), one heap entry (12) and, where there is
//! more than one host, its host (4). A page is in exactly one place:
//!
//! - *queued*: may be handed out, best first, when its host may be contacted;
//! - *parked*: ranked and ordered, but only for the policy (a fetched page that still earns);
//! - *away*: the page of another shard; ranked and ordered, so that the largest ranks are sent first;
//! - *aside*: rank kept, order not: in flight, deferred to a time, or shelved;
//! - *absent*: rank 0. A page that is raised comes back to the queue, or to the parking place if
//!   it was parked before.
//!
//! Cost: `raise`, `set` and `take` O(log pages of the host), a raise of a page far from the best
//! O(1) ([`lane`]); `best_*` O(1). Invariant: the order is
//! total (higher rank, then smaller id), so nothing depends on the order of insertion.

mod lane;
mod saved;

use crate::aside::{Aside, Why};
use crate::calendar::Tick;
use crate::heap::{self, Entry, HostTop, INDEX_BITS, Keyed as _};
use crate::id::{HostId, PageId};
use lane::Lane;

/// What a page is worth to a policy. Larger is sooner.
pub type Rank = u64;

/// Where a page's rank is kept, in the two high bits of its place.
const QUEUED: u32 = 0;
const PARKED: u32 = 1 << INDEX_BITS;
const ASIDE: u32 = 2 << INDEX_BITS;
const ABSENT: u32 = 3 << INDEX_BITS;
/// Low bits of an absent page's place: it comes back to the parking place, or is away.
const HOME_PARKED: u32 = 1;
const HOME_AWAY: u32 = 2;
/// Pages that are away are kept like parked ones, in an order of their own: the highest bit of the index
/// tells them apart.
const AWAY_BIT: u32 = 1 << (INDEX_BITS - 1);
const AWAY: u32 = PARKED | AWAY_BIT;

/// How many pages are looked up at once: about what a core can wait for side by side.
const SIDE_BY_SIDE: usize = 16;

const TAG: u32 = 3 << INDEX_BITS;
const INDEX: u32 = !TAG;

/// Where a host stands, by the same scheme.
const READY: u32 = 0;
const RESTING: u32 = 1 << INDEX_BITS;
const IDLE: u32 = 3 << INDEX_BITS;

/// Where a page stands in the ranking.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// May be handed out.
    Queued,
    /// Ranked for the policy alone.
    Parked,
    /// Handed out, not yet come back.
    InFlight,
    /// Not to be handed out before a tick.
    Deferred(Tick),
    /// The page of another shard, whose rank is to be sent.
    Away,
    /// Kept for the policy, which may bring it back.
    Shelved,
    /// Not ranked.
    Absent,
}

/// Ranks of pages, grouped by host, with the hosts that may be contacted apart.
#[derive(Debug, Default)]
pub struct Ranking {
    /// By page: where its rank is.
    places: Vec<u32>,
    /// By page: its host. Empty while every page is on host 0.
    hosts: Vec<HostId>,
    /// By host: its queued pages.
    lanes: Vec<Lane>,
    parked: Lane,
    /// The sum of all ranks in it.
    parked_total: u128,
    /// Pages of other shards, and the sum of their ranks.
    away: Lane,
    away_total: u128,
    aside: Aside,
    /// Hosts with queued pages, by their best page: those that may be contacted, and the others.
    ready: Vec<HostTop>,
    resting: Vec<HostTop>,
    /// By host: where it is in those two.
    host_places: Vec<u32>,
    /// By host: whether it may be contacted.
    open: Vec<bool>,
}

impl Ranking {
    /// How many pages are known.
    pub fn page_count(&self) -> usize {
        self.places.len()
    }

    /// The host of a known page.
    #[inline]
    pub fn host(&self, page: PageId) -> HostId {
        if self.hosts.is_empty() {
            HostId(0)
        } else {
            self.hosts[page.index()]
        }
    }

    /// The rank of a page; 0 for one that is not ranked.
    pub fn rank(&self, page: PageId) -> Rank {
        self.rank_in(self.places[page.index()], page)
    }

    /// How many of some pages have a rank above 0. All places are looked up before the first rank,
    /// so that cache misses overlap; raises that follow find everything at hand.
    pub fn count_ranked(&self, pages: &[PageId]) -> usize {
        let mut count = 0;
        for pages in pages.chunks(SIDE_BY_SIDE) {
            let mut places = [ABSENT; SIDE_BY_SIDE];
            for (place, page) in places.iter_mut().zip(pages) {
                *place = self.places[page.index()];
            }
            for (place, page) in places.iter().zip(pages) {
                count += usize::from(self.rank_in(*place, *page) > 0);
            }
        }
        count
    }

    #[inline]
    fn rank_in(&self, place: u32, page: PageId) -> Rank {
        match place & TAG {
            QUEUED => self.lanes[self.host(page).index()].rank_at((place & INDEX) as usize),
            PARKED if place & AWAY_BIT != 0 => self.away.rank_at(away_index(place)),
            PARKED => self.parked.rank_at((place & INDEX) as usize),
            ASIDE => self.aside.get(page).1,
            _ => 0,
        }
    }

    /// Gives a page a rank. Absent pages come home; pages in flight, deferred or shelved stay put.
    pub fn set(&mut self, page: PageId, rank: Rank) {
        let place = self.places[page.index()];
        let at = (place & INDEX) as usize;
        match place & TAG {
            QUEUED => {
                let host = self.host(page);
                let lane = &mut self.lanes[host.index()];
                if lane.set(at, rank, &mut self.places, QUEUED) {
                    self.lane_top_changed(host);
                }
            }
            PARKED if place & AWAY_BIT != 0 => {
                let at = away_index(place);
                self.away_total -= u128::from(self.away.rank_at(at));
                self.away_total += u128::from(rank);
                self.away.set(at, rank, &mut self.places, AWAY);
            }
            PARKED => {
                self.parked_total -= u128::from(self.parked.rank_at(at));
                self.parked_total += u128::from(rank);
                self.parked.set(at, rank, &mut self.places, PARKED);
            }
            ASIDE => {
                let (why, _) = self.aside.remove(page);
                self.aside.insert(page, why, rank);
            }
            _ => self.come_home(page, place, rank),
        }
    }

    /// Adds to a page's rank. The hot path of every policy that moves mass along links.
    #[inline]
    pub fn raise(&mut self, page: PageId, by: Rank) {
        let place = self.places[page.index()];
        let at = (place & INDEX) as usize;
        match place & TAG {
            QUEUED => {
                let host = self.host(page);
                let lane = &mut self.lanes[host.index()];
                if lane.raise(at, by, &mut self.places, QUEUED) {
                    self.lane_top_changed(host);
                }
            }
            PARKED if place & AWAY_BIT != 0 => {
                self.away_total += u128::from(by);
                self.away
                    .raise(away_index(place), by, &mut self.places, AWAY);
            }
            PARKED => {
                self.parked_total += u128::from(by);
                self.parked.raise(at, by, &mut self.places, PARKED);
            }
            ASIDE => self.aside.raise(page, by),
            _ => self.come_home(page, place, by),
        }
    }

    /// Takes a page's rank away: the page is absent afterwards, and comes back when ranked again.
    pub fn take(&mut self, page: PageId) -> Rank {
        let place = self.places[page.index()];
        let (rank, _) = self.lift(page);
        self.places[page.index()] = match place & TAG {
            PARKED if place & AWAY_BIT != 0 => ABSENT | HOME_AWAY,
            PARKED => ABSENT | HOME_PARKED,
            _ => self.home(page),
        };
        rank
    }

    /// From now on the page's rank is only for the policy: kept and ordered, never handed out.
    pub fn park(&mut self, page: PageId) {
        let (rank, _) = self.lift(page);
        self.places[page.index()] = ABSENT | HOME_PARKED;
        if rank > 0 {
            self.come_home(page, ABSENT | HOME_PARKED, rank);
        }
    }

    /// The page is another shard's: its rank is kept and ordered, to be sent there.
    pub(crate) fn send_away(&mut self, page: PageId) {
        assert!(page.0 < AWAY_BIT, "at most 2^29 pages of a shard");
        let (rank, _) = self.lift(page);
        self.places[page.index()] = ABSENT | HOME_AWAY;
        if rank > 0 {
            self.come_home(page, ABSENT | HOME_AWAY, rank);
        }
    }

    /// The page of another shard that holds most.
    pub fn best_away(&self) -> Option<(PageId, Rank)> {
        self.away.best().map(|best| (best.page, best.rank))
    }

    /// The sum of the ranks of pages that are away: O(1).
    pub fn away_total(&self) -> u128 {
        self.away_total
    }

    /// Pages that are away and hold something, with their ranks, in no order.
    pub fn away(&self) -> impl Iterator<Item = (PageId, Rank)> + '_ {
        self.away.iter().map(|entry| (entry.page, entry.rank))
    }

    /// The page may be handed out again, at the rank it has.
    pub fn queue(&mut self, page: PageId) {
        let (rank, _) = self.lift(page);
        self.come_home(page, ABSENT, rank);
    }

    /// Keeps the page's rank, growing where it grows, but out of all order until it is ranked
    /// anew by [`queue`](Self::queue), [`park`](Self::park) or [`take`](Self::take).
    pub fn shelve(&mut self, page: PageId) {
        let (rank, _) = self.lift(page);
        self.set_aside(page, Why::Shelved, rank);
    }

    /// The page is not to be handed out before `until`; then it is queued at the rank it has.
    pub fn defer(&mut self, page: PageId, until: Tick) {
        let (rank, _) = self.lift(page);
        self.set_aside(page, Why::Deferred(until), rank);
    }

    /// The best queued page, whether or not its host may be contacted now.
    pub fn best_queued(&self) -> Option<(PageId, Rank)> {
        let best = [self.ready.first(), self.resting.first()]
            .into_iter()
            .flatten();
        let best = best
            .copied()
            .reduce(|a, b| if b.best.beats(a.best) { b } else { a })?
            .best;
        Some((best.page, best.rank))
    }

    /// The best parked page.
    pub fn best_parked(&self) -> Option<(PageId, Rank)> {
        self.parked.best().map(|best| (best.page, best.rank))
    }

    /// How many pages are parked with a rank above 0.
    pub fn parked_count(&self) -> usize {
        self.parked.len()
    }

    /// The sum of all parked ranks: O(1).
    pub fn parked_total(&self) -> u128 {
        self.parked_total
    }

    /// Shelved pages with their ranks, by page.
    pub fn shelved(&self) -> impl Iterator<Item = (PageId, Rank)> + '_ {
        self.aside.each(Why::Shelved)
    }

    /// The sum of all shelved ranks: O(1).
    pub fn shelved_total(&self) -> u128 {
        self.aside.shelved_total()
    }

    /// Pages handed out and not yet come back, by page.
    pub fn in_flight(&self) -> impl Iterator<Item = PageId> + '_ {
        self.aside.each(Why::InFlight).map(|(page, _)| page)
    }

    /// How many pages are in flight.
    pub fn in_flight_count(&self) -> usize {
        self.aside.in_flight()
    }

    /// Where a known page is.
    pub fn place(&self, page: PageId) -> Place {
        match self.places[page.index()] & TAG {
            QUEUED => Place::Queued,
            PARKED if self.places[page.index()] & AWAY_BIT != 0 => Place::Away,
            PARKED => Place::Parked,
            ASIDE => match self.aside.get(page).0 {
                Why::InFlight => Place::InFlight,
                Why::Deferred(until) => Place::Deferred(until),
                Why::Shelved => Place::Shelved,
            },
            _ => Place::Absent,
        }
    }

    /// Whether a page was never ranked, or lost its rank while it waited.
    pub(crate) fn is_unranked(&self, page: PageId) -> bool {
        self.places[page.index()] == ABSENT
    }

    /// How many queued pages are better than this one, whatever their hosts: O(pages queued).
    pub fn queued_before(&self, page: PageId) -> usize {
        let rank = self.rank(page);
        let better =
            |other: &&Entry| other.rank > rank || (other.rank == rank && other.page < page);
        self.lanes
            .iter()
            .flat_map(Lane::iter)
            .filter(better)
            .count()
    }

    /// How many pages are queued.
    pub fn queued_count(&self) -> usize {
        self.lanes.iter().map(Lane::len).sum()
    }

    /// The bytes all ranks and places take, as allocated.
    pub fn allocated_bytes(&self) -> usize {
        self.places.capacity() * size_of::<u32>()
            + self.hosts.capacity() * size_of::<HostId>()
            + self.parked.allocated_bytes()
            + self.away.allocated_bytes()
            + self.lanes.iter().map(Lane::allocated_bytes).sum::<usize>()
            + self.lanes.capacity() * size_of::<Lane>()
            + (self.ready.capacity() + self.resting.capacity()) * size_of::<HostTop>()
    }
}

/// What the scheduler alone does with a ranking.
impl Ranking {
    /// Makes room for a page that was just discovered.
    pub(crate) fn know(&mut self, page: PageId, host: HostId) {
        assert_eq!(
            page.index(),
            self.places.len(),
            "page ids are dense and issued in order"
        );
        assert!(page.0 & TAG == 0, "at most 2^30 pages");
        grow(&mut self.places, ABSENT);
        if host.0 > 0 && self.hosts.is_empty() {
            self.hosts = vec![HostId(0); page.index()];
        }
        if !self.hosts.is_empty() || host.0 > 0 {
            grow(&mut self.hosts, host);
        }
        self.know_host(host);
    }

    /// Makes room for a host.
    pub(crate) fn know_host(&mut self, host: HostId) {
        while self.lanes.len() <= host.index() {
            self.lanes.push(Lane::default());
            self.host_places.push(IDLE);
            self.open.push(true);
        }
    }

    /// The best page among the hosts that may be contacted.
    pub(crate) fn best_ready(&self) -> Option<(PageId, HostId)> {
        self.ready.first().map(|top| (top.best.page, top.host))
    }

    /// The page leaves the queue; its rank stays with it.
    pub(crate) fn hand_out(&mut self, page: PageId) {
        assert_eq!(
            self.places[page.index()] & TAG,
            QUEUED,
            "only queued pages are handed out"
        );
        let (rank, _) = self.lift(page);
        self.set_aside(page, Why::InFlight, rank);
    }

    /// The page came back, or was settled without being asked for: it is shelved until the policy
    /// says otherwise. Returns whether it had been in flight.
    pub(crate) fn land(&mut self, page: PageId) -> bool {
        let (rank, was_in_flight) = self.lift(page);
        self.set_aside(page, Why::Shelved, rank);
        was_in_flight
    }

    /// A page in flight is queued again at the rank it has. Returns whether it was in flight.
    pub(crate) fn give_back(&mut self, page: PageId) -> bool {
        let in_flight =
            self.places[page.index()] & TAG == ASIDE && self.aside.get(page).0 == Why::InFlight;
        if in_flight {
            self.queue(page);
        }
        in_flight
    }

    /// Whether the host may be contacted.
    pub(crate) fn set_open(&mut self, host: HostId, open: bool) {
        if std::mem::replace(&mut self.open[host.index()], open) != open {
            self.leave_host_order(host);
            self.lane_top_changed(host);
        }
    }

    /// Whether any page is queued, wherever: O(1).
    pub fn is_any_queued(&self) -> bool {
        !self.ready.is_empty() || !self.resting.is_empty()
    }

    /// Whether any page of the host is queued.
    pub fn has_queued(&self, host: HostId) -> bool {
        self.lanes[host.index()].best().is_some()
    }

    /// The best queued page of a host, whether or not it may be contacted.
    pub(crate) fn best_of(&self, host: HostId) -> Option<(PageId, Rank)> {
        let best = self.lanes.get(host.index())?.best()?;
        Some((best.page, best.rank))
    }

    /// Queues every page whose deferral has ended.
    pub(crate) fn wake(&mut self, now: Tick) {
        while let Some((_, page)) = self
            .aside
            .next_deferred()
            .filter(|&(until, _)| until <= now)
        {
            self.queue(page);
        }
    }

    /// When the next deferral ends.
    pub(crate) fn next_wake(&self) -> Option<Tick> {
        self.aside.next_deferred().map(|(until, _)| until)
    }

    /// The pages that are not to be handed out before a time.
    pub fn deferred(&self) -> impl Iterator<Item = PageId> + '_ {
        self.aside.deferred()
    }

    /// How many hosts are known.
    pub fn host_count(&self) -> usize {
        self.lanes.len()
    }
}

impl Ranking {
    /// Takes a page out of wherever it is. Returns its rank and whether it was in flight; the
    /// caller writes its new place.
    fn lift(&mut self, page: PageId) -> (Rank, bool) {
        let place = self.places[page.index()];
        let at = (place & INDEX) as usize;
        match place & TAG {
            QUEUED => {
                let host = self.host(page);
                let lane = &mut self.lanes[host.index()];
                let entry = lane.remove(at, &mut self.places, QUEUED);
                if at == 0 {
                    self.lane_top_changed(host);
                }
                (entry.rank, false)
            }
            PARKED if place & AWAY_BIT != 0 => {
                let entry = self.away.remove(away_index(place), &mut self.places, AWAY);
                self.away_total -= u128::from(entry.rank);
                (entry.rank, false)
            }
            PARKED => {
                let entry = self.parked.remove(at, &mut self.places, PARKED);
                self.parked_total -= u128::from(entry.rank);
                (entry.rank, false)
            }
            ASIDE => {
                let (why, rank) = self.aside.remove(page);
                (rank, why == Why::InFlight)
            }
            _ => (0, false),
        }
    }

    /// Where an absent page will come back to.
    fn home(&self, page: PageId) -> u32 {
        let place = self.places[page.index()];
        if place & TAG == ABSENT { place } else { ABSENT }
    }

    /// Puts an absent page where it belongs.
    fn come_home(&mut self, page: PageId, place: u32, rank: Rank) {
        let entry = Entry { rank, page };
        if place & HOME_AWAY != 0 {
            self.away_total += u128::from(rank);
            self.away.push(entry, &mut self.places, AWAY);
            return;
        }
        if place & HOME_PARKED != 0 {
            self.parked_total += u128::from(rank);
            self.parked.push(entry, &mut self.places, PARKED);
            return;
        }
        let host = self.host(page);
        let lane = &mut self.lanes[host.index()];
        if lane.push(entry, &mut self.places, QUEUED) {
            self.lane_top_changed(host);
        }
    }

    fn set_aside(&mut self, page: PageId, why: Why, rank: Rank) {
        self.places[page.index()] = ASIDE;
        self.aside.insert(page, why, rank);
    }

    /// Brings the order of hosts up to date with the best page of one lane.
    #[inline]
    fn lane_top_changed(&mut self, host: HostId) {
        let Some(best) = self.lanes[host.index()].best() else {
            return self.leave_host_order(host);
        };
        let (heap, tag) = if self.open[host.index()] {
            (&mut self.ready, READY)
        } else {
            (&mut self.resting, RESTING)
        };
        let place = self.host_places[host.index()];
        if place & TAG == IDLE {
            heap::push(heap, &mut self.host_places, tag, HostTop { best, host });
        } else {
            let at = (place & INDEX) as usize;
            heap[at].best = best;
            heap::sift(heap, &mut self.host_places, tag, at);
        }
    }

    fn leave_host_order(&mut self, host: HostId) {
        let place = self.host_places[host.index()];
        let at = (place & INDEX) as usize;
        match place & TAG {
            READY => heap::remove(&mut self.ready, &mut self.host_places, READY, at),
            RESTING => heap::remove(&mut self.resting, &mut self.host_places, RESTING, at),
            _ => return,
        };
        self.host_places[host.index()] = IDLE;
    }
}

/// Where in their order a page that is away stands.
#[inline]
fn away_index(place: u32) -> usize {
    (place & INDEX & !AWAY_BIT) as usize
}

/// Ranks are masses with a fixed total: a sum that overflows is a bug of the policy.
#[inline]
pub(crate) fn add(rank: Rank, by: Rank) -> Rank {
    rank.checked_add(by).expect("ranks stay below 2^64")
}

/// Pushes with a thirty-second to spare instead of doubling.
fn grow<T>(items: &mut Vec<T>, item: T) {
    if items.len() == items.capacity() {
        items.reserve_exact((items.len() / 32).max(16));
    }
    items.push(item);
}
