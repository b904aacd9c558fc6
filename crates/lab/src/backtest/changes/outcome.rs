//! What came of a policy over several seeds: means over all cycles, and how far seeds differ.

use std::time::Instant;

use serde::Serialize;
use turnstone_policy::{Spec, SpecError, changes};

use super::replay::{Cycle, Since, run};
use super::sites::SiteStore;
use crate::backtest::Watch;

/// What is asked.
#[derive(Clone, Copy, Debug)]
pub struct Question<'a> {
    /// The sites.
    pub store: &'a SiteStore,
    /// Fetches a cycle.
    pub budget: u64,
    /// Compared with what a page counts as changed.
    pub since: Since,
    /// The first seed, and how many.
    pub seeds: (u64, u64),
}

/// The measures of a cycle or of all of them, averaged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Measures {
    /// Changed among fetched.
    pub change_ratio: f64,
    /// The same by PageRank, a page of average rank counting 1.
    pub weighted_change_ratio: f64,
    /// The share of pages whose copy is current.
    pub freshness: f64,
    /// The same by PageRank.
    pub weighted_freshness: f64,
}

impl Measures {
    fn of(cycle: &Cycle) -> Self {
        Self {
            change_ratio: cycle.change_ratio,
            weighted_change_ratio: cycle.weighted_change_ratio,
            freshness: cycle.freshness,
            weighted_freshness: cycle.weighted_freshness,
        }
    }

    /// Each measure computed from all values of it.
    fn each(all: &[Self], compute: impl Fn(&mut dyn Iterator<Item = f64>) -> f64) -> Self {
        let of = |measure: fn(&Self) -> f64| compute(&mut all.iter().map(measure));
        Self {
            change_ratio: of(|m| m.change_ratio),
            weighted_change_ratio: of(|m| m.weighted_change_ratio),
            freshness: of(|m| m.freshness),
            weighted_freshness: of(|m| m.weighted_freshness),
        }
    }

    /// The mean of each.
    pub fn mean(all: &[Self]) -> Self {
        Self::each(all, |values| values.sum::<f64>() / all.len().max(1) as f64)
    }

    /// The standard deviation of each over a sample; 0 for one.
    fn deviation(all: &[Self]) -> Self {
        Self::each(all, |values| {
            let values: Vec<f64> = values.collect();
            let count = values.len() as f64;
            let mean = values.iter().sum::<f64>() / count.max(1.0);
            let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
            (squares / (count - 1.0).max(1.0)).sqrt()
        })
    }
}

/// One cycle, averaged over seeds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct MeanCycle {
    /// Pages fetched.
    pub downloads: f64,
    /// Of these, answered by the record.
    #[serde(skip)]
    pub answered: f64,
    /// Of these, not answered.
    #[serde(skip_serializing_if = "is_zero")]
    pub unknown: f64,
    /// Of these, changed, as asked for.
    pub changed: f64,
    /// Of these, not as our copy said.
    pub changed_since_copy: f64,
    /// Of these, not as they were a cycle ago.
    pub changed_since_last_cycle: f64,
    /// The measures.
    #[serde(flatten)]
    pub measures: Measures,
}

/// What came of one policy with one budget.
#[derive(Clone, Debug, Serialize)]
pub struct Outcome {
    /// The policy's spec.
    pub policy: String,
    /// Fetches a cycle.
    pub budget: u64,
    /// Cycle by cycle, averaged over seeds.
    pub cycles: Vec<MeanCycle>,
    /// How many requests of a run the record could not answer, averaged over seeds.
    pub unknown: f64,
    /// What that makes unsure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub doubt: Option<Doubt>,
    /// Over all cycles with an answer, and all seeds.
    pub mean_change_ratio: f64,
    /// By PageRank.
    pub mean_weighted_change_ratio: f64,
    /// Of the store at the end of each cycle.
    pub mean_freshness: f64,
    /// By PageRank.
    pub mean_weighted_freshness: f64,
    /// The ChangeRatio when "changed" means since our copy.
    pub mean_change_ratio_since_copy: f64,
    /// The ChangeRatio when "changed" means since the last cycle.
    pub mean_change_ratio_since_last_cycle: f64,
    /// The standard deviation of each mean over seeds.
    pub spread: Measures,
    /// Seconds of computing, all seeds together.
    pub seconds: f64,
}

