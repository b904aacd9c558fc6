//! The lease: which node holds a shard, by deadlines that each node reads off its own clock.
//!
//! A key holds `{node, life, epoch, counter, position}` and is rewritten every 3 s. The holder may act
//! until 18 s after it *sent* the last renewal that was acknowledged. A taker must have seen the
//! revision unchanged for 20 s since it first *heard* of it; then it swaps in the next epoch, which
//! succeeds only if there was no renewal meanwhile. Sending comes before hearing, so the holder's 18 s
//! end first as long as no clock runs 5 % faster than another: only rates matter, never the time of
//! day. 20 s because electing a new leader of the bus took up to 7.7 s.
//!
//! The position of the journal that the holder knows to be durable rides along: a taker that finds a
//! shorter journal knows that the bus lost a tail.
//!
//! Assumed: the bus does not lose an acknowledged swap. If it does, two nodes may hold a lease for
//! up to 18 s; the chain still lets only one of them write.

use crate::Millis;
use crate::bus::{Answer, Key, Request};
use crate::shard::{NodeId, Shard};
use crate::wire::{Cursor, Malformed, Put as _};

/// How often a lease is renewed.
pub const RENEW_MS: Millis = 3_000;
/// How long the holder may act after it sent a renewal.
pub const HOLD_MS: Millis = 18_000;
/// How long a taker must see no renewal.
pub const TAKE_MS: Millis = 20_000;

const VERSION: u8 = 1;

/// What the key of a shard says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lease {
    /// Who holds it.
    pub node: NodeId,
    /// Which of the node's attempts at this shard this is: a node that lost a shard and takes it
    /// again must not mistake its former lease for the new one.
    pub life: u64,
    /// How often it changed hands.
    pub epoch: u64,
    /// How often it was renewed.
    pub counter: u64,
    /// So much of the journal was durable.
    pub position: u64,
    /// Whether it is held.
    pub hold: Hold,
}

/// Whether a lease is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hold {
    /// Until it is no longer renewed.
    Held,
    /// Given back in order: anybody may take it at once.
    Released,
    /// Given back because the journal lacks a tail: whoever has a file up to `position` may take
    /// it at once, and nobody else.
    Refused,
}

impl Lease {
    /// As the value of a key.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = vec![VERSION];
        out.put_number(self.node.0);
        out.put_number(self.life);
        out.put_number(self.epoch);
        out.put_number(self.counter);
        out.put_number(self.position);
        out.push(match self.hold {
            Hold::Held => 0,
            Hold::Released => 1,
            Hold::Refused => 2,
        });
        out
    }

    /// From the value of a key.
    pub fn decode(bytes: &[u8]) -> Result<Self, Malformed> {
        let mut from = Cursor::versioned(bytes, VERSION)?;
        let lease = Self {
            node: NodeId(from.number()?),
            life: from.number()?,
            epoch: from.number()?,
            counter: from.number()?,
            position: from.number()?,
            hold: match from.byte()? {
                0 => Hold::Held,
                1 => Hold::Released,
                2 => Hold::Refused,
                _ => return Err(Malformed("a hold that means nothing")),
            },
        };
        from.end()?;
        Ok(lease)
    }
}

/// Where a holder stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holding {
    /// The swap to the new epoch is not acknowledged yet.
    Taking,
    /// The lease is ours, up to the deadline.
    Held,
    /// Somebody else has it, or we gave it back.
    Gone,
}

/// Takes a lease, renews it, gives it back.
#[derive(Debug)]
pub struct Holder {
    shard: Shard,
    lease: Lease,
    revision: u64,
    holding: Holding,
    deadline: Millis,
    /// What is written next: that it is held, or how it is given back.
    hold: Hold,
    /// The swap that was sent last, until it is known to have failed.
    swap: Option<Swap>,
    asked: Asked,
    next_at: Millis,
}

