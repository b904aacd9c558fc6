//! Which hosts struggle: how often in a row each gave no good answer.
//!
//! A fold of the journal, so that a restart is as gentle with a struggling host as the process
//! before it was. How long a host rests for so much trouble is for the driver to say.

use std::collections::BTreeMap;

use turnstone_frontier::HostId;
use turnstone_pagestore::Mood;

/// By host: troubles in a row. Hosts without any are not kept.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Troubles {
    hosts: BTreeMap<HostId, u32>,
}

impl Troubles {
    /// How often in a row a host gave no good answer.
    pub fn of(&self, host: HostId) -> u32 {
        self.hosts.get(&host).copied().unwrap_or(0)
    }

    /// The hosts in trouble.
    pub fn hosts(&self) -> impl Iterator<Item = (HostId, u32)> + '_ {
        self.hosts.iter().map(|(host, times)| (*host, *times))
    }

    pub(crate) fn told(&mut self, host: HostId, mood: Mood) {
        if mood == Mood::Good {
            self.hosts.remove(&host);
        } else {
            let times = self.hosts.entry(host).or_default();
            *times = times.saturating_add(1);
        }
    }
}

turnstone_frontier::saved!(Troubles: hosts);
