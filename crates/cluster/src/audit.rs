//! What shards say of themselves, and what follows from it for the whole crawl.
//!
//! A shard states its account at a durable position of its journal:
//! `endowed + received + owed − sent = covered + residuals + lost`, in 128 bits. Summed over all shards,
//! held + (sent − received) is everything that was endowed, at *any* set of positions: each
//! statement is right by itself, and mass on its way is counted by the difference. So no consistent
//! cut is needed, and snapshots of channels (Chandy and Lamport) were rejected.
//!
//! `covered` only grows, so a sum of stale statements is a bound that holds. A crawl is exhausted
//! when two waves, the second begun after the first was complete, find all shards idle, every pair
//! sent = received, and the same sums: then nothing was under way between them that could wake one.

use std::collections::BTreeMap;

use crate::shard::{NodeId, SHARDS_MAX, Shard};
use crate::wire::{Cursor, Malformed, Put as _};

/// 2 has what is owed, what weakens the claim, and figures.
const VERSION: u8 = 2;
/// The most figures of a statement.
pub const FIGURES_MAX: u64 = 64;

/// The masses of one shard.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Account {
    /// Given to it at birth.
    pub endowed: u128,
    /// Come from other shards.
    pub received: u128,
    /// Gone to other shards.
    pub sent: u128,
    /// Counted as covered.
    pub covered: u128,
    /// Still to be pushed, pages of other shards included.
    pub residuals: u128,
    /// Lost for good.
    pub lost: u128,
    /// Taken back by its sender after it was covered here.
    pub owed: u128,
    /// What of the covered may be wrong, what surely is not stored, what never can be: no part of the
    /// balance, but of what all shards prove.
    pub doubt: u128,
    /// See `doubt`.
    pub missing: u128,
    /// See `doubt`.
    pub stuck: u128,
}

impl Account {
    /// Whether nothing appeared or vanished.
    pub fn balanced(&self) -> bool {
        self.endowed + self.received + self.owed
            == self.sent + self.covered + self.residuals + self.lost
    }
}

/// Whether a shard has anything to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// Pages to fetch, requests open, entries not durable or transfers not published.
    Busy,
    /// None of these.
    Idle,
}

/// What a shard says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Statement {
    /// The shard.
    pub shard: Shard,
    /// Who says it, and in which epoch.
    pub claim: (u64, NodeId),
    /// The wave that was asked for when it was said.
    pub wave: u64,
    /// Where in the journal it holds.
    pub position: u64,
    /// Whether it has anything to do.
    pub work: Work,
    /// The best rank it could hand out.
    pub best: u64,
    /// Its masses.
    pub account: Account,
    /// By receiver: all mass sent.
    pub sent: BTreeMap<Shard, u128>,
    /// By sender: what came.
    pub senders: BTreeMap<Shard, Sender>,
    /// What the driver has to say besides: numbers that mean nothing here.
    pub figures: Vec<u64>,
}

/// What a shard says of one of its senders.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sender {
    /// All mass received.
    pub mass: u128,
    /// The last transfer applied, durable or not.
    pub applied: u64,
    /// The last epoch of the sender it has read of.
    pub heard: u64,
}

