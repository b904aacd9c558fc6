//! Requests to a recorded web under a virtual clock.
//!
//! With politeness off every request is answered at once, one after the other, as the papers count
//! them, or so many requests later, the oldest first. With a delay, requests to different hosts run side by side, each answered after a fixed
//! time, and the clock jumps to whatever comes first. In rounds the clock stands still, and nothing is
//! waited for.

use std::collections::{BTreeSet, VecDeque};

use turnstone_frontier::{Next, PageId, Policy, Politeness, Scheduler, Tick};

/// How long a recorded host takes to answer when politeness is on.
const ANSWER_MS: u64 = 200;

/// The clock, and the requests under way.
#[derive(Debug)]
pub(crate) struct Requests {
    is_polite: bool,
    stands_still: bool,
    now: Tick,
    /// By the time of their answer.
    answers: BTreeSet<(Tick, PageId)>,
    /// Requests under way with politeness off, the oldest first, and how many there may be.
    queue: VecDeque<PageId>,
    open_max: usize,
    made: u64,
}

impl Requests {
    /// None yet, at the beginning of time.
    pub(crate) fn new(politeness: Politeness) -> Self {
        Self {
            is_polite: politeness != Politeness::OFF,
            stands_still: false,
            now: Tick(0),
            answers: BTreeSet::new(),
            queue: VecDeque::new(),
            open_max: 1,
            made: 0,
        }
    }

    /// The same without politeness, under a clock that is moved by [`Requests::at`] alone.
    pub(crate) fn in_rounds() -> Self {
        Self {
            stands_still: true,
            ..Self::new(Politeness::OFF)
        }
    }

    /// Moves the clock on.
    pub(crate) fn at(&mut self, now: Tick) {
        self.now = self.now.max(now);
    }

    /// The same, but with politeness off so many requests are under way at once, at least one.
    #[must_use]
    pub(crate) fn with_open(mut self, open_max: usize) -> Self {
        self.open_max = open_max.max(1);
        self
    }

    /// Goes on until a page is to be answered for. None when nothing is left to ask for,
    /// or in rounds, nothing now.
    #[inline]
    pub(crate) fn next<P: Policy>(&mut self, scheduler: &mut Scheduler<P>) -> Option<PageId> {
        loop {
            match scheduler.next(self.now) {
                Next::Fetch(page) => {
                    self.made += 1;
                    if !self.is_polite {
                        self.queue.push_back(page);
                        if self.queue.len() >= self.open_max {
                            return self.queue.pop_front();
                        }
                        continue;
                    }
                    self.answers.insert((self.now.plus(ANSWER_MS), page));
                }
                Next::WaitUntil(_) | Next::Empty if !self.queue.is_empty() => {
                    return self.queue.pop_front();
                }
                Next::WaitUntil(_) if self.stands_still => return None,
                Next::WaitUntil(tick) => match self.answers.first() {
                    Some(&(answer, _)) if answer <= tick => return self.first_answer(),
                    _ => self.now = tick,
                },
                Next::Empty => return self.first_answer(),
            }
        }
    }

    /// The virtual time that has passed.
    pub(crate) fn now(&self) -> Tick {
        self.now
    }

    /// The same in seconds, if requests take any.
    pub(crate) fn seconds(&self) -> Option<f64> {
        self.is_polite.then(|| self.now.0 as f64 / 1000.0)
    }

    /// How many were made.
    pub(crate) fn made(&self) -> u64 {
        self.made
    }

    fn first_answer(&mut self) -> Option<PageId> {
        let (tick, page) = self.answers.pop_first()?;
        self.now = self.now.max(tick);
        Some(page)
    }
}
