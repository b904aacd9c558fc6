//! When each host may be contacted: the only place that knows politeness.
//!
//! For every host, requests start at least `delay_ms` apart and at most `open_max` are under way.
//! Both hold over restarts (the calendar is saved) and clock jumps (time that runs backwards is
//! read as standing still, which only ever waits longer).
//!
//! Cost: O(log hosts) per hand-out when there is a delay, O(1) without; 24 bytes per host.

use std::collections::BTreeSet;
use std::io;

use crate::id::HostId;
use crate::saved::{Restore, Save, corrupt};

/// A moment, in milliseconds since the crawl began. Drivers own clocks; here time is an argument.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tick(pub u64);

impl Tick {
    /// This much later, or the end of time.
    #[must_use]
    pub fn plus(self, milliseconds: u64) -> Self {
        Self(self.0.saturating_add(milliseconds))
    }
}

/// How gently hosts are asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Politeness {
    /// The least time between the starts of two requests to one host.
    pub delay_ms: u64,
    /// The most requests under way at one host.
    pub open_max: u32,
}

impl Politeness {
    /// No waiting, any number at once: for counting requests in the lab, never for a real host.
    pub const OFF: Self = Self {
        delay_ms: 0,
        open_max: u32::MAX,
    };
}

impl Default for Politeness {
    fn default() -> Self {
        Self {
            delay_ms: 1000,
            open_max: 1,
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Host {
    /// No request starts before this.
    earliest: Tick,
    open: u32,
}

/// The state of every host. It answers "may this host be contacted?" and "who is next to wake?".
#[derive(Debug)]
pub(crate) struct Calendar {
    politeness: Politeness,
    hosts: Vec<Host>,
    /// Hosts whose `earliest` had not come when they were last looked at.
    asleep: BTreeSet<(Tick, HostId)>,
}

impl Calendar {
    pub(crate) fn new(politeness: Politeness) -> Self {
        assert!(
            politeness.open_max > 0,
            "a host with no open request allowed is never asked"
        );
        Self {
            politeness,
            hosts: Vec::new(),
            asleep: BTreeSet::new(),
        }
    }

    /// Makes room for a host. New hosts may be contacted at once.
    pub(crate) fn know(&mut self, host: HostId) {
        if self.hosts.len() <= host.index() {
            self.hosts.resize(host.index() + 1, Host::default());
        }
    }

    /// A request to the host starts now. Returns whether another may follow at once.
    pub(crate) fn start(&mut self, host: HostId, now: Tick) -> bool {
        let earliest = self.hosts[host.index()].earliest;
        assert!(
            earliest <= now,
            "host {host} asked at {now:?}, before {earliest:?}"
        );
        self.hosts[host.index()].open += 1;
        assert!(self.hosts[host.index()].open <= self.politeness.open_max);
        if self.politeness.delay_ms > 0 {
            self.hold(host, now.plus(self.politeness.delay_ms));
        }
        self.free(host, now)
    }

    /// A request to the host ended. Returns whether the host may be contacted at `now`.
    pub(crate) fn end(&mut self, host: HostId, now: Tick) -> bool {
        let open = &mut self.hosts[host.index()].open;
        *open = open
            .checked_sub(1)
            .expect("a request that ends was started");
        self.free(host, now)
    }

    /// The host is not to be contacted before `until`.
    pub(crate) fn hold(&mut self, host: HostId, until: Tick) {
        let earliest = self.hosts[host.index()].earliest;
        if until > earliest {
            self.asleep.remove(&(earliest, host));
            self.asleep.insert((until, host));
            self.hosts[host.index()].earliest = until;
        }
    }

    /// Whether the host may be contacted at `now`.
    pub(crate) fn free(&self, host: HostId, now: Tick) -> bool {
        let Host { earliest, open } = self.hosts[host.index()];
        earliest <= now && open < self.politeness.open_max
    }

    /// Takes out one host whose time has come; it may still have too many requests open.
    pub(crate) fn wake(&mut self, now: Tick) -> Option<HostId> {
        let &(until, host) = self.asleep.first().filter(|(until, _)| *until <= now)?;
        self.asleep.remove(&(until, host));
        Some(host)
    }

    /// The sleeping hosts, soonest first, that are kept by time alone.
    pub(crate) fn sleepers(&self) -> impl Iterator<Item = (Tick, HostId)> + '_ {
        let open_max = self.politeness.open_max;
        self.asleep
            .iter()
            .copied()
            .filter(move |(_, host)| self.hosts[host.index()].open < open_max)
    }
}

impl Save for Calendar {
    fn save(&self, out: &mut dyn io::Write) -> io::Result<()> {
        self.politeness.delay_ms.save(out)?;
        self.politeness.open_max.save(out)?;
        (self.hosts.len() as u64).save(out)?;
        for host in &self.hosts {
            host.earliest.save(out)?;
            host.open.save(out)?;
        }
        (self.asleep.len() as u64).save(out)?;
        self.asleep.iter().try_for_each(|sleeper| sleeper.save(out))
    }
}

impl Restore for Calendar {
    fn restore(from: &mut dyn io::Read) -> io::Result<Self> {
        let politeness = Politeness {
            delay_ms: Restore::restore(from)?,
            open_max: Restore::restore(from)?,
        };
        if politeness.open_max == 0 {
            return Err(corrupt("no open request allowed"));
        }
        let hosts: Vec<(Tick, u32)> = Restore::restore(from)?;
        let hosts: Vec<Host> = hosts
            .into_iter()
            .map(|(earliest, open)| Host { earliest, open })
            .collect();
        let asleep: Vec<(Tick, HostId)> = Restore::restore(from)?;
        if asleep.iter().any(|&(until, host)| {
            hosts
                .get(host.index())
                .is_none_or(|known| known.earliest != until)
        }) {
            return Err(corrupt("a sleeping host that is not known"));
        }
        Ok(Self {
            politeness,
            hosts,
            asleep: asleep.into_iter().collect(),
        })
    }
}
