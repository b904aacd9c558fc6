//! Discovery: find the pages that are new, with the fewest fetches of pages already known
//! (Dasgupta, Ghosh, Kumar, Olston, Pandey, Tomkins: The Discoverability of the Web, 2007).
//!
//! The driver announces a round with a budget; the policy ranks that many known pages; their links,
//! and those of the new pages found there, are what the round brings. From time to time the driver
//! recrawls everything (a round with budget [`RECRAWL`]). How a recrawl reaches a policy: as the
//! same events as any fetch, so that the policy works out for itself which pages led to which new
//! ones ([`Arrivals`]). It is handed no truth, and learns in a live crawl as it does in the lab.

mod arrivals;
mod bandit;
mod clique;
mod components;
mod cover_window;
mod greedy;
mod history_based;
mod new_pages;
mod out_degree;
mod past_cover;
mod slots;
mod watch;

pub use arrivals::{Arrivals, Cover, Sightings};
pub use clique::{Singletons, each_overlap};
pub use greedy::{Pick, Until, greedy_cover, merge, upper_bound};
pub use new_pages::NewPagesFirst;
pub use out_degree::Last;
pub use watch::{RECRAWL, Target};

use turnstone_frontier::Policy;

use crate::catalog::{ParameterInfo, PolicyInfo, Question};
use crate::spec::{Spec, SpecError};
use bandit::{Bandit, Settings};
use clique::{Clique, Past};
use cover_window::{CoverWindow, Weights};
use history_based::HistoryBased;
use out_degree::{OutDegree, Shares};
use past_cover::PastCover;
use slots::{Slots, Weights as SlotWeights};

/// A policy that answers the discovery question.
pub trait DiscoveryPolicy: Policy {
    /// How often the site must be recrawled for the policy to be what its name says; otherwise
    /// the driver decides.
    fn recrawl_every(&self) -> Option<u32> {
        None
    }

    /// Whether the policy learns from discovery rounds, so that what it ranks depends on the
    /// budgets it had before. If not, the first pages of a large round are those of a small one.
    fn learns_from_rounds(&self) -> bool {
        false
    }

    /// Whether the policy asks for guessed addresses, so that the driver should tell it some.
    fn guesses(&self) -> bool {
        false
    }
}

/// Nobody knows what a guest learns from.
impl DiscoveryPolicy for Box<dyn Policy> {
    fn learns_from_rounds(&self) -> bool {
        true
    }
}

/// What every discovery policy is asked.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Discovery {
    /// What counts as found.
    pub target: Target,
    /// How much a recrawl weighs against the one a round later, unless the spec says otherwise.
    pub decay: f64,
    /// Where the random generator starts.
    pub seed: u64,
}

impl Default for Discovery {
    fn default() -> Self {
        Self {
            target: Target::Pages,
            decay: 1.0,
            seed: 1,
        }
    }
}

const PAPER: &str = "Dasgupta, Ghosh, Kumar, Olston, Pandey, Tomkins: The Discoverability of the \
                     Web, 2007";

const LAST: ParameterInfo = ParameterInfo {
    name: "last",
    default: "literal",
    meaning: "the most recent recrawl: literal (whatever it saw) or nonempty (the last that saw a \
              new page)",
};

const DECAY: ParameterInfo = ParameterInfo {
    name: "decay",
    default: "1",
    meaning: "how much a recrawl weighs against one a round later, above 0 and at most 1",
};

const EPS_B: ParameterInfo = ParameterInfo {
    name: "eps_b",
    default: "0.8",
    meaning: "pages overlap if the Jaccard coefficient of what they led to is at least 1 - eps_b",
};

const BASE: ParameterInfo = ParameterInfo {
    name: "base",
    default: "od",
    meaning: "which pages led to new ones: by out-degree (od, as od-win) or by a cover (cov, as cov-win)",
};

const LEAST_GUESS: ParameterInfo = ParameterInfo {
    name: "least",
    default: "0.1",
    meaning: "a guess must be worth so many new pages a request",
};

const WASTED: ParameterInfo = ParameterInfo {
    name: "wasted",
    default: "0.6",
    meaning: "the share of a round that may be wasted on guesses, one request at least",
};

