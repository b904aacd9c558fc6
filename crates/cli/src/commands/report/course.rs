//! The course of a crawl: how its numbers grew, request by request.
//!
//! Cost: one scan of the journal; points are taken further apart as the crawl gets longer.

use turnstone_ledger::CoverageNote;
use turnstone_pagestore::{Entry, Position, Store};

/// Points are this factor apart, and one at least.
const GROWTH: f64 = 1.02;

/// Curves over requests.
#[derive(Debug, Default)]
pub(super) struct Course {
    /// What was proven.
    pub(super) coverage: Vec<CoverageNote>,
    /// Requests, and answers by status class.
    pub(super) answers: Vec<(u64, [u64; 6])>,
}

impl Course {
    pub(super) fn of(store: &Store) -> anyhow::Result<Self> {
        let mut course = Self::default();
        let (mut requests, mut answers) = (0, [0; 6]);
        let mut due = 1;
        course.answers.push((0, answers));
        let mut scan = store.scan(Position::FIRST);
        while let Some((_, _, entry)) = scan.next()? {
            match entry {
                Entry::Outcome(outcome) => {
                    requests += u64::from(outcome.facts.requests);
                    if outcome.facts.status != 0 {
                        let class = usize::from(outcome.facts.status / 100);
                        answers[if class > 5 { 0 } else { class }] += 1;
                    }
                }
                Entry::Robots { requests: sent, .. } => requests += u64::from(sent),
                Entry::Note { kind, bytes } if kind == CoverageNote::KIND => {
                    course.coverage.extend(CoverageNote::read(bytes));
                }
                _ => {}
            }
            if requests >= due {
                course.answers.push((requests, answers));
                due = (requests + 1).max((requests as f64 * GROWTH) as u64);
            }
        }
        course.answers.push((requests, answers));
        Ok(course)
    }
}
