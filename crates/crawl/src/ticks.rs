//! From the clocks of a machine to the crawl's ticks: arithmetic, and which clock counts.
//!
//! A machine has three clocks, and each is wrong in its own way. The wall clock is set back and
//! forth. The one that counts waking time stands still while the machine sleeps. The one that counts
//! from the start of the machine goes on asleep, but begins anew with every start. Ticks follow the
//! last one wherever it is there, within a process *and* from one process to the next: if a process
//! counted waking time, and the next one all time, a host that was asked after a sleep would be
//! asked again too early by as long as the machine slept. Over a start of the machine, and where that
//! clock is not there, only the wall clock is left; then every host rests once before it is asked.
//!
//! Invariant: ticks never go back, and less time seems to have passed than has, by the width of a
//! tick at most.
//!
//! Nothing here reads a clock, so that a simulation can have clocks of its own.

use std::time::Duration;

use turnstone_frontier::Tick;
use turnstone_pagestore::Session;

use crate::asker::{self, Moment};
use crate::epoch::Epoch;

/// What the clocks of a machine say at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reading {
    /// The wall clock, in milliseconds of 1970.
    pub wall_ms: u64,
    /// Since the machine started, sleep included; nothing where that cannot be known.
    pub since_boot: Option<Duration>,
    /// Since some moment of this process, sleep not included.
    pub awake: Duration,
}

/// The crawl's time, as one process counts it.
#[derive(Clone, Debug)]
pub struct Ticks {
    began: Reading,
    first: Tick,
    /// The wall clock at tick 0, as the first process saw it.
    birth_ms: u64,
    scale: u32,
    boot: String,
    rebooted: bool,
}

impl Ticks {
    /// Goes on where a journal ends. `boot` names this start of the machine, or is empty; `scale` is
    /// how many ticks pass in a millisecond: 1.
    pub fn resume(
        boot: &str,
        began: Reading,
        sessions: &[Session],
        latest: Tick,
        scale: u32,
    ) -> Self {
        let last = sessions.last();
        let since_boot_ms = began.since_boot.filter(|_| !boot.is_empty()).map(millis);
        let same_boot = since_boot_ms.is_some() && last.is_some_and(|last| last.boot == boot);
        let first = last.map_or(latest, |last| {
            let passed = match since_boot_ms {
                Some(since) if same_boot => since.saturating_sub(last.boot_ms),
                _ => began.wall_ms.saturating_sub(last.wall_ms),
            };
            last.tick
                .plus(passed.saturating_mul(u64::from(scale)))
                .max(latest)
        });
        let birth_ms = sessions.first().map_or(began.wall_ms, |first| {
            first.wall_ms.saturating_sub(first.tick.0)
        });
        Self {
            began,
            first,
            birth_ms,
            scale,
            boot: since_boot_ms.map_or_else(String::new, |_| boot.to_owned()),
            rebooted: last.is_some() && !same_boot,
        }
    }

    /// The tick of a reading.
    pub fn at(&self, reading: Reading) -> Tick {
        let passed = millis(self.passed(reading));
        self.first
            .plus(passed.saturating_mul(u64::from(self.scale)))
    }

    /// The first tick that is not before a moment which was `ago` before a reading, in waking time. If
    /// the machine slept in between, it is later than that: then a host rests longer, not shorter.
    pub fn not_before(&self, reading: Reading, ago: Duration) -> Tick {
        let passed = self.passed(reading).saturating_sub(ago).as_nanos();
        let ticks = passed.saturating_mul(u128::from(self.scale));
        let ticks = ticks.div_ceil(1_000_000);
        self.first.plus(u64::try_from(ticks).unwrap_or(u64::MAX))
    }

    /// What the next process must know of the clocks. To be read after the tick that it is written
    /// with, and rounded up, while [`Ticks::resume`] rounds down: less time seems to have passed than
    /// has, so nobody is asked early.
    pub fn session(&self, reading: Reading) -> asker::Session {
        let known = reading.since_boot.filter(|_| !self.boot.is_empty());
        asker::Session {
            boot: self.boot.clone(),
            boot_ms: known.map_or(0, |since| millis(since) + 1),
            rebooted: self.rebooted,
        }
    }

    /// A reading as a moment of the crawl.
    pub fn moment(&self, reading: Reading) -> Moment {
        Moment {
            tick: self.at(reading),
            wall_ms: reading.wall_ms,
        }
    }

    /// The tick at which this process began.
    pub fn first(&self) -> Tick {
        self.first
    }

