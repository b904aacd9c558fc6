//! Reaching the servers, and only servers that may be reached so.
//!
//! Without TLS and credentials only this machine's own addresses are accepted: a journal holds every
//! URL of a crawl, and whoever can write to it can crawl in our name.

use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use async_nats::jetstream;
use async_nats::{Client, ConnectErrorKind, ConnectOptions, ServerInfo};
use turnstone_cluster::bus::MESSAGE_BYTES_MAX;
use url::{Host, Url};

use crate::error::ConnectError;
use crate::nats::PATIENCE;

/// The oldest server with batched direct gets.
const VERSION_MIN: (u64, u64) = (2, 11);

/// How often JetStream is asked for that the server has and that does not answer, and how long in between.
const ELECTION_TRIES: u32 = 15;
const ELECTION_WAIT: Duration = Duration::from_secs(1);

/// Where the servers are, and who we are.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The servers, as `nats://HOST:PORT`.
    pub servers: Vec<String>,
    /// The name of the crawl.
    pub crawl: String,
    /// Who we are.
    pub credentials: Option<Credentials>,
    /// How the servers prove who they are.
    pub tls: Option<Tls>,
    /// Added to this machine's clock before it is compared: for tests.
    pub clock_offset_ms: i64,
}

/// Who we are.
#[derive(Clone)]
pub enum Credentials {
    /// The seed of an nkey.
    Nkey(String),
    /// A user and a password.
    Password {
        /// The user.
        user: String,
        /// The password.
        password: String,
    },
}

impl std::fmt::Debug for Credentials {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Credentials(hidden)")
    }
}

/// How the servers prove who they are.
#[derive(Clone, Debug)]
pub struct Tls {
    /// The certificates of the authority that signed theirs, as PEM.
    pub authorities: PathBuf,
}

/// Connects, and checks everything that can be checked without a crawl.
pub(crate) async fn connect(options: &Options) -> Result<(Client, ServerInfo), ConnectError> {
    let secure = options.tls.is_some() && options.credentials.is_some();
    for address in &options.servers {
        let host = host_of(address)?;
        if !secure && !is_loopback(&host) {
            return Err(ConnectError::Exposed {
                address: address.clone(),
            });
        }
    }
    let servers = options.servers.join(", ");
    let mut connecting = ConnectOptions::new()
        .name("turnstone")
        .connection_timeout(PATIENCE)
        .request_timeout(Some(PATIENCE))
        // Servers that the servers tell of may be reached in ways we did not check.
        .ignore_discovered_servers()
        .reconnect_delay_callback(|attempts| {
            Duration::from_millis(100 * u64::try_from(attempts.min(20)).unwrap_or(20))
        });
    if let Some(tls) = &options.tls {
        let file = |detail: std::io::Error| ConnectError::File {
            path: tls.authorities.display().to_string(),
            detail: detail.to_string(),
        };
        std::fs::metadata(&tls.authorities).map_err(file)?;
        connecting = connecting
            .require_tls(true)
            .add_root_certificates(tls.authorities.clone());
    }
    connecting = match options.credentials.clone() {
        None => connecting,
        Some(Credentials::Nkey(seed)) => connecting.nkey(seed),
        Some(Credentials::Password { user, password }) => {
            connecting.user_and_password(user, password)
        }
    };
    let client = connecting
        .connect(options.servers.clone())
        .await
        .map_err(|error| match error.kind() {
            ConnectErrorKind::Authentication | ConnectErrorKind::AuthorizationViolation => {
                ConnectError::Credentials {
                    servers: servers.clone(),
                }
            }
            _ => ConnectError::Unreachable {
                servers: servers.clone(),
                detail: error.to_string(),
            },
        })?;
    let info = client.server_info();
    check_server(&info)?;
    let context = jetstream::new(client.clone());
    let mut tries = 0;
    while let Err(error) = context.query_account().await {
        tries += 1;
        if !info.jetstream {
            return Err(ConnectError::NoJetStream {
                server: info.server_name,
            });
        }
        // Servers that were started a moment ago have no leader yet.
        if tries == ELECTION_TRIES {
            return Err(ConnectError::server("JetStream does not answer")(&error));
        }
        tokio::time::sleep(ELECTION_WAIT).await;
    }
    Ok((client, info))
}

fn check_server(info: &ServerInfo) -> Result<(), ConnectError> {
    let server = || info.server_name.clone();
    let mut numbers = info
        .version
        .split(['.', '-'])
        .map(|part| part.parse::<u64>().unwrap_or(0));
    let version = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
    if version < VERSION_MIN {
        return Err(ConnectError::OldServer {
            server: server(),
            found: info.version.clone(),
        });
    }
    if info.max_payload < MESSAGE_BYTES_MAX {
        return Err(ConnectError::SmallPayload {
            server: server(),
            found: info.max_payload,
        });
    }
    Ok(())
}

fn host_of(address: &str) -> Result<Host<String>, ConnectError> {
    let wrong = |detail: &str| ConnectError::Address {
        address: address.to_owned(),
        detail: detail.to_owned(),
    };
    let url = Url::parse(address).map_err(|error| wrong(&error.to_string()))?;
    if !matches!(url.scheme(), "nats" | "tls") {
        return Err(wrong("the scheme is not nats"));
    }
    // In a scheme that is not the web's, addresses are names to the parser.
    let host = url.host_str().ok_or_else(|| wrong("there is no host"))?;
    Host::parse(host).map_err(|error| wrong(&error.to_string()))
}

fn is_loopback(host: &Host<String>) -> bool {
    match host {
        Host::Ipv4(address) => IpAddr::V4(*address).is_loopback(),
        Host::Ipv6(address) => IpAddr::V6(*address).is_loopback(),
        Host::Domain(name) => name == "localhost",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn loopback(address: &str) -> bool {
        is_loopback(&host_of(address).unwrap())
    }

    #[test]
    fn only_this_machine_is_loopback() {
        for own in [
            "nats://127.0.0.1:4222",
            "nats://[::1]:4222",
            "nats://localhost",
            "tls://127.9.9.9",
        ] {
            assert!(loopback(own), "{own}");
        }
        let others = [
            "nats://10.0.0.1:4222",
            "nats://0.0.0.0",
            "nats://localhost.example",
            "nats://[::]:4222",
        ];
        for other in others {
            assert!(!loopback(other), "{other}");
        }
        for bad in ["127.0.0.1:4222", "http://127.0.0.1", "nats://", "nats"] {
            assert!(host_of(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn old_servers_are_refused() {
        let info = |version: &str| ServerInfo {
            version: version.into(),
            max_payload: MESSAGE_BYTES_MAX,
            ..ServerInfo::default()
        };
        for fine in ["2.11.0", "2.15.1", "3.0.0-beta.1"] {
            assert!(check_server(&info(fine)).is_ok(), "{fine}");
        }
        for old in ["2.10.26", "1.4.0", "", "nonsense"] {
            let error = check_server(&info(old)).unwrap_err();
            assert!(matches!(error, ConnectError::OldServer { .. }), "{old}");
        }
        let small = ServerInfo {
            max_payload: 1000,
            ..info("2.15.0")
        };
        assert!(matches!(
            check_server(&small),
            Err(ConnectError::SmallPayload { .. })
        ));
    }
}
