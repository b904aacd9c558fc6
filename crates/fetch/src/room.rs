//! Room in memory for long bodies: all fetches of a client together take no more than one limit.
//!
//! Each body has a limit of its own, but many long ones at once would add up to more memory than a
//! small machine has. So a body that turns out long waits, before it is read on, until there is
//! room for it: for the length that its peer declares, else for a page of some length, and when it
//! is longer still for the longest it may become. Meanwhile its peer waits too, for nobody reads
//! what it sends.
//!
//! Cost: nothing for short bodies. Invariant: whoever waits holds no room, so that no two bodies
//! wait for each other; what they have come to by then is not counted ([`LIKELY_BODY_BYTES`] each).

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// A body of at most so many bytes needs no room.
pub(crate) const SHORT_BODY_BYTES: usize = 256 << 10;

/// A body that is not short, and of which nothing is declared, is likely no longer than this.
const LIKELY_BODY_BYTES: usize = 1 << 20;

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

/// How much room a body asks for that has come to `needed` bytes; 0 is declared by none.
pub(crate) fn room_for(needed: usize, declared: usize, bytes_max: usize) -> usize {
    if needed <= declared {
        declared
    } else if needed <= LIKELY_BODY_BYTES {
        LIKELY_BODY_BYTES.min(bytes_max)
    } else {
        bytes_max
    }
}

fn units(bytes: usize) -> u32 {
    let units = bytes.div_ceil(UNIT_BYTES).min(Semaphore::MAX_PERMITS);
    u32::try_from(units).unwrap_or(u32::MAX)
}
