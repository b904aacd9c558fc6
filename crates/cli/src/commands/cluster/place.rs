//! Where the servers are, who we are to them, and which crawl it is.
//!
//! A crawl has a name on the servers, and an identity of 16 bytes that its founder drew: keys of pages are made with
//! it, and sites are shared out by it. Every machine keeps it in its directory, in a file that only its owner may
//! read. So a crawl of the same name that is another one is refused, by the founder and by who joins.

use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Read as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::Args;
use turnstone_bus::{Credentials, Founding, NatsBus, Options, Tls};
use turnstone_cluster::bus::{Answer, Bus as _, Key, Keys, Request};
use turnstone_cluster::shard::Cut;
use turnstone_pagestore::{Store, shard_folders};

use crate::commands::crawl::config::{ClusterConfig, Config};
use crate::commands::live::{absolute, read_secret};
use crate::exit::Usage;

/// The file of the identity.
const IDENTITY: &str = "store/cluster";
/// How many shards a crawl has that nobody said a number for.
pub(crate) const SHARDS: u32 = 16;

/// Through which servers machines share a crawl.
#[derive(Debug, Args)]
pub(crate) struct ClusterOptions {
    /// Share the crawl with other machines through these NATS servers, nats://HOST:PORT; it is founded if it is
    /// new. Others come by `turnstone cluster join`
    #[arg(long = "cluster", value_name = "SERVER,…", value_delimiter = ',')]
    pub(crate) servers: Vec<String>,
    /// What the crawl is called on the servers [default: the name of DIR]
    #[arg(long, value_name = "NAME")]
    pub(crate) cluster_name: Option<String>,
    #[command(flatten)]
    pub(crate) entry: Entry,
    /// Let leases run this many times faster than time: for tests on loopback only
    #[arg(long, hide = true, default_value_t = 1)]
    pub(crate) lease_scale: u32,
}

/// What a machine shows to be let in.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct Entry {
    /// The seed of this machine's nkey, or user:password, in a file that only you may read; with --cluster-ca
    /// needed for servers that are not on this machine
    #[arg(long, value_name = "FILE")]
    pub(crate) cluster_key: Option<PathBuf>,
    /// Trust servers whose certificates the authority of this PEM file signed
    #[arg(long, value_name = "FILE")]
    pub(crate) cluster_ca: Option<PathBuf>,
    /// Add so many milliseconds to this machine's clock when it is compared: for tests
    #[arg(long, hide = true, default_value_t = 0, allow_negative_numbers = true)]
    clock_offset: i64,
}

impl ClusterOptions {
    /// What was asked before, overruled.
    pub(crate) fn over(
        &self,
        config: &mut Option<ClusterConfig>,
        directory: &Path,
    ) -> Result<(), Usage> {
        if self.servers.is_empty() {
            if config.is_none() && self.cluster_name.is_some() {
                return Err(Usage::of("--cluster-name", "give --cluster too"));
            }
        } else {
            let config = config.get_or_insert_default();
            config.servers.clone_from(&self.servers);
        }
        let Some(config) = config else {
            return Ok(());
        };
        if let Some(name) = &self.cluster_name {
            config.name.clone_from(name);
        }
        if config.name.is_empty() {
            config.name = name_of(directory)?;
        }
        self.entry.over(config);
        Ok(())
    }
}

impl Entry {
    pub(crate) fn over(&self, config: &mut ClusterConfig) {
        if let Some(key) = &self.cluster_key {
            config.key = Some(absolute(key));
        }
        if let Some(ca) = &self.cluster_ca {
            config.ca = Some(absolute(ca));
        }
        config.clock_offset_ms = self.clock_offset;
    }
}

/// The name of a directory, as far as it can be one on the servers.
fn name_of(directory: &Path) -> Result<String, Usage> {
    let whole = std::path::absolute(directory).unwrap_or_else(|_| directory.to_owned());
    let name = whole.file_name().unwrap_or_default().to_string_lossy();
    let fine = |c: char| c.is_ascii_alphanumeric() || c == '-';
    let name: String = name
        .chars()
        .map(|c| if fine(c) { c } else { '-' })
        .collect();
    if name.is_empty() || name.len() > 32 {
        let what = "the name of DIR cannot be one on the servers; give 1 to 32 letters, digits and hyphens";
        return Err(Usage::of("--cluster-name", what));
    }
    Ok(name)
}

/// Servers as a command line has them: separated by commas.
pub(crate) fn servers(text: &str) -> Vec<String> {
    text.split(',').map(str::to_owned).collect()
}

/// How the servers are reached.
pub(crate) fn options(config: &ClusterConfig) -> anyhow::Result<Options> {
    let credentials = match &config.key {
        None => None,
        Some(file) => Some(credentials(Path::new(file))?),
    };
    Ok(Options {
        servers: config.servers.clone(),
        crawl: config.name.clone(),
        credentials,
        tls: config.ca.as_ref().map(|file| Tls {
            authorities: file.into(),
        }),
        clock_offset_ms: config.clock_offset_ms,
    })
}

fn credentials(file: &Path) -> anyhow::Result<Credentials> {
    let text = read_secret("--cluster-key", file)?;
    let text = text.trim();
    Ok(match text.split_once(':') {
        Some((user, password)) => Credentials::Password {
            user: user.to_owned(),
            password: password.to_owned(),
        },
        None if text.starts_with("SU") => Credentials::Nkey(text.to_owned()),
        None => {
            let what = format!(
                "{}: neither the seed of an nkey (it begins with SU) nor user:password",
                file.display()
            );
            return Err(Usage::of("--cluster-key", what).into());
        }
    })
}

