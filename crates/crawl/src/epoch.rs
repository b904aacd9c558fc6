//! What ticks are in the world's time: a number, not a clock.

use turnstone_frontier::Tick;

/// The wall clock at tick 0, in milliseconds of 1970, as the first process saw it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Epoch(pub u64);

impl Epoch {
    /// A tick as seconds of 1970, for what the web dates in seconds.
    pub fn seconds(self, tick: Tick) -> u64 {
        (self.0 + tick.0) / 1000
    }

    /// The tick of a moment in seconds of 1970.
    pub fn tick_of_seconds(self, seconds: u64) -> Tick {
        Tick(seconds.saturating_mul(1000).saturating_sub(self.0))
    }
}
