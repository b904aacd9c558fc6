//! `turnstone cluster copy`, and how commands that look at a directory look at a crawl that machines share.
//!
//! The journals of all shards are read from the servers into a directory that looks like that of a crawl in shards,
//! so everything that looks at one can look at it: status, why, report, export, events, audit. Bodies stay on the
//! machines that fetched them. Given the directory of a machine that takes part, those commands make the copy
//! themselves, in its folder `copy`.

use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::json;
use turnstone_cluster::Shard;
use turnstone_lab::number::{plural, whole};
use turnstone_node::{Mirrored, mirror::mirror};

use super::asked;
use super::place::{Place, Which, identity};
use crate::commands::crawl::config::{ClusterConfig, Config};
use crate::commands::crawl::summary::bytes as size;
use crate::commands::live;
use crate::commands::shards::{COPY, RUNNING, folders};
use crate::exit::{Exit, Usage};
use crate::output::Output;

/// Read all journals from the servers into a directory, for commands that look at one
///
/// The directory looks like that of a crawl in shards: status, why, report, export, events and audit work on it.
/// Bodies stay on the machines that fetched them. Made again, it is brought up to date.
#[derive(Debug, Args)]
pub(crate) struct Copy {
    #[command(flatten)]
    which: Which,
    /// Where to
    #[arg(short, long, value_name = "DIR")]
    output: PathBuf,
}

impl Copy {
    pub(crate) fn run(self, output: &Output) -> anyhow::Result<Exit> {
        let config = self.which.config()?;
        let read = into_directory(&config, &self.output)?;
        let json = json!({
            "directory": self.output.display().to_string(),
            "name": config.name,
            "shards": read.len(),
            "bytes": read.iter().map(|it| it.bytes).sum::<u64>(),
            "chunks": read.iter().map(|it| it.chunks).sum::<u64>(),
        });
        output.result(&json, || {
            let bytes = read.iter().map(|it| it.bytes).sum();
            let chunks: u64 = read.iter().map(|it| it.chunks).sum();
            format!(
                "{}: {} of crawl {}, {} in {} chunks\n",
                self.output.display(),
                plural(read.len() as u64, "journal"),
                config.name,
                size(bytes),
                whole(chunks)
            )
        })?;
        Ok(Exit::Done)
    }
}

/// Reads all journals of a crawl into a directory. By shard: what was read.
pub(super) fn into_directory(
    config: &ClusterConfig,
    directory: &Path,
) -> anyhow::Result<Vec<Mirrored>> {
    if directory.join("store/journal").exists() {
        let what = format!(
            "{}: a crawl of its own is there; name a new folder",
            directory.display()
        );
        return Err(Usage::of("--output", what).into());
    }
    let runtime = live::runtime()?;
    runtime.block_on(async {
        let mut place = Place::join(config).await?;
        let marked = directory.join("store/copied");
        let mark = format!("{:032x}\n", u128::from_be_bytes(place.founding.identity));
        match std::fs::read_to_string(&marked) {
            Ok(before) if before != mark => {
                let what = format!(
                    "{}: the copy of another crawl; name a new folder",
                    directory.display()
                );
                return Err(Usage::of("--output", what).into());
            }
            Ok(_) => {}
            Err(_) => {
                if !folders(directory).is_ok_and(|there| there.is_empty()) {
                    let what = format!(
                        "{}: shards of another crawl are there; name a new folder",
                        directory.display()
                    );
                    return Err(Usage::of("--output", what).into());
                }
                live::refuse_others(directory)?;
                std::fs::create_dir_all(directory.join("store"))?;
                std::fs::write(&marked, mark)?;
            }
        }
        if let Some(mut asked) = asked::get(&mut place).await? {
            // Who goes on with a copy by mistake would take part in the crawl: it only is looked at.
            asked.cluster = None;
            if Config::read(directory)?.as_ref() != Some(&asked) {
                asked.write(directory)?;
            }
        }
        let mut read = Vec::new();
        let place = tokio::sync::Mutex::new(place);
        let shards = place.lock().await.founding.shards;
        for shard in 0..shards {
            let ask = |request| async { place.lock().await.ask(request).await };
            read.push(mirror(directory, Shard(shard), ask).await?);
        }
        let working = super::status::working(&mut *place.lock().await).await?;
        let running = directory.join(RUNNING);
        match working.is_empty() {
            true => drop(std::fs::remove_file(running)),
            false => std::fs::write(running, working.join(", "))?,
        }
        Ok(read)
    })
}

/// The directory to look at for one that a command was given: itself, or the copy that is made of a crawl that
/// machines share. Where the servers cannot be reached an earlier copy will do.
pub(crate) fn looked_at(directory: &Path) -> anyhow::Result<PathBuf> {
    if identity(directory)?.is_none() {
        return Ok(directory.to_owned());
    }
    let Some(config) = Config::read(directory)?.and_then(|config| config.cluster) else {
        return Ok(directory.to_owned());
    };
    let copy = directory.join(COPY);
    match into_directory(&config, &copy) {
        Ok(_) => {}
        Err(error) if folders(&copy).is_ok_and(|there| !there.is_empty()) => {
            crate::log::warning(&format!(
                "turnstone: {error:#}; what follows is of an earlier copy"
            ));
        }
        Err(error) => return Err(error),
    }
    Ok(copy)
}