/// The identity of the crawl of a directory, if it has one.
pub(crate) fn identity(directory: &Path) -> anyhow::Result<Option<[u8; 16]>> {
    let path = directory.join(IDENTITY);
    let text = match fs::read_to_string(&path) {
        Ok(text) => text,
        // A file is no directory of a crawl; whoever wants one says so.
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            return Ok(None);
        }
        Err(error) => return Err(error).with_context(|| path.display().to_string()),
    };
    let number = u128::from_str_radix(text.trim(), 16).ok();
    let number = number.filter(|_| text.trim().len() == 32);
    let number =
        number.with_context(|| format!("{}: not the identity of a crawl", path.display()))?;
    Ok(Some(number.to_be_bytes()))
}

/// Whether a directory is that of a machine that shares a crawl.
pub(crate) fn is_shared(directory: &Path) -> anyhow::Result<bool> {
    Ok(identity(directory)?.is_some())
}

/// Writes it down, for the owner's eyes only.
pub(crate) fn keep_identity(directory: &Path, identity: [u8; 16]) -> anyhow::Result<()> {
    let path = directory.join(IDENTITY);
    let fresh = path.with_extension("new");
    let write = || -> std::io::Result<()> {
        fs::create_dir_all(directory.join("store"))?;
        let _ = fs::remove_file(&fresh);
        let mut file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&fresh)?;
        writeln!(file, "{:032x}", u128::from_be_bytes(identity))?;
        file.sync_all()?;
        fs::rename(&fresh, &path)
    };
    write().with_context(|| path.display().to_string())
}

/// The identity of a crawl that this directory founds: its own, if it has one; that of its shards, if it was cut
/// before; else a new one.
pub(crate) fn own_identity(directory: &Path) -> anyhow::Result<[u8; 16]> {
    if let Some(identity) = identity(directory)? {
        return Ok(identity);
    }
    let identity = match shard_folders(directory).first() {
        Some(first) => Store::look(first)?.secret(),
        None => random()?,
    };
    keep_identity(directory, identity)?;
    Ok(identity)
}

/// Sixteen bytes that nobody can guess.
pub(crate) fn random() -> anyhow::Result<[u8; 16]> {
    let mut bytes = [0; 16];
    File::open("/dev/urandom")
        .and_then(|mut file| file.read_exact(&mut bytes))
        .context("/dev/urandom")?;
    Ok(bytes)
}

/// How a crawl is founded.
pub(crate) fn founding(identity: [u8; 16], shards: u32) -> Founding {
    Founding {
        identity,
        shards,
        lanes: Cut::new(identity, shards).lanes(),
    }
}

/// A crawl on the servers, to be asked one question after the other.
pub(crate) struct Place {
    bus: NatsBus<u64>,
    pub(crate) founding: Founding,
    serial: u64,
}

impl Place {
    /// Of a crawl that is there.
    pub(crate) async fn join(config: &ClusterConfig) -> anyhow::Result<Self> {
        let (bus, founding) = NatsBus::join(&options(config)?).await?;
        Ok(Self {
            bus,
            founding,
            serial: 0,
        })
    }

    pub(crate) async fn ask(&mut self, request: Request) -> Answer {
        self.serial += 1;
        self.bus.ask(self.serial, request);
        loop {
            let (ticket, answer) = self.bus.answered().await;
            if ticket == self.serial {
                return answer;
            }
        }
    }

    /// All keys of a kind.
    pub(crate) async fn list(&mut self, keys: Keys) -> anyhow::Result<Vec<(Key, u64, Vec<u8>)>> {
        match self.ask(Request::List { keys }).await {
            Answer::Values(values) => Ok(values),
            _ => anyhow::bail!("the servers do not answer; are enough of them up?"),
        }
    }

    /// One key.
    pub(crate) async fn load(&mut self, key: Key) -> anyhow::Result<Option<(u64, Vec<u8>)>> {
        match self.ask(Request::Load { key }).await {
            Answer::Values(values) => Ok(values
                .into_iter()
                .next()
                .map(|(_, revision, value)| (revision, value))),
            _ => anyhow::bail!("the servers do not answer; are enough of them up?"),
        }
    }
}

/// Which crawl is meant by who only looks: a node's directory, or servers and a name.
#[derive(Debug, Args)]
pub(crate) struct Which {
    /// The servers, nats://HOST:PORT,…; or the directory of a machine that takes part
    #[arg(value_name = "SERVER,…|DIR")]
    servers: String,
    /// What the crawl is called there; not needed with a directory
    #[arg(value_name = "NAME")]
    name: Option<String>,
    #[command(flatten)]
    entry: Entry,
}

impl Which {
    pub(crate) fn config(&self) -> anyhow::Result<ClusterConfig> {
        let mut config = match &self.name {
            Some(name) => ClusterConfig {
                servers: servers(&self.servers),
                name: name.clone(),
                ..ClusterConfig::default()
            },
            None => {
                let directory = Path::new(&self.servers);
                let config = Config::read(directory)?.and_then(|config| config.cluster);
                config.ok_or_else(|| {
                    let what = format!(
                        "{}: not a directory of a crawl that machines share; give servers and a name",
                        self.servers
                    );
                    Usage(what)
                })?
            }
        };
        self.entry.over(&mut config);
        Ok(config)
    }
}
