//! When each host may be contacted: the only place that knows politeness.
//!
//! For every host, requests start at least `delay_ms` apart and at most `open_max` are under way.
//! Both hold over restarts (the calendar is saved) and clock jumps (time that runs backwards is
//! read as standing still, which only ever waits longer).
//!
//! Hosts that turn out to be served by one address are joined: from then on they are asked as if
//! they were one host. Joining is for good, and the joined host waits as long as the slower of
//! the two, so it can only make us gentler.
//!
//! Cost: O(log hosts) per hand-out when there is a delay, O(1) without; 24 bytes per host, and
//! for joined hosts O(their number) whenever they open or close.

use std::collections::{BTreeMap, BTreeSet};
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

/// What happens at a host beside handing out its pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Visit {
    /// The page handed out last was settled without a request: the host need not rest for it.
    Spared,
    /// A request for no page begins: a probe, a robots.txt that a redirect led to. Must not come
    /// unless [`Scheduler::is_free`](crate::Scheduler::is_free).
    Opened,
    /// A request for no page ended.
    Closed,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Host {
    /// No request starts before this.
    earliest: Tick,
    /// What `earliest` was before the last request started.
    before: Tick,
    open: u32,
}

/// The state of every host. It answers "may this host be contacted?" and "who is next to wake?".
#[derive(Debug)]
pub(crate) struct Calendar {
    politeness: Politeness,
    hosts: Vec<Host>,
    /// Hosts whose `earliest` had not come when they were last looked at.
    asleep: BTreeSet<(Tick, HostId)>,
    /// Joined hosts: to the one that stands for them all.
    joined: BTreeMap<HostId, HostId>,
    /// By the one that stands for them: all of them, itself included.
    groups: BTreeMap<HostId, Vec<HostId>>,
    /// Hosts whose pages are not asked for before a tick, whatever others at their address do.
    shut: BTreeMap<HostId, Tick>,
    /// The same by tick.
    opens: BTreeSet<(Tick, HostId)>,
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
            joined: BTreeMap::new(),
            groups: BTreeMap::new(),
            shut: BTreeMap::new(),
            opens: BTreeSet::new(),
        }
    }

    /// From now on hosts are asked this gently. What was promised until now is kept.
    pub(crate) fn set_politeness(&mut self, politeness: Politeness) {
        assert!(politeness.open_max > 0, "a host must be asked some time");
        self.politeness = politeness;
    }

    /// Makes room for a host. New hosts may be contacted at once.
    pub(crate) fn know(&mut self, host: HostId) {
        if self.hosts.len() <= host.index() {
            self.hosts.resize(host.index() + 1, Host::default());
        }
    }

    /// A request to the host starts now.
    pub(crate) fn start(&mut self, host: HostId, now: Tick) {
        let unit = self.unit(host);
        self.hosts[unit.index()].open += 1;
        assert!(
            self.hosts[unit.index()].open <= self.politeness.open_max,
            "host {host} has too many requests open"
        );
        let earliest = self.hosts[unit.index()].earliest;
        assert!(
            earliest <= now,
            "host {host} asked at {now:?}, before {earliest:?}"
        );
        self.hosts[unit.index()].before = earliest;
        if self.politeness.delay_ms > 0 {
            self.hold(host, now.plus(self.politeness.delay_ms));
        }
    }

    /// The request that started last was never sent.
    pub(crate) fn spare(&mut self, host: HostId, now: Tick) {
        let unit = self.unit(host);
        let Host {
            earliest, before, ..
        } = self.hosts[unit.index()];
        // A host held beyond its usual rest was held for another reason.
        if earliest <= now.plus(self.politeness.delay_ms) && before < earliest {
            self.hosts[unit.index()].earliest = before;
            self.asleep.remove(&(earliest, unit));
            if before > now {
                self.asleep.insert((before, unit));
            }
        }
    }

    /// A request to the host ended.
    pub(crate) fn end(&mut self, host: HostId) {
        let unit = self.unit(host);
        let open = &mut self.hosts[unit.index()].open;
        *open = open
            .checked_sub(1)
            .expect("a request that ends was started");
    }

    /// The host is not to be contacted before `until`.
    pub(crate) fn hold(&mut self, host: HostId, until: Tick) {
        let unit = self.unit(host);
        let earliest = self.hosts[unit.index()].earliest;
        if until > earliest {
            self.asleep.remove(&(earliest, unit));
            self.asleep.insert((until, unit));
            self.hosts[unit.index()].earliest = until;
        }
    }

    /// Pages of this host alone are not asked for before `until`.
    pub(crate) fn shut(&mut self, host: HostId, until: Tick) {
        if let Some(before) = self.shut.insert(host, until) {
            self.opens.remove(&(before, host));
        }
        self.opens.insert((until, host));
    }

    /// Whether pages of the host are not asked for now.
    pub(crate) fn is_shut(&self, host: HostId, now: Tick) -> bool {
        self.shut.get(&host).is_some_and(|until| *until > now)
    }

    /// Takes out one host that is shut no longer.
    pub(crate) fn unshut(&mut self, now: Tick) -> Option<HostId> {
        let &(until, host) = self.opens.first().filter(|(until, _)| *until <= now)?;
        self.opens.remove(&(until, host));
        self.shut.remove(&host);
        Some(host)
    }

    /// The first tick at which a page of the host may be asked for, if no request is open.
    pub(crate) fn earliest(&self, host: HostId) -> Tick {
        let shut = self.shut.get(&host).copied().unwrap_or_default();
        self.look(host).earliest.max(shut)
    }

    /// The same for all hosts at its address, whether or not this one is shut.
    pub(crate) fn rests_until(&self, host: HostId) -> Tick {
        self.look(host).earliest
    }

    /// How many requests are under way at the host and those joined with it.
    pub(crate) fn open_count(&self, host: HostId) -> u32 {
        self.look(host).open
    }

    /// Whether the host may be contacted at `now`.
    pub(crate) fn free(&self, host: HostId, now: Tick) -> bool {
        let Host { earliest, open, .. } = self.look(host);
        earliest <= now && open < self.politeness.open_max
    }

    /// Two hosts are asked as one from now on.
    pub(crate) fn join(&mut self, host: HostId, with: HostId) {
        let (a, b) = (self.unit(host), self.unit(with));
        if a == b {
            return;
        }
        let (stands, gone) = (a.min(b), a.max(b));
        let Host {
            earliest,
            before: _,
            open,
        } = std::mem::take(&mut self.hosts[gone.index()]);
        self.asleep.remove(&(earliest, gone));
        self.hosts[stands.index()].open += open;
        self.hold(stands, earliest);
        // Nothing is given back for a request that started before.
        self.hosts[stands.index()].before = self.hosts[stands.index()].earliest;
        let moved = self.groups.remove(&gone).unwrap_or_else(|| vec![gone]);
        for &member in &moved {
            self.joined.insert(member, stands);
        }
        let group = self.groups.entry(stands).or_insert_with(|| vec![stands]);
        group.extend(moved);
        group.sort_unstable();
    }

    /// The hosts that open and close together with this one, itself included.
    pub(crate) fn group(&self, host: HostId) -> impl Iterator<Item = HostId> + '_ {
        let unit = self.unit(host);
        let group = self.groups.get(&unit).map_or(&[][..], Vec::as_slice);
        let alone = group.is_empty().then_some(host);
        group.iter().copied().chain(alone)
    }

    /// Takes out one host whose time has come; it may still have too many requests open.
    pub(crate) fn wake(&mut self, now: Tick) -> Option<HostId> {
        let &(until, host) = self.asleep.first().filter(|(until, _)| *until <= now)?;
        self.asleep.remove(&(until, host));
        Some(host)
    }

    /// When the first host wakes or opens that sleeps or is shut.
    pub(crate) fn next_wake(&self) -> Option<Tick> {
        let first = [self.asleep.first(), self.opens.first()]
            .into_iter()
            .flatten();
        first.map(|(tick, _)| *tick).min()
    }

    /// What is known of a host; of one never met, that it may be contacted.
    fn look(&self, host: HostId) -> Host {
        let unit = self.unit(host).index();
        self.hosts.get(unit).copied().unwrap_or_default()
    }

    /// The host whose entry counts.
    pub(crate) fn unit(&self, host: HostId) -> HostId {
        if self.joined.is_empty() {
            return host;
        }
        self.joined.get(&host).copied().unwrap_or(host)
    }
}