impl Statement {
    /// As the value of a key.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = vec![VERSION];
        out.put_number(u64::from(self.shard.0));
        out.put_number(self.claim.0);
        out.put_number(self.claim.1.0);
        out.put_number(self.wave);
        out.put_number(self.position);
        out.push(u8::from(self.work == Work::Idle));
        out.put_number(self.best);
        let Account {
            endowed,
            received,
            sent,
            covered,
            residuals,
            lost,
            owed,
            doubt,
            missing,
            stuck,
        } = self.account;
        for mass in [
            endowed, received, sent, covered, residuals, lost, owed, doubt, missing, stuck,
        ] {
            out.put_wide(mass);
        }
        out.put_number(self.sent.len() as u64);
        for (to, mass) in &self.sent {
            out.put_number(u64::from(to.0));
            out.put_wide(*mass);
        }
        out.put_number(self.senders.len() as u64);
        for (from, sender) in &self.senders {
            out.put_number(u64::from(from.0));
            out.put_wide(sender.mass);
            out.put_number(sender.applied);
            out.put_number(sender.heard);
        }
        out.put_number(self.figures.len() as u64);
        for figure in &self.figures {
            out.put_number(*figure);
        }
        out
    }

    /// From the value of a key.
    pub fn decode(bytes: &[u8]) -> Result<Self, Malformed> {
        let mut from = Cursor::versioned(bytes, VERSION)?;
        let mut statement = Self {
            shard: read_shard(&mut from)?,
            claim: (from.number()?, NodeId(from.number()?)),
            wave: from.number()?,
            position: from.number()?,
            work: match from.byte()? {
                0 => Work::Busy,
                1 => Work::Idle,
                _ => return Err(Malformed("a state of work that means nothing")),
            },
            best: from.number()?,
            account: Account {
                endowed: from.wide()?,
                received: from.wide()?,
                sent: from.wide()?,
                covered: from.wide()?,
                residuals: from.wide()?,
                lost: from.wide()?,
                owed: from.wide()?,
                doubt: from.wide()?,
                missing: from.wide()?,
                stuck: from.wide()?,
            },
            sent: BTreeMap::new(),
            senders: BTreeMap::new(),
            figures: Vec::new(),
        };
        for _ in 0..from.count(2)? {
            let to = read_shard(&mut from)?;
            statement.sent.insert(to, from.wide()?);
        }
        for _ in 0..from.count(4)? {
            let shard = read_shard(&mut from)?;
            let sender = Sender {
                mass: from.wide()?,
                applied: from.number()?,
                heard: from.number()?,
            };
            statement.senders.insert(shard, sender);
        }
        let figures = from.count(1)? as u64;
        if figures > FIGURES_MAX {
            return Err(Malformed("more figures than a statement has"));
        }
        for _ in 0..figures {
            statement.figures.push(from.number()?);
        }
        from.end()?;
        Ok(statement)
    }
}

fn read_shard(from: &mut Cursor<'_>) -> Result<Shard, Malformed> {
    let shard = from.small()?;
    if shard >= SHARDS_MAX {
        return Err(Malformed("a shard beyond the most there can be"));
    }
    Ok(Shard(shard))
}

/// The sums over the shards that stated anything.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Audit {
    /// All shards' masses together.
    pub account: Account,
    /// How many shards stated anything.
    pub shards: u32,
    /// How many of them do not balance by themselves.
    pub unbalanced: u32,
}

impl Audit {
    /// Sums statements, one a shard.
    pub fn of<'s>(statements: impl IntoIterator<Item = &'s Statement>) -> Self {
        let mut audit = Self::default();
        for Statement { account, .. } in statements {
            let sum = &mut audit.account;
            sum.endowed += account.endowed;
            sum.received += account.received;
            sum.sent += account.sent;
            sum.covered += account.covered;
            sum.residuals += account.residuals;
            sum.lost += account.lost;
            sum.owed += account.owed;
            sum.doubt += account.doubt;
            sum.missing += account.missing;
            sum.stuck += account.stuck;
            audit.shards += 1;
            audit.unbalanced += u32::from(!account.balanced());
        }
        audit
    }

    /// Everything there is: held, and on its way. It must be all that was ever endowed.
    pub fn total(&self) -> u128 {
        let Account {
            received,
            sent,
            covered,
            residuals,
            lost,
            owed,
            ..
        } = self.account;
        // Statements of receivers may be younger than their senders', so the difference may be
        // below zero; the sum is not.
        (covered + residuals + lost + sent).wrapping_sub(received + owed)
    }

    /// Whether the statements account for this much, exactly.
    pub fn accounts_for(&self, all: u128) -> bool {
        self.unbalanced == 0 && self.total() == all
    }
}

/// Finds out when nobody has anything left to do.
#[derive(Debug)]
pub struct Waves {
    shards: u32,
    wave: u64,
    quiet: Option<BTreeMap<Shard, (Account, Vec<u128>)>>,
}

impl Waves {
    /// Begins behind the last wave anybody asked for.
    pub fn new(shards: u32, last: u64) -> Self {
        Self {
            shards,
            wave: last + 1,
            quiet: None,
        }
    }

