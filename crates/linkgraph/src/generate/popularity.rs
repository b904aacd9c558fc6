//! Who is linked to: the r-th most popular of n gets links in proportion to (r+1)^−β.
//!
//! With β = 1/(γ−1) the number of links a page gets is distributed as P(k) ∝ k^−γ. To draw a rank,
//! take v uniform below G(n) = (n+1)^(1−β) − 1; the rank is (1+v)^(1/(1−β)) − 1. That curve is the
//! same for every n, so one table with interpolation between its points serves the whole web, each
//! host and each directory.
//!
//! Cost: a few nanoseconds a draw; 64 KiB.

/// Points of the table; between two of them the curve is straight to 10⁻⁵.
const CELLS: usize = 1 << 13;

pub(super) struct Popularity {
    /// 1 − β.
    power: f64,
    cells_per_unit: f64,
    curve: Vec<f64>,
}

impl Popularity {
    /// For groups of up to `largest` members, with in-degree exponent γ.
    pub(super) fn new(exponent: f64, largest: usize) -> Self {
        let power = 1.0 - 1.0 / (exponent - 1.0);
        let mut this = Self {
            power,
            cells_per_unit: 0.0,
            curve: Vec::new(),
        };
        let reach = this.reach(largest);
        this.cells_per_unit = CELLS as f64 / reach;
        this.curve = (0..=CELLS + 1)
            .map(|i| this.rank(i as f64 * reach / CELLS as f64))
            .collect();
        this
    }

    /// G(n); to be kept where many draws from the same group follow.
    pub(super) fn reach(&self, members: usize) -> f64 {
        let n = (members + 1) as f64;
        if self.is_logarithmic() {
            libm::log(n)
        } else {
            (libm::pow(n, self.power) - 1.0) / self.power
        }
    }

    /// Draws a rank from a group of `members` whose reach is `reach`, by a number in [0, 1).
    #[inline]
    pub(super) fn draw(&self, unit: f64, reach: f64, members: u32) -> u32 {
        let at = unit * reach * self.cells_per_unit;
        let cell = (at as usize).min(CELLS);
        let (low, high) = (self.curve[cell], self.curve[cell + 1]);
        let rank = low + (high - low) * (at - cell as f64);
        (rank as u32).min(members - 1)
    }

    fn rank(&self, v: f64) -> f64 {
        if self.is_logarithmic() {
            return libm::exp(v) - 1.0;
        }
        // For β > 1 the curve has an end; the last point of the table may lie behind it.
        let base = (1.0 + v * self.power).max(f64::MIN_POSITIVE);
        (libm::pow(base, 1.0 / self.power) - 1.0).min(f64::from(u32::MAX))
    }

    /// At γ = 2 the power becomes a logarithm.
    fn is_logarithmic(&self) -> bool {
        self.power.abs() < 1e-6
    }
}
