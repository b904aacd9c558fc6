//! From values to a table: means, intervals and places.

use turnstone_policy::Spec;

use super::contest::{Contest, Played};
use super::{Reached, Standing, Table, WebAsked};

/// The 97.5 % quantile of Student's t by degrees of freedom, from 1. Beyond them the last one stands: an
/// interval may be a little too wide and never too narrow.
const STUDENT: [f64; 30] = [
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160,
    2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056,
    2.052, 2.048, 2.045, 2.042,
];

/// What all policies reached on all webs, for one question.
pub(super) struct Values {
    less_is_better: bool,
    policies: Vec<PolicyValues>,
    webs: Vec<WebAsked>,
}

struct PolicyValues {
    policy: String,
    reached: Vec<Reached>,
    places: Vec<f64>,
    seconds: f64,
    /// Decisions whose time is known.
    decisions: f64,
}

impl Values {
    pub(super) fn of(specs: &[Spec], less_is_better: bool) -> Self {
        let empty = |spec: &Spec| PolicyValues {
            policy: spec.to_string(),
            reached: Vec::new(),
            places: Vec::new(),
            seconds: 0.0,
            decisions: 0.0,
        };
        Self {
            less_is_better,
            policies: specs.iter().map(empty).collect(),
            webs: Vec::new(),
        }
    }

    /// Adds a web: for each policy what it reached with each seed.
    pub(super) fn add(&mut self, web: &str, runs: Vec<Vec<Played>>) {
        let bound = runs.iter().flatten().find_map(|played| played.bound);
        let web = web.to_owned();
        self.webs.push(WebAsked { web, bound });
        let reached: Vec<Reached> = runs.iter().map(|runs| reached(runs)).collect();
        let values: Vec<Option<f64>> = reached.iter().map(|it| it.value).collect();
        let places = places(&values, self.less_is_better);
        for (policy, ((reached, place), runs)) in self
            .policies
            .iter_mut()
            .zip(reached.into_iter().zip(places).zip(runs))
        {
            policy.reached.push(reached);
            policy.places.push(place);
            for run in runs {
                if let Some(seconds) = run.seconds {
                    policy.seconds += seconds;
                    policy.decisions += run.decisions;
                }
            }
        }
    }

    /// The table; none if no web was asked.
    pub(super) fn table(self, contest: &Contest) -> Option<Table> {
        if self.webs.is_empty() {
            return None;
        }
        let standing = |of: PolicyValues| Standing {
            policy: of.policy,
            place: of.places.iter().sum::<f64>() / of.places.len() as f64,
            results: of.reached,
            microseconds: (of.decisions > 0.0).then(|| of.seconds * 1e6 / of.decisions),
        };
        let mut policies: Vec<Standing> = self.policies.into_iter().map(standing).collect();
        policies.sort_by(|a, b| a.place.total_cmp(&b.place).then(a.policy.cmp(&b.policy)));
        Some(Table {
            question: contest.name,
            measure: contest.measure,
            less_is_better: contest.less_is_better,
            is_share: contest.is_share,
            webs: self.webs,
            policies,
        })
    }
}

/// Mean and interval over seeds. A policy that failed with one seed has no value.
fn reached(runs: &[Played]) -> Reached {
    let values: Option<Vec<f64>> = runs.iter().map(|played| played.value).collect();
    let seeds = runs.len() as u64;
    let Some(values) = values.filter(|values| !values.is_empty()) else {
        return Reached {
            value: None,
            half_width: None,
            seeds,
        };
    };
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let is_same = values.iter().all(|value| *value == values[0]);
    let half_width = (!is_same).then(|| {
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        let freedom = values.len() - 1;
        let quantile = STUDENT[freedom.min(STUDENT.len()) - 1];
        quantile * (squares / freedom as f64 / count).sqrt()
    });
    Reached {
        value: Some(if is_same { values[0] } else { mean }),
        half_width,
        seeds,
    }
}

/// The place of each value: 1 for the best; equal values share the mean of their places; who has no value
/// is behind all who have one.
fn places(values: &[Option<f64>], less_is_better: bool) -> Vec<f64> {
    let key = |value: Option<f64>| match value {
        Some(value) if less_is_better => value,
        Some(value) => -value,
        None => f64::INFINITY,
    };
    let place = |value: &Option<f64>| {
        let mine = key(*value);
        let better = values.iter().filter(|other| key(**other) < mine).count();
        let equal = values.iter().filter(|other| key(**other) == mine).count();
        better as f64 + (equal as f64 + 1.0) / 2.0
    };
    values.iter().map(place).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn played(value: Option<f64>) -> Played {
        Played {
            value,
            bound: None,
            seconds: None,
            decisions: 0.0,
        }
    }

    #[test]
    fn equal_values_share_their_places_and_none_is_last() {
        let values = [Some(2.0), None, Some(1.0), Some(2.0), None];
        assert_eq!(places(&values, true), [2.5, 4.5, 1.0, 2.5, 4.5]);
        assert_eq!(places(&values, false), [1.5, 4.5, 3.0, 1.5, 4.5]);
    }

    #[test]
    fn the_interval_is_that_of_the_mean() {
        // A worked example: 5 values, deviation sqrt(2.5), t(4) = 2.776.
        let runs: Vec<Played> = (1..=5).map(|it| played(Some(f64::from(it)))).collect();
        let reached = reached(&runs);
        assert_eq!(reached.value, Some(3.0));
        let half = reached.half_width.unwrap();
        assert!(
            (half - 2.776 * (2.5_f64 / 5.0).sqrt()).abs() < 1e-12,
            "{half}"
        );
    }

    #[test]
    fn what_draws_nothing_has_no_interval_and_one_failure_is_no_value() {
        let same = reached(&[played(Some(0.1)), played(Some(0.1))]);
        assert_eq!((same.value, same.half_width), (Some(0.1), None));
        let failed = reached(&[played(Some(0.1)), played(None)]);
        assert_eq!((failed.value, failed.half_width), (None, None));
    }
}
