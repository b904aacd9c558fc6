//! OPIC: how important each page is, while crawling, without keeping the links.
//!
//! There is a fixed amount of cash. Reading a page hands its cash to the pages it links to, and a
//! little to a *virtual page* that gives it back to all pages alike (Abiteboul, Preda, Cobena
//! 2003). The cash that passes through a page, as a share of all that passes (the clock G), tends
//! to its importance, in whatever order pages are read; reading the richest page first (*greedy*)
//! is the fastest way to move cash. A page that was read may be read again at once.
//!
//! The virtual page holds all cash until the first answer comes, and then pays it to the pages
//! known by then. Later it is a candidate like any page (`pay=ordinary`) or pays after every read
//! (`eager`); reading it is no fetch and does not move the clock. A page that does not come
//! (`Unknown`) is read as one without links and asked again later; a page that is gone or refused
//! gives its cash, and all that is sent to it, to the virtual page; a page that moved passes its
//! cash on whole. So cash is conserved exactly: [`Opic::audit`].
//!
//! Cost: O(links · log pages) a read by greedy, O(links + log pages) by the others. Beyond the
//! ranking: the window's bytes per page (8 for none, 7 for interpolation), and 8 for cash unless
//! greedy. `links=both` keeps who links to whom: the one option that needs memory per link.

use std::collections::VecDeque;
use std::io;

use turnstone_frontier::{
    Chance, Event, Fault, HostId, Links, PageId, Policy, Ranking, Restore, Save, Tick, corrupt,
};

use super::backlinks::Backlinks;
use super::bank::{Bank, Node};
use super::discovery::Discovery;
use super::estimator::{Estimator, Gauges};
use super::history::{History, Present};
use super::nodes::{Nodes, Rings};
use super::options::{NodeKind, OpicOptions, Pay, Select, WhichLinks};
use super::shares::{Bonus, Shares, Weight};
use super::turns::Turns;
use crate::mass::{ONE, as_fraction};

/// After how long a page without a verdict is asked for again.
const RETRY_MS: u64 = 60_000;

/// How many pages count as recently introduced.
const RECENT: usize = 32;

/// On-line page importance computation.
#[derive(Debug)]
pub struct Opic {
    pub(super) shares: Shares,
    pay: Pay,
    pub(super) bonus: Bonus,
    pub(super) nodes: Nodes,
    pub(super) bank: Bank,
    /// Who is next, unless it is the richest.
    turns: Option<Turns>,
    history: History,
    /// G: all cash read so far, in the bank's units.
    clock: u128,
    visits: u64,
    /// The nodes introduced last, after the first visit.
    recent: VecDeque<u32>,
    discovery: Option<Discovery>,
    pub(super) backlinks: Option<Backlinks>,
    /// The nodes a page links to, and whether they are the page's own host. Reused.
    pub(super) targets: Vec<(Node, bool)>,
    pub(super) buffer: Vec<PageId>,
}

impl Opic {
    /// An estimator that knows no page yet.
    pub fn new(options: OpicOptions, bonus: Bonus, seed: u64) -> Self {
        Self {
            shares: Shares {
                virtual_edge: options.virtual_edge,
                internal: options.internal,
            },
            pay: options.pay,
            bonus,
            nodes: match options.nodes {
                NodeKind::Page => Nodes::Pages { count: 0 },
                NodeKind::Host | NodeKind::Site => Nodes::Hosts(Rings::default()),
            },
            bank: Bank::new(options.select == Select::Greedy),
            turns: match options.select {
                Select::Greedy => None,
                Select::Cycle => Some(Turns::cycle()),
                Select::Random => Some(Turns::random(seed)),
            },
            history: History::new(options.window),
            clock: 0,
            visits: 0,
            recent: VecDeque::new(),
            discovery: (options.discover != Weight::ZERO).then(|| Discovery::new(options.discover)),
            backlinks: (options.links == WhichLinks::Both).then(Backlinks::default),
            targets: Vec::new(),
            buffer: Vec::new(),
        }
    }

