//! The policies of this question: their names, their parameters, and how a spec becomes one.

use std::sync::Arc;

use turnstone_frontier::Policy;

use super::trigger::importance_levels;
use super::{
    Alone, Azar, ClusterMap, ClusterNeighbours, Cohorts, CrawlValue, Cycles, DirectoryNeighbours,
    DirectoryTree, GreedySites, Interval, LinkMap, LinkNeighbours, Neighbourhood, Oldest,
    PooledRates, Pooling, Refresh, RoundRobin, Sampling, Store, Trigger, Weighing,
};
use crate::catalog::{ParameterInfo, PolicyInfo, Question};
use crate::spec::{Spec, SpecError};

const TAN: &str = "Tan, Zhuang, Mitra and Giles, Efficiently Detecting Webpage Updates, 2007";

/// How far a neighbourhood may reach.
const REACH_MAX: i32 = 64;

const TRIGGER: ParameterInfo = ParameterInfo {
    name: "trigger",
    default: "changed",
    meaning: "which samples lead to their neighbours: always, changed, history, \
              weighted-history or pagerank",
};

const CYCLES: ParameterInfo = ParameterInfo {
    name: "cycles",
    default: "all",
    meaning: "which cycles a history trigger counts: all (as published) or observed (only \
              those in which the page was fetched)",
};

const WEIGHT: ParameterInfo = ParameterInfo {
    name: "weight",
    default: "equal",
    meaning: "what a fresh page is worth: equal or pagerank",
};

const POOL: ParameterInfo = ParameterInfo {
    name: "pool",
    default: "0.5",
    meaning: "how much the rate of a page's directory weighs against its own history, in changes",
};

/// The catalogue entries.
pub const POLICIES: &[PolicyInfo] = &[
    PolicyInfo {
        name: "rns",
        questions: &[Question::Changes],
        summary: "random pages",
        paper: TAN,
        cost: "O(log pages) per fetch, 30 bytes per page",
        parameters: &[],
    },
    PolicyInfo {
        name: "round-robin",
        questions: &[Question::Changes],
        summary: "all pages in turn",
        paper: TAN,
        cost: "O(log pages) per fetch, 14 bytes per page",
        parameters: &[],
    },
    PolicyInfo {
        name: "gsb",
        questions: &[Question::Changes],
        summary: "samples of every site, then whole sites, most changed samples first",
        paper: "Cho and Ntoulas, Effective Change Detection Using Sampling, 2002",
        cost: "O(pages) per cycle, 18 bytes per page",
        parameters: &[],
    },
    PolicyInfo {
        name: "link-neighbours",
        questions: &[Question::Changes],
        summary: "random samples; of those that changed, siblings and linked pages",
        paper: TAN,
        cost: "O(pages + links) per cycle, 42 bytes per page and 8 per link",
        parameters: &[
            ParameterInfo {
                name: "d",
                default: "3",
                meaning: "how many steps along out-links, or along in-links when negative",
            },
            TRIGGER,
            CYCLES,
        ],
    },
    PolicyInfo {
        name: "directory-neighbours",
        questions: &[Question::Changes],
        summary: "random samples; of those that changed, the pages of near directories",
        paper: TAN,
        cost: "O(pages) per cycle, 38 bytes per page",
        parameters: &[
            ParameterInfo {
                name: "d",
                default: "1",
                meaning: "how many steps in the directory tree: to pages no deeper, or deeper \
                          when negative",
            },
            TRIGGER,
            CYCLES,
        ],
    },
    PolicyInfo {
        name: "cluster-neighbours",
        questions: &[Question::Changes],
        summary: "random samples; of those that changed, the pages of near clusters",
        paper: TAN,
        cost: "O(pages) per cycle, 38 bytes per page; clusters are made once, in seconds",
        parameters: &[
            ParameterInfo {
                name: "d",
                default: "0",
                meaning: "how many clusters beside the sample's own",
            },
            ParameterInfo {
                name: "clusters",
                default: "100",
                meaning: "into how many clusters the store is divided",
            },
            TRIGGER,
            CYCLES,
        ],
    },
    PolicyInfo {
        name: "uniform",
        questions: &[Question::Changes],
        summary: "the oldest copies first: every page equally often",
        paper: "folklore",
        cost: "O(pages) per cycle, 14 bytes per page",
        parameters: &[],
    },
    PolicyInfo {
        name: "interval",
        questions: &[Question::Changes],
        summary: "an interval per page, shorter after a change and longer after none",
        paper: "Apache Nutch (step=0.2), Apache StormCrawler (step=0.5)",
        cost: "O(pages) per cycle, 18 bytes per page",
        parameters: &[
            ParameterInfo {
                name: "step",
                default: "0.2",
                meaning: "what an interval shrinks or grows by, as a share of itself",
            },
            ParameterInfo {
                name: "initial",
                default: "30",
                meaning: "the first interval, in days",
            },
        ],
    },
    PolicyInfo {
        name: "crawl-value",
        questions: &[Question::Changes],
        summary: "the pages whose refresh buys most freshness, from their change rates",
        paper: "Olston and Pandey, Recrawl Scheduling Based on Information Longevity, 2008",
        cost: "O(pages) per cycle, 30 bytes per page",
        parameters: &[WEIGHT, POOL],
    },
    PolicyInfo {
        name: "azar",
        questions: &[Question::Changes],
        summary: "the refresh rates that keep most pages fresh, evenly played",
        paper: "Azar, Horvitz, Lubetzky, Peres and Shahaf, Tractable near-optimal policies, 2018",
        cost: "O(pages log pages) per cycle, 38 bytes per page",
        parameters: &[WEIGHT, POOL],
    },
    PolicyInfo {
        name: "cohorts",
        questions: &[Question::Changes],
        summary: "from groups of pages now seen to have changed, the lasting first",
        paper: "ours: sampling and change rates together",
        cost: "O(pages log pages) per cycle, O(log pages) per fetch, 40 bytes per page",
        parameters: &[
            ParameterInfo {
                name: "focus",
                default: "4",
                meaning: "the power of the chance of a change against the time a copy stays fresh",
            },
            ParameterInfo {
                name: "horizon",
                default: "180",
                meaning: "how far ahead freshness counts, in days",
            },
            ParameterInfo {
                name: "expectation",
                default: "1",
                meaning: "how many answers of a cycle the rates learnt before weigh as much as",
            },
            ParameterInfo {
                name: "site",
                default: "1",
                meaning: "how many answers of a directory its site's weigh as much as",
            },
            ParameterInfo {
                name: "explore",
                default: "0.02",
                meaning: "the share of fetches that go to a page at random",
            },
            ParameterInfo {
                name: "ahead",
                default: "1",
                meaning: "how many pages are queued at once: more keep more hosts busy",
            },
        ],
    },
];

