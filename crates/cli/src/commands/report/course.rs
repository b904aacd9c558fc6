//! The course of a crawl: how its numbers grew, request by request.
//!
//! Cost: one scan of the journal; points are taken further apart as the crawl gets longer.

use turnstone_frontier::Tick;
use turnstone_ledger::CoverageNote;
use turnstone_pagestore::{Entry, Position, Scan, Store};

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
    /// That of one journal, or of all shards together: their entries by time.
    pub(super) fn of<'a>(stores: impl Iterator<Item = &'a Store>) -> anyhow::Result<Self> {
        let mut course = Self::default();
        let (mut requests, mut answers) = (0, [0; 6]);
        let mut due = 1;
        course.answers.push((0, answers));
        let mut journals = Vec::new();
        for store in stores {
            journals.push(Steps::of(store.scan(Position::FIRST))?);
        }
        loop {
            let steps = journals.iter_mut().filter(|steps| steps.next.is_some());
            let Some(first) = steps.min_by_key(|steps| steps.next.as_ref().map(|(tick, _)| *tick))
            else {
                break;
            };
            match first.take()? {
                Some(Step::Asked { sent, class }) => {
                    requests += sent;
                    if let Some(class) = class {
                        answers[class] += 1;
                    }
                }
                Some(Step::Proven(note)) => course.coverage.push(note),
                None => {}
            }
            if requests >= due {
                course.answers.push((requests, answers));
                due = (requests + 1).max((requests as f64 * GROWTH) as u64);
            }
        }
        course.answers.push((requests, answers));
        // Shards tell of all, each at its own time.
        course
            .coverage
            .sort_by_key(|note| (note.requests, note.guaranteed));
        Ok(course)
    }
}

/// What an entry adds to the course.
enum Step {
    /// Requests, and the status class of an answer.
    Asked { sent: u64, class: Option<usize> },
    /// What was proven.
    Proven(CoverageNote),
}

/// The entries of a journal that add to the course, with the next one at hand.
struct Steps {
    scan: Scan,
    next: Option<(Tick, Step)>,
}

impl Steps {
    fn of(scan: Scan) -> anyhow::Result<Self> {
        let mut steps = Self { scan, next: None };
        steps.take()?;
        Ok(steps)
    }

    /// Gives the next one, and reads on.
    fn take(&mut self) -> anyhow::Result<Option<Step>> {
        let now = self.next.take();
        while let Some((_, tick, entry)) = self.scan.next()? {
            let step = match entry {
                Entry::Outcome(outcome) => {
                    let class = usize::from(outcome.facts.status / 100);
                    let class = if class > 5 { 0 } else { class };
                    Step::Asked {
                        sent: u64::from(outcome.facts.requests),
                        class: (outcome.facts.status != 0).then_some(class),
                    }
                }
                Entry::Robots { requests, .. } => Step::Asked {
                    sent: u64::from(requests),
                    class: None,
                },
                Entry::Note { kind, bytes } if kind == CoverageNote::KIND => {
                    match CoverageNote::read(bytes) {
                        Some(note) => Step::Proven(note),
                        None => continue,
                    }
                }
                _ => continue,
            };
            self.next = Some((tick, step));
            break;
        }
        Ok(now.map(|(_, step)| step))
    }
}
