//! RankMass: the page with the largest proven lower bound of PageRank next.
//!
//! Each page holds a residual (the paper's rm is 1−d times it), and the [account](super::account)
//! says how it is covered and moves on when the page is expanded (Cho and Schonfeld 2007; the same
//! kernel as forward push for personalised PageRank). Expanding a page for the first time costs a
//! download; fetched pages that earn again are expanded again, for nothing.
//!
//! The residual *is* the rank, kept in the ranking: queued until fetched, parked afterwards,
//! shelved when the page is dead.
//!
//! Two departures from the paper. `push=fetched-first` expands fetched pages while they hold at
//! least a small share of the best unfetched page, since that costs no request. And with
//! `gone=skip` the share is one of what can be had: links to dead pages do not count, exactly.
//!
//! Pages with very many links are pushed again only as often as events pay for it: see [`wide`](super::wide).
//!
//! Cost: O(links · log pages) an expansion, O(trusted · log pages) for a page without links; 8
//! bytes and 3 bits a page beyond the ranking. Sweeps over all fetched pages when pages turn out
//! dead, at most sixteen pages read for each event.

use turnstone_frontier::{
    Arrival, Arrived, Coverage, Crossing, Event, Fault, Links, Masses, PageId, Place, Policy,
    Proof, Ranking, Report, Shard, Tick,
};

use super::account::{Account, Rules};
use super::fates::Fate;
use super::wide::{Debt, Room};
use super::{CoveragePolicy, NEGLIGIBLE, RETRY_MS, Trust};
use super::{Dangling, Goal, Gone};
use crate::mass::Fraction;

/// Which fetched pages are expanded before a new page is paid for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Push {
    /// Those that hold more than the best unfetched page: the paper's order.
    Exact,
    /// Those that hold at least this share of it.
    FetchedFirst {
        /// The share.
        share: Fraction,
    },
}

impl Push {
    /// The share that serves well.
    pub const SHARE: Fraction = Fraction::TWO_PERCENT;
}

/// The RankMass crawler.
#[derive(Debug)]
pub struct RankMass {
    push: Push,
    account: Account,
    /// What pages with very many links owe.
    debt: Debt,
    buffer: Vec<PageId>,
}

impl RankMass {
    /// A crawler that trusts these pages.
    pub fn new(trust: Trust, goal: Goal, push: Push, dangling: Dangling) -> Self {
        let rules = Rules {
            goal,
            dangling,
            gone: Gone::Skip,
        };
        Self {
            push,
            account: Account::new(trust, rules),
            debt: Debt::default(),
            buffer: Vec::new(),
        }
    }

    /// The same crawler with another view of links to dead pages.
    #[must_use]
    pub fn with_gone(mut self, gone: Gone) -> Self {
        self.account.rules.gone = gone;
        self
    }

    /// What became of pages, and where all mass is.
    pub(super) fn account(&self) -> &Account {
        &self.account
    }

    /// Asserts that no mass was made or lost: O(pages). For tests, and on demand.
    pub fn audit(&self, ranking: &Ranking) {
        self.account.audit(|page| ranking.rank(page));
    }

    /// Expands fetched pages as far as the order asks before another page is fetched.
    fn settle(&mut self, links: &dyn Links, ranking: &mut Ranking) {
        if is_idle(ranking) {
            self.push_on(links, ranking, |policy, ranking| {
                !policy.account.is_met() && is_idle(ranking) && is_worth_it(ranking)
            });
        }
        while !self.account.is_met() && self.debt.is_paid() && self.parked_page_is_next(ranking) {
            let along = self.expand_best(links, ranking);
            self.debt.charge(along);
        }
        let mass = |sum: u128| u64::try_from(sum).expect("masses add up to ONE");
        let (held, shelved) = (ranking.parked_total(), ranking.shelved_total());
        self.account.balance(mass(held), mass(shelved));
        self.account.balance_away(mass(ranking.away_total()));
    }

    /// Nothing that is queued can be asked for: fetched pages are expanded whatever the queue holds, so
    /// that what lies behind them is queued too. Else a host that does not answer and holds much
    /// would keep the crawl from all that is worth less.
    fn rank_more(&mut self, links: &dyn Links, ranking: &mut Ranking) {
        self.push_on(links, ranking, |policy, ranking| {
            !policy.account.is_met() && is_worth_it(ranking)
        });
        self.settle(links, ranking);
    }

    /// Pushes fetched pages as long as that goes on: the best one first, and all in turn once pages with
    /// very many links have used up their room.
    fn push_on(
        &mut self,
        links: &dyn Links,
        ranking: &mut Ranking,
        goes_on: impl Fn(&Self, &Ranking) -> bool,
    ) {
        let mut room = Room::of(self.account.fates.stored_count());
        while goes_on(self, ranking) {
            if !room.is_used_up() {
                room.charge(self.expand_best(links, ranking));
                continue;
            }
            for page in (0..ranking.page_count()).map(PageId::from_index) {
                if ranking.place(page) == Place::Parked && ranking.rank(page) > 0 {
                    self.expand(page, links, ranking);
                }
            }
        }
    }

