//! `turnstone crawl SEED… -o DIR`

mod asked;
pub(crate) mod config;
pub(crate) mod groups;
pub(crate) mod lists;
pub(crate) mod policy;
pub(crate) mod shards;
pub(crate) mod spent;
pub(crate) mod summary;
mod until;
pub(crate) mod verdict;

pub(crate) use asked::{Crawl, ignored, plan, seeds};

use std::path::{Path, PathBuf};
use std::time::Duration;

use turnstone_crawl::{Clock, Parts, Round, Summary};
use turnstone_fetch::urls::shown;
use turnstone_fetch::{Client, Url};
use turnstone_frontier::PageId;
use turnstone_lab::number::{plural, whole};
use turnstone_ledger::{Ledger, Opened, Past, Stop, Until, adopt, flips, sow};
use turnstone_pagestore::{PageState, Store};

use self::config::Config;
use super::live;
use super::serve::{Changes, Listen};
use crate::exit::{Exit, Usage};
use crate::output::Output;

impl Crawl {
    pub(crate) fn run(self, output: &Output) -> anyhow::Result<Exit> {
        self.listen.begin_log();
        let directory = self.output.as_path();
        crate::commands::shards::refuse_one(directory)?;
        let mut config = self.merged(Config::read(directory)?)?;
        if config.cluster.is_some() {
            let tests = (self.clock_scale, self.cluster.lease_scale);
            let order = crate::commands::cluster::Order {
                directory,
                config,
                scales: tests,
                begins: true,
                delivers: self.deliver.is_given(),
                listens: self.listen.asked()?.is_some(),
            };
            return crate::commands::cluster::carry_out(order, output);
        }
        config.shards = shards::count(directory, config.shards)?;
        let receivers = self.deliver.receivers(&config, directory)?;
        let (summary, until) = carry_out(
            Order {
                directory,
                config: &config,
                clock_scale: self.clock_scale,
                receivers,
                listen: self.listen.asked()?,
                again: false,
                tries: None,
            },
            output,
        )?;
        summary::print(&summary, directory, output)?;
        if let Some(why) = unasked(&summary, directory)? {
            output.note(&why);
            return Ok(Exit::Failed);
        }
        Ok(exit(&summary, until.coverage, output))
    }
}

/// A crawl to be carried out.
pub(crate) struct Order<'a> {
    /// Where.
    pub(crate) directory: &'a Path,
    /// What, all of it.
    pub(crate) config: &'a Config,
    /// How many times faster than time the crawl's clock runs.
    pub(crate) clock_scale: u32,
    /// Who wants events.
    pub(crate) receivers: Vec<turnstone_deliver::Receiver>,
    /// Where to show it while it runs.
    pub(crate) listen: Option<Listen>,
    /// Whether every page known is asked for again, by a policy that hears rounds.
    pub(crate) again: bool,
    /// How patiently hosts are waited for that do not answer, if not as ever.
    pub(crate) tries: Option<u32>,
}

/// Crawls, in a directory that is new or goes on, until a goal, a limit or a signal ends it, and leaves
/// the report. Says how it ended, and when it was to end.
pub(crate) fn carry_out(order: Order<'_>, output: &Output) -> anyhow::Result<(Summary, Until)> {
    if let Some(count) = order.config.shards {
        return shards::carry_out(order, count, output);
    }
    let Order {
        directory,
        config,
        clock_scale,
        receivers,
        listen,
        again,
        tries,
    } = order;
    let asked = policy::asked(config)?;
    // What is wrong with it is said before anything is asked.
    drop(super::upload::Plan::of(&config.upload)?);
    let seeds = seeds(config)?;
    tell_left_out(config, &seeds, output)?;
    let mut plan = plan(config, &seeds, asked.proves())?;
    let until = plan.until;
    plan.tries = tries.unwrap_or(plan.tries);
    plan.round = again.then(|| Round {
        question: asked.name().to_owned(),
        budget: u64::MAX,
    });
    if config.contact.is_none() && config.hosts_file.is_none() {
        need_contact(&seeds)?;
    }
    live::refuse_proxy(config, &seeds)?;
    let client = live::client_config(config, &mut plan)?;
    live::check_seeds(&client.guard, &seeds)?;
    let changes = Changes {
        config: config.clone(),
        asked: asked.clone(),
        guard: client.guard.clone(),
        needs_contact: config.contact.is_none() && config.hosts_file.is_none(),
    };
    let mut store = live::open(directory)?;
    let before = Config::read(directory)?;
    let clock = Clock::resume(store.index(), clock_scale);
    if let (Some(before), None) = (&before, store.index().plan()) {
        // Nobody wrote down yet what was asked: what an older release read must not be taken for
        // what is asked now.
        if store.index().page_count() > 0 {
            adopt(&mut store, &terms(before)?, clock.now());
        }
    }
    if before.as_ref() != Some(config) {
        config.write(directory)?;
    }
    let known = sow(&mut store, &seeds, &plan.keys, clock.now());
    store.write()?;
    tell_known(&store, &known, output)?;
    if store.torn_bytes() > 0 {
        let cut = store.torn_bytes();
        output.note(&format!(
            "{}: {cut} half-written bytes were cut",
            directory.display()
        ));
    }
    let runtime = live::runtime()?;
    let summary = runtime.block_on(async {
        let archive = live::archive(directory, &store, config)?;
        asked.make(&store)?;
        let (ledger, opened) = Ledger::open(
            store,
            plan.terms(asked.name(), asked.to_string(), Past::All),
            again,
            clock.now(),
            |store| flips(store, &plan.scope),
            |store| asked.make(store).expect("it was made a moment ago"),
        )?;
        tell_flips(&opened, output);
        let parts = Parts {
            ledger,
            client: Client::new(client)?,
            clock,
            archive,
            plan,
        };
        let watch = live::Watch {
            deliver: receivers,
            listen,
            changes: Some(changes),
            upload: config.upload.clone(),
            ..live::Watch::default()
        };
        live::drive(parts, directory, watch).await
    });
    let summary = summary.inspect(|summary| {
        if summary.abandoned == 0 {
            let said = runtime.block_on(report(directory.to_owned()));
            output.note(&said);
        }
    });
    // Tasks that were abandoned need not be waited for.
    runtime.shutdown_timeout(Duration::from_millis(100));
    super::upload::rest(directory, &config.upload);
    Ok((summary?, until))
}

