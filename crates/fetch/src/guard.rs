//! The address guard: which addresses and ports a crawler may be talked into asking.
//!
//! Links, redirects and DNS answers come from strangers, and a stranger must not steer us to
//! the operator's own network or to a cloud's metadata service. So the guard judges the socket
//! address about to be connected, after every other decision has been made; names are resolved
//! once and the judged address is the connected one, which leaves DNS rebinding no second look.
//!
//! Allowed is only what the IANA special-purpose registries call globally reachable. An IPv6
//! address that carries an IPv4 address (mapped, compatible, NAT64, 6to4) is judged by the inner
//! one. Teredo (2001::/32) hides two IPv4 addresses behind relays that are gone; it is refused
//! like the rest of 2001::/23, where no web server lives.
//!
//! Cost: a few comparisons per connection. Invariant: no socket is opened to an address for
//! which [`Guard::judge`] did not return `Ok`.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::str::FromStr;

use ipnet::{IpNet, Ipv4Net, Ipv6Net};

/// Ports on which public addresses are asked without being told to.
pub const WEB_PORTS: [u16; 4] = [80, 443, 8080, 8443];

/// Which addresses beyond the globally routable ones may be asked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum AllowPrivate {
    /// None: the public web only.
    #[default]
    None,
    /// Those in one of these networks.
    Networks(Vec<IpNet>),
    /// Every address.
    All,
}

/// A list of networks that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a network: write an address (10.1.2.3) or a CIDR range (10.0.0.0/8), or all")]
pub struct NetworkError(String);

impl FromStr for AllowPrivate {
    type Err = NetworkError;

    /// Reads `all`, or networks and addresses separated by commas.
    fn from_str(text: &str) -> Result<Self, NetworkError> {
        if text.trim() == "all" {
            return Ok(Self::All);
        }
        let read = |piece: &str| {
            let address = piece.parse().map(|address: IpAddr| IpNet::from(address));
            address
                .or_else(|_| piece.parse())
                .map_err(|_| NetworkError(piece.to_owned()))
        };
        text.split(',')
            .map(str::trim)
            .map(read)
            .collect::<Result<_, _>>()
            .map(Self::Networks)
    }
}

/// Which ports may be asked at public addresses.
///
/// An address opened by [`AllowPrivate`] may be asked on any port but those that the WHATWG
/// fetch standard blocks, because intranets and tests live on odd ports.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum AllowPorts {
    /// [`WEB_PORTS`] only.
    #[default]
    Web,
    /// [`WEB_PORTS`] and these, also where the fetch standard blocks them.
    Also(Vec<u16>),
}

/// Decides which socket addresses may be connected.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Guard {
    /// Addresses opened beyond the public ones.
    pub private: AllowPrivate,
    /// Ports opened beyond the usual ones.
    pub ports: AllowPorts,
}

/// Why the guard refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The address is not part of the public internet.
    #[error("{address} is {what}, not a public address; allow its network to ask it")]
    Address {
        /// The address judged.
        address: IpAddr,
        /// What kind of address it is.
        what: Special,
    },
    /// The port is not one of the web's.
    #[error("port {0} is not a web port (80, 443, 8080, 8443); allow it to ask it")]
    Port(u16),
}

impl Guard {
    /// Judges the address that is about to be connected, or that was connected.
    pub fn judge(&self, address: SocketAddr) -> Result<(), Refusal> {
        let port = address.port();
        match special(address.ip()) {
            None => {
                let usual = WEB_PORTS.contains(&port);
                if usual || self.opens_port(port) {
                    Ok(())
                } else {
                    Err(Refusal::Port(port))
                }
            }
            Some(what) if !self.opens_address(address.ip()) => Err(Refusal::Address {
                address: address.ip(),
                what,
            }),
            Some(_) if BLOCKED_PORTS.binary_search(&port).is_ok() && !self.opens_port(port) => {
                Err(Refusal::Port(port))
            }
            Some(_) => Ok(()),
        }
    }

