//! The ledger: a store, and the state that is the fold of its journal.
//!
//! [`Ledger::tell`] appends an entry and applies it; [`Ledger::next`] hands a page out and appends
//! that; [`Ledger::open`] reads a checkpoint and applies what stands behind it. There is no other
//! way to change a crawl.
//!
//! A checkpoint belongs to the plan it was taken under: with another plan it is of no use, and
//! after a change of plan the journal is folded once from its beginning.

use std::collections::BTreeMap;
use std::io::{self, Read as _};

use turnstone_frontier::{
    Chance, Coverage, HostId, Next, PageId, Policy, Rank, Restore as _, Save as _, Scheduler, Tick,
};
use turnstone_pagestore::{
    Entry, Facts, Index, Links, NewPage, Outcome, Position, Settled, Store, StoreError,
};
use turnstone_urls::Url;
use turnstone_urls::traps::OverBudget;

use crate::exchange::{CrossError, host_of_name};
use crate::scope::Flips;
use crate::spending::Spending;
use crate::state::{Place, State, Told};
use crate::terms::Terms;
use crate::troubles::Troubles;
use crate::view::View;

/// First bytes of a checkpoint: name and version.
const MAGIC: [u8; 8] = *b"TSLEDGR1";

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
        let (state, exact) = fold(&store, &terms, || make(&store))?;
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
        self.state = from_plan(&self.store, &terms, policy)?;
        self.terms = terms;
        self.chances.clear();
        Ok(())
    }

    /// Folds a journal that another process may be writing.
    pub fn look(
        store: &Store,
        terms: &Terms,
        make: impl Fn() -> P,
    ) -> Result<Folded<P>, LedgerError> {
        let (state, exact) = fold(store, terms, make)?;
        Ok(Folded {
            scheduler: state.scheduler,
            view: state.view,
            exact,
        })
    }

    /// Folds a journal from its first entry and insists that every hand-out since the plan is decided
    /// again.
    pub fn replay(store: &Store, terms: &Terms, policy: P) -> Result<Folded<P>, LedgerError> {
        let state = from_plan(store, terms, policy)?;
        Ok(Folded {
            scheduler: state.scheduler,
            view: state.view,
            exact: true,
        })
    }

    /// Folds a journal for a policy that made none of the recorded decisions: all is news to it.
    pub fn news(store: &Store, terms: &Terms, policy: P) -> Result<Folded<P>, LedgerError> {
        let state = State::new(policy, terms.past);
        let state = run(store, terms, state, Position::FIRST, |_| Told::AsNews)?;
        Ok(Folded {
            scheduler: state.scheduler,
            view: state.view,
            exact: false,
        })
    }

    /// Appends an entry and applies it.
    pub fn tell(&mut self, tick: Tick, entry: &Entry<'_>) {
        let at = self.store.append(tick, entry);
        self.applied(Place { at, tick }, entry);
    }

    fn applied(&mut self, place: Place, entry: &Entry<'_>) {
        let store = (&self.store, &self.store as &dyn turnstone_frontier::Links);
        self.state
            .apply(store, &self.terms, Told::Now, place, entry)
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
        facts.again = self.store.index().is_stored(page);
        if facts.requests > 0 {
            // Still as it was handed out: the policy has not been told yet.
            let number = self.state.view.inner(page);
            facts.arm = number.and_then(|number| self.state.scheduler.arm(number));
        }
        let outcome = Outcome {
            page,
            settled,
            links: Links::Ids(links),
            before: self.store.index().outcome_at(page).unwrap_or_default(),
            facts,
        };
        let at = self.store.settle(tick, outcome.clone());
        self.applied(Place { at, tick }, &Entry::Outcome(outcome));
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
        self.store.append(tick, &Entry::Note { kind, bytes });
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
fn plan_at(store: &Store) -> Position {
    store.index().plan().map_or(Position(0), |plan| plan.at)
}

/// The state that the journal leads to, and whether every hand-out was decided again.
fn fold<P: Policy>(
    store: &Store,
    terms: &Terms,
    make: impl Fn() -> P,
) -> Result<(State<P>, bool), LedgerError> {
    if let Some((from, state)) = restore(store, &make)
        && let Ok(state) = run(store, terms, state, from, |_| Told::Again)
    {
        return Ok((state, true));
    }
    match from_plan(store, terms, make()) {
        // Others count on what a shard sent: it cannot be told otherwise.
        Err(LedgerError::Differs { .. }) if store.index().shard().is_none() => {}
        other => return Ok((other?, true)),
    }
    let state = State::new(make(), terms.past);
    let state = run(store, terms, state, Position::FIRST, |_| Told::AsNews)?;
    Ok((state, false))
}

/// From the first entry: what came before the plan as news, the rest decided again.
fn from_plan<P: Policy>(store: &Store, terms: &Terms, policy: P) -> Result<State<P>, LedgerError> {
    let plan = plan_at(store);
    let state = State::new(policy, terms.past);
    run(store, terms, state, Position::FIRST, |at| {
        if at < plan { Told::AsNews } else { Told::Again }
    })
}

/// The state of the last checkpoint, if it was taken under the plan in force.
fn restore<P: Policy>(store: &Store, make: impl Fn() -> P) -> Option<(Position, State<P>)> {
    let (from, bytes) = store.last_checkpoint()?;
    let mut bytes = bytes.as_slice();
    let read = (|| {
        let mut magic = [0; MAGIC.len()];
        bytes.read_exact(&mut magic)?;
        let plan = u64::restore(&mut bytes)?;
        if magic != MAGIC || Position(plan) != plan_at(store) {
            return Err(io::Error::other("another plan"));
        }
        State::restore(make(), store.index().shard().is_some(), &mut bytes)
    })();
    // A checkpoint is a shortcut: whatever is wrong with it, the journal is there.
    Some((from, read.ok()?))
}

fn run<P: Policy>(
    store: &Store,
    terms: &Terms,
    mut state: State<P>,
    from: Position,
    told: impl Fn(Position) -> Told,
) -> Result<State<P>, LedgerError> {
    let mut scan = store.scan(from);
    while let Some((at, tick, entry)) = scan.next()? {
        // What stands at `at` has happened once it is applied.
        let known = store.links_before(Position(at.0 + 1));
        let place = Place { at, tick };
        state.apply((store, &known), terms, told(at), place, &entry)?;
    }
    Ok(state)
}
