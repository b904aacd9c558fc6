//! The pages that hold most of what is not proven, and why they are not in the store.
//!
//! Cost: O(pages).

use turnstone_frontier::{Coverage, PageId, Policy};
use turnstone_lab::number::plural;
use turnstone_lab::table::Table;
use turnstone_ledger::Seen;
use turnstone_pagestore::PageState;

use crate::commands::crawl::summary::share;
use crate::commands::directory::Directory;

/// How many are shown.
const SHOWN: usize = 20;

/// The pages in the way.
pub(super) struct Blockers {
    /// Mass, URL, and why.
    worst: Vec<(u64, String, String)>,
    /// Pages not in the store that hold mass, and how much.
    count: u64,
    mass: u64,
}

impl Blockers {
    pub(super) fn of<P: Policy>(directory: &Directory, folded: &Seen<P>) -> anyhow::Result<Self> {
        let index = directory.store.index();
        let (policy, ranking) = (folded.scheduler.policy(), folded.scheduler.ranking());
        let mut worst: Vec<(u64, PageId)> = Vec::new();
        let (mut count, mut mass) = (0, 0);
        let order = |(mass, page): &(u64, PageId)| (std::cmp::Reverse(*mass), *page);
        for number in (0..ranking.page_count()).map(PageId::from_index) {
            let held = policy.residual(number, ranking).unwrap_or(0);
            let page = folded.view.outer(number);
            let there = matches!(index.state(page), PageState::Fetched | PageState::Moved);
            if held == 0 || there {
                continue;
            }
            count += 1;
            mass += held;
            worst.push((held, page));
            if worst.len() == 64 * SHOWN {
                worst.sort_unstable_by_key(order);
                worst.truncate(SHOWN);
            }
        }
        worst.sort_unstable_by_key(order);
        worst.truncate(SHOWN);
        let told = |(mass, page): (u64, PageId)| {
            let state = index.state(page);
            let (_, said) = directory.fate(page)?;
            let why = if said.is_empty() {
                state.name().to_owned()
            } else {
                format!("{}: {said}", state.name())
            };
            Ok((mass, directory.url(page)?, why))
        };
        let worst = worst.into_iter().map(told).collect::<anyhow::Result<_>>()?;
        Ok(Self { worst, count, mass })
    }

    pub(super) fn is_empty(&self) -> bool {
        self.worst.is_empty()
    }

    pub(super) fn text(&self, coverage: Coverage) -> String {
        let share = |mass: u64| share(mass as f64 / Coverage::ONE as f64);
        let open = Coverage::ONE - coverage.guaranteed;
        if self.is_empty() {
            return format!(
                "{} is not proven. No page known to hold any of it is missing: it lies at stored \
                 pages, where more accounting would move it on.",
                share(open)
            );
        }
        format!(
            "{} is not proven; {} lies at {} not in the store, {} for good. These hold most:",
            share(open),
            share(self.mass),
            plural(self.count, "page"),
            share(coverage.stuck),
        )
    }

    pub(super) fn table(&self) -> Table {
        let mut table = Table::new(&["page", "#share", "why it is not in the store"]);
        for (mass, url, why) in &self.worst {
            let mass = share(*mass as f64 / Coverage::ONE as f64);
            table.row([url.clone(), mass, why.clone()]);
        }
        table
    }
}
