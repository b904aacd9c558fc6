//! Windowed RankMass: the best window of pages at a time, then one sweep over all fetched pages.
//!
//! RankMass updates after every page; this batches both downloads and updates, so that links are
//! read in order and a round's pages can be fetched side by side (Cho and Schonfeld 2007). A round
//! hands out the `window` share of the best unfetched pages; when all have come back, every
//! fetched page gives up its residual at once: 1−d of it is covered, d of it moves along its links.
//! The paper's "top window%" is read as a share of the known unfetched pages (`of=frontier`) or,
//! as the slides' round counts suggest, of the pages fetched so far (`of=fetched`).
//!
//! Masses are integers: covered + residuals + lost = ONE after every event.
//!
//! Cost: O(frontier + links of fetched pages) a round; 17 bytes a page.

use std::collections::BTreeMap;
use std::io;

use turnstone_frontier::{
    Coverage, Event, Fault, Links, PageId, Policy, Ranking, Restore, Save, Tick, corrupt,
};

use super::{CoveragePolicy, Dangling, Goal, NEGLIGIBLE, RETRY_MS, Trust, divide};
use crate::mass::ONE;

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

/// How far a page has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
enum Stage {
    /// It never had mass.
    Unseen,
    /// It has mass and waits for a window.
    Frontier,
    /// It is in the window and has not come back.
    Window,
    Fetched,
    /// It can never be fetched: its mass is stuck.
    Stuck,
    /// It stands for another page, which gets its mass.
    Moved,
}

impl Stage {
    fn restored(number: u8) -> io::Result<Self> {
        use Stage::{Fetched, Frontier, Moved, Stuck, Unseen, Window};
        let stages = [Unseen, Frontier, Window, Fetched, Stuck, Moved];
        let found = stages.into_iter().find(|stage| *stage as u8 == number);
        found.ok_or_else(|| corrupt("a page at no known stage"))
    }
}

/// The Windowed RankMass crawler.
#[derive(Debug)]
pub struct WindowedRankMass {
    trust: Trust,
    goal: Goal,
    window: Window,
    dangling: Dangling,
    /// By page.
    residuals: Vec<u64>,
    stages: Vec<Stage>,
    /// Pages at stage `Frontier`, in no order.
    frontier: Vec<PageId>,
    /// Pages of the window that have not come back.
    pending: u64,
    fetched: u64,
    covered: u64,
    lost: u64,
    stuck: u64,
    pushes: u64,
    rounds: u64,
    /// Where pages at stage `Moved` have moved, in one step.
    moved: BTreeMap<PageId, PageId>,
    /// By page, only during a sweep: what it was given.
    incoming: Vec<u64>,
}

impl WindowedRankMass {
    /// A crawler that trusts these pages.
    pub fn new(trust: Trust, goal: Goal, window: Window, dangling: Dangling) -> Self {
        assert!(
            window.share > 0.0 && window.share <= 1.0,
            "a window is a share"
        );
        Self {
            trust,
            goal,
            window,
            dangling,
            residuals: Vec::new(),
            stages: Vec::new(),
            frontier: Vec::new(),
            pending: 0,
            fetched: 0,
            covered: 0,
            lost: 0,
            stuck: 0,
            pushes: 0,
            rounds: 0,
            moved: BTreeMap::new(),
            incoming: Vec::new(),
        }
    }

    /// How many rounds were begun.
    pub fn rounds(&self) -> u64 {
        self.rounds
    }

    /// Asserts that no mass was made or lost: O(pages). For tests, and on demand.
    pub fn audit(&self) {
        let held: u64 = self.residuals.iter().sum();
        let undiscovered: u64 = self
            .trust
            .masses()
            .iter()
            .filter(|(page, _)| page.index() >= self.residuals.len())
            .map(|(_, mass)| mass)
            .sum();
        assert_eq!(
            self.covered + self.lost + held + undiscovered,
            ONE,
            "mass must be conserved"
        );
    }

