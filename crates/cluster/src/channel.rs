//! Transfers between shards: applied exactly once, because effect and record are one entry.
//!
//! The sender takes masses out of its state by an entry `Sent` that holds the transfer's bytes.
//! Once that entry is durable, the same bytes are published; anybody with the journal can publish
//! them again. The receiver appends an entry `Received` and applies it by the same call. Transfers
//! of one sender in one lane are numbered from 1, and each names the fingerprint of the one before:
//!
//! - a number already applied is skipped (if it is the last one, its bytes must be the same);
//! - a gap stops that sender until the gap is filled from its journal;
//! - other bytes under a known number, or a transfer that does not follow the one before, is an
//!   alarm: two histories of one sender exist, and nothing more of it is applied.
//!
//! A parcel carries the mass that its pair of shards has moved so far, in 128 bits; the receiver
//! checks its own sum against it. In doubt nothing is applied: mass on its way is not covered, so a
//! lost transfer weakens the guarantee, while one applied twice would falsify it.

use std::collections::BTreeMap;

use crate::digest::Digest;
use crate::shard::{SHARDS_MAX, Shard};
use crate::wire::{Cursor, Malformed, Put as _};

/// Bytes of a transfer from which on it is not filled further.
pub const TRANSFER_BYTES: usize = 16 << 10;
/// The most bytes of a transfer: one item may make it longer than [`TRANSFER_BYTES`].
pub const TRANSFER_BYTES_MAX: usize = 256 << 10;
/// The longest URL.
pub const URL_BYTES_MAX: usize = 64 << 10;

const VERSION: u8 = 2;
/// Key, depth, what it carries, mass, length of the URL: what the smallest item takes.
const ITEM_BYTES_MIN: usize = 16;

/// What one shard tells another of a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    /// The fingerprint of its URL.
    pub key: [u8; 12],
    /// What is told.
    pub carries: Carries,
    /// How much mass, if any.
    pub mass: u64,
    /// Links from the nearest seed.
    pub depth: u8,
    /// Its URL, when the sender mentions it for the first time.
    pub url: Option<String>,
}

/// What an item carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Carries {
    /// Mass for a page of the receiver.
    Mass {
        /// Through how many redirects between shards it came.
        hops: u8,
    },
    /// A page of the sender cannot be had: whoever sent mass for it may take it back.
    Dead,
    /// The sender takes back the mass that it had sent for a page of the receiver.
    Back,
}

impl Carries {
    const DEAD: u8 = 254;
    const BACK: u8 = 255;

    fn byte(self) -> u8 {
        match self {
            Self::Mass { hops } => hops.min(Self::DEAD - 1),
            Self::Dead => Self::DEAD,
            Self::Back => Self::BACK,
        }
    }

    fn of(byte: u8) -> Self {
        match byte {
            Self::DEAD => Self::Dead,
            Self::BACK => Self::Back,
            hops => Self::Mass { hops },
        }
    }
}

/// The items of one transfer for one shard.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Parcel {
    /// All mass that the sender ever sent this shard, this parcel included.
    pub cumulative: u128,
    /// The items.
    pub items: Vec<Item>,
}

impl Parcel {
    /// The mass that its items move; what is taken back was moved before.
    pub fn mass(&self) -> u128 {
        let moved = self.items.iter().filter_map(|item| match item.carries {
            Carries::Mass { .. } => Some(u128::from(item.mass)),
            Carries::Dead | Carries::Back => None,
        });
        moved.sum()
    }

    fn put(&self, out: &mut Vec<u8>) {
        out.put_wide(self.cumulative);
        out.put_number(self.items.len() as u64);
        for item in &self.items {
            item.put(out);
        }
    }

    fn read(from: &mut Cursor<'_>) -> Result<Self, Malformed> {
        let cumulative = from.wide()?;
        let count = from.count(ITEM_BYTES_MIN)?;
        let items = (0..count)
            .map(|_| Item::read(from))
            .collect::<Result<_, _>>()?;
        Ok(Self { cumulative, items })
    }
}

