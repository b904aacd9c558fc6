//! Runs a node: founds the crawl or joins it, then has shards of it until all is done or it is told to leave.
//!
//! A node's directory looks like that of a crawl in shards, with those shards in it that this machine has or had.
//! What was asked is one `turnstone.toml` on all machines; who joins gets it from the servers.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use clap::Args;
use tokio::sync::watch;
use turnstone_bus::{Founding, NatsBus};
use turnstone_cluster::bus::{Answer, Bus, Key, Request};
use turnstone_cluster::node::Ticket;
use turnstone_cluster::orders::Orders;
use turnstone_cluster::shard::SHARDS_MAX;
use turnstone_cluster::{NodeId, Shard};
use turnstone_crawl::{Clock, Parts, Plan, Progress, StopLevel};
use turnstone_fetch::{Client, Url};
use turnstone_frontier::Policy;
use turnstone_ledger::{Ledger, Past, flips, sow};
use turnstone_node::{Line, NodeParts, Outcome, Seen};
use turnstone_pagestore::{Store, shard_folders, warc};
use turnstone_questions::Asked;

use super::place::{
    Entry, Place, SHARDS, founding, identity, keep_identity, options, own_identity, random, servers,
};
use super::shown::{add_up, exit, print};
use super::{asked, place};
use crate::commands::crawl::config::{ClusterConfig, Config};
use crate::commands::crawl::{
    need_contact, plan as plan_of, policy, seeds as seeds_of, shards, tell_left_out,
};
use crate::commands::live;
use crate::exit::{Exit, Usage};
use crate::output::Output;

/// Take part in a crawl that another machine founded with `crawl --cluster`
///
/// Shards are shared out among all machines that take part; one that leaves or dies is replaced by the others. SIGINT
/// and SIGTERM give everything back and leave. To come back later: `turnstone crawl -o DIR`.
#[derive(Debug, Args)]
pub(crate) struct Join {
    /// The servers, nats://HOST:PORT,…
    #[arg(value_name = "SERVER,…")]
    servers: String,
    /// What the crawl is called there
    #[arg(value_name = "NAME")]
    name: String,
    /// The directory of this machine's part, made if it is not there
    #[arg(short, long, value_name = "DIR")]
    output: PathBuf,
    #[command(flatten)]
    entry: Entry,
    /// The most requests under way on this machine [default: that of the crawl]
    #[arg(long, value_name = "N")]
    connections: Option<usize>,
    /// Take the addresses of host names from a file of `name<TAB>address` lines, not from DNS
    #[arg(long, value_name = "FILE")]
    hosts_file: Option<PathBuf>,
    /// Let the crawl's clock run this many times faster than time: for tests on loopback only
    #[arg(long, hide = true, default_value_t = 1)]
    clock_scale: u32,
    /// Let leases run this many times faster than time: for tests on loopback only
    #[arg(long, hide = true, default_value_t = 1)]
    lease_scale: u32,
}

impl Join {
    pub(crate) fn run(self, output: &Output) -> anyhow::Result<Exit> {
        let directory = self.output.as_path();
        let mut cluster = ClusterConfig {
            servers: servers(&self.servers),
            name: self.name.clone(),
            ..ClusterConfig::default()
        };
        self.entry.over(&mut cluster);
        let runtime = live::runtime()?;
        let config = runtime.block_on(async {
            let mut place = Place::join(&cluster).await?;
            settle_in(directory, &place)?;
            let asked = asked::get(&mut place).await?;
            let mut config = asked.with_context(|| {
                format!("{}: founded, but nothing was asked of it yet", self.name)
            })?;
            config.shards = Some(place.founding.shards);
            anyhow::Ok(config)
        })?;
        drop(runtime);
        let mut config = Config {
            cluster: Some(cluster),
            ..config
        };
        if self.connections.is_some() {
            config.limits.connections = self.connections;
        }
        // A file of another machine means nothing here.
        config.hosts_file = self.hosts_file.as_deref().map(live::absolute);
        let order = Order {
            directory,
            config,
            scales: (self.clock_scale, self.lease_scale),
            begins: false,
            delivers: false,
            listens: false,
        };
        carry_out(order, output)
    }
}

