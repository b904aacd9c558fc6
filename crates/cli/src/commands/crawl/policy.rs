//! The policy a crawl runs, from its configuration.

use std::sync::Arc;

use turnstone_frontier::{PageId, Policy};
use turnstone_policy::breadth_first::BreadthFirst;
use turnstone_policy::coverage::Goal;
use turnstone_policy::mass::Fraction;
use turnstone_policy::{Question, Spec};
use turnstone_questions::{Asked, question_of_crawl};

use super::config::{Config, UntilConfig};
use crate::caller;
use crate::exit::Usage;

/// The share that is proven when nothing else is asked.
const COVERAGE: f64 = 0.98;
/// With other goals the proof goes on as far as it can.
const EPSILON_MIN: f64 = 1e-6;

/// What a configuration asks for whose policy is not in the catalogue, for those who only look: a program crawled with a
/// class of its own. It proves nothing, and what is made of it is never asked what comes next.
pub(crate) fn foreign(config: &Config) -> Option<Asked> {
    let name = config.policy.as_deref()?;
    let spec: Spec = name.parse().ok()?;
    if spec.find(Question::Coverage).is_ok() || spec.find(Question::Importance).is_ok() {
        return None;
    }
    let stand_in = Spec::guest(
        spec.name(),
        Arc::new(|| -> Box<dyn Policy> { Box::new(BreadthFirst::default()) }),
    );
    let known = Config {
        policy: Some("breadth-first".to_owned()),
        ..config.clone()
    };
    let asked = asked(&known).ok()?;
    Some(Asked {
        spec: stand_in,
        ..asked
    })
}

/// What a configuration asks for.
pub(crate) fn asked(config: &Config) -> anyhow::Result<Asked> {
    let text = config.policy.as_deref().unwrap_or("rankmass");
    let spec = caller::spec(text)?;
    let question = question_of_crawl(&spec);
    // A guest is in no catalogue.
    if !spec.is_guest() {
        spec.find(question)?;
    }
    let fraction = |option: &str, number: f64| {
        Fraction::new(number)
            .ok_or_else(|| Usage::of(option, format!("{number} is not between 0 and 1")))
    };
    let has_goal = config.until != UntilConfig::default();
    let only_others = config.until.coverage.is_none() && has_goal;
    let epsilon = if only_others {
        EPSILON_MIN
    } else {
        1.0 - config.until.coverage.unwrap_or(COVERAGE)
    };
    if spec.get("nodes") == Some("site") {
        let what = "nodes=site needs hosts numbered by site, which a live crawl does not do; \
                    choose nodes=host";
        return Err(Usage::of("--policy", what).into());
    }
    let confidence = config.until.confidence;
    if confidence.is_some() && (config.until.coverage.is_none() || spec.name() != "rankmass") {
        let what = "confidence needs coverage=SHARE beside it, and a policy that can be certified: rankmass";
        return Err(Usage::of("--until", what).into());
    }
    let confidence = confidence.map(|level| fraction("--until confidence", level));
    let asked = Asked {
        confidence: confidence.transpose()?,
        random_seed: config.random_seed.unwrap_or(1),
        goal: Goal {
            damping: fraction("--damping", config.damping.unwrap_or(0.85))?,
            epsilon: fraction("--until coverage", epsilon)?,
            confidence: None,
        },
        ..Asked::new(question, spec)
    };
    // What is wrong with it is said before anything is asked.
    match question {
        Question::Importance => drop(asked.estimator()?),
        _ => drop(asked.proof(&[PageId(0)])?),
    }
    if !asked.proves() && config.until.coverage.is_some() {
        let what = format!("{text} proves no coverage; ask for another goal");
        return Err(Usage::of("--until", what).into());
    }
    let only_all = UntilConfig {
        all: Some(true),
        ..UntilConfig::default()
    };
    if question == Question::Importance && (!has_goal || config.until == only_all) {
        let what = format!("{text} never ends by itself; say when, e.g. pages=1000");
        return Err(Usage::of("--until", what).into());
    }
    Ok(asked)
}
