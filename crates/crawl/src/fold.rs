//! From a journal back to a scheduler: state is the fold of its entries.
//!
//! A checkpoint is where the fold starts, if it was taken with the same policy; else it starts at
//! the first entry. Folding asks `next` again at each recorded hand-out and must be handed the
//! recorded page: so a restart continues the crawl that was, and a live crawl can be replayed
//! decision by decision.
//!
//! When the policy was changed since, its decisions are not those recorded. Then hand-outs are
//! passed over, and the new policy learns from what happened: a crawl can change its mind. Only the
//! rest that each request is due is kept.

use std::io::{self, Read as _};

use turnstone_fetch::Url;
use turnstone_frontier::{
    Change, Event, Fault, Next, PageId, Policy, Politeness, Restore, Save, Scheduler, Visit,
};
use turnstone_frontier::{Tick, corrupt};
use turnstone_pagestore::{Entry, Hint, Position, Settled, Store, StoreError};

use crate::patterns::Patterns;
use crate::plan::Plan;
use crate::survey::ALIVE;
use crate::view::{Numbers, View, Viewed, outcome_event};

/// The question whose policies learn from every round.
pub const DISCOVER: &str = "discover";

/// What stands for the policy where an old crawl was imported: it handed nothing out, so there is
/// nothing in which another policy could differ.
pub const IMPORT: &str = "import";

/// The longest description of a policy that a checkpoint may carry.
const IDENTITY_BYTES_MAX: u64 = 64 << 10;

/// A scheduler as it was when the journal ended.
#[derive(Debug)]
pub struct Folded<P> {
    /// The scheduler.
    pub scheduler: Scheduler<P>,
    /// What was learnt of URL patterns.
    pub(crate) patterns: Patterns,
    /// The numbers it knows pages by.
    pub view: View,
    /// Whether every recorded hand-out was made again. Not so when the policy was changed.
    pub exact: bool,
    /// How many entries were folded.
    pub entries: u64,
}

/// Why a journal cannot be folded.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FoldError {
    /// The journal cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The same policy decided otherwise: a bug, or another release.
    #[error("the journal hands out page {recorded} at {tick} ms, but the policy decides {decided}")]
    Differs {
        /// When.
        tick: u64,
        /// The page in the journal.
        recorded: PageId,
        /// What was decided now.
        decided: String,
    },
}

/// What a crawl is asked to be: its plan and its policy, by a name that tells policies apart.
#[derive(Clone, Copy, Debug)]
pub struct Founding<'a> {
    /// The plan.
    pub plan: &'a Plan,
    /// The policy with everything its decisions hang on: spec, goal, seeds.
    pub identity: &'a str,
    /// What the policy is told of the past.
    pub past: Past,
}

/// What a policy is told of the past.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Past {
    /// Everything.
    #[default]
    All,
    /// Stored pages only, each from the moment it was first fetched.
    Stored,
    /// Stored pages only, and nothing that came of them before a place in the journal.
    Since(Position),
}

impl Past {
    fn view(self) -> View {
        match self {
            Self::All => View::All,
            Self::Stored | Self::Since(_) => View::Stored(Numbers::default()),
        }
    }

    /// Whether what came of a page at a place is told.
    fn tells(self, at: Position) -> bool {
        match self {
            Self::All | Self::Stored => true,
            Self::Since(start) => at >= start,
        }
    }
}

/// Folds the journal of a store.
pub fn fold<P: Policy>(
    store: &Store,
    founding: Founding<'_>,
    make: impl Fn() -> P,
) -> Result<Folded<P>, FoldError> {
    let sessions = store.index().sessions();
    let mut crawls = sessions.iter().filter(|s| s.policy != IMPORT);
    let same = crawls.all(|s| s.policy == founding.identity);
    if same && founding.past == Past::All {
        if let Some(start) = restore(store, founding.identity, &make)
            && let Ok(folded) = run(store, founding, start, Mode::Exact)
        {
            return Ok(folded);
        }
        let start = Start::new(make());
        match run(store, founding, start, Mode::Exact) {
            Err(FoldError::Differs { .. }) => {}
            other => return other,
        }
    }
    run(store, founding, Start::new(make()), Mode::Free)
}

/// Folds from the first entry for a policy that did not make the recorded decisions: it learns
/// from what happened.
pub fn fold_free<P: Policy>(
    store: &Store,
    founding: Founding<'_>,
    policy: P,
) -> Result<Folded<P>, FoldError> {
    run(store, founding, Start::new(policy), Mode::Free)
}

