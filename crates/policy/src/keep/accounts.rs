//! The accounts of the four arms: what each was given, what it spent, what it brought.
//!
//! Every request that comes back is booked in one arm, the one that asked for it, with all that it
//! brought: a stored page fetched for its changes may show new pages too. What arms bring is
//! measured with forgetting; what they said they would bring is kept beside it, and their quotient
//! corrects what they say next. Floors are kept over time, not round by round: what an arm did not
//! get of its floor it is owed, so that a floor of 1 % means something in rounds of ten requests.
//!
//! Invariant: requests booked over all arms are the requests that came back.

use std::io;

use turnstone_frontier::{Arm, ArmShare, Reason, Restore, Save, Split};

/// What the past still weighs after one more request of an arm: about the last 256 count.
const KEEP: f64 = 1.0 - 1.0 / 256.0;
/// How many requests that bring what was said count before the first.
const DOUBT: f64 = 16.0;
/// What is said is not corrected by more than this factor.
const CORRECTION_MAX: f64 = 8.0;
/// An arm is owed no more than the floors of so many rounds: a long rest is not made up for.
const OWED_ROUNDS_MAX: f64 = 8.0;

/// What one request was to bring, and brought.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Booking {
    /// How many changes, pages found or pages stored its arm had expected.
    pub(super) expected: f64,
    /// How many there were.
    pub(super) came: f64,
    /// All that it brought, as the user weighs it.
    pub(super) gain: f64,
}

/// One arm.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Account {
    spent: u64,
    spent_in_round: u64,
    gain: f64,
    /// The same with forgetting, and the requests they came from.
    lately: Booking,
    lately_spent: f64,
    /// Requests of its floor that it did not get yet.
    owed: f64,
}

/// What was planned for one arm when the round began.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Planned {
    pub(super) candidates: u64,
    pub(super) requests: u64,
    /// Of these, those that its floor alone paid for.
    pub(super) by_floor: u64,
    /// The worth of the last of them.
    pub(super) marginal: f64,
}

turnstone_frontier::saved!(Booking: expected, came, gain);
turnstone_frontier::saved!(Account: spent, spent_in_round, gain, lately, lately_spent, owed);
turnstone_frontier::saved!(Planned: candidates, requests, by_floor, marginal);

/// All four.
#[derive(Debug)]
pub(super) struct Accounts {
    floors: [f64; 4],
    accounts: [Account; 4],
    planned: [Planned; 4],
    round: Option<u32>,
    budget: u64,
}

impl Accounts {
    pub(super) fn new(floors: [f64; 4]) -> Self {
        Self {
            floors,
            accounts: Default::default(),
            planned: Default::default(),
            round: None,
            budget: 0,
        }
    }

    /// A round begins. Returns how many requests each arm must be given.
    pub(super) fn begin(&mut self, round: u32, budget: u64) -> [u64; 4] {
        (self.round, self.budget) = (Some(round), budget);
        let mut due = [0; 4];
        let mut left = budget;
        for (index, account) in self.accounts.iter_mut().enumerate() {
            account.spent_in_round = 0;
            let floor = self.floors[index] * budget as f64;
            account.owed = (account.owed + floor).min((OWED_ROUNDS_MAX * floor).max(1.0));
            due[index] = (account.owed.max(0.0) as u64).min(left);
            left -= due[index];
        }
        due
    }

    /// What the round plans.
    pub(super) fn plan(&mut self, planned: [Planned; 4]) {
        self.planned = planned;
    }

    /// A request of an arm came back; what came before the first round is of no account.
    pub(super) fn book(&mut self, arm: Arm, booking: Booking) {
        if self.round.is_none() {
            return;
        }
        let account = &mut self.accounts[arm.index()];
        account.spent += 1;
        account.spent_in_round += 1;
        account.gain += booking.gain;
        let lately = &mut account.lately;
        lately.expected = KEEP * lately.expected + booking.expected;
        lately.came = KEEP * lately.came + booking.came;
        lately.gain = KEEP * lately.gain + booking.gain;
        account.lately_spent = KEEP * account.lately_spent + 1.0;
        // A floor is paid by every request of the arm, whatever it was asked for.
        account.owed = (account.owed - 1.0).max(-1.0);
    }

    /// By how much what an arm says is to be corrected.
    pub(super) fn correction(&self, arm: Arm) -> f64 {
        let account = &self.accounts[arm.index()];
        let Booking { expected, came, .. } = account.lately;
        // Requests that bring what was said, at the rate that was said.
        let usual = if account.lately_spent > 0.0 {
            DOUBT * expected / account.lately_spent
        } else {
            1.0
        };
        if expected + usual <= 0.0 {
            return 1.0;
        }
        ((came + usual) / (expected + usual)).clamp(1.0 / CORRECTION_MAX, CORRECTION_MAX)
    }

    /// Requests that came back in this round.
    pub(super) fn spent_in_round(&self) -> u64 {
        self.accounts
            .iter()
            .map(|account| account.spent_in_round)
            .sum()
    }

    /// The budget of this round.
    pub(super) fn budget(&self) -> u64 {
        self.budget
    }

    /// Whether a round was announced.
    pub(super) fn has_begun(&self) -> bool {
        self.round.is_some()
    }

    /// What there is to show.
    pub(super) fn split(&self) -> Option<Split> {
        let round = self.round?;
        let arms = Arm::ALL.map(|arm| {
            let (account, planned) = (&self.accounts[arm.index()], self.planned[arm.index()]);
            ArmShare {
                arm,
                candidates: planned.candidates,
                planned: planned.requests,
                spent_in_round: account.spent_in_round,
                spent: account.spent,
                gain: account.gain,
                gain_per_request: account.lately.gain / account.lately_spent.max(1.0),
                marginal: planned.marginal,
                floor: self.floors[arm.index()],
                reason: reason(planned),
            }
        });
        let budget = self.budget;
        Some(Split {
            round,
            budget,
            arms,
        })
    }
}

fn reason(planned: Planned) -> Reason {
    if planned.candidates == 0 {
        Reason::NoCandidate
    } else if planned.requests == planned.candidates {
        Reason::Exhausted
    } else if planned.requests == 0 {
        Reason::Outbid
    } else if planned.requests == planned.by_floor {
        Reason::Floor
    } else {
        Reason::Worth
    }
}

impl Accounts {
    pub(super) fn save(&self, out: &mut dyn io::Write) -> io::Result<()> {
        (self.accounts.iter()).try_for_each(|account| account.save(out))?;
        (self.planned.iter()).try_for_each(|planned| planned.save(out))?;
        self.round.save(out)?;
        self.budget.save(out)
    }

    pub(super) fn restore(&mut self, saved: &mut dyn io::Read) -> io::Result<()> {
        for account in &mut self.accounts {
            *account = Restore::restore(saved)?;
        }
        for planned in &mut self.planned {
            *planned = Restore::restore(saved)?;
        }
        self.round = Restore::restore(saved)?;
        self.budget = Restore::restore(saved)?;
        Ok(())
    }
}