const CAUTION: ParameterInfo = ParameterInfo {
    name: "caution",
    default: "8",
    meaning: "what a guess promises is divided by this before it is compared with known pages",
};

/// The catalogue entries.
pub const POLICIES: &[PolicyInfo] = &[
    PolicyInfo {
        name: "od-1",
        questions: &[Question::Discovery],
        summary: "pages that led to most new pages in the most recent recrawl",
        paper: PAPER,
        cost: "O(links) per recrawled page, O(log pages) per fetch, 4 bytes per page",
        parameters: &[LAST],
    },
    PolicyInfo {
        name: "od-win",
        questions: &[Question::Discovery],
        summary: "pages that led to the largest share of new pages, averaged over all recrawls",
        paper: PAPER,
        cost: "O(links) per recrawled page, O(log pages) per fetch, 16 bytes per page",
        parameters: &[DECAY],
    },
    PolicyInfo {
        name: "od-all",
        questions: &[Question::Discovery],
        summary: "od-win on a site recrawled in every round",
        paper: PAPER,
        cost: "a recrawl per round; otherwise as od-win",
        parameters: &[DECAY],
    },
    PolicyInfo {
        name: "cliq-1",
        questions: &[Question::Discovery],
        summary: "one page for each cluster of pages that led to the same in the last recrawl",
        paper: PAPER,
        cost: "O(overlaps) per recrawl, O(log pages) per fetch, 16 bytes per page",
        parameters: &[EPS_B, LAST],
    },
    PolicyInfo {
        name: "cliq-win",
        questions: &[Question::Discovery],
        summary: "cliq-1, and every page that ever led to a new page as a cluster of its own",
        paper: PAPER,
        cost: "O(overlaps) per recrawl, O(log pages) per fetch, 32 bytes per page",
        parameters: &[
            EPS_B,
            DECAY,
            LAST,
            ParameterInfo {
                name: "singletons",
                default: "all",
                meaning: "pages that are clusters of their own: all that ever led to a new page, \
                          or only those outside the last recrawl's clusters",
            },
        ],
    },
    PolicyInfo {
        name: "cov",
        questions: &[Question::Discovery],
        summary: "the greedy cover of the most recent recrawl's new pages",
        paper: PAPER,
        cost: "a greedy cover per recrawl, O(log pages) per fetch, 4 bytes per page",
        parameters: &[LAST],
    },
    PolicyInfo {
        name: "cov-win",
        questions: &[Question::Discovery],
        summary: "one greedy cover of the new pages of all past recrawls, lists before posts",
        paper: "ours, after Dasgupta et al. 2007",
        cost: "a greedy cover of all past new pages per recrawl, O(log pages) per fetch, 8 bytes \
               per page and recrawl in which it led to a new page",
        parameters: &[
            DECAY,
            ParameterInfo {
                name: "again",
                default: "0.02",
                meaning: "what a past new page is worth once it is covered, from 0 to 1",
            },
            ParameterInfo {
                name: "least",
                default: "0.001",
                meaning: "the share of all worth that a page must add to be asked for, from 0 to 1",
            },
            ParameterInfo {
                name: "few",
                default: "0.1",
                meaning: "a recrawl that saw so many new pages weighs half as much as one that \
                          saw very many; 0: all recrawls weigh the same",
            },
        ],
    },
    PolicyInfo {
        name: "hubs",
        questions: &[Question::Discovery],
        summary: "of ten requests seven by past recrawls, one for the home page, two for the pages \
                  with most links",
        paper: "ours, after Dasgupta et al. 2007",
        cost: "as its base, and O(pages) per round, 8 bytes per page",
        parameters: &[BASE],
    },
    PolicyInfo {
        name: "guess",
        questions: &[Question::Discovery],
        summary: "hubs and guessed addresses, by the new pages expected for a request",
        paper: "ours",
        cost: "as hubs, and O(log pages) per guess",
        parameters: &[BASE, LEAST_GUESS, WASTED, CAUTION],
    },
    PolicyInfo {
        name: "bandit",
        questions: &[Question::Discovery],
        summary: "learn from discovery rounds alone: exploit pages that led to new ones, try others",
        paper: "Dasgupta et al. 2007 (future work); Thompson sampling for content discovery, 2023",
        cost: "O(pages) per round, O(links) per fetch, 32 bytes per page",
        parameters: bandit::PARAMETERS,
    },
];

