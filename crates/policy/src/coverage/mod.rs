//! Coverage: have at least 1−ε of the personalised PageRank in the store, provably, with the
//! fewest downloads (Cho and Schonfeld, RankMass, 2007).
//!
//! A random surfer who starts at trusted pages and, with probability 1−d, returns to one of them
//! at each step is found at page i with probability r_i. Every policy here keeps a proven lower
//! bound on the sum of r over the pages it has fetched, and stops when the bound reaches the goal.

mod account;
mod bits;
mod board;
mod border;
mod certificate;
mod certified;
mod correction;
mod fates;
mod l_neighbor;
mod outlook;
mod pushed;
mod rankmass;
mod surfer;
mod trust;
mod wide;
mod windowed;

pub use certificate::{Certificate, Supposed};
pub use certified::{Certified, Tests};
pub use l_neighbor::LNeighbor;
pub use rankmass::{Push, RankMass};
pub use trust::{Trust, TrustError};
pub use windowed::{Sweep, Window, WindowOf, WindowedRankMass};

use turnstone_frontier::{PageId, Policy};

use crate::breadth_first::BreadthFirst;
use crate::catalog::{ParameterInfo, PolicyInfo, Question};
use crate::mass::{Fraction, ONE};
use crate::spec::{Spec, SpecError};

/// After how long a page without a verdict is asked for again.
const RETRY_MS: u64 = 60_000;

/// With no page left to fetch, mass is moved among fetched pages until they hold less than this:
/// the guarantee is then within a millionth of the best that can be reached.
const NEGLIGIBLE: u64 = ONE / 1_000_000;

/// What every coverage crawl is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Goal {
    /// The probability of following a link.
    pub damping: Fraction,
    /// The share that may be missing.
    pub epsilon: Fraction,
    /// Whether a certificate is enough, and of what confidence; nothing where only a proof will do.
    pub confidence: Option<Confidence>,
}

/// How sure a certificate must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Confidence {
    /// The chance with which it holds.
    pub level: Fraction,
    /// What the surfers are drawn from.
    pub seed: u64,
}

impl Goal {
    /// The mass that must be proven.
    pub fn mass(self) -> u64 {
        self.epsilon.complement_of_one()
    }
}

impl Default for Goal {
    fn default() -> Self {
        Self {
            damping: Fraction::default(),
            epsilon: Fraction::TWO_PERCENT,
            confidence: None,
        }
    }
}

/// Where the surfer goes from a page without links.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dangling {
    /// To a trusted page, as if bored: all probability stays in the web.
    Jump,
    /// Nowhere: it leaks, and the guarantee may be out of reach.
    Leak,
}

/// What links to pages that are gone or refused are worth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gone {
    /// Nothing: they are as if they were not there, and all shares are of what can be had.
    Skip,
    /// As much as others, as in the papers: what dead pages hold can never be proven.
    Count,
}

/// A policy that answers the coverage question.
pub trait CoveragePolicy: Policy {
    /// How often the mass of a page was pushed along its links so far.
    fn pushes(&self) -> u64;

    /// What was tested so far, where a certificate was asked for.
    fn tests(&self) -> Option<Tests> {
        None
    }
}

impl CoveragePolicy for BreadthFirst {
    fn pushes(&self) -> u64 {
        0
    }
}

impl CoveragePolicy for Box<dyn Policy> {
    fn pushes(&self) -> u64 {
        0
    }
}

const DANGLING: ParameterInfo = ParameterInfo {
    name: "dangling",
    default: "jump",
    meaning: "where a page without links sends its mass: jump (to the trusted pages) or leak",
};

const GONE: ParameterInfo = ParameterInfo {
    name: "gone",
    default: "skip",
    meaning: "what links to pages that are gone or refused are worth: skip (nothing: the goal is a \
              share of what can be had) or count (as much as others, as in the paper)",
};

