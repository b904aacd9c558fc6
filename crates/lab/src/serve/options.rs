//! How a web is served, and why it may not be.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use super::faults::Faults;
use super::timeline::At;
use super::violation::{Politeness, Violation};

/// What is done about an impolite request, as soon as it is known.
pub type OnViolation = Arc<dyn Fn(&Violation) + Send + Sync>;

/// How hosts are told apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Naming {
    /// Each by an address of its own; links lead to addresses.
    #[default]
    ByAddress,
    /// By the name asked for; links keep names, and the client is told where they are.
    ByName,
}

/// How a web is served.
#[derive(Clone)]
pub struct Options {
    /// The port; 0 lets the system choose.
    pub port: u16,
    /// How hosts are told apart.
    pub naming: Naming,
    /// Which snapshot is shown at first.
    pub at: At,
    /// How many virtual seconds pass in a second; 0 stands still.
    pub clock: f64,
    /// What goes wrong.
    pub faults: Faults,
    /// Whether each host has a sitemap with dates, which its robots.txt names.
    pub sitemaps: bool,
    /// What a client must keep to.
    pub politeness: Politeness,
    /// Answers nothing more after an impolite request.
    pub fail_fast: bool,
    /// Takes orders on a port of its own.
    pub control: bool,
    /// Where every request is written, line by line.
    pub log: Option<PathBuf>,
    /// How many of the last requests are kept in memory.
    pub requests_kept: usize,
    /// The most connections at once; further ones are closed.
    pub connections_max: usize,
    /// How long a connection may be silent.
    pub idle_ms: u64,
    /// Threads that serve.
    pub threads: usize,
    /// Is told of every impolite request as it comes.
    pub on_violation: Option<OnViolation>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            port: 0,
            naming: Naming::ByAddress,
            at: At::Last,
            clock: 0.0,
            faults: Faults::none(),
            sitemaps: false,
            politeness: Politeness::default(),
            fail_fast: false,
            control: false,
            log: None,
            requests_kept: 100_000,
            connections_max: 8192,
            idle_ms: 60_000,
            threads: 1,
            on_violation: None,
        }
    }
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options")
            .field("port", &self.port)
            .field("naming", &self.naming)
            .field("at", &self.at)
            .field("politeness", &self.politeness)
            .finish_non_exhaustive()
    }
}

/// Why a web is not served.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// There is nothing to serve.
    #[error("the web has no host: there is nothing to serve")]
    NoHost,
    /// There are not enough loopback addresses.
    #[error("{hosts} hosts, but loopback has room for {max} addresses; serve hosts by name")]
    TooManyHosts {
        /// How many hosts.
        hosts: usize,
        /// How many there may be.
        max: usize,
    },
    /// An address cannot be had.
    #[error("{address}: {source}{}", advice(source))]
    Bind {
        /// The address.
        address: SocketAddr,
        /// What the system said.
        source: io::Error,
    },
    /// The log cannot be written.
    #[error("{}: {source}", path.display())]
    Log {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The server cannot run.
    #[error("the server cannot start: {0}")]
    Runtime(io::Error),
}

/// What to do about it.
fn advice(source: &io::Error) -> &'static str {
    /// Too many open files, on every Unix.
    const EMFILE: i32 = 24;
    match source.kind() {
        io::ErrorKind::AddrInUse => "; choose another port, or 0 for any that is free",
        io::ErrorKind::AddrNotAvailable => {
            "; only Linux has all of 127.0.0.0/8 without set-up, elsewhere add the address to the \
             loopback interface"
        }
        _ if source.raw_os_error() == Some(EMFILE) => {
            "; every host needs a listening socket: raise the limit (ulimit -n) or serve hosts by name"
        }
        _ => "",
    }
}
