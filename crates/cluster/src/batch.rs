//! When a lane's items are sent: one message for each link that crosses would be a thousand a page.
//!
//! A lane is sent when its items fill 16 KB, when one of them is worth a tenth of the level (the
//! rank below which nobody hands out: such mass could change what is fetched next), or when the
//! oldest has waited 10 s. Cost: three numbers a lane.

use std::collections::BTreeMap;

use crate::Millis;
use crate::channel::TRANSFER_BYTES;

/// The longest an item waits.
pub const WAIT_MS: Millis = 10_000;
/// An item of one part in this many of the level is sent at once.
pub const LEVEL_PART: u64 = 10;

/// What waits in one lane.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    bytes: usize,
    oldest: Millis,
    largest: u64,
}

/// What waits in every lane.
#[derive(Clone, Debug, Default)]
pub struct Batches {
    lanes: BTreeMap<u32, Waiting>,
}

impl Batches {
    /// Mass was added to an item of a lane: the item's mass now, and the bytes it adds to the lane
    /// (none if the item waits already).
    pub fn add(&mut self, lane: u32, mass: u64, bytes: usize, now: Millis) {
        let first = Waiting {
            bytes: 0,
            oldest: now,
            largest: 0,
        };
        let waiting = self.lanes.entry(lane).or_insert(first);
        waiting.bytes += bytes;
        waiting.largest = waiting.largest.max(mass);
    }

    /// A lane that is to be sent now; it counts as sent.
    pub fn due(&mut self, now: Millis, level: u64) -> Option<u32> {
        let worth = (level / LEVEL_PART).max(1);
        let is_due = |waiting: &Waiting| {
            waiting.bytes >= TRANSFER_BYTES
                || (level > 0 && waiting.largest >= worth)
                || now >= waiting.oldest + WAIT_MS
        };
        let lane = *self.lanes.iter().find(|(_, waiting)| is_due(waiting))?.0;
        self.lanes.remove(&lane);
        Some(lane)
    }

    /// Whether nothing waits.
    pub fn is_empty(&self) -> bool {
        self.lanes.is_empty()
    }

    /// A lane that waits, whatever it waits for: for a handover.
    pub fn any(&mut self) -> Option<u32> {
        let (&lane, _) = self.lanes.first_key_value()?;
        self.lanes.remove(&lane);
        Some(lane)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn full_or_worth_it_or_old() {
        let mut batches = Batches::default();
        batches.add(1, 9, 100, 0);
        assert_eq!(batches.due(9_999, 100), None);
        assert_eq!(batches.due(10_000, 100), Some(1));
        assert_eq!(batches.due(90_000, 100), None);
        batches.add(2, 10, 100, 0);
        assert_eq!(batches.due(1, 100), Some(2));
        for _ in 0..163 {
            batches.add(3, 1, 100, 0);
        }
        assert_eq!(batches.due(1, 0), None);
        batches.add(3, 1, 100, 0);
        assert_eq!(batches.due(1, 0), Some(3));
    }
}
