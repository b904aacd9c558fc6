//! What an order costs: requests for each alive page found.
//!
//! To find a share α of the n_a alive pages, at least one, takes i requests; the cost is i/(α·n_a),
//! with the real number α·n_a below, not its ceiling (`need`). The ideal order costs 1, the random
//! one n/n_a, and at α = 1 no order costs more than n/n_a.

/// The shares at which cost is told: 0.05, 0.10, … 1.00.
pub fn alphas() -> impl Iterator<Item = f64> {
    (1..=20).map(|twentieth| f64::from(twentieth) / 20.0)
}

/// How many alive pages make up a share of all of them: rounded up, at least one.
pub fn need(alpha: f64, alive: u64) -> u64 {
    // The tolerance keeps 0.1 of 30 at 3.
    ((alpha * alive as f64 - 1e-9).ceil() as u64).max(1)
}

/// Requests for each alive page wanted. There must be one.
pub fn cost(requests: u64, alpha: f64, alive: u64) -> f64 {
    assert!(alive > 0, "with nothing alive there is no cost");
    requests as f64 / (alpha * alive as f64)
}

/// A crawl on its way from one share to the next.
#[derive(Clone, Debug)]
pub struct Course {
    alive: u64,
    requests: u64,
    found: u64,
    /// Requests made when each share was reached.
    reached: Vec<u64>,
}

impl Course {
    /// Before the first request, of a web with so many alive pages.
    pub fn new(alive: u64) -> Self {
        let reached = Vec::with_capacity(alphas().count());
        Self {
            alive,
            requests: 0,
            found: 0,
            reached,
        }
    }

    /// One request was answered.
    pub fn answered(&mut self, is_alive: bool) {
        self.requests += 1;
        self.found += u64::from(is_alive);
        let to_come = alphas().skip(self.reached.len());
        let reached = to_come.take_while(|alpha| need(*alpha, self.alive) <= self.found);
        if is_alive {
            let count = reached.count();
            self.reached
                .extend(std::iter::repeat_n(self.requests, count));
        }
    }

    /// Requests made.
    pub fn requests(&self) -> u64 {
        self.requests
    }

    /// Alive pages found.
    pub fn found(&self) -> u64 {
        self.found
    }

    /// By share: requests made when it was reached.
    pub fn reached(&self) -> &[u64] {
        &self.reached
    }
}
