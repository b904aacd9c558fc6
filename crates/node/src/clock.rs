//! The clock of leases: milliseconds since the machine started, sleep included.
//!
//! `Instant` stands still while a machine is suspended, and so would a lease: who wakes would believe in it. Only
//! where no such clock is there is it used.

use std::time::Duration;

use turnstone_cluster::Millis;

/// The clock, which tests let run faster.
#[derive(Clone, Copy, Debug)]
pub struct LeaseClock {
    scale: u64,
}

impl LeaseClock {
    /// `scale` times as fast as time.
    pub fn new(scale: u32) -> Self {
        Self {
            scale: u64::from(scale.max(1)),
        }
    }

    /// Now.
    pub fn now(self) -> Millis {
        let since = since_boot().as_micros() * u128::from(self.scale) / 1000;
        u64::try_from(since).unwrap_or(u64::MAX)
    }
}

#[cfg(target_os = "linux")]
fn since_boot() -> Duration {
    use nix::time::{ClockId, clock_gettime};
    let since = clock_gettime(ClockId::CLOCK_BOOTTIME);
    since.map_or_else(|_| since_first(), Duration::from)
}

#[cfg(not(target_os = "linux"))]
fn since_boot() -> Duration {
    since_first()
}

/// Since this was first asked.
fn since_first() -> Duration {
    static FIRST: std::sync::OnceLock<std::time::Instant> = std::sync::OnceLock::new();
    FIRST.get_or_init(std::time::Instant::now).elapsed()
}
