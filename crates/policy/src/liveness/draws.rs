//! What pages drawn at random tell of how many are alive, whatever else was asked for meanwhile.
//!
//! A draw is uniform among the U pages without a verdict, when f were found alive. If M pages are
//! alive in all, it falls on an alive one with chance q = (M − f)/U exactly: the fate of
//! pages is fixed, only the draw is random, and it does not matter how the pages found before were
//! chosen. So each M can be tested by betting against it: before each draw we guess the
//! chance, g, from the draws before; the product of g/q over draws that came out alive and
//! (1 − g)/(1 − q) over the others is, if M is the truth, a fair game, and reaches 1/ε
//! with chance at most ε, ever (Ville 1939; without replacement Waudby-Smith and Ramdas 2020). The M whose
//! product stays below 1/ε are the interval. It holds at all times at once, so it may be looked at
//! after every answer, and one may stop when it pleases.
//!
//! It grows sharper the fewer pages are left: a draw among 1,000 pages tells more than one among 100,000.
//! The product is convex in M, so the interval is one, found by bisection.
//!
//! Cost: O(draws · log pages) an interval. Numbers: + − × ÷ only, the same on every machine.

/// One draw that came back.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Draw {
    /// Pages found alive before it.
    pub(super) found: u64,
    /// Pages without a verdict, of which one was drawn.
    pub(super) left: u64,
    /// How likely an alive one was thought, above 0 and below 1.
    pub(super) guess: f64,
    /// What came out.
    pub(super) is_alive: bool,
}

impl Draw {
    /// The chance of what came out if so many pages are alive in all; not above 0 if it is
    /// impossible.
    fn chance_if(&self, alive: f64) -> f64 {
        let chance = (alive - self.found as f64) / self.left as f64;
        if self.is_alive { chance } else { 1.0 - chance }
    }

    fn bet(&self) -> f64 {
        if self.is_alive {
            self.guess
        } else {
            1.0 - self.guess
        }
    }
}

/// Products are kept between 2⁻²⁵⁶ and 2²⁵⁶, with the power of 2²⁵⁶ beside them.
const LARGE: f64 = 1.157_920_892_373_162e77;

/// Whether betting against so many alive pages has won less than so many times the stake.
fn is_possible(draws: &[Draw], alive: f64, times: f64) -> bool {
    let (mut product, mut powers) = (1.0, 0i64);
    for draw in draws {
        let chance = draw.chance_if(alive);
        if chance <= 0.0 {
            return false;
        }
        product *= draw.bet() / chance;
        if product > LARGE {
            product /= LARGE;
            powers += 1;
        } else if product < 1.0 / LARGE {
            product *= LARGE;
            powers -= 1;
        }
    }
    match powers {
        0 => product < times,
        1.. => false,
        _ => true,
    }
}

/// Where the likelihood of the draws is highest, within bounds; half a draw of each kind, as if from the
/// pages left last, keeps a few draws from claiming too much.
pub(super) fn likeliest(draws: &[Draw], (least, most): (u64, u64)) -> f64 {
    let slope = |alive: f64| {
        let side = |draw: &Draw| {
            let over = if draw.is_alive {
                alive - draw.found as f64
            } else {
                alive - (draw.found + draw.left) as f64
            };
            1.0 / over
        };
        let smooth = draws.last().map_or(0.0, |last| {
            let both = [true, false].map(|is_alive| side(&Draw { is_alive, ..*last }));
            (both[0] + both[1]) / 2.0
        });
        draws.iter().map(side).sum::<f64>() + smooth
    };
    let (mut low, mut high) = (least as f64, most as f64);
    // Halved until no page fits between.
    while high - low > 0.5 {
        let middle = low + (high - low) / 2.0;
        if slope(middle) > 0.0 {
            low = middle;
        } else {
            high = middle;
        }
    }
    low + (high - low) / 2.0
}

/// The least and the largest number of alive pages that the draws leave possible within bounds, at
/// an error of at most `error`.
pub(super) fn interval(draws: &[Draw], (least, most): (u64, u64), error: f64) -> (u64, u64) {
    let possible = |alive: u64| is_possible(draws, alive as f64, 1.0 / error);
    let middle = (likeliest(draws, (least, most)).round() as u64).clamp(least, most);
    if !possible(middle) {
        // All that is left fits a long run of bad luck only: nothing better is known.
        return (least, most);
    }
    // One end is possible, the other perhaps not.
    let edge = |mut inside: u64, outside: u64| {
        if possible(outside) {
            return outside;
        }
        let mut outside = outside;
        while inside.abs_diff(outside) > 1 {
            let between = inside.midpoint(outside);
            if possible(between) {
                inside = between;
            } else {
                outside = between;
            }
        }
        inside
    };
    (edge(middle, least), edge(middle, most))
}

/// A guess at the next draw, from the draws before it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Guesser {
    /// Sums of weights, and of weights times the number of alive pages that a draw lets expect.
    weights: f64,
    weighted: f64,
    draws: u64,
}

impl Guesser {
    /// How likely a draw among the pages left is alive.
    pub(super) fn guess(&self, found: u64, left: u64) -> f64 {
        let (found, left) = (found as f64, left as f64);
        // As if one draw had come out half alive.
        let own = weight(left, 0.5);
        let alive = (self.weighted + own * (found + left / 2.0)) / (self.weights + own);
        // Never so sure that one draw costs more than all that was won.
        let least = 0.5 / (self.draws as f64 + 2.0);
        ((alive - found) / left).clamp(least, 1.0 - least)
    }

    /// A draw came back.
    pub(super) fn learn(&mut self, draw: &Draw) {
        let weight = weight(draw.left as f64, draw.guess);
        let drawn = if draw.is_alive { draw.left as f64 } else { 0.0 };
        self.weights += weight;
        self.weighted += weight * (draw.found as f64 + drawn);
        self.draws += 1;
    }

    /// To be saved.
    pub(super) fn parts(&self) -> (f64, (f64, u64)) {
        (self.weights, (self.weighted, self.draws))
    }

    /// Saved before.
    pub(super) fn of_parts((weights, (weighted, draws)): (f64, (f64, u64))) -> Self {
        Self {
            weights,
            weighted,
            draws,
        }
    }
}

/// One over the variance of what a draw lets expect.
fn weight(left: f64, guess: f64) -> f64 {
    1.0 / (left * left * guess * (1.0 - guess))
}
