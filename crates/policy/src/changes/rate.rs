//! How often a page changes, from visits that only say "changed since last time" or "not".
//!
//! Changes are taken to be a Poisson process. A visit after w days that finds a change may have
//! missed others, so changes seen per day are too few (naive); each estimator here mends that in
//! its way. Rates are per unit of whatever time the intervals are in.
//!
//! - [`naive`]: changes seen / time. For comparison only.
//! - [`bias_corrected`]: visits at one interval (Cho and Garcia-Molina 2003).
//! - [`with_last_modified`]: visits that also tell when the last change was (the same).
//! - [`maximum_likelihood`]: visits at any intervals.
//! - [`Evidence`]: changes and exposure in two numbers, kept on line, for pooling by a Gamma prior.

/// One visit: how long after the one before, and whether the page had changed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Visit {
    /// Time since the visit before.
    pub interval: f64,
    /// Whether a change was seen.
    pub changed: bool,
}

/// Changes seen by time. Too low: at most one change a visit is seen.
pub fn naive(visits: &[Visit]) -> f64 {
    let time: f64 = visits.iter().map(|visit| visit.interval).sum();
    let changes = visits.iter().filter(|visit| visit.changed).count();
    if time > 0.0 {
        changes as f64 / time
    } else {
        0.0
    }
}

/// `changes` of `visits` at one interval: −ln((n − X + ½)/(n + ½))/interval.
pub fn bias_corrected(visits: u32, changes: u32, interval: f64) -> f64 {
    assert!(changes <= visits, "no more changes than visits");
    let (n, x) = (f64::from(visits), f64::from(changes));
    -((n - x + 0.5) / (n + 0.5)).ln() / interval
}

/// What visits that tell the last change say.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LastModified {
    visits: u32,
    changes: u32,
    /// Time in which the page is known to have been still.
    still: f64,
}

impl LastModified {
    /// Adds a visit; `since_change` is the time since the last change, if one was since the visit
    /// before.
    pub fn visit(&mut self, interval: f64, since_change: Option<f64>) {
        self.visits += 1;
        self.changes += u32::from(since_change.is_some());
        self.still += since_change.map_or(interval, |since| since.clamp(0.0, interval));
    }
}

/// The rate from visits that tell the last change, without the bias of plain changes / time.
pub fn with_last_modified(seen: &LastModified) -> f64 {
    let (n, x) = (f64::from(seen.visits), f64::from(seen.changes));
    if seen.changes == 0 || seen.still <= 0.0 {
        return 0.0;
    }
    if seen.changes == seen.visits {
        return (x - 1.0) / seen.still;
    }
    ((x - 1.0) - x / (n * (1.0 - x / n).ln())) / seen.still
}

/// The rate under which the visits were most likely, with one half-unit visit of each kind added
/// so that there always is one: the root of Σ_changed w/(e^(Δw) − 1) = Σ_unchanged w.
pub fn maximum_likelihood(visits: &[Visit], half_unit: f64) -> f64 {
    let pseudo = [true, false].map(|changed| Visit {
        interval: half_unit,
        changed,
    });
    let all = || visits.iter().chain(&pseudo);
    let still: f64 = all()
        .filter(|visit| !visit.changed)
        .map(|visit| visit.interval)
        .sum();
    let excess = |rate: f64| {
        let changed = all().filter(|visit| visit.changed);
        let sum: f64 = changed
            .map(|visit| visit.interval / (rate * visit.interval).exp_m1())
            .sum();
        sum - still
    };
    // The sum falls in the rate: from above `still` near 0 to 0.
    let (mut low, mut high) = (1e-12 / half_unit, 1.0 / half_unit);
    while excess(high) > 0.0 {
        high *= 2.0;
    }
    for _ in 0..80 {
        let middle = 0.5 * (low + high);
        if excess(middle) > 0.0 {
            low = middle;
        } else {
            high = middle;
        }
    }
    0.5 * (low + high)
}

/// Changes and the time without a change before each: what a Gamma prior needs.
///
/// A still visit adds its whole interval as exposure. A visit that saw a change adds one change
/// and the time until the first one as it is expected under the rate believed so far: one step of
/// expectation maximisation a visit, no history kept.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Evidence {
    /// Changes seen.
    pub changes: f64,
    /// Time waited for them.
    pub exposure: f64,
}

impl Evidence {
    /// What a visit adds under the rate believed so far.
    pub fn of_visit(visit: Visit, believed: f64) -> Self {
        match visit.changed {
            false => Self {
                changes: 0.0,
                exposure: visit.interval,
            },
            true => Self {
                changes: 1.0,
                exposure: time_to_first_change(believed, visit.interval),
            },
        }
    }

