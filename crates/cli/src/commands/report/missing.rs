//! What is not in the store, and why: pages that can still be had, and pages that cannot.
//!
//! Cost: O(pages).

use crate::table::Table;
use turnstone_frontier::{Coverage, PageId, Policy};
use turnstone_lab::number::plural;
use turnstone_ledger::Folded;
use turnstone_pagestore::PageState;

use crate::commands::crawl::summary::share;
use crate::commands::directory::Directory;

/// How many are shown.
const SHOWN: usize = 20;

/// What is not in the store.
pub(super) struct Missing {
    /// Pages that wait and hold most: mass, URL, and why.
    worst: Vec<(u64, String, String)>,
    /// Pages not fetched yet, and how much lies there.
    waiting: u64,
    mass: u64,
    /// Pages that cannot be had: URL, and why; the first few.
    lost: Vec<(String, String)>,
    lost_count: u64,
}

impl Missing {
    pub(super) fn of<P: Policy>(directory: &Directory, folded: &Folded<P>) -> anyhow::Result<Self> {
        let index = directory.store.index();
        let scheduler = &folded.scheduler;
        let mut worst: Vec<(u64, PageId)> = Vec::new();
        let mut lost = Vec::new();
        let (mut waiting, mut mass, mut lost_count) = (0, 0, 0);
        let order = |(mass, page): &(u64, PageId)| (std::cmp::Reverse(*mass), *page);
        for number in (0..scheduler.ranking().page_count()).map(PageId::from_index) {
            let page = folded.view.outer(number);
            match index.state(page) {
                PageState::Fetched | PageState::Moved | PageState::Outside | PageState::Away => {}
                PageState::Gone | PageState::Refused => {
                    lost_count += 1;
                    if lost.len() < SHOWN {
                        lost.push((directory.url(page)?, why(directory, page)?));
                    }
                }
                PageState::Waiting | PageState::InFlight | PageState::Unknown => {
                    waiting += 1;
                    let held = scheduler.residual(number).unwrap_or(0);
                    mass += held;
                    worst.push((held, page));
                    if worst.len() == 64 * SHOWN {
                        worst.sort_unstable_by_key(order);
                        worst.truncate(SHOWN);
                    }
                }
            }
        }
        worst.sort_unstable_by_key(order);
        worst.truncate(SHOWN);
        let told = |(mass, page)| Ok((mass, directory.url(page)?, why(directory, page)?));
        let worst = worst.into_iter().map(told).collect::<anyhow::Result<_>>()?;
        Ok(Self {
            worst,
            waiting,
            mass,
            lost,
            lost_count,
        })
    }

    /// What is missing here and in another shard.
    pub(super) fn and(mut self, other: Self) -> Self {
        self.worst.extend(other.worst);
        self.worst
            .sort_by(|(a, url, _), (b, other, _)| b.cmp(a).then_with(|| url.cmp(other)));
        self.worst.truncate(SHOWN);
        self.waiting += other.waiting;
        self.mass += other.mass;
        self.lost.extend(other.lost);
        self.lost.truncate(SHOWN);
        self.lost_count += other.lost_count;
        self
    }

    pub(super) fn text(&self, coverage: Coverage) -> String {
        let share = |mass: u64| share(mass as f64 / Coverage::ONE as f64);
        let mut text = match self.waiting {
            0 => "Everything that exists is stored.".to_owned(),
            1 => format!(
                "1 known page is not stored yet; {} of the PageRank lies there.",
                share(self.mass)
            ),
            _ => format!(
                "{} are not stored yet; {} of the PageRank lies there. These hold most:",
                plural(self.waiting, "known page"),
                share(self.mass)
            ),
        };
        if coverage.stuck > Coverage::ONE / 10_000 {
            text += &format!(
                " {} can never be proven, because links that a limit cut were not seen.",
                share(coverage.stuck)
            );
        }
        text
    }

    /// The pages that wait, if there are any.
    pub(super) fn waiting_table(&self) -> Option<Table> {
        let mut table = Table::new(&["page", "#share", "where it stands"]);
        for (mass, url, why) in &self.worst {
            let mass = share(*mass as f64 / Coverage::ONE as f64);
            table.row([url.clone(), mass, why.clone()]);
        }
        (!self.worst.is_empty()).then_some(table)
    }

    /// The pages that cannot be had, in words and as a table, if there are any.
    pub(super) fn lost_table(&self) -> Option<(String, Table)> {
        let mut table = Table::new(&["page", "why it cannot be had"]);
        for (url, why) in &self.lost {
            table.row([url.clone(), why.clone()]);
        }
        let more = match self.lost_count - self.lost.len() as u64 {
            0 => String::new(),
            more => format!(" The first {SHOWN}; {more} more are in `turnstone export pages`."),
        };
        let text = format!(
            "{} do not exist or may not be fetched. Links to them do not count.{more}",
            plural(self.lost_count, "linked page")
        );
        (self.lost_count > 0).then_some((text, table))
    }
}

/// Where a page stands, in words.
fn why(directory: &Directory, page: PageId) -> anyhow::Result<String> {
    let state = directory.store.index().state(page);
    let (_, said) = directory.fate(page)?;
    Ok(match said.as_str() {
        "" => state.name().to_owned(),
        said => format!("{}: {said}", state.name()),
    })
}
