//! Addresses that several shards use: one of them, the address's home, permits each request.
//!
//! Politeness is owed to an address, and two sites on one address may be in two shards. The home is
//! a shard chosen by a hash of the address. A shard registers an address before its first request
//! there. While it is the only one it has the address alone and asks nobody. When a second one
//! registers, the home tells the first; once that has acknowledged, with no request open there, or
//! its lease has ended, the address is shared: each request needs a permit, one at a time. A permit
//! is good for 5 s from when it was *asked* for, by the asker's clock; the home counts them from
//! when it heard, which is later, so the next permit never comes too early. No home, no request.
//!
//! Registrations are entries of the home's journal: a reply goes out once its entry is durable, and
//! the next holder folds them. Permits are not: a new holder gives none for 5 s and a delay.
//!
//! Messages may be lost or doubled; each is sent again until it is answered.

use std::collections::BTreeMap;

use crate::Millis;
use crate::shard::Shard;

/// How long a permit is good, from asking.
pub const PERMIT_MS: Millis = 5_000;

/// An IPv6 address, or an IPv4 address mapped to one.
pub type Address = [u8; 16];

/// What a home answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reply {
    /// The address is the asker's alone: no permits are needed until told otherwise.
    Alone,
    /// Others use it, too: ask for each request.
    Shared,
    /// The shard that had it alone has not acknowledged yet: ask again.
    Wait,
    /// One request may be sent.
    Permit,
    /// Not before so many milliseconds: ask again then.
    Later(Millis),
    /// Register first.
    Unknown,
}

/// The calendar of the addresses whose home a shard is.
#[derive(Debug, Default)]
pub struct Home {
    addresses: BTreeMap<Address, Users>,
    quiet_until: Millis,
}

#[derive(Debug, Default)]
struct Users {
    /// In the order of their registration.
    shards: Vec<Shard>,
    /// Whether the first still has it alone.
    alone: bool,
    free_at: Millis,
    /// Whose permit is out.
    out: Option<Shard>,
}

impl Home {
    /// A holder that took over: permits of its predecessor may still be good.
    pub fn taken_over(&mut self, now: Millis, delay_max: Millis) {
        self.quiet_until = now + PERMIT_MS + delay_max;
    }

    /// Whether a registration is new, and must be durable before it is answered.
    pub fn is_new(&self, address: &Address, shard: Shard) -> bool {
        self.addresses
            .get(address)
            .is_none_or(|users| !users.shards.contains(&shard))
    }

    /// Folds a registration.
    pub fn registered(&mut self, address: Address, shard: Shard) {
        let users = self.addresses.entry(address).or_default();
        if !users.shards.contains(&shard) {
            users.alone |= users.shards.is_empty();
            users.shards.push(shard);
        }
    }

    /// Folds that the first user no longer has the address alone: it acknowledged, with no request
    /// open, or its lease has ended. Its last request may have been this moment.
    pub fn shared(&mut self, address: &Address, now: Millis, delay: Millis) {
        if let Some(users) = self.addresses.get_mut(address) {
            users.alone = false;
            users.free_at = users.free_at.max(now + delay);
        }
    }

    /// Who must be told that it no longer has an address alone.
    pub fn to_tell(&self) -> impl Iterator<Item = (Shard, Address)> + '_ {
        let waiting = |(_, users): &(&Address, &Users)| users.alone && users.shards.len() > 1;
        let told = self.addresses.iter().filter(waiting);
        told.map(|(address, users)| (users.shards[0], *address))
    }

    /// Answers a shard whose registration is durable.
    pub fn reply(&self, address: &Address, shard: Shard) -> Reply {
        match self.addresses.get(address) {
            Some(users) if users.shards.contains(&shard) => {
                match (users.alone, users.shards[0] == shard, users.shards.len()) {
                    (true, true, 1) => Reply::Alone,
                    (true, _, _) => Reply::Wait,
                    (false, _, _) => Reply::Shared,
                }
            }
            _ => Reply::Unknown,
        }
    }

    /// Asks for one request at a shared address.
    pub fn ask(&mut self, address: &Address, shard: Shard, now: Millis, delay: Millis) -> Reply {
        let quiet_until = self.quiet_until;
        let Some(users) = self.addresses.get_mut(address) else {
            return Reply::Unknown;
        };
        if !users.shards.contains(&shard) {
            return Reply::Unknown;
        }
        if users.alone {
            return Reply::Wait;
        }
        let free_at = users.free_at.max(quiet_until);
        if now < free_at {
            return Reply::Later(free_at - now);
        }
        users.out = Some(shard);
        users.free_at = now + PERMIT_MS + delay;
        Reply::Permit
    }

    /// The request of a permit is over: the address rests a delay from now, not from the end of
    /// the permit.
    pub fn over(&mut self, address: &Address, shard: Shard, now: Millis, delay: Millis) {
        if let Some(users) = self.addresses.get_mut(address)
            && users.out == Some(shard)
        {
            users.out = None;
            users.free_at = now + delay;
        }
    }
}

/// What a shard knows of an address it wants to use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Standing {
    #[default]
    Unknown,
    Alone,
    Shared,
}