/// The catalogue entries.
pub const POLICIES: &[PolicyInfo] = &[
    PolicyInfo {
        name: "l-neighbor",
        questions: &[Question::Coverage],
        summary: "level by level from the trusted pages; after level L, 1 - d^(L+1) is proven",
        paper: "Cho and Schonfeld, RankMass, 2007",
        cost: "O(links) per fetch, 1 byte per page",
        parameters: &[GONE],
    },
    PolicyInfo {
        name: "rankmass",
        questions: &[Question::Coverage],
        summary: "the page with the largest proven lower bound of PageRank next",
        paper: "Cho and Schonfeld, RankMass, 2007",
        cost: "O(links log pages) per push, several pushes per fetch, 29 bytes per page",
        parameters: &[
            ParameterInfo {
                name: "push",
                default: "fetched-first",
                meaning: "fetched-first (push fetched pages, which cost no request, before paying \
                          for a new one) or exact (the paper's order)",
            },
            ParameterInfo {
                name: "share",
                default: "0.02",
                meaning: "with push=fetched-first: push fetched pages down to this share of the \
                          best page not yet fetched",
            },
            DANGLING,
            GONE,
        ],
    },
    PolicyInfo {
        name: "windowed-rankmass",
        questions: &[Question::Coverage],
        summary: "the best window of pages at a time, then one sweep over all fetched pages",
        paper: "Cho and Schonfeld, RankMass, 2007",
        cost: "O(links of all fetched pages) per round, 26 bytes per page",
        parameters: &[
            ParameterInfo {
                name: "window",
                default: "0.1",
                meaning: "the share of pages to fetch in a round, above 0 and at most 1",
            },
            ParameterInfo {
                name: "of",
                default: "frontier",
                meaning: "the share of what: frontier (known pages not yet fetched) or fetched",
            },
            ParameterInfo {
                name: "sweep",
                default: "simultaneous",
                meaning: "simultaneous (the paper's) or in-place (mass moves on within a sweep)",
            },
            DANGLING,
            GONE,
        ],
    },
];

/// Makes the policy that a spec names.
pub fn build(spec: &Spec, trust: &Trust, goal: Goal) -> Result<Box<dyn CoveragePolicy>, SpecError> {
    if let Some(guest) = spec.made() {
        return Ok(Box::new(guest));
    }
    let info = spec.find(Question::Coverage)?;
    let dangling = || {
        spec.choice(
            "dangling",
            Dangling::Jump,
            &[("jump", Dangling::Jump), ("leak", Dangling::Leak)],
        )
    };
    let gone = [("skip", Gone::Skip), ("count", Gone::Count)];
    let gone = spec.choice("gone", Gone::Skip, &gone)?;
    Ok(match info.name {
        "l-neighbor" => Box::new(LNeighbor::new(trust, goal).with_gone(gone)),
        "rankmass" => {
            let share = spec.fraction("share", Push::SHARE)?;
            let first = Push::FetchedFirst { share };
            let push = spec.choice(
                "push",
                first,
                &[("exact", Push::Exact), ("fetched-first", first)],
            )?;
            let proof = RankMass::new(trust.clone(), goal, push, dangling()?).with_gone(gone);
            match goal.confidence {
                Some(confidence) => Box::new(Certified::new(proof, goal, confidence)),
                None => Box::new(proof),
            }
        }
        "windowed-rankmass" => {
            let window = spec.read("window", 0.1, "a number above 0 and at most 1", |value| {
                value
                    .parse()
                    .ok()
                    .filter(|window| *window > 0.0 && *window <= 1.0)
            })?;
            let of = [
                ("frontier", WindowOf::Frontier),
                ("fetched", WindowOf::Fetched),
            ];
            let of = spec.choice("of", WindowOf::Frontier, &of)?;
            let sweep = [
                ("simultaneous", Sweep::Simultaneous),
                ("in-place", Sweep::InPlace),
            ];
            let sweep = spec.choice("sweep", Sweep::Simultaneous, &sweep)?;
            let window = Window {
                share: window,
                of,
                sweep,
            };
            let policy = WindowedRankMass::new(trust.clone(), goal, window, dangling()?);
            Box::new(policy.with_gone(gone))
        }
        "breadth-first" => Box::new(BreadthFirst::default()),
        other => unreachable!("{other} is in the catalogue but cannot be built"),
    })
}

/// Whether a spec can be built, without a web at hand.
pub fn check(spec: &Spec) -> Result<(), SpecError> {
    if spec.is_guest() {
        return Ok(());
    }
    let nobody = Trust::alike([PageId(0)]).expect("one page can be trusted");
    build(spec, &nobody, Goal::default()).map(|_| ())
}
