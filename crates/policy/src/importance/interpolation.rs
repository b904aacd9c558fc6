//! The interpolated window: one number and one time per node.
//!
//! H[i] is what the node is taken to have earned in the span T before it was last read. On reading
//! it again after dt with cash c, the part of H that is still inside the span is kept and c added:
//! H·(T−dt)/T + c; after a whole span or more, c·T/dt, as if cash had come in evenly. Importance
//! is H/T. Departure: when importance is asked for, the same rule is applied to the cash the node
//! has now, without writing, so that a page read long ago, or never, is not stuck in the past.
//!
//! Cost: O(1); 7 bytes per node: H in 24 significant bits, times in whole 1/4096 of the span. The
//! differences of times add up exactly, so a node that is read often loses nothing. They last for
//! 4096 spans, thousands of crawls; after that no time passes.

use std::io;

use turnstone_frontier::{Restore, Save};

use super::history::{Present, push};

/// Ticks of the stored time per span.
const TICKS: f64 = 4096.0;

/// The last tick that can be stored.
const TICK_MAX: u32 = (1 << 24) - 1;

/// H in units of all cash and the tick of the last read, in 7 bytes.
#[derive(Clone, Copy, Debug)]
struct Past {
    history: [u8; 4],
    read_at: [u8; 3],
}

impl Past {
    #[inline]
    fn new(history: f64, tick: u32) -> Self {
        let [a, b, c, _] = tick.to_le_bytes();
        Self {
            history: (history as f32).to_le_bytes(),
            read_at: [a, b, c],
        }
    }

    #[inline]
    fn history(self) -> f64 {
        f64::from(f32::from_le_bytes(self.history))
    }

    #[inline]
    fn read_at(self) -> u32 {
        let [a, b, c] = self.read_at;
        u32::from_le_bytes([a, b, c, 0])
    }
}

impl Save for Past {
    fn save(&self, out: &mut dyn io::Write) -> io::Result<()> {
        out.write_all(&self.history)?;
        out.write_all(&self.read_at)
    }
}

impl Restore for Past {
    fn restore(from: &mut dyn io::Read) -> io::Result<Self> {
        let (mut history, mut read_at) = ([0; 4], [0; 3]);
        from.read_exact(&mut history)?;
        from.read_exact(&mut read_at)?;
        Ok(Self { history, read_at })
    }
}

/// Histories by node.
#[derive(Debug)]
pub(crate) struct Interpolation {
    span: f64,
    past: Vec<Past>,
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
        push(&mut self.past, Past::new(importance * self.span, tick));
    }

    #[inline]
    pub(crate) fn record(&mut self, node: usize, cash: f64, now: f64) {
        let tick = self.tick(now);
        self.past[node] = Past::new(self.history(node, cash, tick), tick);
    }

    pub(crate) fn forget(&mut self, node: usize) {
        self.past[node].history = [0; 4];
    }

    /// What the node earns counts from now on.
    pub(crate) fn begin_anew(&mut self, node: usize, now: f64) {
        self.past[node] = Past::new(0.0, self.tick(now));
    }

    pub(crate) fn importance(&self, node: usize, present: Present) -> f64 {
        self.history(node, present.cash, self.tick(present.now)) / self.span
    }

    pub(crate) fn len(&self) -> usize {
        self.past.len()
    }

    pub(crate) fn allocated_bytes(&self) -> usize {
        self.past.capacity() * size_of::<Past>()
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
        let past = self.past[node];
        let spans = f64::from(tick.saturating_sub(past.read_at())) / TICKS;
        if spans < 1.0 {
            past.history() * (1.0 - spans) + cash
        } else {
            cash / spans
        }
    }

    #[inline]
    fn tick(&self, now: f64) -> u32 {
        ((now / self.span * TICKS) as u32).min(TICK_MAX)
    }
}
