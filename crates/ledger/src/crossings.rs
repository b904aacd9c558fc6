//! What crossed between this shard and others, as a fold of its journal.
//!
//! A shard is one ledger of a crawl that is cut by sites. What its pages give to pages of other shards
//! leaves by an entry `Sent`, which holds the transfer as it travels, and arrives by an entry `Received`
//! in the journal of the other: effect and record are one entry, so a transfer is applied exactly once
//! whoever is killed when. Transfers of a pair are numbered, and each names the one before: that is
//! kept in an [`Outbox`] and an [`Inbox`] (crate `cluster`), which are part of the state.
//!
//! Beside mass two words cross. A shard tells those who sent mass for a page that it is *dead*; they take
//! their mass *back*. Whom to tell, and what is to be taken back, is kept here until an entry says that it
//! was sent: so neither is forgotten or said twice over a kill.
//!
//! Cost: some 60 bytes a page that mass was received for; 8 bytes a transfer that was sent.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Read, Write};

use turnstone_cluster::Shard;
use turnstone_cluster::channel::{Carries, Inbox, Item, Outbox, Received, Transfer};
use turnstone_frontier::{
    Arrival, Arrived, Crossing, Event, Links, PageId, Policy, Restore, Save, Tick,
};
use turnstone_pagestore::{Key, Position, Store, Written};

use crate::exchange::CrossError;
use crate::state::State;

/// What crossed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Crossings {
    me: u32,
    shards: u32,
    pub(crate) outbox: Outbox,
    pub(crate) inbox: Inbox,
    /// By lane: where the transfers stand that were sent, the first one first.
    sent_at: BTreeMap<u32, Vec<Position>>,
    /// By page of this shard: who sent mass for it.
    senders: BTreeMap<PageId, BTreeSet<u32>>,
    /// Pages of this shard that cannot be had, as far as was looked; and how many the policy had said.
    dead: BTreeSet<PageId>,
    looked: u64,
    /// Who is to be told that which page is dead, and who was.
    untold: BTreeSet<(PageId, u32)>,
    told: BTreeSet<(PageId, u32)>,
    /// What is to be said to have been taken back: from whom, of which page, how much.
    backs: BTreeMap<(u32, PageId), u64>,
}

impl Crossings {
    pub(crate) fn new(me: u32, shards: u32) -> Self {
        Self {
            me,
            shards,
            ..Self::default()
        }
    }

    /// Which shard this is.
    pub fn me(&self) -> Shard {
        Shard(self.me)
    }

    /// How many there are.
    pub fn shards(&self) -> u32 {
        self.shards
    }

    /// What was sent.
    pub fn outbox(&self) -> &Outbox {
        &self.outbox
    }

    /// What was received.
    pub fn inbox(&self) -> &Inbox {
        &self.inbox
    }

    /// Where the transfer of a lane with a number stands, if it was sent.
    pub fn sent_at(&self, lane: u32, number: u64) -> Option<Position> {
        let at = usize::try_from(number.checked_sub(1)?).ok()?;
        self.sent_at.get(&lane)?.get(at).copied()
    }

    /// Who is to be told that which page is dead.
    pub(crate) fn untold(&self) -> impl Iterator<Item = (PageId, Shard)> + '_ {
        self.untold.iter().map(|(page, to)| (*page, Shard(*to)))
    }

    /// Who is to be told that how much was taken back of which page.
    pub(crate) fn backs(&self) -> impl Iterator<Item = (Shard, PageId, u64)> + '_ {
        let backs = self.backs.iter();
        backs.map(|((to, page), mass)| (Shard(*to), *page, *mass))
    }

    /// Whether there is a word to be said that is not mass.
    pub fn has_news(&self) -> bool {
        !self.untold.is_empty() || !self.backs.is_empty()
    }

    fn is_dead(&mut self, page: PageId, seed: bool) {
        self.dead.insert(page);
        // Trust in a dead page is shared out among all, so everybody has mass of it.
        let everybody = 0..self.shards;
        let senders = self.senders.get(&page);
        let senders: Vec<u32> = match seed {
            true => everybody.filter(|shard| *shard != self.me).collect(),
            false => senders.into_iter().flatten().copied().collect(),
        };
        for to in senders {
            self.owe_word(page, to);
        }
    }

    fn owe_word(&mut self, page: PageId, to: u32) {
        if !self.told.contains(&(page, to)) {
            self.untold.insert((page, to));
        }
    }
}