/// The directory of who joins is that of this crawl from now on.
fn settle_in(directory: &Path, place: &Place) -> anyhow::Result<()> {
    if directory.join("store/journal").exists() {
        return Err(in_one_piece(directory).into());
    }
    match identity(directory)? {
        Some(before) if before != place.founding.identity => {
            let what = format!(
                "{}: the directory of another crawl; name a new one",
                directory.display()
            );
            Err(Usage::of("--output", what).into())
        }
        Some(_) => Ok(()),
        None => {
            live::refuse_others(directory)?;
            keep_identity(directory, place.founding.identity)
        }
    }
}

fn in_one_piece(directory: &Path) -> Usage {
    Usage(format!(
        "{}: a crawl in one piece, which machines cannot share: its journal would have to be cut, and what was \
         decided by it decided again. Begin one with `crawl --shards N`, which `cluster adopt` can share later",
        directory.display()
    ))
}

/// Share a crawl that was begun with `crawl --shards` on this machine
///
/// Its journals are published as they are, nothing is asked for again. Then this machine goes on with it, and others
/// may join.
#[derive(Debug, Args)]
pub(crate) struct Adopt {
    /// The crawl directory
    #[arg(value_name = "DIR")]
    directory: PathBuf,
    /// The servers, nats://HOST:PORT,…
    #[arg(value_name = "SERVER,…")]
    servers: String,
    /// What it is to be called there [default: the name of DIR]
    #[arg(long, value_name = "NAME")]
    cluster_name: Option<String>,
    #[command(flatten)]
    entry: Entry,
    /// Take the addresses of host names from a file of `name<TAB>address` lines, not from DNS
    #[arg(long, value_name = "FILE")]
    hosts_file: Option<PathBuf>,
    /// Let the crawl's clock run this many times faster than time: for tests on loopback only
    #[arg(long, hide = true, default_value_t = 1)]
    clock_scale: u32,
    /// Let leases run this many times faster than time: for tests on loopback only
    #[arg(long, hide = true, default_value_t = 1)]
    lease_scale: u32,
}

impl Adopt {
    pub(crate) fn run(self, output: &Output) -> anyhow::Result<Exit> {
        let directory = self.directory.as_path();
        if directory.join("store/journal").exists() {
            return Err(in_one_piece(directory).into());
        }
        let config = Config::read(directory)?.filter(|_| !shard_folders(directory).is_empty());
        let Some(mut config) = config else {
            let what = format!("{}: no crawl in shards is there", directory.display());
            return Err(Usage(what).into());
        };
        let options = place::ClusterOptions {
            servers: servers(&self.servers),
            cluster_name: self.cluster_name,
            entry: self.entry,
            lease_scale: 1,
        };
        options.over(&mut config.cluster, directory)?;
        if let Some(file) = &self.hosts_file {
            config.hosts_file = Some(live::absolute(file));
        }
        let order = Order {
            directory,
            config,
            scales: (self.clock_scale, self.lease_scale),
            begins: true,
            delivers: false,
            listens: false,
        };
        carry_out(order, output)
    }
}

/// A node to be run.
pub(crate) struct Order<'a> {
    pub(crate) directory: &'a Path,
    pub(crate) config: Config,
    /// How many times faster than time the crawl's clock runs, and that of leases.
    pub(crate) scales: (u32, u32),
    /// It founds the crawl if it is new, and takes back that it was stopped.
    pub(crate) begins: bool,
    /// Somebody wants events.
    pub(crate) delivers: bool,
    /// Somebody wants a dashboard.
    pub(crate) listens: bool,
}

/// The bus, as a node waits for it.
struct NatsLine(NatsBus<Ticket>);

impl Bus<Ticket> for NatsLine {
    fn ask(&mut self, ticket: Ticket, request: Request) {
        self.0.ask(ticket, request);
    }

    fn answer(&mut self) -> Option<(Ticket, Answer)> {
        self.0.answer()
    }
}

impl Line for NatsLine {
    async fn answered(&mut self) -> (Ticket, Answer) {
        self.0.answered().await
    }
}