    /// Refuses a port that no address could make right, so that not even a look-up is made.
    pub fn judge_port(&self, port: u16) -> Result<(), Refusal> {
        let public_only = self.private == AllowPrivate::None;
        if public_only && !WEB_PORTS.contains(&port) && !self.opens_port(port) {
            return Err(Refusal::Port(port));
        }
        Ok(())
    }

    fn opens_port(&self, port: u16) -> bool {
        match &self.ports {
            AllowPorts::Web => false,
            AllowPorts::Also(ports) => ports.contains(&port),
        }
    }

    fn opens_address(&self, address: IpAddr) -> bool {
        match &self.private {
            AllowPrivate::None => false,
            AllowPrivate::All => true,
            AllowPrivate::Networks(networks) => {
                let inner = unwrap_transition(address);
                networks.iter().any(|network| {
                    network.contains(&address)
                        || inner.is_some_and(|v4| network.contains(&IpAddr::V4(v4)))
                })
            }
        }
    }
}

/// What kind of non-public address it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Special(&'static str);

impl fmt::Display for Special {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

/// What makes an address not globally routable; `None` for a public one.
pub fn special(address: IpAddr) -> Option<Special> {
    if let Some(inner) = unwrap_transition(address) {
        return special_v4(inner);
    }
    match address {
        IpAddr::V4(v4) => special_v4(v4),
        IpAddr::V6(v6) => special_v6(v6),
    }
}

/// Whether an address is this machine's own loopback, also in disguise.
pub fn is_loopback(address: IpAddr) -> bool {
    address.is_loopback() || unwrap_transition(address).is_some_and(|v4| v4.is_loopback())
}

/// The IPv4 address inside an IPv6 transition address, which decides where packets go.
fn unwrap_transition(address: IpAddr) -> Option<Ipv4Addr> {
    let IpAddr::V6(v6) = address else { return None };
    let [a, b, c, d, e, f, g, h] = v6.segments();
    let join = |high: u16, low: u16| Ipv4Addr::from(u32::from(high) << 16 | u32::from(low));
    match (a, b, c, d, e, f) {
        // `::` and `::1` are addresses of their own, not 0.0.0.0 and 0.0.0.1.
        (0, 0, 0, 0, 0, 0) if g == 0 && h <= 1 => None,
        (0, 0, 0, 0, 0, 0 | 0xffff) => Some(join(g, h)), // compatible, mapped
        (0, 0, 0, 0, 0xffff, 0) => Some(join(g, h)),     // translated (RFC 2765)
        (0x64, 0xff9b, 0, 0, 0, 0) => Some(join(g, h)),  // NAT64
        (0x2002, ..) => Some(join(b, c)),                // 6to4
        _ => None,
    }
}

fn special_v4(address: Ipv4Addr) -> Option<Special> {
    SPECIAL_V4
        .iter()
        .find(|(network, _)| network.contains(&address))
        .map(|&(_, what)| Special(what))
}

fn special_v6(address: Ipv6Addr) -> Option<Special> {
    let named = SPECIAL_V6
        .iter()
        .find(|(network, _)| network.contains(&address));
    match named {
        Some(&(_, what)) => Some(Special(what)),
        // Only 2000::/3 has ever been given out for the public internet.
        None if address.segments()[0] >> 13 != 1 => Some(Special("outside global unicast")),
        None => None,
    }
}

const fn v4(a: u8, b: u8, c: u8, d: u8, prefix: u8) -> Ipv4Net {
    Ipv4Net::new_assert(Ipv4Addr::new(a, b, c, d), prefix)
}

const fn v6(a: u16, b: u16, c: u16, prefix: u8) -> Ipv6Net {
    Ipv6Net::new_assert(Ipv6Addr::new(a, b, c, 0, 0, 0, 0, 0), prefix)
}

/// The IANA IPv4 special-purpose registry, what is not globally reachable of it.
const SPECIAL_V4: [(Ipv4Net, &str); 16] = [
    (v4(0, 0, 0, 0, 8), "this network"),
    (v4(10, 0, 0, 0, 8), "private"),
    (v4(100, 64, 0, 0, 10), "shared by a carrier"),
    (v4(127, 0, 0, 0, 8), "loopback"),
    (v4(169, 254, 0, 0, 16), "link-local"),
    (v4(172, 16, 0, 0, 12), "private"),
    (v4(192, 0, 0, 0, 24), "for protocols"),
    (v4(192, 0, 2, 0, 24), "for documentation"),
    (v4(192, 88, 99, 0, 24), "a 6to4 relay"),
    (v4(192, 168, 0, 0, 16), "private"),
    (v4(198, 18, 0, 0, 15), "for benchmarks"),
    (v4(198, 51, 100, 0, 24), "for documentation"),
    (v4(203, 0, 113, 0, 24), "for documentation"),
    (v4(224, 0, 0, 0, 4), "multicast"),
    (v4(255, 255, 255, 255, 32), "broadcast"),
    (v4(240, 0, 0, 0, 4), "reserved"),
];

/// The IANA IPv6 special-purpose registry, what is not globally reachable of it.
const SPECIAL_V6: [(Ipv6Net, &str); 12] = [
    (
        Ipv6Net::new_assert(Ipv6Addr::UNSPECIFIED, 128),
        "unspecified",
    ),
    (Ipv6Net::new_assert(Ipv6Addr::LOCALHOST, 128), "loopback"),
    (v6(0x64, 0xff9b, 1, 48), "local NAT64"),
    (v6(0x100, 0, 0, 64), "discarded"),
    (
        v6(0x2001, 0, 0, 23),
        "for protocols (Teredo, ORCHID, benchmarks)",
    ),
    (v6(0x2001, 0xdb8, 0, 32), "for documentation"),
    (v6(0x3fff, 0, 0, 20), "for documentation"),
    (v6(0x5f00, 0, 0, 16), "for segment routing"),
    (v6(0xfc00, 0, 0, 7), "unique local"),
    (v6(0xfe80, 0, 0, 10), "link-local"),
    (v6(0xfec0, 0, 0, 10), "site-local"),
    (v6(0xff00, 0, 0, 8), "multicast"),
];

/// The bad ports of the WHATWG fetch standard (section "port blocking"), sorted.
const BLOCKED_PORTS: [u16; 83] = [
    0, 1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101,
    102, 103, 104, 109, 110, 111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427,
    465, 512, 513, 514, 515, 526, 530, 531, 532, 540, 548, 554, 556, 563, 587, 601, 636, 989, 990,
    993, 995, 1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061, 6000, 6566, 6665, 6666, 6667,
    6668, 6669, 6679, 6697, 10080,
];

#[cfg(test)]
mod tests {
    use super::*;

