//! Advice: which policy suits a crawl directory, by backtest on its own history.
//!
//! For each question the fitting policies are tried on what the directory recorded, the one that its
//! command takes by default among them. The rule that recommends one ([`decide`]) is fixed and hangs
//! on nothing but the figures: a policy is better than another if its figure is, by more than the
//! least that matters, more than seeds make it differ, in both halves of the history where there
//! are halves, and whatever the unknown answers are. If none is better than the default, it is kept;
//! else the first of the better ones is recommended than which none of them is better, in a fixed
//! order from cheap to costly. Where too much is unknown, or too little was looked at twice, nothing
//! is recommended, and it is said what to do.
//!
//! Cost: that of the backtests; no policy is begun after the time is up.

mod changes;
mod discovery;
mod graph;
mod liveness;
mod verdict;

use std::path::{Path, PathBuf};
use std::time::Instant;

use serde::Serialize;
use turnstone_pagestore::{Joined, StoreError};
use turnstone_policy::{Question, Spec, SpecError};

use crate::backtest::Watch;
use crate::web::{OldWebError, WebError};

pub use verdict::{ANSWERS_MIN, Better, Conclusion, LEAST_SHARE, Tried, UNKNOWN_MAX, decide};

/// Why there is no advice.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AdviseError {
    /// The directory cannot be read.
    #[error(transparent)]
    Web(#[from] WebError),
    /// The directory cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// There is no old crawl in it.
    #[error(transparent)]
    OldWeb(#[from] OldWebError),
    /// A policy cannot be made.
    #[error(transparent)]
    Spec(#[from] SpecError),
}

/// What is asked of a directory.
#[derive(Clone, Debug)]
pub struct Options {
    /// The crawl directory.
    pub directory: PathBuf,
    /// The first seed, and how many.
    pub seeds: (u64, u64),
    /// After how long no policy is begun any more.
    pub seconds_max: f64,
}

impl Options {
    fn seeds(&self) -> impl Iterator<Item = u64> + use<> {
        let (first, count) = self.seeds;
        (0..count).map(move |more| first.wrapping_add(more))
    }
}

/// Advice on one question.
#[derive(Clone, Debug, Serialize)]
pub struct Advice {
    /// The question.
    #[serde(serialize_with = "by_name")]
    pub question: Question,
    /// What the figures are.
    pub measure: &'static str,
    /// Which of two figures is better.
    pub better: Better,
    /// The policy that the command takes if none is named.
    pub default: &'static str,
    /// What was tried, in the order of the rule.
    pub tried: Vec<Tried>,
    /// What there was no time for.
    pub untried: Vec<String>,
    /// What comes of it.
    pub verdict: Conclusion,
}

impl Advice {
    /// The policy to use, if the history tells.
    pub fn policy(&self) -> Option<&str> {
        match &self.verdict {
            Conclusion::Keep { .. } => Some(self.default),
            Conclusion::Change { policy, .. } => Some(policy),
            Conclusion::TooThin { .. } => None,
        }
    }

    /// What was tried of a policy.
    pub fn of(&self, policy: &str) -> Option<&Tried> {
        self.tried.iter().find(|tried| tried.policy == policy)
    }
}

fn by_name<S: serde::Serializer>(question: &Question, out: S) -> Result<S::Ok, S::Error> {
    out.serialize_str(question.name())
}

/// The questions, in the order in which they are advised on.
pub const QUESTIONS: [Question; 5] = [
    Question::Coverage,
    Question::Importance,
    Question::Liveness,
    Question::Discovery,
    Question::Changes,
];

/// What all policies of a question are tried on, and how.
struct Field<'a> {
    question: Question,
    measure: &'static str,
    better: Better,
    /// The default first, then from cheap to costly.
    policies: &'a [&'static str],
}

/// The clock of one run of advice.
pub struct Time {
    began: Instant,
    seconds_max: f64,
}

impl Time {
    /// Begins now.
    pub fn new(options: &Options) -> Self {
        Self {
            began: Instant::now(),
            seconds_max: options.seconds_max,
        }
    }

    fn is_up(&self) -> bool {
        self.began.elapsed().as_secs_f64() > self.seconds_max
    }
}

impl Field<'_> {
    /// Tries every policy for which there is time.
    fn advise(
        &self,
        time: &Time,
        watch: Watch<'_>,
        mut attempt: impl FnMut(&Spec, Watch<'_>) -> Result<Tried, AdviseError>,
    ) -> Result<Advice, AdviseError> {
        let (mut tried, mut untried) = (Vec::new(), Vec::new());
        for (index, policy) in self.policies.iter().enumerate() {
            // The default is what all others are held against.
            if index > 0 && time.is_up() {
                untried.push((*policy).to_owned());
                continue;
            }
            let spec: Spec = policy.parse()?;
            let began = Instant::now();
            let mut one = attempt(&spec, watch)?;
            one.seconds = began.elapsed().as_secs_f64();
            tried.push(one);
        }
        Ok(Advice {
            question: self.question,
            measure: self.measure,
            better: self.better,
            default: self.policies[0],
            verdict: decide(&tried, self.better, self.question),
            tried,
            untried,
        })
    }

    /// Nothing can be tried.
    fn too_thin(&self, why: String, remedy: String) -> Advice {
        Advice {
            question: self.question,
            measure: self.measure,
            better: self.better,
            default: self.policies[0],
            tried: Vec::new(),
            untried: Vec::new(),
            verdict: Conclusion::TooThin { why, remedy },
        }
    }
}

/// Advises on one question.
pub fn advise(
    question: Question,
    options: &Options,
    time: &Time,
    watch: Watch<'_>,
) -> Result<Advice, AdviseError> {
    match question {
        Question::Coverage => graph::coverage(options, time, watch),
        Question::Importance => graph::importance(options, time, watch),
        Question::Liveness => liveness::advise(options, time, watch),
        Question::Discovery => discovery::advise(options, time, watch),
        Question::Changes => changes::advise(options, time, watch),
        // A crawl's own history shows a page only when it was asked for, which is too little to tell
        // what another split would have brought.
        Question::Keep => Ok(Advice {
            question,
            measure: "nothing",
            better: Better::Higher,
            default: "keep",
            tried: Vec::new(),
            untried: Vec::new(),
            verdict: verdict::thin("a crawl's own history does not tell", question),
        }),
    }
}

/// What a directory holds, for the head of the advice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Holding {
    /// Pages known.
    pub pages: u64,
    /// Pages in the store.
    pub stored: u64,
    /// Pages known and never fetched.
    pub never_fetched: u64,
    /// The most rounds of any site, its first crawl included.
    pub rounds: u64,
}

/// Looks at a directory.
pub fn holding(directory: &Path) -> Result<Holding, AdviseError> {
    let web = Joined::look(directory)?;
    let unknown = crate::crawled::never_asked(&web);
    let store = &web.stores()[0];
    let index = store.index();
    let mut holding = Holding {
        pages: index.page_count() as u64,
        stored: index.copied_count(),
        never_fetched: unknown.iter().filter(|unknown| **unknown).count() as u64,
        rounds: 0,
    };
    if holding.stored > 0 {
        let by = crate::crawled::SnapshotBy::Round;
        let histories = crate::crawled::SiteHistories::read(store, by)?;
        holding.rounds = histories.snapshot_counts().max().unwrap_or(0) as u64;
    }
    Ok(holding)
}
