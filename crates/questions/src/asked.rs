//! A question with everything that its answers depend on, seeds and past excepted.
//!
//! Written as a line, `spec key=value …`, it is the identity of a plan: two processes that read the
//! same line of a journal make policies that decide alike.

use std::fmt;
use std::sync::Arc;

use turnstone_frontier::{Coverage, PageId, Policy};
use turnstone_ledger::View;
use turnstone_linkgraph::rank::{GraphRank, PageRank};
use turnstone_pagestore::{Store, StoreError};
use turnstone_policy::changes::{self, Store as _};
use turnstone_policy::coverage::{self, Confidence, CoveragePolicy, Goal, Trust, TrustError};
use turnstone_policy::discovery::{self, Discovery, NewPagesFirst};
use turnstone_policy::explore::{Among, Explore};
use turnstone_policy::importance::{self, Bonus, Estimator};
use turnstone_policy::keep;
use turnstone_policy::liveness::{
    self, LivenessPolicy, OldCrawl, Sample, SampleBy, SampleError, SampleSize, Start,
};
use turnstone_policy::mass::Fraction;
use turnstone_policy::{Question, Spec, SpecError};

use crate::stored::StoredPages;

/// How many pages are tested first by liveness policies that learn from a sample.
pub const DEFAULT_SAMPLE: SampleSize = SampleSize::Share(0.02);

/// What is asked of a store.
#[derive(Clone, Debug, PartialEq)]
pub struct Asked {
    /// The question.
    pub question: Question,
    /// The policy.
    pub spec: Spec,
    /// What breaks ties and draws lots.
    pub random_seed: u64,
    /// The share that is to be proven, where it is.
    pub goal: Goal,
    /// With which confidence a certificate is enough; nothing where only a proof will do.
    pub confidence: Option<Fraction>,
    /// The share of each round that is drawn at random.
    pub explore: f64,
    /// How many pages a survey tests first, where its policy learns from a sample.
    pub sample: SampleSize,
}

