//! RankMass until a test of what is stored is cheaper than to prove more, then the test.
//!
//! A [`Certificate`] says with a confidence what share is stored. This policy decides when to draw its surfers
//! ([`Outlook`]), and puts the pages they must see next before all others: it *lifts* them, by the highest bit of
//! their rank, which no mass reaches. While RankMass looks at the ranks the bit is off, so that it orders, pushes
//! and proves as if nobody tested.
//!
//! Draws come from the seed and the number of the event, walks follow what was fetched: whoever has the journal
//! and what was asked gets the same surfers. When the past is undone the test starts over.
//!
//! Cost: that of RankMass; O(surfers under way · log pages) an event while there are any.
//! Not here: shards. A shard knows a part of the links only, and draws nobody.

use turnstone_frontier::{
    Change, Coverage, Event, Fault, Links, PageId, Place, Policy, Proof, Ranking, Report, Shard,
    Tick,
};

use super::account::Account;
use super::certificate::Certificate;
use super::fates::Fate;
use super::outlook::{Outlook, Prospect, by_rank};
use super::{Confidence, CoveragePolicy, Goal, RankMass};
use crate::mass::as_fraction;

/// A page that a surfer must see has this bit in its rank.
const LIFT: u64 = 1 << 63;

/// At most so many surfers are under way.
const WALKS_MAX: usize = 64;

/// What was tested so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tests {
    /// Surfers drawn since the test last started over.
    pub surfers: u64,
    /// Pages that were asked for because a surfer waited for them.
    pub requests: u64,
    /// How often the test started over.
    pub undone: u64,
}

/// RankMass with a test.
#[derive(Debug)]
pub struct Certified {
    proof: RankMass,
    goal: Goal,
    certificate: Certificate,
    outlook: Outlook,
    events: u64,
    requests: u64,
    undone: u64,
    /// The pages whose rank has the bit.
    lifted: Vec<PageId>,
}

impl Certified {
    /// A test beside a proof.
    pub fn new(proof: RankMass, goal: Goal, confidence: Confidence) -> Self {
        Self {
            proof,
            goal,
            certificate: Certificate::new(goal, confidence),
            outlook: Outlook::default(),
            events: 0,
            requests: 0,
            undone: 0,
            lifted: Vec::new(),
        }
    }

    /// The test.
    pub fn certificate(&self) -> &Certificate {
        &self.certificate
    }

    /// The proof.
    pub fn proof(&self) -> &RankMass {
        &self.proof
    }

    fn account(&self) -> &Account {
        self.proof.account()
    }

    /// RankMass is to see its own ranks.
    fn lower(&mut self, ranking: &mut Ranking) {
        for page in self.lifted.drain(..) {
            let rank = ranking.rank(page) & !LIFT;
            if rank == 0 && ranking.place(page) == Place::Queued {
                ranking.take(page);
            } else {
                ranking.set(page, rank);
            }
        }
    }

    /// Pages that surfers wait for come first.
    fn lift(&mut self, ranking: &mut Ranking) {
        for page in self.certificate.wanted() {
            let rank = ranking.rank(page);
            let is_open = self.proof.account().fates.of(page) == Fate::Open;
            if is_open && rank & LIFT == 0 && ranking.place(page) != Place::Away {
                ranking.set(page, rank | LIFT);
                self.lifted.push(page);
            }
        }
    }

    /// What became of a page is known.
    fn settle(&mut self, page: PageId, was: Standing, event: &Event<'_>, links: &dyn Links) {
        let now = Standing::of(self.account(), page);
        let changed = matches!(event, Event::Fetched { change, .. } if *change == Change::Changed);
        if was.fate == Fate::Open {
            if self.certificate.wanted().any(|wanted| wanted == page) {
                self.requests += 1;
            } else if now.fate == Fate::Stored && self.prospect(0).is_near() {
                self.outlook.look(page, &self.proof, links);
            }
            self.certificate.settled(page, &self.proof, links);
        } else if was != now || now.fate == Fate::Stored && changed {
            self.undone += 1;
            self.certificate.start_over();
        }
    }

