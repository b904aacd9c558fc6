//! How one budget is divided among several ends: what a policy shows of its reasons.
//!
//! A keeper of a store spends each request on one of four *arms*. The *split* of a round says how
//! many requests each arm was given, what the arms brought so far, and why each got what it got.
//! It is for showing, so what was measured stands here as plain numbers; what decides is the
//! policy's own.

use std::fmt;

/// What a request is spent on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Arm {
    /// A page that is known and was never fetched.
    Coverage,
    /// A stored page, because our copy may be out of date.
    Refresh,
    /// A stored page, because it may link to pages that are not known.
    Discovery,
    /// A page that was not there when last asked for.
    Retest,
}

impl Arm {
    /// All of them, in the order of their numbers.
    pub const ALL: [Self; 4] = [Self::Coverage, Self::Refresh, Self::Discovery, Self::Retest];

    /// Its number, from 0.
    #[inline]
    pub fn index(self) -> usize {
        self as usize
    }

    /// Its name for people and programs.
    pub fn name(self) -> &'static str {
        match self {
            Self::Coverage => "coverage",
            Self::Refresh => "refresh",
            Self::Discovery => "discovery",
            Self::Retest => "retest",
        }
    }
}

impl fmt::Display for Arm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// The budget of a round, divided.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Split {
    /// The round.
    pub round: u32,
    /// How many requests it may spend.
    pub budget: u64,
    /// By arm, in the order of [`Arm::ALL`].
    pub arms: [ArmShare; 4],
}

/// What one arm is given, and what it brought.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ArmShare {
    /// The arm.
    pub arm: Arm,
    /// Pages that could be asked for.
    pub candidates: u64,
    /// Requests of this round's budget that were planned for it when the round began.
    pub planned: u64,
    /// Requests that came back in this round.
    pub spent_in_round: u64,
    /// Requests that came back since the first round.
    pub spent: u64,
    /// What they brought: pages new in the store, pages found, copies renewed, each as the user
    /// weighs it.
    pub gain: f64,
    /// What a request brings now, as measured, older ones counting less.
    pub gain_per_request: f64,
    /// The worth of the last request planned for it; 0 when none was. Where no floor binds, it is
    /// about the same for all arms.
    pub marginal: f64,
    /// The share of requests it is given whatever it brings, from 0 to 1.
    pub floor: f64,
    /// Why it got what it got.
    pub reason: Reason,
}

/// Why an arm got its share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// Its requests were worth as much as those of the others.
    Worth,
    /// No more than its floor: its requests were worth less.
    Floor,
    /// All there was to ask for was asked for.
    Exhausted,
    /// Nothing to ask for.
    NoCandidate,
    /// There was something to ask for, but the requests of others were worth more.
    Outbid,
}

impl Reason {
    /// In words.
    pub fn words(self) -> &'static str {
        match self {
            Self::Worth => "its requests are worth as much as the others'",
            Self::Floor => "its floor only: its requests are worth less",
            Self::Exhausted => "everything it could ask for",
            Self::NoCandidate => "nothing to ask for",
            Self::Outbid => "other requests are worth more",
        }
    }

    /// A name for programs.
    pub fn name(self) -> &'static str {
        match self {
            Self::Worth => "worth",
            Self::Floor => "floor",
            Self::Exhausted => "exhausted",
            Self::NoCandidate => "no-candidate",
            Self::Outbid => "outbid",
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.words())
    }
}
