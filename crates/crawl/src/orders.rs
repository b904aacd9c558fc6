//! Orders for a crawl under way: wait, go on, end, other budgets, more seeds, another scope.
//!
//! The loop takes them between two turns, so nothing changes in the middle of a decision. Each is a note in the
//! journal, and answered once that is written. More seeds and another scope are another plan, as on a restart:
//! no page is handed out until everything under way has come back, then a plan stands in the journal, the
//! journal is folded under it, and every host that was asked rests once more. Handing out again what is under
//! way, or guessing when it was asked, was the alternative.
//!
//! Cost of a change of plan: one fold of the journal, in which the crawl stands still.

use tokio::sync::{mpsc, oneshot};
use turnstone_fetch::Url;
use turnstone_fetch::scope::Scope;
use turnstone_frontier::{HostId, Policy};
use turnstone_ledger::{Stop, Terms, Until, flips, sow};
use turnstone_pagestore::Store;

use crate::asker::{AskError, Asker, Turned};
use crate::run::{Crawl, CrawlError};

/// The kind of the note that an order leaves.
const ORDER_NOTE: &str = "order";

/// An order.
#[derive(Debug)]
pub enum Order {
    /// Hand out nothing until told to go on.
    Pause,
    /// Go on.
    Resume,
    /// End cleanly.
    Stop,
    /// Stop at these, from now on.
    Until(Until),
    /// More seeds, or another scope.
    Replan {
        /// Seeds that are to be there, beside those that are.
        seeds: Vec<Url>,
        /// The whole scope.
        scope: Box<Scope>,
    },
}

/// An order with what it leaves in the journal, and who waits for it.
#[derive(Debug)]
pub struct GivenOrder {
    /// What is to be done.
    pub order: Order,
    /// What the journal says of it.
    pub note: Vec<u8>,
    /// Told what came of it, once that is written.
    pub done: oneshot::Sender<Result<String, String>>,
}

/// Makes the policy of a crawl for its store.
pub type Make<P> = Box<dyn Fn(&Store) -> Result<P, String> + Send>;

/// Where orders come in.
pub(crate) struct Office<P> {
    given: mpsc::Receiver<GivenOrder>,
    make: Make<P>,
    /// A change of plan that waits for what is under way.
    waiting: Option<GivenOrder>,
    /// Answers to be told when what was told is written.
    answers: Vec<Answer>,
}

type Answer = (
    oneshot::Sender<Result<String, String>>,
    Result<String, String>,
);

/// Why a crawl hands nothing out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Halt {
    /// Somebody said so.
    pub(crate) paused: bool,
    /// Its plan is about to change.
    pub(crate) replans: bool,
}

impl<P: Policy> Crawl<P> {
    /// Takes orders. `make` makes the policy again when the plan changes.
    #[must_use]
    pub fn with_orders(mut self, given: mpsc::Receiver<GivenOrder>, make: Make<P>) -> Self {
        self.office = Some(Office {
            given,
            make,
            waiting: None,
            answers: Vec::new(),
        });
        self
    }

    /// Takes in what was ordered; what must wait is begun.
    pub(crate) async fn take_orders(&mut self) -> Result<(), CrawlError> {
        let Some(mut office) = self.office.take() else {
            return Ok(());
        };
        while let Ok(given) = office.given.try_recv() {
            self.take_order(&mut office, given);
        }
        if self.asker.is_quiet()
            && let Some(GivenOrder { order, note, done }) = office.waiting.take()
            && let Order::Replan { seeds, scope } = order
        {
            self.asker.note(ORDER_NOTE, &note);
            // The fold reads what is written.
            self.flush().await?;
            let said = self.asker.replan(&seeds, *scope, &*office.make)?;
            office.answers.push((done, Ok(said)));
        }
        self.office = Some(office);
        Ok(())
    }

