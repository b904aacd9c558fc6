//! Keep: hold a store complete and current for ever, with one budget.
//!
//! Time goes in rounds (an hour, a day), each announced by
//! [`Event::Round`](turnstone_frontier::Event::Round) with a number of requests. They are spent on
//! four *arms*: known pages never fetched (coverage), stored pages that may have changed (refresh),
//! stored pages that may link to new ones (discovery), and pages that were gone (retest). [`Keep`]
//! divides them by what each request is expected to bring, corrected by what such requests were seen
//! to bring; [`Uniform`](baseline::Uniform) and [`Interval`](baseline::Interval) are what crawlers do
//! today, for comparison.
//!
//! The driver discovers every page it knows, reports every fetch with its links, lends what it knows of
//! folders and links, and stops handing out at the round's budget.

mod accounts;
pub mod baseline;
mod beliefs;
mod bursts;
mod choice;
mod hints;
mod lists;
mod page;
mod policy;
mod rates;
mod recall;
mod returns;
mod settings;
mod sources;
mod steady;

use turnstone_frontier::Policy;

use crate::catalog::{ParameterInfo, PolicyInfo, Question};
use crate::spec::{Spec, SpecError};
pub use policy::Keep;
pub use settings::Settings;

/// The catalogue entries.
pub const POLICIES: &[PolicyInfo] = &[
    PolicyInfo {
        name: "keep",
        questions: &[Question::Keep],
        summary: "one budget split among coverage, refresh, discovery and re-tests by their gain",
        paper: "ours: crawl values (Olston and Pandey 2008), hints (Busa-Fekete et al. 2025), \
                posteriors of sources (2023), one currency",
        cost: "O(pages) per round, O(links) per fetch, 80 bytes per page",
        parameters: settings::PARAMETERS,
    },
    PolicyInfo {
        name: "uniform",
        questions: &[Question::Keep],
        summary: "new pages as they come, then all known pages in turn",
        paper: "folklore",
        cost: "O(pages) per round, 20 bytes per page",
        parameters: &[],
    },
    PolicyInfo {
        name: "interval",
        questions: &[Question::Keep],
        summary: "new pages as they come, then the pages most overdue, by intervals that shrink \
                  after a change and grow after none",
        paper: "Apache Nutch, AdaptiveFetchSchedule",
        cost: "O(pages) per round, 24 bytes per page",
        parameters: &[
            ParameterInfo {
                name: "shrink",
                default: "0.2",
                meaning: "what an interval shrinks by after a change, as a share of itself",
            },
            ParameterInfo {
                name: "grow",
                default: "0.4",
                meaning: "what it grows by after none",
            },
            ParameterInfo {
                name: "initial",
                default: "30",
                meaning: "the first interval, in days",
            },
        ],
    },
];

/// Makes the policy that a spec names.
pub fn build(spec: &Spec, seed: u64) -> Result<Box<dyn Policy>, SpecError> {
    if let Some(guest) = spec.made() {
        return Ok(guest);
    }
    let info = spec.find(Question::Keep)?;
    Ok(match info.name {
        "keep" => Box::new(Keep::new(Settings::read(spec)?, seed)),
        "uniform" => Box::new(baseline::InTurn::new(baseline::Uniform)),
        "interval" => {
            let share = |name, default| {
                settings::number(
                    spec,
                    name,
                    default,
                    "a number above 0 and below 1",
                    |share| share > 0.0 && share < 1.0,
                )
            };
            let wanted = "a number of days above 0 and at most 365";
            let rule = baseline::Interval::new(baseline::Steps {
                shrink: share("shrink", 0.2)?,
                grow: share("grow", 0.4)?,
                initial_days: settings::number(spec, "initial", 30.0, wanted, |days| {
                    days > 0.0 && days <= 365.0
                })?,
            });
            Box::new(baseline::InTurn::new(rule))
        }
        other => unreachable!("{other} is in the catalogue but cannot be built"),
    })
}

/// Whether a spec can be built.
pub fn check(spec: &Spec) -> Result<(), SpecError> {
    build(spec, 1).map(|_| ())
}