/// What a shard may do at an address now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum May {
    /// Send one request.
    Send,
    /// Register at the home.
    Register,
    /// Ask the home.
    Ask,
    /// Ask the home again at this moment.
    WaitUntil(Millis),
}

/// The addresses one shard uses.
#[derive(Debug, Default)]
pub struct Guest {
    addresses: BTreeMap<Address, Used>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Used {
    standing: Standing,
    /// The permit is good up to here; 0 if there is none.
    good_until: Millis,
    wait_until: Millis,
}

impl Guest {
    /// What may be done now. A permit is used up by `Send`.
    pub fn may(&mut self, address: &Address, now: Millis) -> May {
        let used = self.addresses.entry(*address).or_default();
        match used.standing {
            Standing::Alone => May::Send,
            Standing::Shared if now < used.good_until => {
                used.good_until = 0;
                May::Send
            }
            _ if now < used.wait_until => May::WaitUntil(used.wait_until),
            Standing::Unknown => May::Register,
            Standing::Shared => May::Ask,
        }
    }

    /// Takes the reply to what was asked at a moment of our own clock.
    pub fn replied(&mut self, address: &Address, reply: Reply, asked_at: Millis, now: Millis) {
        let used = self.addresses.entry(*address).or_default();
        match reply {
            // A late reply cannot give back what was shared since.
            Reply::Alone if used.standing == Standing::Shared => {}
            Reply::Alone => used.standing = Standing::Alone,
            Reply::Shared => used.standing = Standing::Shared,
            Reply::Wait => used.wait_until = now + PERMIT_MS / 5,
            Reply::Permit => {
                used.standing = Standing::Shared;
                used.good_until = asked_at + PERMIT_MS;
            }
            Reply::Later(wait) => used.wait_until = now + wait,
            Reply::Unknown => used.standing = Standing::Unknown,
        }
    }

    /// The home says that others use the address, too. The caller acknowledges once none of its
    /// requests is open there.
    pub fn share(&mut self, address: &Address) {
        let used = self.addresses.entry(*address).or_default();
        used.standing = Standing::Shared;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const IP: Address = [9; 16];
    const DELAY: Millis = 1_000;
    const A: Shard = Shard(1);
    const B: Shard = Shard(2);

    #[test]
    fn alone_then_shared_then_one_at_a_time() {
        let (mut home, mut a) = (Home::default(), Guest::default());
        assert_eq!(a.may(&IP, 0), May::Register);
        home.registered(IP, A);
        a.replied(&IP, home.reply(&IP, A), 0, 10);
        assert_eq!(a.may(&IP, 10), May::Send);
        home.registered(IP, B);
        assert_eq!(home.reply(&IP, B), Reply::Wait);
        assert_eq!(home.ask(&IP, B, 100, DELAY), Reply::Wait, "A may be asking");
        assert_eq!(home.to_tell().collect::<Vec<_>>(), [(A, IP)]);
        a.share(&IP);
        assert_eq!(a.may(&IP, 200), May::Ask);
        a.replied(&IP, Reply::Alone, 0, 200);
        assert_eq!(a.may(&IP, 200), May::Ask, "a late reply");
        home.shared(&IP, 300, DELAY);
        assert_eq!(home.ask(&IP, B, 300, DELAY), Reply::Later(DELAY));
        assert_eq!(home.ask(&IP, B, 1_300, DELAY), Reply::Permit);
        assert_eq!(home.ask(&IP, A, 1_400, DELAY), Reply::Later(5_900));
        home.over(&IP, A, 1_500, DELAY);
        assert_eq!(
            home.ask(&IP, A, 1_500, DELAY),
            Reply::Later(5_800),
            "not A's to end"
        );
        home.over(&IP, B, 1_600, DELAY);
        assert_eq!(home.ask(&IP, A, 2_600, DELAY), Reply::Permit);
    }

    #[test]
    fn a_permit_is_good_once_and_from_asking() {
        let mut guest = Guest::default();
        guest.share(&IP);
        guest.replied(&IP, Reply::Permit, 1_000, 5_999);
        assert_eq!(guest.may(&IP, 5_999), May::Send);
        assert_eq!(guest.may(&IP, 5_999), May::Ask);
        guest.replied(&IP, Reply::Permit, 1_000, 6_000);
        assert_eq!(guest.may(&IP, 6_000), May::Ask, "it came too late");
    }

    #[test]
    fn a_new_home_keeps_quiet_and_remembers() {
        let mut home = Home::default();
        home.registered(IP, A);
        home.registered(IP, B);
        home.taken_over(50, DELAY);
        assert_eq!(
            home.reply(&IP, A),
            Reply::Wait,
            "B may have been told that it is shared"
        );
        home.shared(&IP, 60, DELAY);
        assert_eq!(home.ask(&IP, A, 60, DELAY), Reply::Later(5_990));
        assert_eq!(home.ask(&IP, Shard(7), 60, DELAY), Reply::Unknown);
        assert!(!home.is_new(&IP, B) && home.is_new(&IP, Shard(7)));
    }
}
