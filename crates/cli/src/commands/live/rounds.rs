//! One round of a question, asked of the live web in a crawl directory.
//!
//! The directory's own history is what the policy knows; what comes of the round goes into the
//! same history.

use std::cell::RefCell;
use std::path::Path;
use std::time::Duration;

use turnstone_crawl::{Clock, Lists, Parts, Plan, Round, Summary};
use turnstone_fetch::Client;
use turnstone_fetch::soft404::SoftOptions;
use turnstone_frontier::{Policy, Tick};
use turnstone_ledger::{Ledger, Past, Until, flips};
use turnstone_pagestore::{Position, Store};
use turnstone_policy::Question;
use turnstone_questions::{Asked, AskedError};

use super::{LiveOptions, Watch, archive, client_config, drive, open};
use crate::commands::crawl;
use crate::commands::crawl::config::Config;
use crate::commands::upload;

/// One round, as it is ordered.
pub(crate) struct RoundOrder<'a> {
    pub(crate) directory: &'a Path,
    pub(crate) options: &'a LiveOptions,
    pub(crate) asked: Asked,
    /// How many fetches the policy may choose.
    pub(crate) budget: u64,
    pub(crate) past: WhichPast,
    pub(crate) until: Until,
    /// How pages are judged, for a survey.
    pub(crate) survey: Option<SoftOptions>,
    pub(crate) watch: Watch,
    /// Whether events are told in lines of JSON as they happen.
    pub(crate) lines: bool,
}

/// What the policy is to be told of the past; may leave a note in the store.
pub(crate) type WhichPast = Box<dyn FnOnce(&mut Store, Tick) -> anyhow::Result<Past>>;

/// What came of a round: how it ended, and where in the journal it began.
pub(crate) struct Answered {
    pub(crate) summary: Summary,
    pub(crate) began: Position,
}

/// Runs a round. `make` makes the policy from the directory's store.
pub(crate) fn ask(
    order: RoundOrder<'_>,
    make: impl Fn(&Asked, &Store) -> Result<Box<dyn Policy>, AskedError>,
) -> anyhow::Result<Answered> {
    let RoundOrder {
        directory,
        options,
        mut asked,
        budget,
        past,
        until,
        survey,
        mut watch,
        lines,
    } = order;
    options.listen.begin_log();
    let mut config = Config::read(directory)?.unwrap_or_default();
    options.over(&mut config);
    asked.random_seed = config.random_seed.unwrap_or(1);
    let seeds = crawl::seeds(&config)?;
    if config.contact.is_none() && config.hosts_file.is_none() {
        crawl::need_contact(&seeds)?;
    }
    super::refuse_proxy(&config, &seeds)?;
    let mut plan: Plan = crawl::plan(&config, &seeds, false)?;
    plan.until = until;
    plan.lists = match asked.question {
        Question::Discovery => Lists::Linked,
        _ => Lists::Ignored,
    };
    plan.round = Some(Round {
        question: asked.name().to_owned(),
        budget,
    });
    let surveys = survey.is_some();
    plan.survey = survey;
    let client = client_config(&config, &mut plan)?;
    anyhow::ensure!(
        directory.join("store/journal").exists(),
        "{}: not a crawl directory; make one with `turnstone crawl` or `turnstone import`",
        directory.display()
    );
    let mut store = open(directory)?;
    let clock = Clock::resume(store.index(), options.clock_scale);
    let began = store.end();
    watch.news = lines.then_some(began);
    watch.deliver = options.deliver.receivers(&config, directory)?;
    watch.upload = config.upload.clone();
    watch.listen = options.listen.asked()?;
    let past = past(&mut store, clock.now())?;
    store.write()?;
    let policy = RefCell::new(Some(make(&asked, &store)?));
    let runtime = super::runtime()?;
    let summary = runtime.block_on(async {
        let archive = if surveys {
            None
        } else {
            archive(directory, &store, &config)?
        };
        // A round is begun anew, whatever the one before it had left.
        let (ledger, _) = Ledger::open(
            store,
            plan.terms(asked.name(), asked.to_string(), past),
            true,
            clock.now(),
            |store| flips(store, &plan.scope),
            |store| {
                let made = policy.borrow_mut().take().map(Ok);
                let made = made.unwrap_or_else(|| make(&asked, store));
                made.expect("it was made a moment ago")
            },
        )?;
        let parts = Parts {
            ledger,
            client: Client::new(client)?,
            clock,
            archive,
            plan,
        };
        drive(parts, directory, watch).await
    });
    runtime.shutdown_timeout(Duration::from_millis(100));
    upload::rest(directory, &config.upload);
    Ok(Answered {
        summary: summary?,
        began,
    })
}
