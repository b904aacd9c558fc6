//! Addresses at which hosts of several shards are met: one asks at a time, whichever shard it is.
//!
//! A host belongs to the shard of its registrable domain, so two hosts at one address may belong to two.
//! Each shard has a calendar of its own, in which neither sees the other. Within a process they have this
//! book in common. A *place* is all hosts that are asked as one, of all shards: it grows together as their
//! addresses are met. Where one shard alone is at a place its own calendar is enough, and asking here costs
//! a look. Where several are, a request needs a permit: nobody's request is open there, the rest after the
//! last one is over, and whoever was refused before goes first.
//!
//! Where other processes ask too, an address is asked only while this one has its *token* ([`Places::has_token`]).
//!
//! Nothing is kept over a restart: who takes the shards over tells how long each address rests yet.
//!
//! Moments are those of the process, in ticks; who asks converts. Cost: a map look-up a request, 100 bytes a host.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::net::IpAddr;

use turnstone_frontier::HostId;

/// Who waits for an open request of another asks again so much later, at least.
const ASK_AGAIN: u64 = 5;
/// Who does not come back this long after it could, loses its turn: at least, or a delay.
const TURN_LOST: u64 = 100;

/// A shard, by its number within the process.
pub(crate) type Who = usize;

/// All places.
#[derive(Debug, Default)]
pub(crate) struct Places {
    addresses: HashMap<IpAddr, usize>,
    hosts: HashMap<(Who, HostId), usize>,
    places: Vec<Place>,
    /// Where other processes ask too.
    tokens: Option<Tokens>,
}

/// Which addresses this process may ask.
#[derive(Debug, Default)]
struct Tokens {
    ours: BTreeSet<IpAddr>,
    /// Asked for since the last look.
    needed: BTreeSet<IpAddr>,
}

#[derive(Debug, Default)]
struct Place {
    /// The place that this one became part of, if it did.
    part_of: Option<usize>,
    /// By shard that has asked there: its open requests.
    open: BTreeMap<Who, u32>,
    /// When the last permit was given.
    last: u64,
    /// Nobody asks before.
    free_at: u64,
    /// Who was refused, and comes back when; the first one first.
    queue: Vec<(Who, u64)>,
    addresses: Vec<IpAddr>,
    /// Its token was taken from somebody who is gone: nobody asks before.
    taken_rest: u64,
}

impl Place {
    fn open(&self) -> u32 {
        self.open.values().sum()
    }

    fn absorb(&mut self, other: Self) {
        for (who, open) in other.open {
            *self.open.entry(who).or_default() += open;
        }
        self.last = self.last.max(other.last);
        self.free_at = self.free_at.max(other.free_at);
        self.queue.extend(other.queue);
        self.addresses.extend(other.addresses);
        self.taken_rest = self.taken_rest.max(other.taken_rest);
    }
}

/// When who waits for a token asks again.
const TOKEN_AGAIN: u64 = 20;

impl Places {
    /// Of a process among others.
    pub(crate) fn with_tokens() -> Self {
        Self {
            tokens: Some(Tokens::default()),
            ..Self::default()
        }
    }

    /// The token of an address is ours, or is no more. Where it was taken from nobody who gave it back, the
    /// address rests up to a moment.
    pub(crate) fn has_token(&mut self, address: IpAddr, ours: bool, rests_until: u64) {
        if let Some(tokens) = &mut self.tokens {
            if ours {
                tokens.ours.insert(address);
            } else {
                tokens.ours.remove(&address);
            }
        }
        if let Some(place) = self.addresses.get(&address).copied() {
            let place = self.root(place);
            let place = &mut self.places[place];
            place.taken_rest = place.taken_rest.max(rests_until);
        }
    }

    /// An address is not asked any more. Whether nothing is open there, and it has rested: then its token may be given
    /// away.
    pub(crate) fn let_go(&mut self, address: IpAddr, now: u64) -> bool {
        // From now on: who is busy there would never find a moment to stop.
        if let Some(tokens) = &mut self.tokens {
            tokens.ours.remove(&address);
        }
        let Some(place) = self.addresses.get(&address).copied() else {
            return true;
        };
        let place = self.root(place);
        let place = &self.places[place];
        place.open() == 0 && now >= place.free_at
    }

