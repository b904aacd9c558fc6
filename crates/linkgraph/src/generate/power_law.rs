//! The experiment graph of the OPIC paper: in-degrees by a power law, sources uniform.
//!
//! Each page draws its in-degree k from 1..n−1 with P(k) ∝ k^−γ, exactly (rejection-inversion,
//! Hörmann and Derflinger 1996), and then k distinct sources, uniform, never itself. No hosts, no
//! near or far, no navigation tree.
//!
//! Cost: O(links), in parallel over pages; 8 bytes a link at the peak.

use rayon::prelude::*;
use turnstone_frontier::PageId;

use super::dice::Dice;
use super::parameters::{ParameterError, within};
use crate::graph::{GraphBuilder, LinkGraph};

/// Pages one task makes.
const TASK_PAGES: u32 = 1 << 12;
/// From this share of all pages on, sources are picked by walking over all pages once.
const WALK_SHARE: u32 = 8;

/// A power-law graph of `pages` pages with in-degree exponent `exponent` (1.5 to 4; the paper's is 2.1).
pub fn power_law(pages: usize, exponent: f64, seed: u64) -> Result<LinkGraph, ParameterError> {
    within("pages", pages as f64, 2.0, f64::from(u32::MAX - 1))?;
    within("exponent", exponent, 1.5, 4.0)?;
    let pages = pages as u32;
    let indegrees = Zipf::new(exponent, pages - 1);
    let tasks: Vec<u32> = (0..pages).step_by(TASK_PAGES as usize).collect();
    let made: Vec<Vec<Vec<PageId>>> = tasks
        .par_iter()
        .map(|&first| {
            let last = pages.min(first.saturating_add(TASK_PAGES));
            (first..last)
                .map(|page| sources(page, pages, &indegrees, seed))
                .collect()
        })
        .collect();
    let links = made.iter().flatten().map(Vec::len).sum();
    let mut in_links = GraphBuilder::with_capacity(pages as usize, links);
    for task in made {
        task.iter().for_each(|sources| in_links.push(sources));
    }
    Ok(in_links.finish().transpose())
}

/// The pages that link to `page`, ascending.
fn sources(page: u32, pages: u32, indegrees: &Zipf, seed: u64) -> Vec<PageId> {
    let mut dice = Dice::of(seed, u64::from(page));
    let wanted = indegrees.draw(&mut dice);
    // Numbers 0..pages−1 stand for the other pages: from `page` on they are shifted by one.
    let other = |i: u32| PageId(if i < page { i } else { i + 1 });
    let others = pages - 1;
    if wanted > others / WALK_SHARE {
        let mut left = wanted;
        return (0..others)
            .filter(|&i| {
                let taken = dice.below(others - i) < left;
                left -= u32::from(taken);
                taken
            })
            .map(other)
            .collect();
    }
    let mut sources: Vec<PageId> = Vec::with_capacity(wanted as usize);
    while sources.len() < wanted as usize {
        for _ in sources.len()..wanted as usize {
            sources.push(other(dice.below(others)));
        }
        sources.sort_unstable();
        sources.dedup();
    }
    sources
}

/// Draws k in 1..=most with P(k) ∝ k^−exponent.
struct Zipf {
    exponent: f64,
    most: f64,
    /// Integral of x^−exponent up to 1.5 less 1, and up to most + 0.5.
    area_first: f64,
    area_last: f64,
    /// Below this distance a draw is accepted without further ado.
    sure: f64,
}

impl Zipf {
    fn new(exponent: f64, most: u32) -> Self {
        let mut this = Self {
            exponent,
            most: f64::from(most),
            area_first: 0.0,
            area_last: 0.0,
            sure: 0.0,
        };
        this.area_first = this.area(1.5) - 1.0;
        this.area_last = this.area(this.most + 0.5);
        this.sure = 2.0 - this.area_inverse(this.area(2.5) - this.density(2.0));
        this
    }

    fn draw(&self, dice: &mut Dice) -> u32 {
        loop {
            let u = self.area_last + dice.unit() * (self.area_first - self.area_last);
            let x = self.area_inverse(u);
            let k = libm::round(x).clamp(1.0, self.most);
            if k - x <= self.sure || u >= self.area(k + 0.5) - self.density(k) {
                return k as u32;
            }
        }
    }

    fn density(&self, x: f64) -> f64 {
        libm::pow(x, -self.exponent)
    }

    /// The integral of the density from 1 to x; the exponent is never 1 here.
    fn area(&self, x: f64) -> f64 {
        (libm::pow(x, 1.0 - self.exponent) - 1.0) / (1.0 - self.exponent)
    }

    fn area_inverse(&self, area: f64) -> f64 {
        libm::pow(
            (1.0 + area * (1.0 - self.exponent)).max(0.0),
            1.0 / (1.0 - self.exponent),
        )
    }
}
