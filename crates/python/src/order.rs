//! The order in which a policy asks for the pages of a recorded web: how two policies are held side by side.
//!
//! Also where restarts are tried: every so many pages the scheduler and its policy are saved, thrown away,
//! and made anew from what was saved, as a crawl that was killed is.

use std::path::PathBuf;
use std::sync::Arc;

use pyo3::prelude::*;
use turnstone_frontier::{PageId, Policy, Politeness};
use turnstone_lab::replay::{Replay, Start};
use turnstone_lab::web;
use turnstone_policy::coverage::{self, Goal, Trust};
use turnstone_policy::{Spec, SpecError};

use crate::policy::maker;
use crate::work::{Error, Shared, UsageError, beside};

/// How often the one who waits is told, in pages.
const TELL_EVERY: usize = 256;

/// What to crawl, and how far.
struct Plan {
    web: PathBuf,
    spec: Spec,
    seeds: Vec<PageId>,
    pages_max: usize,
    restart_every: Option<usize>,
}

/// Why there is no order.
enum Refusal {
    Usage(String),
    Failed(String),
}

/// The pages of a web in the order in which a policy asks for them.
///
/// `policy` is a spec, or pairs with `make`, which makes a policy of that name.
#[pyfunction]
#[pyo3(signature = (web, policy, make=None, seeds=vec![0], pages=None, restart_every=None, progress=None))]
#[expect(
    clippy::too_many_arguments,
    reason = "Python names them; the package's own function is what people call"
)]
pub(crate) fn order(
    py: Python<'_>,
    web: PathBuf,
    policy: &str,
    make: Option<Py<PyAny>>,
    seeds: Vec<u32>,
    pages: Option<usize>,
    restart_every: Option<usize>,
    progress: Option<Bound<'_, PyAny>>,
) -> PyResult<Vec<u32>> {
    let shared = Arc::new(Shared::default());
    let spec = match make {
        Some(make) => {
            let make = maker(policy, make, Arc::clone(&shared));
            Spec::guest(policy, Arc::new(make))
        }
        None => policy
            .parse()
            .map_err(|error: SpecError| UsageError::new_err(error.to_string()))?,
    };
    let plan = Plan {
        web,
        spec,
        seeds: seeds.into_iter().map(PageId).collect(),
        pages_max: pages.unwrap_or(usize::MAX),
        restart_every: restart_every.filter(|every| *every > 0),
    };
    let watched = Arc::clone(&shared);
    let order = beside(py, &shared, progress.as_ref(), move || {
        crawl(&plan, &watched)
    })?;
    order.map_err(|refusal| match refusal {
        Refusal::Usage(why) => UsageError::new_err(why),
        Refusal::Failed(why) => Error::new_err(why),
    })
}

fn crawl(plan: &Plan, shared: &Shared) -> Result<Vec<u32>, Refusal> {
    let failed = |error: String| Refusal::Failed(error);
    let web = web::open_graph(&plan.web).map_err(|error| failed(error.to_string()))?;
    let graph = &web.graph;
    let known = graph.page_count();
    if let Some(seed) = plan.seeds.iter().find(|seed| seed.index() >= known) {
        let text = format!(
            "seeds: there is no page {}; give 0 to {}",
            seed.0,
            known - 1
        );
        return Err(Refusal::Usage(text));
    }
    let usage = |error: &dyn std::fmt::Display| Refusal::Usage(error.to_string());
    let trust = Trust::alike(plan.seeds.iter().copied()).map_err(|error| usage(&error))?;
    let make = || -> Result<Box<dyn Policy>, Refusal> {
        let made = coverage::build(&plan.spec, &trust, Goal::default());
        Ok(Box::new(made.map_err(|error| usage(&error))?))
    };
    let mut seeds = plan.seeds.clone();
    seeds.sort_unstable();
    let start = Start {
        graph,
        hosts: &[],
        seeds: &seeds,
        politeness: Politeness::OFF,
    };
    let mut replay = Replay::start(start, make()?);
    let mut order = Vec::new();
    while order.len() < plan.pages_max
        && let Some(page) = replay.step()
    {
        order.push(page.0);
        let done = order.len() as f64 / plan.pages_max.min(known) as f64;
        if order.len().is_multiple_of(TELL_EVERY) && !shared.at("crawling", done) {
            break;
        }
        if let Some(every) = plan.restart_every
            && order.len().is_multiple_of(every)
        {
            let mut saved = Vec::new();
            let kept = replay.scheduler().save(&mut saved);
            kept.map_err(|error| failed(error.to_string()))?;
            let again = Replay::resume(start, make()?, &mut saved.as_slice());
            replay = again.map_err(|error| failed(error.to_string()))?;
        }
    }
    Ok(order)
}
