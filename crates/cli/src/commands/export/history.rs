//! The history of each site of a crawl, as backtests read it.

use std::fs;
use std::path::{Path, PathBuf};

use crate::table::Table;
use anyhow::Context as _;
use clap::{Args, ValueEnum};
use serde_json::json;
use turnstone_lab::crawled::{HistoryCounts, SiteHistories, SnapshotBy};
use turnstone_lab::number::whole;
use turnstone_pagestore::Joined;

use super::FromTo;
use crate::exit::Usage;
use crate::files::write_whole;
use crate::output::Output;
use crate::progress::Progress;

/// The ending of a history.
const ENDING: &str = ".jsonl.zst";

/// Write the history of each site
///
/// FILE is NAME.jsonl.zst for a crawl of one site, or a folder, new or empty, for one file a site.
/// A site is an origin: scheme, host and port.
#[derive(Debug, Args)]
pub(crate) struct History {
    #[command(flatten)]
    paths: FromTo,
    /// What a snapshot is: all that was fetched on one day (UTC), or by one process
    #[arg(long, default_value = "day")]
    snapshot: Snapshot,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Snapshot {
    /// A day
    Day,
    /// A process that took the crawl over
    Session,
}

impl History {
    pub(super) fn run(self, output: &Output) -> anyhow::Result<()> {
        // A site is in one shard.
        let joined = Joined::look(&self.paths.looked_at()?)?;
        let progress = Progress::busy("reading the journal");
        let by = match self.snapshot {
            Snapshot::Day => SnapshotBy::Day,
            Snapshot::Session => SnapshotBy::Session,
        };
        let stores = joined.stores().iter();
        let histories = stores.map(|store| SiteHistories::read(store, by));
        let histories = histories.collect::<Result<Vec<_>, _>>()?;
        let sites: Vec<(usize, usize, &str)> = histories
            .iter()
            .enumerate()
            .flat_map(|(shard, all)| {
                let origins = all.origins().enumerate();
                origins.map(move |(number, origin)| (shard, number, origin))
            })
            .collect();
        let files = self.files(sites.iter().map(|(.., origin)| *origin))?;
        let mut written = Vec::new();
        for ((shard, number, _), file) in sites.iter().zip(files) {
            let mut counts = HistoryCounts::default();
            write_whole(&file, |out| {
                counts = histories[*shard]
                    .write(*number, out)
                    .map_err(std::io::Error::other)?;
                Ok(())
            })?;
            written.push((file, counts));
        }
        drop(progress);
        let json = json!({
            "output": self.paths.output.display().to_string(),
            "histories": written.iter().map(|(file, counts)| json!({
                "file": file.display().to_string(),
                "pages": counts.pages,
                "versions": counts.versions,
                "snapshots": counts.snapshots,
            })).collect::<Vec<_>>(),
        });
        output.result(&json, || {
            let mut table = Table::new(&["history", "#pages", "#versions", "#snapshots"]);
            for (file, counts) in &written {
                table.row([
                    file.display().to_string(),
                    whole(counts.pages),
                    whole(counts.versions),
                    whole(counts.snapshots),
                ]);
            }
            table.text()
        })
    }

    /// Where each site goes.
    fn files<'a>(
        &self,
        origins: impl ExactSizeIterator<Item = &'a str>,
    ) -> anyhow::Result<Vec<PathBuf>> {
        let path = &self.paths.output;
        let count = origins.len();
        anyhow::ensure!(
            count > 0,
            "{}: no page was fetched yet: there is no history",
            self.paths.directory.display()
        );
        if path.to_string_lossy().ends_with(ENDING) {
            if count > 1 {
                let what = format!(
                    "the crawl has {} sites, and a history has one; give a folder",
                    whole(count as u64)
                );
                return Err(Usage::of("--output", what).into());
            }
            return Ok(vec![path.clone()]);
        }
        new_folder(path)?;
        Ok(origins.map(|origin| path.join(file_name(origin))).collect())
    }
}

fn new_folder(path: &Path) -> anyhow::Result<()> {
    fs::create_dir_all(path).with_context(|| path.display().to_string())?;
    let mut entries = fs::read_dir(path).with_context(|| path.display().to_string())?;
    if entries.next().is_some() {
        let what = format!("{}: not empty; give a new folder", path.display());
        return Err(Usage::of("--output", what).into());
    }
    Ok(())
}

/// A name for the file of a site: distinct for distinct origins.
fn file_name(origin: &str) -> String {
    let name = origin.strip_prefix("https://").unwrap_or(origin);
    let plain = |c: char| c.is_ascii_alphanumeric() || "-.".contains(c);
    let name: String = name
        .replace("://", "_")
        .chars()
        .map(|c| if plain(c) { c } else { '_' })
        .collect();
    format!("{name}{ENDING}")
}
