//! Sites that move: the last so many days of some histories.
//!
//! Day 0 of every site is so many days before its last snapshot; a site with a shorter history
//! is left out. On a day a site is as in its latest snapshot up to then: what has no snapshot did
//! not change.
//!
//! Cost: the histories are held in memory: 4 bytes a link of every version.

use std::path::PathBuf;

use turnstone_linkgraph::GraphBuilder;
use turnstone_linkgraph::rank::{InLinks, PageRank, Teleport};

use crate::history::{self, Date, History, HistoryError, Version, Walk};

pub use crate::backtest::changes::Compare;

/// One site with enough history.
#[derive(Debug)]
pub struct MovingSite {
    /// All that is recorded of it.
    pub history: History,
    /// Day 0.
    pub start: Date,
    /// By page, what it counts for by the links to it, in millionths of an average page.
    pub weights: Vec<u64>,
}

impl MovingSite {
    /// The site over its last `days` days, if it has as many.
    pub fn new(history: History, days: u32) -> Option<Self> {
        let (first, last) = (*history.dates.first()?, *history.dates.last()?);
        let start = last.plus_days(-i32::try_from(days).ok()?);
        (first <= start).then(|| Self {
            weights: weights(&history),
            history,
            start,
        })
    }

    /// The site on day 0, and the snapshot that comes next.
    pub(super) fn walk(&self) -> (Walk<'_>, usize) {
        let mut walk = self.history.walk();
        let dates = &self.history.dates;
        let next = dates.partition_point(|date| *date <= self.start);
        for _ in 0..next {
            walk.step();
        }
        (walk, next)
    }

    /// The day of a snapshot.
    pub(super) fn day(&self, snapshot: usize) -> Option<i32> {
        let date = self.history.dates.get(snapshot)?;
        Some(date.days_since(self.start))
    }

    /// How many pages it has on day 0.
    pub fn first_pages(&self) -> usize {
        self.walk().0.present_count()
    }
}

/// PageRank over the links of every page's last version.
fn weights(history: &History) -> Vec<u64> {
    let count = history.page_count();
    let mut last = vec![None; count];
    let mut walk = history.walk();
    while let Some(step) = walk.step() {
        let changed = step.changed.iter().map(|(page, _)| *page);
        for page in step.new.iter().copied().chain(step.returned).chain(changed) {
            last[page.index()] = walk.version(page);
        }
    }
    let mut graph = GraphBuilder::with_capacity(count, count * 8);
    for version in last {
        let mut links = version.map_or_else(Vec::new, |version| history.links_of(version).to_vec());
        links.sort_unstable();
        links.dedup();
        graph.push(&links);
    }
    let in_links = InLinks::of(&graph.finish());
    let ranked = PageRank::default().rank(&in_links, Teleport::Uniform, &mut |_| {});
    let average = ranked.scores.iter().sum::<f64>() / count.max(1) as f64;
    let scores = ranked.scores.iter();
    scores
        .map(|score| (score / average * 1e6).round() as u64)
        .collect()
}

/// Some sites.
#[derive(Debug)]
pub struct MovingWeb {
    /// Those with enough history, in order of name.
    pub sites: Vec<MovingSite>,
    /// The names of the others.
    pub too_short: Vec<String>,
    /// What counts as the content of a page.
    pub compare: Compare,
}

impl MovingWeb {
    /// Reads the histories of some sites.
    pub fn read(
        files: &[PathBuf],
        days: u32,
        compare: Compare,
        watch: &mut dyn FnMut(f64),
    ) -> Result<Self, HistoryError> {
        let mut histories = Vec::new();
        for (index, file) in files.iter().enumerate() {
            watch(index as f64 / files.len() as f64);
            histories.push(history::read(file)?);
        }
        Ok(Self::of(histories, days, compare))
    }

    /// The same of histories at hand.
    pub fn of(histories: Vec<History>, days: u32, compare: Compare) -> Self {
        let (mut sites, mut too_short) = (Vec::new(), Vec::new());
        for history in histories {
            let name = history.site.clone();
            match MovingSite::new(history, days) {
                Some(site) => sites.push(site),
                None => too_short.push(name),
            }
        }
        Self {
            sites,
            too_short,
            compare,
        }
    }

    /// What stands for a content: 0 is no content's.
    pub(super) fn content(&self, version: &Version) -> u64 {
        let hash = match self.compare {
            Compare::Text => version.text,
            Compare::Raw => version.raw,
        };
        hash.max(1)
    }
}
