//! A certificate of coverage: with confidence 1−α, at least so much is stored, from sampled surfers.
//!
//! The proof supposes that all mass which left the store stays outside. Most of it comes back, and how much can
//! be sampled. A surfer is drawn from the trusted pages until one leaves the store; the page she comes to is
//! asked for, and from there [`WITHIN`] surfers walk on. X is d times the share of them that stay in the store
//! as it was when she was drawn. Of those that leave it again one is followed, with the weight of all, always
//! if they are at least half, else with a chance that keeps the mean. Whatever is not known yet counts as 0.
//!
//! # Why it is valid
//!
//! Let c be the coverage of the store on the web without the pages that cannot be had, supposing that the web stands
//! still: what a page answers does not depend on when it is asked. With A the chance never to leave the store,
//! c = A + (1−A)·E[X], and this grows with A. What is proven, C ≤ A, so V = C + (1−C)·X has a mean of at most
//! c. That holds for surfer j given all that happened before she was drawn, with c_j for the store of that
//! moment. The store only grows, so c_j ≤ c. Hence for a stake 0 ≤ θ_j ≤ 1, chosen when she is drawn,
//!
//! K(m) = Π (1 + θ_j·(X_j − (m − C_j)/(1 − C_j)))
//!
//! is, at m = c, below a product of factors that are never negative and have a mean of at most 1. By Ville's
//! inequality K(c) ever reaches 1/α with a chance of at most α, however often one looks and whenever one stops.
//! K falls as m grows, so every m with K(m) ≥ 1/α is below c but for that chance: the largest is certified. Surfers
//! under way, and those whose page never answers, stay in the product with what is known of their X, which is
//! never too much; nobody can be left out. Links that nobody saw lead nowhere, X = 0.
//!
//! Each surfer's generator is made from the seed and the number of events before her, so that no number she uses
//! was used for anything that shaped the store. When the past is undone (a page comes back with other links) the
//! web did not stand still: [`Certificate::start_over`] forgets all surfers, and the k-th test may only spend
//! α/(k(k+1)), in all α.
//!
//! Capital is kept in floating point: additions, products and quotients only, which are the same on every
//! machine; 1/α is raised by a millionth, far more than all rounding.
//!
//! Cost: for a surfer about 7/(1−C) reads of links and 7·[`WITHIN`] more for each page she comes to, and
//! [`STEPS`] products; nothing a page, 8 bytes for each page stored while she is under way.
//! Not here: when to draw a surfer. Any rule that does not know her path is valid.

use std::io;

use turnstone_frontier::{Links, PageId, Random, Restore, Save, corrupt};

use super::fates::Fate;
use super::surfer::{Ending, Ground, Stand};
use super::{Confidence, Goal, RankMass};
use crate::mass::{ONE, as_fraction};

/// How many surfers walk on from a page that was asked for.
const WITHIN: u64 = 32;

/// Shares that can be certified: one less 1, 2, 3 … sixteenths of what may be missing.
const STEPS: usize = 256;
const GOAL_STEP: usize = 15;

/// How many surfers are drawn at most until one leaves the store.
const TRIES_MAX: u32 = 100_000;

/// The least that is staked: a surfer who cannot win anything was drawn for nothing.
const STAKE_MIN: f64 = 0.05;

/// How many surfers what is supposed of X is worth.
const SUPPOSED_WORTH: f64 = 8.0;

/// What is supposed of X before a surfer comes back.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Supposed {
    /// Its mean.
    pub mean: f64,
    /// Its variance.
    pub variance: f64,
}

/// A surfer who left the store.
#[derive(Clone, Debug)]
struct Walk {
    random: Random,
    /// What was proven when she was drawn.
    proven: f64,
    stake: f64,
    /// Stored since.
    late: Vec<PageId>,
    /// What is known of X.
    value: f64,
    /// What the rest of the walk counts for.
    weight: f64,
    from: Option<PageId>,
    waits_for: PageId,
    /// Whether she has been at a page beyond the store.
    outside: bool,
}

/// A test of the coverage, valid whenever it is looked at.
#[derive(Clone, Debug)]
pub struct Certificate {
    /// The mass that may be missing.
    missing: u64,
    /// The chance that it may be wrong.
    alpha: f64,
    seed: u64,
    /// Which test this is, from 1.
    test: u64,
    /// By step: the capital of all surfers whose walk has ended.
    capital: Vec<f64>,
    walks: Vec<Walk>,
    drawn: u64,
    /// Number, sum and sum of squares of what ended walks brought.
    ended: (f64, f64, f64),
}

