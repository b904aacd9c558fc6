//! From a host name to the addresses worth trying, once per connection.
//!
//! [`Resolve`] is the seam: [`SystemDns`] asks the machine's name servers through
//! `hickory-resolver`, because `getaddrinfo` blocks a thread for each look-up and cannot tell a
//! name that does not exist from servers that fail. Tests give answers of their own.
//!
//! Around it stand the bounds: look-ups under way, time for each, addresses per answer. Names
//! under `localhost` never leave the machine (RFC 6761).
//!
//! Not here: whether an address may be asked. See `guard`.

use std::future::Future;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use hickory_resolver::TokioResolver;
use hickory_resolver::config::{
    ConnectionConfig, LookupIpStrategy, NameServerConfig, ResolverConfig, ResolverOpts,
};
use hickory_resolver::net::runtime::TokioRuntimeProvider;
use tokio::sync::Semaphore;

use crate::error::{ErrorClass, Fault};
use crate::limits::Limits;

/// What a look-up comes to, some time later.
pub type Answer<'a> = Pin<Box<dyn Future<Output = Result<Vec<IpAddr>, DnsError>> + Send + 'a>>;

/// Finds the addresses of a host name.
pub trait Resolve: Send + Sync {
    /// The addresses of `host`, an ASCII name without a port. An empty answer is a failure.
    fn resolve<'a>(&'a self, host: &'a str) -> Answer<'a>;
}

/// Why a look-up brought no address.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DnsError {
    /// The servers say that the name does not exist.
    #[error("the name does not exist")]
    NoSuchName,
    /// The servers failed, did not answer, or answered with nothing usable.
    #[error("{0}")]
    Failed(String),
}

/// How long answers are believed: at most a day, whatever they say.
const TTL_MAX: Duration = Duration::from_secs(24 * 3600);
/// How long "does not exist" is believed at least, so that a dead name is not asked for again
/// with every link to it.
const NEGATIVE_TTL_MIN: Duration = Duration::from_secs(60);
/// Answers kept in memory.
const CACHE_ENTRIES: u64 = 32_768;

/// The name servers of this machine, or those named, with a cache that honours their TTLs.
pub struct SystemDns {
    // Kept as a text when the machine has no usable configuration: a crawl of literal addresses
    // or of loopback needs none.
    resolver: Result<TokioResolver, String>,
}

impl SystemDns {
    /// Reads the machine's configuration; must be called within a tokio runtime.
    pub fn new(limits: &Limits) -> Self {
        let resolver = TokioResolver::builder_tokio()
            .and_then(|mut builder| {
                set_options(builder.options_mut(), limits);
                builder.build()
            })
            .map_err(|error| format!("no usable name server configuration: {error}"));
        Self { resolver }
    }

    /// Asks these servers, over UDP and, for long answers, TCP.
    pub fn with_servers(servers: &[SocketAddr], limits: &Limits) -> Self {
        let name_servers = servers.iter().map(|server| {
            let mut config = NameServerConfig::udp(server.ip());
            config.connections = [ConnectionConfig::udp(), ConnectionConfig::tcp()].into();
            for connection in &mut config.connections {
                connection.port = server.port();
            }
            config
        });
        let config = ResolverConfig::from_parts(None, Vec::new(), name_servers.collect());
        let provider = TokioRuntimeProvider::default();
        let mut builder = TokioResolver::builder_with_config(config, provider);
        set_options(builder.options_mut(), limits);
        Self {
            resolver: builder.build().map_err(|error| error.to_string()),
        }
    }
}

fn set_options(options: &mut ResolverOpts, limits: &Limits) {
    options.ip_strategy = LookupIpStrategy::Ipv4AndIpv6;
    options.cache_size = CACHE_ENTRIES;
    options.positive_max_ttl = Some(TTL_MAX);
    options.negative_max_ttl = Some(TTL_MAX);
    options.negative_min_ttl = Some(NEGATIVE_TTL_MIN);
    options.max_active_requests = limits.dns_open_max.saturating_mul(2).max(32);
    // Two rounds fit into the time of a look-up.
    options.attempts = 1;
    options.timeout = limits.dns_time / 2;
}

