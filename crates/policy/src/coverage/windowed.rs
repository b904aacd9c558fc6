//! Windowed RankMass: the best window of pages at a time, then one sweep over all fetched pages.
//!
//! RankMass updates after every page; this batches both downloads and updates, so that links are
//! read in order and a round's pages can be fetched side by side (Cho and Schonfeld 2007). A round
//! hands out the `window` share of the best unfetched pages; when all have come back, every
//! fetched page gives up its residual at once: 1−d of it is covered, d of it moves along its links.
//! The paper's "top window%" is read as a share of the known unfetched pages (`of=frontier`) or,
//! as the slides' round counts suggest, of the pages fetched so far (`of=fetched`).
//!
//! What is covered and what moves where is for the [account](super::account) to say, in integers.
//! It learns of dead pages at the end of a round, when all links are read anyway.
//!
//! Cost: O(frontier + links of fetched pages) a round; 25 bytes and 3 bits a page.

use std::io;

use turnstone_frontier::{
    Coverage, Event, Fault, Links, PageId, Policy, Proof, Ranking, Report, Restore, Save, Tick,
    corrupt,
};

use super::account::{Account, Rules};
use super::board::{Board, Stage};
use super::fates::Fate;
use super::{CoveragePolicy, Dangling, Goal, Gone, NEGLIGIBLE, RETRY_MS, Trust};

/// What the window is a share of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WindowOf {
    /// Known pages not yet fetched.
    Frontier,
    /// Pages fetched so far.
    Fetched,
}

/// How mass moves within one sweep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sweep {
    /// All pages give at once what they held before.
    Simultaneous,
    /// By ascending id; a page gives also what it was given in the same sweep.
    InPlace,
}

/// The shape of a round.
#[derive(Clone, Copy, Debug)]
pub struct Window {
    /// Above 0, at most 1.
    pub share: f64,
    /// Of what.
    pub of: WindowOf,
    /// How the round ends.
    pub sweep: Sweep,
}

/// The Windowed RankMass crawler.
#[derive(Debug)]
pub struct WindowedRankMass {
    window: Window,
    account: Account,
    board: Board,
    /// Pages of the window that have not come back.
    pending: u64,
    rounds: u64,
}

impl WindowedRankMass {
    /// A crawler that trusts these pages.
    pub fn new(trust: Trust, goal: Goal, window: Window, dangling: Dangling) -> Self {
        assert!(
            window.share > 0.0 && window.share <= 1.0,
            "a window is a share"
        );
        let rules = Rules {
            goal,
            dangling,
            gone: Gone::Skip,
        };
        Self {
            window,
            account: Account::new(trust, rules),
            board: Board {
                sweep: window.sweep,
                residuals: Vec::new(),
                stages: Vec::new(),
                frontier: Vec::new(),
                held: 0,
                shelved: 0,
                open: 0,
                incoming: Vec::new(),
            },
            pending: 0,
            rounds: 0,
        }
    }

    /// The same crawler with another view of links to dead pages.
    #[must_use]
    pub fn with_gone(mut self, gone: Gone) -> Self {
        self.account.rules.gone = gone;
        self
    }

    /// How many rounds were begun.
    pub fn rounds(&self) -> u64 {
        self.rounds
    }

    /// Asserts that no mass was made or lost: O(pages). For tests, and on demand.
    pub fn audit(&self) {
        self.account
            .audit(|page| self.board.residuals[page.index()]);
    }

    /// Hands out the best of the frontier; with an empty frontier, sweeps on alone.
    fn begin_round(&mut self, links: &dyn Links, ranking: &mut Ranking) {
        while self.pending == 0 && !self.account.is_met() {
            if self.board.frontier.is_empty() {
                if self.board.held > NEGLIGIBLE {
                    self.rounds += 1;
                    self.sweep(links);
                } else if self.account.is_due(true) {
                    self.catch_up(links);
                } else {
                    return;
                }
                continue;
            }
            self.rounds += 1;
            for page in self.take_window() {
                self.board.stages[page.index()] = Stage::Window;
                self.pending += 1;
                ranking.set(page, self.board.residuals[page.index()]);
            }
        }
    }

