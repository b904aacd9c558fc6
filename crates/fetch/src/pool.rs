//! Connections kept for the next fetch to the same scheme, host and port.
//!
//! An idle connection costs a socket and nothing else: nobody polls it. Whether the peer has
//! closed it is found out when it is taken; if it closes in that very moment, the client tries
//! once more on a fresh one.
//!
//! Cost: O(1) per take and put, amortised: a put into a full pool looks at all connections once, and
//! drops an eighth of them.
//! Invariant: at most `idle_connections_max` in all, `idle_connections_per_host_max` per host.

use std::collections::HashMap;
use std::sync::Mutex;
use std::time::Duration;

use tokio::time::Instant;
use url::Url;

use crate::connection::Connection;
use crate::limits::Limits;

/// What a connection can be reused for.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct Origin {
    https: bool,
    host: Box<str>,
    port: u16,
}

impl Origin {
    pub(crate) fn of(url: &Url) -> Self {
        Self {
            https: url.scheme() == "https",
            host: url.host_str().unwrap_or_default().into(),
            port: url.port_or_known_default().unwrap_or(0),
        }
    }
}

/// The idle connections of a client.
pub(crate) struct Pool {
    idle: Mutex<IdleConnections>,
    connections_max: usize,
    per_host_max: usize,
    time: Duration,
}

#[derive(Default)]
struct IdleConnections {
    by_origin: HashMap<Origin, Vec<Idle>>,
    count: usize,
}

struct Idle {
    connection: Connection,
    since: Instant,
}

impl Idle {
    fn since(&self) -> Instant {
        self.since
    }
}

/// A full pool drops one in so many connections, and one more.
const DROPPED_SHARE: usize = 8;

impl Pool {
    pub(crate) fn new(limits: &Limits) -> Self {
        Self {
            idle: Mutex::default(),
            connections_max: limits.idle_connections_max,
            per_host_max: limits.idle_connections_per_host_max,
            time: limits.idle_time,
        }
    }

    /// An open connection to `origin`, the one used last.
    pub(crate) fn take(&self, origin: &Origin) -> Option<Connection> {
        loop {
            let mut idle = self.lock();
            let found = idle.by_origin.get_mut(origin)?.pop();
            let Some(Idle {
                mut connection,
                since,
            }) = found
            else {
                idle.by_origin.remove(origin);
                return None;
            };
            idle.count -= 1;
            drop(idle);
            if since.elapsed() <= self.time && connection.is_open() {
                return Some(connection);
            }
        }
    }

    /// Keeps a connection, unless there are enough.
    pub(crate) fn put(&self, origin: Origin, connection: Connection) {
        if self.connections_max == 0 || self.per_host_max == 0 {
            return;
        }
        let mut idle = self.lock();
        if idle.count >= self.connections_max {
            idle.make_room(self.time);
        }
        let of_host = idle.by_origin.entry(origin).or_default();
        if of_host.len() < self.per_host_max {
            of_host.push(Idle {
                connection,
                since: Instant::now(),
            });
            idle.count += 1;
        }
    }

    /// Closes every idle connection.
    pub(crate) fn clear(&self) {
        *self.lock() = IdleConnections::default();
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, IdleConnections> {
        self.idle
            .lock()
            .expect("no code panics while it holds the pool")
    }
}

impl IdleConnections {
    /// Drops what is too old, and the oldest: so many that the next puts find room.
    fn make_room(&mut self, time: Duration) {
        let mut since: Vec<Instant> = self.by_origin.values().flatten().map(Idle::since).collect();
        let dropped = since.len() / DROPPED_SHARE;
        let (_, newest_dropped, _) = since.select_nth_unstable(dropped);
        let newest_dropped = *newest_dropped;
        for of_host in self.by_origin.values_mut() {
            of_host.retain(|idle| idle.since > newest_dropped && idle.since.elapsed() <= time);
        }
        self.by_origin.retain(|_, of_host| !of_host.is_empty());
        self.count = self.by_origin.values().map(Vec::len).sum();
    }
}