/// The same from the last checkpoint, if it is one of this policy: for policies that go on from
/// what they are told beside events, which need not be the same in every process.
pub fn fold_on<P: Policy>(
    store: &Store,
    founding: Founding<'_>,
    make: impl Fn() -> P,
) -> Result<Folded<P>, FoldError> {
    let start = restore(store, founding.identity, &make);
    let start = start.unwrap_or_else(|| Start::new(make()));
    run(store, founding, start, Mode::Free)
}

/// Folds from the first entry and insists on every recorded hand-out.
pub fn replay<P: Policy>(
    store: &Store,
    founding: Founding<'_>,
    policy: P,
) -> Result<Folded<P>, FoldError> {
    run(store, founding, Start::new(policy), Mode::Exact)
}

/// Writes a checkpoint of a crawl whose URL patterns are not budgeted: for benchmarks and imports.
pub fn checkpoint<P: Policy>(
    store: &mut Store,
    identity: &str,
    scheduler: &Scheduler<P>,
) -> Result<(), StoreError> {
    store.checkpoint(|out| save(identity, scheduler, &Patterns::default(), out))
}

/// Writes what [`fold`] may start from.
pub(crate) fn save<P: Policy>(
    identity: &str,
    scheduler: &Scheduler<P>,
    patterns: &Patterns,
    out: &mut dyn io::Write,
) -> io::Result<()> {
    (identity.len() as u64).save(out)?;
    out.write_all(identity.as_bytes())?;
    patterns.save(out)?;
    scheduler.save(out)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    Exact,
    Free,
}

struct Start<P> {
    scheduler: Scheduler<P>,
    patterns: Patterns,
    from: Position,
}

impl<P: Policy> Start<P> {
    fn new(policy: P) -> Self {
        Self {
            scheduler: Scheduler::new(policy, Politeness::default()),
            patterns: Patterns::default(),
            from: Position::FIRST,
        }
    }
}

/// The state of the last checkpoint, if it is one of this policy.
fn restore<P: Policy>(store: &Store, identity: &str, make: impl Fn() -> P) -> Option<Start<P>> {
    let (from, bytes) = store.last_checkpoint()?;
    let mut bytes = bytes.as_slice();
    let read = (|| {
        let length = u64::restore(&mut bytes)?;
        if length > IDENTITY_BYTES_MAX {
            return Err(corrupt("a policy with a name too long"));
        }
        let mut name = vec![0; length as usize];
        bytes.read_exact(&mut name)?;
        if name != identity.as_bytes() {
            return Err(corrupt("another policy"));
        }
        let patterns = Patterns::restore(&mut bytes)?;
        let scheduler = Scheduler::restore(make(), &mut bytes)?;
        Ok(Start {
            scheduler,
            patterns,
            from,
        })
    })();
    // A checkpoint is a shortcut: whatever is wrong with it, the journal is there.
    read.ok()
}

