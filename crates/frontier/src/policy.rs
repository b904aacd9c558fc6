//! What a policy is, and what it may see.

use std::io;

use crate::calendar::Tick;
use crate::chance::Chance;
use crate::event::Event;
use crate::id::PageId;
use crate::ranking::Ranking;
use crate::split::{Arm, Split};

/// Decides what a page is worth. Pure: no clock, no I/O, no global state.
pub trait Policy: Send {
    /// Folds one event in and re-ranks the pages it touches: O(links · log pages), amortised.
    ///
    /// The same events always give the same ranks. `links` answers for pages already fetched.
    fn observe(&mut self, event: &Event<'_>, now: Tick, links: &dyn Links, ranking: &mut Ranking);

    /// The chance with which the decision fell on a page that is about to be asked for: to be among
    /// the pages of its round, as that was drawn. Certain for policies that draw nothing, and for
    /// pages that follow from answers of the same round.
    fn chance(&self, page: PageId, ranking: &Ranking) -> Chance {
        let _ = (page, ranking);
        Chance::CERTAIN
    }

    /// What the policy can tell beside its ranks. Nothing, unless it proves or divides something.
    fn report(&self) -> Report<'_> {
        Report::default()
    }

    /// Writes the whole state, random generator included. Ranks are saved by the scheduler.
    fn save(&self, out: &mut dyn io::Write) -> io::Result<()>;

    /// Becomes the saved policy: from here on both decide alike.
    fn restore(&mut self, saved: &mut dyn io::Read) -> io::Result<()>;
}

impl<P: Policy + ?Sized> Policy for Box<P> {
    fn observe(&mut self, event: &Event<'_>, now: Tick, links: &dyn Links, ranking: &mut Ranking) {
        (**self).observe(event, now, links, ranking);
    }

    fn chance(&self, page: PageId, ranking: &Ranking) -> Chance {
        (**self).chance(page, ranking)
    }

    fn report(&self) -> Report<'_> {
        (**self).report()
    }

    fn save(&self, out: &mut dyn io::Write) -> io::Result<()> {
        (**self).save(out)
    }

    fn restore(&mut self, saved: &mut dyn io::Read) -> io::Result<()> {
        (**self).restore(saved)
    }
}

/// What a policy can tell beside its ranks: each part is there for the policies that have it, so that a
/// policy that only ranks says nothing, and one that wraps another passes on one value.
#[derive(Clone, Copy, Default)]
pub struct Report<'a> {
    /// Of policies that prove coverage.
    pub proof: Option<&'a dyn Proof>,
    /// Of policies that divide one budget among several ends.
    pub ends: Option<&'a dyn Ends>,
}

/// What a policy proves about the pages fetched so far.
pub trait Proof {
    /// The bounds as they stand.
    fn coverage(&self) -> Coverage;

    /// How much of what is not proven lies at a page, in units of [`Coverage::ONE`], where the
    /// policy keeps such an account.
    fn residual(&self, page: PageId, ranking: &Ranking) -> Option<u64> {
        let _ = (page, ranking);
        None
    }

    /// The account of a shard, where it can be split.
    fn shard(&self) -> Option<&dyn Shard> {
        None
    }
}

/// The account of one shard of a crawl.
pub trait Shard {
    /// Where all its mass is.
    fn masses(&self) -> Masses;

    /// Pages of this shard that cannot be had, in the order in which that was learnt: those that sent
    /// mass for them take it back. It only ever grows.
    fn dead(&self) -> &[PageId];

    /// What was sent for a page that is away and could be taken back; and through how many redirects
    /// between shards what it holds came.
    fn sent_for(&self, page: PageId) -> (u64, u8);
}

/// How a policy divides one budget among several ends.
pub trait Ends {
    /// The parts, where there are several.
    fn split(&self) -> Option<Split>;

    /// To which end a page is, or would be, asked for now.
    fn arm(&self, page: PageId) -> Option<Arm>;
}

/// What is proven of the share of personalised PageRank that is in the store, in units of
/// [`Coverage::ONE`].
///
/// The whole is what can be had: links to pages that are gone or refused do not count, unless the
/// policy was asked to count them. A page that is known and was not asked for yet is supposed to be
/// there, whatever it links to. With that, `guaranteed ≤ truth ≤ possible` at every moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Coverage {
    /// At least this much is in the store. Rounded down.
    pub guaranteed: u64,
    /// At least this much is in the store, with the confidence that was asked for; never less than is
    /// guaranteed. Nothing where none was asked for.
    pub certified: Option<u64>,
    /// At most this much is in the store as it is now: the rest surely lies at pages that are known
    /// and not stored. Rounded up. It grows again when more is fetched.
    pub possible: u64,
    /// This much can never be guaranteed, whatever is fetched: it left through links that nobody
    /// saw, leaked, was lost to rounding, or lies at dead pages where these count. Rounded down.
    pub stuck: u64,
    /// The goal the policy was given, in the same units.
    pub goal: u64,
}

/// Where all the mass of one shard is, in units of [`Coverage::ONE`] but in 128 bits: mass that goes round
/// between shards is counted each time it crosses.
///
/// `endowed + received − sent = covered + residuals + lost − owed`, after every event. Summed over shards
/// at *any* places of their journals, held + sent − received is what was endowed, ONE.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Masses {
    /// The trust in pages of this shard.
    pub endowed: u128,
    /// What came from other shards, less what they took back.
    pub received: u128,
    /// What went to other shards, less what was taken back.
    pub sent: u128,
    /// What is covered.
    pub covered: u128,
    /// What all pages hold, those that are away included.
    pub residuals: u128,
    /// What left through links that nobody saw, leaked, or could not be divided.
    pub lost: u128,
    /// What was taken back and had been covered here already: never claimed.
    pub owed: u128,
    /// What of the covered may be wrong.
    pub doubt: u128,
    /// So much surely lies at pages that are known and not stored.
    pub missing: u128,
    /// So much can never be guaranteed.
    pub stuck: u128,
}

