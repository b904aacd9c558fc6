//! Local push: importance from the links that are stored, moved on between fetches.
//!
//! What every page has by the links known so far is kept by [`Standing`]; after each event a bounded number
//! of links is followed to pass on what is owed (Gauss–Southwell on the residuals, as in McSherry 2005 and
//! Andersen, Chung, Lang 2006). One fetch of every page is enough to know the fixpoint: OPIC, which keeps no
//! links, must fetch a page again to move its cash once more. When a page's links change, what went through
//! the old ones is taken back and the neighbourhood adapts; nothing is reckoned anew.
//!
//! *Order.* Pages whose links are not known come first. By `select=greedy` the one with most importance by
//! the known links is next; `drawn` draws them in proportion to it, and `mixed` in proportion to its square, so
//! to speak: the rank is what a page has, divided by the page's lot (exponentially distributed, fixed by the
//! seed) or by the root of the lot. Greedy order stays within tight clusters that feed each other, and their
//! importance is then far too high until the rest is known. Pages whose links are known are fetched again in
//! turn, the important ones more often: each rests for a time that falls with the root of its importance,
//! which is near the best order for pages that change equally often.
//!
//! *Estimate.* In the middle of a crawl only links of fetched pages bring anything. If those hold the share s
//! of what there is, what known links brought a page is multiplied by 1 + `foresee` · (1/s − 1): with 1 the
//! links not known are supposed to lead where the known ones do. With all links known that is 1.
//!
//! A page that moved counts as one with a single link; a page that is gone or refused counts for nothing, and
//! what goes there is the virtual page's. A page that does not come is asked for again later.
//!
//! Invariant: that of [`Standing`], to the unit, after every event. Cost: O(work + links · log pages) an event;
//! 25 bytes a page beyond the ranking. The estimate is O(1).

use std::collections::BTreeMap;
use std::io;

use turnstone_frontier::{
    Event, Fault, Links, PageId, Policy, Rank, Ranking, Restore, Save, Tick, corrupt,
};

use super::estimator::{Estimator, Gauges};
use super::options::{OpicOptions, parameter, read_virtual_edge, weight};
use super::shares::Weight;
use super::standing::{ENDOWED, Standing};
use crate::catalog::{PolicyInfo, Question};
use crate::spec::{Spec, SpecError};

/// After how long a page without a verdict is asked for again.
const RETRY_MS: u64 = 60_000;

/// Pages whose links are not known rank from here, the others below.
const FRESH: Rank = 1 << 40;

/// What `exact` and `work` may be at most.
const EXACT_MAX: u32 = 1 << 20;
const WORK_MAX: usize = 1 << 24;

/// Which page is fetched next among those never fetched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Select {
    /// The most important by the links known.
    Greedy,
    /// Between the others.
    Mixed,
    /// By lot, in proportion to that importance.
    Drawn,
}

/// What can be set.
#[derive(Clone, Copy, Debug)]
struct Options {
    select: Select,
    foresee: Weight,
    work: usize,
    exact: u32,
}

/// The estimator.
#[derive(Debug)]
pub struct LocalPush {
    options: Options,
    seed: u64,
    standing: Standing,
    /// Pages that stand for another.
    moved: BTreeMap<PageId, PageId>,
    visits: u64,
    buffer: Vec<PageId>,
}

/// The links of pages; of a page that moved, the one to where it leads.
struct Led<'a> {
    links: &'a dyn Links,
    moved: &'a BTreeMap<PageId, PageId>,
}

impl Links for Led<'_> {
    fn links_of<'a>(&'a self, page: PageId, buffer: &'a mut Vec<PageId>) -> &'a [PageId] {
        match self.moved.get(&page) {
            Some(to) => std::slice::from_ref(to),
            None => self.links.links_of(page, buffer),
        }
    }
}