/// The terms that a configuration asks for.
pub(crate) fn terms(config: &Config) -> anyhow::Result<turnstone_ledger::Terms> {
    let asked = policy::asked(config)?;
    let plan = plan(config, &seeds(config)?, asked.proves())?;
    Ok(plan.terms(asked.name(), asked.to_string(), Past::All))
}

/// Tells of seeds that the exclude list keeps out.
pub(crate) fn tell_left_out(config: &Config, seeds: &[Url], output: &Output) -> anyhow::Result<()> {
    let left_out = config.seeds.len() + config.lists.seeds.len() - seeds.len();
    if left_out == 0 {
        return Ok(());
    }
    if seeds.is_empty() {
        let what = "every seed is on the exclude list; there is nothing to ask for";
        return Err(Usage::of("--exclude-list", what).into());
    }
    output.note(&format!(
        "the exclude list keeps out {} of the seeds",
        whole(left_out as u64)
    ));
    Ok(())
}

/// Tells which pages a change of scope let in or out.
fn tell_flips(opened: &Opened, output: &Output) {
    let (came, left) = (opened.flips.inside.len(), opened.flips.outside.len());
    if came + left > 0 {
        output.note(&format!(
            "the scope changed: {} came into it, {} left it",
            plural(came as u64, "known page"),
            whole(left as u64)
        ));
    }
}

/// Tells of seeds that had been found before they were named.
fn tell_known(store: &Store, known: &[PageId], output: &Output) -> anyhow::Result<()> {
    for &page in known {
        let standing = match store.index().state(page) {
            PageState::Gone | PageState::Refused => {
                "it could not be fetched, and the crawler does not try it again"
            }
            PageState::Moved => "it moved, and its target is not a seed",
            PageState::Fetched => "it is stored already",
            PageState::Away => "another shard has it",
            PageState::Waiting | PageState::InFlight | PageState::Unknown | PageState::Outside => {
                "it is still to come"
            }
        };
        output.note(&format!(
            "turnstone: {} was found before and is a seed from now on; {standing}",
            shown(&store.url(page)?)
        ));
    }
    Ok(())
}

/// Why nothing was ever asked, where that is so: what became of the first seed.
fn unasked(summary: &Summary, directory: &Path) -> anyhow::Result<Option<String>> {
    if summary.stop != Stop::Exhausted || summary.tally.requests > 0 || summary.pages > 0 {
        return Ok(None);
    }
    let mut first = None;
    for looked in crate::commands::shards::Whole::look(directory)?.shards {
        let index = looked.store.index();
        let mut seeds = index.seeds().iter().copied();
        let here = seeds.find(|seed| index.state(*seed) != PageState::Away);
        if let Some(seed) = here {
            first = Some((looked, seed));
            break;
        }
    }
    let Some((looked, seed)) = first else {
        return Ok(None);
    };
    let (url, (_, said)) = (looked.url(seed)?, looked.fate(seed)?);
    let said = match said.as_str() {
        "" => "nobody answered",
        said => said,
    };
    Ok(Some(format!(
        "turnstone: no seed could be asked for; the first, {url}: {said}"
    )))
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
pub(crate) fn exit(summary: &Summary, goal: bool, output: &Output) -> Exit {
    match summary.stop {
        Stop::Coverage | Stop::Told => Exit::Done,
        Stop::Unreachable => Exit::Limit,
        stop if goal => {
            let met = summary.coverage.is_some_and(|coverage| coverage.met());
            if met {
                return Exit::Done;
            }
            output.note(&format!(
                "turnstone: the goal is not proven: {}",
                verdict::because(stop)
            ));
            Exit::Limit
        }
        _ => Exit::Done,
    }
}

/// Whoever asks strangers says who asks: without a contact only this machine may be crawled.
pub(crate) fn need_contact(seeds: &[turnstone_fetch::Url]) -> Result<(), Usage> {
    match seeds.iter().find(|url| !is_here(url)) {
        Some(url) => Err(wants_contact(turnstone_fetch::urls::host_of(url))),
        None => Ok(()),
    }
}

/// Whether a URL is one of this machine.
pub(crate) fn is_here(url: &turnstone_fetch::Url) -> bool {
    let host = turnstone_fetch::urls::host_of(url);
    let address: Result<std::net::IpAddr, _> =
        host.trim_start_matches('[').trim_end_matches(']').parse();
    match address {
        Ok(address) => address.is_loopback(),
        Err(_) => host == "localhost" || host.ends_with(".localhost"),
    }
}

/// What is said to whoever does not say who asks.
pub(crate) fn wants_contact(whom: &str) -> Usage {
    let what =
        format!("to crawl {whom}, give an e-mail address or URL where its owner can reach you");
    Usage::of("--contact", what)
}
