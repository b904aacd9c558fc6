//! Where a server listens, and the one beside a crawl that runs.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context as _;
use clap::Args;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use turnstone_server::{Gate, House};

use super::Answering;
use super::desk::Desk;
use crate::exit::Usage;
use crate::log;

/// The longest token file.
const TOKEN_FILE_BYTES_MAX: u64 = 4096;

/// A dashboard beside a crawl.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct ListenOptions {
    /// Show a dashboard while it runs, and take orders there: a port of this machine alone, or
    /// ADDRESS:PORT; port 0 for any that is free
    #[arg(long, value_name = "ADDR")]
    listen: Option<String>,
    /// A file with the token that everybody must show; needed where others can reach ADDR
    #[arg(long, value_name = "FILE", requires = "listen")]
    token_file: Option<PathBuf>,
    /// How to say on standard error what is no result: text, or json for a document a line
    #[arg(
        long,
        value_enum,
        value_name = "FORM",
        default_value_t,
        hide_possible_values = true
    )]
    log: log::Form,
}

impl ListenOptions {
    /// Decides how the log is written; to be called before anything is said.
    pub(crate) fn begin_log(&self) {
        log::begin(self.log);
    }

    /// Where to listen, if anywhere.
    pub(crate) fn asked(&self) -> anyhow::Result<Option<Listen>> {
        let listen = self.listen.as_deref();
        listen
            .map(|address| Listen::asked(address, self.token_file.as_deref()))
            .transpose()
    }
}

/// Where to listen, and what must be shown there.
#[derive(Clone)]
pub(crate) struct Listen {
    /// The option that asked for it.
    option: &'static str,
    address: SocketAddr,
    token: Option<String>,
}

impl Listen {
    /// Reads what was asked; refuses what would let everybody in.
    pub(crate) fn asked(address: &str, token_file: Option<&Path>) -> anyhow::Result<Self> {
        Self::asked_by("--listen", address, token_file)
    }

    /// The same for another option.
    pub(crate) fn asked_by(
        option: &'static str,
        address: &str,
        token_file: Option<&Path>,
    ) -> anyhow::Result<Self> {
        let wrong = || {
            let what = format!(
                "'{address}' is no port such as 7700, and no address such as 127.0.0.1:7700"
            );
            Usage::of(option, what)
        };
        let here = address.strip_prefix("localhost:").unwrap_or(address);
        let address = match here.parse::<u16>() {
            Ok(port) => SocketAddr::new(Ipv4Addr::LOCALHOST.into(), port),
            Err(_) => here.parse().map_err(|_| wrong())?,
        };
        let token = token_file.map(read_token).transpose()?;
        let listen = Self {
            option,
            address,
            token,
        };
        listen.gate()?;
        Ok(listen)
    }

    pub(crate) fn gate(&self) -> anyhow::Result<Gate> {
        let gate = Gate::new(self.address.ip(), self.token.as_deref());
        Ok(gate.map_err(|error| Usage::of(self.option, error))?)
    }

    /// Takes the port. Must be called within the runtime.
    pub(crate) fn bind(&self) -> anyhow::Result<TcpListener> {
        turnstone_server::bind(self.address).map_err(|error| {
            let what = match error.kind() {
                std::io::ErrorKind::AddrInUse => {
                    "another program listens there; give another port, or 0 for any that is free"
                        .to_owned()
                }
                _ => error.to_string(),
            };
            Usage::of(self.option, format!("{}: {what}", self.address)).into()
        })
    }

    /// What must be shown.
    pub(crate) fn token(&self) -> Option<String> {
        self.token.clone()
    }

    /// Shows the crawl of this process from now on, until the task is ended.
    pub(crate) fn beside(
        &self,
        directory: &Path,
        desk: Arc<Desk>,
    ) -> anyhow::Result<JoinHandle<()>> {
        let listener = self.bind()?;
        let (gate, directory) = (self.gate()?, directory.to_owned());
        log::info(&said(&listener)?);
        let server = tokio::spawn(async move {
            // Reads the journal, which may be long; the crawl does not wait for it.
            let open = || House::of_crawl(directory, Arc::new(Answering), gate, desk);
            match tokio::task::spawn_blocking(open).await {
                Ok(Ok(house)) => Arc::new(house).serve(listener).await,
                Ok(Err(error)) => log::warning(&format!("turnstone: no dashboard: {error}")),
                Err(_) => {}
            }
        });
        Ok(server)
    }
}

/// What is said of a server that listens.
pub(crate) fn said(listener: &TcpListener) -> anyhow::Result<String> {
    Ok(format!("dashboard: http://{}/", listener.local_addr()?))
}

fn read_token(file: &Path) -> anyhow::Result<String> {
    let length = std::fs::metadata(file).with_context(|| file.display().to_string())?;
    if length.len() > TOKEN_FILE_BYTES_MAX {
        let what = format!("{}: too long for a token", file.display());
        return Err(Usage::of("--token-file", what).into());
    }
    let token = std::fs::read_to_string(file).with_context(|| file.display().to_string())?;
    Ok(token.trim().to_owned())
}
