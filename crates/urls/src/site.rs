//! Hosts, origins and sites.
//!
//! A host is what politeness counts; a site is its registrable domain by the public suffix list
//! (compiled in by the `psl` crate). An address literal, a bare public suffix and a name outside
//! the list stand for themselves.

use url::{Host, Url};

/// The host of a URL in lower case without its trailing dot; IPv6 in brackets.
pub fn host_of(url: &Url) -> &str {
    let host = url.host_str().unwrap_or("");
    host.strip_suffix('.').unwrap_or(host)
}

/// Scheme, host and port: the key robots.txt and connections hang on.
pub fn origin_of(url: &Url) -> String {
    url.origin().ascii_serialization()
}

/// The registrable domain of a URL's host, or the whole host where there is none.
pub fn site_of(url: &Url) -> &str {
    let host = host_of(url);
    match url.host() {
        Some(Host::Domain(_)) => psl::domain_str(host).unwrap_or(host),
        _ => host,
    }
}