/// What one shard sends the shards of one lane at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transfer {
    /// The sender.
    pub from: Shard,
    /// Its number, from 1, in this lane.
    pub number: u64,
    /// The transfer before.
    pub previous: Digest,
    /// What each receiver gets.
    pub parcels: BTreeMap<Shard, Parcel>,
}

impl Item {
    /// How many bytes it takes.
    pub fn encoded_bytes(&self) -> usize {
        let mut out = Vec::new();
        self.put(&mut out);
        out.len()
    }

    fn put(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.key);
        out.push(self.depth);
        out.push(self.carries.byte());
        out.put_number(self.mass);
        // 0 says that there is no URL: no URL is empty.
        out.put_bytes(self.url.as_deref().unwrap_or("").as_bytes());
    }

    fn read(from: &mut Cursor<'_>) -> Result<Self, Malformed> {
        let key = from.array()?;
        let depth = from.byte()?;
        let carries = Carries::of(from.byte()?);
        let mass = from.number()?;
        let url = from.text()?;
        if url.len() > URL_BYTES_MAX {
            return Err(Malformed("a URL of more than 64 KiB"));
        }
        let url = (!url.is_empty()).then(|| url.to_owned());
        Ok(Self {
            key,
            carries,
            mass,
            depth,
            url,
        })
    }
}

impl Transfer {
    /// As bytes: for the entry `Sent`, and for the lane.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = vec![VERSION];
        out.put_number(u64::from(self.from.0));
        out.put_number(self.number);
        out.extend_from_slice(&self.previous.0);
        out.put_number(self.parcels.len() as u64);
        for (to, parcel) in &self.parcels {
            out.put_number(u64::from(to.0));
            parcel.put(&mut out);
        }
        out
    }

    /// From bytes.
    pub fn decode(bytes: &[u8]) -> Result<Self, Malformed> {
        if bytes.len() > TRANSFER_BYTES_MAX {
            return Err(Malformed("a transfer of more than 256 KiB"));
        }
        let mut from = Cursor::versioned(bytes, VERSION)?;
        let sender = read_shard(&mut from)?;
        let number = from.number()?;
        let previous = Digest(from.array()?);
        let mut parcels = BTreeMap::new();
        for _ in 0..from.count(3)? {
            let to = read_shard(&mut from)?;
            let parcel = Parcel::read(&mut from)?;
            if parcels.insert(to, parcel).is_some() {
                return Err(Malformed("two parcels for one shard"));
            }
        }
        from.end()?;
        Ok(Self {
            from: sender,
            number,
            previous,
            parcels,
        })
    }
}

fn read_shard(from: &mut Cursor<'_>) -> Result<Shard, Malformed> {
    let shard = from.small()?;
    if shard >= SHARDS_MAX {
        return Err(Malformed("a shard beyond the most there can be"));
    }
    Ok(Shard(shard))
}

/// What a shard has sent, as a fold of its entries `Sent`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outbox {
    /// By lane: the last number and its fingerprint.
    lanes: BTreeMap<u32, (u64, Digest)>,
    /// By receiver: all mass sent.
    masses: BTreeMap<Shard, u128>,
}

impl Outbox {
    /// The next transfer of a lane. It counts only once [`Outbox::apply`] has folded it.
    pub fn make(&self, from: Shard, lane: u32, items: BTreeMap<Shard, Vec<Item>>) -> Transfer {
        let (number, previous) = self.lanes.get(&lane).copied().unwrap_or_default();
        let parcels = items.into_iter().map(|(to, items)| {
            let mut parcel = Parcel {
                cumulative: self.mass(to),
                items,
            };
            parcel.cumulative += parcel.mass();
            (to, parcel)
        });
        Transfer {
            from,
            number: number + 1,
            previous,
            parcels: parcels.collect(),
        }
    }

    /// Folds an entry `Sent` with these bytes.
    pub fn apply(&mut self, lane: u32, transfer: &Transfer, bytes: &[u8]) {
        let (number, previous) = self.lanes.get(&lane).copied().unwrap_or_default();
        assert_eq!(
            transfer.number,
            number + 1,
            "transfers are numbered in order"
        );
        assert_eq!(transfer.previous, previous, "each follows the one before");
        self.lanes
            .insert(lane, (transfer.number, Digest::of(bytes)));
        for (&to, parcel) in &transfer.parcels {
            self.masses.insert(to, parcel.cumulative);
        }
    }

