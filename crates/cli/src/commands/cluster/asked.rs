//! What was asked of a crawl, on the servers: `turnstone.toml` and the lists beside it, for machines that join.
//!
//! Files of secrets are not sent: the configuration has their paths, and each machine needs its own.

use std::path::Path;

use anyhow::Context as _;
use serde::{Deserialize, Serialize};
use turnstone_cluster::bus::{Answer, Request};

use super::place::Place;
use crate::commands::crawl::config::Config;
use crate::commands::crawl::lists::Lists;

/// What the blob is called.
const NAME: &str = "asked";

/// What is sent.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Sent {
    format: u32,
    config: String,
    seeds: Vec<String>,
    include: Vec<String>,
    exclude: Vec<String>,
}

const FORMAT: u32 = 1;

impl Sent {
    fn of(config: &Config) -> anyhow::Result<Self> {
        let lines = |lines: &mut dyn Iterator<Item = &str>| lines.map(str::to_owned).collect();
        let mut shared = config.clone();
        // Each machine has its own way in.
        if let Some(cluster) = &mut shared.cluster {
            (cluster.key, cluster.ca) = (None, None);
        }
        Ok(Self {
            format: FORMAT,
            config: shared.text()?,
            seeds: lines(&mut config.lists.seeds.iter().map(turnstone_fetch::Url::as_str)),
            include: lines(&mut config.lists.include.lines()),
            exclude: lines(&mut config.lists.exclude.lines()),
        })
    }

    fn into_config(self) -> anyhow::Result<Config> {
        let mut config = Config::parse(&self.config, Path::new("turnstone.toml on the servers"))?;
        config.lists = Lists::of(&self.seeds, &self.include, &self.exclude)
            .context("the lists on the servers")?;
        Ok(config)
    }
}

/// What was asked of a crawl that is there.
pub(super) async fn get(place: &mut Place) -> anyhow::Result<Option<Config>> {
    let name = NAME.to_owned();
    match place.ask(Request::Get { name }).await {
        Answer::Blob(None) => Ok(None),
        Answer::Blob(Some(bytes)) => {
            let sent: Sent = serde_json::from_slice(&bytes).context(
                "what was asked of this crawl cannot be read: run the same release everywhere",
            )?;
            anyhow::ensure!(
                sent.format <= FORMAT,
                "the crawl was asked for by a newer release: update this one"
            );
            Ok(Some(sent.into_config()?))
        }
        _ => anyhow::bail!("the servers do not answer; are enough of them up?"),
    }
}

/// Keeps what is asked now.
pub(super) async fn put(place: &mut Place, config: &Config) -> anyhow::Result<()> {
    if let Some(before) = get(place).await?
        && Sent::of(&before)? == Sent::of(config)?
    {
        return Ok(());
    }
    let (name, bytes) = (NAME.to_owned(), serde_json::to_vec(&Sent::of(config)?)?);
    match place.ask(Request::Put { name, bytes }).await {
        Answer::Kept => Ok(()),
        _ => anyhow::bail!("the servers do not keep what is asked; are enough of them up?"),
    }
}