    fn receive(&mut self, mut page: PageId, mass: u64) {
        if self.stages[page.index()] == Stage::Moved {
            page = self.moved[&page];
        }
        match self.stages[page.index()] {
            Stage::Unseen => {
                self.stages[page.index()] = Stage::Frontier;
                self.frontier.push(page);
            }
            Stage::Stuck => self.stuck += mass,
            Stage::Frontier | Stage::Window | Stage::Fetched => {}
            Stage::Moved => unreachable!("moves are kept to one step"),
        }
        match self.window.sweep {
            Sweep::Simultaneous => self.incoming[page.index()] += mass,
            Sweep::InPlace => self.residuals[page.index()] += mass,
        }
    }

    /// Hands out the best of the frontier; with an empty frontier, sweeps on alone.
    fn begin_round(&mut self, links: &dyn Links, ranking: &mut Ranking) {
        while self.pending == 0 && self.covered < self.goal.mass() {
            self.rounds += 1;
            if self.frontier.is_empty() {
                if self.held_by_fetched() <= NEGLIGIBLE {
                    return;
                }
                self.sweep(links);
                continue;
            }
            for page in self.take_window() {
                self.stages[page.index()] = Stage::Window;
                self.pending += 1;
                ranking.set(page, self.residuals[page.index()]);
            }
        }
    }

    /// The best pages of the frontier, as many as the window asks for.
    fn take_window(&mut self) -> Vec<PageId> {
        let (share, whole) = match self.window.of {
            WindowOf::Frontier => (self.window.share, self.frontier.len() as u64),
            // Nothing fetched yet: the store starts with the trusted pages.
            WindowOf::Fetched if self.fetched == 0 => (1.0, self.frontier.len() as u64),
            WindowOf::Fetched => (self.window.share, self.fetched),
        };
        // Tolerant of 0.1 * 30 being a little more than 3.
        let wanted = (share * whole as f64 - 1e-9).ceil().max(1.0) as usize;
        let residuals = &self.residuals;
        let better =
            |a: &PageId, b: &PageId| (residuals[b.index()], *a).cmp(&(residuals[a.index()], *b));
        if wanted < self.frontier.len() {
            self.frontier.select_nth_unstable_by(wanted - 1, better);
        }
        let taken = wanted.min(self.frontier.len());
        self.frontier.drain(..taken).collect()
    }

    /// Every fetched page gives up its residual.
    fn sweep(&mut self, links: &dyn Links) {
        let mut buffer = Vec::new();
        if self.window.sweep == Sweep::Simultaneous {
            self.incoming.resize(self.residuals.len(), 0);
        }
        for index in 0..self.residuals.len() {
            if self.stages[index] == Stage::Fetched && self.residuals[index] > 0 {
                let residual = std::mem::take(&mut self.residuals[index]);
                let page = PageId::from_index(index);
                self.expand(residual, links.links_of(page, &mut buffer));
            }
        }
        if self.window.sweep == Sweep::Simultaneous {
            for (residual, incoming) in self.residuals.iter_mut().zip(&mut self.incoming) {
                *residual += std::mem::take(incoming);
            }
        }
    }

    fn expand(&mut self, residual: u64, links: &[PageId]) {
        let pushed = self.goal.damping.of_rounded_up(residual);
        self.covered += residual - pushed;
        self.pushes += 1;
        let trust = self.trust.clone();
        let dangling = (self.dangling, &trust);
        self.lost += divide(pushed, links, dangling, |page, mass| {
            self.receive(page, mass);
        });
    }

    fn held_by_fetched(&self) -> u64 {
        let held = self.residuals.iter().zip(&self.stages);
        held.filter(|(_, stage)| **stage == Stage::Fetched)
            .map(|(residual, _)| residual)
            .sum()
    }

    /// The page stands for another: what it holds and will be given belongs there.
    fn forward(&mut self, page: PageId, to: PageId, links: &dyn Links, ranking: &mut Ranking) {
        let end = self.moved.get(&to).copied().unwrap_or(to);
        if end == page {
            // A circle of redirects leads nowhere.
            return self.settle(page, Stage::Stuck, links, ranking);
        }
        for target in self.moved.values_mut().filter(|target| **target == page) {
            *target = end;
        }
        self.moved.insert(page, end);
        let residual = std::mem::take(&mut self.residuals[page.index()]);
        self.residuals[end.index()] += residual;
        match self.stages[end.index()] {
            Stage::Unseen => {
                self.stages[end.index()] = Stage::Frontier;
                self.frontier.push(end);
            }
            Stage::Stuck => self.stuck += residual,
            Stage::Frontier | Stage::Window | Stage::Fetched | Stage::Moved => {}
        }
        self.settle(page, Stage::Moved, links, ranking);
    }