    /// As bytes, for a checkpoint.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = vec![VERSION];
        out.put_number(self.lanes.len() as u64);
        for (lane, (number, digest)) in &self.lanes {
            out.put_number(u64::from(*lane));
            out.put_number(*number);
            out.extend_from_slice(&digest.0);
        }
        out.put_number(self.masses.len() as u64);
        for (to, mass) in &self.masses {
            out.put_number(u64::from(to.0));
            out.put_wide(*mass);
        }
        out
    }

    /// From bytes.
    pub fn decode(bytes: &[u8]) -> Result<Self, Malformed> {
        let mut from = Cursor::versioned(bytes, VERSION)?;
        let mut outbox = Self::default();
        for _ in 0..from.count(18)? {
            let lane = from.small()?;
            let last = (from.number()?, Digest(from.array()?));
            outbox.lanes.insert(lane, last);
        }
        for _ in 0..from.count(2)? {
            outbox.masses.insert(read_shard(&mut from)?, from.wide()?);
        }
        from.end()?;
        Ok(outbox)
    }

    /// The number of the last transfer in a lane; 0 before the first.
    pub fn number(&self, lane: u32) -> u64 {
        self.lanes.get(&lane).map_or(0, |(number, _)| *number)
    }

    /// All mass sent to a shard.
    pub fn mass(&self, to: Shard) -> u128 {
        self.masses.get(&to).copied().unwrap_or(0)
    }

    /// All mass sent.
    pub fn total(&self) -> u128 {
        self.masses.values().sum()
    }
}

/// What is known of one sender.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Known {
    /// The last transfer applied.
    pub number: u64,
    /// Its fingerprint.
    pub digest: Digest,
    /// All mass received.
    pub mass: u128,
}

/// What a shard has received, as a fold of its entries `Received`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Inbox {
    known: BTreeMap<Shard, Known>,
    stopped: BTreeMap<Shard, Alarm>,
}

/// What to do with a transfer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Admission {
    /// Append `Received` with these, then fold it.
    Apply(Received),
    /// Applied long ago.
    Skip,
    /// Those from this number on are missing: read them in the sender's journal.
    Gap {
        /// The first that is missing.
        need: u64,
    },
    /// Nothing more of this sender is applied.
    Alarm(Alarm),
}

/// The content of an entry `Received`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Received {
    /// The sender.
    pub from: Shard,
    /// The number of the transfer.
    pub number: u64,
    /// Its fingerprint.
    pub digest: Digest,
    /// What it brought; empty if other shards of the lane got all.
    pub parcel: Parcel,
}

impl Received {
    /// As bytes: for the entry `Received`.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = vec![VERSION];
        out.put_number(u64::from(self.from.0));
        out.put_number(self.number);
        out.extend_from_slice(&self.digest.0);
        self.parcel.put(&mut out);
        out
    }

    /// From bytes.
    pub fn decode(bytes: &[u8]) -> Result<Self, Malformed> {
        let mut from = Cursor::versioned(bytes, VERSION)?;
        let received = Self {
            from: read_shard(&mut from)?,
            number: from.number()?,
            digest: Digest(from.array()?),
            parcel: Parcel::read(&mut from)?,
        };
        from.end()?;
        Ok(received)
    }
}

/// Why a sender is stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Alarm {
    /// Two transfers bear one number.
    #[error("shard {} sent two different transfers under number {number}", from.0)]
    TwoHistories {
        /// The sender.
        from: Shard,
        /// The number.
        number: u64,
    },
    /// The sums of a pair differ.
    #[error(
        "shard {} says that it sent {said} in all, but {found} arrived: transfer {number} is not applied",
        from.0
    )]
    Mass {
        /// The sender.
        from: Shard,
        /// The number.
        number: u64,
        /// What the sender says.
        said: u128,
        /// What the receiver has.
        found: u128,
    },
}

