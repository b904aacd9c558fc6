//! Flags of the commands that go on with a crawl directory: each overrules `turnstone.toml` for
//! this run.

use std::path::PathBuf;

use clap::Args;

use crate::commands::crawl::config::Config;
use crate::commands::deliver::DeliverOptions;
use crate::commands::serve::ListenOptions;
use crate::commands::upload::UploadOptions;

/// How the live web is asked.
#[derive(Debug, Args)]
pub(crate) struct LiveOptions {
    /// The least time between two requests to a host [default: as in turnstone.toml, else 1s]
    #[arg(long, value_name = "TIME")]
    delay: Option<String>,
    /// The most requests open at a host [default: as in turnstone.toml, else 1]
    #[arg(long, value_name = "N")]
    open: Option<u32>,
    /// The most requests under way [default: as in turnstone.toml, else 64]
    #[arg(long, value_name = "N")]
    connections: Option<usize>,
    /// Keep no WARC files
    #[arg(long)]
    no_warc: bool,
    /// An e-mail address or URL where site owners can reach you; needed for anything but loopback
    #[arg(long, value_name = "ADDRESS")]
    contact: Option<String>,
    /// Trust the certificate authorities of this PEM file too [default: that of SSL_CERT_FILE, if set]
    #[arg(long, value_name = "FILE")]
    ca: Option<PathBuf>,
    /// Also ask private addresses: all, or only those in networks such as 10.0.0.0/8,127.0.0.1
    #[arg(long, value_name = "CIDR,…", num_args = 0..=1, default_missing_value = "all", require_equals = true)]
    allow_private: Option<String>,
    /// Also ask these ports of public addresses, beside 80, 443, 8080 and 8443
    #[arg(long, value_name = "PORT,…", value_delimiter = ',')]
    allow_ports: Vec<u16>,
    /// For policies that draw at random [default: as in turnstone.toml, else 1]
    #[arg(long = "seed", value_name = "N")]
    random_seed: Option<u64>,
    /// Take the addresses of host names from a file of `name<TAB>address` lines, not from DNS
    #[arg(long, value_name = "FILE")]
    hosts_file: Option<PathBuf>,
    /// How long a WARC file may become before the next is begun [default: as in turnstone.toml, else 1GB]
    #[arg(long, value_name = "BYTES", value_parser = crate::units::bytes_as_said)]
    warc_size: Option<String>,
    #[command(flatten)]
    upload: UploadOptions,
    #[command(flatten)]
    identity: super::IdentityOptions,
    #[command(flatten)]
    pub(crate) deliver: DeliverOptions,
    #[command(flatten)]
    pub(crate) listen: ListenOptions,
    /// Let the crawl's clock run this many times faster than time: for tests on loopback only
    #[arg(long, hide = true, default_value_t = 1)]
    pub(super) clock_scale: u32,
}

impl LiveOptions {
    /// How many times faster than time the crawl's clock runs.
    pub(crate) fn clock_scale(&self) -> u32 {
        self.clock_scale
    }

    /// What was asked when the crawl began, overruled.
    pub(crate) fn over(&self, config: &mut Config) {
        fn over<T: Clone>(value: &mut Option<T>, flag: &Option<T>) {
            if flag.is_some() {
                value.clone_from(flag);
            }
        }
        over(&mut config.politeness.delay, &self.delay);
        over(&mut config.politeness.open, &self.open);
        over(&mut config.limits.connections, &self.connections);
        over(&mut config.contact, &self.contact);
        self.identity.over(&mut config.identity);
        if let Some(ca) = &self.ca {
            config.ca = Some(crate::commands::live::absolute(ca));
        }
        if let Some(file) = &self.hosts_file {
            config.hosts_file = Some(crate::commands::live::absolute(file));
        }
        over(&mut config.warc_size, &self.warc_size);
        self.upload.over(&mut config.upload);
        over(&mut config.allow_private, &self.allow_private);
        over(&mut config.random_seed, &self.random_seed);
        if !self.allow_ports.is_empty() {
            config.allow_ports.clone_from(&self.allow_ports);
        }
        if self.no_warc {
            config.warc = Some(false);
        }
    }
}