#[derive(Clone, Copy, Debug)]
struct Swap {
    sent_at: Millis,
    lease: Lease,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Asked {
    Nothing,
    Swap,
    Load,
    /// Not asked yet, but the key must be read before it is written again.
    MustLoad,
}

impl Holder {
    /// Wants the lease of a shard that was last seen at this revision, if it was ever held. `life`
    /// is another for each attempt of this node.
    pub fn take(shard: Shard, (node, life): (NodeId, u64), before: Option<(u64, Lease)>) -> Self {
        let (revision, epoch, position) = before.map_or((0, 0, 0), |(revision, lease)| {
            (revision, lease.epoch, lease.position)
        });
        let lease = Lease {
            node,
            life,
            epoch: epoch + 1,
            counter: 0,
            position,
            hold: Hold::Held,
        };
        Self {
            shard,
            lease,
            revision,
            holding: Holding::Taking,
            deadline: 0,
            hold: Hold::Held,
            swap: None,
            asked: Asked::Nothing,
            next_at: 0,
        }
    }

    /// Where it stands.
    pub fn holding(&self) -> Holding {
        self.holding
    }

    /// How much of the journal somebody knew to be durable.
    pub fn position(&self) -> u64 {
        self.lease.position
    }

    /// The epoch we hold or want.
    pub fn epoch(&self) -> u64 {
        self.lease.epoch
    }

    /// The moment from which on we may not act; 0 before the lease is held.
    pub fn deadline(&self) -> Millis {
        self.deadline
    }

    /// Gives the lease back. The caller has finished everything.
    pub fn release(&mut self) {
        self.hold = Hold::Released;
        self.next_at = 0;
    }

    /// Gives the lease back to whoever has the journal up to this position.
    pub fn refuse(&mut self, position: u64) {
        self.hold = Hold::Refused;
        self.lease.position = self.lease.position.max(position);
        self.next_at = 0;
    }

    /// What it needs done now. `position` is how much of the journal is durable, once this epoch
    /// has sealed it; until then the lease repeats what its last holder knew.
    pub fn want(&mut self, now: Millis, position: Option<u64>) -> Option<Request> {
        let key = Key::Lease(self.shard);
        match self.asked {
            Asked::Swap | Asked::Load => None,
            Asked::Nothing if self.holding == Holding::Gone || now < self.next_at => None,
            Asked::MustLoad => {
                self.asked = Asked::Load;
                Some(Request::Load { key })
            }
            Asked::Nothing => {
                let lease = Lease {
                    counter: self.lease.counter + 1,
                    position: position.unwrap_or(self.lease.position),
                    hold: self.hold,
                    ..self.lease
                };
                self.lease.counter = lease.counter;
                self.lease.position = lease.position;
                self.swap = Some(Swap {
                    sent_at: now,
                    lease,
                });
                self.asked = Asked::Swap;
                Some(Request::Swap {
                    key,
                    expect: self.revision,
                    value: lease.encode(),
                })
            }
        }
    }

    /// Takes the answer to what was wanted.
    pub fn answered(&mut self, answer: &Answer, now: Millis) {
        let asked = std::mem::replace(&mut self.asked, Asked::Nothing);
        match (asked, answer) {
            (Asked::Swap, Answer::Swapped { revision }) => self.swapped(*revision),
            (Asked::Load, Answer::Values(values)) => self.loaded(values, now),
            // Refused, or no answer: whose it is now must be read.
            _ => self.asked = Asked::MustLoad,
        }
    }

    fn swapped(&mut self, revision: u64) {
        let swap = self.swap.take().expect("a swap was sent");
        self.revision = revision;
        if swap.lease.hold != Hold::Held {
            self.holding = Holding::Gone;
            self.deadline = 0;
            return;
        }
        self.holding = Holding::Held;
        // From when it was sent: nobody else can have seen it earlier.
        self.deadline = self.deadline.max(swap.sent_at + HOLD_MS);
        self.next_at = swap.sent_at + RENEW_MS;
        if self.hold != Hold::Held {
            self.next_at = 0;
        }
    }