    /// The best parked page gives up its residual. Returns along how many links.
    fn expand_best(&mut self, links: &dyn Links, ranking: &mut Ranking) -> u64 {
        let (page, _) = ranking.best_parked().expect("a parked page is next");
        self.expand(page, links, ranking)
    }

    /// A parked page gives up its residual. Returns along how many links.
    fn expand(&mut self, page: PageId, links: &dyn Links, ranking: &mut Ranking) -> u64 {
        if self.account.fates.next(page).is_some() {
            self.pass_on(page, ranking);
            return 0;
        }
        let residual = ranking.take(page);
        let links = links.links_of(page, &mut self.buffer);
        self.account.expand(page, residual, links, |link, mass| {
            ranking.raise(link, mass);
        });
        links.len() as u64
    }

    /// What a moved page holds belongs to the page it stands for.
    fn pass_on(&mut self, page: PageId, ranking: &mut Ranking) {
        let residual = ranking.rank(page);
        if residual > 0 && self.account.fates.next(page).is_some() {
            ranking.take(page);
            let end = self.account.pass_on(page, residual);
            ranking.raise(end, residual);
        }
    }

    #[inline]
    fn parked_page_is_next(&self, ranking: &Ranking) -> bool {
        let Some((parked_page, parked)) = ranking.best_parked() else {
            return false;
        };
        match (best_with_mass(ranking), self.push) {
            (Some((page, queued)), Push::Exact) => {
                parked > queued || (parked == queued && parked_page < page)
            }
            (Some((_, queued)), Push::FetchedFirst { share }) => {
                parked >= share.of_rounded_up(queued)
            }
            (None, _) => false,
        }
    }

    /// Catches up with dead pages and undone pasts, when it is time.
    fn catch_up(&mut self, links: &dyn Links, ranking: &mut Ranking) {
        if !self.account.is_due(is_idle(ranking)) {
            return;
        }
        if self.account.is_shard() {
            // A shard cannot start anew by itself: what is in doubt stays so.
            if self.account.must_reckon_anew() {
                return;
            }
            if !self.sweep(links, ranking) {
                self.account.give_up();
            }
        } else if self.account.must_reckon_anew() || !self.sweep(links, ranking) {
            self.reckon_anew(links, ranking);
        }
        self.settle(links, ranking);
    }

    /// Corrects the residuals. Returns whether that was possible.
    fn sweep(&mut self, links: &dyn Links, ranking: &mut Ranking) -> bool {
        let moved: Vec<PageId> = self.account.fates.moved().map(|(page, _)| page).collect();
        for page in moved {
            self.pass_on(page, ranking);
        }
        let changes = self.account.sweep(links, |page| ranking.rank(page));
        for &(page, change) in changes.iter().flatten() {
            let before = ranking.rank(page);
            let after = before.wrapping_add_signed(change);
            if after > before {
                ranking.raise(page, after - before);
            } else {
                ranking.set(page, after);
            }
        }
        changes.is_some()
    }

    /// Starts from the trusted pages again; whatever fetched pages hold is pushed on.
    fn reckon_anew(&mut self, links: &dyn Links, ranking: &mut Ranking) {
        for page in (0..ranking.page_count()).map(PageId::from_index) {
            match ranking.place(page) {
                Place::Queued | Place::Parked => {
                    ranking.take(page);
                }
                Place::InFlight | Place::Deferred(_) | Place::Shelved | Place::Away => {
                    ranking.set(page, 0);
                }
                Place::Absent => {}
            }
        }
        for (page, mass) in self.account.start_anew() {
            ranking.raise(page, mass);
        }
        self.push_on(links, ranking, |_, ranking| is_worth_it(ranking));
    }

    /// Something crossed the border of this shard.
    fn cross(&mut self, crossing: Crossing<'_>, ranking: &mut Ranking) {
        match crossing {
            Crossing::Cut => self.account.cut(),
            Crossing::Away { page } => {
                let trusted = self.account.away(page);
                if trusted > 0 {
                    let holds = ranking.take(page);
                    ranking.raise(page, holds - trusted);
                }
            }
            Crossing::Sent { items } => {
                for &(page, mass) in items {
                    assert_eq!(
                        ranking.take(page),
                        mass,
                        "all that page {page} holds is sent"
                    );
                    self.account.send(page, mass);
                }
            }
            Crossing::Received { items } => {
                for item in items {
                    self.arrive(*item, ranking);
                }
            }
        }
    }

