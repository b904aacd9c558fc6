//! One address, one home that moves, and shards that share it over a wire that loses, doubles and
//! delays: no two requests open at once, and a full delay between them.

use std::collections::{BTreeMap, VecDeque};

use turnstone_cluster::Shard;
use turnstone_cluster::address::{Address, Asked, Guest, Home, May, Reply};

use crate::sim::Random;

const IP: Address = [1; 16];
const DELAY: u64 = 1_000;

/// What travels. Questions carry the asker's clock and which of its lives asks.
#[derive(Clone, Debug)]
enum Letter {
    Register(Shard, (u64, u64)),
    Ask(Shard, (u64, u64)),
    Over(Shard, u64),
    Share(Shard),
    Shared(Shard, u64),
    Reply(Shard, Reply, (u64, u64)),
}

/// Entries of the home's journal: durable after a while, lost if the home dies before.
#[derive(Clone, Debug)]
enum Entry {
    Registered(Shard),
    Permitted(Shard),
    Over(Shard, u64),
    Shared,
    Ended(Shard),
}

struct Sharer {
    guest: Guest,
    life: u64,
    /// The request that is open, up to this moment.
    open_until: u64,
    ask_at: u64,
    /// The home asked to share; to be acknowledged when nothing is open.
    share: bool,
    over: Option<u64>,
}

struct World {
    random: Random,
    now: u64,
    wire: BTreeMap<(u64, u64), Letter>,
    letters: u64,
    home: Home,
    durable: Vec<Entry>,
    writing: VecDeque<(u64, Entry, Option<Letter>)>,
    guests: BTreeMap<Shard, Sharer>,
    /// When the last request ended, and how many there were.
    last_end: u64,
    requests: u64,
}

impl World {
    fn post(&mut self, letter: &Letter) {
        for _ in 0..1 + u64::from(self.random.below(5) == 0) {
            if self.random.below(6) > 0 {
                let late = if self.random.below(20) == 0 {
                    8_000
                } else {
                    60
                };
                self.letters += 1;
                let at = self.now + 1 + self.random.below(late);
                self.wire.insert((at, self.letters), letter.clone());
            }
        }
    }

    fn enter(&mut self, entry: Entry, then: Option<Letter>) {
        let at = self.now + 5 + self.random.below(100);
        let at = self
            .writing
            .back()
            .map_or(at, |(before, _, _)| at.max(*before));
        self.writing.push_back((at, entry, then));
    }

    fn fold(home: &mut Home, entry: &Entry, now: u64) -> Option<u64> {
        match entry {
            Entry::Registered(shard) => home.registered(IP, *shard),
            Entry::Permitted(shard) => return Some(home.permitted(&IP, *shard)),
            Entry::Over(shard, number) => home.over(&IP, (*shard, *number), now, DELAY),
            Entry::Shared => home.shared(&IP, now, DELAY),
            Entry::Ended(shard) => home.ended(*shard, now, DELAY),
        }
        None
    }

    /// The home dies; the next holder knows what was durable.
    fn move_home(&mut self) {
        self.writing.clear();
        self.home = Home::default();
        for entry in &self.durable {
            Self::fold(&mut self.home, entry, self.now);
        }
        self.home.taken_over(self.now, DELAY);
    }

    /// A shard changes hands: its old holder's deadline is past, whatever it had open is over.
    fn move_guest(&mut self, shard: Shard) {
        let guest = self.guests.get_mut(&shard).unwrap();
        if guest.open_until > self.now {
            return;
        }
        let life = guest.life + 1;
        *guest = Sharer {
            guest: Guest::default(),
            life,
            open_until: 0,
            ask_at: 0,
            share: false,
            over: None,
        };
        // It is in the journal like everything else that changes the fold.
        let ended = Entry::Ended(shard);
        Self::fold(&mut self.home, &ended, self.now);
        self.durable.push(ended);
    }

    fn deliver(&mut self, letter: Letter) {
        match letter {
            Letter::Register(shard, asked) => {
                if self.home.is_new(&IP, shard) {
                    self.enter(Entry::Registered(shard), None);
                } else {
                    self.answer(shard, asked);
                }
            }
            Letter::Ask(shard, asked) => self.answer(shard, asked),
            Letter::Over(shard, number) => self.enter(Entry::Over(shard, number), None),
            Letter::Share(shard) => {
                let guest = self.guests.get_mut(&shard).unwrap();
                guest.guest.share(&IP);
                guest.share = true;
            }
            Letter::Shared(shard, life) => {
                let first = self.home.to_tell().any(|(who, _)| who == shard);
                if first && self.guests[&shard].life == life {
                    self.enter(Entry::Shared, None);
                }
            }
            Letter::Reply(shard, reply, (asked_at, life)) => {
                let guest = self.guests.get_mut(&shard).unwrap();
                if guest.life == life
                    && let Some(May::Over(number)) =
                        guest.guest.replied(&IP, reply, (asked_at, self.now))
                {
                    let open = guest.open_until > self.now && guest.guest.used(&IP) == number;
                    if !open {
                        self.post(&Letter::Over(shard, number));
                    }
                }
            }
        }
    }