/// What unknown answers make unsure, over all cycles and seeds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Doubt {
    /// The share of requests without an answer.
    pub unknown_share: f64,
    /// The ChangeRatio if none of these pages had changed.
    pub change_ratio_low: f64,
    /// The ChangeRatio if all had.
    pub change_ratio_high: f64,
    /// The share of pages, at the ends of cycles, of which it is unknown whether they are current.
    pub unknown_copies_share: f64,
    /// The freshness if none of these copies were current.
    pub freshness_low: f64,
    /// The freshness if all were.
    pub freshness_high: f64,
    /// The ChangeRatio with each look counted for as many pages as it stands for, by its logged
    /// chance; none where too few looks hung on chance.
    pub change_ratio_weighted: Option<f64>,
    /// How many looks that is worth.
    pub effective_looks: Option<f64>,
}

/// With fewer looks than this, in effect, nothing is estimated.
const EFFECTIVE_MIN: f64 = 30.0;

impl Doubt {
    /// None where every request was answered and every copy is known.
    fn of(runs: &[Vec<Cycle>]) -> Option<Self> {
        let cycles = || runs.iter().flatten();
        let sum = |of: &dyn Fn(&Cycle) -> f64| cycles().map(of).sum::<f64>();
        let requests = sum(&|cycle| cycle.downloads as f64);
        let unknown = sum(&|cycle| cycle.unknown.requests as f64);
        let copies = sum(&|cycle| cycle.unknown.copies as f64);
        if unknown == 0.0 && copies == 0.0 {
            return None;
        }
        let known_copies = sum(&|cycle| cycle.unknown.known_copies as f64);
        let fresh = sum(&|cycle| cycle.freshness * cycle.unknown.known_copies as f64);
        let changed = sum(&|cycle| cycle.changed as f64);
        let (pages, requests) = ((copies + known_copies).max(1.0), requests.max(1.0));
        let [all, of_changed, squares] = [
            sum(&|cycle| cycle.unknown.weights.0),
            sum(&|cycle| cycle.unknown.weights.1),
            sum(&|cycle| cycle.unknown.weights.2),
        ];
        let by_chance = cycles().any(|cycle| cycle.unknown.by_chance > 0);
        // The seeds look at the same record: they are not so many more looks.
        let effective = all * all / squares.max(f64::MIN_POSITIVE) / runs.len() as f64;
        let effective_looks = by_chance.then_some(effective);
        let enough = effective_looks.is_some_and(|looks| looks >= EFFECTIVE_MIN);
        Some(Self {
            unknown_share: unknown / requests,
            change_ratio_low: changed / requests,
            change_ratio_high: (changed + unknown) / requests,
            unknown_copies_share: copies / pages,
            freshness_low: fresh / pages,
            freshness_high: (fresh + copies) / pages,
            change_ratio_weighted: enough.then(|| of_changed / all),
            effective_looks,
        })
    }
}

/// Tries a policy with every seed.
pub fn try_policy(
    question: &Question<'_>,
    spec: &Spec,
    watch: Watch<'_>,
) -> Result<Outcome, SpecError> {
    let started = Instant::now();
    let (first, count) = question.seeds;
    let mut runs: Vec<Vec<Cycle>> = Vec::new();
    for seed in first..first.saturating_add(count) {
        watch(&spec.to_string(), runs.len() as f64 / count as f64);
        let policy = changes::build(spec, question.store, seed)?;
        let Question {
            store,
            budget,
            since,
            ..
        } = *question;
        runs.push(run(store, policy, budget, since));
    }
    Ok(summary(
        spec,
        question.budget,
        &runs,
        started.elapsed().as_secs_f64(),
    ))
}

