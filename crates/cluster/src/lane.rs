//! A lane: how transfers get from a sender to the shards that share the lane.
//!
//! Every sender has a subject of its own in the lane's log. A message is a transfer, or a *seal*
//! that begins an epoch of its sender; both say how many transfers the lane has with them. Readers
//! void messages of an epoch below one seen earlier under the subject. Transfers are idempotent, so
//! nothing else is needed: a doubled one is skipped, a missing one is published again.
//!
//! The publisher learns the end from the last message, appends behind it, and looks again after
//! every doubt and every 5 s: a lane that lost its tail is refilled from the journal. A lane that
//! has *more* than the journal knows of says that the journal lost its tail.

use std::collections::BTreeMap;

use crate::Millis;
use crate::bus::{Answer, Message, Request, Stream};
use crate::follow::{Followed, Follower};
use crate::shard::{NodeId, Shard};
use crate::wire::{Cursor, Malformed, Put as _};

/// How often the end of an idle lane is looked at.
pub const LOOK_MS: Millis = 5_000;

const VERSION: u8 = 1;

/// A message of a lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Envelope<'a> {
    /// Under which lease it was published, and by whom.
    pub claim: (u64, NodeId),
    /// How many messages were published under this lease before: no two messages are alike, so a
    /// reader that finds its last message where it was knows that nothing before it changed.
    pub serial: u64,
    /// The number of the last transfer the lane has with it.
    pub through: u64,
    /// The transfer; empty for a seal.
    pub transfer: &'a [u8],
}

impl<'a> Envelope<'a> {
    /// As a message.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = vec![VERSION];
        out.put_number(self.claim.0);
        out.put_number(self.claim.1.0);
        out.put_number(self.serial);
        out.put_number(self.through);
        out.extend_from_slice(self.transfer);
        out
    }

    /// From a message.
    pub fn decode(message: &'a [u8]) -> Result<Self, Malformed> {
        let mut from = Cursor::versioned(message, VERSION)?;
        Ok(Self {
            claim: (from.number()?, NodeId(from.number()?)),
            serial: from.number()?,
            through: from.number()?,
            transfer: from.rest(),
        })
    }
}

/// Why a publisher goes no further.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Halt {
    /// A higher epoch publishes here.
    Deposed,
    /// The lane has transfers that the journal does not know of.
    Beyond {
        /// The last in the lane.
        through: u64,
    },
    /// The lane has other bytes under a number than the journal.
    TwoHistories {
        /// The number.
        number: u64,
    },
}

/// Publishes what one shard sends in one lane.
#[derive(Debug)]
pub struct Publisher {
    from: Shard,
    lane: u32,
    claim: (u64, NodeId),
    /// Transfers in the lane, and the sequence of the last message under our subject.
    through: u64,
    sequence: u64,
    sealed: bool,
    serial: u64,
    mode: Mode,
    look_at: Millis,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    /// The end must be looked at.
    Unsure,
    Looking,
    Sure,
    /// The seal, or the next transfer.
    Appending,
    Halted(Halt),
}

impl Publisher {
    /// For a lane that nothing is known of yet.
    pub fn new(from: Shard, lane: u32, claim: (u64, NodeId)) -> Self {
        Self {
            from,
            lane,
            claim,
            through: 0,
            sequence: 0,
            sealed: false,
            serial: 0,
            mode: Mode::Unsure,
            look_at: 0,
        }
    }

    /// Whether our epoch has begun here.
    pub fn sealed(&self) -> bool {
        self.sealed
    }

    /// How many transfers the lane has.
    pub fn through(&self) -> u64 {
        self.through
    }

    /// Seals the lane once more, for a reader that missed it.
    pub fn seal_again(&mut self) {
        if self.mode == Mode::Sure {
            self.sealed = false;
        }
    }

    /// Whether the end was looked at, and nothing is under way.
    pub fn sure(&self) -> bool {
        self.mode == Mode::Sure
    }

    /// Why it goes no further.
    pub fn halted(&self) -> Option<Halt> {
        match self.mode {
            Mode::Halted(halt) => Some(halt),
            _ => None,
        }
    }

    /// What it needs done now. `sent` transfers are durable in the journal; `transfer` lends one.
    /// Before the journal is sealed (`seal`) the lane is only looked at.
    pub fn want(
        &mut self,
        now: Millis,
        seal: bool,
        sent: u64,
        transfer: impl FnOnce(u64) -> Vec<u8>,
    ) -> Option<Request> {
        if self.mode == Mode::Sure && now >= self.look_at {
            self.mode = Mode::Unsure;
        }
        let (stream, subject) = (Stream::Lane(self.lane), self.from.0);
        match self.mode {
            Mode::Unsure => {
                self.mode = Mode::Looking;
                return Some(Request::Last { stream, subject });
            }
            Mode::Sure => {}
            Mode::Looking | Mode::Appending | Mode::Halted(_) => return None,
        }
        let (through, bytes) = if !self.sealed {
            if !seal {
                return None;
            }
            (self.through, Vec::new())
        } else if self.through < sent {
            (self.through + 1, transfer(self.through + 1))
        } else {
            return None;
        };
        self.serial += 1;
        let (claim, serial) = (self.claim, self.serial);
        let envelope = Envelope {
            claim,
            serial,
            through,
            transfer: &bytes,
        };
        self.mode = Mode::Appending;
        Some(Request::Append {
            stream,
            subject,
            expect: self.sequence,
            payload: envelope.encode(),
        })
    }

