//! Which hosts struggle: how often in a row each gave no good answer.
//!
//! A fold of the journal, so that a restart is as gentle with a struggling host as the process
//! before it was. How long a host rests for so much trouble is for the driver to say.

use std::collections::BTreeMap;
use std::io;

use turnstone_frontier::{HostId, Restore, Save};
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

impl Save for Troubles {
    fn save(&self, out: &mut dyn io::Write) -> io::Result<()> {
        self.hosts.save(out)
    }
}

impl Restore for Troubles {
    fn restore(from: &mut dyn io::Read) -> io::Result<Self> {
        Ok(Self {
            hosts: Restore::restore(from)?,
        })
    }
}
