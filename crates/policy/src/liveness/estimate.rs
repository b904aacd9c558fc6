//! How many pages are alive, judged from a random sample, and when to stop.
//!
//! The sample is drawn without replacement, so the interval is Wilson's with the sample size
//! enlarged by the finite-population correction: with z of n pages tested it is as narrow as one
//! from z·(n−1)/(n−z) tests of an endless web, and no width is left when every page was tested. It is cut to
//! what the sample itself proves: those found alive are alive, those found gone are not.
//!
//! The estimate uses the sample alone, and its size was fixed before: looking again and again until
//! the numbers please would make the stated confidence a lie.

/// How many of an old crawl's pages are alive, as far as a random sample tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AliveEstimate {
    pages: u64,
    alive: u64,
    gone: u64,
}

impl AliveEstimate {
    /// From a sample with so many alive and gone pages, of a crawl of so many pages; none when
    /// the sample has no verdict at all.
    pub fn new(pages: u64, alive: u64, gone: u64) -> Option<Self> {
        assert!(alive + gone <= pages, "a sample is no larger than the web");
        (alive + gone > 0).then_some(Self { pages, alive, gone })
    }

    /// The most likely number of alive pages: n times the alive share of the sample.
    pub fn alive(&self) -> f64 {
        self.share() * self.pages as f64
    }

    /// The numbers of alive pages that fit the sample, two-sided at this confidence.
    pub fn interval(&self, confidence: Confidence) -> (u64, u64) {
        let quantile = normal_quantile(0.5 + confidence.number() / 2.0);
        let (low, high) = self.wilson(quantile);
        (self.cut(low.floor()), self.cut(high.ceil()))
    }

    /// At this confidence, no more pages than this are alive.
    pub fn at_most(&self, confidence: Confidence) -> u64 {
        let (_, high) = self.wilson(normal_quantile(confidence.number()));
        self.cut(high.ceil())
    }

    fn share(&self) -> f64 {
        self.alive as f64 / (self.alive + self.gone) as f64
    }

    /// Wilson's interval as numbers of pages.
    fn wilson(&self, quantile: f64) -> (f64, f64) {
        let (pages, tested) = (self.pages as f64, (self.alive + self.gone) as f64);
        if self.alive + self.gone == self.pages {
            return (self.alive as f64, self.alive as f64);
        }
        let tests = tested * (pages - 1.0) / (pages - tested);
        let (share, square) = (self.share(), quantile * quantile);
        let centre = share + square / (2.0 * tests);
        let spread =
            quantile * (share * (1.0 - share) / tests + square / (4.0 * tests * tests)).sqrt();
        let whole = 1.0 + square / tests;
        let side = |bound: f64| pages * bound / whole;
        (side(centre - spread), side(centre + spread))
    }

    /// No fewer than were seen alive, no more than were not seen gone.
    fn cut(&self, bound: f64) -> u64 {
        (bound.max(0.0) as u64).clamp(self.alive, self.pages - self.gone)
    }
}

/// A confidence strictly between one half and 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Confidence(f64);

impl Confidence {
    /// The confidence of this number, or none outside (0.5, 1).
    pub fn new(number: f64) -> Option<Self> {
        (number > 0.5 && number < 1.0).then_some(Self(number))
    }

    /// As a number.
    pub fn number(self) -> f64 {
        self.0
    }
}

impl Default for Confidence {
    fn default() -> Self {
        Self(0.95)
    }
}

/// When enough has been found: this share of all alive pages, at this confidence.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Enough {
    share: f64,
    confidence: Confidence,
}

impl Enough {
    /// Stop at a share in (0, 1], or none outside.
    pub fn new(share: f64, confidence: Confidence) -> Option<Self> {
        (share > 0.0 && share <= 1.0).then_some(Self { share, confidence })
    }

    /// The share wanted.
    pub fn share(self) -> f64 {
        self.share
    }

    /// The confidence wanted.
    pub fn confidence(self) -> Confidence {
        self.confidence
    }

    /// How many alive pages must be found, given what the sample tells.
    pub fn needed(self, estimate: &AliveEstimate) -> u64 {
        // The tolerance keeps 0.1 of 30 at 3.
        (self.share * estimate.at_most(self.confidence) as f64 - 1e-9)
            .ceil()
            .max(0.0) as u64
    }

    /// Whether so many alive pages are enough.
    pub fn met(self, found: u64, estimate: &AliveEstimate) -> bool {
        found >= self.needed(estimate)
    }
}