impl Certificate {
    /// A test of whether what is asked for is stored, with this confidence.
    pub fn new(goal: Goal, confidence: Confidence) -> Self {
        Self {
            missing: ONE - goal.mass(),
            alpha: as_fraction(ONE - confidence.level.of_rounded_up(ONE)),
            seed: confidence.seed,
            test: 1,
            capital: vec![1.0; STEPS],
            walks: Vec::new(),
            drawn: 0,
            ended: (0.0, 0.0, 0.0),
        }
    }

    /// The past was undone: what was sampled says nothing any more.
    pub fn start_over(&mut self) {
        self.test += 1;
        self.capital.fill(1.0);
        self.walks.clear();
        (self.drawn, self.ended) = (0, (0.0, 0.0, 0.0));
    }

    /// How many surfers were drawn.
    pub fn drawn(&self) -> u64 {
        self.drawn
    }

    /// How many surfers are under way.
    pub fn under_way(&self) -> usize {
        self.walks.len()
    }

    /// The pages that must be asked for so that the surfers can go on.
    pub fn wanted(&self) -> impl Iterator<Item = PageId> + '_ {
        self.walks.iter().map(|walk| walk.waits_for)
    }

    /// How likely X is, given what is supposed of it: its mean and its variance.
    pub fn estimate(&self, supposed: Supposed) -> Supposed {
        let (count, sum, squares) = self.ended;
        let all = SUPPOSED_WORTH + count;
        let mean = (SUPPOSED_WORTH * supposed.mean + sum) / all;
        let square = supposed.variance + supposed.mean * supposed.mean;
        let second = (SUPPOSED_WORTH * square + squares) / all;
        let variance = (second - mean * mean).max(1e-4);
        Supposed { mean, variance }
    }

    /// How many times the capital of the goal must still grow, as far as walks have ended.
    pub fn to_grow(&self) -> f64 {
        (self.enough() / self.capital[GOAL_STEP]).max(1.0)
    }

    /// The mass that is certified, rounded down to a step; 0 if none is.
    pub fn certified(&self) -> u64 {
        let enough = self.enough();
        let passes = |step: &usize| {
            let share = as_fraction(self.mass(*step));
            let pending = self.walks.iter().map(|walk| factor(walk, share));
            share > 0.0 && self.capital[*step] * pending.product::<f64>() >= enough
        };
        (0..STEPS).find(passes).map_or(0, |step| self.mass(step))
    }

    /// What the capital must reach.
    fn enough(&self) -> f64 {
        (1.0 + 1e-6) * (self.test * (self.test + 1)) as f64 / self.alpha
    }

    /// Draws a surfer who leaves the store. `events` is how many things happened before: each number is
    /// used once. Returns whether one was found.
    pub fn draw(
        &mut self,
        supposed: Supposed,
        proof: &RankMass,
        links: &dyn Links,
        events: u64,
    ) -> bool {
        let ground = Ground {
            account: proof.account(),
            links,
        };
        let mut random = Random::new(self.seed ^ events.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        let proven = as_fraction(ground.account.guaranteed());
        let ending = (proven < 1.0).then(|| leave(&ground, &[], &mut random));
        let Some(ending) = ending.flatten() else {
            return false;
        };
        let mut walk = Walk {
            random,
            proven,
            stake: self.stake(proven, supposed),
            late: Vec::new(),
            value: 0.0,
            weight: 1.0,
            from: None,
            waits_for: PageId(u32::MAX),
            outside: false,
        };
        self.drawn += 1;
        if let Ending::Beyond { from, page } = ending {
            (walk.from, walk.waits_for) = (from, page);
            self.walks.push(walk);
        } else {
            // One who vanishes has left, too: nobody is to be asked, and she brings nothing.
            self.end(&walk);
        }
        true
    }

    /// What became of a page is known: surfers who waited for it go on. To be told of every page that is
    /// stored, moved or dead.
    pub fn settled(&mut self, page: PageId, proof: &RankMass, links: &dyn Links) {
        let ground = Ground {
            account: proof.account(),
            links,
        };
        let stored = ground.account.fates.of(page) == Fate::Stored;
        let mut under_way = Vec::new();
        for mut walk in std::mem::take(&mut self.walks) {
            if stored && !walk.late.contains(&page) {
                walk.late.push(page);
            }
            if walk.waits_for != page || go_on(&mut walk, &ground) {
                under_way.push(walk);
            } else {
                self.end(&walk);
            }
        }
        self.walks = under_way;
    }

    fn end(&mut self, walk: &Walk) {
        for step in 0..STEPS {
            let share = as_fraction(self.mass(step));
            self.capital[step] = (self.capital[step] * factor(walk, share)).min(1e200);
        }
        self.ended.0 += 1.0;
        self.ended.1 += walk.value;
        self.ended.2 += walk.value * walk.value;
    }

    /// The mass of a step: at [`GOAL_STEP`] what is asked for.
    fn mass(&self, step: usize) -> u64 {
        let missing = u128::from(self.missing) * (step as u128 + 1) / (GOAL_STEP as u128 + 1);
        u64::try_from(missing).map_or(0, |missing| ONE.saturating_sub(missing))
    }

    /// What to stake on the next surfer: what makes the capital of the goal grow fastest, by what is known.
    fn stake(&self, proven: f64, supposed: Supposed) -> f64 {
        let Supposed { mean, variance } = self.estimate(supposed);
        let goal = as_fraction(self.mass(GOAL_STEP));
        let gap = mean - (goal - proven) / (1.0 - proven);
        (gap / (variance + gap * gap)).clamp(STAKE_MIN, 1.0)
    }
}

