//! What every command that asks the live web shares: the directory, the client, the WARC files,
//! the loop with its signals and its view.

mod deliveries;
mod explore;
mod files;
mod hosts_file;
mod identity;
pub(crate) mod news;
mod options;
mod peers;
mod reread;
mod rounds;
mod side_by_side;
mod uploads;
pub(crate) mod view;

pub(crate) use deliveries::{StorePen, begin, said_in_words};
pub(crate) use explore::ExploreShare;
pub(crate) use identity::{IdentityConfig, IdentityOptions, read_secret};
pub(crate) use options::LiveOptions;
pub(crate) use peers::{absolute, refuse_proxy};
pub(crate) use rounds::{RoundOrder, ask};
pub(crate) use side_by_side::drive_shards;

use std::net::SocketAddr;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use anyhow::Context as _;
use tokio::sync::watch;
use turnstone_crawl::{Parts, Plan, StopLevel, Summary};
use turnstone_deliver::Receiver;
use turnstone_fetch::urls::{host_of, shown};
use turnstone_fetch::{AllowPorts, AllowPrivate, Guard, Limits, Refusal, Url};
use turnstone_frontier::Policy;
use turnstone_ledger::SliceNote;
use turnstone_pagestore::{Position, Store, warc};

use super::crawl::config::{Config, UploadConfig};
use super::serve::{Changes, Desk, Desks, Listen};
use super::shards;
use crate::caller::{Caller, caller};
use crate::exit::Usage;

/// What this process is called by those who find its lock.
pub(crate) fn holder() -> String {
    format!("process {} (turnstone {})", std::process::id(), command())
}

/// The command that this process was told to carry out.
fn command() -> String {
    let mut arguments = crate::caller::arguments().into_iter();
    arguments.nth(1).unwrap_or_default()
}

/// Opens the crawl directory, or makes it.
pub(crate) fn open(directory: &Path) -> anyhow::Result<Store> {
    shards::refuse_one(directory)?;
    shards::refuse(directory, &command())?;
    if directory.join("store/journal").exists() {
        return open_journal(directory);
    }
    if directory.exists() && !directory.is_dir() {
        return Err(Usage::of(
            "--output",
            format!("{} is not a directory", directory.display()),
        )
        .into());
    }
    refuse_others(directory)?;
    Ok(Store::create(directory, &holder())?)
}

/// Opens a journal that is there.
pub(crate) fn open_journal(directory: &Path) -> anyhow::Result<Store> {
    let (store, mended) = Store::open_mended(directory, &holder())?;
    if let Some(mended) = mended {
        crate::log::warning(&format!(
            "{}: {} fetches whose bodies never reached the disk were cut, and are made again",
            directory.display(),
            mended.fetches
        ));
    }
    Ok(store)
}

/// A folder in which somebody keeps other things becomes no crawl directory by a slip of the keyboard. What
/// begins one (a `turnstone.toml`, a demo's mark) says that it is meant.
pub(crate) fn refuse_others(directory: &Path) -> anyhow::Result<()> {
    const MEANT: [&str; 2] = [super::crawl::config::FILE, super::demo::MARK];
    const OURS: [&str; 5] = ["store", "warc", "reports", shards::FOLDER, shards::COPY];
    if !directory.is_dir() || MEANT.iter().any(|name| directory.join(name).exists()) {
        return Ok(());
    }
    for entry in std::fs::read_dir(directory)? {
        let name = entry?.file_name();
        if !OURS.iter().any(|ours| name == *ours) {
            let what = format!(
                "{}: not a crawl directory and not empty (it holds {}); name a new folder, or put an empty \
                 {} there to say that it is to become one",
                directory.display(),
                turnstone_events::plain(&name.to_string_lossy()),
                super::crawl::config::FILE,
            );
            return Err(Usage::of("--output", what).into());
        }
    }
    Ok(())
}

