//! How a crawl went: a few hundred points of its past, thinned as it gets longer. A fold of the journal.
//!
//! Every point has the numbers at one moment. When there are too many every other one goes, and from then on
//! points are taken twice as far apart: so a chart costs the same after a minute and after a year.

use serde::Serialize;
use turnstone_frontier::{Coverage, Tick};
use turnstone_ledger::CoverageNote;
use turnstone_pagestore::{Entry, Settled};

/// The most points that are kept.
const POINTS_MAX: usize = 400;
/// How far apart points are at first, in milliseconds.
const APART_MS: u64 = 500;

/// A crawl at one moment of its past.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Point {
    /// When, in milliseconds of 1970.
    pub time_ms: u64,
    /// Requests sent until then.
    pub requests: u64,
    /// Fetches that brought a page until then.
    pub fetches: u64,
    /// The share that was proven.
    pub proven: Option<f64>,
    /// The share that could still be proven, whatever would be fetched.
    pub possible: Option<f64>,
}

/// The fold.
#[derive(Debug)]
pub(crate) struct Course {
    points: Vec<Point>,
    now: Point,
    apart_ms: u64,
    session: (u64, Tick),
}

impl Default for Course {
    fn default() -> Self {
        Self {
            points: Vec::new(),
            now: Point::default(),
            apart_ms: APART_MS,
            session: (0, Tick(0)),
        }
    }
}

impl Course {
    /// Takes in an entry.
    pub(crate) fn apply(&mut self, tick: Tick, entry: &Entry<'_>) {
        match entry {
            Entry::Session { wall_ms, .. } => self.session = (*wall_ms, tick),
            Entry::Outcome(outcome) => {
                self.now.requests += u64::from(outcome.facts.requests);
                let came = matches!(outcome.settled, Settled::Fetched(_)) && !outcome.facts.hearsay;
                self.now.fetches += u64::from(came);
            }
            Entry::Robots { requests, .. } => self.now.requests += u64::from(*requests),
            Entry::Note { kind, bytes } if *kind == CoverageNote::KIND => {
                if let Some(note) = CoverageNote::read(bytes) {
                    let share = |mass: u64| mass as f64 / Coverage::ONE as f64;
                    self.now.proven = Some(share(note.guaranteed));
                    self.now.possible = Some((1.0 - share(note.stuck)).max(0.0));
                }
            }
            _ => return,
        }
        self.now.time_ms = self.wall_ms(tick);
        let due = self
            .points
            .last()
            .is_none_or(|last| self.now.time_ms >= last.time_ms + self.apart_ms);
        if due && self.session.0 > 0 {
            self.points.push(self.now);
            if self.points.len() > POINTS_MAX {
                let mut number = 0;
                self.points.retain(|_| {
                    number += 1;
                    number % 2 == 1
                });
                self.apart_ms *= 2;
            }
        }
    }

    /// A tick as a moment, in milliseconds of 1970.
    pub(crate) fn wall_ms(&self, tick: Tick) -> u64 {
        let (wall_ms, began) = self.session;
        wall_ms + tick.0.saturating_sub(began.0)
    }

    /// A moment as a tick.
    pub(crate) fn tick(&self, wall_ms: u64) -> Tick {
        let (began_ms, began) = self.session;
        began.plus(wall_ms.saturating_sub(began_ms))
    }

    /// The points, the last of them as things are now.
    pub(crate) fn points(&self) -> Vec<Point> {
        let mut points = self.points.clone();
        if points.last().is_some_and(|last| *last != self.now) {
            points.push(self.now);
        }
        points
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_crawl_keeps_few_points_from_all_its_life() {
        let mut course = Course::default();
        let session = Entry::Session {
            wall_ms: 1_000_000,
            boot: "",
            boot_ms: 0,
            delay_ms: 0,
            open_max: 1,
            policy: "",
        };
        course.apply(Tick(5), &session);
        for step in 0..100_000u64 {
            let entry = Entry::Robots {
                authority: "http://a",
                requests: 1,
                body_bytes: 0,
                record: &[],
            };
            course.apply(Tick(5 + step * 700), &entry);
        }
        let points = course.points();
        assert!((200..=401).contains(&points.len()), "{}", points.len());
        assert_eq!(points[0].time_ms, 1_000_000);
        assert_eq!(points.last().unwrap().requests, 100_000);
        assert!(points.is_sorted_by_key(|point| (point.time_ms, point.requests)));
        assert_eq!(course.wall_ms(course.tick(1_234_567)), 1_234_567);
    }
}
