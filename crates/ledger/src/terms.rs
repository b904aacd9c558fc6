//! What a crawl is asked to be, as far as its state depends on it: one entry of the journal.
//!
//! Everything else that a driver is asked (how many connections, how long a body) changes what it
//! does next, never what the journal means. What stands here does: another question, policy, set
//! of seeds or scope makes another state of the same past.

use turnstone_pagestore::{PlanAt, Position};
use turnstone_urls::traps::{BudgetOptions, TrapOptions};

/// The question whose policies learn from every round.
pub const DISCOVER: &str = "discover";

/// What stands for the policy where an old crawl was imported: it handed nothing out, so there is
/// nothing in which another policy could differ.
pub const IMPORT: &str = "import";

/// What a policy is told of the past.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Past {
    /// Everything in scope.
    #[default]
    All,
    /// Stored pages only, each from the moment it was first fetched.
    Stored,
    /// Stored pages only, and nothing that happened to them before a place in the journal.
    Since(Position),
}

/// The terms of a crawl.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Terms {
    /// Which question is asked: `crawl`, `revive`, `refresh`, `discover`, `keep`.
    pub question: String,
    /// The policy with everything its decisions depend on, seeds excepted.
    pub policy: String,
    /// What the policy is told of the past.
    pub past: Past,
    /// How many pages of one URL pattern are asked for on trust; `None` for as many as there are.
    pub pattern_trust: Option<u32>,
    /// Whether pages that only sitemaps and feeds name are asked for when all others are done.
    pub sitemaps: bool,
    /// The scope, as people wrote it.
    pub scope: String,
}

/// The line of a plan that says so. Plans of older releases have none.
const SITEMAPS: &str = "sitemaps\n";

impl Terms {
    /// The text of a plan entry: a line for each term that has no field of its own.
    pub fn text(&self) -> String {
        let past = match self.past {
            Past::All => "all".to_owned(),
            Past::Stored => "stored".to_owned(),
            Past::Since(Position(at)) => format!("since {at}"),
        };
        let trust = match self.pattern_trust {
            Some(trust) => trust.to_string(),
            None => "none".to_owned(),
        };
        let sitemaps = if self.sitemaps { SITEMAPS } else { "" };
        format!(
            "past {past}\npattern-trust {trust}\n{sitemaps}scope {}\n",
            self.scope
        )
    }

    /// Reads the terms of a plan entry; nothing if a newer release wrote other lines.
    pub fn read(plan: &PlanAt) -> Option<Self> {
        let mut lines = plan.text.splitn(3, '\n');
        let past = match lines.next()?.strip_prefix("past ")? {
            "all" => Past::All,
            "stored" => Past::Stored,
            since => Past::Since(Position(since.strip_prefix("since ")?.parse().ok()?)),
        };
        let pattern_trust = match lines.next()?.strip_prefix("pattern-trust ")? {
            "none" => None,
            trust => Some(trust.parse().ok()?),
        };
        let rest = lines.next()?;
        let after = rest.strip_prefix(SITEMAPS);
        let scope = after.unwrap_or(rest).strip_prefix("scope ")?;
        Some(Self {
            question: plan.question.clone(),
            policy: plan.policy.clone(),
            past,
            pattern_trust,
            sitemaps: after.is_some(),
            scope: scope.trim_end().to_owned(),
        })
    }

    /// Rounds are for those who ask the same question. Where new pages are linked from is learnt
    /// from every round, whatever it was for.
    pub fn hears(&self, question: &str) -> bool {
        self.question == question || self.question == DISCOVER
    }

    /// How patterns of URLs are budgeted, if they are.
    pub fn budgets(&self) -> Option<(TrapOptions, BudgetOptions)> {
        let trust = self.pattern_trust?;
        let budgets = BudgetOptions {
            trust,
            ..BudgetOptions::default()
        };
        Some((TrapOptions::default(), budgets))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use turnstone_frontier::Tick;

    #[test]
    fn terms_are_read_as_they_were_written() {
        for past in [Past::All, Past::Stored, Past::Since(Position(77))] {
            for pattern_trust in [None, Some(0), Some(200)] {
                let terms = Terms {
                    question: "crawl".into(),
                    policy: "rankmass damping=0.85".into(),
                    past,
                    pattern_trust,
                    sitemaps: pattern_trust.is_none(),
                    scope: "hosts a.example\nexclude /x/".into(),
                };
                let mut plan = PlanAt {
                    at: Position(1),
                    tick: Tick(2),
                    question: terms.question.clone(),
                    policy: terms.policy.clone(),
                    seeds: 3,
                    text: terms.text(),
                };
                assert_eq!(Terms::read(&plan).as_ref(), Some(&terms));
                plan.text = plan.text.replace("past", "future");
                assert_eq!(Terms::read(&plan), None);
            }
        }
    }
}
