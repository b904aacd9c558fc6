//! How a store was kept current: what each slice spent, and on what. A fold of the journal.
//!
//! Cost: a row a slice; of very many the last are shown.

use turnstone_frontier::{Arm, Tick};
use turnstone_lab::number::whole;
use turnstone_ledger::Slice;
use turnstone_pagestore::{Entry, Fold, Settled, Written};

use crate::figure::{Axis, Figure, Series};
use crate::moment::utc;
use crate::table::Table;

/// The question that `keep` asks.
const KEEP: &str = "keep";
/// Slices in the table.
const SHOWN: usize = 60;

/// A slice, and what its requests were for.
#[derive(Clone, Debug, Default)]
struct Kept {
    slice: Slice,
    /// When its first answer came.
    wall_ms: u64,
    /// Pages asked for, by arm.
    arms: Vec<(Arm, u64)>,
}

/// All slices.
#[derive(Clone, Debug, Default)]
pub(super) struct Keeping {
    slices: Vec<Kept>,
    keeps: bool,
    began: Tick,
}

impl<E> Fold<E> for Keeping {
    fn see(&mut self, Written { tick, .. }: Written, entry: &Entry<'_>) -> Result<(), E> {
        match entry {
            Entry::Plan { question, .. } => self.keeps = *question == KEEP,
            Entry::Round {
                question,
                round,
                budget,
            } if *question == KEEP => {
                self.keeps = true;
                if self.slices.is_empty() {
                    self.began = tick;
                }
                self.slices.push(Kept {
                    slice: Slice {
                        round: *round,
                        began: tick,
                        budget: *budget,
                        ..Slice::default()
                    },
                    ..Kept::default()
                });
            }
            _ if self.keeps => {
                let Some(kept) = self.slices.last_mut() else {
                    return Ok(());
                };
                kept.slice.count(entry);
                if let Entry::Outcome(outcome) = entry {
                    if kept.wall_ms == 0 {
                        kept.wall_ms = outcome.facts.wall_ms;
                    }
                    let asked = !matches!(outcome.settled, Settled::Failed(_))
                        || outcome.facts.requests > 0;
                    if let Some(arm) = outcome.facts.arm.filter(|_| asked) {
                        match kept.arms.iter_mut().find(|(it, _)| *it == arm) {
                            Some((_, count)) => *count += 1,
                            None => kept.arms.push((arm, 1)),
                        }
                    }
                }
            }
            _ => {}
        }
        Ok(())
    }
}

impl Keeping {
    /// Whether the crawl was ever kept current.
    pub(super) fn is_there(&self) -> bool {
        !self.slices.is_empty()
    }

    /// In words.
    pub(super) fn text(&self) -> String {
        let sum =
            |of: fn(&Slice) -> u64| self.slices.iter().map(|kept| of(&kept.slice)).sum::<u64>();
        let (changed, unchanged) = (sum(|slice| slice.changed), sum(|slice| slice.unchanged));
        let again = changed + unchanged;
        let hit = match again {
            0 => String::new(),
            _ => format!(
                " Of {} pages that were fetched again, {} had changed.",
                whole(again),
                whole(changed)
            ),
        };
        format!(
            "{} slices with {} requests brought {} new pages and found {} gone.{hit}",
            whole(self.slices.len() as u64),
            whole(sum(|slice| slice.requests)),
            whole(sum(|slice| slice.new)),
            whole(sum(|slice| slice.gone)),
        )
    }

    /// What each slice brought, over time.
    pub(super) fn figures(&self) -> Vec<Figure> {
        let seconds = |kept: &Kept| (kept.slice.began.0 - self.began.0) as f64 / 1000.0;
        let line = |name: &str, of: &dyn Fn(&Kept) -> u64| {
            let points = self
                .slices
                .iter()
                .map(|kept| (seconds(kept), of(kept) as f64));
            Series::line(name, points.collect())
        };
        let mut arms: Vec<Arm> = Vec::new();
        for (arm, _) in self.slices.iter().flat_map(|kept| &kept.arms) {
            if !arms.contains(arm) {
                arms.push(*arm);
            }
        }
        arms.sort_by_key(|arm| arm.name());
        let spent = |arm: Arm| {
            line(arm.name(), &move |kept: &Kept| {
                kept.arms
                    .iter()
                    .find(|(it, _)| *it == arm)
                    .map_or(0, |(_, count)| *count)
            })
        };
        let figure = |title: &str, caption: &str, y: &str, series: Vec<Series>| Figure {
            title: title.to_owned(),
            caption: caption.to_owned(),
            x: Axis::time("since the first slice"),
            y: Axis::linear(y),
            series,
        };
        vec![
            figure(
                "What was found, slice by slice",
                "Pages fetched for the first time, stored pages that had changed or not, and pages that were gone.",
                "pages",
                vec![
                    line("new", &|kept| kept.slice.new),
                    line("changed", &|kept| kept.slice.changed),
                    line("unchanged", &|kept| kept.slice.unchanged),
                    line("gone", &|kept| kept.slice.gone),
                ],
            ),
            figure(
                "What pages were asked for, slice by slice",
                "To which end a page was asked for.",
                "pages",
                arms.into_iter().map(spent).collect(),
            ),
        ]
    }

    /// The last slices.
    pub(super) fn table(&self) -> Table {
        let last = self.slices.iter().rev().take(SHOWN);
        let last: Vec<&Kept> = last.collect();
        Table::of(&last)
            .column("#slice", |kept| kept.slice.round.to_string())
            .column("began", |kept| match kept.wall_ms {
                0 => "-".to_owned(),
                ms => utc(ms),
            })
            .column("#budget", |kept| match kept.slice.budget {
                u64::MAX => "none".to_owned(),
                budget => whole(budget),
            })
            .column("#requests", |kept| whole(kept.slice.requests))
            .column("#new", |kept| whole(kept.slice.new))
            .column("#changed", |kept| whole(kept.slice.changed))
            .column("#unchanged", |kept| whole(kept.slice.unchanged))
            .column("#gone", |kept| whole(kept.slice.gone))
            .table()
    }
}