/// Runs a node until all is done, or until it is told to leave.
pub(crate) fn carry_out(order: Order<'_>, output: &Output) -> anyhow::Result<Exit> {
    let Order {
        directory,
        mut config,
        scales,
        begins,
        delivers,
        listens,
    } = order;
    if directory.join("store/journal").exists() {
        return Err(in_one_piece(directory).into());
    }
    if listens {
        let what = "a node has no dashboard yet; `turnstone cluster status` tells of all machines";
        return Err(Usage::of("--listen", what).into());
    }
    let asked = policy::asked(&config)?;
    shards::refuse_whole(&asked, delivers || !config.deliver.is_empty())?;
    let seeds = seeds_of(&config)?;
    tell_left_out(&config, &seeds, output)?;
    let count = shard_count(directory, &mut config)?;
    let mut plan = plan_of(&config, &seeds, asked.proves())?;
    if config.contact.is_none() && config.hosts_file.is_none() {
        need_contact(&seeds)?;
    }
    live::refuse_proxy(&config, &seeds)?;
    let client = live::client_config(&config, &mut plan)?;
    live::check_seeds(&client.guard, &seeds)?;
    let cluster = config.cluster.clone().unwrap_or_default();
    let options = options(&cluster)?;
    if identity(directory)?.is_none() && shard_folders(directory).is_empty() {
        live::refuse_others(directory)?;
    }
    let _lock = shards::hold(directory)?;
    let secret = own_identity(directory)?;
    let runtime = live::runtime()?;
    let outcome = runtime.block_on(async {
        let wanted = founding(secret, count);
        let bus = match begins {
            true => found(&options, wanted, &cluster).await?,
            false => join(&options, wanted).await?,
        };
        if Config::read(directory)?.as_ref() != Some(&config) {
            config.write(directory)?;
        }
        if begins {
            let mut place = Place::join(&cluster).await?;
            // Where hosts are is an affair of each machine.
            let shared = Config {
                hosts_file: None,
                ..config.clone()
            };
            asked::put(&mut place, &shared).await?;
            take_back_stop(&mut place).await?;
        }
        let id = NodeId(u64::from_be_bytes(random()?[..8].try_into()?) | 1);
        let name = format!("{}:{}", host_name(), std::process::id());
        let client = Client::new(client)?;
        let parts = NodeParts {
            directory: directory.to_owned(),
            name,
            id,
            secret,
            cut: (wanted.shards, wanted.lanes),
            until: plan.until,
            goal: asked.goal.mass(),
            body_bytes_max: plan.body_bytes_max as u64,
            connections: plan.connections,
            per_address: plan.per_address,
            delay_ms: plan.politeness.delay_ms,
            scales,
            open: opener(Opening {
                whole: directory.to_owned(),
                config: config.clone(),
                asked: asked.clone(),
                plan: plan.clone(),
                seeds: seeds.clone(),
                client,
                scale: scales.0,
                shards: count,
                secret,
            }),
        };
        drive(parts, NatsLine(bus), directory).await
    });
    runtime.shutdown_timeout(Duration::from_millis(100));
    let outcome = outcome?;
    print(&outcome, (directory, &cluster), output)?;
    Ok(exit(&outcome, plan.until.coverage, output))
}

/// How many shards the crawl has: those that are there, or as many as asked for.
fn shard_count(directory: &Path, config: &mut Config) -> anyhow::Result<u32> {
    let there = u32::try_from(shard_folders(directory).len()).unwrap_or(u32::MAX);
    let is_founded = identity(directory)?.is_some();
    let count = match config.shards {
        Some(count) => count,
        None if there > 0 && !is_founded => there,
        None => SHARDS,
    };
    if !(1..=SHARDS_MAX).contains(&count) {
        let what = format!("{count} shards; there can be 1 to {SHARDS_MAX}");
        return Err(Usage::of("--shards", what).into());
    }
    if there > 0 && !is_founded && there != count {
        let what = format!(
            "{} was cut into {there} shards, which is for good; leave --shards {count} out",
            directory.display()
        );
        return Err(Usage::of("--shards", what).into());
    }
    config.shards = Some(count);
    Ok(count)
}

async fn found(
    options: &turnstone_bus::Options,
    wanted: Founding,
    cluster: &ClusterConfig,
) -> anyhow::Result<NatsBus<Ticket>> {
    match NatsBus::found(options, wanted).await {
        Ok(bus) => Ok(bus),
        Err(turnstone_bus::ConnectError::NameTaken { name }) => {
            // Perhaps it is this crawl, asked for with another number of shards.
            let there = Place::join(cluster).await.map(|place| place.founding);
            match there {
                Ok(there) if there.identity == wanted.identity => Err(Usage::of(
                    "--shards",
                    format!(
                        "{name} was cut into {} shards, which is for good; leave --shards {} out, or shards of \
                         turnstone.toml",
                        there.shards, wanted.shards
                    ),
                )
                .into()),
                _ => Err(turnstone_bus::ConnectError::NameTaken { name }.into()),
            }
        }
        Err(error) => Err(error.into()),
    }
}