impl<P: Policy> State<P> {
    /// The page of an item, by the numbers of the store and of the policy.
    fn page_of(&self, store: &Store, item: &Item) -> Result<(PageId, PageId), CrossError> {
        let page = store.index().find(Key::from_bytes(item.key));
        let page = page.ok_or(CrossError::Unknown)?;
        let number = self.view.inner(page).ok_or(CrossError::Outside)?;
        Ok((page, number))
    }

    /// A transfer left.
    pub(crate) fn sent(
        &mut self,
        store: &Store,
        (lane, bytes): (u32, &[u8]),
        (Written { at, tick, .. }, links): (Written, &dyn Links),
    ) -> Result<(), CrossError> {
        let transfer = Transfer::decode(bytes)?;
        let mut masses = Vec::new();
        let mut said = Vec::new();
        for (to, parcel) in &transfer.parcels {
            for item in &parcel.items {
                let (page, number) = self.page_of(store, item)?;
                match item.carries {
                    Carries::Mass { .. } => masses.push((number, item.mass)),
                    Carries::Dead | Carries::Back => said.push((to.0, page, item.carries)),
                }
            }
        }
        let crossings = self.crossings.as_mut().ok_or(CrossError::Whole)?;
        crossings.outbox.apply(lane, &transfer, bytes);
        crossings.sent_at.entry(lane).or_default().push(at);
        for (to, page, carries) in said {
            match carries {
                Carries::Dead => {
                    crossings.untold.remove(&(page, to));
                    crossings.told.insert((page, to));
                }
                Carries::Back => {
                    crossings.backs.remove(&(to, page));
                }
                Carries::Mass { .. } => {}
            }
        }
        if !masses.is_empty() {
            let items = masses.as_slice();
            self.observe(&Event::Crossed(Crossing::Sent { items }), tick, links);
        }
        Ok(())
    }

    /// A transfer arrived.
    pub(crate) fn received(
        &mut self,
        store: &Store,
        bytes: &[u8],
        (tick, links): (Tick, &dyn Links),
    ) -> Result<(), CrossError> {
        let received = Received::decode(bytes)?;
        let from = received.from.0;
        let mut arrivals = Vec::new();
        let (mut senders, mut backs) = (Vec::new(), Vec::new());
        for item in &received.parcel.items {
            let (page, number) = self.page_of(store, item)?;
            let mass = item.mass;
            let what = match item.carries {
                Carries::Mass { hops } => {
                    senders.push(page);
                    Arrived::Mass { mass, hops }
                }
                Carries::Dead => {
                    let shard = self.scheduler.shard().ok_or(CrossError::Whole)?;
                    let (sent, _) = shard.sent_for(number);
                    if sent > 0 {
                        backs.push(((from, page), sent));
                    }
                    Arrived::Dead
                }
                Carries::Back => Arrived::Back { mass },
            };
            arrivals.push(Arrival { page: number, what });
        }
        let crossings = self.crossings.as_mut().ok_or(CrossError::Whole)?;
        crossings.inbox.apply(&received);
        crossings.backs.extend(backs);
        for page in senders {
            crossings.senders.entry(page).or_default().insert(from);
            if crossings.dead.contains(&page) {
                crossings.owe_word(page, from);
            }
        }
        if !arrivals.is_empty() {
            let items = arrivals.as_slice();
            self.observe(&Event::Crossed(Crossing::Received { items }), tick, links);
        }
        Ok(())
    }