    /// The addresses whose tokens were missing since this was last asked.
    pub(crate) fn needed(&mut self) -> BTreeSet<IpAddr> {
        let tokens = self.tokens.as_mut();
        tokens.map_or_else(BTreeSet::new, |tokens| std::mem::take(&mut tokens.needed))
    }

    /// A shard is no longer of this process: what it had open is not known to end.
    pub(crate) fn forget(&mut self, who: Who, rests_until: u64) {
        for place in &mut self.places {
            if place.open.remove(&who).is_some_and(|open| open > 0) {
                place.free_at = place.free_at.max(rests_until);
            }
            place.queue.retain(|(waits, _)| *waits != who);
        }
        self.hosts.retain(|(shard, _), _| *shard != who);
    }

    /// A host was met at these addresses.
    pub(crate) fn found(&mut self, who: Who, host: HostId, addresses: &[IpAddr]) {
        for address in addresses {
            let mine = self.of_host(who, host);
            let known = match self.addresses.get(address) {
                Some(known) => *known,
                None => {
                    self.addresses.insert(*address, mine);
                    self.places[mine].addresses.push(*address);
                    mine
                }
            };
            self.unite(known, mine);
        }
    }

    /// Whether all addresses of a place may be asked.
    fn has_tokens_of(&mut self, place: usize) -> bool {
        let Some(tokens) = &mut self.tokens else {
            return true;
        };
        let addresses = self.places[place].addresses.iter();
        let missing = addresses.filter(|address| !tokens.ours.contains(address));
        let missing: Vec<IpAddr> = missing.copied().collect();
        tokens.needed.extend(&missing);
        missing.is_empty()
    }

    /// An address rests, as one shard knows from before this process.
    pub(crate) fn rests(&mut self, who: Who, address: IpAddr, until: u64) {
        let fresh = self.places.len();
        let place = *self.addresses.entry(address).or_insert(fresh);
        if place == fresh {
            self.places.push(Place {
                addresses: vec![address],
                ..Place::default()
            });
        }
        let place = self.root(place);
        let place = &mut self.places[place];
        place.open.entry(who).or_default();
        place.free_at = place.free_at.max(until);
    }

    /// Whether a request may be sent to a host now; else when to ask again. A permit counts as an open request
    /// until [`Places::closed`].
    pub(crate) fn ask(&mut self, who: Who, host: HostId, now: u64, delay: u64) -> Result<(), u64> {
        let place = self.of_host(who, host);
        if !self.has_tokens_of(place) {
            return Err(now + TOKEN_AGAIN);
        }
        let place = &mut self.places[place];
        if now < place.taken_rest {
            return Err(place.taken_rest);
        }
        place.open.entry(who).or_default();
        if place.open.len() > 1 {
            let lost = delay.max(TURN_LOST);
            place.queue.retain(|(_, back)| back + lost >= now);
            let before_me = place.queue.first().filter(|(first, _)| *first != who);
            let until = if place.open() > 0 {
                Some(
                    place
                        .free_at
                        .max(place.last + delay)
                        .max(now + ASK_AGAIN.max(delay / 4)),
                )
            } else if let Some((_, back)) = before_me {
                Some(place.free_at.max(*back).max(now) + delay.max(ASK_AGAIN))
            } else if now < place.free_at {
                Some(place.free_at)
            } else {
                None
            };
            if let Some(until) = until {
                match place.queue.iter_mut().find(|(waits, _)| *waits == who) {
                    Some((_, back)) => *back = until,
                    None => place.queue.push((who, until)),
                }
                return Err(until);
            }
            place.queue.retain(|(waits, _)| *waits != who);
        }
        place.last = now;
        *place.open.entry(who).or_default() += 1;
        Ok(())
    }

    /// A request of a shard ended; the host rests until a moment.
    pub(crate) fn closed(&mut self, who: Who, host: HostId, until: u64) {
        let place = self.of_host(who, host);
        let place = &mut self.places[place];
        place.free_at = place.free_at.max(until);
        let open = place.open.entry(who).or_default();
        *open = open.checked_sub(1).expect("what ends had a permit");
    }

    fn of_host(&mut self, who: Who, host: HostId) -> usize {
        let fresh = self.places.len();
        let place = *self.hosts.entry((who, host)).or_insert(fresh);
        if place == fresh {
            self.places.push(Place::default());
        }
        let root = self.root(place);
        self.hosts.insert((who, host), root);
        root
    }

