//! The crawl's clock: milliseconds since the crawl began, over all restarts.
//!
//! Within a process it follows the monotonic clock, so that a wall clock set back or forward
//! changes nothing. Across a restart it goes on from the last entry of the journal, by the time
//! since the machine started where that is known, else by the wall clock; it never goes back.
//!
//! For tests it can run faster than time.

use std::fs;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use turnstone_frontier::Tick;
use turnstone_pagestore::{Index, Session};

use crate::asker::{self, Moment};
use crate::epoch::Epoch;

/// Ticks, and what they are in the world's time.
#[derive(Clone, Debug)]
pub struct Clock {
    started: Instant,
    first: Tick,
    /// The wall clock at tick 0, as the first process saw it.
    birth_ms: u64,
    scale: u32,
    boot: String,
    /// The machine was started anew since the last process ran.
    rebooted: bool,
}

impl Clock {
    /// Goes on where a journal ends. `scale` is how many ticks pass in a millisecond: 1.
    pub fn resume(index: &Index, scale: u32) -> Self {
        let (boot, boot_ms) = boot();
        let here = Here {
            wall_ms: wall_ms(),
            boot,
            boot_ms,
        };
        Self::at(here, index.sessions(), index.latest(), scale)
    }

    fn at(here: Here, sessions: &[Session], latest: Tick, scale: u32) -> Self {
        let Here {
            wall_ms,
            boot,
            boot_ms,
        } = here;
        let last = sessions.last();
        let same_boot = last.is_some_and(|last| !boot.is_empty() && last.boot == boot);
        let first = last.map_or(latest, |last| {
            let passed = if same_boot {
                boot_ms.saturating_sub(last.boot_ms)
            } else {
                wall_ms.saturating_sub(last.wall_ms)
            };
            last.tick
                .plus(passed.saturating_mul(u64::from(scale)))
                .max(latest)
        });
        let birth_ms = sessions
            .first()
            .map_or(wall_ms, |first| first.wall_ms.saturating_sub(first.tick.0));
        Self {
            started: Instant::now(),
            first,
            birth_ms,
            scale,
            boot,
            rebooted: last.is_some() && !same_boot,
        }
    }

    /// Now.
    pub fn now(&self) -> Tick {
        let passed = self.started.elapsed().as_millis();
        let passed = u64::try_from(passed).unwrap_or(u64::MAX);
        self.first
            .plus(passed.saturating_mul(u64::from(self.scale)))
    }

    /// How long until a tick, in real time.
    pub fn until(&self, tick: Tick) -> std::time::Duration {
        self.span(tick.0.saturating_sub(self.now().0))
    }

    /// A tick as seconds of 1970, for what the web dates in seconds.
    pub fn seconds(&self, tick: Tick) -> u64 {
        self.epoch().seconds(tick)
    }

    /// The tick of a moment in seconds of 1970.
    pub fn tick_of_seconds(&self, seconds: u64) -> Tick {
        self.epoch().tick_of_seconds(seconds)
    }

    /// The wall clock, for records that people read.
    pub fn wall_ms(&self) -> u64 {
        wall_ms()
    }

    /// The tick at which this process began.
    pub fn first(&self) -> Tick {
        self.first
    }

    /// Whether the machine was started anew since the last process ran: then the calendar may be
    /// missing what was never synced.
    pub fn rebooted(&self) -> bool {
        self.rebooted
    }

    /// This many ticks in real time.
    pub(crate) fn span(&self, ticks: u64) -> std::time::Duration {
        let micros = ticks.saturating_mul(1000).div_ceil(u64::from(self.scale));
        std::time::Duration::from_micros(micros)
    }

    /// The first tick that is not before a moment.
    pub(crate) fn tick_at(&self, moment: Instant) -> Tick {
        let passed = moment.saturating_duration_since(self.started).as_micros();
        let ticks = passed.saturating_mul(u128::from(self.scale)).div_ceil(1000);
        self.first.plus(u64::try_from(ticks).unwrap_or(u64::MAX))
    }

    /// What the next process must know of the clocks: wall, boot, milliseconds since boot. Read now,
    /// after the tick it is written with was taken, and rounded up, while [`Clock::resume`] reads
    /// before and rounds down: less time seems to have passed than has, so nobody is asked early.
    pub fn session(&self) -> asker::Session {
        asker::Session {
            boot: self.boot.clone(),
            boot_ms: since_boot_ms().map_or(0, |since| since + 1),
            rebooted: self.rebooted,
        }
    }

    /// Now, and what the wall clock says.
    pub fn moment(&self) -> Moment {
        Moment {
            tick: self.now(),
            wall_ms: wall_ms(),
        }
    }

    /// What ticks are in the world's time.
    pub fn epoch(&self) -> Epoch {
        Epoch(self.birth_ms)
    }
}

/// The clocks of this machine, now.
struct Here {
    wall_ms: u64,
    boot: String,
    boot_ms: u64,
}

fn wall_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| {
        u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
    })
}

/// Which start of the machine this is, and milliseconds since; nothing where it cannot be known.
fn boot() -> (String, u64) {
    let id = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    match since_boot_ms() {
        Some(since) if !id.trim().is_empty() => (id.trim().to_owned(), since),
        _ => (String::new(), 0),
    }
}

/// Milliseconds since the machine started, sleep included.
#[cfg(target_os = "linux")]
fn since_boot_ms() -> Option<u64> {
    use nix::time::{ClockId, clock_gettime};
    let since = clock_gettime(ClockId::CLOCK_BOOTTIME).ok()?;
    u64::try_from(std::time::Duration::from(since).as_millis()).ok()
}

#[cfg(not(target_os = "linux"))]
fn since_boot_ms() -> Option<u64> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(wall_ms: u64, boot: &str, boot_ms: u64, expected: u64) {
        let before = Session {
            tick: Tick(1_000),
            wall_ms: 50_000,
            boot: "a".into(),
            boot_ms: 7_000,
            policy: String::new(),
        };
        let here = Here {
            wall_ms,
            boot: boot.into(),
            boot_ms,
        };
        let clock = Clock::at(here, &[before], Tick(5_000), 1);
        assert_eq!(clock.first(), Tick(expected));
        assert_eq!(clock.rebooted(), boot != "a");
        assert_eq!(clock.seconds(Tick(3_000)), 52);
        assert_eq!(clock.tick_of_seconds(52), Tick(3_000));
    }

    /// However long a process folds its journal before it begins, the next one is not ahead.
    #[test]
    fn a_session_tells_the_clocks_of_its_own_tick() {
        let clock = Clock::resume(&Index::default(), 1);
        std::thread::sleep(std::time::Duration::from_millis(20));
        let tick = clock.now();
        let said = clock.session();
        let wall_ms = clock.moment().wall_ms;
        let here = Here {
            wall_ms: wall_ms + 1_000,
            boot: said.boot.clone(),
            boot_ms: said.boot_ms + 1_000,
        };
        let session = Session {
            tick,
            wall_ms,
            boot: said.boot,
            boot_ms: said.boot_ms,
            policy: String::new(),
        };
        let next = Clock::at(here, &[session], tick, 1);
        assert_eq!(next.first(), tick.plus(1_000));
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
}
