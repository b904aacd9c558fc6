//! `turnstone generate history`

use std::path::PathBuf;

use clap::Args;
use serde_json::json;
use turnstone_lab::generate::history::{HistoryPlan, write_folder};

use crate::exit::{Exit, Usage};
use crate::output::Output;
use crate::progress::Progress;
use crate::units;

/// Make up sites over time, one history file each, in a new folder.
///
/// A few sites and directories bring most births, changes and deaths; what happens to a page
/// happens to some of the pages it links to; new pages are linked from hub pages; now and then a site
/// is redesigned and pages move. The same options give the same bytes.
#[derive(Debug, Args)]
pub(crate) struct History {
    /// Where to write: a folder, new or empty
    #[arg(short, long, value_name = "FOLDER")]
    output: PathBuf,
    /// How many sites
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    sites: u32,
    /// How many pages a site starts with, on average
    #[arg(long, default_value_t = HistoryPlan::default().pages,
        value_parser = clap::value_parser!(u32).range(1..=i64::from(HistoryPlan::PAGES_MAX)))]
    pages: u32,
    /// How many weekly snapshots
    #[arg(long, default_value_t = HistoryPlan::default().snapshots,
        value_parser = clap::value_parser!(u32).range(1..=i64::from(HistoryPlan::SNAPSHOTS_MAX)))]
    snapshots: u32,
    /// New pages in a snapshot, as a share of the present ones, on average
    #[arg(long, default_value_t = HistoryPlan::default().births, value_parser = units::real)]
    births: f64,
    /// Pages whose text changes in a snapshot, on average
    #[arg(long, default_value_t = HistoryPlan::default().changes, value_parser = units::real)]
    changes: f64,
    /// Pages that go in a snapshot, on average
    #[arg(long, default_value_t = HistoryPlan::default().deaths, value_parser = units::real)]
    deaths: f64,
    /// The chance that a snapshot shows a redesigned site
    #[arg(long, default_value_t = HistoryPlan::default().redesigns, value_parser = units::real)]
    redesigns: f64,
    /// The seed of all random draws
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

impl History {
    pub(crate) fn run(self, output: &Output) -> anyhow::Result<Exit> {
        let plan = self.plan()?;
        let progress = Progress::busy("making up sites");
        let files = write_folder(&self.output, self.sites, plan)?;
        drop(progress);
        let bytes: u64 = files
            .iter()
            .filter_map(|file| std::fs::metadata(file).ok())
            .map(|data| data.len())
            .sum();
        let json = json!({
            "output": self.output.display().to_string(),
            "sites": self.sites,
            "snapshots": self.snapshots,
            "seed": self.seed,
            "bytes": bytes,
        });
        output.result(&json, || {
            let count = turnstone_lab::number::whole(u64::from(self.sites));
            let size = turnstone_lab::number::short(bytes as f64);
            format!(
                "{count} sites written to {} ({size}B)\n",
                self.output.display()
            )
        })?;
        Ok(Exit::Done)
    }

    fn plan(&self) -> Result<HistoryPlan, Usage> {
        let rates = [
            ("--births", self.births),
            ("--changes", self.changes),
            ("--deaths", self.deaths),
            ("--redesigns", self.redesigns),
        ];
        for (option, rate) in rates {
            if !(0.0..=1.0).contains(&rate) {
                return Err(Usage::of(option, "must be from 0 to 1"));
            }
        }
        Ok(HistoryPlan {
            pages: self.pages,
            snapshots: self.snapshots,
            births: self.births,
            changes: self.changes,
            deaths: self.deaths,
            redesigns: self.redesigns,
            seed: self.seed,
        })
    }
}
