//! How the shards of a crawl exchange transfers, as calls on their ledgers.
//!
//! 1. [`Ledger::send`] takes what belongs to others out of the state: entries `Sent`.
//! 2. Once such an entry is *durable*, [`Ledger::transfer`] gives its bytes to whoever carries them. Before
//!    that a loss of power could take the entry back while its receiver keeps what it brought: the same mass
//!    twice. The entry is in the journal for good, so the bytes can be asked for as often as it takes.
//! 3. [`Ledger::receive`] takes them in: an entry `Received`. What was applied is skipped, what is
//!    missing is asked for by its number, and what does not follow the one before is an alarm: nothing more of
//!    that sender is applied. Mass on its way is not covered, so in doubt the guarantee is weaker, never false.
//! 4. [`Ledger::check_pair`] is asked before two shards go on: a receiver that knows more of a sender than the
//!    sender's own journal has means that a journal was cut or replaced, and nothing is sent then.
//!
//! Nothing here carries bytes from one shard to another, and nobody waits: that is a driver's.

use std::collections::BTreeMap;

use turnstone_cluster::channel::{
    Admission, Alarm, Carries, Item, Received, TRANSFER_BYTES, URL_BYTES_MAX,
};
use turnstone_cluster::shard::{Cut, SHARDS_MAX};
use turnstone_cluster::wire::Malformed;
use turnstone_cluster::{Digest, Shard};
use turnstone_frontier::{HostId, Masses, PageId, Policy, Tick};
use turnstone_pagestore::{Entry, Key, NewPage, Position, Store, StoreError};
use turnstone_urls::{Url, host_of, site_of};

use crate::crossings::Crossings;
use crate::ledger::{Ledger, LedgerError};

/// Why something cannot cross.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CrossError {
    /// Not a transfer.
    #[error("a transfer between shards: {0}")]
    Malformed(#[from] Malformed),
    /// Its page was never named.
    #[error("a transfer between shards speaks of a page that was never named")]
    Unknown,
    /// Its page is out of scope here.
    #[error(
        "a transfer between shards brings mass for a page out of scope: give all shards one scope"
    )]
    Outside,
    /// There are no shards.
    #[error(
        "a transfer between shards, but the crawl is not cut into any, or its policy cannot be"
    )]
    Whole,
    /// A sender is stopped.
    #[error(transparent)]
    Alarm(#[from] Alarm),
    /// A transfer came too early.
    #[error("transfer {need} of a shard is missing before those that came")]
    Missing {
        /// The first that is missing.
        need: u64,
    },
    /// A journal lost what another shard has.
    #[error(
        "shard {to} received {applied} transfers of shard {from}, whose journal has only {sent}: it was cut \
         or replaced; put the journal back that belongs to this crawl"
    )]
    Beyond {
        /// The sender.
        from: u32,
        /// The receiver.
        to: u32,
        /// What the receiver applied.
        applied: u64,
        /// What the sender's journal has.
        sent: u64,
    },
}

/// Makes a new store that of one shard, of so many. It is the first entry.
///
/// # Panics
/// If the store has entries, or there is no such shard.
pub fn cut(store: &mut Store, shard: u32, shards: u32, tick: Tick) {
    assert_eq!(
        store.end(),
        Position::FIRST,
        "a crawl is cut before it begins"
    );
    assert!(
        shard < shards && shards <= SHARDS_MAX,
        "shard {shard} of {shards}"
    );
    store.append(tick, &Entry::Cut { shard, shards });
}

/// The host of a name, numbered now if it is new. Where it belongs to another shard, that is written down.
pub(crate) fn host_of_name(store: &mut Store, tick: Tick, name: &str) -> HostId {
    if let Some(host) = store.index().find_host(name) {
        return host;
    }
    if let Some((me, shards)) = store.index().shard() {
        let shard = owner(store.secret(), shards, name).0;
        if shard != me {
            return store.host_away(tick, name, shard);
        }
    }
    store.host(tick, name)
}

/// The shard of a host: that of its registrable domain.
fn owner(secret: [u8; 16], shards: u32, host: &str) -> Shard {
    let url = Url::parse(&format!("http://{host}/"));
    let site = url.as_ref().map_or(host, |url| site_of(url));
    Cut::new(secret, shards).shard_of(site)
}