    /// A page of the window came back; perhaps the round is over.
    fn settle(&mut self, page: PageId, stage: Stage, links: &dyn Links, ranking: &mut Ranking) {
        ranking.take(page);
        let before = std::mem::replace(&mut self.stages[page.index()], stage);
        match before {
            Stage::Window => self.pending -= 1,
            Stage::Frontier => self.frontier.retain(|other| *other != page),
            Stage::Unseen | Stage::Fetched | Stage::Stuck | Stage::Moved => {}
        }
        if stage == Stage::Fetched && before != Stage::Fetched {
            self.fetched += 1;
        }
        if stage == Stage::Stuck && before != Stage::Stuck {
            self.stuck += self.residuals[page.index()];
        }
        if before == Stage::Window && self.pending == 0 {
            self.sweep(links);
            self.begin_round(links, ranking);
        }
    }
}

impl Policy for WindowedRankMass {
    fn observe(&mut self, event: &Event<'_>, now: Tick, links: &dyn Links, ranking: &mut Ranking) {
        match *event {
            Event::Discovered { page, .. } => {
                let mass = self.trust.of(page);
                self.residuals.push(mass);
                self.stages.push(if mass > 0 {
                    Stage::Frontier
                } else {
                    Stage::Unseen
                });
                if mass > 0 {
                    self.frontier.push(page);
                    if self.frontier.len() == self.trust.masses().len() {
                        self.begin_round(links, ranking);
                    }
                }
            }
            Event::Fetched { page, .. } => self.settle(page, Stage::Fetched, links, ranking),
            Event::Failed { page, fault } => match fault {
                Fault::Gone | Fault::Refused => self.settle(page, Stage::Stuck, links, ranking),
                Fault::Unknown => ranking.defer(page, now.plus(RETRY_MS)),
                Fault::Lost => ranking.queue(page),
            },
            Event::Moved { page, to } => self.forward(page, to, links, ranking),
            Event::Held { .. }
            | Event::Hinted { .. }
            | Event::Guessed { .. }
            | Event::Round { .. } => {}
        }
    }

    fn coverage(&self) -> Option<Coverage> {
        let stuck = self.stuck + self.lost;
        Some(Coverage {
            guaranteed: self.covered,
            stuck,
            goal: self.goal.mass(),
        })
    }

    fn residual(&self, page: PageId, _: &Ranking) -> Option<u64> {
        self.residuals.get(page.index()).copied()
    }

    fn save(&self, out: &mut dyn io::Write) -> io::Result<()> {
        self.residuals.save(out)?;
        self.stages
            .iter()
            .map(|stage| *stage as u8)
            .collect::<Vec<u8>>()
            .save(out)?;
        self.frontier.save(out)?;
        let numbers = [
            self.pending,
            self.fetched,
            self.covered,
            self.lost,
            self.stuck,
        ];
        numbers.iter().try_for_each(|number| number.save(out))?;
        self.pushes.save(out)?;
        self.rounds.save(out)?;
        self.moved.save(out)
    }

    fn restore(&mut self, saved: &mut dyn io::Read) -> io::Result<()> {
        self.residuals = Restore::restore(saved)?;
        let stages: Vec<u8> = Restore::restore(saved)?;
        self.stages = stages
            .into_iter()
            .map(Stage::restored)
            .collect::<io::Result<_>>()?;
        self.frontier = Restore::restore(saved)?;
        if self.stages.len() != self.residuals.len()
            || self
                .frontier
                .iter()
                .any(|page| page.index() >= self.stages.len())
        {
            return Err(corrupt("a frontier with a page that is not known"));
        }
        self.pending = Restore::restore(saved)?;
        self.fetched = Restore::restore(saved)?;
        self.covered = Restore::restore(saved)?;
        self.lost = Restore::restore(saved)?;
        self.stuck = Restore::restore(saved)?;
        self.pushes = Restore::restore(saved)?;
        self.rounds = Restore::restore(saved)?;
        self.moved = Restore::restore(saved)?;
        Ok(())
    }
}

impl CoveragePolicy for WindowedRankMass {
    fn pushes(&self) -> u64 {
        self.pushes
    }
}