    /// Judges `address` at port 80, opened to `private`.
    fn check(private: &AllowPrivate, address: &str, allowed: bool) {
        let guard = Guard {
            private: private.clone(),
            ports: AllowPorts::Web,
        };
        let socket = SocketAddr::new(address.parse().unwrap(), 80);
        let verdict = guard.judge(socket);
        assert_eq!(verdict.is_ok(), allowed, "{address}: {verdict:?}");
    }

    #[test]
    fn public_addresses_pass_and_their_neighbours_do_not() {
        for public in [
            "8.8.8.8",
            "9.255.255.255",
            "11.0.0.0",
            "100.63.255.255",
            "100.128.0.0",
            "126.255.255.255",
            "128.0.0.0",
            "172.15.255.255",
            "172.32.0.0",
            "192.0.1.0",
            "192.167.255.255",
            "192.169.0.0",
            "198.17.255.255",
            "198.20.0.0",
            "223.255.255.255",
            "2606:4700::1111",
            "2001:200::1",
            "2001:4860:4860::8888",
            "2003::1",
            "3ffe:ffff::1",
            "3fff:1000::1",
            "::ffff:8.8.8.8",
            "::8.8.8.8",
            "64:ff9b::808:808",
            "2002:808:808::1",
        ] {
            check(&AllowPrivate::None, public, true);
        }
        for private in [
            "0.0.0.0",
            "0.255.255.255",
            "10.0.0.0",
            "10.255.255.255",
            "100.64.0.0",
            "100.127.255.255",
            "127.0.0.1",
            "127.255.255.255",
            "169.254.169.254",
            "172.16.0.0",
            "172.31.255.255",
            "192.0.0.9",
            "192.0.2.1",
            "192.88.99.1",
            "192.168.255.255",
            "198.19.255.255",
            "198.51.100.1",
            "203.0.113.1",
            "224.0.0.1",
            "240.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::ffff:127.0.0.1",
            "::127.0.0.1",
            "::ffff:0:7f00:1",
            "64:ff9b::a9fe:a9fe",
            "64:ff9b:1::1",
            "2002:7f00:1::",
            "2002:a9fe:a9fe::",
            "100::1",
            "2001::1",
            "2001:2::1",
            "2001:10::1",
            "2001:1ff::1",
            "2001:db8::1",
            "3fff:fff::1",
            "5f00::1",
            "fc00::1",
            "fd00:ec2::254",
            "fe80::1",
            "fec0::1",
            "ff02::1",
            "1::1",
            "4000::1",
        ] {
            check(&AllowPrivate::None, private, false);
            check(&AllowPrivate::All, private, true);
        }
    }

