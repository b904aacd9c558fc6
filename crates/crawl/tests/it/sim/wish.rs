//! What is asked of a crawl directory: a question, a policy, a scope, budgets. As the commands do.

use turnstone_crawl::{Lists, Plan, Round};
use turnstone_fetch::scope::{Scope, ScopeRules};
use turnstone_fetch::soft404::SoftOptions;
use turnstone_frontier::{Policy, Politeness, Tick};
use turnstone_ledger::{DAY_MS, Pace, Past, Terms};
use turnstone_pagestore::Store;
use turnstone_policy::coverage::Goal;
use turnstone_policy::mass::Fraction;
use turnstone_policy::{Question, Spec};
use turnstone_questions::{Asked, begin_survey, question_of_crawl};

use super::dice::Dice;
use super::serve::DELAY_MS;
use super::web::VirtualWeb;

/// Pages of one pattern that are asked for on trust.
pub(super) const TRUST: u32 = 20;

const CRAWLS: [&str; 4] = [
    "rankmass",
    "rankmass:push=exact",
    "windowed-rankmass",
    "breadth-first",
];
const REFRESHES: [&str; 3] = ["cohorts", "rns", "directory-neighbours"];
const DISCOVERIES: [&str; 3] = ["bandit:hubs=0.5", "od-1", "cov"];
const SURVEYS: [&str; 3] = ["tree", "pagerank", "random"];

/// What is asked of the crawl now.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Wish {
    pub(super) asked: Asked,
    pub(super) exclude: Vec<String>,
    pub(super) everywhere: bool,
    /// The most requests that may ever be sent.
    pub(super) requests: Option<u64>,
    /// What a round may spend.
    pub(super) budget: u64,
    pub(super) pace: Option<Pace>,
}

fn one_of(dice: &mut Dice, specs: &[&str]) -> Spec {
    let at = dice.below(specs.len() as u64) as usize;
    specs[at].parse().unwrap()
}

/// A crawl that goes on until nothing is left.
fn crawl(dice: &mut Dice) -> Asked {
    let spec = one_of(dice, &CRAWLS);
    Asked {
        goal: Goal {
            epsilon: Fraction::new(1e-6).unwrap(),
            ..Goal::default()
        },
        ..Asked::new(question_of_crawl(&spec), spec)
    }
}

impl Wish {
    pub(super) fn first(dice: &mut Dice) -> Self {
        Self {
            asked: crawl(dice),
            exclude: Vec::new(),
            everywhere: false,
            requests: dice.once_in(4).then(|| 10 + dice.below(60)),
            budget: 0,
            pace: None,
        }
    }

    /// The same in another scope.
    pub(super) fn rescope(&mut self, dice: &mut Dice) {
        if dice.once_in(2) {
            self.everywhere = !self.everywhere;
        } else if self.exclude.is_empty() {
            self.exclude = vec!["/x/".into()];
        } else {
            self.exclude.clear();
        }
    }

    /// A crawl, in the same scope.
    pub(super) fn crawl(&mut self, dice: &mut Dice) {
        self.asked = crawl(dice);
        self.pace = None;
    }

    /// Another question, in the same scope.
    pub(super) fn ask(&mut self, dice: &mut Dice) {
        let question = match dice.below(5) {
            0 => Question::Coverage,
            1 => Question::Changes,
            2 => Question::Discovery,
            3 => Question::Liveness,
            _ => Question::Keep,
        };
        self.pace = None;
        self.budget = 1 + dice.below(12);
        self.asked = match question {
            Question::Coverage | Question::Importance => crawl(dice),
            Question::Changes => Asked::new(question, one_of(dice, &REFRESHES)),
            Question::Discovery => Asked::new(question, one_of(dice, &DISCOVERIES)),
            Question::Liveness => Asked::new(question, one_of(dice, &SURVEYS)),
            Question::Keep => Asked::new(question, "keep".parse().unwrap()),
        };
        if matches!(question, Question::Changes | Question::Discovery) && dice.once_in(3) {
            self.asked.explore = 0.25;
        }
        if question == Question::Keep {
            let slice_ms = 60_000 + dice.below(3_600_000);
            self.pace = Some(Pace {
                slice_ms,
                per_second: dice.once_in(2).then(|| 0.2 + dice.below(20) as f64 / 10.0),
                per_day: Some(DAY_MS / slice_ms * (1 + dice.below(15))),
                host_per_day: dice.once_in(2).then(|| 3 + dice.below(10)),
                rounds: Some(1 + dice.below(3)),
            });
        }
    }

    pub(super) fn question(&self) -> Question {
        self.asked.question
    }

    pub(super) fn is_crawl(&self) -> bool {
        self.asked.name() == "crawl"
    }

    /// Whether every process begins anew instead of going on.
    pub(super) fn is_round(&self) -> bool {
        !self.is_crawl() && self.pace.is_none()
    }

    pub(super) fn scope(&self, web: &VirtualWeb) -> Scope {
        let hosts = (0..web.hosts).map(|host| format!("h{host}.example"));
        Scope::new(ScopeRules {
            hosts: if self.everywhere {
                Vec::new()
            } else {
                hosts.collect()
            },
            exclude: self.exclude.clone(),
            ..ScopeRules::default()
        })
        .unwrap()
    }

    pub(super) fn plan(&self, web: &VirtualWeb) -> Plan {
        let question = self.question();
        let mut plan = Plan::new(self.scope(web));
        plan.politeness = Politeness {
            delay_ms: DELAY_MS,
            open_max: 1,
        };
        plan.connections = 4;
        plan.pattern_trust = Some(TRUST);
        plan.until.requests = self.requests;
        plan.pace = self.pace;
        plan.lists = match question {
            Question::Discovery | Question::Keep => Lists::Linked,
            _ => Lists::Beside,
        };
        plan.survey = (question == Question::Liveness).then(SoftOptions::default);
        plan.round = (!self.is_crawl()).then(|| Round {
            question: self.asked.name().to_owned(),
            budget: match self.pace {
                Some(pace) => pace.budget(0),
                None => self.budget,
            },
        });
        plan
    }

    /// What the policy is told of the past; may leave a note in the store.
    pub(super) fn past(&self, store: &mut Store, tick: Tick) -> Past {
        match self.question() {
            Question::Changes => Past::Stored,
            Question::Liveness => {
                let mark = self.asked.to_string();
                begin_survey(store, tick, &mark).unwrap()
            }
            _ => Past::All,
        }
    }

    pub(super) fn terms(&self, plan: &Plan, past: Past) -> Terms {
        plan.terms(self.asked.name(), self.asked.to_string(), past)
    }

    pub(super) fn policy(&self, store: &Store) -> Box<dyn Policy> {
        self.asked.make(store).unwrap()
    }
}
