//! The rank of a page and what it is made of.

use serde::Serialize;
use turnstone_frontier::{Coverage, PageId, Place, Policy, Ranking, Scheduler};
use turnstone_lab::number::whole;
use turnstone_policy::importance::Estimator;

use crate::commands::crawl::summary::share;
use crate::commands::directory::Directory;

/// The rank and its parts; what a policy does not have is null.
#[derive(Clone, Debug, Serialize)]
pub(super) struct RankParts {
    /// The policy.
    policy: String,
    /// As the policy gave it.
    pub(super) rank: u64,
    /// Its place among the queued pages, best first, from 1.
    place: Option<usize>,
    /// How many pages are queued.
    queued: usize,
    /// The share of the personalised PageRank that has come to it and is not proven yet.
    residual: Option<f64>,
    /// Whether the surfer starts here.
    trusted: bool,
    /// The share of all cash that it has earned since it was last read.
    cash: Option<f64>,
    /// Its estimated importance.
    importance: Option<f64>,
    /// How often all cash has been read: one over it bounds the error.
    clock: Option<f64>,
}

impl RankParts {
    /// The rank of a page that the policy knows by a number.
    pub(super) fn of<P: Policy>(
        scheduler: &Scheduler<P>,
        directory: &Directory,
        (page, number): (PageId, PageId),
    ) -> Self {
        let ranking = scheduler.ranking();
        let queued = ranking.place(number) == Place::Queued;
        let residual = scheduler.residual(number);
        Self {
            policy: directory.asked.spec.to_string(),
            rank: ranking.rank(number),
            place: queued.then(|| ranking.queued_before(number) + 1),
            queued: ranking.queued_count(),
            residual: residual.map(|mass| mass as f64 / Coverage::ONE as f64),
            trusted: directory.asked.proves() && directory.store.index().is_seed(page),
            cash: None,
            importance: None,
            clock: None,
        }
    }

    pub(super) fn with_importance(
        mut self,
        estimator: &dyn Estimator,
        ranking: &Ranking,
        page: PageId,
    ) -> Self {
        let cash = estimator.cash(page, ranking);
        self.cash = cash.map(turnstone_policy::mass::as_fraction);
        self.importance = Some(estimator.importance(page, ranking));
        self.clock = estimator.gauges().clock;
        self
    }

    pub(super) fn text(&self) -> String {
        let mut lines = Vec::new();
        lines.push(match self.place {
            Some(place) => format!(
                "place {} of {} queued pages, by {}",
                whole(place as u64),
                whole(self.queued as u64),
                self.policy
            ),
            None => format!(
                "not queued ({} pages are), by {}",
                whole(self.queued as u64),
                self.policy
            ),
        });
        if let Some(residual) = self.residual {
            lines.push(format!(
                "it holds {} of the PageRank that is not proven yet",
                share(residual)
            ));
        }
        if let (Some(cash), Some(importance), Some(clock)) =
            (self.cash, self.importance, self.clock)
        {
            lines.push(format!(
                "cash {}, importance about {} (all cash was read {clock:.2} times)",
                share(cash),
                share(importance)
            ));
        }
        if let (None, Some(importance)) = (self.cash, self.importance) {
            lines.push(format!("importance about {}", share(importance)));
        }
        if self.trusted {
            lines.push("trusted: the surfer starts here".to_owned());
        }
        lines.join("\n")
    }
}