    fn arrive(&mut self, Arrival { page, what }: Arrival, ranking: &mut Ranking) {
        match what {
            Arrived::Mass { mass, hops } => {
                ranking.raise(page, mass);
                if self.account.arrive(page, mass, hops) {
                    return self.book(page, ranking, |account, residual| {
                        account.die(page, residual);
                    });
                }
                self.pass_on(page, ranking);
            }
            Arrived::Dead => {
                if self.account.fates.of(page) != Fate::Dead {
                    let back = self.account.take_back(page);
                    self.book(page, ranking, |account, residual| {
                        account.die(page, residual + back);
                    });
                    ranking.raise(page, back);
                }
            }
            Arrived::Back { mass } => {
                let end = self.account.fates.end(page);
                let holds = ranking.rank(end);
                let taken = self.account.give_back(mass, end, holds);
                if taken > 0 {
                    ranking.set(end, holds - taken);
                }
            }
        }
    }

    /// What became of a page is known: books it, and puts the page where it belongs.
    fn book(&mut self, page: PageId, ranking: &mut Ranking, book: impl FnOnce(&mut Account, u64)) {
        let residual = ranking.rank(page);
        book(&mut self.account, residual);
        match self.account.fates.of(page) {
            Fate::Stored | Fate::Moved => ranking.park(page),
            Fate::Dead => ranking.shelve(page),
            Fate::Open => {}
        }
    }
}

/// Whether nothing is left to ask for, and nothing is under way.
fn is_idle(ranking: &Ranking) -> bool {
    best_with_mass(ranking).is_none() && ranking.in_flight_count() == 0
}

/// The best queued page that holds anything. Pages without mass are no measure for what others are worth: they
/// are asked for when all else is done, and change nothing of what is proven.
#[inline]
fn best_with_mass(ranking: &Ranking) -> Option<(PageId, u64)> {
    ranking.best_queued().filter(|(_, mass)| *mass > 0)
}

/// Whether what parked pages hold is more than negligible.
fn is_worth_it(ranking: &Ranking) -> bool {
    ranking.best_parked().is_some_and(|(_, parked)| {
        u128::from(parked) * ranking.parked_count() as u128 > u128::from(NEGLIGIBLE)
    })
}

impl Policy for RankMass {
    fn observe(&mut self, event: &Event<'_>, now: Tick, links: &dyn Links, ranking: &mut Ranking) {
        match *event {
            Event::Discovered { page, .. } => {
                let mass = self.account.discover(page);
                if mass > 0 {
                    ranking.raise(page, mass);
                }
                return;
            }
            Event::Unseen { page, links } => return self.account.foretell(page, links),
            Event::Fetched {
                page,
                change,
                links,
            } => {
                let residual = ranking.take(page);
                ranking.park(page);
                self.account.store(page, change);
                self.account.expand(page, residual, links, |link, mass| {
                    ranking.raise(link, mass);
                });
            }
            Event::Failed { page, fault } => match fault {
                Fault::Gone | Fault::Refused => self.book(page, ranking, |account, residual| {
                    account.die(page, residual);
                }),
                Fault::Unknown => {
                    self.book(page, ranking, |_, _| {});
                    if self.account.fates.of(page) == Fate::Open {
                        ranking.defer(page, now.plus(RETRY_MS));
                    }
                }
                Fault::Lost => ranking.queue(page),
            },
            Event::Moved { page, to } => {
                self.book(page, ranking, |account, residual| {
                    account.move_on(page, to, residual);
                });
                self.pass_on(page, ranking);
            }
            Event::Round { .. } => return self.rank_more(links, ranking),
            Event::Crossed(crossing) => {
                self.cross(crossing, ranking);
                if let Crossing::Cut | Crossing::Away { .. } = crossing {
                    return;
                }
            }
            Event::Held { .. } | Event::Hinted { .. } | Event::Guessed { .. } => return,
        }
        self.account.moments.pay(self.account.fates.stored_count());
        self.debt.pay();
        self.settle(links, ranking);
        self.catch_up(links, ranking);
    }

    fn report(&self) -> Report<'_> {
        Report {
            proof: Some(self),
            ..Report::default()
        }
    }

    turnstone_frontier::saved_in_place!([mut account, debt]);
}

impl Proof for RankMass {
    fn coverage(&self) -> Coverage {
        self.account.coverage()
    }

    fn residual(&self, page: PageId, ranking: &Ranking) -> Option<u64> {
        Some(ranking.rank(page))
    }

    fn shard(&self) -> Option<&dyn Shard> {
        Some(self)
    }
}

impl Shard for RankMass {
    fn masses(&self) -> Masses {
        self.account.masses()
    }

    fn dead(&self) -> &[PageId] {
        self.account.dead()
    }

    fn sent_for(&self, page: PageId) -> (u64, u8) {
        self.account.sent_for(page)
    }
}

impl CoveragePolicy for RankMass {
    fn pushes(&self) -> u64 {
        self.account.pushes()
    }
}