/// Makes the policy that a spec names, for a store.
pub fn build(spec: &Spec, store: &dyn Store, seed: u64) -> Result<Box<dyn Policy>, SpecError> {
    if let Some(guest) = spec.made() {
        return Ok(guest);
    }
    let info = spec.find(Question::Changes)?;
    let nothing = (Trigger::Changed, Vec::new());
    Ok(match info.name {
        "rns" => sampler(Box::new(Alone), nothing, seed),
        "link-neighbours" => {
            let near = LinkNeighbours::new(store.links(), reach(spec, 3)?);
            sampler(Box::new(near), trigger(spec, store)?, seed)
        }
        "directory-neighbours" => {
            let near = DirectoryNeighbours::new(store.directories(), reach(spec, 1)?);
            sampler(Box::new(near), trigger(spec, store)?, seed)
        }
        "cluster-neighbours" => {
            let wanted = format!("a whole number from 0 to {REACH_MAX}");
            let reach = spec.read("d", 0, &wanted, |value| {
                value
                    .parse()
                    .ok()
                    .filter(|reach| *reach <= REACH_MAX as usize)
            })?;
            let count = spec.read("clusters", 100, "a whole number from 1 to 10000", |value| {
                value
                    .parse()
                    .ok()
                    .filter(|count| (1..=10_000).contains(count))
            })?;
            let trigger = trigger(spec, store)?;
            let near = ClusterNeighbours::new(store.clusters(count), reach);
            sampler(Box::new(near), trigger, seed)
        }
        "gsb" => Box::new(GreedySites::new(store.sites(), seed)),
        "round-robin" => Box::new(Refresh::new(RoundRobin::default(), seed)),
        "uniform" => Box::new(Refresh::new(Oldest, seed)),
        "interval" => {
            let step = spec.read("step", 0.2, "a number above 0 and below 1", |value| {
                value.parse().ok().filter(|step| *step > 0.0 && *step < 1.0)
            })?;
            let initial = positive(spec, "initial", 30.0)?;
            Box::new(Refresh::new(Interval::new(step, initial), seed))
        }
        "crawl-value" => {
            let (rates, importance) = (rates(spec, store)?, weight(spec, store)?);
            Box::new(Refresh::new(CrawlValue::new(rates, importance), seed))
        }
        "azar" => {
            let (rates, importance) = (rates(spec, store)?, weight(spec, store)?);
            Box::new(Refresh::new(Azar::new(rates, importance), seed))
        }
        "cohorts" => Box::new(Cohorts::new(store, weighing(spec)?, seed)),
        other => unreachable!("{other} is in the catalogue but cannot be built"),
    })
}