impl Inbox {
    /// Judges a transfer for one shard. Changes nothing but what an alarm stops.
    pub fn offer(&mut self, me: Shard, bytes: &[u8]) -> Result<Admission, Malformed> {
        let mut transfer = Transfer::decode(bytes)?;
        let (from, number) = (transfer.from, transfer.number);
        if let Some(alarm) = self.stopped.get(&from) {
            return Ok(Admission::Alarm(*alarm));
        }
        let known = self.known(from);
        let digest = Digest::of(bytes);
        if number < known.number || (number == known.number && digest == known.digest) {
            return Ok(Admission::Skip);
        }
        if number > known.number + 1 {
            let need = known.number + 1;
            return Ok(Admission::Gap { need });
        }
        if number == known.number || transfer.previous != known.digest {
            return Ok(self.stop(Alarm::TwoHistories { from, number }));
        }
        let parcel = transfer.parcels.remove(&me);
        // The sum travels only with a parcel: without one the pair moved nothing.
        let parcel = parcel.unwrap_or(Parcel {
            cumulative: known.mass,
            items: Vec::new(),
        });
        let found = known.mass + parcel.mass();
        if parcel.cumulative != found {
            let said = parcel.cumulative;
            return Ok(self.stop(Alarm::Mass {
                from,
                number,
                said,
                found,
            }));
        }
        Ok(Admission::Apply(Received {
            from,
            number,
            digest,
            parcel,
        }))
    }

    fn stop(&mut self, alarm: Alarm) -> Admission {
        let (Alarm::TwoHistories { from, .. } | Alarm::Mass { from, .. }) = alarm;
        self.stopped.insert(from, alarm);
        Admission::Alarm(alarm)
    }

    /// Folds an entry `Received`.
    pub fn apply(&mut self, received: &Received) {
        let known = self.known.entry(received.from).or_default();
        assert!(received.number > known.number, "applied at most once");
        *known = Known {
            number: received.number,
            digest: received.digest,
            mass: known.mass + received.parcel.mass(),
        };
    }

