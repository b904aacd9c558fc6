//! The decision table: every hand-out of the crawl, with what came of it, a row each.
//!
//! A hand-out and its answer are two entries of the journal. Rows come in the order of the hand-outs: those
//! that are settled wait for earlier ones that are not, which are never more than the crawl had open at
//! once. A hand-out that a process left open when it died is `lost`; its page was handed out again later,
//! which is a row of its own. Those still open at the end are `open`.
//!
//! A decision is the pair of what was asked for and why: `question`, `policy` and `round` as they stood,
//! `arm` and `chance` as the policy told them with the hand-out. From `chance` on, statistics that weigh
//! each row by one over it speak of all pages and not of those that the policy likes.
//!
//! Cost: one pass over the journal, with one read for the URL of each row.

use std::collections::{HashMap, VecDeque};

use turnstone_frontier::{Arm, Chance, Change, Fault, PageId, Tick};
use turnstone_pagestore::{Entry, Facts, Fold, Outcome, Position, Settled, Store, Written};

use crate::column::{Cell, Column, Kind, Sink};
use crate::{Numbered, TableError};

/// The columns, in order.
pub(crate) const COLUMNS: &[Column] = &[
    ("number", Kind::Long),
    ("position", Kind::Long),
    ("tick", Kind::Long),
    ("page", Kind::Long),
    ("url", Kind::Distinct),
    ("host", Kind::Text),
    ("question", Kind::Text),
    ("policy", Kind::Text),
    ("round", Kind::Long),
    ("arm", Kind::Text),
    ("chance", Kind::Real),
    ("outcome", Kind::Text),
    ("class", Kind::Text),
    ("status", Kind::Short),
    ("time", Kind::Moment),
    ("requests", Kind::Long),
    ("milliseconds", Kind::Long),
    ("bytes", Kind::Long),
];

/// A hand-out, and what came of it as soon as that is known.
struct Decision {
    number: u64,
    at: Position,
    tick: Tick,
    page: PageId,
    round: Option<u32>,
    /// Which of the plans that stood so far.
    plan: usize,
    came: Option<(&'static str, Facts)>,
}

/// Question and policy.
type Plan = (String, String);

pub(crate) fn rows(crawl: &Numbered, sink: &mut impl Sink) -> Result<u64, TableError> {
    let mut count = 0;
    for number in 0..crawl.stores().len() {
        count += of_journal(crawl, number, sink)?;
    }
    Ok(count)
}

/// Those of one journal; where there are several, each has its own numbers and positions.
fn of_journal(crawl: &Numbered, number: usize, sink: &mut impl Sink) -> Result<u64, TableError> {
    let mut decisions = Decisions {
        numbered: (crawl, number),
        sink,
        plans: vec![Plan::default()],
        round: None,
        waiting: VecDeque::new(),
        open: HashMap::new(),
        count: 0,
        written: 0,
    };
    crawl.stores()[number].try_fold(&mut decisions)?;
    while let Some(decision) = decisions.waiting.pop_front() {
        decisions.write(decision)?;
    }
    Ok(decisions.count)
}

/// Hand-outs in their order: one whose outcome is not known yet holds up those behind it.
struct Decisions<'a, S> {
    numbered: (&'a Numbered, usize),
    sink: &'a mut S,
    plans: Vec<Plan>,
    round: Option<u32>,
    waiting: VecDeque<Decision>,
    /// By page in flight: the number of its hand-out.
    open: HashMap<PageId, u64>,
    count: u64,
    written: u64,
}

impl<S: Sink> Fold<TableError> for Decisions<'_, S> {
    fn see(
        &mut self,
        Written { at, tick, .. }: Written,
        entry: &Entry<'_>,
    ) -> Result<(), TableError> {
        match entry {
            Entry::Session { .. } => {
                for decision in &mut self.waiting {
                    decision
                        .came
                        .get_or_insert_with(|| ("lost", Facts::default()));
                }
                self.open.clear();
            }
            Entry::Plan {
                question, policy, ..
            } => {
                self.plans
                    .push(((*question).to_owned(), (*policy).to_owned()));
                self.round = None;
            }
            Entry::Round { round, .. } => self.round = Some(*round),
            Entry::HandOut { page }
                if self.numbered.0.stores()[self.numbered.1]
                    .index()
                    .is_forgotten(*page) => {}
            Entry::HandOut { page } => {
                self.open.insert(*page, self.count);
                self.waiting.push_back(Decision {
                    number: self.count,
                    at,
                    tick,
                    page: *page,
                    round: self.round,
                    plan: self.plans.len() - 1,
                    came: None,
                });
                self.count += 1;
            }
            Entry::Outcome(outcome) => {
                if let Some(number) = self.open.remove(&outcome.page)
                    && let Some(index) = number.checked_sub(self.written)
                    && let Some(decision) = self.waiting.get_mut(index as usize)
                {
                    decision.came = Some((name_of(outcome), outcome.facts.clone()));
                }
            }
            _ => {}
        }
        while self
            .waiting
            .front()
            .is_some_and(|first| first.came.is_some())
        {
            let Some(decision) = self.waiting.pop_front() else {
                break;
            };
            self.write(decision)?;
            self.written += 1;
        }
        Ok(())
    }
}

impl<S: Sink> Decisions<'_, S> {
    fn write(&mut self, decision: Decision) -> Result<(), TableError> {
        let (crawl, number) = self.numbered;
        let store = &crawl.stores()[number];
        let page = crawl.page(number, decision.page);
        write(store, page, &self.plans, decision, self.sink)
    }
}

fn write(
    store: &Store,
    page: Cell<'_>,
    plans: &[Plan],
    decision: Decision,
    sink: &mut impl Sink,
) -> Result<(), TableError> {
    let index = store.index();
    let (question, policy) = &plans[decision.plan];
    let (outcome, facts) = decision.came.unwrap_or_else(|| ("open", Facts::default()));
    let asked = facts.requests > 0;
    sink.row(&[
        Cell::number(decision.number),
        Cell::number(decision.at.0),
        Cell::number(decision.tick.0),
        page,
        Cell::text(store.url(decision.page)?),
        Cell::Text(index.host_name(index.host(decision.page)).into()),
        Cell::text(question),
        Cell::text(policy),
        decision
            .round
            .map_or(Cell::Nothing, |round| Cell::number(round.into())),
        Cell::maybe(facts.arm.map(Arm::name)),
        Cell::Real(Chance::from_units(facts.chance).number())
            .when(!matches!(outcome, "lost" | "open")),
        Cell::text(outcome),
        Cell::text(&facts.class),
        Cell::count(facts.status.into()),
        Cell::moment(facts.wall_ms),
        Cell::number(facts.requests.into()),
        Cell::number(facts.milliseconds.into()).when(asked),
        Cell::number(facts.body_bytes).when(facts.status > 0),
    ])
}

/// What came of it, in one word.
fn name_of(outcome: &Outcome<'_>) -> &'static str {
    match outcome.settled {
        Settled::Fetched(Change::New) => "new",
        Settled::Fetched(Change::Changed) => "changed",
        Settled::Fetched(Change::Unchanged) => "unchanged",
        Settled::Moved(_) => "moved",
        Settled::Failed(Fault::Gone) => "gone",
        Settled::Failed(Fault::Refused) => "refused",
        Settled::Failed(Fault::Unknown) => "unknown",
        Settled::Failed(Fault::Lost) => "lost",
    }
}