impl<P: Policy> Ledger<P> {
    /// What crossed, where this is a shard.
    pub fn crossings(&self) -> Option<&Crossings> {
        self.state.crossings.as_ref()
    }

    /// Where all mass of this shard is, where it is one.
    pub fn masses(&self) -> Option<Masses> {
        self.crossings()?;
        Some(self.scheduler().shard()?.masses())
    }

    /// The lane that a shard receives through.
    pub fn lane_of(&self, to: Shard) -> u32 {
        let shards = self.crossings().map_or(1, Crossings::shards);
        to.0 % Cut::new([0; 16], shards).lanes()
    }

    /// Sends what belongs to other shards: entries `Sent`, each with one transfer of one lane. Returns how
    /// many there were. Of mass only what a page holds `least` of, so that many small items become few.
    pub fn send(&mut self, tick: Tick, least: u64) -> Result<u64, LedgerError> {
        let mut count = 0;
        for (lane, items) in self.outgoing(least)? {
            let mut bytes = 0;
            let mut parcels: BTreeMap<Shard, Vec<Item>> = BTreeMap::new();
            for (to, item) in items {
                bytes += item.encoded_bytes();
                parcels.entry(to).or_default().push(item);
                if bytes >= TRANSFER_BYTES {
                    bytes = 0;
                    count += self.tell_sent(tick, lane, std::mem::take(&mut parcels));
                }
            }
            if !parcels.is_empty() {
                count += self.tell_sent(tick, lane, parcels);
            }
        }
        Ok(count)
    }

    /// Sends one transfer, or none if nothing is left to send: with what pages hold now, for the one before may
    /// have moved mass.
    fn tell_sent(&mut self, tick: Tick, lane: u32, mut parcels: BTreeMap<Shard, Vec<Item>>) -> u64 {
        for items in parcels.values_mut() {
            items.retain_mut(|item| match item.carries {
                Carries::Mass { .. } => {
                    let page = self.index().find(Key::from_bytes(item.key));
                    let number = page.and_then(|page| self.view().inner(page));
                    let ranking = self.scheduler().ranking();
                    item.mass = number.map_or(0, |number| ranking.rank(number));
                    item.mass > 0
                }
                Carries::Dead | Carries::Back => true,
            });
        }
        parcels.retain(|_, items| !items.is_empty());
        if parcels.is_empty() {
            return 0;
        }
        let crossings = self.crossings().expect("only shards send");
        let transfer = crossings.outbox.make(crossings.me(), lane, parcels);
        let bytes = &transfer.encode();
        self.tell(tick, &Entry::Sent { lane, bytes });
        1
    }

    /// By lane: everything that is to be told, to whom.
    fn outgoing(&self, least: u64) -> Result<BTreeMap<u32, Vec<(Shard, Item)>>, LedgerError> {
        let crossings = self.crossings().ok_or(CrossError::Whole)?;
        let shard = self.scheduler().shard().ok_or(CrossError::Whole)?;
        let mut lanes: BTreeMap<u32, Vec<(Shard, Item)>> = BTreeMap::new();
        let mut add = |to, item| lanes.entry(self.lane_of(to)).or_default().push((to, item));
        let ranking = self.scheduler().ranking();
        let mut away: Vec<(PageId, u64)> = Vec::new();
        if ranking.best_away().is_some_and(|(_, mass)| mass >= least) {
            away.extend(ranking.away().filter(|(_, mass)| *mass >= least));
        }
        // The largest first, and in one order whatever the heap's.
        away.sort_unstable_by_key(|(page, mass)| (std::cmp::Reverse(*mass), *page));
        for (number, mass) in away {
            let page = self.view().outer(number);
            let to = self.index().away(self.index().host(page));
            let to = Shard(to.expect("a page that is away has an owner"));
            let (sent, hops) = shard.sent_for(number);
            let carries = Carries::Mass { hops };
            // By its key alone its shard would not know a page that was never mentioned.
            let named = sent == 0;
            add(to, self.item(page, carries, mass, named)?);
        }
        for (page, to) in crossings.untold() {
            add(to, self.item(page, Carries::Dead, 0, false)?);
        }
        for (to, page, mass) in crossings.backs() {
            add(to, self.item(page, Carries::Back, mass, false)?);
        }
        Ok(lanes)
    }