    fn root(&self, mut place: usize) -> usize {
        while let Some(of) = self.places[place].part_of {
            place = of;
        }
        place
    }

    fn unite(&mut self, a: usize, b: usize) {
        let (a, b) = (self.root(a), self.root(b));
        if a == b {
            return;
        }
        let part = Place {
            part_of: Some(a),
            ..Place::default()
        };
        let other = std::mem::replace(&mut self.places[b], part);
        self.places[a].absorb(other);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DELAY: u64 = 1000;

    fn address(last: u8) -> IpAddr {
        [10, 0, 0, last].into()
    }

    #[test]
    fn alone_a_shard_has_what_its_calendar_gives() {
        let mut places = Places::default();
        places.found(0, HostId(1), &[address(1)]);
        for now in 0..3 {
            assert_eq!(places.ask(0, HostId(1), now, DELAY), Ok(()));
        }
        // Another one comes: it waits for all of them, and for the rest after the last.
        places.found(1, HostId(7), &[address(1)]);
        assert_eq!(places.ask(1, HostId(7), 10, DELAY), Err(1002));
        assert_eq!(
            places.ask(0, HostId(1), 10, DELAY),
            Err(1002),
            "now it is shared"
        );
        for _ in 0..3 {
            places.closed(0, HostId(1), 1100);
        }
        assert_eq!(places.ask(1, HostId(7), 1099, DELAY), Err(1100));
        assert_eq!(places.ask(1, HostId(7), 1100, DELAY), Ok(()));
        assert_eq!(
            places.ask(0, HostId(2), 1100, DELAY),
            Ok(()),
            "a place of its own"
        );
    }

    #[test]
    fn places_grow_together_and_rests_are_told() {
        let mut places = Places::default();
        places.rests(0, address(2), 500);
        places.found(1, HostId(0), &[address(1)]);
        assert_eq!(places.ask(1, HostId(0), 0, DELAY), Ok(()));
        places.closed(1, HostId(0), 0);
        places.found(1, HostId(0), &[address(2)]);
        assert_eq!(places.ask(1, HostId(0), 1, DELAY), Err(500));
        places.found(2, HostId(0), &[address(1)]);
        assert_eq!(
            places.ask(2, HostId(0), 500, DELAY),
            Err(1500),
            "it is the other's turn"
        );
        assert_eq!(places.ask(1, HostId(0), 500, DELAY), Ok(()));
    }

    /// Whoever asks when: no two requests closer than the delay, none beside another, nobody starves.
    #[test]
    fn several_shards_ask_one_address_politely_and_in_turn() {
        for seed in 0..200u64 {
            let mut dice = seed;
            let mut roll = |sides: u64| {
                dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                (dice >> 33) % sides
            };
            let shards = 2 + roll(3) as usize;
            let mut places = Places::default();
            for who in 0..shards {
                places.found(who, HostId(0), &[address(1)]);
            }
            let mut wakes = vec![0u64; shards];
            let mut open: Option<(Who, u64)> = None;
            let (mut last, mut asked) = (None, vec![0u32; shards]);
            // All are known to ask there.
            for who in 0..shards {
                if places.ask(who, HostId(0), 0, DELAY).is_ok() {
                    places.closed(who, HostId(0), 0);
                }
            }
            for now in 1..400_000 {
                if let Some((who, until)) = open
                    && until <= now
                {
                    places.closed(who, HostId(0), last.unwrap_or(0) + DELAY);
                    open = None;
                }
                let who = roll(shards as u64) as usize;
                if wakes[who] > now {
                    continue;
                }
                match places.ask(who, HostId(0), now, DELAY) {
                    Err(until) => {
                        assert!(until > now);
                        wakes[who] = until;
                    }
                    Ok(()) => {
                        assert_eq!(open, None, "seed {seed}: two at once");
                        if let Some(last) = last {
                            assert!(now - last >= DELAY, "seed {seed}: {last} {now}");
                        }
                        last = Some(now);
                        asked[who] += 1;
                        open = Some((who, now + 1 + roll(2 * DELAY)));
                        wakes[who] = now + DELAY;
                    }
                }
            }
            let (least, most) = (asked.iter().min().unwrap(), asked.iter().max().unwrap());
            assert!(*least * 2 > *most, "seed {seed}: {asked:?}");
            assert!(asked.iter().sum::<u32>() > 150, "seed {seed}: {asked:?}");
        }
    }
}