/// Why a policy cannot be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AskedError {
    /// The spec.
    #[error(transparent)]
    Spec(#[from] SpecError),
    /// The journal cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The seeds.
    #[error(transparent)]
    Trust(#[from] TrustError),
    /// The sample.
    #[error("--sample: {0}")]
    Sample(#[from] SampleError),
}

impl Asked {
    /// A question with the usual settings.
    pub fn new(question: Question, spec: Spec) -> Self {
        Self {
            question,
            spec,
            random_seed: 1,
            goal: Goal::default(),
            confidence: None,
            explore: 0.0,
            sample: DEFAULT_SAMPLE,
        }
    }

    /// What the journal calls the question: the command that asks it.
    pub fn name(&self) -> &'static str {
        match self.question {
            Question::Coverage | Question::Importance => "crawl",
            Question::Liveness => "revive",
            Question::Discovery => turnstone_ledger::DISCOVER,
            Question::Changes => "refresh",
            Question::Keep => "keep",
        }
    }

    /// Reads what a plan of the journal says; nothing if another release wrote it otherwise.
    pub fn read(name: &str, identity: &str) -> Option<Self> {
        let mut words = identity.split(' ');
        let spec: Spec = words.next()?.parse().ok()?;
        let question = match name {
            "crawl" => question_of_crawl(&spec),
            "revive" => Question::Liveness,
            turnstone_ledger::DISCOVER => Question::Discovery,
            "refresh" => Question::Changes,
            "keep" => Question::Keep,
            _ => return None,
        };
        spec.find(question).ok()?;
        let mut asked = Self::new(question, spec);
        for word in words {
            let (key, value) = word.split_once('=')?;
            match key {
                "random" => asked.random_seed = value.parse().ok()?,
                "explore" => asked.explore = value.parse().ok()?,
                "sample" => asked.sample = value.parse().ok()?,
                "damping" => asked.goal.damping = Fraction::new(value.parse().ok()?)?,
                "confidence" => asked.confidence = Some(Fraction::new(value.parse().ok()?)?),
                "epsilon" => asked.goal.epsilon = Fraction::new(value.parse().ok()?)?,
                _ => return None,
            }
        }
        Some(asked)
    }

    /// Whether the policy proves a share.
    pub fn proves(&self) -> bool {
        self.question == Question::Coverage
            && self.spec.name() != "breadth-first"
            && !self.spec.is_guest()
    }

    /// The share that is to be proven.
    pub fn goal_share(&self) -> f64 {
        1.0 - self.goal.epsilon.number()
    }

    /// The policy, for the store as it is.
    pub fn make(&self, store: &Store) -> Result<Box<dyn Policy>, AskedError> {
        let (spec, seed) = (&self.spec, self.random_seed);
        Ok(match self.question {
            Question::Coverage => Box::new(self.make_proof(store)?),
            Question::Importance => self.estimator()?,
            Question::Liveness => Box::new(self.survey(store)?),
            Question::Changes => {
                let view = View::stored(store)?;
                let pages = StoredPages::read(store, &view.numbered())?;
                self.exploring(changes::build(spec, &pages, seed)?, Among::Known)
            }
            Question::Discovery => {
                let question = Discovery {
                    seed,
                    ..Discovery::default()
                };
                let policy = discovery::build(spec, question)?;
                let policy = self.exploring(policy, Among::Fetched);
                Box::new(NewPagesFirst::new(policy))
            }
            Question::Keep => keep::build(spec, seed)?,
        })
    }

    /// The policy of a crawl that proves, for a store.
    pub fn make_proof(&self, store: &Store) -> Result<Box<dyn CoveragePolicy>, AskedError> {
        let view = View::inside(store);
        let seeds = store.index().seeds().iter();
        let seeds: Vec<PageId> = seeds.filter_map(|seed| view.inner(*seed)).collect();
        self.proof(&seeds)
    }

    /// The policy of a crawl that proves, for seeds by its own numbers.
    pub fn proof(&self, seeds: &[PageId]) -> Result<Box<dyn CoveragePolicy>, AskedError> {
        let trust = Trust::alike(seeds.iter().copied())?;
        // After a change of plan the past is told anew. Other goals must draw other surfers: those of before have
        // shaped the store.
        let asked = self.goal.mass()
            ^ self
                .confidence
                .map_or(0, |level| level.of_rounded_up(Coverage::ONE));
        let seed = self.random_seed ^ asked.rotate_left(32);
        let goal = Goal {
            confidence: self.confidence.map(|level| Confidence { level, seed }),
            ..self.goal
        };
        Ok(coverage::build(&self.spec, &trust, goal)?)
    }

    /// The policy of a crawl that estimates importance.
    pub fn estimator(&self) -> Result<Box<dyn Estimator>, AskedError> {
        Ok(importance::build(
            &self.spec,
            &Bonus::default(),
            self.random_seed,
        )?)
    }

    /// The policy of a survey.
    pub fn survey(&self, store: &Store) -> Result<Box<dyn LivenessPolicy>, AskedError> {
        let view = View::stored(store)?;
        let pages = StoredPages::read(store, &view.numbered())?;
        let graph = GraphRank::new(pages.graph(), PageRank::default());
        let start = Start {
            old: Arc::new(OldCrawl::new(Arc::new(graph)).in_folders(pages.directories())),
            sample: Sample {
                by: SampleBy::Random,
                size: self.sample.of(view.len())?,
            },
            seed: self.random_seed,
        };
        Ok(liveness::build(&self.spec, &start)?)
    }

    /// The policy, leaving its share of each round to chance.
    fn exploring(&self, policy: impl Policy + 'static, among: Among) -> Box<dyn Policy> {
        if self.explore > 0.0 {
            Box::new(Explore::new(policy, self.explore, among, self.random_seed))
        } else {
            Box::new(policy)
        }
    }
}

/// A crawl proves a share or estimates importance, whichever its policy does; breadth-first does neither.
pub fn question_of_crawl(spec: &Spec) -> Question {
    if spec.find(Question::Importance).is_ok() && spec.name() != "breadth-first" {
        Question::Importance
    } else {
        Question::Coverage
    }
}

impl fmt::Display for Asked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.spec)?;
        match self.question {
            Question::Coverage => {
                let Goal {
                    damping, epsilon, ..
                } = self.goal;
                let (damping, epsilon) = (damping.number(), epsilon.number());
                write!(f, " damping={damping} epsilon={epsilon}")?;
                if let Some(level) = self.confidence {
                    write!(f, " confidence={}", level.number())?;
                }
            }
            Question::Liveness => write!(f, " sample={}", self.sample)?,
            Question::Changes | Question::Discovery if self.explore > 0.0 => {
                write!(f, " explore={}", self.explore)?;
            }
            _ => {}
        }
        write!(f, " random={}", self.random_seed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_asked_is_read_as_it_was_written() {
        let lines = [
            (
                "crawl",
                "rankmass:gone=count damping=0.85 epsilon=0.02 random=1",
            ),
            (
                "crawl",
                "rankmass damping=0.85 epsilon=0.02 confidence=0.95 random=7",
            ),
            (
                "crawl",
                "breadth-first damping=0.5 epsilon=0.000001 random=9",
            ),
            ("crawl", "opic:select=greedy random=3"),
            ("crawl", "local-push:work=64 random=3"),
            ("revive", "tree sample=2% random=1"),
            ("revive", "pa-ratio sample=1000 random=1"),
            ("refresh", "cohorts:ahead=16 explore=0.1 random=1"),
            ("refresh", "rns random=1"),
            ("discover", "bandit:hubs=0.5 random=7"),
            ("keep", "keep:found=3,refresh=0.2 random=1"),
        ];
        for (name, line) in lines {
            let asked = Asked::read(name, line).unwrap_or_else(|| panic!("{line}"));
            assert_eq!((asked.name(), asked.to_string().as_str()), (name, line));
        }
        // Other releases, other questions, other words.
        for (name, line) in [
            ("refresh", "refresh cohorts:ahead=16"),
            ("crawl", "rankmass damping=2 epsilon=0.02 random=1"),
            ("crawl", "rankmass mood=good"),
            ("crawl", "cohorts random=1"),
            ("sing", "rankmass random=1"),
            ("crawl", ""),
        ] {
            assert_eq!(Asked::read(name, line), None, "{line}");
        }
    }
}
