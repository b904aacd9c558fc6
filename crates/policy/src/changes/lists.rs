//! The lists that refresh policies follow: whose turn it is, by age, by interval, by value.
//!
//! - [`RoundRobin`]: all pages in order of id, going on where the last cycle stopped.
//! - [`Oldest`]: the oldest copies first, so that every page is refreshed equally often.
//! - [`Interval`]: each page has an interval that shrinks when it changed and grows when it did
//!   not, as in Apache Nutch and StormCrawler; most overdue first.
//! - [`CrawlValue`]: the largest index V = (μ/Δ)(1 − e^(−Δτ)(1 + Δτ)), μ importance, Δ change
//!   rate, τ age of our copy (Olston and Pandey 2008; "greedy" of Busa-Fekete et al. 2025).
//! - [`Azar`]: the fetch rates ρ = max(0, c√(μΔ) − Δ) that keep most importance fresh (Azar,
//!   Horvitz, Lubetzky, Peres, Shahaf 2018), each page evenly spaced; most overdue first.
//!
//! Cost: O(pages) a cycle, O(pages log pages) for [`Azar`].

use std::io;
use std::sync::Arc;

use turnstone_frontier::PageId;

use super::pooled::PooledRates;
use super::rate::Visit;
use super::refresh::{Answer, List, Moment};

/// All pages in turn.
#[derive(Debug, Default)]
pub struct RoundRobin {
    /// Where the next cycle begins.
    cursor: u64,
}

impl List for RoundRobin {
    fn know(&mut self, _: PageId) {}

    fn learn(&mut self, _: Answer) {}

    fn best(&mut self, moment: &Moment<'_>) -> Vec<PageId> {
        let count = moment.page_count() as u64;
        let turn = |step: u64| PageId::from_index(((self.cursor + step) % count) as usize);
        let pages = (0..moment.budget as u64).map(turn).collect();
        self.cursor = (self.cursor + moment.budget as u64) % count.max(1);
        pages
    }

    turnstone_frontier::saved_in_place!([cursor]);
}

/// The oldest copies first.
#[derive(Debug, Default)]
pub struct Oldest;

impl List for Oldest {
    fn know(&mut self, _: PageId) {}

    fn learn(&mut self, _: Answer) {}

    fn best(&mut self, moment: &Moment<'_>) -> Vec<PageId> {
        moment.largest(|page| moment.age_days(page))
    }

    fn save(&self, _: &mut dyn io::Write) -> io::Result<()> {
        Ok(())
    }

    fn restore(&mut self, _: &mut dyn io::Read) -> io::Result<()> {
        Ok(())
    }
}

/// Intervals that shrink and grow.
#[derive(Debug)]
pub struct Interval {
    /// What an interval shrinks or grows by, as a share of itself.
    step: f64,
    initial_days: f64,
    /// By page.
    days: Vec<f32>,
}

/// No interval is shorter or longer: an hour, a year.
const INTERVAL_DAYS: (f32, f32) = (1.0 / 24.0, 365.0);

impl Interval {
    /// Intervals that start at so many days and change by this share.
    pub fn new(step: f64, initial_days: f64) -> Self {
        Self {
            step,
            initial_days,
            days: Vec::new(),
        }
    }
}

impl List for Interval {
    fn know(&mut self, _: PageId) {
        self.days.push(self.initial_days as f32);
    }

    fn learn(&mut self, answer: Answer) {
        let step = if answer.changed {
            -self.step
        } else {
            self.step
        };
        let days = &mut self.days[answer.page.index()];
        let (least, most) = INTERVAL_DAYS;
        *days = (*days * (1.0 + step) as f32).clamp(least, most);
    }

    fn best(&mut self, moment: &Moment<'_>) -> Vec<PageId> {
        moment.largest(|page| moment.age_days(page) - f64::from(self.days[page.index()]))
    }

    turnstone_frontier::saved_in_place!([days],
        |it| it.days.iter().any(|days| !days.is_finite()) => "an interval that is no number");
}

/// The largest crawl value.
#[derive(Debug)]
pub struct CrawlValue {
    rates: PooledRates,
    importance: Arc<[f64]>,
}

