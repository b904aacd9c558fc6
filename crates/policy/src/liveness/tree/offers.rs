//! What is on offer: the few pages of each host that may be asked for next.
//!
//! A host's best places are listed by how likely their pages are alive. Of each host at most
//! [`OPEN_MAX`] pages are open at once, so that a verdict can still change what comes next. A page
//! whose neighbours are in flight is worth what it would be if they came back gone: where
//! much is known several go out together, where nothing is known one.
//!
//! A host whose best page is less likely alive than [`BAR`] of the best of all hosts waits. Hosts are
//! asked side by side, each at its own pace, so an order of pages alone would not keep a crawler
//! from spending requests on hosts that are dead while a live one rests.
//!
//! Cost: O(log places) a change; 24 bytes for each place on the list, 60 a host.

use std::collections::BTreeSet;
use std::io;

use turnstone_frontier::{PageId, Restore, Save, corrupt};

use super::places::{Places, Value};

/// How many pages of a host are open at once.
pub(super) const OPEN_MAX: usize = 4;

/// A host waits while its best chance is less than this part of the best of all: four fifths.
const BAR: (u64, u64) = (4, 5);

/// The lists of all hosts.
#[derive(Debug, Default)]
pub(super) struct Offers {
    /// (host, value, the place whose turn it is from the end, the place): a host's best stands last.
    listed: BTreeSet<(u32, Value, u32, u32)>,
    /// By host: the pages open, in the order they were offered.
    pub(super) open: Vec<Vec<PageId>>,
    /// By host: the value of its best place; `None` when nothing is left to offer.
    standing: Vec<Option<Value>>,
    /// The same, the best host last.
    hosts: BTreeSet<(Value, u32)>,
    /// A host whose best chance is below it waits.
    pub(super) bar: u32,
    /// The hosts that wait: those below the bar when their offers were last made. A host that the bar
    /// has passed stays as it is until it is touched, so that a bar that moves to and fro costs
    /// nothing.
    waiting: BTreeSet<(Value, u32)>,
}

impl Offers {
    pub(super) fn new(hosts: usize) -> Self {
        Self {
            open: vec![Vec::new(); hosts],
            standing: vec![None; hosts],
            bar: u32::MAX,
            ..Self::default()
        }
    }

    /// How many hosts there are.
    pub(super) fn host_count(&self) -> usize {
        self.open.len()
    }

    /// Brings the list up to date with a place that changed; `turn` is the turn under which it was
    /// listed, if it was.
    pub(super) fn relist(
        &mut self,
        host: u32,
        places: &mut Places,
        place: usize,
        turn: Option<u32>,
    ) {
        let entry = |value, turn| (host, value, u32::MAX - turn, place as u32);
        let known = &places.all[place];
        let before = known.listed.zip(turn);
        let fresh = known.begun && places.has_fresh(place);
        let after = fresh.then(|| (value(known.told), places.turn(place)));
        // Most pages are withdrawn only to be offered again: the list is as it was.
        if before == after {
            return;
        }
        if let Some((value, turn)) = before {
            self.listed.remove(&entry(value, turn));
        }
        places.all[place].listed = after.map(|(value, _)| value);
        if let Some((value, turn)) = after {
            self.listed.insert(entry(value, turn));
        }
    }

    /// The best places of a host, the best first.
    pub(super) fn best(&self, host: u32) -> impl Iterator<Item = usize> + '_ {
        let all = (host, Value::MIN, 0, 0)..=(host, Value::MAX, u32::MAX, u32::MAX);
        self.listed.range(all).rev().map(|listed| listed.3 as usize)
    }

    /// Notes what the best place of a host is worth now.
    pub(super) fn stand(&mut self, host: u32) {
        let all = (host, Value::MIN, 0, 0)..=(host, Value::MAX, u32::MAX, u32::MAX);
        let best = self.listed.range(all).next_back().map(|listed| listed.1);
        let old = std::mem::replace(&mut self.standing[host as usize], best);
        if old != best {
            if let Some(old) = old {
                self.hosts.remove(&(old, host));
                self.waiting.remove(&(old, host));
            }
            if let Some(best) = best {
                self.hosts.insert((best, host));
            }
        }
    }

    /// The chance of the best page there is, 0 if there is none.
    pub(super) fn best_of_all(&self) -> u32 {
        self.hosts.last().map_or(0, |(value, _)| value.get() - 1)
    }

    /// Moves the bar to where it belongs. Returns the hosts that need no longer wait.
    pub(super) fn move_bar(&mut self) -> Vec<u32> {
        self.bar = (u64::from(self.best_of_all()) * BAR.0 / BAR.1) as u32;
        let is_free = |(best, _): &(Value, u32)| *best >= value(self.bar);
        if !self.waiting.last().is_some_and(is_free) {
            return Vec::new();
        }
        let freed = self.waiting.split_off(&(value(self.bar), 0));
        freed.into_iter().map(|(_, host)| host).collect()
    }

    /// Whether a host waits, which is noted.
    pub(super) fn waits(&mut self, host: u32) -> bool {
        let Some(best) = self.standing[host as usize] else {
            return false;
        };
        let waits = best < value(self.bar);
        if waits {
            self.waiting.insert((best, host));
        }
        waits
    }

    /// How many bytes all this takes, about: a B-tree is two thirds full.
    pub(super) fn allocated_bytes(&self) -> usize {
        (self.listed.len() * 16 + (self.hosts.len() + self.waiting.len()) * 8) * 3 / 2
            + self.open.capacity() * size_of::<Vec<PageId>>()
            + self
                .open
                .iter()
                .map(|open| open.capacity() * 4)
                .sum::<usize>()
            + self.standing.capacity() * 4
    }

    /// Takes back what was saved beside the places.
    pub(super) fn restore(
        from: &mut dyn io::Read,
        places: &Places,
        host_of: impl Fn(usize) -> u32,
        hosts: usize,
    ) -> io::Result<Self> {
        let mut offers = Self::new(hosts);
        for open in &mut offers.open {
            *open = Restore::restore(from)?;
        }
        for standing in &mut offers.standing {
            let value: u32 = Restore::restore(from)?;
            *standing = Value::new(value);
        }
        offers.bar = Restore::restore(from)?;
        let waiting: Vec<(u32, u32)> = Restore::restore(from)?;
        for (value, host) in waiting {
            let value = Value::new(value).filter(|_| (host as usize) < hosts);
            let value = value.ok_or_else(|| corrupt("a host that waits for nothing"))?;
            offers.waiting.insert((value, host));
        }
        for (place, known) in places.all.iter().enumerate() {
            if let Some(value) = known.listed {
                let turn = u32::MAX - places.turn(place);
                let listed = (host_of(place), value, turn, place as u32);
                offers.listed.insert(listed);
            }
        }
        for (host, standing) in offers.standing.iter().enumerate() {
            offers
                .hosts
                .extend(standing.map(|value| (value, host as u32)));
        }
        Ok(offers)
    }
}

impl Save for Offers {
    fn save(&self, out: &mut dyn io::Write) -> io::Result<()> {
        for open in &self.open {
            open.save(out)?;
        }
        for standing in &self.standing {
            standing.map_or(0, Value::get).save(out)?;
        }
        self.bar.save(out)?;
        let waiting = self
            .waiting
            .iter()
            .map(|(value, host)| (value.get(), *host));
        waiting.collect::<Vec<_>>().save(out)
    }
}

/// A chance as a list has it.
pub(super) fn value(chance: u32) -> Value {
    Value::MIN.saturating_add(chance)
}