    /// The best pages of the frontier, as many as the window asks for.
    fn take_window(&mut self) -> Vec<PageId> {
        let (frontier, fetched) = (&mut self.board.frontier, self.account.fates.stored_count());
        let (share, whole) = match self.window.of {
            WindowOf::Frontier => (self.window.share, frontier.len() as u64),
            // Nothing fetched yet: the store starts with the trusted pages.
            WindowOf::Fetched if fetched == 0 => (1.0, frontier.len() as u64),
            WindowOf::Fetched => (self.window.share, fetched),
        };
        // Tolerant of 0.1 * 30 being a little more than 3.
        let wanted = (share * whole as f64 - 1e-9).ceil().max(1.0) as usize;
        let residuals = &self.board.residuals;
        let better =
            |a: &PageId, b: &PageId| (residuals[b.index()], *a).cmp(&(residuals[a.index()], *b));
        if wanted < frontier.len() {
            frontier.select_nth_unstable_by(wanted - 1, better);
        }
        let taken = wanted.min(frontier.len());
        frontier.drain(..taken).collect()
    }

    /// Every fetched page gives up its residual.
    fn sweep(&mut self, links: &dyn Links) {
        let mut buffer = Vec::new();
        if self.window.sweep == Sweep::Simultaneous {
            self.board.incoming.resize(self.board.residuals.len(), 0);
        }
        for page in (0..self.board.residuals.len()).map(PageId::from_index) {
            let holds = self.board.residuals[page.index()] > 0;
            if holds && self.account.fates.of(page) == Fate::Stored {
                let residual = self.board.take(page);
                let links = links.links_of(page, &mut buffer);
                self.account.expand(page, residual, links, |link, mass| {
                    self.board.receive(link, mass);
                });
            }
        }
        let incoming = std::mem::take(&mut self.board.incoming);
        for (residual, incoming) in self.board.residuals.iter_mut().zip(incoming) {
            *residual += incoming;
        }
        self.pass_on();
        self.balance();
    }

    /// What moved pages hold belongs to the pages they stand for.
    fn pass_on(&mut self) {
        let moved: Vec<PageId> = self.account.fates.moved().map(|(page, _)| page).collect();
        for page in moved {
            self.pass_on_from(page);
        }
    }

    fn pass_on_from(&mut self, page: PageId) {
        let residual = self.board.take(page);
        if residual > 0 {
            let end = self.account.pass_on(page, residual);
            self.board.receive(end, residual);
        }
    }

    /// Learns of dead pages, or starts anew where the past was undone.
    fn catch_up(&mut self, links: &dyn Links) {
        self.pass_on();
        if !self.account.must_reckon_anew() {
            let residuals = &self.board.residuals;
            let changes = self.account.sweep(links, |page| residuals[page.index()]);
            if let Some(changes) = changes {
                for (page, change) in changes {
                    let before = self.board.residuals[page.index()];
                    self.board.set(page, before.wrapping_add_signed(change));
                }
                self.pass_on();
                return self.balance();
            }
        }
        self.board.clear();
        for (page, mass) in self.account.start_anew() {
            self.board.set(page, mass);
        }
        self.pass_on();
        self.balance();
        while self.board.held > NEGLIGIBLE {
            self.sweep(links);
        }
    }

    /// What became of a page is known, unless there is no verdict: books it. Perhaps it ends the
    /// round.
    fn book(
        &mut self,
        page: PageId,
        (links, ranking): (&dyn Links, &mut Ranking),
        book: impl FnOnce(&mut Account, u64),
    ) {
        ranking.take(page);
        book(&mut self.account, self.board.residuals[page.index()]);
        self.account.moments.pay(self.account.fates.stored_count());
        let stage = match self.account.fates.of(page) {
            Fate::Dead => Stage::Dead,
            Fate::Stored | Fate::Moved | Fate::Open => Stage::Settled,
        };
        let before = self.board.pass_to(page, stage);
        match before {
            Stage::Window => self.pending -= 1,
            Stage::Frontier => self.board.frontier.retain(|other| *other != page),
            Stage::Unseen | Stage::Settled | Stage::Dead => {}
        }
        if self.account.fates.next(page).is_some() {
            self.pass_on_from(page);
        }
        self.balance();
        if before == Stage::Window && self.pending == 0 {
            self.sweep(links);
            let is_cheap = !self.account.must_reckon_anew();
            if self.account.is_behind() && (is_cheap || self.account.is_due(false)) {
                self.catch_up(links);
            }
        }
        self.go_on(links, ranking);
    }