/// A seed that the guard would refuse whatever its name stands for is said before anything is asked.
pub(crate) fn check_seeds(guard: &Guard, seeds: &[Url]) -> Result<(), Usage> {
    for url in seeds {
        let port = url.port_or_known_default().unwrap_or(0);
        let host = host_of(url).trim_start_matches('[').trim_end_matches(']');
        let judged = match host.parse() {
            Ok(address) => guard.judge(SocketAddr::new(address, port)),
            Err(_) => guard.judge_port(port),
        };
        let option = match &judged {
            Ok(()) => continue,
            Err(Refusal::Address { address, .. }) if address.is_loopback() && address.is_ipv4() => {
                "--allow-private=127.0.0.0/8".to_owned()
            }
            Err(Refusal::Address { address, .. }) => format!("--allow-private={address}"),
            Err(Refusal::Port(port)) => {
                format!("--allow-ports={port}, or --allow-private for hosts of your own network")
            }
        };
        if let Err(refusal) = judged {
            let what = format!("seed {}: {refusal}: {option}", shown(url.as_str()));
            return Err(Usage(what));
        }
    }
    Ok(())
}

/// The name that sites and their robots.txt files know us by.
pub(crate) fn agent(config: &Config) -> Result<String, Usage> {
    Ok(identity::identity(config)?.agent().to_owned())
}

/// Who asks, and whom, for a few requests beside any crawl.
pub(crate) fn asking(config: &Config, guard: Guard) -> anyhow::Result<turnstone_fetch::Config> {
    let mut client = turnstone_fetch::Config {
        guard,
        tls: peers::tls(config)?,
        ..turnstone_fetch::Config::new(identity::identity(config)?)
    };
    identity::introduce(&config.identity, &mut client)?;
    Ok(client)
}

/// Who asks, and whom. The plan is given no more connections than this process may open.
pub(crate) fn client_config(
    config: &Config,
    plan: &mut Plan,
) -> anyhow::Result<turnstone_fetch::Config> {
    let private = match &config.allow_private {
        None => AllowPrivate::default(),
        Some(text) => text
            .parse()
            .map_err(|error| Usage::of("--allow-private", error))?,
    };
    let resolver = config.hosts_file.as_deref().map(Path::new);
    let resolver = resolver.map(hosts_file::read).transpose()?;
    let mut limits = Limits {
        body_bytes_max: plan.body_bytes_max,
        idle_connections_per_host_max: plan.politeness.open_max.max(1) as usize,
        ..Limits::default()
    };
    files::fit(plan, &mut limits);
    limits.fetches_open_max = plan.connections.max(1) * 2;
    let guard = Guard {
        private,
        ports: AllowPorts::Also(config.allow_ports.clone()),
    };
    let client = turnstone_fetch::Config {
        limits,
        resolver,
        ..asking(config, guard)?
    };
    client.identity.agent().clone_into(&mut plan.agent);
    Ok(client)
}

/// The WARC files, cut to what the journal acknowledges.
pub(crate) fn archive(
    directory: &Path,
    store: &Store,
    config: &Config,
) -> anyhow::Result<Option<(warc::Writer, [u8; 16])>> {
    if config.warc == Some(false) {
        return Ok(None);
    }
    let (settings, namespace) = archive_settings(store, config)?;
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

/// What all WARC files of a crawl say of it, and the 16 bytes that name their records.
pub(crate) fn archive_settings(
    store: &Store,
    config: &Config,
) -> anyhow::Result<(warc::Settings, [u8; 16])> {
    let namespace = store.namespace();
    let mut settings = store.archive();
    if let Some(size) = &config.warc_size {
        settings.file_bytes_max =
            crate::units::bytes(size).map_err(|what| Usage::of("--warc-size", what))?;
    }
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
    Ok((settings, namespace))
}

/// Where a crawl runs.
pub(crate) fn runtime() -> anyhow::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .context("cannot start the network runtime")
}

