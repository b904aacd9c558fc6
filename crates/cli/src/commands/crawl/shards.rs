//! A crawl cut into shards, in one process: `turnstone crawl SEED… -o DIR --shards N`.
//!
//! Each shard has a folder of its own, `DIR/shards/0` and so on, with a journal and WARC files as a crawl in one
//! piece has; what was asked stands in one `DIR/turnstone.toml`. The folders appear all at once, by one rename,
//! so a crawl that is killed while it is founded is none yet. They exchange what pages give to pages of others,
//! share budgets, connections, addresses and the end (`turnstone_crawl::join`).
//!
//! Others count on what was sent under it, so policy, goal, scope and seeds stay; what would change them is
//! refused before anything is written.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context as _;
use turnstone_cluster::shard::SHARDS_MAX;
use turnstone_crawl::{Clock, Parts, Summary};
use turnstone_fetch::urls::canonical_key;
use turnstone_fetch::{Client, Url};
use turnstone_frontier::Tick;
use turnstone_ledger::{Ledger, Past, Terms, Until, cut, flips, sow};
use turnstone_pagestore::{Lock, Store};
use turnstone_questions::Asked;

use super::config::Config;
use super::{Order, need_contact, plan, policy, report, seeds, tell_left_out};
use crate::commands::live;
use crate::commands::shards::{FOLDER, folders};
use crate::exit::Usage;
use crate::output::Output;

/// How many shards a crawl has, from what is asked and what is there; nothing for a crawl in one piece.
pub(super) fn count(directory: &Path, asked: Option<u32>) -> anyhow::Result<Option<u32>> {
    let there = u32::try_from(folders(directory)?.len()).unwrap_or(u32::MAX);
    let show = directory.display();
    let refused = |what: String| Err(Usage::of("--shards", what).into());
    if let Some(asked) = asked
        && !(1..=SHARDS_MAX).contains(&asked)
    {
        return refused(format!("{asked} shards; there can be 1 to {SHARDS_MAX}"));
    }
    match asked {
        Some(asked) if there > 0 && asked != there => refused(format!(
            "{show} was cut into {there} shards, which is for good; leave --shards {asked} out, or shards of \
             turnstone.toml, to go on with it, or begin another crawl in a new directory"
        )),
        Some(asked) if asked > 1 && directory.join("store/journal").exists() => refused(format!(
            "{show} is a crawl in one piece, which cannot be cut any more; leave --shards {asked} out, \
             or shards of turnstone.toml, to go on with it, or begin another crawl in a new directory"
        )),
        _ if there > 0 => Ok(Some(there)),
        asked => Ok(asked.filter(|asked| *asked > 1)),
    }
}

/// What cannot be split is refused by name.
pub(crate) fn refuse_whole(asked: &Asked, delivers: bool) -> Result<(), Usage> {
    let spec = asked.spec.name();
    let why = match spec {
        "rankmass" => None,
        "l-neighbor" => {
            Some("it goes level by level through the whole web, and no shard sees a whole level")
        }
        "windowed-rankmass" => Some(
            "it ranks in windows of all that is known, and no shard knows all; rankmass proves the same",
        ),
        "opic" => Some(
            "its virtual page shares its cash out among all pages, and no shard knows them all",
        ),
        _ => Some(
            "what its pages give to pages of other shards has no account yet; rankmass has one",
        ),
    };
    if let Some(why) = why {
        return Err(Usage::of(
            "--shards",
            format!("{spec} cannot be cut into shards: {why}"),
        ));
    }
    if asked.confidence.is_some() {
        let what = "a certificate is drawn from the whole web, which no shard knows; leave confidence out of --until";
        return Err(Usage::of("--shards", what));
    }
    if delivers {
        let what = "events of a crawl in shards cannot be delivered yet; leave --deliver and [[deliver]] out, and \
                    use `turnstone events`";
        return Err(Usage::of("--shards", what));
    }
    Ok(())
}

/// Crawls in shards, as [`super::carry_out`] does in one piece.
pub(super) fn carry_out(
    order: Order<'_>,
    shards: u32,
    output: &Output,
) -> anyhow::Result<(Summary, Until)> {
    let (directory, config) = (order.directory, order.config);
    let asked = policy::asked(config)?;
    refuse_whole(&asked, !order.receivers.is_empty())?;
    let seeds = seeds(config)?;
    tell_left_out(config, &seeds, output)?;
    let mut plan = plan(config, &seeds, asked.proves())?;
    let until = plan.until;
    if plan.connections < shards as usize {
        let what = format!(
            "{} for {shards} shards; each needs one at least",
            plan.connections
        );
        return Err(Usage::of("--connections", what).into());
    }
    if config.contact.is_none() && config.hosts_file.is_none() {
        need_contact(&seeds)?;
    }
    live::refuse_proxy(config, &seeds)?;
    let client = live::client_config(config, &mut plan)?;
    live::check_seeds(&client.guard, &seeds)?;
    let terms = plan.terms(asked.name(), asked.to_string(), Past::All);
    let _lock = hold(directory)?;
    let mut stores = open(directory, shards)?;
    for store in &stores {
        check_same(directory, store, &terms, &seeds, &plan.keys)?;
    }
    if Config::read(directory)?.as_ref() != Some(config) {
        config.write(directory)?;
    }
    let clocks: Vec<Clock> = stores
        .iter()
        .map(|store| Clock::resume(store.index(), order.clock_scale))
        .collect();
    for (store, clock) in stores.iter_mut().zip(&clocks) {
        sow(store, &seeds, &plan.keys, clock.now());
        store.write()?;
        if store.torn_bytes() > 0 {
            let (cut, path) = (store.torn_bytes(), store.directory().display());
            output.note(&format!("{path}: {cut} half-written bytes were cut"));
        }
    }
    let runtime = live::runtime()?;
    let summary = runtime.block_on(async {
        let client = Client::new(client)?;
        let mut all = Vec::new();
        for (store, clock) in stores.into_iter().zip(clocks) {
            let archive = live::archive(store.directory(), &store, config)?;
            asked.make(&store)?;
            let (ledger, _) = Ledger::open(
                store,
                terms.clone(),
                false,
                clock.now(),
                |store| flips(store, &plan.scope),
                |store| asked.make(store).expect("it was made a moment ago"),
            )?;
            all.push(Parts {
                plan: plan.clone(),
                ledger,
                client: client.clone(),
                clock,
                archive,
            });
        }
        live::drive_shards(all, directory, &config.upload).await
    });
    let summary = summary.inspect(|summary| {
        if summary.abandoned == 0 {
            let said = runtime.block_on(report(directory.to_owned()));
            output.note(&said);
        }
    });
    runtime.shutdown_timeout(Duration::from_millis(100));
    crate::commands::upload::rest(directory, &config.upload);
    Ok((summary?, until))
}