impl Masses {
    /// Whether nothing appeared or vanished.
    pub fn balanced(&self) -> bool {
        self.endowed + self.received + self.owed
            == self.sent + self.covered + self.residuals + self.lost
    }

    /// What this shard has, and what it sent, less what came: summed over all shards it is ONE.
    pub fn total(&self) -> i128 {
        let signed = |mass: u128| i128::try_from(mass).expect("masses are far below 2^127");
        signed(self.covered + self.residuals + self.lost + self.sent)
            - signed(self.received + self.owed)
    }
}

impl Coverage {
    /// What several shards prove together. Each may speak of another moment: what is covered only grows,
    /// and a doubt of one lowers the claim of all, because what is wrong may have crossed.
    pub fn of_shards(shards: impl IntoIterator<Item = Masses>, goal: u64) -> Self {
        let mut sum = Masses::default();
        for masses in shards {
            sum.covered += masses.covered;
            sum.doubt += masses.doubt + masses.owed;
            sum.missing += masses.missing;
            sum.stuck += masses.stuck;
        }
        let one = |mass: u128| u64::try_from(mass).map_or(Self::ONE, |mass| mass.min(Self::ONE));
        Self {
            guaranteed: one(sum.covered.saturating_sub(sum.doubt)),
            certified: None,
            possible: Self::ONE - one(sum.missing.saturating_sub(sum.doubt)),
            stuck: one(sum.stuck.saturating_sub(sum.doubt)),
            goal,
        }
    }
}

impl Default for Coverage {
    /// Nothing is proven.
    fn default() -> Self {
        Self {
            guaranteed: 0,
            certified: None,
            possible: Self::ONE,
            stuck: 0,
            goal: 0,
        }
    }
}

impl Coverage {
    /// The whole of it.
    pub const ONE: u64 = 1 << 62;

    /// The goal is proven, or certified with the confidence that was asked for: nothing more needs to be
    /// fetched.
    pub fn met(&self) -> bool {
        self.guaranteed.max(self.certified.unwrap_or(0)) >= self.goal
    }

    /// Fetching on cannot prove the goal: too much is stuck.
    pub fn out_of_reach(&self) -> bool {
        !self.met() && Self::ONE - self.stuck < self.goal
    }

    /// The guarantee as a fraction, never more than was proven.
    pub fn guaranteed_fraction(&self) -> f64 {
        fraction_below(self.guaranteed)
    }

    /// What is certified as a fraction, never more than that; nothing where no confidence was asked for.
    pub fn certified_fraction(&self) -> Option<f64> {
        self.certified.map(fraction_below)
    }

    /// What is possible as a fraction, never less than that.
    pub fn possible_fraction(&self) -> f64 {
        let nearest = self.possible as f64;
        let above = if (nearest as u64) < self.possible {
            nearest.next_up()
        } else {
            nearest
        };
        above / Self::ONE as f64
    }
}

fn fraction_below(mass: u64) -> f64 {
    // ONE is a power of two, so only the conversion to 53 bits rounds.
    let nearest = mass as f64;
    let below = if nearest as u64 > mass {
        nearest.next_down()
    } else {
        nearest
    };
    below / Coverage::ONE as f64
}

/// What is known of pages beside events, wherever it is kept. A policy is lent it and keeps none.
pub trait Links {
    /// The distinct links of a fetched page. Reads into `buffer` only when it must decode.
    fn links_of<'a>(&'a self, page: PageId, buffer: &'a mut Vec<PageId>) -> &'a [PageId];

    /// The links of the copy that a page's latest copy replaced: the same, where links never change.
    fn old_links_of<'a>(&'a self, page: PageId, buffer: &'a mut Vec<PageId>) -> &'a [PageId] {
        self.links_of(page, buffer)
    }

    /// A number for the folder that a page lies in: the same for all pages of one folder, and in every
    /// process. Nothing where pages have no addresses.
    fn folder_of(&self, page: PageId) -> Option<u64> {
        let _ = page;
        None
    }
}

/// For policies that never look back.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoLinks;

impl Links for NoLinks {
    fn links_of<'a>(&'a self, _: PageId, _: &'a mut Vec<PageId>) -> &'a [PageId] {
        &[]
    }
}

/// PageRank over all stored links: a teleport vector in, a rank vector out.
///
/// The computation is parallel and lives with the link graph; a policy is handed this much of it.
pub trait WholeGraphRank: Send + Sync {
    /// How many pages there are: the length of both vectors.
    fn page_count(&self) -> usize;

    /// The rank of every page for this teleport vector. Must not depend on thread count.
    fn rank(&self, teleport: &[f64]) -> Vec<f64>;

    /// The ranks for two teleport vectors; an implementation may walk the links once for both.
    fn rank_pair(&self, teleports: [&[f64]; 2]) -> [Vec<f64>; 2] {
        teleports.map(|teleport| self.rank(teleport))
    }

    /// How many distinct pages link to each page.
    fn indegree(&self) -> Vec<u32>;
}
