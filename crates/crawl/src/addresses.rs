//! Which hosts share an address, so that they are asked as one.
//!
//! A host's addresses are looked up before it is asked the first time in a process. Looking up is
//! no request: nobody's delay is charged. Who was met where is the ledger's to know: a process that
//! takes a crawl over must not ask an address early because it knows it by another name.

use std::net::IpAddr;

use turnstone_frontier::{HostId, Policy};
use turnstone_pagestore::Entry;

use crate::asker::Asker;

impl<P: Policy> Asker<P> {
    /// Takes in the addresses of a host: it is asked as one with those met there before.
    pub(crate) fn found_at(&mut self, host: HostId, addresses: &[IpAddr]) {
        self.looked_up.insert(host);
        self.found_place(host, addresses);
        for address in addresses {
            let bytes = match address {
                IpAddr::V4(address) => address.octets().to_vec(),
                IpAddr::V6(address) => address.octets().to_vec(),
            };
            match self.ledger.host_at(&bytes) {
                None => {
                    let address = bytes.as_slice();
                    self.ledger
                        .tell(self.now, &Entry::Address { host, address });
                }
                Some(other) => {
                    let scheduler = self.ledger.scheduler();
                    if scheduler.unit(other) != scheduler.unit(host) {
                        self.join(host, other);
                    }
                }
            }
        }
    }

    /// Whether a host's addresses were looked up by this process.
    pub(crate) fn is_looked_up(&self, host: HostId) -> bool {
        self.looked_up.contains(&host)
    }
}