/// What a surfer multiplies the capital of a share by.
fn factor(walk: &Walk, share: f64) -> f64 {
    1.0 + walk.stake * (walk.value - (share - walk.proven) / (1.0 - walk.proven))
}

/// Draws surfers until one leaves the store, or gives up.
fn leave(ground: &Ground<'_>, late: &[PageId], random: &mut Random) -> Option<Ending> {
    let left = |ending: &Ending| !matches!(ending, Ending::Stays(_));
    let mut endings = (0..TRIES_MAX).map(|_| ground.walk(Stand::Leaving(None), late, random));
    endings.find(left)
}

/// What a surfer waited for is known. Returns whether she waits again.
fn go_on(walk: &mut Walk, ground: &Ground<'_>) -> bool {
    let fates = &ground.account.fates;
    let end = fates.end(walk.waits_for);
    if !(fates.of(end) == Fate::Stored && walk.late.contains(&end)) {
        let stand = Stand::At(walk.from, end);
        let ending = if walk.outside {
            ground.walk(stand, &[], &mut walk.random)
        } else {
            match ground.walk(stand, &walk.late, &mut walk.random) {
                // She never left the store: another is drawn for her.
                Ending::Stays(_) => leave(ground, &walk.late, &mut walk.random),
                left => Some(left),
            }
            .unwrap_or(Ending::Vanishes)
        };
        match ending {
            Ending::Vanishes => return false,
            Ending::Stays(page) => {
                if !walk.late.contains(&page) {
                    walk.value += walk.weight;
                }
                return false;
            }
            Ending::Beyond { from, page } => (walk.from, walk.waits_for) = (from, page),
        }
        if fates.of(walk.waits_for) == Fate::Open {
            return true;
        }
    }
    walk.outside = true;
    branch(walk, ground)
}

/// Surfers walk on from a page that was stored too late to count. Returns whether one is followed.
fn branch(walk: &mut Walk, ground: &Ground<'_>) -> bool {
    let page = ground.account.fates.end(walk.waits_for);
    let (mut stay, mut leave) = (0, Vec::new());
    for _ in 0..WITHIN {
        match ground.walk(Stand::Leaving(Some(page)), &[], &mut walk.random) {
            Ending::Stays(page) => stay += u64::from(!walk.late.contains(&page)),
            Ending::Beyond { from, page } => leave.push((from, page)),
            Ending::Vanishes => {}
        }
    }
    let damping = ground.account.rules.goal.damping.number();
    walk.weight *= damping;
    walk.value += walk.weight * stay as f64 / WITHIN as f64;
    let leaving = leave.len() as u64;
    if leaving == 0 || walk.random.below(WITHIN) >= leaving * 2 {
        return false;
    }
    walk.weight *= (leaving as f64 / WITHIN as f64).max(0.5);
    let followed = walk.random.below(leaving) as usize;
    (walk.from, walk.waits_for) = leave[followed];
    true
}

turnstone_frontier::saved!(Walk:
    random, proven, stake, late, value, weight, from, waits_for, outside);

impl Save for Certificate {
    fn save(&self, out: &mut dyn io::Write) -> io::Result<()> {
        self.test.save(out)?;
        self.capital.save(out)?;
        self.walks.save(out)?;
        self.drawn.save(out)?;
        let (count, sum, squares) = self.ended;
        ((count, sum), squares).save(out)
    }
}

impl Certificate {
    /// Becomes the saved test; it was made with the same goal, confidence and seed.
    pub fn restore(&mut self, from: &mut dyn io::Read) -> io::Result<()> {
        self.test = Restore::restore(from)?;
        self.capital = Restore::restore(from)?;
        self.walks = Restore::restore(from)?;
        self.drawn = Restore::restore(from)?;
        let ((count, sum), squares) = Restore::restore(from)?;
        self.ended = (count, sum, squares);
        let whole = self.capital.len() == STEPS && self.test > 0;
        whole
            .then_some(())
            .ok_or_else(|| corrupt("a test with other steps"))
    }
}