    fn take_order(&mut self, office: &mut Office<P>, given: GivenOrder) {
        let said = match &given.order {
            _ if self.asker.stopped().is_some() => Err("the crawl is about to end".to_owned()),
            Order::Pause => {
                self.asker.halt.paused = true;
                Ok("it waits; what is under way comes back".to_owned())
            }
            Order::Resume => {
                self.asker.halt.paused = false;
                Ok("it goes on".to_owned())
            }
            Order::Stop => {
                self.asker.end(Stop::Told);
                Ok("it ends; what is under way comes back".to_owned())
            }
            Order::Until(until) => {
                self.asker.plan.until = *until;
                self.asker.budget.until = *until;
                Ok("the budgets are set".to_owned())
            }
            Order::Replan { .. } if self.asker.member.is_some() => {
                Err("a crawl that is cut into shards keeps its seeds and its scope".to_owned())
            }
            Order::Replan { .. } if self.asker.plan.round.is_some() => {
                Err("seeds and scope change with `turnstone crawl`, not in a round".to_owned())
            }
            Order::Replan { .. } if office.waiting.is_some() => {
                Err("another change of plan is under way; try again in a moment".to_owned())
            }
            Order::Replan { .. } => {
                self.asker.stand_by();
                office.waiting = Some(given);
                return;
            }
        };
        if said.is_ok() {
            self.asker.note(ORDER_NOTE, &given.note);
        }
        office.answers.push((given.done, said));
    }

    /// What was told is written: those who wait are told.
    pub(crate) fn answer_orders(&mut self) {
        if let Some(office) = &mut self.office {
            for (done, said) in office.answers.drain(..) {
                // Who does not wait any more has the journal.
                let _ = done.send(said);
            }
        }
    }
}

impl<P: Policy> Asker<P> {
    /// Whether nothing is to be handed out.
    pub(crate) fn is_halted(&self) -> bool {
        self.halt.paused || self.halt.replans
    }

    /// Nothing is handed out until the plan has changed: see [`Asker::replan`].
    pub fn stand_by(&mut self) {
        self.halt.replans = true;
    }

    /// Whether nothing is under way.
    pub fn is_quiet(&self) -> bool {
        self.open() == 0 && self.errands.is_empty() && self.jobs.is_empty()
    }

    /// A turn in which nothing is handed out.
    pub(crate) fn stand_still(&mut self) -> Result<Turned, AskError> {
        self.drop_errands()?;
        let open = self.open();
        let turned = Turned { wake: None, open };
        if self.member.is_some() {
            return self.turn_shard(turned, false);
        }
        Ok(turned)
    }

    /// Another plan from here on, in words. Nothing may be under way, and everything told must be written.
    pub fn replan(
        &mut self,
        seeds: &[Url],
        scope: Scope,
        make: &dyn Fn(&Store) -> Result<P, String>,
    ) -> Result<String, AskError> {
        self.halt.replans = false;
        let visited: Vec<HostId> = self.ledger.spending().visited().collect();
        let pages = self.ledger.index().page_count();
        let store = self.ledger.store_mut();
        sow(store, seeds, &self.plan.keys, self.now);
        let flips = flips(store, &scope)?;
        let terms = Terms {
            scope: scope.to_string(),
            ..self.ledger.terms().clone()
        };
        let said = format!(
            "the plan changed: pages new {}, come into the scope {}, gone out of it {}",
            self.ledger.index().page_count() - pages,
            flips.inside.len(),
            flips.outside.len()
        );
        let make = |store: &Store| make(store).map_err(AskError::Policy);
        self.ledger.replan(terms, self.now, &flips, make)?;
        self.plan.scope = scope;
        // By host, as the scheduler before knew them.
        self.turns.clear();
        self.ranked_more = None;
        for host in visited {
            let due = self.due_of_host(host)?;
            self.hold(host, self.now.plus(due));
        }
        self.note_coverage();
        Ok(said)
    }
}
