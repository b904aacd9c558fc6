//! Room in memory for long bodies: all fetches of a client together take no more than one limit.
//!
//! Each body has a limit of its own, but many long ones at once would add up to more memory than a
//! small machine has. So a body that turns out long waits, before it is read on, until there is
//! room for the longest it may become; meanwhile its peer waits too, for nobody reads what it sends.
//! Room is taken once and whole: bodies that hold a part and wait for more could wait for each other.
//!
//! Cost: nothing for short bodies. Invariant: whoever waits holds no room.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// A body of at most so many bytes needs no room.
pub(crate) const SHORT_BODY_BYTES: usize = 256 << 10;

/// What one permit stands for.
const UNIT_BYTES: usize = 1 << 10;

/// All the room there is.
#[derive(Clone, Debug)]
pub(crate) struct Rooms {
    left: Arc<Semaphore>,
    units: u32,
}

/// Room taken; given back when the last clone is dropped.
#[derive(Clone, Debug)]
pub struct Room {
    _permit: Arc<OwnedSemaphorePermit>,
}

impl Rooms {
    pub(crate) fn new(bytes: usize) -> Self {
        let units = units(bytes).max(1);
        Self {
            left: Arc::new(Semaphore::new(units as usize)),
            units,
        }
    }

    /// Waits for room for a body; one that is longer than all the room there is gets all of it.
    pub(crate) async fn take(&self, body_bytes_max: usize) -> Room {
        let units = units(body_bytes_max).min(self.units);
        let left = self.left.clone();
        let permit = left.acquire_many_owned(units).await;
        Room {
            _permit: Arc::new(permit.expect("the semaphore is never closed")),
        }
    }
}

fn units(bytes: usize) -> u32 {
    let units = bytes.div_ceil(UNIT_BYTES).min(Semaphore::MAX_PERMITS);
    u32::try_from(units).unwrap_or(u32::MAX)
}
