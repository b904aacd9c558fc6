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
use turnstone_frontier::{Coverage, PageId, Policy, Tick};
use turnstone_ledger::{Folded, Ledger, Past, Replay, STOP_NOTE, Terms};
use turnstone_pagestore::{Fold, Lock, PageState, Position, Store};
use turnstone_questions::Asked;

use crate::commands::crawl::config::{Config, FILE};
use crate::commands::crawl::{plan, policy, seeds};
use crate::commands::live::view::STATUS_FILE;
use crate::moment;

/// What a running crawl said of itself longer ago is not worth repeating.
const LIVE_FOR: Duration = Duration::from_secs(15);

/// A crawl directory, looked at.
pub(crate) struct Directory {
    pub(crate) path: PathBuf,
    pub(crate) store: Store,
    /// What was asked last, and the terms it was asked on.
    pub(crate) asked: Asked,
    pub(crate) terms: Terms,
    pub(crate) plan: Plan,
    /// A program crawled here with a policy of its own: what it would decide nobody else can tell.
    is_foreign: bool,
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
    /// Pages came here by an import, and nobody has asked for any.
    Untouched,
}

impl Directory {
    pub(crate) fn look(path: &Path) -> anyhow::Result<Self> {
        let holder = Lock::holder(path);
        let store = Store::look(path)?;
        let asked_in = match store.index().shard() {
            // A shard is in a folder of the folder of its crawl.
            Some(_) => path.parent().and_then(Path::parent).unwrap_or(path),
            None => path,
        };
        let config = match Config::read(asked_in)? {
            Some(config) => config,
            // Nothing was asked yet: pages came here by other ways than a crawl.
            None if store.index().seeds().is_empty() => Config::default(),
            None => {
                let file = asked_in.join(FILE);
                anyhow::bail!(
                    "{}: not there, and it says what the crawl is",
                    file.display()
                );
            }
        };
        let (crawled, is_foreign) = match policy::asked(&config) {
            Err(error) => (policy::foreign(&config).ok_or(error)?, true),
            Ok(asked) => (asked, false),
        };
        let plan = plan(&config, &seeds(&config)?, crawled.proves())?;
        let in_force = store.index().plan().and_then(Terms::read);
        let in_force =
            in_force.and_then(|terms| Some((Asked::read(&terms.question, &terms.policy)?, terms)));
        let is_foreign = is_foreign && in_force.is_none();
        let (asked, terms) = in_force.unwrap_or_else(|| {
            let terms = plan.terms(crawled.name(), crawled.to_string(), Past::All);
            (crawled, terms)
        });
        Ok(Self {
            path: path.to_owned(),
            clock: Clock::resume(store.index(), 1),
            store,
            asked,
            terms,
            plan,
            is_foreign,
            holder,
        })
    }

    pub(crate) fn standing(&self) -> anyhow::Result<Standing> {
        if self.holder.is_some() {
            return Ok(Standing::Running);
        }
        let Some(note) = self.store.note(STOP_NOTE)? else {
            let index = self.store.index();
            return Ok(match index.plan().is_none() && index.seeds().is_empty() {
                true => Standing::Untouched,
                false => Standing::Interrupted,
            });
        };
        Ok(match String::from_utf8_lossy(&note).into_owned() {
            empty if empty.is_empty() => Standing::Interrupted,
            why => Standing::Stopped(why),
        })
    }

    /// The scheduler as it was when the journal ended, under the plan that was in force then; nothing
    /// where nothing can be decided, because there is no seed, or the policy is not known here. What looks beside it sees the same entries.
    pub(crate) fn fold(
        &self,
        beside: &mut impl Fold<anyhow::Error>,
    ) -> anyhow::Result<Option<Folded<Box<dyn Policy>>>> {
        let is_seedless = self.asked.name() == "crawl" && self.store.index().seeds().is_empty();
        if self.is_foreign || is_seedless {
            self.store.try_fold(beside)?;
            return Ok(None);
        }
        Ok(Some(
            self.fold_with(|| Ok(self.asked.make(&self.store)?), beside)?,
        ))
    }