    fn balance(&mut self) {
        self.account.balance(self.board.held, self.board.shelved);
    }

    /// Begins a round if none is under way and all trusted pages are known.
    fn go_on(&mut self, links: &dyn Links, ranking: &mut Ranking) {
        if self.pending == 0 && self.account.early.is_empty() {
            self.begin_round(links, ranking);
        }
    }
}

impl Policy for WindowedRankMass {
    fn observe(&mut self, event: &Event<'_>, now: Tick, links: &dyn Links, ranking: &mut Ranking) {
        match *event {
            Event::Discovered { page, .. } => {
                let mass = self.account.discover(page);
                self.board.residuals.push(0);
                self.board.stages.push(Stage::Unseen);
                if mass > 0 {
                    self.board.set(page, mass);
                    self.go_on(links, ranking);
                }
            }
            Event::Unseen { page, links } => self.account.foretell(page, links),
            Event::Fetched { page, change, .. } => {
                self.book(page, (links, ranking), |account, _| {
                    account.store(page, change);
                });
            }
            Event::Failed { page, fault } => match fault {
                Fault::Gone | Fault::Refused => {
                    self.book(page, (links, ranking), |account, residual| {
                        account.die(page, residual);
                    });
                }
                Fault::Unknown if self.account.fates.of(page) == Fate::Open => {
                    ranking.defer(page, now.plus(RETRY_MS));
                }
                // Of a page that came once before, this is no news.
                Fault::Unknown => {
                    ranking.take(page);
                }
                Fault::Lost => ranking.queue(page),
            },
            Event::Moved { page, to } => self.book(page, (links, ranking), |account, residual| {
                account.move_on(page, to, residual);
            }),
            Event::Held { .. }
            | Event::Hinted { .. }
            | Event::Crossed(_)
            | Event::Guessed { .. }
            | Event::Round { .. } => {}
        }
    }

    fn report(&self) -> Report<'_> {
        Report {
            proof: Some(self),
            ..Report::default()
        }
    }

    fn save(&self, out: &mut dyn io::Write) -> io::Result<()> {
        self.account.save(out)?;
        self.board.residuals.save(out)?;
        let stages = self.board.stages.iter().map(|stage| *stage as u8);
        stages.collect::<Vec<u8>>().save(out)?;
        self.board.frontier.save(out)?;
        [self.board.held, self.board.shelved, self.board.open].save(out)?;
        self.pending.save(out)?;
        self.rounds.save(out)
    }

    fn restore(&mut self, saved: &mut dyn io::Read) -> io::Result<()> {
        self.account.restore(saved)?;
        self.board.residuals = Restore::restore(saved)?;
        let stages: Vec<u8> = Restore::restore(saved)?;
        self.board.stages = stages
            .into_iter()
            .map(Stage::restored)
            .collect::<io::Result<_>>()?;
        self.board.frontier = Restore::restore(saved)?;
        let totals: Vec<u64> = Restore::restore(saved)?;
        let [held, shelved, open] = totals[..] else {
            return Err(corrupt("totals that are not three"));
        };
        (self.board.held, self.board.shelved, self.board.open) = (held, shelved, open);
        let known = self.board.stages.len();
        if known != self.board.residuals.len()
            || self.board.frontier.iter().any(|page| page.index() >= known)
        {
            return Err(corrupt("a frontier with a page that is not known"));
        }
        self.pending = Restore::restore(saved)?;
        self.rounds = Restore::restore(saved)?;
        Ok(())
    }
}

impl Proof for WindowedRankMass {
    fn coverage(&self) -> Coverage {
        self.account.coverage()
    }

    fn residual(&self, page: PageId, _: &Ranking) -> Option<u64> {
        self.board.residuals.get(page.index()).copied()
    }
}

impl CoveragePolicy for WindowedRankMass {
    fn pushes(&self) -> u64 {
        self.account.pushes()
    }
}
