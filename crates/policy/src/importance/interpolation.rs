//! The interpolated window: one number and one time per node.
//!
//! H[i] is what the node is taken to have earned in the span T before it was last read. On reading
//! it again after dt with cash c, the part of H that is still inside the span is kept and c added:
//! H·(T−dt)/T + c; after a whole span or more, c·T/dt, as if cash had come in evenly. Importance
//! is H/T. Departure: when importance is asked for, the same rule is applied to the cash the node
//! has now, without writing, so that a page read long ago, or never, is not stuck in the past.
//!
//! Cost: O(1); 8 bytes per node. Times are kept in whole 1/16384 of the span. Their differences
//! add up exactly, so a node that is read often loses nothing; they last for 2¹⁸ spans.

use std::io;

use turnstone_frontier::{Restore, Save};

use super::history::{Present, push};

/// Ticks of the stored time per span.
const TICKS: f64 = 16384.0;

/// Histories by node: H in units of all cash, and the tick of the last read.
#[derive(Debug)]
pub(crate) struct Interpolation {
    span: f64,
    past: Vec<(f32, u32)>,
}

impl Interpolation {
    pub(crate) fn new(span: f64) -> Self {
        assert!(span > 0.0, "a span lasts");
        Self {
            span,
            past: Vec::new(),
        }
    }

    pub(crate) fn introduce(&mut self, importance: f64, now: f64) {
        let tick = self.tick(now);
        push(&mut self.past, ((importance * self.span) as f32, tick));
    }

    #[inline]
    pub(crate) fn record(&mut self, node: usize, cash: f64, now: f64) {
        let tick = self.tick(now);
        self.past[node] = (self.history(node, cash, tick) as f32, tick);
    }

    pub(crate) fn forget(&mut self, node: usize) {
        self.past[node].0 = 0.0;
    }

    pub(crate) fn importance(&self, node: usize, present: Present) -> f64 {
        self.history(node, present.cash, self.tick(present.now)) / self.span
    }

    pub(crate) fn len(&self) -> usize {
        self.past.len()
    }

    pub(crate) fn allocated_bytes(&self) -> usize {
        self.past.capacity() * size_of::<(f32, u32)>()
    }

    pub(crate) fn save(&self, out: &mut dyn io::Write) -> io::Result<()> {
        self.past.save(out)
    }

    pub(crate) fn restore_into(&mut self, from: &mut dyn io::Read) -> io::Result<()> {
        self.past = Restore::restore(from)?;
        Ok(())
    }

    /// H as of a read with this cash at this tick.
    #[inline]
    fn history(&self, node: usize, cash: f64, tick: u32) -> f64 {
        let (history, read_at) = self.past[node];
        let spans = f64::from(tick.saturating_sub(read_at)) / TICKS;
        if spans < 1.0 {
            f64::from(history) * (1.0 - spans) + cash
        } else {
            cash / spans
        }
    }

    #[inline]
    fn tick(&self, now: f64) -> u32 {
        // Saturates at the end of time.
        (now / self.span * TICKS) as u32
    }
}
