//! Whose turn it is when pages are not chosen by cash: in a cycle, or at random.
//!
//! Every candidate (a page, or the virtual page) holds a *turn*, a time at which it wants to be
//! read; the earliest turn is next, and whoever was read draws a new one.
//!
//! - Cycle: turns are numbered, a new one is the next number.
//! - Random: a new turn is an exponentially distributed time after the latest one. Clocks that
//!   ring at the same rate ring in uniformly random order, with replacement: each candidate is
//!   equally likely to be next, whoever was read before. The times are drawn by von Neumann's
//!   comparisons, in integers, so that they are the same on every machine.
//!
//! Cost: O(1) a draw; nothing per page, since a page's turn is its rank.

use turnstone_frontier::{Random, Rank};

/// Bits of a turn below the unit, which is the mean time between two turns of one candidate.
const FRACTION_BITS: u32 = 40;

/// Draws turns.
#[derive(Debug)]
pub(crate) struct Turns {
    /// The number of the next turn in a cycle; at random, the time of the latest turn taken.
    clock: u64,
    /// When the virtual page wants to be read.
    virtual_turn: u64,
    /// Draws the times; none in a cycle.
    random: Option<Random>,
}

impl Turns {
    /// Everyone in turn, again and again.
    pub(crate) fn cycle() -> Self {
        Self {
            clock: 0,
            virtual_turn: 0,
            random: None,
        }
    }

    /// Anyone, as chance has it.
    pub(crate) fn random(seed: u64) -> Self {
        Self {
            random: Some(Random::new(seed)),
            ..Self::cycle()
        }
    }

    /// Whether turns are taken as chance has it.
    pub(crate) fn is_random(&self) -> bool {
        self.random.is_some()
    }

    /// A new turn, as a rank: the earlier, the higher.
    pub(crate) fn draw_rank(&mut self) -> Rank {
        Rank::MAX - self.draw()
    }

    /// A page with this rank is being read.
    pub(crate) fn taken(&mut self, rank: Rank) {
        if self.random.is_some() && rank > 0 {
            self.clock = self.clock.max(Rank::MAX - rank);
        }
    }

    /// Whether the virtual page's turn is before that of the best page.
    pub(crate) fn virtual_is_before(&self, best: Rank) -> bool {
        self.virtual_turn < Rank::MAX - best
    }

    /// The virtual page is being read and draws a new turn.
    pub(crate) fn virtual_taken(&mut self) {
        if self.random.is_some() {
            self.clock = self.clock.max(self.virtual_turn);
        }
        self.virtual_turn = self.draw();
    }

    fn draw(&mut self) -> u64 {
        match &mut self.random {
            None => {
                self.clock += 1;
                self.clock - 1
            }
            Some(random) => self.clock + exponential(random),
        }
    }
}

/// An exponentially distributed time of mean 1, in units of 2^-FRACTION_BITS (von Neumann 1951):
/// draw uniform numbers as long as they fall; after an odd number of them the first is the
/// fraction, after an even number one more unit has passed and all begins anew.
fn exponential(random: &mut Random) -> u64 {
    let mut whole = 0;
    loop {
        let first = random.bits();
        let (mut last, mut drawn) = (first, 1u32);
        loop {
            let next = random.bits();
            if next >= last {
                break;
            }
            (last, drawn) = (next, drawn + 1);
        }
        if drawn % 2 == 1 {
            return (whole << FRACTION_BITS) + (first >> (64 - FRACTION_BITS));
        }
        whole += 1;
    }
}

turnstone_frontier::saved!(Turns: clock, virtual_turn, random);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_exponential() {
        let mut random = Random::new(3);
        let unit = (1u64 << FRACTION_BITS) as f64;
        let times: Vec<f64> = (0..20_000)
            .map(|_| exponential(&mut random) as f64 / unit)
            .collect();
        let mean = times.iter().sum::<f64>() / times.len() as f64;
        assert!((mean - 1.0).abs() < 0.03, "{mean}");
        for (time, share) in [(0.1f64, 0.905), (0.5, 0.607), (1.0, 0.368), (3.0, 0.0498)] {
            let longer = times.iter().filter(|drawn| **drawn > time).count();
            let longer = longer as f64 / times.len() as f64;
            assert!((longer - share).abs() < 0.015, "{longer} of {time}");
        }
    }

    #[test]
    fn every_candidate_is_equally_likely_whoever_came_before() {
        let mut turns = Turns::random(5);
        let mut ranks: Vec<Rank> = (0..4).map(|_| turns.draw_rank()).collect();
        let mut followed = [[0u32; 4]; 4];
        let mut before = 0;
        for _ in 0..16_000 {
            let best = (0..4).max_by_key(|page| ranks[*page]).unwrap();
            turns.taken(ranks[best]);
            ranks[best] = turns.draw_rank();
            followed[before][best] += 1;
            before = best;
        }
        let even = followed
            .as_flattened()
            .iter()
            .all(|count| (850..1150).contains(count));
        assert!(even, "{followed:?}");
    }
}
