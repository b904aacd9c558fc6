//! Why a node cannot join: one sentence each, with what to do.

/// Why the bus cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectError {
    /// An address that cannot be read.
    #[error("{address}: {detail}; give servers as nats://HOST:PORT")]
    Address {
        /// The address.
        address: String,
        /// What is wrong with it.
        detail: String,
    },
    /// A name that cannot be part of a subject.
    #[error("crawl {name:?}: a name has 1 to 32 letters, digits and hyphens")]
    Name {
        /// The name.
        name: String,
    },
    /// Another machine without encryption or without credentials.
    #[error(
        "{address} is not this machine: other machines are reached only with TLS and credentials; \
         set both, or use 127.0.0.1"
    )]
    Exposed {
        /// The address.
        address: String,
    },
    /// A file that cannot be read.
    #[error("{path}: {detail}")]
    File {
        /// The file.
        path: String,
        /// What is wrong with it.
        detail: String,
    },
    /// Nobody answers.
    #[error("{servers}: no NATS server answers ({detail}); is it started?")]
    Unreachable {
        /// The servers.
        servers: String,
        /// What was tried.
        detail: String,
    },
    /// The servers do not know us.
    #[error("{servers}: the credentials are refused; check the key and the server's configuration")]
    Credentials {
        /// The servers.
        servers: String,
    },
    /// No JetStream.
    #[error(
        "{server}: JetStream is not enabled for us; set `jetstream {{ store_dir: … }}` in the server's \
         configuration, and allow it for the account"
    )]
    NoJetStream {
        /// The server.
        server: String,
    },
    /// An old server.
    #[error(
        "{server} is NATS {found}: 2.11 is needed, 2.15 recommended (older ones sync every message \
         alone)"
    )]
    OldServer {
        /// The server.
        server: String,
        /// Its version.
        found: String,
    },
    /// Messages do not fit.
    #[error("{server}: max_payload is {found} bytes; set it to 1MB or more")]
    SmallPayload {
        /// The server.
        server: String,
        /// What it allows.
        found: usize,
    },
    /// Clocks differ.
    #[error(
        "this machine's clock is {ahead_ms} ms ahead of the servers' (negative: behind); at most \
         1000 ms are allowed: synchronise both, for example with chrony"
    )]
    Skew {
        /// How far.
        ahead_ms: i64,
    },
    /// A cluster of servers too small for three copies.
    #[error(
        "three copies cannot be kept ({detail}): a cluster of NATS servers must have at least \
         three, all reachable"
    )]
    TooFewServers {
        /// What the server said.
        detail: String,
    },
    /// Copies differ from what the servers could keep.
    #[error("stream {stream} keeps {found} copies, but {wanted} are wanted: see docs/cluster.md")]
    Copies {
        /// The stream.
        stream: String,
        /// What it keeps.
        found: usize,
        /// What it should keep.
        wanted: usize,
    },
    /// Another crawl has the name.
    #[error("a crawl named {name} is there already, and it is another one: choose another name")]
    NameTaken {
        /// The name.
        name: String,
    },
    /// No crawl of this name.
    #[error("there is no crawl named {name} on these servers")]
    NoSuchCrawl {
        /// The name.
        name: String,
    },
    /// A newer release founded it.
    #[error(
        "crawl {name} was founded by a newer release (format {found}, this one knows {known}): \
         update this node"
    )]
    Newer {
        /// The name.
        name: String,
        /// The format found.
        found: u32,
        /// The format known.
        known: u32,
    },
    /// Anything else the servers said.
    #[error("{what}: {detail}")]
    Server {
        /// What was tried.
        what: String,
        /// What they said.
        detail: String,
    },
}

impl ConnectError {
    pub(crate) fn server(what: impl Into<String>) -> impl FnOnce(&dyn std::fmt::Display) -> Self {
        let what = what.into();
        move |detail| Self::Server {
            what,
            detail: detail.to_string(),
        }
    }
}
