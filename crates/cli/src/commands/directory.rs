//! A crawl directory as those see it who only look: what was asked, what is there, how it stands.
//!
//! Nothing is written and no lock is taken, so a crawl may be running meanwhile: what is seen is
//! its journal as it was a moment ago.
//!
//! Cost: opening reads the journal once; folding it runs the policy again from the last checkpoint.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use serde_json::Value;
use turnstone_crawl::{Clock, Plan};
use turnstone_fetch::urls::shown;
use turnstone_frontier::{PageId, Policy, Tick};
use turnstone_ledger::{Ledger, Past, STOP_NOTE, Seen};
use turnstone_pagestore::{Lock, Position, Store};

use crate::commands::crawl::config::{Config, FILE};
use crate::commands::crawl::policy::Chosen;
use crate::commands::crawl::{self, plan, seeds};
use crate::commands::live::view::STATUS_FILE;
use crate::moment;

/// What a running crawl said of itself longer ago is not worth repeating.
const LIVE_FOR: Duration = Duration::from_secs(15);

/// A crawl directory, looked at.
pub(crate) struct Directory {
    pub(crate) path: PathBuf,
    pub(crate) store: Store,
    pub(crate) chosen: Chosen,
    pub(crate) plan: Plan,
    /// Who works in it now.
    pub(crate) holder: Option<String>,
    clock: Clock,
}

/// Whether a crawl goes on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    /// A process has it.
    Running,
    /// The last process ended, and said why.
    Stopped(String),
    /// The last process was killed.
    Interrupted,
}

impl Directory {
    pub(crate) fn look(path: &Path) -> anyhow::Result<Self> {
        let holder = Lock::holder(path);
        let store = Store::look(path)?;
        let config = match Config::read(path)? {
            Some(config) => config,
            // Nothing was asked yet: pages came here by other ways than a crawl.
            None if store.index().seeds().is_empty() => Config::default(),
            None => {
                let file = path.join(FILE);
                anyhow::bail!(
                    "{}: not there, and it says what the crawl is",
                    file.display()
                );
            }
        };
        let chosen = Chosen::read(&config)?;
        let plan = plan(&config, &seeds(&config)?, chosen.proves())?;
        Ok(Self {
            path: path.to_owned(),
            clock: Clock::resume(store.index(), 1),
            store,
            chosen,
            plan,
            holder,
        })
    }

    pub(crate) fn standing(&self) -> anyhow::Result<Standing> {
        if self.holder.is_some() {
            return Ok(Standing::Running);
        }
        let note = self.store.note(STOP_NOTE)?.unwrap_or_default();
        Ok(match String::from_utf8_lossy(&note).into_owned() {
            empty if empty.is_empty() => Standing::Interrupted,
            why => Standing::Stopped(why),
        })
    }

    /// The scheduler as it was when the journal ended; nothing before there is a seed.
    pub(crate) fn fold(&self) -> anyhow::Result<Option<Seen<Box<dyn Policy>>>> {
        let seeds = self.store.index().seeds();
        if seeds.is_empty() {
            return Ok(None);
        }
        self.chosen.make(seeds)?;
        let make = || self.chosen.make_for(&self.store);
        let make = || make().expect("it was made a moment ago");
        Ok(Some(self.fold_with(make)?))
    }

    /// The same with a policy whose type is known.
    pub(crate) fn fold_with<P: Policy>(&self, make: impl Fn() -> P) -> anyhow::Result<Seen<P>> {
        let identity = self.chosen.identity();
        let terms = self.plan.terms(crawl::QUESTION, identity, Past::All);
        Ok(Ledger::look(&self.store, &terms, make)?)
    }

    /// What a running crawl said of itself a moment ago.
    pub(crate) fn live(&self) -> Option<Value> {
        self.holder.as_ref()?;
        let path = self.path.join(STATUS_FILE);
        let written = fs::metadata(&path).and_then(|data| data.modified()).ok()?;
        let age = SystemTime::now()
            .duration_since(written)
            .unwrap_or_default();
        let text = fs::read_to_string(&path).ok().filter(|_| age <= LIVE_FOR)?;
        serde_json::from_str(&text).ok()
    }

    /// The crawl's time.
    pub(crate) fn now(&self) -> Tick {
        self.clock.now()
    }

    /// Now, in seconds of 1970 as the crawl counts them.
    pub(crate) fn now_s(&self) -> u64 {
        self.clock.seconds(self.now())
    }

    /// A tick as a moment.
    pub(crate) fn utc(&self, tick: Tick) -> String {
        moment::utc(self.clock.seconds(tick) * 1000)
    }

    /// The URL of a page, fit for a terminal.
    pub(crate) fn url(&self, page: PageId) -> anyhow::Result<String> {
        Ok(shown(&self.store.url(page)?))
    }

    /// What was last said of a page: its class, and class and detail as people read them. Both
    /// empty for a page of which nothing was said.
    pub(crate) fn fate(&self, page: PageId) -> anyhow::Result<(String, String)> {
        let mut outcome = self.store.outcome(page)?;
        let (class, detail) = loop {
            match outcome {
                None => break self.store.refusal(page)?.unwrap_or_default(),
                Some(said) if !said.facts.class.is_empty() => {
                    break (said.facts.class, said.facts.detail);
                }
                // A page given back without a word: what was said before?
                Some(silent) if silent.before == Position::default() => outcome = None,
                Some(silent) => outcome = Some(self.store.outcome_at(silent.before)?),
            }
        };
        let said = if detail.is_empty() || detail.starts_with(&class) {
            if detail.is_empty() {
                class.clone()
            } else {
                detail
            }
        } else {
            format!("{class}: {detail}")
        };
        Ok((class, said))
    }
}