impl CrawlValue {
    /// Values from these rates; by page its importance.
    pub fn new(rates: PooledRates, importance: Arc<[f64]>) -> Self {
        Self { rates, importance }
    }
}

/// V = (μ/Δ)(1 − e^(−Δτ)(1 + Δτ)).
pub fn crawl_value(importance: f64, rate: f64, age: f64) -> f64 {
    let x = rate * age;
    if x < 1e-3 {
        // The series: the difference would be lost to rounding.
        return importance * age * x * (0.5 - x / 3.0);
    }
    importance / rate * (1.0 - (-x).exp() * (1.0 + x))
}

impl List for CrawlValue {
    fn know(&mut self, _: PageId) {}

    fn learn(&mut self, answer: Answer) {
        self.rates.learn(answer.page, visit(answer));
    }

    fn best(&mut self, moment: &Moment<'_>) -> Vec<PageId> {
        moment.largest(|page| {
            let importance = self.importance[page.index()];
            crawl_value(importance, self.rates.rate(page), moment.age_days(page))
        })
    }

    turnstone_frontier::saved_in_place!([mut rates]);
}

fn visit(answer: Answer) -> Visit {
    Visit {
        interval: answer.age_days,
        changed: answer.changed,
    }
}

/// The best fetch rates, evenly played.
#[derive(Debug)]
pub struct Azar {
    rates: PooledRates,
    importance: Arc<[f64]>,
    /// By page: the share of a fetch it has been owed since its last one.
    owed: Vec<f64>,
}

impl Azar {
    /// Rates from what is learnt; by page its importance.
    pub fn new(rates: PooledRates, importance: Arc<[f64]>) -> Self {
        Self {
            rates,
            importance,
            owed: Vec::new(),
        }
    }
}

/// Fetches per unit of time for pages of these (importance, change rate), `budget` in all, that
/// maximise Σ μρ/(ρ + Δ).
pub fn azar_rates(pages: &[(f64, f64)], budget: f64) -> Vec<f64> {
    let mut order: Vec<usize> = (0..pages.len()).collect();
    let worth = |page: usize| pages[page].0 / pages[page].1;
    order.sort_by(|a, b| worth(*b).total_cmp(&worth(*a)).then(a.cmp(b)));
    // Pages join while their rate would be above 0: c grows smaller with each.
    let (mut roots, mut changes, mut level) = (0.0, 0.0, 0.0);
    for &page in &order {
        let (importance, rate) = pages[page];
        let joined = (budget + changes + rate) / (roots + (importance * rate).sqrt());
        if joined * (importance * rate).sqrt() <= rate {
            break;
        }
        roots += (importance * rate).sqrt();
        changes += rate;
        level = joined;
    }
    let rho =
        |(importance, rate): &(f64, f64)| (level * (importance * rate).sqrt() - rate).max(0.0);
    pages.iter().map(rho).collect()
}

impl List for Azar {
    fn know(&mut self, _: PageId) {
        self.owed.push(0.0);
    }

    fn learn(&mut self, answer: Answer) {
        self.rates.learn(answer.page, visit(answer));
        // What was owed beyond one fetch stays owed: the rate is kept over time.
        let owed = &mut self.owed[answer.page.index()];
        *owed = (*owed - 1.0).max(-1.0);
    }

    fn best(&mut self, moment: &Moment<'_>) -> Vec<PageId> {
        let pages: Vec<(f64, f64)> = (0..moment.page_count())
            .map(|index| {
                let rate = self.rates.rate(PageId::from_index(index));
                (self.importance[index], rate)
            })
            .collect();
        // A cycle is the unit of time: rates a day are of no matter to who is owed most.
        let days = moment.cycle_days();
        let per_cycle: Vec<(f64, f64)> =
            pages.iter().map(|(mu, rate)| (*mu, rate * days)).collect();
        let rho = azar_rates(&per_cycle, moment.budget as f64);
        for (owed, rho) in self.owed.iter_mut().zip(&rho) {
            *owed += rho;
        }
        moment.largest(|page| self.owed[page.index()])
    }

    turnstone_frontier::saved_in_place!([owed, mut rates],
        |it| it.owed.iter().any(|owed| !owed.is_finite())
            => "a page that is owed no number of fetches");
}