fn sampler(
    near: Box<dyn Neighbourhood>,
    (trigger, levels): (Trigger, Vec<u8>),
    seed: u64,
) -> Box<dyn Policy> {
    Box::new(Sampling::new(near, trigger, levels, seed))
}

fn reach(spec: &Spec, default: i32) -> Result<i32, SpecError> {
    let wanted = format!("a whole number from -{REACH_MAX} to {REACH_MAX}");
    spec.read("d", default, &wanted, |value| {
        value
            .parse()
            .ok()
            .filter(|reach: &i32| reach.abs() <= REACH_MAX)
    })
}

/// The trigger, and what it needs to know of importance.
fn trigger(spec: &Spec, store: &dyn Store) -> Result<(Trigger, Vec<u8>), SpecError> {
    let cycles = [("all", Cycles::All), ("observed", Cycles::Observed)];
    let cycles = spec.choice("cycles", Cycles::All, &cycles)?;
    let triggers = [
        ("always", Trigger::Always),
        ("changed", Trigger::Changed),
        ("history", Trigger::History(cycles)),
        ("weighted-history", Trigger::WeightedHistory(cycles)),
        ("pagerank", Trigger::PageRank),
    ];
    let trigger = spec.choice("trigger", Trigger::Changed, &triggers)?;
    let levels = match trigger {
        Trigger::PageRank => importance_levels(&store.importance()),
        _ => Vec::new(),
    };
    Ok((trigger, levels))
}

fn weighing(spec: &Spec) -> Result<Weighing, SpecError> {
    let usual = Weighing::default();
    Ok(Weighing {
        focus: positive(spec, "focus", usual.focus)?,
        horizon_days: positive(spec, "horizon", usual.horizon_days)?,
        expectation: positive(spec, "expectation", usual.expectation)?,
        site: positive(spec, "site", usual.site)?,
        explore: spec.read("explore", usual.explore, "a number from 0 to 1", |value| {
            value
                .parse()
                .ok()
                .filter(|share| (0.0..=1.0).contains(share))
        })?,
        ahead: spec.read("ahead", usual.ahead, "a whole number above 0", |value| {
            value.parse().ok().filter(|ahead| *ahead > 0)
        })?,
    })
}

fn positive(spec: &Spec, parameter: &str, default: f64) -> Result<f64, SpecError> {
    spec.read(parameter, default, "a number above 0", |value| {
        value
            .parse()
            .ok()
            .filter(|number: &f64| *number > 0.0 && number.is_finite())
    })
}

fn rates(spec: &Spec, store: &dyn Store) -> Result<PooledRates, SpecError> {
    let page = positive(spec, "pool", Pooling::default().page)?;
    let pooling = Pooling {
        page,
        ..Pooling::default()
    };
    Ok(PooledRates::new(
        store.sites(),
        store.directories(),
        pooling,
    ))
}

/// What each page is worth.
fn weight(spec: &Spec, store: &dyn Store) -> Result<Arc<[f64]>, SpecError> {
    #[derive(Clone, Copy)]
    enum Weight {
        Equal,
        PageRank,
    }
    let weights = [("equal", Weight::Equal), ("pagerank", Weight::PageRank)];
    Ok(match spec.choice("weight", Weight::Equal, &weights)? {
        Weight::PageRank => store.importance(),
        Weight::Equal => {
            let count = store.sites().len();
            vec![1.0 / count.max(1) as f64; count].into()
        }
    })
}

/// Whether a spec can be built, without a store at hand.
pub fn check(spec: &Spec) -> Result<(), SpecError> {
    build(spec, &Nothing, 1).map(|_| ())
}

/// A store without pages.
struct Nothing;

impl Store for Nothing {
    fn sites(&self) -> Arc<[u32]> {
        Arc::new([])
    }

    fn links(&self) -> Arc<LinkMap> {
        Arc::default()
    }

    fn directories(&self) -> Arc<DirectoryTree> {
        Arc::default()
    }

    fn clusters(&self, _: usize) -> Arc<ClusterMap> {
        Arc::default()
    }

    fn importance(&self) -> Arc<[f64]> {
        Arc::new([])
    }
}