/// The number below which a standard normal variable lies with this probability.
///
/// Acklam's rational approximation, relative error below 1.2·10⁻⁹: far finer than any sample.
fn normal_quantile(probability: f64) -> f64 {
    const A: [f64; 6] = [
        -3.969_683_028_665_376e1,
        2.209_460_984_245_205e2,
        -2.759_285_104_469_687e2,
        1.383_577_518_672_69e2,
        -3.066_479_806_614_716e1,
        2.506_628_277_459_239,
    ];
    const B: [f64; 6] = [
        -5.447_609_879_822_406e1,
        1.615_858_368_580_409e2,
        -1.556_989_798_598_866e2,
        6.680_131_188_771_972e1,
        -1.328_068_155_288_572e1,
        1.0,
    ];
    const C: [f64; 6] = [
        -7.784_894_002_430_293e-3,
        -3.223_964_580_411_365e-1,
        -2.400_758_277_161_838,
        -2.549_732_539_343_734,
        4.374_664_141_464_968,
        2.938_163_982_698_783,
    ];
    const D: [f64; 5] = [
        7.784_695_709_041_462e-3,
        3.224_671_290_700_398e-1,
        2.445_134_137_142_996,
        3.754_408_661_907_416,
        1.0,
    ];
    /// Beyond this the tails have their own formula.
    const TAIL: f64 = 0.024_25;
    let polynomial = |terms: &[f64], at: f64| terms.iter().fold(0.0, |sum, term| sum * at + term);
    let tail = |probability: f64| {
        let at = (-2.0 * probability.ln()).sqrt();
        polynomial(&C, at) / polynomial(&D, at)
    };
    if probability < TAIL {
        tail(probability)
    } else if probability > 1.0 - TAIL {
        -tail(1.0 - probability)
    } else {
        let at = probability - 0.5;
        at * polynomial(&A, at * at) / polynomial(&B, at * at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_those_of_the_tables() {
        for (probability, quantile) in [
            (0.5, 0.0),
            (0.841_344_746_068_543, 1.0),
            (0.95, 1.644_853_626_951_47),
            (0.975, 1.959_963_984_540_05),
            (0.999, 3.090_232_306_167_81),
            (0.01, -2.326_347_874_040_84),
        ] {
            assert!(
                (normal_quantile(probability) - quantile).abs() < 1e-8,
                "{probability}"
            );
        }
    }

    #[test]
    fn without_correction_it_is_wilsons_interval() {
        // Of 100 tested, 20 alive, in a web so large that it hardly matters: [0.1334, 0.2888].
        let estimate = AliveEstimate::new(1_000_000_000, 20, 80).unwrap();
        let (low, high) = estimate.interval(Confidence::default());
        assert!((low as f64 / 1e9 - 0.13337).abs() < 1e-4, "{low}");
        assert!((high as f64 / 1e9 - 0.28883).abs() < 1e-4, "{high}");
        assert_eq!(estimate.alive(), 0.2e9);
    }

    #[test]
    fn a_whole_sample_leaves_no_doubt() {
        let estimate = AliveEstimate::new(50, 20, 30).unwrap();
        assert_eq!(estimate.interval(Confidence::default()), (20, 20));
        assert_eq!(estimate.at_most(Confidence::default()), 20);
        assert_eq!(AliveEstimate::new(50, 0, 0), None);
    }

    /// The probability of drawing exactly `hits` of `marked` in `drawn` draws from `pages`.
    fn hypergeometric(pages: u64, marked: u64, drawn: u64, hits: u64) -> f64 {
        let log_choose = |n: u64, k: u64| -> f64 {
            (0..k).map(|i| ((n - i) as f64 / (k - i) as f64).ln()).sum()
        };
        let other = pages - marked;
        if hits > marked || drawn - hits > other {
            return 0.0;
        }
        (log_choose(marked, hits) + log_choose(other, drawn - hits) - log_choose(pages, drawn))
            .exp()
    }

    #[test]
    fn the_confidence_is_what_it_says() {
        let (pages, drawn) = (300, 60);
        let confidence = Confidence::default();
        let (mut inside, mut below) = (0.0, 0.0);
        for truth in 0..=pages {
            for hits in 0..=drawn {
                let chance = hypergeometric(pages, truth, drawn, hits);
                let estimate = AliveEstimate::new(pages, hits, drawn - hits).unwrap();
                let (low, high) = estimate.interval(confidence);
                inside += chance * f64::from(u8::from((low..=high).contains(&truth)));
                below += chance * f64::from(u8::from(truth <= estimate.at_most(confidence)));
            }
        }
        let truths = pages as f64 + 1.0;
        assert!(inside / truths >= 0.95, "{}", inside / truths);
        assert!(below / truths >= 0.95, "{}", below / truths);
    }

    #[test]
    fn enough_is_a_share_of_the_upper_bound() {
        let all_tested = AliveEstimate::new(50, 30, 20).unwrap();
        let enough = Enough::new(0.1, Confidence::default()).unwrap();
        assert!(enough.met(3, &all_tested) && !enough.met(2, &all_tested));
        for share in [0.0, -0.1, 1.1, f64::NAN] {
            assert_eq!(Enough::new(share, Confidence::default()), None);
        }
        for confidence in [0.5, 1.0, f64::NAN] {
            assert_eq!(Confidence::new(confidence), None);
        }
    }
}