    fn prospect(&self, best: u64) -> Prospect {
        Prospect {
            goal: as_fraction(self.goal.mass()),
            proven: as_fraction(self.account().guaranteed()),
            by_rank: by_rank(best, &self.proof),
        }
    }

    /// Draws surfers while that is worth more than pages by rank: as many as there are hands free.
    fn draw(&mut self, links: &dyn Links, ranking: &Ranking) {
        if self.account().is_shard() {
            return;
        }
        let best = ranking.best_queued().map_or(0, |(_, rank)| rank);
        let prospect = self.prospect(best);
        let queued = |page: &PageId| ranking.place(*page) == Place::Queued;
        let hands = ranking.in_flight_count().clamp(1, WALKS_MAX);
        while self.certificate.under_way() < WALKS_MAX
            && self.certificate.wanted().filter(queued).count() < hands
            && self.outlook.says_test(&self.certificate, prospect)
            && self.certificate.certified() < self.goal.mass()
        {
            self.events += 1;
            let supposed = self.outlook.supposed();
            let (proof, events) = (&self.proof, self.events);
            if !self.certificate.draw(supposed, proof, links, events) {
                return;
            }
        }
    }
}

/// What a page was before an event.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Standing {
    fate: Fate,
    next: Option<PageId>,
    unseen: Option<u64>,
}

impl Standing {
    fn of(account: &Account, page: PageId) -> Self {
        Self {
            fate: account.fates.of(page),
            next: account.fates.next(page),
            unseen: account.unseen_links.get(&page).copied(),
        }
    }
}

/// The page of which an event tells what became of it.
fn settles(event: &Event<'_>) -> Option<PageId> {
    match *event {
        Event::Fetched { page, .. }
        | Event::Moved { page, .. }
        | Event::Failed {
            page,
            fault: Fault::Gone | Fault::Refused,
        } => Some(page),
        Event::Failed { .. }
        | Event::Discovered { .. }
        | Event::Unseen { .. }
        | Event::Held { .. }
        | Event::Hinted { .. }
        | Event::Guessed { .. }
        | Event::Crossed(_)
        | Event::Round { .. } => None,
    }
}

impl Policy for Certified {
    fn observe(&mut self, event: &Event<'_>, now: Tick, links: &dyn Links, ranking: &mut Ranking) {
        self.events += 1;
        if let Event::Discovered { .. } = event {
            return self.proof.observe(event, now, links, ranking);
        }
        self.lower(ranking);
        let settled = settles(event);
        let was = settled.map(|page| Standing::of(self.account(), page));
        self.proof.observe(event, now, links, ranking);
        if let (Some(page), Some(was)) = (settled, was) {
            self.settle(page, was, event, links);
            self.draw(links, ranking);
        }
        self.lift(ranking);
    }

    fn report(&self) -> Report<'_> {
        Report {
            proof: Some(self),
            ..Report::default()
        }
    }

    turnstone_frontier::saved_in_place!(
        [
            mut certificate,
            outlook,
            events,
            requests,
            undone,
            lifted,
            mut proof,
        ]
    );
}

impl Proof for Certified {
    fn coverage(&self) -> Coverage {
        let coverage = self.account().coverage();
        let certified = self.certificate.certified().min(coverage.possible);
        Coverage {
            certified: Some(certified.max(coverage.guaranteed)),
            ..coverage
        }
    }

    fn residual(&self, page: PageId, ranking: &Ranking) -> Option<u64> {
        Some(ranking.rank(page) & !LIFT)
    }

    fn shard(&self) -> Option<&dyn Shard> {
        self.proof.shard()
    }
}

impl CoveragePolicy for Certified {
    fn pushes(&self) -> u64 {
        self.proof.pushes()
    }

    fn tests(&self) -> Option<Tests> {
        Some(Tests {
            surfers: self.certificate.drawn(),
            requests: self.requests,
            undone: self.undone,
        })
    }
}
