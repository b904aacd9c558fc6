//! A key that its owner rewrites: a statement, a sign of life, the level.
//!
//! The owner swaps by the revision it wrote last. If that fails, it reads the key, and the caller
//! decides from what is found whether the key is still its own: then it goes on from the revision
//! found. Who lives by a key, as by a lease, may act until [`Register::deadline`]. Cost: one small write each
//! period.

use crate::Millis;
use crate::bus::{Answer, Key, Request};
use crate::lease::HOLD_MS;

/// Rewrites one key, again and again.
#[derive(Debug)]
pub struct Register {
    key: Key,
    every: Millis,
    revision: u64,
    mode: Mode,
    next_at: Millis,
    written: u64,
    sent_at: Millis,
    deadline: Millis,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Unsure,
    Loading,
    Sure,
    Swapping,
    Over,
}

impl Register {
    /// For a key of which nothing is known yet, to be written this often.
    pub fn new(key: Key, every: Millis) -> Self {
        Self {
            key,
            every,
            revision: 0,
            mode: Mode::Unsure,
            next_at: 0,
            written: 0,
            sent_at: 0,
            deadline: 0,
        }
    }

    /// How often it is known to have been written.
    pub fn written(&self) -> u64 {
        self.written
    }

    /// Up to when nobody can take it for abandoned: 18 s after the last write that is known was sent.
    pub fn deadline(&self) -> Millis {
        self.deadline
    }

    /// Writes at the next opportunity.
    pub fn hurry(&mut self) {
        self.next_at = 0;
    }

    /// Whether it is going to write now.
    pub fn due(&self, now: Millis) -> bool {
        self.mode == Mode::Unsure || (self.mode == Mode::Sure && now >= self.next_at)
    }

    /// What it needs done now.
    pub fn want(&mut self, now: Millis, value: impl FnOnce() -> Vec<u8>) -> Option<Request> {
        match self.mode {
            Mode::Unsure => {
                self.mode = Mode::Loading;
                Some(Request::Load { key: self.key })
            }
            Mode::Sure if now >= self.next_at => {
                self.mode = Mode::Swapping;
                self.next_at = now + self.every;
                self.sent_at = now;
                Some(Request::Swap {
                    key: self.key,
                    expect: self.revision,
                    value: value(),
                })
            }
            _ => None,
        }
    }

    /// Takes an answer. `ours` judges what was found in the key.
    pub fn answered(&mut self, answer: &Answer, ours: impl FnOnce(&[u8]) -> bool) {
        self.mode = match (self.mode, answer) {
            (Mode::Swapping, Answer::Swapped { revision }) => {
                self.revision = *revision;
                self.written += 1;
                self.deadline = self.deadline.max(self.sent_at + HOLD_MS);
                Mode::Sure
            }
            (Mode::Loading, Answer::Values(values)) => match values.first() {
                Some((_, _, value)) if !ours(value) => Mode::Over,
                found => {
                    self.revision = found.map_or(0, |(_, revision, _)| *revision);
                    self.next_at = 0;
                    Mode::Sure
                }
            },
            (Mode::Over, _) => Mode::Over,
            _ => Mode::Unsure,
        };
    }

    /// Whether somebody else owns the key now.
    pub fn over(&self) -> bool {
        self.mode == Mode::Over
    }
}