fn summary(spec: &Spec, budget: u64, runs: &[Vec<Cycle>], seconds: f64) -> Outcome {
    let by_seed: Vec<Measures> = runs.iter().map(|cycles| mean_of_run(cycles)).collect();
    let cycle_count = runs.first().map_or(0, Vec::len);
    let cycles: Vec<MeanCycle> = (0..cycle_count)
        .map(|cycle| mean_cycle(&runs.iter().map(|run| run[cycle]).collect::<Vec<_>>()))
        .collect();
    let ratio = |changed: fn(&MeanCycle) -> f64| {
        let answered = cycles
            .iter()
            .filter(|c| c.answered > 0.0 || c.unknown == 0.0);
        let ratios: Vec<f64> = answered.map(|c| changed(c) / c.answered.max(1.0)).collect();
        ratios.iter().sum::<f64>() / ratios.len().max(1) as f64
    };
    let mean = Measures::mean(&by_seed);
    Outcome {
        policy: spec.to_string(),
        budget,
        unknown: {
            let unknown = runs.iter().flatten().map(|cycle| cycle.unknown.requests);
            unknown.sum::<u64>() as f64 / runs.len().max(1) as f64
        },
        doubt: Doubt::of(runs),
        mean_change_ratio: mean.change_ratio,
        mean_weighted_change_ratio: mean.weighted_change_ratio,
        mean_freshness: mean.freshness,
        mean_weighted_freshness: mean.weighted_freshness,
        mean_change_ratio_since_copy: ratio(|cycle| cycle.changed_since_copy),
        mean_change_ratio_since_last_cycle: ratio(|cycle| cycle.changed_since_last_cycle),
        spread: Measures::deviation(&by_seed),
        cycles,
        seconds,
    }
}

/// The means over the cycles in which there is something to tell.
fn mean_of_run(cycles: &[Cycle]) -> Measures {
    let mean = |told: fn(&Cycle) -> bool| {
        let told = cycles.iter().filter(|cycle| told(cycle));
        Measures::mean(&told.map(Measures::of).collect::<Vec<_>>())
    };
    let ratios = mean(|cycle| cycle.unknown.requests == 0 || cycle.answered() > 0);
    let fresh = mean(is_mostly_known);
    Measures {
        freshness: fresh.freshness,
        weighted_freshness: fresh.weighted_freshness,
        ..ratios
    }
}

/// Whether at least half of the copies can be judged. Which ones can is no accident: after a survey
/// that looked for life alone, only pages that were gone can be.
fn is_mostly_known(cycle: &Cycle) -> bool {
    cycle.unknown.known_copies >= cycle.unknown.copies
}

fn mean_cycle(seeds: &[Cycle]) -> MeanCycle {
    let mean = |count: fn(&Cycle) -> u64| {
        seeds.iter().map(count).sum::<u64>() as f64 / seeds.len().max(1) as f64
    };
    MeanCycle {
        downloads: mean(|cycle| cycle.downloads),
        answered: mean(Cycle::answered),
        unknown: mean(|cycle| cycle.unknown.requests),
        changed: mean(|cycle| cycle.changed),
        changed_since_copy: mean(|cycle| cycle.changed_since_copy),
        changed_since_last_cycle: mean(|cycle| cycle.changed_since_last_cycle),
        measures: measures_of(seeds),
    }
}

/// A cycle's measures, averaged over seeds; no number where too little is known.
fn measures_of(seeds: &[Cycle]) -> Measures {
    let mut mean = Measures::mean(&seeds.iter().map(Measures::of).collect::<Vec<_>>());
    if !seeds.iter().all(is_mostly_known) {
        (mean.freshness, mean.weighted_freshness) = (f64::NAN, f64::NAN);
    }
    mean
}

fn is_zero(number: &f64) -> bool {
    *number == 0.0
}