    /// Whether the machine was started anew since the last process ran, as far as can be known: then
    /// the calendar may be missing what was never synced.
    pub fn rebooted(&self) -> bool {
        self.rebooted
    }

    /// This many ticks in real time.
    pub fn span(&self, ticks: u64) -> Duration {
        Duration::from_micros(ticks.saturating_mul(1000).div_ceil(u64::from(self.scale)))
    }

    /// What ticks are in the world's time.
    pub fn epoch(&self) -> Epoch {
        Epoch(self.birth_ms)
    }

    /// How long this process has had the crawl.
    fn passed(&self, reading: Reading) -> Duration {
        match (self.began.since_boot, reading.since_boot) {
            (Some(began), Some(now)) => now.saturating_sub(began),
            _ => reading.awake.saturating_sub(self.began.awake),
        }
    }
}

fn millis(span: Duration) -> u64 {
    u64::try_from(span.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(wall_ms: u64, since_boot_ms: u64, awake_ms: u64) -> Reading {
        Reading {
            wall_ms,
            since_boot: Some(Duration::from_millis(since_boot_ms)),
            awake: Duration::from_millis(awake_ms),
        }
    }

    fn session(tick: u64, wall_ms: u64, boot: &str, boot_ms: u64) -> Session {
        Session {
            tick: Tick(tick),
            wall_ms,
            boot: boot.into(),
            boot_ms,
            policy: String::new(),
        }
    }

    fn check(wall_ms: u64, boot: &str, boot_ms: u64, expected: u64) {
        let before = session(1_000, 50_000, "a", 7_000);
        let ticks = Ticks::resume(
            boot,
            reading(wall_ms, boot_ms, 0),
            &[before],
            Tick(5_000),
            1,
        );
        assert_eq!(ticks.first(), Tick(expected));
        assert_eq!(ticks.rebooted(), boot != "a");
        assert_eq!(ticks.epoch().seconds(Tick(3_000)), 52);
        assert_eq!(ticks.epoch().tick_of_seconds(52), Tick(3_000));
    }

    #[test]
    fn it_goes_on_and_never_back() {
        check(60_000, "a", 17_000, 11_000); // ten seconds later
        check(10_000, "a", 17_000, 11_000); // the wall clock was set back in between
        check(90_000_000, "a", 17_000, 11_000); // or a day forward
        check(50_500, "a", 7_500, 5_000); // less than the journal says: not back
        check(60_000, "b", 3, 11_000); // another boot: only the wall clock is left
        check(10_000, "b", 3, 5_000); // and that was set back: wait
        check(60_000, "", 0, 11_000);
    }

    /// However long a process folds its journal before it begins, the next one is not ahead.
    #[test]
    fn a_session_tells_the_clocks_of_its_own_tick() {
        let ticks = Ticks::resume("a", reading(0, 500, 0), &[], Tick(0), 1);
        let (then, later) = (reading(90, 520, 20), reading(99, 1_521, 1_021));
        let (tick, said) = (ticks.at(then), ticks.session(then));
        let told = session(tick.0, then.wall_ms, &said.boot, said.boot_ms);
        let next = Ticks::resume("a", later, &[told], tick, 1);
        assert_eq!(next.first(), tick.plus(1_000));
        assert!(next.first() <= ticks.at(later));
    }

    /// Both processes count the sleep, so what one says of a host the other understands.
    #[test]
    fn sleep_counts_in_a_process_as_it_does_between_two() {
        let began = reading(0, 1_000, 0);
        let ticks = Ticks::resume("a", began, &[], Tick(0), 1);
        let told = ticks.session(began);
        let told = session(0, 0, &told.boot, told.boot_ms);
        // A second, an hour of sleep, and a second.
        let awake = reading(0, 3_603_000, 2_000);
        assert_eq!(ticks.at(awake), Tick(3_602_000));
        let next = Ticks::resume("a", awake, &[told], Tick(0), 1);
        assert_eq!(next.first(), Tick(3_601_999));
        // What was sent half a second ago was sent before the tick that is told.
        let sent = ticks.not_before(awake, Duration::from_millis(500));
        assert_eq!(sent, Tick(3_601_500));
        // Where nobody counts the sleep, waking time is all there is.
        let unknown = |awake: u64| Reading {
            since_boot: None,
            ..reading(0, 0, awake)
        };
        let ticks = Ticks::resume("", unknown(0), &[], Tick(0), 1);
        assert_eq!(ticks.at(unknown(2_000)), Tick(2_000));
    }
}