async fn join(
    options: &turnstone_bus::Options,
    wanted: Founding,
) -> anyhow::Result<NatsBus<Ticket>> {
    let (bus, founding) = NatsBus::join(options).await?;
    anyhow::ensure!(
        founding == wanted,
        "{}: another crawl than the one of this directory has this name now",
        options.crawl
    );
    Ok(bus)
}

/// Whoever begins a crawl again takes back that it was stopped, and that machines were told to leave.
async fn take_back_stop(place: &mut Place) -> anyhow::Result<()> {
    let Some((revision, value)) = place.load(Key::Orders).await? else {
        return Ok(());
    };
    if Orders::decode(&value).is_ok_and(|orders| orders == Orders::default()) {
        return Ok(());
    }
    let value = Orders::default().encode();
    let request = Request::Swap {
        key: Key::Orders,
        expect: revision,
        value,
    };
    // Somebody else may have done so meanwhile.
    place.ask(request).await;
    Ok(())
}

fn host_name() -> String {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    match name.trim() {
        "" => "a machine".to_owned(),
        name => turnstone_events::plain(name),
    }
}

/// What a shard's loop is made of.
struct Opening {
    whole: PathBuf,
    config: Config,
    asked: Asked,
    plan: Plan,
    seeds: Vec<Url>,
    client: Client,
    scale: u32,
    shards: u32,
    secret: [u8; 16],
}

fn opener(opening: Opening) -> turnstone_node::Opener<Box<dyn Policy>> {
    Arc::new(move |folder, shard| Ok(opening.open(folder, shard)?))
}

impl Opening {
    /// Opens a shard whose journal is there and sealed. Captures of other machines are not here, so nothing is
    /// held against them.
    fn open(&self, folder: &Path, shard: Shard) -> anyhow::Result<Parts<Box<dyn Policy>>> {
        let mut store = Store::open(folder, &live::holder())?;
        let is_it =
            store.index().shard() == Some((shard.0, self.shards)) && store.secret() == self.secret;
        anyhow::ensure!(
            is_it,
            "{}: not shard {} of this crawl; put the folder back that belongs there",
            folder.display(),
            shard.0
        );
        let (asked, plan) = (&self.asked, &self.plan);
        let terms = plan.terms(asked.name(), asked.to_string(), Past::All);
        shards::check_same(&self.whole, &store, &terms, &self.seeds, &plan.keys)?;
        let clock = Clock::resume(store.index(), self.scale);
        sow(&mut store, &self.seeds, &plan.keys, clock.now());
        store.write()?;
        let archive = match self.config.warc {
            Some(false) => None,
            _ => {
                let (settings, namespace) = live::archive_settings(&store, &self.config)?;
                let last = store.index().capture().map_or(0, |last| last.file);
                let real = Box::new(warc::RealFolder);
                let writer = warc::Writer::follow(&folder.join("warc"), settings, last, real)?;
                Some((writer, namespace))
            }
        };
        asked.make(&store)?;
        let (ledger, _) = Ledger::open(
            store,
            terms,
            false,
            clock.now(),
            |store| flips(store, &plan.scope),
            |store| asked.make(store).expect("it was made a moment ago"),
        )?;
        Ok(Parts {
            plan: plan.clone(),
            ledger,
            client: self.client.clone(),
            clock,
            archive,
        })
    }
}

async fn drive(
    parts: NodeParts<Box<dyn Policy>>,
    bus: NatsLine,
    directory: &Path,
) -> anyhow::Result<Outcome> {
    let (stop, told) = watch::channel(StopLevel::Run);
    let (shown, seen) = watch::channel(Seen::default());
    let (show, progress) = watch::channel(Progress::default());
    let signals = tokio::spawn(live::signals(stop, None, crate::caller::caller()));
    let adder = tokio::spawn(add_up(seen, show));
    let view = live::view::show(progress, directory.to_owned(), live::Watch::default());
    let view = tokio::spawn(view);
    let node = tokio::spawn(turnstone_node::run(parts, bus, told, shown));
    let outcome = node.await;
    let outcome = outcome.unwrap_or_else(|lost| std::panic::resume_unwind(lost.into_panic()));
    signals.abort();
    let _ = adder.await;
    let _ = view.await;
    Ok(outcome?)
}