impl Save for Calendar {
    fn save(&self, out: &mut dyn io::Write) -> io::Result<()> {
        self.politeness.delay_ms.save(out)?;
        self.politeness.open_max.save(out)?;
        (self.hosts.len() as u64).save(out)?;
        for host in &self.hosts {
            host.earliest.save(out)?;
            host.before.save(out)?;
            host.open.save(out)?;
        }
        (self.asleep.len() as u64).save(out)?;
        self.asleep
            .iter()
            .try_for_each(|sleeper| sleeper.save(out))?;
        self.joined.save(out)?;
        self.shut.save(out)
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
        let hosts: Vec<(Tick, (Tick, u32))> = Restore::restore(from)?;
        let hosts: Vec<Host> = hosts
            .into_iter()
            .map(|(earliest, (before, open))| Host {
                earliest,
                before,
                open,
            })
            .collect();
        let asleep: Vec<(Tick, HostId)> = Restore::restore(from)?;
        if asleep.iter().any(|&(until, host)| {
            hosts
                .get(host.index())
                .is_none_or(|known| known.earliest != until)
        }) {
            return Err(corrupt("a sleeping host that is not known"));
        }
        let joined: BTreeMap<HostId, HostId> = Restore::restore(from)?;
        let mut groups: BTreeMap<HostId, Vec<HostId>> = BTreeMap::new();
        for (&member, &stands) in &joined {
            if stands >= member || joined.contains_key(&stands) || member.index() >= hosts.len() {
                return Err(corrupt("a joined host that cannot be"));
            }
            let group = groups.entry(stands).or_insert_with(|| vec![stands]);
            group.push(member);
        }
        let shut: BTreeMap<HostId, Tick> = Restore::restore(from)?;
        Ok(Self {
            politeness,
            hosts,
            asleep: asleep.into_iter().collect(),
            joined,
            groups,
            opens: shut.iter().map(|(host, until)| (*until, *host)).collect(),
            shut,
        })
    }
}
