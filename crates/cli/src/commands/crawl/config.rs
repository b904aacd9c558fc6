//! `turnstone.toml`: what a crawl was asked to do.
//!
//! Written when a crawl begins, read when it goes on; people edit it by hand. Every key has a
//! default, and a key that is not known is an error that names it.

use std::fs;
use std::path::Path;

use anyhow::Context as _;
use serde::{Deserialize, Serialize};
use turnstone_fetch::list::{ListLine, UrlList};

use super::groups::GroupConfig;
use super::lists::Lists;
use crate::commands::live::IdentityConfig;
use crate::exit::Usage;

/// The name of the file in a crawl directory.
pub(crate) const FILE: &str = "turnstone.toml";

/// The first lines of the file.
const HEAD: &str = "\
# What this crawl was asked to do. Edit it and go on with `turnstone crawl -o` and this folder.
# Keys that are missing have their defaults; `turnstone crawl --help` shows them.

";

/// Everything that can be asked of a crawl.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub(crate) struct Config {
    /// Where it starts.
    pub(crate) seeds: Vec<String>,
    /// Seeds and rules out of files, kept in files of their own beside this one.
    #[serde(skip)]
    pub(crate) lists: Lists,
    /// The policy, as a spec.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) policy: Option<String>,
    /// The chance to follow a link rather than to return to a seed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) damping: Option<f64>,
    /// For everything random.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) random_seed: Option<u64>,
    /// Who asks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) contact: Option<String>,
    /// Who asks, in more detail.
    #[serde(skip_serializing_if = "is_default")]
    pub(crate) identity: IdentityConfig,
    /// A file of the addresses of host names, instead of DNS.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) hosts_file: Option<String>,
    /// A PEM file of authorities that are trusted beside the usual ones.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) ca: Option<String>,
    /// Private networks that may be asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) allow_private: Option<String>,
    /// Whether URLs that differ only in tracking parameters are one page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) strip_tracking: Option<bool>,
    /// URLs and hosts that were forgotten on request, and are never asked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) forgotten: Vec<String>,
    /// Uses that the crawl is for: pages whose publishers say no to one are not kept.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) respect: Vec<String>,
    /// Whether pages that look as if they were not there are held against random names beside them.
    #[serde(skip_serializing_if = "Option::is_none", rename = "soft-404")]
    pub(crate) soft_404: Option<bool>,
    /// Whether sitemaps and feeds are read, and pages asked for that only they name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) sitemaps: Option<bool>,
    /// Ports that may be asked beside those of the web.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) allow_ports: Vec<u16>,
    /// When to stop.
    #[serde(skip_serializing_if = "is_default")]
    pub(crate) until: UntilConfig,
    /// How gently hosts are asked.
    #[serde(skip_serializing_if = "is_default")]
    pub(crate) politeness: PolitenessConfig,
    /// What belongs to the crawl.
    #[serde(skip_serializing_if = "is_default")]
    pub(crate) scope: ScopeConfig,
    /// Limits.
    #[serde(skip_serializing_if = "is_default")]
    pub(crate) limits: LimitsConfig,
    /// Limits for each host, each site, or named groups of hosts.
    #[serde(skip_serializing_if = "Vec::is_empty", rename = "group")]
    pub(crate) groups: Vec<GroupConfig>,
    /// How many shards it is cut into; in one piece without.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) shards: Option<u32>,
    /// The servers through which several machines share it; one machine without.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) cluster: Option<ClusterConfig>,
    /// Whether pages are kept in WARC files.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) warc: Option<bool>,
    /// How long a WARC file may be, as `1GB`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) warc_size: Option<String>,
    /// Where closed WARC files and reports are brought.
    #[serde(skip_serializing_if = "is_default")]
    pub(crate) upload: UploadConfig,
    /// How a store is kept current.
    #[serde(skip_serializing_if = "is_default")]
    pub(crate) keep: KeepConfig,
    /// Who wants events.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) deliver: Vec<DeliverConfig>,
    /// What of pages does not count as a change.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) ignore: Vec<IgnoreConfig>,
}

/// What of some pages does not count: `[[ignore]]`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub(crate) struct IgnoreConfig {
    /// The hosts it is for, and those below them; all if there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) hosts: Vec<String>,
    /// Regular expressions for the URLs it is for; all if there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) pages: Vec<String>,
    /// Elements, as `#clock`, `.ad` or `aside`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) selectors: Vec<String>,
    /// Regular expressions for text.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) text: Vec<String>,
}

/// Through which servers machines share a crawl: `[cluster]`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub(crate) struct ClusterConfig {
    /// The servers, as `nats://HOST:PORT`.
    pub(crate) servers: Vec<String>,
    /// What the crawl is called there.
    pub(crate) name: String,
    /// The file of what this machine shows to be let in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) key: Option<String>,
    /// A PEM file of the authority that signed the servers' certificates.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) ca: Option<String>,
    /// Added to this machine's clock before it is compared: for tests.
    #[serde(skip)]
    pub(crate) clock_offset_ms: i64,
}

