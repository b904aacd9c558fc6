//! Which counts are worth a point on a log axis.

/// Says of ascending counts which to record: each of the first, then 24 per factor of ten.
#[derive(Clone, Copy, Debug)]
pub struct LogSpaced {
    next: u64,
}

impl LogSpaced {
    /// Begins at 1.
    pub fn new() -> Self {
        Self { next: 1 }
    }

    /// Whether this count is worth a point. Counts must ascend.
    pub fn is_due(&mut self, count: u64) -> bool {
        if count < self.next {
            return false;
        }
        self.next = (count + 1).max((count as f64 * 1.1).round() as u64);
        true
    }
}

impl Default for LogSpaced {
    fn default() -> Self {
        Self::new()
    }
}
