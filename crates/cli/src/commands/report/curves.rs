//! The course of a crawl: how its numbers grew, request by request. A fold of the journal.
//!
//! Points are taken further apart as the crawl gets longer. Of shards each has a course of its own, by time;
//! together they are the sum of what each had reached.
//!
//! Cost: some 35 points for each time the crawl becomes twice as long.

use turnstone_frontier::Tick;
use turnstone_ledger::CoverageNote;
use turnstone_pagestore::{Entry, Fold, Written};

/// Points are this factor apart, and one at least.
const GROWTH: f64 = 1.02;

/// Curves over requests.
#[derive(Clone, Debug, Default)]
pub(super) struct Curves {
    /// What was proven.
    pub(super) coverage: Vec<CoverageNote>,
    /// From time to time, and at the end.
    pub(super) answers: Vec<Answers>,
    now: Answers,
    /// After how many requests the next point is due.
    due: u64,
}

/// How much was asked and answered by a tick.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Answers {
    pub(super) tick: Tick,
    pub(super) requests: u64,
    /// Answers by status class.
    pub(super) classes: [u64; 6],
}

impl<E> Fold<E> for Curves {
    fn see(&mut self, Written { tick, .. }: Written, entry: &Entry<'_>) -> Result<(), E> {
        let requests = match entry {
            Entry::Outcome(outcome) => {
                let facts = &outcome.facts;
                if facts.status != 0 {
                    let class = usize::from(facts.status / 100);
                    self.now.classes[if class > 5 { 0 } else { class }] += 1;
                }
                facts.requests
            }
            Entry::Robots { requests, .. } => *requests,
            Entry::Note { kind, bytes } if *kind == CoverageNote::KIND => {
                self.coverage.extend(CoverageNote::read(bytes));
                0
            }
            _ => return Ok(()),
        };
        self.now.requests += u64::from(requests);
        self.now.tick = tick;
        self.take_point();
        Ok(())
    }
}

impl Curves {
    /// That of a crawl, from those of its shards.
    pub(super) fn joined(shards: Vec<Self>) -> Self {
        let mut course = Self::default();
        course.answers.push(Answers::default());
        let mut points = Vec::new();
        for (number, shard) in shards.iter().enumerate() {
            let reached = shard.answers.iter().chain([&shard.now]);
            points.extend(reached.map(|answers| (answers.tick, number, *answers)));
            course.coverage.extend(&shard.coverage);
        }
        points.sort_by_key(|(tick, number, answers)| (*tick, *number, answers.requests));
        let mut reached = vec![Answers::default(); shards.len()];
        for (_, number, answers) in points {
            let before = std::mem::replace(&mut reached[number], answers);
            course.now.requests += answers.requests - before.requests;
            for (class, sum) in course.now.classes.iter_mut().enumerate() {
                *sum += answers.classes[class] - before.classes[class];
            }
            course.now.tick = answers.tick;
            course.take_point();
        }
        course.answers.push(course.now);
        // Shards tell of all, each at its own time.
        course
            .coverage
            .sort_by_key(|note| (note.requests, note.guaranteed));
        course
    }

    fn take_point(&mut self) {
        let requests = self.now.requests;
        if requests >= self.due.max(1) {
            self.answers.push(self.now);
            self.due = (requests + 1).max((requests as f64 * GROWTH) as u64);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A shard that was answered at these ticks, with these statuses.
    fn shard(answers: &[(u64, u16)]) -> Curves {
        let mut course = Curves::default();
        for (tick, status) in answers {
            course.now.tick = Tick(*tick);
            course.now.requests += 1;
            course.now.classes[usize::from(status / 100)] += 1;
            course.take_point();
        }
        course
    }

    #[test]
    fn shards_together_are_the_sum_of_what_each_had_reached() {
        let check = |shards: Vec<Curves>, expected: &[(u64, u64, u64)]| {
            let course = Curves::joined(shards);
            let points = course.answers.iter();
            let points = points.map(|it| (it.requests, it.classes[2], it.classes[4]));
            assert_eq!(points.collect::<Vec<_>>(), expected);
        };
        let one = shard(&[(1, 200), (5, 404), (9, 200)]);
        let all = [(0, 0, 0), (1, 1, 0), (2, 1, 1), (3, 2, 1), (3, 2, 1)];
        check(vec![one.clone()], &all);
        let other = shard(&[(2, 200), (7, 200)]);
        let all = [
            (0, 0, 0),
            (1, 1, 0),
            (2, 2, 0),
            (3, 2, 1),
            (4, 3, 1),
            (5, 4, 1),
            (5, 4, 1),
        ];
        check(vec![one, other], &all);
        check(vec![Curves::default()], &[(0, 0, 0), (0, 0, 0)]);
    }
}