    /// Takes an answer. `sent` and `transfer` as before.
    pub fn answered(
        &mut self,
        answer: &Answer,
        now: Millis,
        sent: u64,
        transfer: impl FnOnce(u64) -> Vec<u8>,
    ) {
        match (self.mode, answer) {
            (Mode::Appending, Answer::Appended { sequence }) => {
                self.sequence = *sequence;
                if self.sealed {
                    self.through += 1;
                }
                self.sealed = true;
                self.mode = Mode::Sure;
            }
            (Mode::Looking, Answer::Last(last)) => {
                self.look_at = now + LOOK_MS;
                self.mode = self.looked(last.as_ref(), sent, transfer);
            }
            (Mode::Halted(_), _) => {}
            _ => self.mode = Mode::Unsure,
        }
    }

    fn looked(
        &mut self,
        last: Option<&Message>,
        sent: u64,
        transfer: impl FnOnce(u64) -> Vec<u8>,
    ) -> Mode {
        let nothing = Envelope {
            claim: (0, NodeId(0)),
            serial: 0,
            through: 0,
            transfer: &[],
        };
        let envelope = match last {
            None => nothing,
            Some(message) => match Envelope::decode(&message.payload) {
                Ok(envelope) => envelope,
                // Written by another release: it is not ours to overwrite.
                Err(_) => return Mode::Halted(Halt::Deposed),
            },
        };
        self.sequence = last.map_or(0, |message| message.sequence);
        let (epoch, node) = envelope.claim;
        if epoch > self.claim.0 || (epoch == self.claim.0 && node != self.claim.1) {
            return Mode::Halted(Halt::Deposed);
        }
        let number = envelope.through;
        if number > sent {
            return Mode::Halted(Halt::Beyond { through: number });
        }
        if !envelope.transfer.is_empty() && transfer(number) != envelope.transfer {
            return Mode::Halted(Halt::TwoHistories { number });
        }
        self.through = number;
        self.sealed = envelope.claim == self.claim;
        Mode::Sure
    }
}

/// Reads a lane for one of its shards.
#[derive(Debug)]
pub struct LaneReader {
    follower: Follower,
    lane: u32,
    claims: BTreeMap<Shard, (u64, NodeId)>,
    asked: bool,
    /// The answer under way is to a question from before the last restart.
    outdated: bool,
}

impl LaneReader {
    /// From the first message on.
    pub fn new(lane: u32) -> Self {
        Self {
            follower: Follower::new(Stream::Lane(lane)),
            lane,
            claims: BTreeMap::new(),
            asked: false,
            outdated: false,
        }
    }

    /// Reads everything again, from the first message on.
    pub fn restart(&mut self) {
        self.follower = Follower::new(Stream::Lane(self.lane));
        self.claims.clear();
        self.outdated = self.asked;
    }

    /// The highest epoch of a sender read so far: everything before it was handed on.
    pub fn heard(&self, from: Shard) -> u64 {
        self.claims.get(&from).map_or(0, |(epoch, _)| *epoch)
    }

    /// The next read.
    pub fn want(&mut self) -> Option<Request> {
        if self.asked {
            return None;
        }
        self.asked = true;
        Some(self.follower.want())
    }

    /// Takes the answer; hands on each valid message, in order. Returns whether there was more.
    pub fn answered(
        &mut self,
        answer: Answer,
        mut hand_on: impl FnMut(Shard, &Envelope<'_>),
    ) -> bool {
        self.asked = false;
        if std::mem::take(&mut self.outdated) {
            return true;
        }
        let messages = match self.follower.answered(answer) {
            Followed::More(messages) => messages,
            Followed::Rewritten => {
                // Everything is handed on again; what was applied is skipped by its number.
                self.claims.clear();
                return true;
            }
            Followed::Nothing => return false,
        };
        for message in &messages {
            let from = Shard(message.subject);
            let Ok(envelope) = Envelope::decode(&message.payload) else {
                continue;
            };
            let claim = self.claims.entry(from).or_insert(envelope.claim);
            if envelope.claim < *claim {
                continue;
            }
            hand_on(from, &envelope);
            // After the transfer: a seal is heard only when all before it was handed on.
            *claim = envelope.claim;
        }
        !messages.is_empty()
    }
}
