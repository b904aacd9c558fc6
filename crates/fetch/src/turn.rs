//! Whose turn it is to be written: requests to one host, a delay apart to the moment.
//!
//! Whoever permits a request does not know when it will be written: look-up, connection and handshake
//! come between, and take longer for one request than for the next. Where several may be open at a
//! host, two that were permitted a delay apart could so be written at almost the same time. A turn is
//! taken when a connection is there, and passed on when the first byte is written: the next request
//! waits for its delay from then.
//!
//! Cost: one lock a request. Invariant: of the requests that share a turn no two are written less
//! than the delay of the later one apart.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Mutex, OwnedMutexGuard};
use tokio::time::{Instant, sleep_until};

/// When the last request to a host was written. Clones are the same turn.
#[derive(Clone, Debug, Default)]
pub struct Turn(Arc<Mutex<Option<Instant>>>);

/// The turn of a request, and how long after the last one it is written at the soonest.
#[derive(Clone, Debug)]
pub struct Spacing {
    /// Shared by the requests that must be apart.
    pub turn: Turn,
    /// How far.
    pub delay: Duration,
}

impl Spacing {
    /// Waits for the turn.
    pub(crate) async fn wait(&self) -> MyTurn {
        let last = self.turn.0.clone().lock_owned().await;
        if let Some(last) = *last {
            sleep_until(last + self.delay).await;
        }
        MyTurn(last)
    }
}

/// It is our turn until this is dropped.
#[derive(Debug)]
pub(crate) struct MyTurn(OwnedMutexGuard<Option<Instant>>);

impl MyTurn {
    /// The request was written at this moment.
    pub(crate) fn wrote(mut self, at: Instant) {
        *self.0 = Some(at);
    }
}