/// Makes the policy that a spec names.
pub fn build(spec: &Spec, question: Discovery) -> Result<Box<dyn DiscoveryPolicy>, SpecError> {
    if let Some(guest) = spec.made() {
        return Ok(Box::new(guest));
    }
    let info = spec.find(Question::Discovery)?;
    let target = question.target;
    let decay = || {
        let wanted = "a number above 0 and at most 1";
        spec.read("decay", question.decay, wanted, |value| {
            let decay: f64 = value.parse().ok()?;
            (decay > 0.0 && decay <= 1.0).then_some(decay)
        })
    };
    let last = || {
        let choices = [("literal", Last::Literal), ("nonempty", Last::Nonempty)];
        spec.choice("last", Last::Literal, &choices)
    };
    let share = |name, default| {
        spec.read(name, default, "a number from 0 to 1", |value| {
            let number: f64 = value.parse().ok()?;
            (0.0..=1.0).contains(&number).then_some(number)
        })
    };
    let few = || {
        let wanted = "a number from 0 to 1000000";
        spec.read("few", 0.1, wanted, |value| {
            let number: f64 = value.parse().ok()?;
            (0.0..=1e6).contains(&number).then_some(number)
        })
    };
    let eps_b = || share("eps_b", 0.8);
    let window = |all| -> Result<OutDegree, SpecError> {
        Ok(OutDegree::Window {
            shares: Shares::new(decay()?),
            order: Vec::new(),
            all,
        })
    };
    Ok(match info.name {
        "od-1" => {
            let one = OutDegree::One {
                last: last()?,
                order: Vec::new(),
            };
            Box::new(HistoryBased::new(one, target))
        }
        "od-win" => Box::new(HistoryBased::new(window(false)?, target)),
        "od-all" => Box::new(HistoryBased::new(window(true)?, target)),
        "cliq-1" => Box::new(HistoryBased::new(
            Clique::new(last()?, eps_b()?, None),
            target,
        )),
        "cliq-win" => {
            let choices = [("all", Singletons::All), ("outside", Singletons::Outside)];
            let past = Past {
                shares: Shares::new(decay()?),
                singletons: spec.choice("singletons", Singletons::All, &choices)?,
            };
            Box::new(HistoryBased::new(
                Clique::new(last()?, eps_b()?, Some(past)),
                target,
            ))
        }
        "cov" => Box::new(HistoryBased::new(PastCover::new(last()?), target)),
        "cov-win" => {
            let weights = Weights {
                decay: decay()?,
                again: share("again", 0.02)?,
                least: share("least", 0.001)?,
                few: few()?,
            };
            Box::new(HistoryBased::new(CoverWindow::new(weights), target))
        }
        "hubs" | "guess" => {
            let wanted = "a number from 0 to 1000000";
            let guesses = info.name == "guess";
            let number = |name, default| match guesses {
                false => Ok(default),
                true => spec.read(name, default, wanted, |value| {
                    let number: f64 = value.parse().ok()?;
                    (0.0..=1e6).contains(&number).then_some(number)
                }),
            };
            let weights = SlotWeights {
                guesses,
                least: number("least", 0.1)?,
                wasted: number("wasted", 0.6)?,
                caution: number("caution", 8.0)?,
            };
            match spec.choice("base", false, &[("od", false), ("cov", true)])? {
                false => Box::new(Slots::new(window_of(1.0), weights, target)),
                true => {
                    let cover = CoverWindow::new(Weights {
                        decay: 1.0,
                        again: 0.02,
                        least: 0.001,
                        few: 0.1,
                    });
                    Box::new(Slots::new(cover, weights, target))
                }
            }
        }
        "bandit" => Box::new(Bandit::new(Settings::read(spec)?, target, question.seed)),
        other => unreachable!("{other} is in the catalogue but cannot be built"),
    })
}

/// Out-degree over all recrawls.
fn window_of(decay: f64) -> OutDegree {
    OutDegree::Window {
        shares: Shares::new(decay),
        order: Vec::new(),
        all: false,
    }
}