/// Somebody who wants events: `[[deliver]]`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub(crate) struct DeliverConfig {
    /// What its cursor is called; never the same for two.
    pub(crate) name: String,
    /// A URL that gets a POST of JSON.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) webhook: Option<String>,
    /// The environment variable that has this URL.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) webhook_env: Option<String>,
    /// The environment variable that has the secret of its signatures.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) secret_env: Option<String>,
    /// The file that has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) secret_file: Option<String>,
    /// Private networks in which a webhook may be.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) allow_private: Option<String>,
    /// A command of the shell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) exec: Option<String>,
    /// A feed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) atom: Option<String>,
    /// A file of lines of JSON.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) ndjson: Option<String>,
    /// Addresses of e-mail.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) mail: Vec<String>,
    /// From whom e-mail comes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) mail_from: Option<String>,
    /// The environment variable that has the URL of the mail server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) server_env: Option<String>,
    /// The file that has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) server_file: Option<String>,
    /// Only these kinds.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) kinds: Vec<String>,
    /// Only these hosts and those below them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) hosts: Vec<String>,
    /// `at-once`, `hourly` or `daily`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) every: Option<String>,
    /// Also what happened before the receiver was first seen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) from_start: Option<bool>,
    /// How old an event may be when it is sent, as `7d`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) catch_up: Option<String>,
}

/// When to stop: whichever comes first.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub(crate) struct UntilConfig {
    /// The share of personalised PageRank to prove.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) coverage: Option<f64>,
    /// With which confidence a certificate is enough, instead of a proof.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) confidence: Option<f64>,
    /// When nothing is left to ask for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) all: Option<bool>,
    /// Pages stored.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) pages: Option<u64>,
    /// Requests sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) requests: Option<u64>,
    /// Bytes received.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) bytes: Option<u64>,
    /// Time, as `1h`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) time: Option<String>,
}

/// How gently hosts are asked.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub(crate) struct PolitenessConfig {
    /// Time between requests to a host, as `1s`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) delay: Option<String>,
    /// Requests open at a host.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) open: Option<u32>,
    /// Whether hosts at one address are asked as one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) per_address: Option<bool>,
    /// The longest `Crawl-delay` that is honoured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) crawl_delay_max: Option<String>,
}

/// What belongs to the crawl.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub(crate) struct ScopeConfig {
    /// Hosts.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) hosts: Vec<String>,
    /// Registrable domains.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) sites: Vec<String>,
    /// URL prefixes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) prefixes: Vec<String>,
    /// Regular expressions that let a URL in.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) include: Vec<String>,
    /// Regular expressions that keep a URL out.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) exclude: Vec<String>,
    /// Links from a seed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) depth: Option<u32>,
    /// Everything that is linked, wherever it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) everywhere: Option<bool>,
}

/// Limits.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub(crate) struct LimitsConfig {
    /// Requests under way.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) connections: Option<usize>,
    /// Pages stored of one host.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) host_pages: Option<u32>,
    /// The longest body, in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) body_bytes: Option<usize>,
    /// Pages of one URL pattern fetched before one must have brought anything new; 0 for no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) pattern_trust: Option<u32>,
}

/// How a store is kept current.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub(crate) struct KeepConfig {
    /// Requests a second, as `0.5/s`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) rate: Option<String>,
    /// Requests a day, as `5000/day`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) budget: Option<String>,
    /// Requests a day to one host.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) host_budget: Option<String>,
    /// How long a slice is, as `1h`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) slice: Option<String>,
    /// The least shares, each as `refresh=20%`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) floor: Vec<String>,
    /// The policy, as a spec.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) policy: Option<String>,
}

/// Where the files of a crawl are brought.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub(crate) struct UploadConfig {
    /// The URL of a store, without credentials.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) to: Option<String>,
    /// Which local copies stay: `all`, `none`, `2d`, `10GB`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) keep: Option<String>,
    /// Private networks in which its server may be.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) allow_private: Option<String>,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

impl Config {
    /// Reads the file of a crawl directory; nothing if there is none.
    pub(crate) fn read(directory: &Path) -> anyhow::Result<Option<Self>> {
        use std::io::ErrorKind::{NotADirectory, NotFound};
        let path = directory.join(FILE);
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            // What is no directory is said where the directory is opened.
            Err(error) if matches!(error.kind(), NotFound | NotADirectory) => return Ok(None),
            Err(error) => return Err(error).with_context(|| path.display().to_string()),
        };
        let mut config = Self::parse(&text, &path)?;
        config.lists = Lists::read(directory)?;
        Ok(Some(config))
    }

    /// Reads the text of such a file; `path` is where it stands.
    pub(crate) fn parse(text: &str, path: &Path) -> anyhow::Result<Self> {
        let config = toml::from_str(text).map_err(|error| {
            let line = error
                .span()
                .map_or(0, |span| text[..span.start].matches('\n').count() + 1);
            crate::exit::Usage(format!("{}:{line}: {}", path.display(), error.message()))
        })?;
        Ok(config)
    }

    /// What is kept out whatever else is said: the exclude list, and what was forgotten.
    pub(crate) fn kept_out(&self) -> Result<UrlList, Usage> {
        if self.forgotten.is_empty() {
            return Ok(self.lists.exclude.clone());
        }
        let lines = self.lists.exclude.lines().map(str::to_owned);
        let lines = lines.chain(self.forgotten.iter().cloned());
        let read = |line: String| {
            ListLine::read(&line).map_err(|error| Usage(format!("forgotten: {line}: {error}")))
        };
        let lines: Vec<Option<ListLine>> = lines.map(read).collect::<Result<_, _>>()?;
        Ok(lines.into_iter().flatten().collect())
    }

    /// Writes the file, whole.
    pub(crate) fn write(&self, directory: &Path) -> anyhow::Result<()> {
        self.lists.write(directory)?;
        let text = self.text()?;
        crate::files::write_whole(&directory.join(FILE), |out| out.write_all(text.as_bytes()))
    }

    /// The text of such a file.
    pub(crate) fn text(&self) -> anyhow::Result<String> {
        Ok(HEAD.to_owned() + &toml::to_string(self)?)
    }
}