    /// The wave that is asked for.
    pub fn wave(&self) -> u64 {
        self.wave
    }

    /// Takes the newest statements, one a shard. Returns whether the crawl is exhausted.
    pub fn take(&mut self, statements: &BTreeMap<Shard, Statement>) -> bool {
        let all = statements
            .values()
            .filter(|statement| statement.wave >= self.wave);
        if all.count() < self.shards as usize {
            return false;
        }
        let quiet = self.quiet_sums(statements);
        let exhausted = quiet.is_some() && quiet == self.quiet;
        self.quiet = quiet;
        self.wave += 1;
        exhausted
    }

    fn quiet_sums(
        &self,
        statements: &BTreeMap<Shard, Statement>,
    ) -> Option<BTreeMap<Shard, (Account, Vec<u128>)>> {
        let mut sums = BTreeMap::new();
        for (&shard, statement) in statements {
            if statement.work == Work::Busy {
                return None;
            }
            for (to, &sent) in &statement.sent {
                let came = statements.get(to)?.senders.get(&shard);
                if came.map_or(0, |sender| sender.mass) != sent {
                    return None;
                }
            }
            let sent = statement.sent.values().copied().collect();
            sums.insert(shard, (statement.account, sent));
        }
        Some(sums)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn statement(shard: u32, wave: u64) -> Statement {
        Statement {
            shard: Shard(shard),
            claim: (2, NodeId(7)),
            wave,
            position: 1 << 40,
            work: Work::Idle,
            best: 9,
            account: Account {
                endowed: 100,
                covered: 60,
                sent: 40,
                ..Account::default()
            },
            sent: BTreeMap::from([(Shard(1 - shard), 40)]),
            senders: BTreeMap::new(),
            figures: vec![7, 1 << 40],
        }
    }

    fn pair(wave: u64) -> BTreeMap<Shard, Statement> {
        let mut all = BTreeMap::new();
        for shard in 0..2 {
            let mut one = statement(shard, wave);
            let sender = Sender {
                mass: 40,
                applied: 3,
                heard: 2,
            };
            one.senders.insert(Shard(1 - shard), sender);
            one.account.received = 40;
            one.account.covered += 40;
            all.insert(Shard(shard), one);
        }
        all
    }

    #[test]
    fn stale_statements_still_sum_to_everything() {
        let all = pair(1);
        assert!(Audit::of(all.values()).accounts_for(200));
        // The receiver's statement is newer than the sender's.
        let mut sender = all[&Shard(0)].clone();
        sender.account.sent = 0;
        sender.account.residuals = 40;
        let mixed = [&sender, &all[&Shard(1)]];
        assert!(Audit::of(mixed).accounts_for(200));
        sender.account.residuals = 41;
        assert!(!Audit::of([&sender, &all[&Shard(1)]]).accounts_for(200));
    }

    #[test]
    fn two_quiet_waves_are_the_end() {
        let mut waves = Waves::new(2, 4);
        assert!(!waves.take(&pair(4)), "an older wave");
        assert!(!waves.take(&pair(5)));
        assert!(!waves.take(&pair(5)), "the same wave again");
        assert!(waves.take(&pair(6)));
        let mut busy = pair(7);
        busy.get_mut(&Shard(1)).unwrap().work = Work::Busy;
        assert!(!waves.take(&busy));
        assert!(!waves.take(&pair(8)));
        let mut under_way = pair(9);
        under_way
            .get_mut(&Shard(1))
            .unwrap()
            .sent
            .insert(Shard(0), 41);
        assert!(!waves.take(&under_way));
        assert!(!waves.take(&pair(10)));
        let mut moved = pair(11);
        moved.get_mut(&Shard(1)).unwrap().account.covered += 1;
        assert!(!waves.take(&moved), "other sums");
    }

    #[test]
    fn every_cut_is_refused() {
        let bytes = pair(1)[&Shard(0)].encode();
        assert_eq!(Statement::decode(&bytes).as_ref(), Ok(&pair(1)[&Shard(0)]));
        for cut in 0..bytes.len() {
            assert!(Statement::decode(&bytes[..cut]).is_err());
        }
    }
}
