//! Addresses that several shards use: one of them, the address's home, permits each request.
//!
//! Politeness is owed to an address, and two sites on one address may be in two shards. The home is
//! a shard chosen by a hash of the address. A shard registers an address before its first request
//! there. While it is the only one it has the address alone and asks nobody. When a second one
//! registers, the home tells the first; once that has acknowledged, with no request open there, or
//! its lease has ended, the address is shared: each request needs a permit, one at a time. A permit
//! may be used once, up to 5 s after it was *asked* for, by the asker's clock; the next one is
//! given a delay after the asker said that it is over, or its lease has ended. No home, no request.
//!
//! Registrations, permits and their ends are entries of the home's journal: a reply goes out once
//! its entry is durable, and the next holder folds them. It rests a full delay first, because it
//! does not know when the last request was.
//!
//! Messages may be lost, late or doubled: everything is asked again until it is answered, and
//! permits are numbered, so that an old end does not end a new permit.

use std::collections::BTreeMap;

use crate::Millis;
use crate::shard::Shard;

/// How long a permit is good, from asking.
pub const PERMIT_MS: Millis = 5_000;
/// When to ask again while others are served.
pub const AGAIN_MS: Millis = 500;

/// An IPv6 address, or an IPv4 address mapped to one.
pub type Address = [u8; 16];

/// What a home answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reply {
    /// The address is the asker's alone: no permits are needed until told otherwise.
    Alone,
    /// Others use it, too: ask for each request.
    Shared,
    /// One request may be sent, under this number.
    Permit(u64),
    /// Not before so many milliseconds: ask again then.
    Later(Millis),
    /// Register first.
    Unknown,
}

/// What a home does with a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked {
    /// Answer it.
    Answer(Reply),
    /// Enter a permit in the journal ([`Home::permitted`]); answer it when that is durable.
    Enter,
}

/// The addresses whose home a shard is: a fold of its journal.
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
    out: Option<(Shard, u64)>,
    permits: u64,
}

impl Home {
    /// A holder that took over rests a full delay.
    pub fn taken_over(&mut self, now: Millis, delay_max: Millis) {
        self.quiet_until = now + delay_max;
    }

    /// Whether a registration is new, and must be durable before it is answered.
    pub fn is_new(&self, address: &Address, shard: Shard) -> bool {
        let users = self.addresses.get(address);
        users.is_none_or(|users| !users.shards.contains(&shard))
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
    /// open. Its last request may have been this moment.
    pub fn shared(&mut self, address: &Address, now: Millis, delay: Millis) {
        if let Some(users) = self.addresses.get_mut(address)
            && users.alone
        {
            users.alone = false;
            users.free_at = users.free_at.max(now + delay);
        }
    }

    /// Folds that the lease of a shard has ended: nobody sends in its old epoch any more.
    pub fn ended(&mut self, shard: Shard, now: Millis, delay: Millis) {
        for users in self.addresses.values_mut() {
            let alone = users.alone && users.shards[0] == shard && users.shards.len() > 1;
            if alone || users.out.is_some_and(|(who, _)| who == shard) {
                users.alone &= !alone;
                users.out = users.out.filter(|(who, _)| *who != shard);
                users.free_at = users.free_at.max(now + delay);
            }
        }
    }

    /// Who must be told that it no longer has an address alone.
    pub fn to_tell(&self) -> impl Iterator<Item = (Shard, Address)> + '_ {
        let waiting = |(_, users): &(&Address, &Users)| users.alone && users.shards.len() > 1;
        let told = self.addresses.iter().filter(waiting);
        told.map(|(address, users)| (users.shards[0], *address))
    }

    /// A shard asks what it may do at an address: after registering, and before each request at one
    /// that is shared.
    pub fn ask(&self, address: &Address, shard: Shard, now: Millis) -> Asked {
        let Some(users) = self.addresses.get(address) else {
            return Asked::Answer(Reply::Unknown);
        };
        if !users.shards.contains(&shard) {
            return Asked::Answer(Reply::Unknown);
        }
        let free_at = users.free_at.max(self.quiet_until);
        Asked::Answer(match users.out {
            _ if users.alone && users.shards == [shard] => Reply::Alone,
            _ if users.alone => Reply::Later(AGAIN_MS),
            // The answer was lost: it is the same permit.
            Some((who, number)) if who == shard => Reply::Permit(number),
            Some(_) => Reply::Later(AGAIN_MS),
            None if now < free_at => Reply::Later(free_at - now),
            None => return Asked::Enter,
        })
    }

    /// Folds a permit; returns its number.
    pub fn permitted(&mut self, address: &Address, shard: Shard) -> u64 {
        let users = self.addresses.entry(*address).or_default();
        assert!(users.out.is_none() && !users.alone, "one permit at a time");
        users.permits += 1;
        users.out = Some((shard, users.permits));
        users.permits
    }