    /// Looks for pages that the policy has learnt are dead.
    pub(crate) fn mourn(&mut self, store: &Store) {
        let Some(crossings) = &mut self.crossings else {
            return;
        };
        let Some(shard) = self.scheduler.shard() else {
            return;
        };
        let dead = shard.dead();
        let looked = usize::try_from(crossings.looked).unwrap_or(usize::MAX);
        for &number in dead.get(looked..).unwrap_or_default() {
            let page = self.view.outer(number);
            crossings.is_dead(page, store.index().is_seed(page));
        }
        crossings.looked = dead.len() as u64;
    }
}

impl Save for Crossings {
    fn save(&self, out: &mut dyn Write) -> io::Result<()> {
        self.me.save(out)?;
        self.shards.save(out)?;
        self.outbox.encode().save(out)?;
        self.inbox.encode().save(out)?;
        let pairs = |set: &BTreeSet<(PageId, u32)>| -> Vec<u64> {
            let pairs = set.iter();
            pairs
                .map(|(page, to)| u64::from(page.0) << 32 | u64::from(*to))
                .collect()
        };
        (self.sent_at.len() as u64).save(out)?;
        for (lane, positions) in &self.sent_at {
            lane.save(out)?;
            let positions: Vec<u64> = positions.iter().map(|at| at.0).collect();
            positions.save(out)?;
        }
        (self.senders.len() as u64).save(out)?;
        for (page, senders) in &self.senders {
            page.save(out)?;
            let senders: Vec<u32> = senders.iter().copied().collect();
            senders.save(out)?;
        }
        let dead: Vec<PageId> = self.dead.iter().copied().collect();
        dead.save(out)?;
        self.looked.save(out)?;
        pairs(&self.untold).save(out)?;
        pairs(&self.told).save(out)?;
        (self.backs.len() as u64).save(out)?;
        for ((to, page), mass) in &self.backs {
            to.save(out)?;
            page.save(out)?;
            mass.save(out)?;
        }
        Ok(())
    }
}

impl Restore for Crossings {
    fn restore(from: &mut dyn Read) -> io::Result<Self> {
        let damaged = |_| io::Error::new(io::ErrorKind::InvalidData, "transfers cannot be read");
        fn pairs(from: &mut dyn Read) -> io::Result<BTreeSet<(PageId, u32)>> {
            let packed: Vec<u64> = Restore::restore(from)?;
            let pair = |packed: u64| (PageId((packed >> 32) as u32), packed as u32);
            Ok(packed.into_iter().map(pair).collect())
        }
        let (me, shards) = (u32::restore(from)?, u32::restore(from)?);
        let outbox: Vec<u8> = Restore::restore(from)?;
        let inbox: Vec<u8> = Restore::restore(from)?;
        let mut crossings = Self {
            outbox: Outbox::decode(&outbox).map_err(damaged)?,
            inbox: Inbox::decode(&inbox).map_err(damaged)?,
            ..Self::new(me, shards)
        };
        for _ in 0..u64::restore(from)? {
            let lane = u32::restore(from)?;
            let positions: Vec<u64> = Restore::restore(from)?;
            let positions = positions.into_iter().map(Position).collect();
            crossings.sent_at.insert(lane, positions);
        }
        for _ in 0..u64::restore(from)? {
            let page = PageId::restore(from)?;
            let senders: Vec<u32> = Restore::restore(from)?;
            crossings
                .senders
                .insert(page, senders.into_iter().collect());
        }
        let dead: Vec<PageId> = Restore::restore(from)?;
        crossings.dead = dead.into_iter().collect();
        crossings.looked = u64::restore(from)?;
        crossings.untold = pairs(from)?;
        crossings.told = pairs(from)?;
        for _ in 0..u64::restore(from)? {
            let key = (u32::restore(from)?, PageId::restore(from)?);
            crossings.backs.insert(key, u64::restore(from)?);
        }
        Ok(crossings)
    }
}