    /// The importance of a page, or of its host where hosts are the nodes: about its share of all
    /// cash that passes. 0 for a page that is gone. O(1), or O(measures) with those windows.
    pub fn importance(&self, page: PageId, ranking: &Ranking) -> f64 {
        let node = self.nodes.of(page, ranking.host(page));
        node.map_or(0.0, |node| self.node_importance(node, ranking))
    }

    /// The clock G: how often all the cash there is has been read. 1/G bounds the error.
    pub fn clock(&self) -> f64 {
        self.clock as f64 / ONE as f64
    }

    /// How many pages have been read.
    pub fn visits(&self) -> u64 {
        self.visits
    }

    /// The cash a page has earned since it was last read, of [`ONE`] in all; 0 for one that is gone.
    pub fn cash(&self, page: PageId, ranking: &Ranking) -> u64 {
        let node = self.nodes.of(page, ranking.host(page));
        let cash = node.and_then(|node| self.bank.cash(node, ranking));
        cash.unwrap_or(0)
    }

    /// The share of all cash that lies at the virtual page.
    pub fn virtual_cash(&self) -> f64 {
        as_fraction(self.bank.virtual_cash())
    }

    /// How many measures are kept per node, on average.
    pub fn measures_per_node(&self) -> f64 {
        self.history.measure_count(self.clock()) as f64 / self.nodes.len().max(1) as f64
    }

    /// The bytes that cash and histories take beyond the ranking, as allocated.
    pub fn allocated_bytes(&self) -> usize {
        self.bank.allocated_bytes() + self.history.allocated_bytes() + self.nodes.allocated_bytes()
    }

    /// Asserts that no cash was made or lost: O(pages). For tests, and on demand.
    pub fn audit(&self, ranking: &Ranking) {
        self.bank.audit(self.nodes.all(), ranking);
    }

    fn node_importance(&self, node: Node, ranking: &Ranking) -> f64 {
        let cash = self.bank.cash(node, ranking);
        cash.map_or(0.0, |cash| {
            let present = self.present(as_fraction(cash));
            self.history.importance(node.index, present)
        })
    }

    fn present(&self, cash: f64) -> Present {
        Present {
            now: self.clock(),
            cash,
            cash_of_all: as_fraction(ONE - self.bank.virtual_cash()),
        }
    }

    fn introduce(&mut self, page: PageId, host: HostId, ranking: &mut Ranking) {
        let known = self.nodes.len();
        let node = self.nodes.keep(page, host);
        let importance = self.importance_of_recent(ranking);
        while self.history.len() < self.nodes.len() {
            self.history.introduce(importance, self.present(0.0));
        }
        let is_new = self.nodes.len() > known;
        if is_new && self.visits > 0 {
            self.recent.truncate(RECENT - 1);
            self.recent.push_front(PageId::from_index(node.index).0);
        }
        if self.bank.cash(node, ranking).is_none() {
            if !is_new {
                self.history.begin_anew(node.index, self.clock());
            }
            self.enter(node, ranking);
        }
    }

    /// The mean importance of the nodes introduced last.
    fn importance_of_recent(&self, ranking: &Ranking) -> f64 {
        let recent = self.recent.iter();
        let recent = recent.filter_map(|index| self.nodes.at(*index as usize));
        let sum: f64 = recent.map(|node| self.node_importance(node, ranking)).sum();
        sum / self.recent.len().max(1) as f64
    }

    /// The node comes into the game without cash, and its holder into the queue.
    #[inline]
    fn enter(&mut self, node: Node, ranking: &mut Ranking) {
        self.bank.open(node, ranking);
        if let Some(turns) = &mut self.turns {
            ranking.set(node.holder, turns.draw_rank());
        }
    }

    /// A page came back: takes it out of the ranking and its node out of the game. Returns the
    /// node and its cash; none for a page that does not stand for its host.
    #[inline]
    fn leave(&mut self, page: PageId, ranking: &mut Ranking) -> Option<(Node, u64)> {
        let node = self.nodes.of(page, ranking.host(page));
        let Some(node) = node.filter(|node| node.holder == page) else {
            ranking.take(page);
            return None;
        };
        let cash = self.bank.close(node, ranking);
        let rank = ranking.take(page);
        if let Some(turns) = &mut self.turns {
            turns.taken(rank);
        }
        Some((node, cash))
    }