    fn answer(&mut self, shard: Shard, asked: (u64, u64)) {
        match self.home.ask(&IP, shard, self.now) {
            Asked::Answer(reply) => self.post(&Letter::Reply(shard, reply, asked)),
            Asked::Enter => {
                let pending = |(_, entry, _): &(u64, Entry, Option<Letter>)| {
                    matches!(entry, Entry::Permitted(_))
                };
                if !self.writing.iter().any(pending) {
                    self.enter(Entry::Permitted(shard), Some(Letter::Ask(shard, asked)));
                }
            }
        }
    }

    fn step(&mut self) {
        self.now += 10;
        while let Some(entry) = self.wire.first_entry()
            && entry.key().0 <= self.now
        {
            let letter = entry.remove();
            self.deliver(letter);
        }
        while self
            .writing
            .front()
            .is_some_and(|(at, _, _)| *at <= self.now)
        {
            let (_, entry, then) = self.writing.pop_front().unwrap();
            Self::fold(&mut self.home, &entry, self.now);
            self.durable.push(entry);
            if let Some(Letter::Ask(shard, asked)) = then {
                self.answer(shard, asked);
            }
        }
        if self.now.is_multiple_of(1_000) {
            let tell: Vec<Shard> = self.home.to_tell().map(|(shard, _)| shard).collect();
            for shard in tell {
                self.post(&Letter::Share(shard));
            }
        }
        let shards: Vec<Shard> = self.guests.keys().copied().collect();
        for shard in shards {
            self.step_guest(shard);
        }
    }

    fn step_guest(&mut self, shard: Shard) {
        let now = self.now;
        let guest = self.guests.get_mut(&shard).unwrap();
        if guest.open_until > now {
            return;
        }
        if guest.open_until != 0 {
            guest.open_until = 0;
            guest.over = Some(guest.guest.used(&IP)).filter(|number| *number > 0);
            // A shard that has the address alone keeps its own calendar.
            guest.ask_at = now + DELAY;
        }
        let life = guest.life;
        let (over, share) = (guest.over.take(), std::mem::take(&mut guest.share));
        if let Some(number) = over {
            self.post(&Letter::Over(shard, number));
        }
        if share {
            self.post(&Letter::Shared(shard, life));
        }
        let guest = self.guests.get_mut(&shard).unwrap();
        if now < guest.ask_at {
            return;
        }
        match guest.guest.may(&IP, now) {
            May::Send => {
                let open = 100 + self.random.below(9_000);
                let guest = self.guests.get_mut(&shard).unwrap();
                guest.open_until = now + open;
                let rest = now as i64 - self.last_end as i64;
                assert!(
                    self.requests == 0 || rest >= DELAY as i64,
                    "{shard:?} asked {rest} ms after the last request ended"
                );
                self.last_end = now + open;
                self.requests += 1;
            }
            May::Register => {
                guest.ask_at = now + 700;
                self.post(&Letter::Register(shard, (now, life)));
            }
            May::Ask => {
                guest.ask_at = now + 700;
                self.post(&Letter::Ask(shard, (now, life)));
            }
            May::Over(_) | May::WaitUntil(_) => {}
        }
    }
}

#[test]
fn an_address_is_asked_by_one_at_a_time() {
    for seed in 0..60 {
        let guest = |_| Sharer {
            guest: Guest::default(),
            life: 0,
            open_until: 0,
            ask_at: 0,
            share: false,
            over: None,
        };
        let mut world = World {
            random: Random::new(seed),
            now: 0,
            wire: BTreeMap::new(),
            letters: 0,
            home: Home::default(),
            durable: Vec::new(),
            writing: VecDeque::new(),
            guests: (0..3)
                .map(|number| (Shard(number), guest(number)))
                .collect(),
            last_end: 0,
            requests: 0,
        };
        for shard in 1..3 {
            world.guests.get_mut(&Shard(shard)).unwrap().ask_at = 20_000 * u64::from(shard);
        }
        for _ in 0..20_000 {
            world.step();
            if world.random.below(3_000) == 0 {
                world.move_home();
            }
            if world.random.below(4_000) == 0 {
                let shard = Shard(world.random.below(3) as u32);
                world.move_guest(shard);
            }
        }
        assert!(
            world.requests > 12,
            "seed {seed}: only {} requests",
            world.requests
        );
    }
}
