//! How much of a store is still current after a round, judged from what the round saw by chance.
//!
//! Pages that a policy chose say nothing of those it passed over: they were chosen because they
//! change. Pages drawn at random do, where it is known with which chance ([`Chance`], logged with every
//! fetch): each stands for one over its chance (Horvitz and Thompson 1952), and the share of pages that
//! had changed is the mean of what was seen with these weights (Hájek 1971).
//!
//! Of N stored pages a round looked at some for certain and at others by chance. Those drawn stand for
//! the sum M of their weights: for all pages, if those chosen for certain could have been drawn as well,
//! and for the rest, if not; between the two M tells, and the certain pages it leaves out count for
//! themselves. Pages that the round looked at are current now, changed or not; so what is out of date is
//! what had changed, less what the round itself found. The interval is Wilson's at 95 %, with the effective
//! sample size (Kish 1965) and the finite-population correction, as for `revive`; it is cut to what is sure:
//! no page looked at is out of date.
//!
//! Where no page was drawn nothing is estimated; what is sure is all there is to say.
//!
//! Cost: one scan of the round in the journal.

use turnstone_frontier::{Chance, Change, Fault};
use turnstone_pagestore::{Entry, Fold, Settled, Written};

use crate::backtest::liveness::EFFECTIVE_MIN;

/// Of the normal distribution, 95 % lie within so many deviations.
const DEVIATIONS: f64 = 1.959_964;

/// What a round saw of stored pages.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Looks {
    /// Pages chosen for certain, and those of them that had changed.
    certain: (u64, u64),
    /// Pages drawn at random, and those of them that had changed.
    drawn: (u64, u64),
    /// Of pages drawn: the sum of weights, that of those that had changed, and of squares.
    weights: (f64, f64, f64),
}

/// An estimate of freshness.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Freshness {
    /// Stored pages.
    pub pages: u64,
    /// Pages the round looked at and drew at random.
    pub drawn: u64,
    /// So many pages drawn with equal chances would tell as much.
    pub effective: f64,
    /// The share of stored pages whose copy is current; none where too few pages were drawn.
    pub share: Option<f64>,
    /// It is hardly less: at 95 % with what is above. Without a page drawn it is surely no less.
    pub low: f64,
    /// And hardly more.
    pub high: f64,
}

impl Looks {
    /// Adds a look at a page: whether its copy was out of date, and the chance to be looked at.
    pub fn add(&mut self, changed: bool, chance: Chance) {
        let (looks, of_changed) = if chance == Chance::CERTAIN {
            &mut self.certain
        } else {
            let (all, of_changed, squares) = &mut self.weights;
            let weight = chance.weight();
            *all += weight;
            *of_changed += if changed { weight } else { 0.0 };
            *squares += weight * weight;
            &mut self.drawn
        };
        *looks += 1;
        *of_changed += u64::from(changed);
    }

    /// Of the pages that those drawn stand for, the share that had changed before the round; none
    /// where no page was drawn.
    pub fn changed_share(&self) -> Option<f64> {
        let (all, of_changed, _) = self.weights;
        (self.drawn.0 > 0).then(|| of_changed / all)
    }

    /// So many pages drawn with equal chances would tell as much.
    pub fn effective(&self) -> f64 {
        let (all, _, squares) = self.weights;
        all * all / squares.max(f64::MIN_POSITIVE)
    }

    /// How fresh a store of so many pages is after the round.
    pub fn freshness(&self, pages: u64) -> Freshness {
        let looked = self.certain.0 + self.drawn.0;
        let pages = pages.max(looked);
        let sure = looked as f64 / pages.max(1) as f64;
        let mut freshness = Freshness {
            pages,
            drawn: self.drawn.0,
            effective: self.effective(),
            share: None,
            low: sure,
            high: 1.0,
        };
        if looked == pages {
            freshness.share = (pages > 0).then_some(1.0);
        } else if let Some(share) = self.changed_share() {
            let (low, high) = self.wilson(share, pages);
            freshness.low = self.current(high, pages);
            freshness.high = self.current(low, pages);
            let enough = freshness.effective >= EFFECTIVE_MIN;
            freshness.share = enough.then(|| self.current(share, pages));
        }
        freshness
    }

    /// How many pages those drawn stand for: at least all that were not chosen for certain.
    fn stand_for(&self, pages: u64) -> f64 {
        let (all, _, _) = self.weights;
        all.clamp((pages - self.certain.0) as f64, pages as f64)
    }

    /// The share of pages that are current after the round, if of those that the drawn stand for this
    /// share had changed before it.
    fn current(&self, changed: f64, pages: u64) -> f64 {
        let (certain, drawn) = (self.certain, self.drawn);
        let stand_for = self.stand_for(pages);
        let for_themselves = pages as f64 - stand_for;
        let chosen = certain.1 as f64 / certain.0.max(1) as f64;
        let had_changed = stand_for * changed + for_themselves * chosen;
        let not_looked_at = (pages - certain.0 - drawn.0) as f64;
        let stale = (had_changed - (certain.1 + drawn.1) as f64).clamp(0.0, not_looked_at);
        1.0 - stale / pages as f64
    }

    /// Wilson's interval around a share.
    fn wilson(&self, share: f64, pages: u64) -> (f64, f64) {
        let (stand_for, effective) = (self.stand_for(pages), self.effective());
        let rest = stand_for - effective;
        if rest <= 0.0 {
            return (share, share);
        }
        let tests = effective * (stand_for - 1.0).max(1.0) / rest;
        let square = DEVIATIONS * DEVIATIONS;
        let centre = share + square / (2.0 * tests);
        let spread =
            DEVIATIONS * (share * (1.0 - share) / tests + square / (4.0 * tests * tests)).sqrt();
        let whole = 1.0 + square / tests;
        let side = |bound: f64| (bound / whole).clamp(0.0, 1.0);
        (side(centre - spread), side(centre + spread))
    }
}

/// What the rounds saw that a journal tells of.
impl<E> Fold<E> for Looks {
    fn see(&mut self, _: Written, entry: &Entry<'_>) -> Result<(), E> {
        let Entry::Outcome(outcome) = entry else {
            return Ok(());
        };
        let changed = match outcome.settled {
            Settled::Fetched(change) => change == Change::Changed,
            Settled::Moved(_) | Settled::Failed(Fault::Gone) => true,
            Settled::Failed(Fault::Unknown | Fault::Refused | Fault::Lost) => return Ok(()),
        };
        self.add(changed, Chance::from_units(outcome.facts.chance));
        Ok(())
    }
}
