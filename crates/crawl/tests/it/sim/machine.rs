//! A machine whose clocks misbehave: it sleeps, it is started anew, and people set its wall clock.
//!
//! Hosts live in real time and see none of this: whoever asks them early because of a clock is caught
//! by the web.

use std::time::Duration;

use turnstone_crawl::Reading;

use super::dice::Dice;

/// The wall clock when the world begins.
pub(super) const BIRTH_MS: u64 = 1_900_000_000_000;
const HOUR_MS: u64 = 3_600_000;

#[derive(Debug, Default)]
pub(super) struct Machine {
    /// Real time, which nobody can read.
    pub(super) real_ms: u64,
    /// Which start this is, and when it was.
    starts: u64,
    started_ms: u64,
    /// How long it slept since.
    asleep_ms: u64,
    /// How far the wall clock is ahead.
    ahead_ms: i64,
    /// The wall clock was set forward since the last start: after the next one nobody can tell.
    pub(super) was_set_forward: bool,
}

impl Machine {
    pub(super) fn reading(&self) -> Reading {
        let since_boot = self.real_ms - self.started_ms;
        let wall_ms = (BIRTH_MS + self.real_ms).saturating_add_signed(self.ahead_ms);
        Reading {
            wall_ms,
            since_boot: Some(Duration::from_millis(since_boot)),
            awake: Duration::from_millis(since_boot - self.asleep_ms),
        }
    }

    pub(super) fn boot(&self) -> String {
        format!("start {}", self.starts)
    }

    pub(super) fn pass(&mut self, ms: u64) {
        self.real_ms += ms;
    }

    /// The lid is closed for a while.
    pub(super) fn sleep(&mut self, dice: &mut Dice) {
        let ms = match dice.below(3) {
            0 => dice.below(900),
            1 => dice.below(30_000),
            _ => dice.below(2 * HOUR_MS),
        };
        self.real_ms += ms;
        self.asleep_ms += ms;
    }

    /// It is off, and on again.
    pub(super) fn start(&mut self, off_ms: u64) {
        self.real_ms += off_ms;
        self.starts += 1;
        self.started_ms = self.real_ms;
        self.asleep_ms = 0;
    }

    /// Somebody sets the wall clock, back or forth.
    pub(super) fn set_wall(&mut self, dice: &mut Dice) {
        let by = match dice.below(3) {
            0 => dice.below(1_500),
            1 => dice.below(60_000),
            _ => dice.below(30 * HOUR_MS),
        } as i64;
        let by = if dice.once_in(2) { by } else { -by };
        self.ahead_ms += by;
        self.was_set_forward |= by > 0;
    }
}