    /// Reads a page: its cash enters the history and goes to the pages it links to.
    fn read(&mut self, page: PageId, found: &[PageId], links: &dyn Links, ranking: &mut Ranking) {
        self.visits += 1;
        self.nodes.keep(page, ranking.host(page));
        let Some((node, cash)) = self.leave(page, ranking) else {
            return;
        };
        let next = self.nodes.pass_turn(node);
        self.enter(next, ranking);
        self.clock += u128::from(cash);
        self.history
            .record(node.index, as_fraction(cash), self.clock());
        if let Some(discovery) = &mut self.discovery {
            discovery.read(node.index);
        }
        self.distribute(page, cash, found, links, ranking);
    }

    /// The page is gone, or may not be asked for.
    fn lose(&mut self, page: PageId, ranking: &mut Ranking) {
        let host = ranking.host(page);
        let left = self.leave(page, ranking);
        let successor = self.nodes.drop_page(page, host);
        let Some((node, cash)) = left else {
            return;
        };
        match successor {
            Some(next) => {
                self.enter(next, ranking);
                self.bank.give(next, cash, ranking);
            }
            None => {
                self.bank.give_virtual(cash);
                self.history.forget(node.index);
            }
        }
    }

    /// The page stands for another: its cash belongs there. It is no page of its own, so nothing
    /// enters its history; it may be asked again, for it may lead elsewhere then.
    fn forward(&mut self, page: PageId, to: PageId, ranking: &mut Ranking) {
        let Some((node, cash)) = self.leave(page, ranking) else {
            return;
        };
        let next = self.nodes.pass_turn(node);
        self.enter(next, ranking);
        let target = self.nodes.of(to, ranking.host(to));
        match target.filter(|target| target.index != node.index) {
            Some(target) => self.bank.give(target, cash, ranking),
            None if matches!(self.nodes, Nodes::Hosts(_)) => self.bank.give(next, cash, ranking),
            None => self.bank.give_virtual(cash),
        }
    }

    /// All cash lies at the virtual page until there is a first answer.
    fn begin(&mut self, ranking: &mut Ranking) {
        if self.clock == 0 && self.bank.virtual_cash() == ONE {
            self.take_virtual_turn(ranking);
        }
    }

    /// The virtual page pays when its turn has come.
    fn settle(&mut self, ranking: &mut Ranking) {
        match self.pay {
            Pay::Eager => self.pay(ranking),
            Pay::Ordinary => {
                while self.virtual_is_next(ranking) {
                    self.take_virtual_turn(ranking);
                }
            }
        }
    }

    #[inline]
    fn virtual_is_next(&self, ranking: &Ranking) -> bool {
        // Less than a unit each is nothing to pay.
        let cash = self.bank.virtual_cash();
        match (ranking.best_queued(), &self.turns) {
            (Some((_, best)), None) => {
                cash >= self.bank.open_count() && self.bank.purse_of(cash) > best
            }
            (Some((_, best)), Some(turns)) => turns.virtual_is_before(best),
            (None, _) => false,
        }
    }

    fn take_virtual_turn(&mut self, ranking: &mut Ranking) {
        if let Some(turns) = &mut self.turns {
            turns.virtual_taken();
        }
        self.pay(ranking);
    }

    fn pay(&mut self, ranking: &mut Ranking) {
        if let Some(discovery) = self.discovery.as_mut().filter(|_| self.visits > 0) {
            let (bank, nodes) = (&self.bank, &self.nodes);
            let in_game = |index| {
                let node = nodes.at(index);
                node.filter(|node| bank.cash(*node, ranking).is_some())
            };
            if let Some(unread) = discovery.next_unread(nodes.len(), in_game) {
                let part = discovery.part(bank.virtual_cash());
                let cash = self.bank.take_virtual(part);
                self.bank.give(unread, cash, ranking);
            }
        }
        self.bank.pay_all(self.nodes.all(), ranking);
    }
}