    fn loaded(&mut self, values: &[(Key, u64, Vec<u8>)], now: Millis) {
        let found = values
            .first()
            .and_then(|(_, revision, value)| Some((*revision, Lease::decode(value).ok()?)));
        let mark = |lease: &Lease| (lease.node, lease.life, lease.epoch);
        let ours = |lease: &Lease| mark(lease) == mark(&self.lease);
        match found {
            Some((revision, lease)) if ours(&lease) => {
                self.revision = revision;
                match self.swap {
                    // It was done after all.
                    Some(swap) if swap.lease.counter == lease.counter => self.swapped(revision),
                    _ => {
                        if self.holding == Holding::Taking {
                            // An earlier attempt of this taking: ours, but the deadline comes with
                            // a renewal whose sending time is known.
                            self.holding = Holding::Held;
                        }
                        self.next_at = now;
                    }
                }
            }
            Some((_, lease)) if lease.epoch >= self.lease.epoch => self.holding = Holding::Gone,
            Some((revision, _)) if self.holding == Holding::Taking => {
                if revision != self.revision {
                    // Whoever held it renewed it: it is not free.
                    self.holding = Holding::Gone;
                }
            }
            // An old view, or the bus lost what it had acknowledged: write it again.
            Some((revision, _)) => self.revision = revision,
            None => self.revision = 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: Key = Key::Lease(Shard(3));

    fn taken(at: Millis) -> Holder {
        let mut holder = Holder::take(Shard(3), (NodeId(1), 1), None);
        assert!(matches!(
            holder.want(at, None),
            Some(Request::Swap { expect: 0, .. })
        ));
        holder.answered(&Answer::Swapped { revision: 5 }, at + 900);
        holder
    }

    #[test]
    fn the_deadline_counts_from_sending() {
        let mut holder = taken(1_000);
        assert_eq!(holder.holding(), Holding::Held);
        assert_eq!(holder.deadline(), 1_000 + HOLD_MS);
        assert_eq!(holder.want(3_999, None), None);
        assert!(holder.want(4_000, None).is_some());
        holder.answered(&Answer::Doubt, 9_000);
        assert_eq!(holder.deadline(), 1_000 + HOLD_MS, "doubt prolongs nothing");
    }

    #[test]
    fn a_lost_answer_is_found_by_reading() {
        let mut holder = taken(0);
        let Some(Request::Swap { value, .. }) = holder.want(3_000, Some(77)) else {
            panic!("no renewal")
        };
        holder.answered(&Answer::Doubt, 8_000);
        assert_eq!(
            holder.want(8_000, Some(77)),
            Some(Request::Load { key: KEY })
        );
        holder.answered(&Answer::Values(vec![(KEY, 6, value)]), 8_100);
        assert_eq!(holder.deadline(), 3_000 + HOLD_MS);
        assert_eq!(holder.holding(), Holding::Held);
    }

    #[test]
    fn a_higher_epoch_ends_it() {
        let mut holder = taken(0);
        holder.want(3_000, None);
        holder.answered(&Answer::Refused, 3_010);
        holder.want(3_010, None);
        let other = Lease {
            node: NodeId(2),
            life: 1,
            epoch: 2,
            counter: 1,
            position: 0,
            hold: Hold::Held,
        };
        holder.answered(&Answer::Values(vec![(KEY, 9, other.encode())]), 3_020);
        assert_eq!(holder.holding(), Holding::Gone);
        assert_eq!(holder.want(9_000, None), None);
    }

    #[test]
    fn every_cut_is_refused() {
        let bytes = Holder::take(Shard(1), (NodeId(u64::MAX), 1), None)
            .lease
            .encode();
        assert!(Lease::decode(&bytes).is_ok());
        for cut in 0..bytes.len() {
            assert!(Lease::decode(&bytes[..cut]).is_err());
        }
    }
}
