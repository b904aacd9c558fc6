//! `turnstone crawl SEED… -o DIR`

mod asked;
pub(crate) mod config;
pub(crate) mod policy;
pub(crate) mod summary;
mod until;

pub(crate) use asked::{Crawl, plan, seeds};

use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context as _;
use turnstone_crawl::fold::{self, Founding, Past};
use turnstone_crawl::{Clock, Parts, Stop, Summary, sow};
use turnstone_fetch::Client;

use self::config::Config;
use self::policy::Chosen;
use super::live;
use crate::exit::Exit;
use crate::output::Output;

impl Crawl {
    pub(crate) fn run(self, output: &Output) -> anyhow::Result<Exit> {
        let directory = self.output.as_path();
        let known = Config::read(directory)?;
        let config = self.merged(known.clone())?;
        let chosen = Chosen::read(&config)?;
        let seeds = seeds(&config)?;
        let plan = plan(&config, &seeds, chosen.proves())?;
        let client = live::client_config(&config, &plan, self.hosts_file.as_deref())?;
        let mut store = live::open(directory)?;
        if known.as_ref() != Some(&config) {
            config.write(directory)?;
        }
        let clock = Clock::resume(store.index(), self.clock_scale);
        sow(&mut store, &seeds, &plan.keys, clock.now());
        store.write()?;
        if store.torn_bytes() > 0 {
            let cut = store.torn_bytes();
            output.note(&format!(
                "{}: {cut} half-written bytes were cut",
                directory.display()
            ));
        }
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .enable_all()
            .build()
            .context("cannot start the network runtime")?;
        let goal = plan.until.coverage;
        let summary = runtime.block_on(async {
            let folded = {
                let identity = chosen.identity(store.index().seeds());
                let founding = Founding {
                    plan: &plan,
                    identity: &identity,
                    past: Past::All,
                };
                let seeds = store.index().seeds().to_vec();
                chosen.make(&seeds)?;
                fold::fold(&store, founding, || {
                    chosen.make(&seeds).expect("it was made a moment ago")
                })?
            };
            let archive = live::archive(directory, &store, &config)?;
            let parts = Parts {
                identity: chosen.identity(store.index().seeds()),
                folded,
                client: Client::new(client)?,
                clock,
                archive,
                plan,
                store,
            };
            live::drive(parts, directory, live::Watch::default()).await
        });
        let summary = summary.inspect(|summary| {
            if summary.abandoned == 0 {
                let said = runtime.block_on(report(directory.to_owned()));
                output.note(&said);
            }
        });
        // Tasks that were abandoned need not be waited for.
        runtime.shutdown_timeout(Duration::from_millis(100));
        let summary = summary?;
        summary::print(&summary, directory, output)?;
        Ok(exit(&summary, goal, output))
    }
}

/// Leaves the page about the crawl, unless told to end at once, and says so. The crawl is done
/// either way.
async fn report(directory: PathBuf) -> String {
    let written = tokio::task::spawn_blocking(move || super::report::write(&directory, None));
    tokio::select! {
        written = written => match written {
            Ok(Ok(file)) => format!("report written to {}", file.display()),
            Ok(Err(error)) => format!("turnstone: no report: {error:#}"),
            Err(error) => format!("turnstone: no report: {error}"),
        },
        () = live::told_to_end() => {
            "turnstone: no report: interrupted; `turnstone report` writes it".to_owned()
        }
    }
}

/// Code 3 when a budget or the end of the web came before the proof that was asked for.
fn exit(summary: &Summary, goal: bool, output: &Output) -> Exit {
    match summary.stop {
        Stop::Coverage | Stop::Told => Exit::Done,
        stop if goal => {
            let met = summary.coverage.is_some_and(|coverage| coverage.met());
            if met {
                return Exit::Done;
            }
            output.note(&format!(
                "turnstone: stopped by {} before the coverage that was asked for was proven",
                stop.name()
            ));
            Exit::Limit
        }
        _ => Exit::Done,
    }
}
