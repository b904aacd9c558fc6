//! What a year of keeping is judged by.
//!
//! - *freshness*: of the pages that are there, the share that is in the store as it is; at the end of
//!   each day, averaged over days. A new page that is not stored yet counts as not fresh.
//! - *weighted freshness*: the same with each page counted by the links to it (PageRank over the links
//!   of the last versions of its site's pages).
//! - *stored freshness*: of the copies in the store, the share that is current.
//! - *found*: of the pages born after day 0, the share that was stored by the end.
//! - *delay*: days from a page's birth to when it is stored; the median over all pages born, a page
//!   never stored counting as later than all others.
//!
//! Several runs (each site alone) are added up page by page and day by day, and averaged site by
//! site beside it.

use std::time::Instant;

use serde::{Serialize, Serializer};
use turnstone_frontier::Split;
use turnstone_policy::{Spec, SpecError, keep};

use super::web::MovingWeb;
use super::year::{Ran, Rules, run};
use crate::backtest::Watch;

/// One day.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Day {
    /// Pages that are there.
    pub live: u64,
    /// Of these, stored as they are.
    pub fresh: u64,
    /// Pages with a copy.
    pub stored: u64,
    /// What the pages that are there, and those stored as they are, count for by the links to them, in
    /// millionths of an average page.
    pub live_weight: u64,
    /// See `live_weight`.
    pub fresh_weight: u64,
    /// Requests that might have been spent.
    pub budget: u64,
    /// Requests that were.
    pub requests: u64,
}

/// A page born after day 0: after how many days it was discovered and stored, if it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Found {
    /// A link to it was seen. A link may come before its page: then at once.
    pub known: Option<u32>,
    /// It was fetched.
    pub stored: Option<u32>,
}

/// The measures of one or several runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Total {
    /// Mean freshness.
    pub freshness: f64,
    /// The same, each page counted by the links to it.
    pub weighted_freshness: f64,
    /// Mean freshness of the copies.
    pub stored_freshness: f64,
    /// Pages born.
    pub new_pages: u64,
    /// The share of them that was discovered.
    pub known_share: f64,
    /// The share of them that was stored.
    pub found_share: f64,
    /// The median days until one was stored; none when more than half never were.
    pub median_delay: Option<u32>,
    /// The same until a link to one was seen.
    pub median_known_delay: Option<u32>,
    /// Requests that might have been spent.
    pub budget: u64,
    /// Requests that were.
    pub requests: u64,
}

impl Total {
    fn of(days: &[Day], found: &[Found]) -> Self {
        let sum = |of: fn(&Day) -> u64| days.iter().map(of).sum::<u64>();
        let share = |part: u64, whole: u64| part as f64 / whole.max(1) as f64;
        let delays = |of: fn(&Found) -> Option<u32>| {
            let mut delays: Vec<u32> = found.iter().filter_map(of).collect();
            delays.sort_unstable();
            let median = delays.get(found.len().saturating_sub(1) / 2).copied();
            (share(delays.len() as u64, found.len() as u64), median)
        };
        let (known_share, median_known_delay) = delays(|found| found.known);
        let (found_share, median_delay) = delays(|found| found.stored);
        Self {
            freshness: share(sum(|day| day.fresh), sum(|day| day.live)),
            weighted_freshness: share(sum(|day| day.fresh_weight), sum(|day| day.live_weight)),
            stored_freshness: share(sum(|day| day.fresh), sum(|day| day.stored)),
            new_pages: found.len() as u64,
            known_share,
            found_share,
            median_delay,
            median_known_delay,
            budget: sum(|day| day.budget),
            requests: sum(|day| day.requests),
        }
    }
}

/// What one policy made of a web.
#[derive(Clone, Debug, Serialize)]
pub struct Outcome {
    /// Its spec.
    pub policy: String,
    /// All sites as one crawl.
    pub together: Total,
    /// Day by day.
    pub days: Vec<Day>,
    /// How the policy split its budget over that year.
    #[serde(serialize_with = "by_arm")]
    pub split: Option<Split>,
    /// By site, each with its own budget.
    #[serde(rename = "sites")]
    pub alone: Vec<SiteTotal>,
    /// The same, added up.
    #[serde(rename = "alone")]
    pub alone_total: Total,
    /// The mean of the freshness of sites, each counting the same.
    pub alone_mean_freshness: f64,
    /// Time taken.
    pub seconds: f64,
}

/// What a policy made of one site.
#[derive(Clone, Debug, Serialize)]
pub struct SiteTotal {
    /// Its name.
    pub site: String,
    /// The measures.
    pub measures: Total,
}

fn by_arm<S: Serializer>(split: &Option<Split>, out: S) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct Arm {
        arm: &'static str,
        requests: u64,
        gain: f64,
        gain_per_request: f64,
        marginal: f64,
        floor: f64,
        reason: &'static str,
    }
    let arms = split.as_ref().map(|split| {
        split.arms.map(|share| Arm {
            arm: share.arm.name(),
            requests: share.spent,
            gain: share.gain,
            gain_per_request: share.gain_per_request,
            marginal: share.marginal,
            floor: share.floor,
            reason: share.reason.name(),
        })
    });
    arms.serialize(out)
}

/// Tries a policy on all sites together and on each alone.
pub fn try_policy(
    web: &MovingWeb,
    spec: &Spec,
    rules: Rules,
    seed: u64,
    watch: Watch<'_>,
) -> Result<Outcome, SpecError> {
    keep::check(spec)?;
    let started = Instant::now();
    let name = spec.to_string();
    let one = |sites: &[usize]| -> Ran {
        let policy = keep::build(spec, seed).expect("it was checked");
        run(web, sites, rules, policy)
    };
    watch(&name, 0.0);
    let all: Vec<usize> = (0..web.sites.len()).collect();
    let together = one(&all);
    let mut alone = Vec::new();
    let mut days = vec![Day::default(); together.days.len()];
    let mut found = Vec::new();
    for &site in &all {
        watch(&name, 0.5 + 0.5 * site as f64 / all.len() as f64);
        let ran = one(&[site]);
        alone.push(SiteTotal {
            site: web.sites[site].history.site.clone(),
            measures: Total::of(&ran.days, &ran.found),
        });
        for (sum, day) in days.iter_mut().zip(&ran.days) {
            sum.live += day.live;
            sum.fresh += day.fresh;
            sum.stored += day.stored;
            sum.live_weight += day.live_weight;
            sum.fresh_weight += day.fresh_weight;
            sum.budget += day.budget;
            sum.requests += day.requests;
        }
        found.extend(ran.found);
    }
    let mean = alone.iter().map(|of| of.measures.freshness).sum::<f64>();
    Ok(Outcome {
        policy: name,
        together: Total::of(&together.days, &together.found),
        days: together.days,
        split: together.split,
        alone_mean_freshness: mean / alone.len().max(1) as f64,
        alone,
        alone_total: Total::of(&days, &found),
        seconds: started.elapsed().as_secs_f64(),
    })
}