/// Runs the crawl, shows it, and ends it when told to.
pub(crate) async fn drive(
    parts: Parts<Box<dyn Policy>>,
    directory: &Path,
    mut watch: Watch,
) -> anyhow::Result<Summary> {
    let (desk, Desks { given, make }) = Desk::open(directory, watch.changes.take());
    let server = watch.listen.as_ref();
    let server = server.map(|listen| listen.beside(directory, desk.clone()));
    let server = server.transpose()?;
    let (stop, told) = watch::channel(StopLevel::Run);
    let teller = watch
        .news
        .map(|began| news::Teller::start(directory, began));
    let teller = teller.transpose()?;
    let store = parts.ledger.store();
    let uploads = uploads::Uploads::start(directory, &watch.upload, &watch.asides)?;
    let deliveries = deliveries::Deliveries::start(directory, store, &watch)?;
    let (mut crawl, progress) = turnstone_crawl::Crawl::new(parts)?;
    let deliveries = match deliveries {
        None => None,
        Some((deliveries, notes)) => {
            crawl = crawl.with_notes(notes);
            Some(deliveries)
        }
    };
    crawl = crawl.with_orders(given, make);
    let reread = tokio::spawn(reread::on_hangup(desk, stop.clone()));
    let signals = tokio::spawn(signals(stop, watch.enough.clone(), caller()));
    let view = tokio::spawn(view::show(progress, directory.to_owned(), watch));
    // As a task among the others: a page that came wakes it without a call to the kernel.
    let summary = tokio::spawn(crawl.run(told)).await;
    let summary = summary.unwrap_or_else(|lost| std::panic::resume_unwind(lost.into_panic()));
    signals.abort();
    reread.abort();
    if let Some(server) = server {
        server.abort();
        // Its thread looks at the directory no more.
        let _ = server.await;
    }
    // The view ends with its channel.
    let _ = view.await;
    drop(uploads);
    let summary = summary?;
    if let Some(teller) = teller {
        teller.finish()?;
    }
    if let Some(deliveries) = deliveries {
        deliveries.finish(directory)?;
    }
    Ok(summary)
}

/// Returns at the next SIGINT or SIGTERM.
pub(crate) async fn told_to_end() {
    use tokio::signal::unix::{SignalKind, signal};
    if caller().is_some() {
        return std::future::pending().await;
    }
    let (Ok(mut interrupt), Ok(mut terminate)) = (
        signal(SignalKind::interrupt()),
        signal(SignalKind::terminate()),
    ) else {
        return std::future::pending().await;
    };
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
    }
}

/// What a command adds to a crawl under way.
#[derive(Clone, Default)]
pub(crate) struct Watch {
    /// A line of its own in the view.
    pub(crate) line: Option<Arc<dyn Fn() -> String + Send + Sync>>,
    /// Says in a line what came of a slice, for standard output.
    pub(crate) slice: Option<TellSlice>,
    /// From where on events are told in lines of JSON as they happen; nothing if they are not.
    pub(crate) news: Option<Position>,
    /// Who wants events.
    pub(crate) deliver: Vec<Receiver>,
    /// Where closed files are brought.
    pub(crate) upload: UploadConfig,
    /// Where to show it while it runs.
    pub(crate) listen: Option<Listen>,
    /// What may be changed from there.
    pub(crate) changes: Option<Changes>,
    /// What those who work beside the crawl have to say, for standard error.
    pub(crate) asides: Arc<Mutex<Vec<String>>>,
    /// Ends the crawl cleanly once it says yes.
    pub(crate) enough: Option<Arc<dyn Fn() -> bool + Send + Sync>>,
}

/// A slice in a line.
pub(crate) type TellSlice = Arc<dyn Fn(&SliceNote) -> String + Send + Sync>;

/// How often [`Watch::enough`] is asked.
const ENOUGH_EVERY: Duration = Duration::from_millis(50);

async fn until_enough(enough: Option<Arc<dyn Fn() -> bool + Send + Sync>>) {
    let Some(enough) = enough else {
        return std::future::pending().await;
    };
    while !enough() {
        tokio::time::sleep(ENOUGH_EVERY).await;
    }
}

/// SIGINT and SIGTERM end the crawl cleanly; a second one at once.
pub(crate) async fn signals(
    stop: watch::Sender<StopLevel>,
    enough: Option<Arc<dyn Fn() -> bool + Send + Sync>>,
    caller: Option<Arc<Caller>>,
) {
    // Signals are the calling program's own affair; it says itself when it has had enough.
    if let Some(caller) = caller {
        let unwanted: Arc<dyn Fn() -> bool + Send + Sync> = Arc::new(move || {
            !caller.wants("crawling", 0.0) || enough.as_ref().is_some_and(|enough| enough())
        });
        until_enough(Some(unwanted)).await;
        stop.send_replace(StopLevel::Finish);
        return std::future::pending().await;
    }
    use tokio::signal::unix::{SignalKind, signal};
    let (Ok(mut interrupt), Ok(mut terminate)) = (
        signal(SignalKind::interrupt()),
        signal(SignalKind::terminate()),
    ) else {
        return;
    };
    for level in [StopLevel::Finish, StopLevel::AtOnce] {
        let enough = enough.clone().filter(|_| level == StopLevel::Finish);
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
            () = until_enough(enough) => {}
        }
        stop.send_replace(level);
    }
    std::future::pending::<()>().await;
}
