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
    /// How long a cycle is.
    pub cycle_weeks: u32,
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
    /// Over all cycles and seeds.
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
            cycle_weeks,
            budget,
            since,
            ..
        } = *question;
        runs.push(run(store, policy, cycle_weeks, budget, since));
    }
    Ok(summary(
        spec,
        question.budget,
        &runs,
        started.elapsed().as_secs_f64(),
    ))
}

fn summary(spec: &Spec, budget: u64, runs: &[Vec<Cycle>], seconds: f64) -> Outcome {
    let by_seed: Vec<Measures> = runs
        .iter()
        .map(|cycles| Measures::mean(&cycles.iter().map(Measures::of).collect::<Vec<_>>()))
        .collect();
    let cycle_count = runs.first().map_or(0, Vec::len);
    let cycles: Vec<MeanCycle> = (0..cycle_count)
        .map(|cycle| mean_cycle(&runs.iter().map(|run| run[cycle]).collect::<Vec<_>>()))
        .collect();
    let ratio = |changed: fn(&MeanCycle) -> f64| {
        let ratios = cycles.iter().map(|c| changed(c) / c.downloads.max(1.0));
        ratios.sum::<f64>() / cycle_count.max(1) as f64
    };
    let mean = Measures::mean(&by_seed);
    Outcome {
        policy: spec.to_string(),
        budget,
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

fn mean_cycle(seeds: &[Cycle]) -> MeanCycle {
    let mean = |count: fn(&Cycle) -> u64| {
        seeds.iter().map(count).sum::<u64>() as f64 / seeds.len().max(1) as f64
    };
    MeanCycle {
        downloads: mean(|cycle| cycle.downloads),
        changed: mean(|cycle| cycle.changed),
        changed_since_copy: mean(|cycle| cycle.changed_since_copy),
        changed_since_last_cycle: mean(|cycle| cycle.changed_since_last_cycle),
        measures: Measures::mean(&seeds.iter().map(Measures::of).collect::<Vec<_>>()),
    }
}