/// One process at a time has a crawl in shards.
pub(crate) fn hold(directory: &Path) -> anyhow::Result<Lock> {
    if directory.exists() && !directory.is_dir() {
        let what = format!("{} is not a directory", directory.display());
        return Err(Usage::of("--output", what).into());
    }
    let folder = directory.join("store");
    fs::create_dir_all(&folder).with_context(|| folder.display().to_string())?;
    Ok(Lock::take(directory, &live::holder())?)
}

/// Opens all shards, or makes them.
fn open(directory: &Path, shards: u32) -> anyhow::Result<Vec<Store>> {
    let mut there = folders(directory)?;
    if there.is_empty() {
        found(directory, shards)?;
        there = folders(directory)?;
    }
    let open = |(shard, folder): (usize, &PathBuf)| -> anyhow::Result<Store> {
        let store = live::open_journal(folder)?;
        let is_it = store.index().shard() == Some((shard as u32, shards));
        anyhow::ensure!(
            is_it,
            "{}: not shard {shard} of {shards} of this crawl; put the folder back that belongs there",
            folder.display()
        );
        Ok(store)
    };
    let stores: Vec<Store> = there
        .iter()
        .enumerate()
        .map(open)
        .collect::<Result<_, _>>()?;
    let secret = stores.first().map(Store::secret);
    for store in &stores {
        anyhow::ensure!(
            Some(store.secret()) == secret,
            "{}: a shard of another crawl; put the folder back that belongs there",
            store.directory().display()
        );
    }
    Ok(stores)
}

/// Makes the folders of all shards: all of them or none.
fn found(directory: &Path, shards: u32) -> anyhow::Result<()> {
    let (fresh, whole) = (directory.join("shards.new"), directory.join(FOLDER));
    match fs::remove_dir_all(&fresh) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            return Err(error).with_context(|| fresh.display().to_string());
        }
        _ => {}
    }
    let mut secret = None;
    for shard in 0..shards {
        let folder = fresh.join(shard.to_string());
        let mut store = match secret {
            None => Store::create(&folder, &live::holder())?,
            Some(secret) => Store::create_shard(&folder, &live::holder(), secret)?,
        };
        secret = Some(store.secret());
        cut(&mut store, shard, shards, Tick(0));
        store.write()?;
        store.syncer().sync()?;
    }
    let sync = |folder: &Path| fs::File::open(folder)?.sync_all();
    let named = || -> std::io::Result<()> {
        sync(&fresh)?;
        fs::rename(&fresh, &whole)?;
        sync(directory)
    };
    named().with_context(|| whole.display().to_string())
}

/// A crawl in shards keeps what it was begun with.
pub(crate) fn check_same(
    directory: &Path,
    store: &Store,
    terms: &Terms,
    seeds: &[Url],
    keys: &turnstone_fetch::urls::KeyOptions,
) -> Result<(), Usage> {
    let Some(before) = store.index().plan() else {
        return Ok(());
    };
    let show = directory.display();
    let keeps = |what: String| {
        Err(Usage(format!(
            "{show}: a crawl in shards keeps its policy, goal, scope and seeds; {what}; or begin another in a new \
             directory"
        )))
    };
    match Terms::read(before) {
        Some(before) if before == *terms => {}
        Some(before) if before.policy != terms.policy => {
            let (then, now) = (&before.policy, &terms.policy);
            return keeps(format!(
                "it was begun with `{then}` and is asked for `{now}` now: ask for that again"
            ));
        }
        _ => {
            return keeps(
                "scope or pattern-trust is another now: ask for those it was begun with".to_owned(),
            );
        }
    }
    let (index, keyer) = (store.index(), store.keyer());
    for url in seeds {
        let page = index.find(keyer.key(&canonical_key(url, keys)));
        if page.is_none_or(|page| !index.is_seed(page)) {
            let url = turnstone_fetch::urls::shown(url.as_str());
            return keeps(format!("{url} was no seed: leave it out"));
        }
    }
    if index.seeds().len() > seeds.len() {
        return keeps("seeds are missing: name them all again in turnstone.toml".to_owned());
    }
    Ok(())
}
