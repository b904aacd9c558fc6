//! The ledger: a store, and the state that is the fold of its journal.
//!
//! [`Ledger::tell`] appends an entry and applies it; [`Ledger::next`] hands a page out and appends
//! that; [`Ledger::open`] reads a checkpoint and applies what stands behind it. There is no other
//! way to change a crawl.
//!
//! A checkpoint belongs to the plan it was taken under: with another plan it is of no use, and
//! after a change of plan the journal is folded once from its beginning.

use std::collections::BTreeMap;

use turnstone_frontier::{
    Chance, Coverage, HostId, Next, PageId, Policy, Rank, Save as _, Scheduler, Tick,
};
use turnstone_pagestore::{
    Entry, Facts, Fold, Index, Links, NewPage, Position, Settled, Store, StoreError, Written,
};
use turnstone_urls::Url;
use turnstone_urls::traps::OverBudget;

use crate::exchange::{CrossError, host_of_name};
use crate::replay::Replay;
use crate::scope::Flips;
use crate::spending::Spending;
use crate::state::{State, Told};
use crate::telling;
use crate::terms::Terms;
use crate::troubles::Troubles;
use crate::view::View;
use crate::walls::Walls;

/// First bytes of a checkpoint: name and version.
pub(crate) const MAGIC: [u8; 8] = *b"TSLEDGR2";

/// A crawl.
#[derive(Debug)]
pub struct Ledger<P> {
    pub(crate) store: Store,
    terms: Terms,
    pub(crate) state: State<P>,
    /// Pages in flight that the policy drew at random, with their chances.
    chances: BTreeMap<PageId, Chance>,
}

/// A crawl as those see it who only look.
#[derive(Debug)]
pub struct Folded<P> {
    /// The scheduler, which knows pages by the numbers of the view.
    pub scheduler: Scheduler<P>,
    /// The numbers.
    pub view: View,
    /// Whether every recorded hand-out was decided again.
    pub exact: bool,
}

/// How a crawl was opened.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Opened {
    /// The plan is another than that of the last process.
    pub replanned: bool,
    /// Pages that changed sides.
    pub flips: Flips,
    /// Every hand-out since the plan was decided again, as it must be.
    pub exact: bool,
    /// How many entries were applied.
    pub entries: u64,
}

/// Why a crawl cannot be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LedgerError {
    /// The journal cannot be read or written.
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
    /// What crossed between shards is not what this crawl can have sent or received.
    #[error(transparent)]
    Cross(#[from] CrossError),
    /// The crawl is cut into shards, and others count on what was sent.
    #[error(
        "shard {shard} was begun with another policy, goal, scope or set of seeds: a crawl that is cut \
         into shards keeps them; begin another in a new directory"
    )]
    Replanned {
        /// The shard.
        shard: u32,
    },
}

impl<P: Policy> Ledger<P> {
    /// Opens a crawl with these terms. Where they are not those of the journal, or `anew` says so, they
    /// become its next plan; `flips` then says which known pages change sides. `make` makes the
    /// policy, for the store as it is.
    pub fn open(
        mut store: Store,
        terms: Terms,
        anew: bool,
        tick: Tick,
        flips: impl FnOnce(&Store) -> Result<Flips, StoreError>,
        make: impl Fn(&Store) -> P,
    ) -> Result<(Self, Opened), LedgerError> {
        let mut opened = Opened::default();
        let seeds = u32::try_from(store.index().seeds().len()).unwrap_or(u32::MAX);
        let before = store.index().plan();
        let read = before.and_then(Terms::read);
        let same = read.as_ref() == Some(&terms) && before.is_some_and(|plan| plan.seeds == seeds);
        if anew || !same {
            if let (Some((shard, _)), Some(_)) = (store.index().shard(), before) {
                return Err(LedgerError::Replanned { shard });
            }
            opened.replanned = true;
            if read.is_none_or(|before| before.scope != terms.scope) {
                opened.flips = flips(&store)?;
            }
            announce(&mut store, &terms, &opened.flips, tick)?;
        }
        let (state, exact) = fold::<P, LedgerError>(&store, &terms, || make(&store), &mut ())?;
        opened.exact = exact;
        opened.entries = state.entries;
        let ledger = Self {
            store,
            terms,
            state,
            chances: BTreeMap::new(),
        };
        Ok((ledger, opened))
    }