    #[test]
    fn a_list_opens_only_its_networks_also_in_disguise() {
        let list = AllowPrivate::Networks(vec![
            "127.0.0.0/8".parse().unwrap(),
            "fd00::/16".parse().unwrap(),
        ]);
        for (address, allowed) in [
            ("127.0.0.1", true),
            ("::ffff:127.0.0.1", true),
            ("64:ff9b::7f00:1", true),
            ("fd00::1", true),
            ("fd01::1", false),
            ("::1", false),
            ("10.0.0.1", false),
            ("8.8.8.8", true),
        ] {
            check(&list, address, allowed);
        }
    }

    #[test]
    fn networks_are_read_from_text() {
        let read = |text: &str| text.parse::<AllowPrivate>();
        assert_eq!(read("all"), Ok(AllowPrivate::All));
        let list = ["10.0.0.0/8", "127.0.0.1/32", "::1/128"].map(|net| net.parse().unwrap());
        let want = AllowPrivate::Networks(list.to_vec());
        assert_eq!(read("10.0.0.0/8, 127.0.0.1,::1"), Ok(want));
        for bad in ["", "10.0.0.0/33", "10.0.0.0/8,,", "localhost", "127.1"] {
            let error = read(bad).unwrap_err().to_string();
            assert!(error.contains("is not a network"), "{bad}: {error}");
        }
    }

    #[test]
    fn ports() {
        let check = |guard: &Guard, address: &str, allowed: bool| {
            assert_eq!(
                guard.judge(address.parse().unwrap()).is_ok(),
                allowed,
                "{address}"
            );
        };
        let public = Guard::default();
        check(&public, "8.8.8.8:443", true);
        check(&public, "8.8.8.8:81", false);
        assert!(public.judge_port(81).is_err());
        let opened = Guard {
            private: AllowPrivate::All,
            ports: AllowPorts::Web,
        };
        check(&opened, "8.8.8.8:81", false);
        check(&opened, "127.0.0.1:40000", true);
        check(&opened, "127.0.0.1:25", false);
        assert!(opened.judge_port(81).is_ok());
        let more = Guard {
            private: AllowPrivate::All,
            ports: AllowPorts::Also(vec![25, 81]),
        };
        check(&more, "127.0.0.1:25", true);
        check(&more, "8.8.8.8:81", true);
        check(&more, "8.8.8.8:82", false);
        assert!(BLOCKED_PORTS.is_sorted());
    }

    #[test]
    fn loopback_is_seen_through_disguises() {
        for (address, loopback) in [
            ("127.9.9.9", true),
            ("::1", true),
            ("::ffff:127.0.0.1", true),
            ("10.0.0.1", false),
        ] {
            assert_eq!(is_loopback(address.parse().unwrap()), loopback, "{address}");
        }
    }
}
