//! The crawl's clock: milliseconds since the crawl began, over all restarts.
//!
//! Here the machine's clocks are read; what follows from them is in [`crate::ticks`]. Within a
//! process a wall clock that is set back or forward changes nothing; a machine that sleeps does: its
//! sleep is time that passes.
//!
//! For tests it can run faster than time.

use std::fs;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use turnstone_frontier::Tick;
use turnstone_pagestore::Index;

use crate::asker::{self, Moment};
use crate::epoch::Epoch;
use crate::ticks::{Reading, Ticks};

/// Ticks, and what they are in the world's time.
#[derive(Clone, Debug)]
pub struct Clock {
    started: Instant,
    ticks: Ticks,
}

impl Clock {
    /// Goes on where a journal ends. `scale` is how many ticks pass in a millisecond: 1.
    pub fn resume(index: &Index, scale: u32) -> Self {
        let started = Instant::now();
        let began = read(started);
        let ticks = Ticks::resume(&boot(), began, index.sessions(), index.latest(), scale);
        Self { started, ticks }
    }

    /// Now.
    pub fn now(&self) -> Tick {
        self.ticks.at(read(self.started))
    }

    /// How long until a tick, in real time.
    pub fn until(&self, tick: Tick) -> Duration {
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
        self.ticks.first()
    }

    /// Whether the machine was started anew since the last process ran: then the calendar may be
    /// missing what was never synced.
    pub fn rebooted(&self) -> bool {
        self.ticks.rebooted()
    }

    /// This many ticks in real time.
    pub(crate) fn span(&self, ticks: u64) -> Duration {
        self.ticks.span(ticks)
    }

    /// The first tick that is not before a moment.
    pub(crate) fn tick_at(&self, moment: Instant) -> Tick {
        // In this order: the moment seems later than it was, never earlier.
        let ago = moment.elapsed();
        self.ticks.not_before(read(self.started), ago)
    }

    /// What the next process must know of the clocks: wall, boot, milliseconds since boot. To be
    /// called after the tick it is written with was taken.
    pub fn session(&self) -> asker::Session {
        self.ticks.session(read(self.started))
    }

    /// Now, and what the wall clock says.
    pub fn moment(&self) -> Moment {
        self.ticks.moment(read(self.started))
    }

    /// What ticks are in the world's time.
    pub fn epoch(&self) -> Epoch {
        self.ticks.epoch()
    }
}

/// What the clocks of this machine say, for a process that began then.
fn read(started: Instant) -> Reading {
    Reading {
        wall_ms: wall_ms(),
        since_boot: since_boot(),
        awake: started.elapsed(),
    }
}

fn wall_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| {
        u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
    })
}

/// Which start of the machine this is; nothing where it cannot be known.
fn boot() -> String {
    let id = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    id.trim().to_owned()
}

/// Since the machine started, sleep included.
#[cfg(target_os = "linux")]
fn since_boot() -> Option<Duration> {
    use nix::time::{ClockId, clock_gettime};
    let since = clock_gettime(ClockId::CLOCK_BOOTTIME).ok()?;
    Some(Duration::from(since))
}

#[cfg(not(target_os = "linux"))]
fn since_boot() -> Option<Duration> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_goes_on_with_the_machine() {
        let clock = Clock::resume(&Index::default(), 1);
        let (before, moment) = (clock.now(), Instant::now());
        std::thread::sleep(Duration::from_millis(20));
        assert!(clock.now() >= before.plus(20));
        // Rounded up, and no later than now.
        let sent = clock.tick_at(moment);
        assert!(sent >= before && sent <= clock.now().plus(1), "{sent:?}");
        let said = clock.session();
        assert_eq!(said.boot, boot());
    }
}