impl Policy for Opic {
    fn observe(&mut self, event: &Event<'_>, now: Tick, links: &dyn Links, ranking: &mut Ranking) {
        match *event {
            Event::Discovered { page, host, .. } => return self.introduce(page, host, ranking),
            Event::Held { .. }
            | Event::Unseen { .. }
            | Event::Hinted { .. }
            | Event::Crossed(_)
            | Event::Guessed { .. }
            | Event::Round { .. } => return,
            Event::Fetched { .. } | Event::Failed { .. } | Event::Moved { .. } => {
                self.begin(ranking);
            }
        }
        match *event {
            Event::Fetched {
                page, links: found, ..
            } => self.read(page, found, links, ranking),
            Event::Failed { page, fault } => match fault {
                Fault::Gone | Fault::Refused => self.lose(page, ranking),
                Fault::Unknown => {
                    self.read(page, &[], links, ranking);
                    if ranking.rank(page) > 0 {
                        ranking.defer(page, now.plus(RETRY_MS));
                    }
                }
                Fault::Lost if ranking.rank(page) > 0 => ranking.queue(page),
                Fault::Lost => {
                    ranking.take(page);
                }
            },
            Event::Moved { page, to } => self.forward(page, to, ranking),
            Event::Discovered { .. }
            | Event::Held { .. }
            | Event::Unseen { .. }
            | Event::Hinted { .. }
            | Event::Crossed(_)
            | Event::Guessed { .. }
            | Event::Round { .. } => {}
        }
        self.settle(ranking);
    }

    /// Of random turns each page is as likely to be next: one of all that are known, or likelier
    /// where some cannot be asked now.
    fn chance(&self, _: PageId, ranking: &Ranking) -> Chance {
        match &self.turns {
            Some(turns) if turns.is_random() => Chance::of(1, ranking.page_count() as u64),
            _ => Chance::CERTAIN,
        }
    }

    fn save(&self, out: &mut dyn io::Write) -> io::Result<()> {
        self.nodes.save(out)?;
        self.bank.save(out)?;
        self.turns.save(out)?;
        self.history.save(out)?;
        self.clock.save(out)?;
        self.visits.save(out)?;
        self.recent.save(out)?;
        if let Some(discovery) = &self.discovery {
            discovery.save(out)?;
        }
        self.backlinks
            .as_ref()
            .map_or(Ok(()), |known| known.save(out))
    }

    fn restore(&mut self, saved: &mut dyn io::Read) -> io::Result<()> {
        self.nodes.restore_into(saved)?;
        self.bank = Restore::restore(saved)?;
        self.turns = Restore::restore(saved)?;
        self.history.restore_into(saved)?;
        self.clock = Restore::restore(saved)?;
        self.visits = Restore::restore(saved)?;
        self.recent = Restore::restore(saved)?;
        if let Some(discovery) = &mut self.discovery {
            discovery.restore_into(saved)?;
        }
        if self.backlinks.is_some() {
            self.backlinks = Some(Restore::restore(saved)?);
        }
        let count = self.nodes.len();
        if self.history.len() != count || self.recent.iter().any(|node| *node as usize >= count) {
            return Err(corrupt("pages and histories that do not agree"));
        }
        Ok(())
    }
}

impl Estimator for Opic {
    fn importance(&self, page: PageId, ranking: &Ranking) -> f64 {
        Self::importance(self, page, ranking)
    }

    fn gauges(&self) -> Gauges {
        Gauges {
            visits: self.visits,
            clock: Some(self.clock()),
            measures_per_node: self.measures_per_node(),
            allocated_bytes: self.allocated_bytes(),
        }
    }

    fn cash(&self, page: PageId, ranking: &Ranking) -> Option<u64> {
        Some(Self::cash(self, page, ranking))
    }

    fn audit(&self, ranking: &Ranking) {
        Self::audit(self, ranking);
    }
}
