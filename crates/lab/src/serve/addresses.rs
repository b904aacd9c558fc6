//! Where hosts are: host i at 127.1.0.1 + i, all with one port.
//!
//! Nothing but loopback is ever bound: that is asserted. Hosts told apart by name share a few
//! addresses, so that there may be more of them than sockets.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener as StdListener};

use super::options::{Naming, ServeError};

/// The address of the first host.
const FIRST_ADDRESS: Ipv4Addr = Ipv4Addr::new(127, 1, 0, 1);
/// The most addresses there are room for.
const ADDRESSES_MAX: usize = (127 << 24 | 0x00ff_ffff) - (127 << 24 | 1 << 16 | 1);
/// Hosts told apart by name share so many addresses.
const ADDRESSES_BY_NAME_MAX: usize = 64;
/// How often another port is tried when the system's choice is taken on some address.
const PORTS_TRIED_MAX: usize = 16;
/// How many addresses so many hosts have.
pub(super) fn count_for(hosts: usize, naming: Naming) -> usize {
    match naming {
        Naming::ByAddress => hosts,
        Naming::ByName => hosts.min(ADDRESSES_BY_NAME_MAX),
    }
}

/// The address of a host.
pub(super) fn address(number: usize) -> Ipv4Addr {
    let address = Ipv4Addr::from_bits(FIRST_ADDRESS.to_bits() + number as u32);
    assert!(address.is_loopback(), "only loopback is served");
    address
}

pub(super) fn bind(address: Ipv4Addr, port: u16) -> Result<StdListener, ServeError> {
    assert!(address.is_loopback(), "only loopback is served");
    let address = SocketAddr::new(IpAddr::V4(address), port);
    let bound = StdListener::bind(address).and_then(|listener| {
        listener.set_nonblocking(true)?;
        Ok(listener)
    });
    bound.map_err(|source| ServeError::Bind { address, source })
}

/// Binds one port on every address.
pub(super) fn bind_all(count: usize, port: u16) -> Result<(Vec<StdListener>, u16), ServeError> {
    if count > ADDRESSES_MAX {
        return Err(ServeError::TooManyHosts {
            hosts: count,
            max: ADDRESSES_MAX,
        });
    }
    let mut tried = 0;
    loop {
        let first = bind(address(0), port)?;
        let chosen = first.local_addr().map_err(ServeError::Runtime)?.port();
        let rest = (1..count).map(|number| bind(address(number), chosen));
        let bound = std::iter::once(Ok(first))
            .chain(rest)
            .collect::<Result<Vec<_>, _>>();
        tried += 1;
        match bound {
            Ok(listeners) => return Ok((listeners, chosen)),
            Err(ServeError::Bind { source, .. })
                if port == 0
                    && source.kind() == io::ErrorKind::AddrInUse
                    && tried < PORTS_TRIED_MAX => {}
            Err(error) => return Err(error),
        }
    }
}
