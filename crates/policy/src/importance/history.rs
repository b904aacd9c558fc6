//! What each node has earned, and the importance that follows from it.
//!
//! Time is the clock G: all cash read so far, in units of all the cash there is. A *measure* is
//! the cash found when a node was read, and the clock after it. How much of the past counts is the
//! *window* (Abiteboul, Preda, Cobena 2003, §3.3): all of it, the last k measures, a span of G, or
//! an interpolation that keeps one measure. A node introduced after the start begins with a default
//! history: whatever makes its importance that of the nodes introduced before it.
//!
//! Estimates do not decide which page is read, so these are floating-point numbers; cash is not.

use std::io;

use turnstone_frontier::{Restore, Save, corrupt};

use super::interpolation::Interpolation;
use super::measures::Measures;

/// How much of the past counts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Window {
    /// All of it: for a web that does not change.
    None,
    /// The last k measures of each page.
    Variable {
        /// How many.
        k: u32,
    },
    /// The measures of the last span of G.
    Fixed {
        /// The span, in units of G.
        span: f64,
    },
    /// As fixed, but the last few measures where the span holds fewer.
    ImprovedFixed {
        /// The span, in units of G.
        span: f64,
        /// How many measures there must be.
        min: u32,
    },
    /// One measure, scaled to the span as if cash had come in evenly.
    Interpolation {
        /// The span, in units of G.
        span: f64,
    },
}

/// What is known of a node besides its history when its importance is asked for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Present {
    /// The clock G.
    pub(crate) now: f64,
    /// The cash of the node since it was last read.
    pub(crate) cash: f64,
    /// The cash of all nodes.
    pub(crate) cash_of_all: f64,
}

/// The histories of all nodes.
#[derive(Debug)]
pub(crate) enum History {
    Whole(Whole),
    Measures(Measures),
    Interpolation(Interpolation),
}

impl History {
    pub(crate) fn new(window: Window) -> Self {
        match window {
            Window::None => Self::Whole(Whole::default()),
            Window::Interpolation { span } => Self::Interpolation(Interpolation::new(span)),
            listed => Self::Measures(Measures::new(listed)),
        }
    }

    /// The next node comes in, with a history that makes it as important as `importance`.
    pub(crate) fn introduce(&mut self, importance: f64, present: Present) {
        match self {
            Self::Whole(whole) => whole.introduce(importance, present),
            Self::Measures(measures) => measures.introduce(importance, present.now),
            Self::Interpolation(past) => past.introduce(importance, present.now),
        }
    }

    /// A node was read: this much cash was found, and the clock is `now` after it.
    #[inline]
    pub(crate) fn record(&mut self, node: usize, cash: f64, now: f64) {
        match self {
            Self::Whole(whole) => whole.history[node] += cash,
            Self::Measures(measures) => measures.record(node, cash, now),
            Self::Interpolation(past) => past.record(node, cash, now),
        }
    }

    /// The node left the game: it begins anew if it ever comes back.
    pub(crate) fn forget(&mut self, node: usize) {
        match self {
            Self::Whole(whole) => whole.all_else -= std::mem::take(&mut whole.history[node]),
            Self::Measures(measures) => measures.forget(node),
            Self::Interpolation(past) => past.forget(node),
        }
    }

    /// A node that left comes into the game again before it is read.
    pub(crate) fn begin_anew(&mut self, node: usize, now: f64) {
        // The others know nothing of a node without measures but its cash.
        if let Self::Interpolation(past) = self {
            past.begin_anew(node, now);
        }
    }

    /// The importance of a node now.
    pub(crate) fn importance(&self, node: usize, present: Present) -> f64 {
        match self {
            Self::Whole(whole) => ratio(whole.history[node] + present.cash, whole.of_all(present)),
            Self::Measures(measures) => measures.importance(node, present),
            Self::Interpolation(past) => past.importance(node, present),
        }
    }

    /// How many measures are kept, of all nodes, at this time.
    pub(crate) fn measure_count(&self, now: f64) -> u64 {
        match self {
            Self::Whole(whole) => whole.history.len() as u64,
            Self::Measures(measures) => measures.count(now),
            Self::Interpolation(past) => past.len() as u64,
        }
    }

    /// How many nodes have a history.
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Whole(whole) => whole.history.len(),
            Self::Measures(measures) => measures.len(),
            Self::Interpolation(past) => past.len(),
        }
    }

    /// The bytes they take, as allocated.
    pub(crate) fn allocated_bytes(&self) -> usize {
        match self {
            Self::Whole(whole) => whole.history.capacity() * size_of::<f64>(),
            Self::Measures(measures) => measures.allocated_bytes(),
            Self::Interpolation(past) => past.allocated_bytes(),
        }
    }

    /// Becomes what was saved; the window is that of construction.
    pub(crate) fn restore_into(&mut self, from: &mut dyn io::Read) -> io::Result<()> {
        let kind = u8::restore(from)?;
        match self {
            Self::Whole(whole) if kind == 0 => {
                whole.history = Restore::restore(from)?;
                whole.all_else = Restore::restore(from)?;
            }
            Self::Measures(measures) if kind == 1 => measures.restore_into(from)?,
            Self::Interpolation(past) if kind == 2 => past.restore_into(from)?,
            _ => return Err(corrupt("a history of another window")),
        }
        Ok(())
    }
}

impl Save for History {
    fn save(&self, out: &mut dyn io::Write) -> io::Result<()> {
        match self {
            Self::Whole(whole) => {
                0u8.save(out)?;
                whole.history.save(out)?;
                whole.all_else.save(out)
            }
            Self::Measures(measures) => {
                1u8.save(out)?;
                measures.save(out)
            }
            Self::Interpolation(past) => {
                2u8.save(out)?;
                past.save(out)
            }
        }
    }
}

/// All the cash each node ever had: the paper's H. 8 bytes per node.
#[derive(Debug, Default)]
pub(crate) struct Whole {
    history: Vec<f64>,
    /// Default histories given, less histories forgotten: what the clock does not count.
    all_else: f64,
}

impl Whole {
    fn introduce(&mut self, importance: f64, present: Present) {
        let history = importance * self.of_all(present);
        self.all_else += history;
        push(&mut self.history, history);
    }

    /// The histories and the cash of all nodes, so that importances add up to 1.
    fn of_all(&self, present: Present) -> f64 {
        present.now + self.all_else + present.cash_of_all
    }
}

/// A ratio that is 0 when there is nothing to compare with.
pub(crate) fn ratio(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 0.0 }
}

/// Pushes with a thirty-second to spare instead of doubling.
pub(crate) fn push<T>(items: &mut Vec<T>, item: T) {
    if items.len() == items.capacity() {
        items.reserve_exact((items.len() / 32).max(16));
    }
    items.push(item);
}