    /// The same with a policy whose type is known.
    pub(crate) fn fold_with<P: Policy>(
        &self,
        make: impl Fn() -> anyhow::Result<P>,
        beside: &mut impl Fold<anyhow::Error>,
    ) -> anyhow::Result<Folded<P>> {
        // Making one may read the store: it is made once, unless the fold begins anew.
        let mut first = Some(make()?);
        let mut make = || first.take().or_else(|| make().ok());
        let make = || make().expect("it was made a moment ago");
        Ledger::look(&self.store, &self.terms, make, beside)
    }

    /// What would be proven if links to pages that are gone or refused counted as much as others, as in
    /// the paper.
    pub(crate) fn with_dead_links(&self) -> anyhow::Result<Option<Coverage>> {
        let mut counting = self.counting_dead()?;
        self.store.fold(&mut counting)?;
        dead_counted(counting)
    }

    /// A fold that tells what [`Directory::with_dead_links`] does; nothing where there are no such links, or
    /// nothing is proven.
    pub(crate) fn counting_dead(&self) -> anyhow::Result<Option<Replay<'_, Box<dyn Policy>>>> {
        let index = self.store.index();
        let dead = index.count(PageState::Gone) + index.count(PageState::Refused);
        let skips = self
            .asked
            .spec
            .get("gone")
            .is_none_or(|gone| gone == "skip");
        if !self.asked.proves() || !skips || dead == 0 || index.seeds().is_empty() {
            return Ok(None);
        }
        let counting = Asked {
            spec: self.asked.spec.with("gone", "count"),
            confidence: None,
            ..self.asked.clone()
        };
        let policy = counting.make(&self.store)?;
        Ok(Some(Replay::news(&self.store, &self.terms, policy)))
    }

    /// The wall clock at which this crawl last changed, in milliseconds of 1970.
    pub(crate) fn latest_ms(&self) -> u64 {
        self.clock.seconds(self.store.index().latest()) * 1000
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

    /// What was last said of a page, as [`fate_of`] tells it.
    pub(crate) fn fate(&self, page: PageId) -> anyhow::Result<(String, String)> {
        fate_of(&self.store, page)
    }
}

/// What a fold of [`Directory::counting_dead`] came to.
pub(crate) fn dead_counted<P: Policy>(
    counting: Option<Replay<'_, P>>,
) -> anyhow::Result<Option<Coverage>> {
    let folded = counting.map(Replay::finish).transpose()?;
    Ok(folded.and_then(|folded| folded.scheduler.coverage()))
}

/// What a crawl that runs in a directory said of itself a moment ago.
pub(crate) fn live(directory: &Path) -> Option<Value> {
    let path = directory.join(STATUS_FILE);
    let written = fs::metadata(&path).and_then(|data| data.modified()).ok()?;
    let age = SystemTime::now()
        .duration_since(written)
        .unwrap_or_default();
    let text = fs::read_to_string(&path).ok().filter(|_| age <= LIVE_FOR)?;
    serde_json::from_str(&text).ok()
}

/// What was last said of a page: its class, and class and detail as people read them. Both
/// empty for a page of which nothing was said.
pub(crate) fn fate_of(store: &Store, page: PageId) -> anyhow::Result<(String, String)> {
    let mut outcome = store.outcome(page)?;
    let (class, detail) = loop {
        match outcome {
            None => break store.refusal(page)?.unwrap_or_default(),
            Some(said) if !said.facts.class.is_empty() => {
                break (said.facts.class, said.facts.detail);
            }
            // A page given back without a word: what was said before?
            Some(silent) if silent.before == Position::default() => outcome = None,
            Some(silent) => outcome = Some(store.outcome_at(silent.before)?),
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