    fn item(
        &self,
        page: PageId,
        carries: Carries,
        mass: u64,
        named: bool,
    ) -> Result<Item, StoreError> {
        let (key, url) = self.store().named(page)?;
        Ok(Item {
            key: key.to_bytes(),
            carries,
            mass,
            depth: self.index().depth(page),
            url: named.then_some(url),
        })
    }

    /// The transfer of a lane with a number, if it was sent before a position: give the one up to which all is
    /// durable.
    pub fn transfer(
        &self,
        lane: u32,
        number: u64,
        durable: Position,
    ) -> Result<Option<Vec<u8>>, StoreError> {
        let at = self.crossings().and_then(|it| it.sent_at(lane, number));
        match at.filter(|at| *at < durable) {
            Some(at) => Ok(Some(self.store().sent(at)?.1)),
            None => Ok(None),
        }
    }

    /// Judges a transfer, and takes it in if it is the next one of its sender. `judge` says why a page that
    /// is new here is not going to be asked for, as class and detail.
    pub fn receive(
        &mut self,
        tick: Tick,
        bytes: &[u8],
        judge: impl Fn(&Url) -> Option<(String, String)>,
    ) -> Result<Admission, LedgerError> {
        let crossings = self.state.crossings.as_mut().ok_or(CrossError::Whole)?;
        let me = crossings.me();
        let admission = crossings.inbox.offer(me, bytes).map_err(CrossError::from)?;
        if let Admission::Apply(received) = &admission {
            self.check_items(received)?;
            for item in &received.parcel.items {
                self.meet(tick, item, &judge);
            }
            let mut received = received.clone();
            for item in &mut received.parcel.items {
                // Now that its page is known its key will do.
                item.url = None;
            }
            let bytes = &received.encode();
            self.tell(tick, &Entry::Received { bytes });
        }
        Ok(admission)
    }

    /// Nothing is written of a transfer that cannot be applied as a whole.
    fn check_items(&self, received: &Received) -> Result<(), CrossError> {
        for item in &received.parcel.items {
            let known = self.index().find(Key::from_bytes(item.key));
            match (known, &item.url) {
                (Some(page), _) if self.view().inner(page).is_none() => {
                    return Err(CrossError::Outside);
                }
                (Some(_), _) => {}
                (None, Some(url)) if url.len() <= URL_BYTES_MAX && Url::parse(url).is_ok() => {}
                (None, _) => return Err(CrossError::Unknown),
            }
        }
        Ok(())
    }

    /// Numbers the page of an item, if it is new.
    fn meet(&mut self, tick: Tick, item: &Item, judge: impl Fn(&Url) -> Option<(String, String)>) {
        let key = Key::from_bytes(item.key);
        let (None, Some(Ok(url))) = (self.index().find(key), item.url.as_deref().map(Url::parse))
        else {
            return;
        };
        let host = self.host(tick, host_of(&url));
        let refused = judge(&url).unwrap_or_default();
        let new = NewPage {
            key,
            url: url.as_str(),
            host,
            seed: false,
            outside: false,
            listed: false,
            depth: item.depth,
            refused: (&refused.0, &refused.1),
            metadata: &[],
        };
        self.add(tick, new);
    }

    /// Whether a receiver knows no more of this shard than its journal has, and the same.
    pub fn check_pair<Q: Policy>(&self, to: &Ledger<Q>) -> Result<(), LedgerError> {
        let (Some(mine), Some(theirs)) = (self.crossings(), to.crossings()) else {
            return Err(CrossError::Whole.into());
        };
        let lane = self.lane_of(theirs.me());
        let (sent, known) = (mine.outbox.number(lane), theirs.inbox.known(mine.me()));
        if known.number > sent {
            return Err(CrossError::Beyond {
                from: mine.me().0,
                to: theirs.me().0,
                applied: known.number,
                sent,
            }
            .into());
        }
        if let Some(at) = mine.sent_at(lane, known.number) {
            let (_, bytes) = self.store().sent(at)?;
            if Digest::of(&bytes) != known.digest {
                let (from, number) = (mine.me(), known.number);
                return Err(CrossError::from(Alarm::TwoHistories { from, number }).into());
            }
        }
        Ok(())
    }
}
