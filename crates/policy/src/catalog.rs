//! Every policy there is: what it answers, its parameters, its paper and its cost.

use std::fmt;

use crate::{breadth_first, changes, coverage, discovery, importance, keep, liveness};

/// The questions Turnstone answers with the fewest requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Question {
    /// Have most of the personalised PageRank in the store, provably.
    Coverage,
    /// Know how important each page is, while crawling.
    Importance,
    /// Find the pages of an old crawl that are still alive.
    Liveness,
    /// Find the pages that are new.
    Discovery,
    /// Find the stored pages that changed.
    Changes,
    /// Hold a store complete and current for ever.
    Keep,
}

impl Question {
    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Coverage => "coverage",
            Self::Importance => "importance",
            Self::Liveness => "liveness",
            Self::Discovery => "discovery",
            Self::Changes => "changes",
            Self::Keep => "keep",
        }
    }
}

impl fmt::Display for Question {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// What there is to know about a policy before running it.
#[derive(Clone, Copy, Debug)]
pub struct PolicyInfo {
    /// Its name in a spec.
    pub name: &'static str,
    /// The questions it answers.
    pub questions: &'static [Question],
    /// What it does, in a sentence.
    pub summary: &'static str,
    /// Where it comes from.
    pub paper: &'static str,
    /// What it costs in time and memory.
    pub cost: &'static str,
    /// What can be set.
    pub parameters: &'static [ParameterInfo],
}

impl PolicyInfo {
    /// Whether the policy answers a question.
    pub fn answers(&self, question: Question) -> bool {
        self.questions.contains(&question)
    }
}

/// One parameter of a policy.
#[derive(Clone, Copy, Debug)]
pub struct ParameterInfo {
    /// Its name in a spec.
    pub name: &'static str,
    /// The value it has when not given.
    pub default: &'static str,
    /// What it means and which values it takes.
    pub meaning: &'static str,
}

/// Every policy, question by question.
pub fn policies() -> impl Iterator<Item = &'static PolicyInfo> {
    const ALL: &[&[PolicyInfo]] = &[
        coverage::POLICIES,
        importance::POLICIES,
        liveness::POLICIES,
        discovery::POLICIES,
        changes::POLICIES,
        keep::POLICIES,
        &[breadth_first::INFO],
    ];
    ALL.iter().copied().flatten()
}
