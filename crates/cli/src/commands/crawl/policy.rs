//! The policy a crawl runs, from its spec, its goal and its seeds.

use turnstone_frontier::{PageId, Policy};
use turnstone_ledger::View;
use turnstone_pagestore::Store;
use turnstone_policy::coverage::{self, Goal, Trust};
use turnstone_policy::importance::{self, Bonus};
use turnstone_policy::mass::Fraction;
use turnstone_policy::{Question, Spec};

use super::config::Config;
use crate::exit::Usage;

/// The share that is proven when nothing else is asked.
const COVERAGE: f64 = 0.98;
/// With other goals the proof goes on as far as it can.
const EPSILON_MIN: f64 = 1e-6;

/// A policy before it knows its seeds.
#[derive(Clone, Debug)]
pub(crate) struct Chosen {
    spec: Spec,
    text: String,
    goal: Goal,
    random_seed: u64,
    question: Question,
}

impl Chosen {
    /// Reads what a configuration asks for.
    pub(crate) fn read(config: &Config) -> anyhow::Result<Self> {
        let text = config.policy.clone().unwrap_or_else(|| "rankmass".into());
        let spec: Spec = text.parse()?;
        let question = if spec.find(Question::Importance).is_ok() && spec.name() != "breadth-first"
        {
            Question::Importance
        } else {
            Question::Coverage
        };
        spec.find(question)?;
        let fraction = |option: &str, number: f64| {
            Fraction::new(number)
                .ok_or_else(|| Usage::of(option, format!("{number} is not between 0 and 1")))
        };
        let only_others = config.until.coverage.is_none()
            && config.until != super::config::UntilConfig::default();
        let epsilon = if only_others {
            EPSILON_MIN
        } else {
            1.0 - config.until.coverage.unwrap_or(COVERAGE)
        };
        let goal = Goal {
            damping: fraction("--damping", config.damping.unwrap_or(0.85))?,
            epsilon: fraction("--until coverage", epsilon)?,
        };
        if spec.get("nodes") == Some("site") {
            let what = "nodes=site needs hosts numbered by site, which a live crawl does not do; \
                        choose nodes=host";
            return Err(Usage::of("--policy", what).into());
        }
        let chosen = Self {
            spec,
            text,
            goal,
            random_seed: config.random_seed.unwrap_or(1),
            question,
        };
        chosen.make(&[PageId(0)])?;
        if !chosen.proves() && config.until.coverage.is_some() {
            let what = format!("{} proves no coverage; ask for another goal", chosen.text);
            return Err(Usage::of("--until", what).into());
        }
        let endless = question == Question::Importance
            && config.until == super::config::UntilConfig::default();
        if endless {
            let what = format!(
                "{} never ends by itself; say when, e.g. pages=1000",
                chosen.text
            );
            return Err(Usage::of("--until", what).into());
        }
        Ok(chosen)
    }

    /// Whether the policy proves a share.
    pub(crate) fn proves(&self) -> bool {
        self.question == Question::Coverage && self.spec.name() != "breadth-first"
    }

    /// The share that is to be proven.
    pub(crate) fn goal(&self) -> f64 {
        1.0 - self.goal.epsilon.number()
    }

    /// The policy as its spec.
    pub(crate) fn spec(&self) -> &str {
        &self.text
    }

    /// The policy, if it is one that estimates importance.
    pub(crate) fn opic(&self) -> Option<importance::Opic> {
        if self.question != Question::Importance {
            return None;
        }
        importance::build(&self.spec, &Bonus::default(), self.random_seed).ok()
    }

    /// The policy for these seeds.
    pub(crate) fn make(&self, seeds: &[PageId]) -> anyhow::Result<Box<dyn Policy>> {
        Ok(match self.question {
            Question::Importance => Box::new(importance::build(
                &self.spec,
                &Bonus::default(),
                self.random_seed,
            )?),
            _ => {
                let trust = Trust::alike(seeds.iter().copied())?;
                coverage::build(&self.spec, &trust, self.goal)?
            }
        })
    }

    /// The policy for the seeds of a store, by the numbers that it is going to know pages by.
    pub(crate) fn make_for(&self, store: &Store) -> anyhow::Result<Box<dyn Policy>> {
        let view = View::inside(store);
        let seeds = store.index().seeds().iter();
        let seeds: Vec<PageId> = seeds.filter_map(|seed| view.inner(*seed)).collect();
        self.make(&seeds)
    }

    /// Everything its decisions depend on, seeds excepted.
    pub(crate) fn identity(&self) -> String {
        let Goal { damping, epsilon } = self.goal;
        format!(
            "{} damping={} epsilon={} random={}",
            self.text,
            damping.number(),
            epsilon.number(),
            self.random_seed,
        )
    }
}