/// Where the links are that a page had until now.
#[derive(Clone, Copy)]
enum Past<'a> {
    /// Its latest copy has just replaced the one that had them.
    Replaced(&'a dyn Links),
    /// Its latest copy has them.
    Latest(&'a dyn Links),
}

impl<'a> Past<'a> {
    fn links_of(self, page: PageId, room: &'a mut Vec<PageId>) -> &'a [PageId] {
        match self {
            Self::Replaced(links) => links.old_links_of(page, room),
            Self::Latest(links) => links.links_of(page, room),
        }
    }
}

impl LocalPush {
    /// An estimator that knows no page yet, as a spec says.
    pub fn of(spec: &Spec, seed: u64) -> Result<Self, SpecError> {
        spec.find(Question::Importance)?;
        let selects = [
            ("greedy", Select::Greedy),
            ("mixed", Select::Mixed),
            ("drawn", Select::Drawn),
        ];
        let number = |parameter, default: usize, most: usize| {
            let wanted = format!("a whole number from 1 to {most}");
            spec.read(parameter, default, &wanted, |value| {
                value.parse().ok().filter(|n| (1..=most).contains(n))
            })
        };
        let options = Options {
            select: spec.choice("select", Select::Mixed, &selects)?,
            foresee: weight(spec, "foresee", Weight::ONE, 10.0)?,
            work: number("work", 1024, WORK_MAX)?,
            exact: number("exact", 256, EXACT_MAX as usize)? as u32,
        };
        Ok(Self {
            options,
            seed,
            standing: Standing::with_edge(read_virtual_edge(spec)?, options.exact),
            moved: BTreeMap::new(),
            visits: 0,
            buffer: Vec::new(),
        })
    }

    /// How importance stands by the links known.
    pub fn standing(&self) -> &Standing {
        &self.standing
    }

    /// A page was fetched or moved: from now on these are its links.
    fn relink(&mut self, page: PageId, found: &[PageId], past: Past<'_>, ranking: &mut Ranking) {
        let mut room = std::mem::take(&mut self.buffer);
        let moved = self.moved.remove(&page);
        let flows = self.standing.flows(page);
        let old = match &moved {
            Some(to) => std::slice::from_ref(to),
            None if flows => past.links_of(page, &mut room),
            None => &[],
        };
        if !flows || old != found {
            let mut tell = teller(self.options.select, self.seed, ranking);
            self.standing.relink(page, old, found, &mut tell);
        }
        self.buffer = room;
    }

    /// A page is not there any more.
    fn lose(&mut self, page: PageId, past: Past<'_>, ranking: &mut Ranking) {
        let mut room = std::mem::take(&mut self.buffer);
        let moved = self.moved.remove(&page);
        let old = match &moved {
            Some(to) => std::slice::from_ref(to),
            None if self.standing.flows(page) => past.links_of(page, &mut room),
            None => &[],
        };
        let mut tell = teller(self.options.select, self.seed, ranking);
        self.standing.lose(page, old, &mut tell);
        self.buffer = room;
    }

    fn work(&mut self, links: &dyn Links, ranking: &mut Ranking) {
        let led = Led {
            links,
            moved: &self.moved,
        };
        let mut tell = teller(self.options.select, self.seed, ranking);
        self.standing
            .work_telling(self.options.work, &led, &mut tell);
    }

    /// Puts a page that came back in the line for its next fetch.
    fn enter(&self, page: PageId, ranking: &mut Ranking) {
        let rank = if self.standing.flows(page) {
            FRESH - 1 - self.turn(page).min(FRESH - 2)
        } else {
            fresh_rank(&self.standing, page, self.options.select, self.seed)
        };
        ranking.set(page, rank);
    }

    /// After how many visits in all a page is due again.
    fn turn(&self, page: PageId) -> u64 {
        let known = self.standing.known() as u64;
        let has = self.standing.has(page).max(0).unsigned_abs();
        // The root of its share of what there is, 32 being that of an average page.
        let scaled = u128::from(has) * 1024 * self.standing.there() as u128;
        let scaled = scaled / self.standing.total().max(1).unsigned_abs();
        let root = u64::try_from(scaled.isqrt()).unwrap_or(u64::MAX).max(1);
        self.visits
            .saturating_add((known.saturating_mul(32) / root).max(1))
    }
}

/// Ranks pages whose links are not known whenever something comes to them.
fn teller(select: Select, seed: u64, ranking: &mut Ranking) -> impl FnMut(&Standing, PageId) {
    move |standing, page| ranking.set(page, fresh_rank(standing, page, select, seed))
}

fn fresh_rank(standing: &Standing, page: PageId, select: Select, seed: u64) -> Rank {
    let has = u128::from(standing.has(page).max(0).unsigned_abs());
    let lot = u128::from(lot(seed, page));
    let rank = match select {
        Select::Greedy => has,
        Select::Mixed => (has << 8) / lot.isqrt(),
        Select::Drawn => (has << 16) / lot,
    };
    let rank = u64::try_from(rank).unwrap_or(u64::MAX);
    FRESH.saturating_add(rank.min(u64::MAX / 4))
}

/// A page's lot, at least 1 and 65,536 · log₂ e on average: −log₂ of a number drawn evenly between 0 and 1,
/// straight between powers of two, so that it is the same on every machine.
fn lot(seed: u64, page: PageId) -> u64 {
    // The finish of splitmix64.
    let mut bits = seed.wrapping_add((u64::from(page.0) + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits = (bits ^ (bits >> 31)) | 1;
    let zeros = bits.leading_zeros();
    let fraction = (bits << zeros << 1) >> 48;
    (u64::from(zeros) << 16) + (1 << 16) - fraction
}

impl Policy for LocalPush {
    fn observe(&mut self, event: &Event<'_>, now: Tick, links: &dyn Links, ranking: &mut Ranking) {
        match *event {
            Event::Discovered { page, .. } => {
                if page.index() == self.standing.known() {
                    self.standing.know();
                    self.enter(page, ranking);
                } else if self.standing.is_gone(page) {
                    self.standing.come_back(page);
                    self.enter(page, ranking);
                }
                return;
            }
            Event::Fetched {
                page, links: found, ..
            } => {
                ranking.take(page);
                self.visits += 1;
                self.relink(page, found, Past::Replaced(links), ranking);
                self.enter(page, ranking);
            }
            Event::Moved { page, to } => {
                ranking.take(page);
                self.visits += 1;
                self.relink(page, &[to], Past::Latest(links), ranking);
                self.moved.insert(page, to);
                self.enter(page, ranking);
            }
            Event::Failed {
                page,
                fault: Fault::Gone | Fault::Refused,
            } => {
                ranking.take(page);
                self.visits += 1;
                self.lose(page, Past::Latest(links), ranking);
            }
            Event::Failed { page, fault } => {
                if self.standing.is_gone(page) {
                    ranking.take(page);
                } else {
                    self.enter(page, ranking);
                    match fault {
                        Fault::Unknown => ranking.defer(page, now.plus(RETRY_MS)),
                        _ => ranking.queue(page),
                    }
                }
            }
            Event::Round { .. } => {}
            Event::Held { .. }
            | Event::Unseen { .. }
            | Event::Hinted { .. }
            | Event::Crossed(_)
            | Event::Guessed { .. } => return,
        }
        self.work(links, ranking);
    }

    fn save(&self, out: &mut dyn io::Write) -> io::Result<()> {
        self.standing.save(out)?;
        self.moved.save(out)?;
        self.visits.save(out)
    }

    fn restore(&mut self, saved: &mut dyn io::Read) -> io::Result<()> {
        self.standing.restore_into(saved)?;
        self.moved = Restore::restore(saved)?;
        self.visits = Restore::restore(saved)?;
        let known = |page: &PageId| page.index() < self.standing.known();
        if !self.moved.iter().all(|(page, to)| known(page) && known(to)) {
            return Err(corrupt("pages that moved and are not known"));
        }
        Ok(())
    }
}

impl Estimator for LocalPush {
    fn importance(&self, page: PageId, _: &Ranking) -> f64 {
        if page.index() >= self.standing.known() || self.standing.is_gone(page) {
            return 0.0;
        }
        let has = self.standing.has(page) as f64;
        let (total, spoken) = (self.standing.total() as f64, self.standing.spoken() as f64);
        if spoken <= 0.0 {
            return has / total;
        }
        let endowed = ENDOWED as f64;
        let factor = 1.0 + self.options.foresee.number() * (total / spoken - 1.0);
        let endowed_of_all = endowed * self.standing.there() as f64;
        let of_all = endowed_of_all + (total - endowed_of_all) * factor;
        (endowed + (has - endowed) * factor) / of_all
    }

    fn gauges(&self) -> Gauges {
        Gauges {
            visits: self.visits,
            clock: None,
            measures_per_node: 1.0,
            allocated_bytes: self.standing.allocated_bytes(),
        }
    }

    fn cash(&self, _: PageId, _: &Ranking) -> Option<u64> {
        None
    }

    fn audit(&self, _: &Ranking) {
        self.standing.audit();
    }
}

/// What the lab must know of the chain that a spec walks.
pub(super) fn as_options(spec: &Spec) -> Result<OpicOptions, SpecError> {
    LocalPush::of(spec, 0)?;
    Ok(OpicOptions {
        virtual_edge: read_virtual_edge(spec)?,
        ..OpicOptions::default()
    })
}

/// The catalogue entry.
pub(super) const INFO: PolicyInfo = PolicyInfo {
    name: "local-push",
    questions: &[Question::Importance],
    summary: "importance moved along stored links between fetches: known after one crawl",
    paper: "McSherry, A Uniform Approach to Accelerated PageRank Computation, 2005",
    cost: "O(work + links log pages) per event; 25 bytes per page",
    parameters: &[
        parameter(
            "select",
            "mixed",
            "the next page never fetched: greedy (the most important by known links), drawn (by lot, \
             in proportion to that) or mixed (between them)",
        ),
        parameter(
            "foresee",
            "1",
            "how far unknown links are supposed to lead where known ones do, 0 to 10",
        ),
        parameter("work", "1024", "links followed after each event, at most"),
        parameter(
            "exact",
            "256",
            "a page passes on what it is owed from one part in so many of what each page begins with",
        ),
        parameter(
            "virtual",
            "edge",
            "what goes to the virtual page: edge (one more link) or fraction, which makes PageRank",
        ),
        parameter(
            "weight",
            "1 or 0.15",
            "weight of that link (1), or that fraction (0.15)",
        ),
    ],
};
