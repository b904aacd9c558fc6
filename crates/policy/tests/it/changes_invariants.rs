//! What must hold for every policy of changes on every store, whatever goes wrong.

use proptest::prelude::*;
use turnstone_frontier::{Policy, Scheduler};
use turnstone_policy::{Question, Spec, SpecError, catalog, changes};

use crate::store::{Past, Refreshing, past};

const SPECS: &[&str] = &[
    "rns",
    "round-robin",
    "gsb",
    "link-neighbours:d=2",
    "link-neighbours:d=-1,trigger=always",
    "directory-neighbours:d=1",
    "directory-neighbours:d=-2,trigger=pagerank",
    "cluster-neighbours:d=1,trigger=history",
    "directory-neighbours:d=0,trigger=weighted-history,cycles=observed",
    "uniform",
    "interval:step=0.5",
    "crawl-value:weight=pagerank",
    "azar",
    "cohorts",
    "cohorts:explore=0.5,ahead=3",
];

fn policy(spec: &str, past: &Past, seed: u64) -> Box<dyn Policy> {
    changes::build(&spec.parse::<Spec>().unwrap(), past, seed).unwrap()
}

/// No page twice in a cycle; no more than the budget, and all of it when every answer comes.
fn check_cycles(spec: &str, past: &Past, fetched: &[Vec<usize>]) {
    for (cycle, pages) in fetched.iter().enumerate() {
        let budget = past.budgets[cycle].min(past.page_count() as u64);
        assert_eq!(pages.len() as u64, budget, "{spec} in cycle {cycle}");
        let mut distinct = pages.clone();
        distinct.sort_unstable();
        distinct.dedup();
        assert_eq!(
            distinct.len(),
            pages.len(),
            "{spec} in cycle {cycle}: a page twice"
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn a_cycle_spends_its_budget_and_fetches_no_page_twice(
        past in past(), seed in 0u64..100, fault_every in 2usize..9, width in 1usize..6,
    ) {
        for spec in SPECS {
            let mut crawl = Refreshing::start(policy(spec, &past, seed), &past);
            crawl.fault_every = fault_every;
            check_cycles(spec, &past, &crawl.run());
            let mut wide = Refreshing::start(policy(spec, &past, seed), &past);
            wide.fault_every = fault_every;
            wide.run_wide(width);
            check_cycles(spec, &past, &wide.fetched);
        }
    }

    #[test]
    fn the_same_seed_gives_the_same_decisions(past in past(), seed in 0u64..100) {
        for spec in SPECS {
            let run = || Refreshing::start(policy(spec, &past, seed), &past).run();
            prop_assert_eq!(run(), run(), "{}", spec);
        }
    }

    #[test]
    fn restored_at_any_answer_it_goes_on_alike(
        past in past(), seed in 0u64..100, kill_at in 0usize..60, fault_every in 2usize..9,
    ) {
        for spec in SPECS {
            let start = || {
                let mut crawl = Refreshing::start(policy(spec, &past, seed), &past);
                crawl.fault_every = fault_every;
                crawl
            };
            let mut killed = start();
            for _ in 0..kill_at {
                killed.step();
            }
            let mut saved = Vec::new();
            killed.scheduler.save(&mut saved).unwrap();
            let restored = Scheduler::restore(policy(spec, &past, seed), &mut saved.as_slice());
            killed.scheduler = restored.unwrap();
            prop_assert_eq!(killed.run(), start().run(), "{}", spec);
        }
    }

    #[test]
    fn damaged_checkpoints_are_refused_or_harmless(
        past in past(), at in any::<prop::sample::Index>(), bit in 0u8..8,
    ) {
        for spec in SPECS {
            let crawl = Refreshing::start(policy(spec, &past, 1), &past);
            let mut saved = Vec::new();
            crawl.scheduler.policy().save(&mut saved).unwrap();
            let at = at.index(saved.len());
            let cut = policy(spec, &past, 1).restore(&mut &saved[..at]);
            prop_assert!(cut.is_err(), "{} cut at {}", spec, at);
            saved[at] ^= 1 << bit;
            let _ = policy(spec, &past, 1).restore(&mut saved.as_slice());
        }
    }
}

#[test]
fn every_policy_of_the_catalogue_is_tried_here_and_can_be_built() {
    for info in catalog::policies().filter(|info| info.answers(Question::Changes)) {
        changes::check(&info.name.parse().unwrap()).unwrap();
        let tried = SPECS
            .iter()
            .any(|spec| spec.split(':').next() == Some(info.name));
        assert!(tried, "{} is not tried", info.name);
    }
}

#[test]
fn wrong_values_are_refused_with_what_would_be_right() {
    let wrong = |spec: &str| -> SpecError { changes::check(&spec.parse().unwrap()).unwrap_err() };
    let shown: Vec<String> = [
        "directory-neighbours:d=65",
        "cluster-neighbours:d=-1",
        "link-neighbours:trigger=chnaged",
        "interval:step=1",
        "cohorts:explore=2",
        "crawl-valu",
    ]
    .iter()
    .map(|spec| wrong(spec).to_string())
    .collect();
    expect_test::expect![[r"
        policy 'directory-neighbours': d=65 is not possible; give a whole number from -64 to 64
        policy 'cluster-neighbours': d=-1 is not possible; give a whole number from 0 to 64
        policy 'link-neighbours': trigger=chnaged is not possible; give one of always, changed, history, weighted-history, pagerank
        policy 'interval': step=1 is not possible; give a number above 0 and below 1
        policy 'cohorts': explore=2 is not possible; give a number from 0 to 1
        no policy 'crawl-valu' for changes; did you mean 'crawl-value'? (there are: rns, round-robin, gsb, link-neighbours, directory-neighbours, cluster-neighbours, uniform, interval, crawl-value, azar, cohorts)"]]
    .assert_eq(&shown.join("\n"));
}

/// How many of 80 fetches find a change, where one of two directories of 100 pages was rebuilt: with
/// answers so long apart, and so many requests under way.
fn changes_found(pace_ms: u64, width: usize) -> usize {
    let pages = 200;
    let rebuilt = |page: usize| page % 2 == 1;
    let past = Past {
        links: vec![Vec::new(); pages],
        parent: vec![0, 0, 0],
        directory_of: (0..pages as u32).map(|page| 1 + page % 2).collect(),
        cluster_of: vec![0; pages],
        nearest: vec![Vec::new()],
        importance: vec![1.0 / pages as f64; pages],
        contents: vec![
            vec![1; pages],
            (0..pages).map(|page| 1 + u8::from(rebuilt(page))).collect(),
        ],
        budgets: vec![80],
        pace_ms,
    };
    let policy = policy("cohorts:ahead=16,explore=0", &past, 1);
    let mut crawl = Refreshing::start(policy, &past);
    crawl.run_wide(width);
    let found = crawl.fetched[0].iter().filter(|page| rebuilt(**page));
    found.count()
}

/// A crawl takes its time. That no two copies are of the same millisecond must not keep the pages of a
/// directory from telling of each other: all but the 16 that are asked for ahead find a change.
#[test]
fn what_a_directory_tells_does_not_hang_on_the_millisecond_of_its_copies() {
    for pace_ms in [0, 1, 700, 60_000] {
        for width in [1, 8, 64] {
            let found = changes_found(pace_ms, width);
            assert!(
                found >= 80 - 16,
                "{found} of 80, answers {pace_ms} ms apart, {width} requests under way"
            );
        }
    }
}
