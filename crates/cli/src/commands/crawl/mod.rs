//! `turnstone crawl SEED… -o DIR`

mod asked;
pub(crate) mod config;
mod hosts_file;
pub(crate) mod policy;
mod summary;
mod until;
mod view;

pub(crate) use asked::{Crawl, plan, seeds};

use std::path::Path;
use std::time::Duration;

use anyhow::Context as _;
use tokio::sync::watch;
use turnstone_crawl::fold::{self, Founding, Past};
use turnstone_crawl::{Clock, Parts, Plan, Stop, StopLevel, Summary, sow};
use turnstone_fetch::{AllowPrivate, Client, Guard, Identity, Limits};
use turnstone_pagestore::{Store, warc};

use self::config::Config;
use self::policy::Chosen;
use crate::exit::{Exit, Usage};
use crate::output::Output;

impl Crawl {
    pub(crate) fn run(self, output: &Output) -> anyhow::Result<Exit> {
        let directory = self.output.as_path();
        let known = Config::read(directory)?;
        let config = self.merged(known.clone())?;
        let chosen = Chosen::read(&config)?;
        let seeds = seeds(&config)?;
        let plan = plan(&config, &seeds, chosen.proves())?;
        let client = client_config(&config, &plan, self.hosts_file.as_deref())?;
        let mut store = open_store(directory)?;
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
            let archive = archive(directory, &store, &config)?;
            let parts = Parts {
                identity: chosen.identity(store.index().seeds()),
                folded,
                client: Client::new(client)?,
                clock,
                archive,
                plan,
                store,
            };
            drive(parts, directory).await
        });
        // Tasks that were abandoned need not be waited for.
        runtime.shutdown_timeout(Duration::from_millis(100));
        let summary = summary?;
        summary::print(&summary, directory, output)?;
        Ok(exit(&summary, goal, output))
    }
}

/// Opens the crawl directory, or makes it.
pub(crate) fn open_store(directory: &Path) -> anyhow::Result<Store> {
    let command: Vec<String> = std::env::args().skip(1).take(1).collect();
    let holder = format!(
        "process {} (turnstone {})",
        std::process::id(),
        command.join(" ")
    );
    if directory.join("store/journal").exists() {
        return Ok(Store::open(directory, &holder)?);
    }
    if directory.exists() && !directory.is_dir() {
        return Err(Usage::of(
            "--output",
            format!("{} is not a directory", directory.display()),
        )
        .into());
    }
    Ok(Store::create(directory, &holder)?)
}

/// Who asks, and whom.
fn client_config(
    config: &Config,
    plan: &Plan,
    hosts_file: Option<&Path>,
) -> anyhow::Result<turnstone_fetch::Config> {
    let identity = match &config.contact {
        None => Identity::loopback_only(),
        Some(contact) => {
            Identity::with_contact(contact).map_err(|error| Usage::of("--contact", error))?
        }
    };
    let private = match &config.allow_private {
        None => AllowPrivate::default(),
        Some(text) => text
            .parse()
            .map_err(|error| Usage::of("--allow-private", error))?,
    };
    let resolver = hosts_file.map(hosts_file::read).transpose()?;
    Ok(turnstone_fetch::Config {
        guard: Guard {
            private,
            ..Guard::default()
        },
        limits: Limits {
            body_bytes_max: plan.body_bytes_max,
            fetches_open_max: plan.connections.max(1) * 2,
            ..Limits::default()
        },
        resolver,
        ..turnstone_fetch::Config::new(identity)
    })
}

/// The WARC files, cut to what the journal acknowledges.
fn archive(
    directory: &Path,
    store: &Store,
    config: &Config,
) -> anyhow::Result<Option<(warc::Writer, [u8; 16])>> {
    if config.warc == Some(false) {
        return Ok(None);
    }
    let namespace = store.namespace();
    let mut settings = warc::Settings::new("crawl", namespace);
    let software = concat!("turnstone/", env!("CARGO_PKG_VERSION"));
    settings.info = vec![
        ("software".into(), software.into()),
        ("format".into(), "WARC File Format 1.1".into()),
        (
            "conformsTo".into(),
            "http://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/".into(),
        ),
        ("robots".into(), "obey".into()),
        (
            "description".into(),
            format!("policy {}", config.policy.as_deref().unwrap_or("rankmass")),
        ),
    ];
    if let Some(contact) = &config.contact {
        settings.info.push(("operator".into(), contact.clone()));
    }
    let ends = store
        .index()
        .capture()
        .map_or(warc::Ends::default(), |last| warc::Ends {
            file: last.file,
            warc_len: last.file_end,
            index_len: last.index_end,
        });
    let folder = Box::new(warc::RealFolder);
    let (writer, _) = warc::Writer::open(&directory.join("warc"), settings, ends, folder)?;
    Ok(Some((writer, namespace)))
}

/// Runs the crawl, shows it, and ends it when told to.
async fn drive<P: turnstone_frontier::Policy>(
    parts: Parts<P>,
    directory: &Path,
) -> anyhow::Result<Summary> {
    let (stop, told) = watch::channel(StopLevel::Run);
    let (crawl, progress) = turnstone_crawl::Crawl::new(parts)?;
    let signals = tokio::spawn(signals(stop));
    let view = tokio::spawn(view::show(progress, directory.to_owned()));
    let summary = crawl.run(told).await;
    signals.abort();
    // The view ends with its channel.
    let _ = view.await;
    Ok(summary?)
}

/// SIGINT and SIGTERM end the crawl cleanly; a second one at once.
async fn signals(stop: watch::Sender<StopLevel>) {
    use tokio::signal::unix::{SignalKind, signal};
    let (Ok(mut interrupt), Ok(mut terminate)) = (
        signal(SignalKind::interrupt()),
        signal(SignalKind::terminate()),
    ) else {
        return;
    };
    for level in [StopLevel::Finish, StopLevel::AtOnce] {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
        stop.send_replace(level);
    }
    std::future::pending::<()>().await;
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