impl Resolve for SystemDns {
    fn resolve<'a>(&'a self, host: &'a str) -> Answer<'a> {
        Box::pin(async move {
            let resolver = self
                .resolver
                .as_ref()
                .map_err(|why| DnsError::Failed(why.clone()))?;
            // The dot at the end keeps the machine's search domains out of it.
            let name = format!("{}.", host.trim_end_matches('.'));
            match resolver.lookup_ip(name).await {
                Ok(found) => Ok(found.into_iter().collect()),
                Err(error) if error.is_nx_domain() => Err(DnsError::NoSuchName),
                Err(error) if error.is_no_records_found() => {
                    Err(DnsError::Failed("the name has no address".into()))
                }
                Err(error) => Err(DnsError::Failed(error.to_string())),
            }
        })
    }
}

/// A resolver within its bounds.
pub(crate) struct Lookup {
    resolver: Arc<dyn Resolve>,
    open: Semaphore,
    time: Duration,
    addresses_max: usize,
}

impl Lookup {
    pub(crate) fn new(resolver: Arc<dyn Resolve>, limits: &Limits) -> Self {
        Self {
            resolver,
            open: Semaphore::new(limits.dns_open_max),
            time: limits.dns_time,
            addresses_max: limits.dns_addresses_max,
        }
    }

    /// The addresses of `host`, the two families taking turns, IPv4 first.
    ///
    /// The clock of a look-up starts when its turn comes, so that a thousand slow names ahead do
    /// not make this one fail; the total time of the fetch bounds the wait.
    pub(crate) async fn addresses(&self, host: &str) -> Result<Vec<IpAddr>, Fault> {
        if is_localhost(host) {
            return Ok(vec![Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()]);
        }
        let _turn = self
            .open
            .acquire()
            .await
            .expect("the semaphore is never closed");
        let answer = tokio::time::timeout(self.time, self.resolver.resolve(host)).await;
        let mut found = match answer {
            Ok(Ok(found)) => found,
            Ok(Err(error @ DnsError::NoSuchName)) => {
                return Err(Fault::new(ErrorClass::DnsNxdomain, error.to_string()));
            }
            Ok(Err(DnsError::Failed(why))) => {
                return Err(Fault::new(
                    ErrorClass::DnsFailure,
                    format!("look-up failed: {why}"),
                ));
            }
            Err(_) => {
                let detail = format!("no answer from the name servers within {:?}", self.time);
                return Err(Fault::new(ErrorClass::DnsFailure, detail));
            }
        };
        found.truncate(self.addresses_max);
        if found.is_empty() {
            return Err(Fault::new(
                ErrorClass::DnsFailure,
                "the name has no address",
            ));
        }
        Ok(take_turns(&found))
    }
}

fn is_localhost(host: &str) -> bool {
    let host = host.strip_suffix('.').unwrap_or(host);
    let last = host.rsplit('.').next().unwrap_or(host);
    last.eq_ignore_ascii_case("localhost")
}

/// IPv4 first, then the families in turn; the servers' order within each is kept.
fn take_turns(found: &[IpAddr]) -> Vec<IpAddr> {
    let mut v4 = found.iter().filter(|address| address.is_ipv4());
    let mut v6 = found.iter().filter(|address| address.is_ipv6());
    let mut ordered = Vec::with_capacity(found.len());
    while ordered.len() < found.len() {
        ordered.extend(v4.next());
        ordered.extend(v6.next());
    }
    ordered
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn localhost_in_all_its_names() {
        for (host, local) in [
            ("localhost", true),
            ("LOCALHOST.", true),
            ("a.b.localhost", true),
            ("localhost.example", false),
            ("notlocalhost", false),
        ] {
            assert_eq!(is_localhost(host), local, "{host}");
        }
    }

    #[test]
    fn families_take_turns() {
        let parse = |text: &str| -> Vec<IpAddr> {
            text.split_whitespace()
                .map(|address| address.parse().unwrap())
                .collect()
        };
        let check = |found, ordered| assert_eq!(take_turns(&parse(found)), parse(ordered));
        check(
            "::1 ::2 1.1.1.1 2.2.2.2 3.3.3.3",
            "1.1.1.1 ::1 2.2.2.2 ::2 3.3.3.3",
        );
        check("::1", "::1");
        check("", "");
    }
}
