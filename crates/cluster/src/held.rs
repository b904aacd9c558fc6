//! A shard that a node has: its seat, its desk, its purse, and the gaps in what it received.
//!
//! What is missing of a sender, because a lane lost it or a disk was full, is read in the sender's own journal, from
//! the beginning, until it is there. Cost: a journal for each gap, which are rare.

use std::collections::BTreeMap;

use crate::Millis;
use crate::budget::{Amounts, Purse};
use crate::bus::Answer;
use crate::bus::Request;
use crate::channel::Transfer;
use crate::desk::{Desk, Taken, Wish};
use crate::node::Ticket;
use crate::seat::Seat;
use crate::shard::{NodeId, Shard};
use crate::stage::Inbound;
use crate::writer::{News, Writer};

/// How soon a sender's journal is read again for what is still missing.
const GAP_AGAIN_MS: Millis = 2_000;
/// How often a shard that is short asks for more.
const DRAW_MS: Millis = 200;

/// A shard at this node.
#[derive(Debug)]
pub struct Held<D> {
    /// Its seat.
    pub seat: Seat,
    /// Its tape.
    pub desk: D,
    pub(crate) purse: Purse,
    pub(crate) life: u64,
    pub(crate) was_open: bool,
    pub(crate) leaving: bool,
    /// How often the account had been stated when its last statement was asked for.
    pub(crate) stated: Option<u64>,
    pub(crate) draw_at: Millis,
    pub(crate) funded: bool,
    pub(crate) gaps: BTreeMap<Shard, Gap>,
    /// By lane: how many transfers the shards of this node were given without the lane.
    pub(crate) handed_on: BTreeMap<u32, u64>,
}

/// Transfers of a sender that are missing, and are read in its journal.
#[derive(Debug, Default)]
pub(crate) struct Gap {
    /// Up to this number.
    until: u64,
    reader: Option<Writer>,
    /// Read to its end, and some could not be taken in: it is all read again.
    again_at: Millis,
}

impl<D: Desk> Held<D> {
    /// Gives the shard back, after everything is durable and stated.
    pub(crate) fn leave(&mut self) {
        if !self.desk.is_closed() || self.seat.durable() < self.desk.end() {
            return;
        }
        match self.stated {
            None => {
                self.stated = Some(self.seat.stated());
                self.seat.hurry();
            }
            Some(before) if self.seat.stated() > before => self.seat.leave(),
            Some(_) => {}
        }
    }

    pub(crate) fn spend(&mut self, now: Millis) {
        if !self.purse.resting() || now < self.draw_at {
            return;
        }
        let wish = match (self.desk.wish(), self.leaving) {
            (Wish::Reach(_), true) => Wish::Nothing,
            // What an earlier epoch was given is known only then, and may be too much.
            (Wish::Nothing | Wish::Keep(_), false) if !self.funded => {
                Wish::Reach(Amounts::default())
            }
            (wish, _) => wish,
        };
        match wish {
            Wish::Nothing => {}
            Wish::Reach(up_to) => {
                self.draw_at = now + DRAW_MS;
                self.desk.wished(up_to);
                self.purse.draw(up_to);
            }
            Wish::Keep(limit) if self.funded => {
                self.draw_at = now + DRAW_MS;
                // It spends no more before the key says less.
                self.desk.granted(limit);
                self.purse.give_back(limit);
            }
            Wish::Keep(_) => {}
        }
    }

    pub(crate) fn receive(&mut self, message: &Inbound) {
        if !message.transfer.is_empty() {
            self.offer(&message.transfer);
        }
        // A sender's lane says how much it has sent, also where a message of it was lost.
        if self.desk.known(message.from) < message.through {
            self.expect(message.from, message.through);
        }
    }

    fn offer(&mut self, transfer: &[u8]) {
        if self.desk.take(transfer) == Taken::Gap
            && let Ok(it) = Transfer::decode(transfer)
        {
            self.expect(it.from, it.number);
        }
    }

    fn expect(&mut self, from: Shard, number: u64) {
        let gap = self.gaps.entry(from).or_default();
        gap.until = gap.until.max(number);
    }

    pub(crate) fn fill_gaps(&mut self, me: Shard, now: Millis, asks: &mut Vec<(Ticket, Request)>) {
        let desk = &self.desk;
        self.gaps
            .retain(|from, gap| *from != me && desk.known(*from) < gap.until);
        for (&from, gap) in &mut self.gaps {
            if now < gap.again_at {
                continue;
            }
            // A reader of the sender's chain: it wants nothing but to read.
            let reader = gap
                .reader
                .get_or_insert_with(|| Writer::new(from, (u64::MAX, NodeId(0))));
            if let Some(ask) = reader.want_read() {
                asks.push((Ticket::Gap(me, self.life, from), ask));
            }
        }
    }

    pub(crate) fn filled(&mut self, (me, from): (Shard, Shard), answer: Answer, now: Millis) {
        let Some(gap) = self.gaps.get_mut(&from) else {
            return;
        };
        let Some(reader) = &mut gap.reader else {
            return;
        };
        let mut news = Vec::new();
        reader.answered(answer, &mut news);
        let lane = self.desk.lane_of(me);
        for news in news {
            match news {
                News::Bytes { bytes, .. } => {
                    for transfer in self.desk.transfers_in(&bytes, lane) {
                        // One that is missing before it comes later in the same journal, or came already.
                        self.desk.take(&transfer);
                    }
                }
                News::End | News::Newer | News::Deposed => {
                    // Offered while nothing could be written, or not durable yet.
                    gap.reader = None;
                    gap.again_at = now + GAP_AGAIN_MS;
                }
                News::Durable(_) => {}
            }
        }
    }
}