    /// Another plan from here on, while the crawl runs: as [`Ledger::open`] makes one. Nothing may be
    /// handed out and not yet settled. After an error the ledger is of no use; what is written is whole.
    pub fn replan<E: From<LedgerError>>(
        &mut self,
        terms: Terms,
        tick: Tick,
        flips: &Flips,
        make: impl FnOnce(&Store) -> Result<P, E>,
    ) -> Result<(), E> {
        let open = self.state.scheduler.ranking().in_flight_count();
        assert_eq!(open, 0, "what is in flight belongs to the plan before");
        if let Some((shard, _)) = self.store.index().shard() {
            return Err(LedgerError::Replanned { shard }.into());
        }
        announce(&mut self.store, &terms, flips, tick).map_err(LedgerError::from)?;
        let policy = make(&self.store)?;
        let replay = Replay::of_plan(&self.store, &terms, policy);
        self.state = replay.run::<LedgerError>(&mut ())??.0;
        self.terms = terms;
        self.chances.clear();
        Ok(())
    }

    /// Folds a journal that another process may be writing; what looks at it beside sees every entry from
    /// its own beginning on, in the same read.
    pub fn look<E: From<StoreError> + From<LedgerError>>(
        store: &Store,
        terms: &Terms,
        make: impl FnMut() -> P,
        beside: &mut impl Fold<E>,
    ) -> Result<Folded<P>, E> {
        let (state, exact) = fold(store, terms, make, beside)?;
        Ok(Folded {
            scheduler: state.scheduler,
            view: state.view,
            exact,
        })
    }

    /// Folds a journal from its first entry and insists that every hand-out since the plan is decided
    /// again.
    pub fn replay(store: &Store, terms: &Terms, policy: P) -> Result<Folded<P>, LedgerError> {
        let mut replay = Replay::of_plan(store, terms, policy);
        store.fold(&mut replay)?;
        replay.finish()
    }

    /// Appends an entry and applies it.
    pub fn tell(&mut self, tick: Tick, entry: &Entry<'_>) {
        let at = self.store.append(tick, entry);
        self.applied(at, tick, entry);
    }

    fn applied(&mut self, at: Position, tick: Tick, entry: &Entry<'_>) {
        let next = self.store.end();
        let written = Written { at, next, tick };
        let store = (&self.store, &self.store as &dyn turnstone_frontier::Links);
        self.state
            .apply(store, &self.terms, Told::Now, written, entry)
            .expect("what happens now is not decided again");
    }

    /// The next page to ask for at a tick; that it is handed out stands in the journal then.
    pub fn next(&mut self, tick: Tick) -> Next {
        let next = self.state.scheduler.next(tick);
        let Next::Fetch(number) = next else {
            return next;
        };
        let page = self.state.view.outer(number);
        let chance = self.state.scheduler.chance(number);
        if chance != Chance::CERTAIN {
            self.chances.insert(page, chance);
        }
        self.state.entries += 1;
        self.state.spending.hands_out();
        self.store.append(tick, &Entry::HandOut { page });
        Next::Fetch(page)
    }

    /// The rank of the page that would be given next, if there is one.
    pub fn best_ready(&mut self, tick: Tick) -> Option<Rank> {
        self.state.scheduler.best_ready(tick)
    }

    /// Settles a page that was handed out or refused.
    pub fn settle(
        &mut self,
        tick: Tick,
        page: PageId,
        settled: Settled,
        links: &[PageId],
        mut facts: Facts,
    ) {
        if let Some(chance) = self.chances.remove(&page) {
            facts.chance = chance.to_units();
        }
        if facts.requests > 0 {
            // Still as it was handed out: the policy has not been told yet.
            let number = self.state.view.inner(page);
            facts.arm = number.and_then(|number| self.state.scheduler.arm(number));
        }
        let outcome = telling::outcome(&self.store, page, settled, links, facts);
        let at = self.store.settle(tick, outcome.clone());
        self.applied(at, tick, &Entry::Outcome(outcome));
    }

    /// Numbers a page that is not known yet.
    pub fn add(&mut self, tick: Tick, new: NewPage<'_>) -> PageId {
        let page = PageId::from_index(self.store.index().page_count());
        let entry = new.entry(page);
        self.tell(tick, &entry);
        page
    }

    /// The host of a name, numbered now if it is new.
    pub fn host(&mut self, tick: Tick, name: &str) -> HostId {
        host_of_name(&mut self.store, tick, name)
    }

    /// Writes something down for those who look at the crawl later.
    pub fn note(&mut self, tick: Tick, kind: &str, bytes: &[u8]) {
        telling::note(&mut self.store, tick, kind, bytes);
    }

    /// Whether the pattern of a URL has budget left; else why not.
    pub fn admits(&self, host: HostId, url: &Url, now_s: u64) -> Result<(), OverBudget> {
        self.state.admits(&self.terms, (host, url), now_s)
    }