    /// What was applied, as bytes, for a checkpoint. Alarms are not: whoever is stopped is found out again.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = vec![VERSION];
        out.put_number(self.known.len() as u64);
        for (from, known) in &self.known {
            out.put_number(u64::from(from.0));
            out.put_number(known.number);
            out.extend_from_slice(&known.digest.0);
            out.put_wide(known.mass);
        }
        out
    }

    /// From bytes.
    pub fn decode(bytes: &[u8]) -> Result<Self, Malformed> {
        let mut from = Cursor::versioned(bytes, VERSION)?;
        let mut inbox = Self::default();
        for _ in 0..from.count(19)? {
            let sender = read_shard(&mut from)?;
            let known = Known {
                number: from.number()?,
                digest: Digest(from.array()?),
                mass: from.wide()?,
            };
            inbox.known.insert(sender, known);
        }
        from.end()?;
        Ok(inbox)
    }

    /// What is known of a sender.
    pub fn known(&self, from: Shard) -> Known {
        self.known.get(&from).copied().unwrap_or_default()
    }

    /// All mass received.
    pub fn total(&self) -> u128 {
        self.known.values().map(|known| known.mass).sum()
    }

    /// The senders that are stopped.
    pub fn alarms(&self) -> impl Iterator<Item = &Alarm> {
        self.stopped.values()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const A: Shard = Shard(1);
    const B: Shard = Shard(2);

    fn item(mass: u64) -> Item {
        Item {
            key: [3; 12],
            carries: Carries::Mass { hops: 1 },
            mass,
            depth: 2,
            url: (mass > 5).then(|| "http://a.example/".into()),
        }
    }

    fn send(outbox: &mut Outbox, to: Shard, mass: u64) -> Vec<u8> {
        let items = BTreeMap::from([(to, vec![item(mass)])]);
        let transfer = outbox.make(A, 0, items);
        let bytes = transfer.encode();
        outbox.apply(0, &transfer, &bytes);
        bytes
    }

    fn receive(inbox: &mut Inbox, bytes: &[u8]) -> Admission {
        let verdict = inbox.offer(B, bytes).unwrap();
        if let Admission::Apply(received) = &verdict {
            inbox.apply(received);
        }
        verdict
    }

    #[test]
    fn doubled_late_and_missing() {
        let (mut outbox, mut inbox) = (Outbox::default(), Inbox::default());
        let one = send(&mut outbox, B, 10);
        let two = send(&mut outbox, Shard(3), 4);
        let three = send(&mut outbox, B, 7);
        assert_eq!(receive(&mut inbox, &three), Admission::Gap { need: 1 });
        assert!(matches!(receive(&mut inbox, &one), Admission::Apply(_)));
        assert_eq!(receive(&mut inbox, &one), Admission::Skip);
        assert_eq!(receive(&mut inbox, &three), Admission::Gap { need: 2 });
        assert!(matches!(receive(&mut inbox, &two), Admission::Apply(_)));
        assert!(matches!(receive(&mut inbox, &three), Admission::Apply(_)));
        assert_eq!(receive(&mut inbox, &one), Admission::Skip);
        assert_eq!((inbox.total(), outbox.mass(B)), (17, 17));
    }

    #[test]
    fn what_is_taken_back_or_dead_moves_no_mass_and_all_is_read_as_written() {
        let (mut outbox, mut inbox) = (Outbox::default(), Inbox::default());
        send(&mut outbox, B, 10);
        let words = [Carries::Mass { hops: 3 }, Carries::Dead, Carries::Back];
        let items = words.map(|carries| Item { carries, ..item(7) });
        let transfer = outbox.make(A, 0, BTreeMap::from([(B, items.to_vec())]));
        let bytes = transfer.encode();
        outbox.apply(0, &transfer, &bytes);
        assert_eq!(outbox.mass(B), 17);
        assert_eq!(Transfer::decode(&bytes).as_ref(), Ok(&transfer));
        let received = Received {
            from: A,
            number: 2,
            digest: Digest::of(&bytes),
            parcel: transfer.parcels[&B].clone(),
        };
        inbox.apply(&received);
        assert_eq!(Received::decode(&received.encode()), Ok(received));
        assert_eq!(Outbox::decode(&outbox.encode()), Ok(outbox));
        assert_eq!(Inbox::decode(&inbox.encode()), Ok(inbox));
    }

    #[test]
    fn two_histories_are_an_alarm_for_good() {
        let (mut outbox, mut inbox) = (Outbox::default(), Inbox::default());
        let mut other = outbox.clone();
        let one = send(&mut outbox, B, 10);
        assert!(matches!(receive(&mut inbox, &one), Admission::Apply(_)));
        let fork = send(&mut other, B, 11);
        let alarm = receive(&mut inbox, &fork);
        assert!(matches!(
            alarm,
            Admission::Alarm(Alarm::TwoHistories { .. })
        ));
        let two = send(&mut outbox, B, 1);
        assert_eq!(receive(&mut inbox, &two), alarm);
        // And when only the one after it is seen.
        let mut inbox = Inbox::default();
        receive(&mut inbox, &one);
        let fork = send(&mut other, B, 1);
        assert!(matches!(
            receive(&mut inbox, &fork),
            Admission::Alarm(Alarm::TwoHistories { number: 2, .. })
        ));
        assert_eq!(inbox.total(), 10);
    }

    #[test]
    fn sums_that_differ_are_an_alarm() {
        let mut outbox = Outbox::default();
        outbox.masses.insert(B, 1);
        let bytes = send(&mut outbox, B, 10);
        let mut inbox = Inbox::default();
        let alarm = Alarm::Mass {
            from: A,
            number: 1,
            said: 11,
            found: 10,
        };
        assert_eq!(receive(&mut inbox, &bytes), Admission::Alarm(alarm));
    }

    proptest! {
        #[test]
        fn noise_is_an_error_or_a_transfer(noise: Vec<u8>, flip in 0usize..400) {
            let _ = Transfer::decode(&noise);
            let mut bytes = send(&mut Outbox::default(), B, 10);
            let at = flip % (bytes.len() * 8);
            bytes[at / 8] ^= 1 << (at % 8);
            if let Ok(transfer) = Transfer::decode(&bytes) {
                prop_assert_eq!(Transfer::decode(&transfer.encode()), Ok(transfer));
            }
        }
    }
}
