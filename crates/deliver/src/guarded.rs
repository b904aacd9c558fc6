//! The crawler's address guard, for whoever here connects to a server.
//!
//! A name is looked up once, and what it stands for is judged before it is connected: a name that suddenly leads to
//! the operator's own network, or to a cloud's metadata service, is refused unless that network was allowed. The
//! port is the one that the operator wrote.

use turnstone_fetch::{AllowPorts, AllowPrivate, Guard};
use ureq::http::Uri;
use ureq::unversioned::resolver::{DefaultResolver, ResolvedSocketAddrs, Resolver};
use ureq::unversioned::transport::{DefaultConnector, NextTimeout};

/// Looks up a name, and refuses the addresses that may not be asked.
struct Guarded {
    names: DefaultResolver,
    private: AllowPrivate,
}

impl std::fmt::Debug for Guarded {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Guarded")
    }
}

impl Resolver for Guarded {
    fn resolve(
        &self,
        uri: &Uri,
        config: &ureq::config::Config,
        timeout: NextTimeout,
    ) -> Result<ResolvedSocketAddrs, ureq::Error> {
        let found = self.names.resolve(uri, config, timeout)?;
        let mut allowed = self.empty();
        let mut refused = None;
        for address in found.iter() {
            let guard = Guard {
                private: self.private.clone(),
                ports: AllowPorts::Also(vec![address.port()]),
            };
            match guard.judge(*address) {
                Ok(()) => allowed.push(*address),
                Err(refusal) => refused = Some(refusal),
            }
        }
        match refused {
            Some(refusal) if allowed.is_empty() => Err(ureq::Error::Other(Box::new(refusal))),
            _ => Ok(allowed),
        }
    }
}

/// A client that asks nobody but whom it may. Redirects are not followed, proxies not used, and a status is an answer.
pub(crate) fn agent(private: &AllowPrivate, time_max: std::time::Duration) -> ureq::Agent {
    let config = ureq::Agent::config_builder()
        .timeout_global(Some(time_max))
        .max_redirects(0)
        .http_status_as_error(false)
        .proxy(None)
        .user_agent(concat!("turnstone/", env!("CARGO_PKG_VERSION")))
        .build();
    let names = Guarded {
        names: DefaultResolver::default(),
        private: private.clone(),
    };
    ureq::Agent::with_parts(config, DefaultConnector::new(), names)
}
