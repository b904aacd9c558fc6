//! Which hosts share an address, so that they are asked as one.
//!
//! A host's addresses are looked up before it is asked the first time in a process. Looking up is
//! no request: nobody's delay is charged.

use std::collections::{HashMap, HashSet};
use std::net::IpAddr;

use turnstone_frontier::HostId;

/// The addresses met so far.
#[derive(Debug, Default)]
pub(crate) struct Addresses {
    first_host: HashMap<IpAddr, HostId>,
    known: HashSet<HostId>,
}

impl Addresses {
    /// Whether a host's addresses have been looked up.
    pub(crate) fn knows(&self, host: HostId) -> bool {
        self.known.contains(&host)
    }

    /// Takes in what was found. Returns the hosts met at these addresses before.
    pub(crate) fn found(&mut self, host: HostId, addresses: &[IpAddr]) -> Vec<HostId> {
        self.known.insert(host);
        let mut others: Vec<HostId> = addresses
            .iter()
            .map(|address| *self.first_host.entry(*address).or_insert(host))
            .filter(|other| *other != host)
            .collect();
        others.sort_unstable();
        others.dedup();
        others
    }
}