fn run<P: Policy>(
    store: &Store,
    founding: Founding<'_>,
    start: Start<P>,
    mode: Mode,
) -> Result<Folded<P>, FoldError> {
    let Start {
        mut scheduler,
        mut patterns,
        from,
    } = start;
    let mut scan = store.scan(from);
    let mut view = founding.past.view();
    let mut links = Vec::new();
    let mut entries = 0;
    let mut delay_ms = Politeness::default().delay_ms;
    while let Some((at, tick, entry)) = scan.next()? {
        entries += 1;
        // What stands at `at` has happened once it is folded.
        let known = store.links_before(Position(at.0 + 1));
        match entry {
            Entry::Session {
                delay_ms: asked,
                open_max,
                ..
            } => {
                delay_ms = asked;
                scheduler.set_politeness(Politeness { delay_ms, open_max });
            }
            Entry::Page {
                page,
                host,
                seed,
                refused,
                ..
            } if matches!(view, View::All) => {
                // One that was named later is taken for a seed from the start: its policy is another
                // one anyway, for it trusts other pages.
                let seed = seed || store.index().is_late_seed(page);
                scheduler.observe(&Event::Discovered { page, host, seed }, tick, &known);
                if !refused.0.is_empty() {
                    let fault = Fault::Refused;
                    scheduler.observe(&Event::Failed { page, fault }, tick, &known);
                }
            }
            Entry::HandOut { page } if mode == Mode::Exact => {
                again(&mut scheduler, page, tick)?;
            }
            Entry::Outcome(outcome) => {
                let first = matches!(outcome.settled, Settled::Fetched(_))
                    .then(|| view.join(outcome.page))
                    .flatten();
                if let Some(page) = first {
                    let (host, seed) = (store.index().host(outcome.page), false);
                    scheduler.observe(&Event::Discovered { page, host, seed }, tick, &known);
                }
                // That a page is there says nothing about whether it changed.
                let surveyed = founding.past == Past::Stored && outcome.facts.class == ALIVE;
                let told = founding.past.tells(at) && first.is_none() && !surveyed;
                if told && let Some(event) = outcome_event(&view, &outcome, &mut links) {
                    let known = Viewed {
                        view: &view,
                        links: &known,
                    };
                    scheduler.observe(&event, tick, &known);
                }
                let again = matches!(
                    outcome.settled,
                    Settled::Fetched(Change::Changed | Change::Unchanged)
                );
                if outcome.facts.requests > 0 && !again {
                    let fetched = matches!(outcome.settled, Settled::Fetched(_));
                    let novel = fetched && outcome.facts.novel;
                    learn(&mut patterns, store, founding.plan, outcome.page, novel)?;
                }
            }
            Entry::Held { host, until } => {
                scheduler.observe(&Event::Held { host, until }, tick, &known);
            }
            Entry::Visit { host, visit } if mode == Mode::Exact => {
                scheduler.visit(host, visit, tick);
            }
            Entry::Joined { host, with } => scheduler.join(host, with, tick),
            Entry::Round {
                question,
                round,
                budget,
            } if founding.hears(question) => {
                scheduler.observe(&Event::Round { round, budget }, tick, &known);
            }
            Entry::Hint(Hint { page, .. }) => {
                if let Some(page) = view.inner(page) {
                    scheduler.observe(&Event::Hinted { page }, tick, &known);
                }
            }
            Entry::HandOut { page } => {
                let (host, until) = (store.index().host(page), tick.plus(delay_ms));
                scheduler.observe(&Event::Held { host, until }, tick, &known);
            }
            Entry::Visit {
                host,
                visit: Visit::Opened,
            } => {
                let until = tick.plus(delay_ms);
                scheduler.observe(&Event::Held { host, until }, tick, &known);
            }
            Entry::Page { .. }
            | Entry::Visit { .. }
            | Entry::Round { .. }
            | Entry::Host { .. }
            | Entry::Robots { .. }
            | Entry::Note { .. } => {}
        }
    }
    Ok(Folded {
        scheduler,
        patterns,
        view,
        exact: mode == Mode::Exact,
        entries,
    })
}

impl Founding<'_> {
    /// Rounds are for those who ask the same question. Where new pages are linked from is learnt
    /// from every round, whatever it was for.
    fn hears(&self, question: &str) -> bool {
        let own = self
            .plan
            .round
            .as_ref()
            .map(|round| round.question.as_str());
        own == Some(question) || own == Some(DISCOVER)
    }
}

/// Asks again what was asked when the journal was written.
fn again<P: Policy>(
    scheduler: &mut Scheduler<P>,
    recorded: PageId,
    tick: Tick,
) -> Result<(), FoldError> {
    match scheduler.next(tick) {
        Next::Fetch(page) if page == recorded => Ok(()),
        other => Err(FoldError::Differs {
            tick: tick.0,
            recorded,
            decided: match other {
                Next::Fetch(page) => format!("page {page}"),
                Next::WaitUntil(tick) => format!("to wait until {} ms", tick.0),
                Next::Empty => "that nothing is left".to_owned(),
            },
        }),
    }
}

/// What the journal tells of URL patterns.
fn learn(
    patterns: &mut Patterns,
    store: &Store,
    plan: &Plan,
    page: PageId,
    novel: bool,
) -> Result<(), FoldError> {
    let Some(budgets) = &plan.patterns else {
        return Ok(());
    };
    let Ok(url) = Url::parse(&store.url(page)?) else {
        return Ok(());
    };
    let host = store.index().host(page);
    // It was asked for: that it would not be today is of no account.
    let _ = patterns.admit(host, &url, 0, (&plan.traps, budgets));
    if novel {
        patterns.brought_new(host, &url, budgets);
    }
    Ok(())
}