    /// Writes a checkpoint of the crawl as it is now.
    pub fn checkpoint(&mut self) -> Result<(), StoreError> {
        let (state, plan) = (&self.state, plan_at(&self.store));
        self.store.checkpoint(|out| {
            out.write_all(&MAGIC)?;
            plan.0.save(out)?;
            state.save(out)
        })
    }

    /// The store.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// The store, for writing out and making durable what was told.
    pub fn store_mut(&mut self) -> &mut Store {
        &mut self.store
    }

    /// What is where.
    pub fn index(&self) -> &Index {
        self.store.index()
    }

    /// The terms.
    pub fn terms(&self) -> &Terms {
        &self.terms
    }

    /// The scheduler, which knows pages by the numbers of the view.
    pub fn scheduler(&self) -> &Scheduler<P> {
        &self.state.scheduler
    }

    /// The numbers.
    pub fn view(&self) -> &View {
        &self.state.view
    }

    /// The hosts that struggle.
    pub fn troubles(&self) -> &Troubles {
        &self.state.troubles
    }

    /// The hosts that let nobody in.
    pub fn walls(&self) -> &Walls {
        &self.state.walls
    }

    /// The first host that was met at an address, 4 bytes or 16.
    pub fn host_at(&self, address: &[u8]) -> Option<HostId> {
        self.state.addresses.get(address).copied()
    }

    /// Every address that was met, 4 bytes or 16, and the first host that was met there.
    pub fn addresses(&self) -> impl Iterator<Item = (&[u8], HostId)> + '_ {
        let addresses = self.state.addresses.iter();
        addresses.map(|(address, host)| (address.as_slice(), *host))
    }

    /// What the slice under way has spent.
    pub fn spending(&self) -> &Spending {
        &self.state.spending
    }

    /// What the policy proves of the pages fetched so far.
    pub fn coverage(&self) -> Option<Coverage> {
        self.state.scheduler.coverage()
    }

    /// How many entries were applied since it was opened, those of opening included.
    pub fn entries(&self) -> u64 {
        self.state.entries
    }

    /// Everything that decides at a tick, as bytes: two crawls that agree in them go on alike.
    pub fn fingerprint(&mut self, tick: Tick) -> Vec<u8> {
        self.state.scheduler.pass(tick);
        let mut out = Vec::new();
        self.state.save(&mut out).expect("memory takes all");
        out
    }
}

/// Writes down what an older release, whose journals have no plans, was asked last: so that a plan
/// which differs from it is known to differ.
pub fn adopt(store: &mut Store, terms: &Terms, tick: Tick) {
    let entry = Entry::Plan {
        question: &terms.question,
        policy: &terms.policy,
        seeds: u32::try_from(store.index().seeds().len()).unwrap_or(u32::MAX),
        text: &terms.text(),
        inside: Links::Ids(&[]),
        outside: Links::Ids(&[]),
    };
    let tick = tick.max(store.index().latest());
    store.append(tick, &entry);
}

/// Writes down that another plan begins here.
fn announce(store: &mut Store, terms: &Terms, flips: &Flips, tick: Tick) -> Result<(), StoreError> {
    let entry = Entry::Plan {
        question: &terms.question,
        policy: &terms.policy,
        seeds: u32::try_from(store.index().seeds().len()).unwrap_or(u32::MAX),
        text: &terms.text(),
        inside: Links::Ids(&flips.inside),
        outside: Links::Ids(&flips.outside),
    };
    let tick = tick.max(store.index().latest());
    store.append(tick, &entry);
    store.write()
}

/// Where the plan in force stands; 0 in a journal that has none.
pub(crate) fn plan_at(store: &Store) -> Position {
    store.index().plan().map_or(Position(0), |plan| plan.at)
}

/// The state that the journal leads to, and whether every hand-out was decided again. Who looks beside it is
/// shown the journal once, however often the state has to begin anew.
fn fold<P: Policy, E: From<StoreError> + From<LedgerError>>(
    store: &Store,
    terms: &Terms,
    mut make: impl FnMut() -> P,
    beside: &mut impl Fold<E>,
) -> Result<(State<P>, bool), E> {
    let replay = match Replay::restored(store, terms, &mut make) {
        Some(replay) => replay,
        None => Replay::of_plan(store, terms, make()),
    };
    let restored = replay.is_restored();
    let mut folded = replay.run(beside)?;
    if restored && folded.is_err() {
        folded = Replay::of_plan(store, terms, make()).run::<LedgerError>(&mut ())?;
    }
    match folded {
        // Others count on what a shard sent: it cannot be told otherwise.
        Err(LedgerError::Differs { .. }) if store.index().shard().is_none() => {
            let replay = Replay::news(store, terms, make());
            Ok(replay.run::<LedgerError>(&mut ())??)
        }
        other => Ok(other?),
    }
}
