//! Windows that keep measures: the last k, those of a span, or both.
//!
//! A variable window of k measures has k−1 intervals between them: the first measure only says
//! when the first interval began, because its cash was earned before. A fixed window adds up the
//! measures of the last span T and divides by T. An improved fixed window does so where it has at
//! least `min` measures, and else takes the last `min` as a variable window.
//!
//! Cost: O(1) amortised to record, O(measures) to ask; 16 bytes per measure and 32 per node. A
//! page read very often keeps at most [`MEASURES_MAX`] measures in a span: beyond that they are
//! added up two by two, as the paper advises, which blurs the span's beginning a little.

use std::collections::VecDeque;
use std::io;

use turnstone_frontier::{Restore, Save};

use super::history::{Present, Window, push, ratio};

/// The most measures kept of one node.
pub(super) const MEASURES_MAX: usize = 1024;

/// The cash found when a node was read, and the clock after it.
type Measure = (f64, f64);

/// The measures of every node, oldest first.
#[derive(Debug)]
pub(crate) struct Measures {
    window: Window,
    lists: Vec<VecDeque<Measure>>,
}

impl Measures {
    pub(crate) fn new(window: Window) -> Self {
        Self {
            window,
            lists: Vec::new(),
        }
    }

    /// One measure that says what the node is taken to have earned so far.
    pub(crate) fn introduce(&mut self, importance: f64, now: f64) {
        let span = match self.window {
            Window::Fixed { span } => span.min(now),
            _ => now,
        };
        let mut list = VecDeque::new();
        if importance > 0.0 {
            list.push_back((importance * span, now));
        }
        push(&mut self.lists, list);
    }

    pub(crate) fn record(&mut self, node: usize, cash: f64, now: f64) {
        let begin = now - self.span();
        let list = &mut self.lists[node];
        list.push_back((cash, now));
        let keep_at_least = match self.window {
            Window::Variable { k } => {
                while list.len() > k as usize {
                    list.pop_front();
                }
                return;
            }
            Window::ImprovedFixed { min, .. } => min as usize,
            _ => 0,
        };
        while list.len() > keep_at_least && list.front().is_some_and(|&(_, at)| at <= begin) {
            list.pop_front();
        }
        if list.len() > MEASURES_MAX {
            add_up_pairs(list);
        }
    }

    pub(crate) fn forget(&mut self, node: usize) {
        self.lists[node] = VecDeque::new();
    }

    pub(crate) fn importance(&self, node: usize, present: Present) -> f64 {
        let list = &self.lists[node];
        let inside = list.len() - self.outside(list, present.now);
        match self.window {
            Window::Fixed { span } => fixed(list, inside, span, present.now),
            Window::ImprovedFixed { span, min } if inside >= min as usize => {
                fixed(list, inside, span, present.now)
            }
            Window::ImprovedFixed { min, .. } => variable(list, min as usize, present),
            _ => variable(list, list.len(), present),
        }
    }

    pub(crate) fn count(&self, now: f64) -> u64 {
        let kept = |list: &VecDeque<Measure>| match self.window {
            Window::Fixed { .. } => list.len() - self.outside(list, now),
            Window::ImprovedFixed { min, .. } => {
                (list.len() - self.outside(list, now)).max(list.len().min(min as usize))
            }
            _ => list.len(),
        };
        self.lists.iter().map(|list| kept(list) as u64).sum()
    }

    pub(crate) fn len(&self) -> usize {
        self.lists.len()
    }

    pub(crate) fn allocated_bytes(&self) -> usize {
        let measures: usize = self.lists.iter().map(VecDeque::capacity).sum();
        measures * size_of::<Measure>() + self.lists.capacity() * size_of::<VecDeque<Measure>>()
    }

    pub(crate) fn save(&self, out: &mut dyn io::Write) -> io::Result<()> {
        self.lists.save(out)
    }

    pub(crate) fn restore_into(&mut self, from: &mut dyn io::Read) -> io::Result<()> {
        self.lists = Restore::restore(from)?;
        Ok(())
    }

    fn span(&self) -> f64 {
        match self.window {
            Window::Fixed { span } | Window::ImprovedFixed { span, .. } => span,
            _ => f64::INFINITY,
        }
    }

    /// How many measures are too old for the span.
    fn outside(&self, list: &VecDeque<Measure>, now: f64) -> usize {
        let begin = now - self.span();
        list.partition_point(|&(_, at)| at <= begin)
    }
}

/// The last measures as a window of the span, or of all time while that is shorter.
fn fixed(list: &VecDeque<Measure>, inside: usize, span: f64, now: f64) -> f64 {
    let earned: f64 = list
        .range(list.len() - inside..)
        .map(|(cash, _)| cash)
        .sum();
    ratio(earned, span.min(now))
}

/// The last `count` measures by the intervals between them. A node never read counts as if it were
/// read now for the first time.
fn variable(list: &VecDeque<Measure>, count: usize, present: Present) -> f64 {
    let last = list.range(list.len().saturating_sub(count)..);
    match (last.clone().next(), last.clone().next_back()) {
        (Some((_, begin)), Some((_, end))) if last.len() > 1 => {
            ratio(last.skip(1).map(|(cash, _)| cash).sum(), end - begin)
        }
        (Some((cash, at)), _) => ratio(*cash, *at),
        (None, _) => ratio(present.cash, present.now),
    }
}

/// Halves a list: each measure but the newest joins its neighbour.
fn add_up_pairs(list: &mut VecDeque<Measure>) {
    let newest = list.pop_back();
    let mut halved = VecDeque::with_capacity(list.len() / 2 + 2);
    while let Some((cash, at)) = list.pop_front() {
        match list.pop_front() {
            Some((more, later)) => halved.push_back((cash + more, later)),
            None => halved.push_back((cash, at)),
        }
    }
    halved.extend(newest);
    *list = halved;
}