    /// Folds that the request of a permit is over. An end that was heard before changes nothing.
    pub fn over(
        &mut self,
        address: &Address,
        (shard, number): (Shard, u64),
        now: Millis,
        delay: Millis,
    ) {
        if let Some(users) = self.addresses.get_mut(address)
            && users.out == Some((shard, number))
        {
            users.out = None;
            users.free_at = users.free_at.max(now + delay);
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
    /// Register at the home, then ask.
    Register,
    /// Ask the home.
    Ask,
    /// Tell the home again that the request of this permit is over.
    Over(u64),
    /// Nothing before this moment.
    WaitUntil(Millis),
}

/// The addresses one shard uses, in one epoch.
#[derive(Debug, Default)]
pub struct Guest {
    addresses: BTreeMap<Address, Used>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Used {
    standing: Standing,
    /// A permit, and up to when it is good.
    permit: Option<(u64, Millis)>,
    /// The last permit that was used; the home hears that it is over with every question.
    used: u64,
    wait_until: Millis,
}

impl Guest {
    /// What may be done now; the shard has no request open there. A permit is used up by `Send`.
    pub fn may(&mut self, address: &Address, now: Millis) -> May {
        let used = self.addresses.entry(*address).or_default();
        if used.standing == Standing::Alone {
            return May::Send;
        }
        if let Some((number, good_until)) = used.permit.take()
            && now < good_until
        {
            used.used = number;
            return May::Send;
        }
        if now < used.wait_until {
            return May::WaitUntil(used.wait_until);
        }
        match used.standing {
            Standing::Unknown => May::Register,
            _ => May::Ask,
        }
    }

    /// Takes the reply to what was asked at a moment of our own clock. Returns what to say at once.
    pub fn replied(
        &mut self,
        address: &Address,
        reply: Reply,
        (asked_at, now): (Millis, Millis),
    ) -> Option<May> {
        let used = self.addresses.entry(*address).or_default();
        match reply {
            // A late reply cannot give back what was shared since.
            Reply::Alone if used.standing == Standing::Shared => {}
            Reply::Alone => used.standing = Standing::Alone,
            Reply::Shared => used.standing = Standing::Shared,
            // Used already: the home has not heard that it is over.
            Reply::Permit(number) if number <= used.used => return Some(May::Over(number)),
            Reply::Permit(number) => {
                used.standing = Standing::Shared;
                used.permit = Some((number, asked_at + PERMIT_MS));
            }
            Reply::Later(wait) => used.wait_until = now + wait,
            Reply::Unknown => used.standing = Standing::Unknown,
        }
        None
    }

    /// The home says that others use the address, too. The caller acknowledges once none of its
    /// requests is open there.
    pub fn share(&mut self, address: &Address) {
        let used = self.addresses.entry(*address).or_default();
        used.standing = Standing::Shared;
    }

    /// The permit that was used last: to be told when its request is over.
    pub fn used(&self, address: &Address) -> u64 {
        self.addresses.get(address).map_or(0, |used| used.used)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const IP: Address = [9; 16];
    const DELAY: Millis = 1_000;
    const A: Shard = Shard(1);
    const B: Shard = Shard(2);

    fn later(wait: Millis) -> Asked {
        Asked::Answer(Reply::Later(wait))
    }

    #[test]
    fn alone_then_shared_then_one_at_a_time() {
        let (mut home, mut a) = (Home::default(), Guest::default());
        assert_eq!(a.may(&IP, 0), May::Register);
        home.registered(IP, A);
        assert_eq!(home.ask(&IP, A, 0), Asked::Answer(Reply::Alone));
        a.replied(&IP, Reply::Alone, (0, 10));
        assert_eq!(a.may(&IP, 10), May::Send);
        home.registered(IP, B);
        assert_eq!(home.ask(&IP, B, 100), later(AGAIN_MS), "A may be asking");
        assert_eq!(home.to_tell().collect::<Vec<_>>(), [(A, IP)]);
        a.share(&IP);
        assert_eq!(a.may(&IP, 200), May::Ask);
        a.replied(&IP, Reply::Alone, (0, 200));
        assert_eq!(a.may(&IP, 200), May::Ask, "a late reply");
        home.shared(&IP, 300, DELAY);
        assert_eq!(home.ask(&IP, B, 300), later(DELAY));
        assert_eq!(home.ask(&IP, B, 1_300), Asked::Enter);
        assert_eq!(home.permitted(&IP, B), 1);
        assert_eq!(home.ask(&IP, A, 9_400), later(AGAIN_MS), "until it is over");
        assert_eq!(home.ask(&IP, B, 9_400), Asked::Answer(Reply::Permit(1)));
        home.over(&IP, (A, 1), 9_500, DELAY);
        home.over(&IP, (B, 0), 9_500, DELAY);
        assert_eq!(home.ask(&IP, A, 9_500), later(AGAIN_MS), "not that permit");
        home.over(&IP, (B, 1), 9_600, DELAY);
        assert_eq!(home.ask(&IP, A, 10_600), Asked::Enter);
        home.permitted(&IP, A);
        home.ended(A, 11_000, DELAY);
        assert_eq!(home.ask(&IP, B, 11_000), later(DELAY));
    }

    #[test]
    fn a_permit_is_good_once_and_from_asking() {
        let mut guest = Guest::default();
        guest.share(&IP);
        guest.replied(&IP, Reply::Permit(1), (1_000, 5_999));
        assert_eq!(guest.may(&IP, 5_999), May::Send);
        assert_eq!(guest.may(&IP, 5_999), May::Ask);
        let said = guest.replied(&IP, Reply::Permit(1), (5_999, 6_000));
        assert_eq!(said, Some(May::Over(1)), "used already");
        guest.replied(&IP, Reply::Permit(2), (1_000, 6_000));
        assert_eq!(guest.may(&IP, 6_000), May::Ask, "it came too late");
    }

    #[test]
    fn a_new_home_rests_and_remembers() {
        let mut home = Home::default();
        home.registered(IP, A);
        home.registered(IP, B);
        home.taken_over(50, DELAY);
        assert_eq!(
            home.ask(&IP, A, 50),
            later(AGAIN_MS),
            "B may wait for A's word"
        );
        home.ended(A, 60, 0);
        assert_eq!(home.ask(&IP, A, 60), later(990));
        assert_eq!(home.ask(&IP, Shard(7), 60), Asked::Answer(Reply::Unknown));
        assert!(!home.is_new(&IP, B) && home.is_new(&IP, Shard(7)));
    }
}