    /// Adds evidence.
    pub fn add(&mut self, other: Self) {
        self.changes += other.changes;
        self.exposure += other.exposure;
    }

    /// The mean of the Gamma posterior whose prior has this mean and weighs as much as so many
    /// changes.
    pub fn posterior(&self, prior_mean: f64, prior_changes: f64) -> f64 {
        (self.changes + prior_changes) / (self.exposure + prior_changes / prior_mean)
    }
}

/// The expected time to the first change, given that there is one within the interval.
pub fn time_to_first_change(rate: f64, interval: f64) -> f64 {
    let x = rate * interval;
    if x < 1e-4 {
        // The limit: changes are then spread evenly.
        return 0.5 * interval;
    }
    1.0 / rate - interval / x.exp_m1()
}

#[cfg(test)]
mod tests {
    use super::*;
    use turnstone_frontier::Random;

    /// Visits to a page of a known rate at intervals drawn by `interval`; also when it last changed.
    fn visits(
        random: &mut Random,
        rate: f64,
        count: usize,
        interval: impl Fn(&mut Random) -> f64,
    ) -> Vec<(Visit, Option<f64>)> {
        let one = |random: &mut Random| {
            let interval = interval(random);
            // Looking back from the visit, the wait for the last change is exponential.
            let back = -(1.0 - random.unit()).ln() / rate;
            let since = (back < interval).then_some(back);
            let changed = since.is_some();
            (Visit { interval, changed }, since)
        };
        (0..count).map(|_| one(random)).collect()
    }

    /// The mean estimate over many simulated pages.
    fn mean(estimate: impl Fn(&mut Random) -> f64) -> f64 {
        let mut random = Random::new(1);
        let pages = 4000;
        (0..pages).map(|_| estimate(&mut random)).sum::<f64>() / f64::from(pages)
    }

    fn check(name: &str, got: f64, wanted: f64, error: f64) {
        let off = (got / wanted - 1.0).abs();
        assert!(off <= error, "{name}: {got} is {off:.3} off {wanted}");
    }

    #[test]
    fn naive_is_too_low_at_any_sample_size() {
        for count in [10, 200] {
            let got = mean(|random| {
                let seen: Vec<Visit> = visits(random, 0.7, count, |_| 1.0)
                    .iter()
                    .map(|(visit, _)| *visit)
                    .collect();
                naive(&seen)
            });
            check("naive", got, 0.503, 0.02);
        }
    }

    #[test]
    fn bias_corrected_recovers_the_rate_from_few_visits() {
        for (count, error) in [(5, 0.02), (50, 0.02)] {
            let got = mean(|random| {
                let seen = visits(random, 0.7, count, |_| 1.0);
                let changes = seen.iter().filter(|(visit, _)| visit.changed).count();
                bias_corrected(count as u32, changes as u32, 1.0)
            });
            check("bias corrected", got, 0.7, error);
        }
    }

    #[test]
    fn last_modified_recovers_the_rate_from_four_visits() {
        let got = mean(|random| {
            let mut seen = LastModified::default();
            for (visit, since) in visits(random, 0.7, 4, |_| 1.0) {
                seen.visit(visit.interval, since);
            }
            with_last_modified(&seen)
        });
        check("with Last-Modified", got, 0.7, 0.03);
    }

    #[test]
    fn maximum_likelihood_recovers_the_rate_at_irregular_intervals() {
        // The visit added of each kind shows where fewer than ten changes were seen.
        for (rate, error) in [(0.05, 0.15), (0.3, 0.05), (1.5, 0.05)] {
            let got = mean(|random| {
                let seen = visits(random, rate, 100, |random| 0.2 + 3.0 * random.unit());
                let seen: Vec<Visit> = seen.iter().map(|(visit, _)| *visit).collect();
                maximum_likelihood(&seen, 0.5)
            });
            check("maximum likelihood", got, rate, error);
        }
    }

    #[test]
    fn evidence_kept_on_line_recovers_the_rate() {
        for rate in [0.05, 0.3, 1.5] {
            let got = mean(|random| {
                let mut evidence = Evidence::default();
                for (visit, _) in visits(random, rate, 200, |random| 0.2 + 3.0 * random.unit()) {
                    let believed = evidence.posterior(0.5, 0.5);
                    evidence.add(Evidence::of_visit(visit, believed));
                }
                evidence.posterior(0.5, 0.5)
            });
            check("evidence", got, rate, 0.08);
        }
    }

    #[test]
    fn with_nothing_seen_the_posterior_is_the_prior() {
        assert_eq!(Evidence::default().posterior(0.3, 2.0), 0.3);
        assert!(maximum_likelihood(&[], 0.5) > 0.0);
    }
}
